//! `checkpoint`: creates a second database from the same files.

use esker::CheckpointOptions;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::outcome::{Failed, Outcome, ok};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let session = open::writable(line, false)?;
    let Some(dir) = line.path("checkpoint_dir") else {
        return Err(Failed::said(
            "Invalid argument: invalid checkpoint directory name",
        ));
    };
    session.db.create_checkpoint(dir, &CheckpointOptions::default())?;
    session.close()?;
    ok(out)
}
