//! Creates a second database from the same files.

use std::io::Write;

use base::Progress;
use esker::CheckpointOptions;

use crate::args::CheckpointArgs;
use crate::directory;
use crate::open;
use crate::output::{Failure, Out};

/// Creates a checkpoint.
pub fn checkpoint(args: &CheckpointArgs, out: &mut Out, progress: &Progress) -> Result<(), Failure> {
    // The target directory is checked before the database is opened, because the open writes to the database.
    directory::check_is_new(&args.to)?;
    let db = open::writable(&args.database, false)?;
    let options = CheckpointOptions {
        log_size_for_flush: args.log_size_for_flush,
    };
    let seqno = db.create_checkpoint_with_progress(&args.to, &options, progress)?;
    db.close()?;
    writeln!(
        out,
        "{} holds the database as of sequence number {seqno}",
        args.to.display()
    )?;
    Ok(())
}
