//! `repair`: rebuilds the MANIFEST from tables and WALs.

use std::sync::Arc;

use esker::{Db, InfoLogLevel};

use crate::ldb::line::Line;
use crate::ldb::options;
use crate::ldb::outcome::{Outcome, ok};
use crate::ldb::stderr_logger::StderrLogger;
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let mut options = options::prepare(line)?;
    let least = match line.flag("verbose") {
        true => InfoLogLevel::Info,
        false => InfoLogLevel::Warn,
    };
    options.info_log = Some(Arc::new(StderrLogger { least }));
    options.info_log_level = least;
    Db::repair(&options, line.db())?;
    ok(out)
}
