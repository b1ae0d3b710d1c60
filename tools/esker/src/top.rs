//! A live view of a database that another process has open, from its MANIFEST, WALs and LOG, repeatedly.
//!
//! Nothing is locked or written. Information that only the process has (the block cache, running jobs) is
//! that of its last LOG lines.

mod frame;
mod layout;
mod screen;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;

use base::env::{Clock, SystemClock};
use base::{Error, ErrorKind};

use crate::args::{PinsArgs, TopArgs};
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};
pub use frame::Sort;
use frame::View;
use serve::info_log::{self, InfoLog};
use serve::observe::Observer;

/// The width in columns of a frame if the terminal does not report its width.
const DEFAULT_WIDTH: usize = 100;

/// Prints the holders of memory and files of an open database, from its LOG.
pub fn pins(args: &PinsArgs, out: &mut Out) -> Result<(), Failure> {
    directory::check_is_database(&args.db)?;
    let options = esker::Options {
        wal_dir: open::wal_dir_text(args.wal_dir.as_deref())?,
        ..esker::Options::default()
    };
    let cursors = esker::feed_cursors(&options, &args.db)?;
    for cursor in &cursors {
        writeln!(out, "{cursor}")?;
    }
    let path = info_log::path_of(&args.db, args.db_log_dir.as_deref());
    let mut log = InfoLog::new(path.clone());
    log.read_on(&directory::fs())?;
    let told = log.told();
    let Some(dumped) = told.dumped.as_ref().filter(|_| !told.pins.is_empty()) else {
        if !cursors.is_empty() {
            return Ok(());
        }
        let why = match told.exists {
            true => "has no pins yet: an open database of Esker writes them every stats_dump_period_sec",
            false => "does not exist",
        };
        return Err(Error::new(ErrorKind::NotFound, why).in_file(&path).into());
    };
    let now = SystemClock::new().unix_seconds();
    match info_log::moment(dumped) {
        Some(then) => writeln!(out, "as of {dumped}, {} s ago", now.saturating_sub(then))?,
        None => writeln!(out, "as of {dumped}")?,
    }
    // The cursors in the dump are as old as the LOG.
    for line in told.pins.iter().filter(|line| !line.starts_with("cursor ")) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Shows frames until the user quits. Shows one frame with `--once`, or if the output is not a terminal.
pub fn top(args: &TopArgs, out: &mut Out) -> Result<(), Failure> {
    directory::check_is_database(&args.db)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut observer = Observer::new(
        Arc::new(directory::fs()),
        clock,
        &args.db,
        args.wal_dir.as_deref(),
        args.db_log_dir.as_deref(),
    );
    // Output for a script has whole lines, unless `COLUMNS` names a width.
    let columns = std::env::var("COLUMNS").ok();
    let asked = columns.and_then(|columns| columns.parse::<usize>().ok());
    let width = match asked.filter(|columns| *columns > 0) {
        Some(columns) => columns.max(layout::LEAST_WIDTH),
        None if out.is_terminal() => screen::size().map_or(DEFAULT_WIDTH, |(columns, _)| columns),
        None => layout::UNLIMITED,
    };
    let view = View {
        family: args.column_family.clone(),
        sort: args.sort,
        width,
        height: None,
    };
    if args.once || !out.is_terminal() {
        let now = observer.look()?;
        out.write_all(frame::draw(&now, None, &view).as_bytes())?;
        return Ok(());
    }
    screen::run(&mut observer, view, args.interval, out)
}
