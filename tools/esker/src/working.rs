//! Long work: lines of progress, and Ctrl-C, which stops it where it can be continued.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind, Progress};
use parking_lot::{Condvar, Mutex};

use crate::args::WorkingArgs;
use crate::output::Failure;
use crate::text::show_size;

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs long work. Ctrl-C (or `SIGTERM`) asks it to stop at its next step, a second one ends the process.
///
/// The progress is printed on standard error, a line a second: if that is a terminal, or on request.
pub fn watched<T>(
    what: &'static str,
    args: &WorkingArgs,
    work: impl FnOnce(&Arc<Progress>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let progress = Arc::new(Progress::new());
    stop_on_signal(&progress)?;
    if !args.progress && !io::stderr().is_terminal() {
        return work(&progress);
    }
    let over = Over::default();
    let result = thread::scope(|scope| {
        let report = || tell(what, &progress, &over);
        let reporter = thread::Builder::new().name("esker-progress".to_owned());
        // If the thread for progress cannot be started, the work is done without lines of progress.
        let _ = reporter.spawn_scoped(scope, report);
        let _end = OverAtEnd(&over);
        work(&progress)
    });
    if args.progress {
        line(what, &progress, Duration::ZERO);
    }
    result
}

/// Whether the work has ended.
#[derive(Default)]
struct Over {
    yes: Mutex<bool>,
    changed: Condvar,
}

/// Marks the end of the long work when the value is dropped, even by a panic.
struct OverAtEnd<'a>(&'a Over);

impl Drop for OverAtEnd<'_> {
    fn drop(&mut self) {
        *self.0.yes.lock() = true;
        self.0.changed.notify_all();
    }
}

fn tell(what: &str, progress: &Progress, over: &Over) {
    let clock = SystemClock::new();
    let mut yes = over.yes.lock();
    while !*yes {
        if over.changed.wait_for(&mut yes, INTERVAL).timed_out() {
            line(what, progress, clock.now());
        }
    }
}

fn line(what: &str, progress: &Progress, elapsed: Duration) {
    let text = describe(progress.done(), progress.total(), elapsed);
    // An error is ignored: if standard error cannot be written, there is no other place to report it.
    let _ = writeln!(io::stderr(), "{what}: {text}");
}

/// The progress after `elapsed`, and an estimate of the remaining time; for completed work (no time) without
/// the estimate.
fn describe(done: u64, total: u64, elapsed: Duration) -> String {
    let total = total.max(done);
    let percent = (u128::from(done) * 100)
        .checked_div(u128::from(total))
        .unwrap_or(100);
    let mut text = format!("{} of {}, {percent}%", show_size(done), show_size(total));
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 && done > 0 {
        let rate = done as f64 / seconds;
        let left = Duration::from_secs_f64(((total - done) as f64 / rate).min(1e9));
        text.push_str(&format!(
            ", {}/s, {} left",
            show_size(rate as u64),
            show_time(left)
        ));
    }
    text
}

fn show_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// The exit status of a process that Ctrl-C ended.
pub const STOPPED: u8 = 130;

fn stop_on_signal(progress: &Arc<Progress>) -> Result<(), Error> {
    let progress = progress.clone();
    let stop = move || {
        if progress.is_stopped() {
            std::process::exit(i32::from(STOPPED));
        }
        progress.stop();
    };
    ctrlc::set_handler(stop)
        .map_err(|error| Error::new(ErrorKind::Io, format!("While setting a signal handler: {error}")))
}

#[cfg(test)]
mod tests;
