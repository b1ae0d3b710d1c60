//! Checkpoints of the database under stress: made next to it, opened, compared, removed.

use std::path::PathBuf;

use base::Result;
use esker::{CheckpointOptions, Db};
use parking_lot::RwLock;

use crate::failure::{Failure, Outcome};
use crate::stress::{Open, Stress};

impl Stress {
    /// Makes a checkpoint in a directory next to the database's.
    pub fn make_checkpoint(&self, db: &Db, name: &str, options: &CheckpointOptions) -> Result<PathBuf> {
        let path = self.beside(name);
        // A process that died may have left a checkpoint in this directory.
        Db::destroy(&self.options_of_copy(), &path)?;
        db.create_checkpoint(&path, options)?;
        Ok(path)
    }

    /// Opens a checkpoint with the families that it has.
    pub fn open_checkpoint(&self, path: PathBuf) -> Outcome<Open> {
        let mut options = self.options_of_copy();
        options.create_if_missing = false;
        let db = Db::open(&options, path)?;
        let mut families = vec![RwLock::new(db.default_column_family())];
        for index in 1..self.flags.column_families as usize {
            let own = format!("{index}.");
            let mut all = db.column_families().into_iter();
            families.extend(
                all.find(|family| family.name().starts_with(&own))
                    .map(RwLock::new),
            );
        }
        Ok(Open {
            db,
            families,
            secondary: None,
            transactions: None,
        })
    }

    /// Closes and removes a checkpoint.
    pub fn remove_checkpoint(&self, checkpoint: Open) -> Outcome {
        let path = checkpoint.db.path().to_path_buf();
        checkpoint.db.close()?;
        drop(checkpoint);
        Ok(Db::destroy(&self.options_of_copy(), path)?)
    }

    /// Verifies every key of a checkpoint of a database that no thread writes to.
    pub fn verify_checkpoint(&self, open: &Open) -> Outcome {
        let options = CheckpointOptions {
            log_size_for_flush: self.flags.seed % 2 * (1 << 40),
        };
        let path = self.make_checkpoint(&open.db, "checkpoint", &options)?;
        let checkpoint = self.open_checkpoint(path)?;
        let verified = match checkpoint.families.len() == open.families.len() {
            true => self
                .verify(&checkpoint)
                .and_then(|()| self.check_files(&checkpoint)),
            false => Err(Failure::Mismatch("it lacks a family".to_owned())),
        };
        match verified {
            Err(Failure::Mismatch(what)) => Err(Failure::Mismatch(format!("in a checkpoint: {what}"))),
            other => other.and_then(|()| self.remove_checkpoint(checkpoint)),
        }
    }
}
