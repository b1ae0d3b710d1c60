//! Runs a program and records its cost, from the kernel's accounting under `/proc`.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time between two readings of a running program. Its peak memory may be later than the last reading;
/// the other figures are exact, because they are read once more after its end.
const LOOK: Duration = Duration::from_millis(20);

/// The ticks of `/proc/PID/stat` in a second: USER_HZ, 100 on every Linux.
const TICKS: f64 = 100.0;

/// The cost of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds of CPU time, user and system.
    pub cpu_seconds: f64,
    /// The peak resident memory in bytes.
    pub peak_rss: u64,
    /// Bytes that the program caused to be written to storage, in whole pages, including those of files
    /// removed since.
    pub written: u64,
    /// The bytes that the program caused to be read from storage.
    pub read: u64,
}

impl Cost {
    /// The cost of this process so far.
    pub fn of_self() -> Cost {
        let mut cost = Cost::default();
        cost.look("self");
        cost
    }

    /// The cost added since `before`; the peak is the current one.
    pub fn since(&self, before: &Cost) -> Cost {
        Cost {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            peak_rss: self.peak_rss,
            written: self.written.saturating_sub(before.written),
            read: self.read.saturating_sub(before.read),
        }
    }

    /// Updates the figures; true if the process has ended and can be reaped. Figures that cannot be read
    /// stay.
    fn look(&mut self, process: &str) -> bool {
        let file =
            |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
        let field = |text: &str, name: &str| -> Option<u64> {
            let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
            rest.split_whitespace().next()?.parse().ok()
        };
        let status = file("status");
        if let Some(kilobytes) = field(&status, "VmHWM:") {
            self.peak_rss = kilobytes * 1024;
        }
        let ended = status
            .lines()
            .find_map(|line| line.strip_prefix("State:"))
            .is_some_and(|state| state.trim_start().starts_with('Z'));
        let io = file("io");
        self.written = field(&io, "write_bytes:").unwrap_or(self.written);
        self.read = field(&io, "read_bytes:").unwrap_or(self.read);
        let stat = file("stat");
        // The name of the program, in parentheses, may contain anything; of the fields after it, user and
        // system time are numbers 12 and 13.
        let mut times = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .skip(11)
            .map_while(|word| word.parse::<f64>().ok());
        if let (Some(user), Some(kernel)) = (times.next(), times.next()) {
            self.cpu_seconds = (user + kernel) / TICKS;
        }
        ended
    }
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The program's standard output.
    pub output: String,
    /// The program's standard error.
    pub errors: String,
    /// The cost of the program in the chosen unit.
    pub cost: Cost,
}

/// Runs `command` to its end, but at most for `limit`. A failure includes the last lines it printed.
pub fn run(command: &mut Command, limit: Duration) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (ended, output, errors) = std::thread::scope(|scope| {
        let output = scope.spawn(|| read(stdout));
        let errors = scope.spawn(|| read(stderr));
        let ended = wait(&mut child, limit);
        let join = |text: std::thread::ScopedJoinHandle<'_, String>| text.join().unwrap_or_default();
        (ended, join(output), join(errors))
    });
    let last_lines = || {
        let text = if errors.trim().is_empty() {
            &output
        } else {
            &errors
        };
        // Carriage returns separate lines too, because a progress report is one long line with carriage
        // returns.
        let lines: Vec<&str> = text
            .split(['\n', '\r'])
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(3)..].join("\n")
    };
    let (cost, success) = ended.map_err(|error| format!("{name}: {error}"))?;
    match success {
        None => Err(format!("{name}: stopped after {} s", limit.as_secs())),
        Some(false) => Err(format!("{name} failed: {}", last_lines())),
        Some(true) => Ok(Finished { output, errors, cost }),
    }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // The output before an error is shown.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The cost of the process, and whether it succeeded; `None` if it had to be stopped.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<(Cost, Option<bool>)> {
    let start = Instant::now();
    let process = child.id().to_string();
    let mut cost = Cost::default();
    loop {
        if cost.look(&process) {
            return Ok((cost, Some(child.wait()?.success())));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok((cost, None));
        }
        std::thread::park_timeout(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_cost_of_a_program() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo out; echo err >&2";
        let finished = run(&mut shell(script), LONG).unwrap();
        assert_eq!(
            (finished.output.as_str(), finished.errors.as_str()),
            ("out\n", "err\n")
        );
        assert!(
            finished.cost.cpu_seconds > 0.0 && finished.cost.peak_rss > 0,
            "{finished:?}"
        );
    }

    #[test]
    fn failures_tell_their_last_lines() {
        let message = run(&mut shell("echo a; echo unknown flag 'x' >&2; exit 3"), LONG).unwrap_err();
        assert_eq!(message, "sh failed: unknown flag x");
        let message = run(&mut Command::new("/no/such/program"), LONG).unwrap_err();
        assert!(message.starts_with("/no/such/program: "), "{message}");
    }

    #[test]
    fn a_program_without_end_is_stopped() {
        let message = run(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(message, "sh: stopped after 0 s");
    }

    #[test]
    fn a_process_knows_its_own_cost() {
        let before = Cost::of_self();
        let mut sum = 0u64;
        for number in 0..200_000_000u64 {
            sum = std::hint::black_box(sum ^ number);
        }
        let cost = Cost::of_self().since(&before);
        assert!(cost.cpu_seconds > 0.0 && cost.peak_rss > 0, "{cost:?} {sum}");
    }
}
