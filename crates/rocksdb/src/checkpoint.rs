//! Checkpoints: a second database with the state of another one at one moment.

use std::marker::PhantomData;
use std::path::Path;

use esker::CheckpointOptions;

use crate::db::{DBInner, ThreadMode};
use crate::{DBCommon, Error, TransactionDB};

/// Creates checkpoints of a database.
pub struct Checkpoint<'db> {
    db: esker::Db,
    _db: PhantomData<&'db ()>,
}

impl<'db> Checkpoint<'db> {
    /// A checkpoint object for `db`.
    ///
    /// # Errors
    /// Never fails.
    pub fn new<T: ThreadMode, I: DBInner>(db: &'db DBCommon<T, I>) -> Result<Checkpoint<'db>, Error> {
        Ok(Checkpoint {
            db: db.engine().clone(),
            _db: PhantomData,
        })
    }

    /// Creates a checkpoint in `path`, which must not exist. Memtables are flushed first.
    ///
    /// # Errors
    /// `Invalid argument` if `path` exists; the errors of the file system.
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        self.create_checkpoint_with_log_size(path, 0)
    }

    /// Creates a checkpoint in `path`. Memtables are flushed if WALs have so many bytes; otherwise WALs are
    /// copied.
    ///
    /// # Errors
    /// The errors of [`create_checkpoint`](Self::create_checkpoint).
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        create(&self.db, path.as_ref(), log_size_for_flush)
    }
}

fn create(db: &esker::Db, path: &Path, log_size_for_flush: u64) -> Result<(), Error> {
    db.create_checkpoint(path, &CheckpointOptions { log_size_for_flush })?;
    Ok(())
}

/// Creates checkpoints of a transaction database.
pub struct TransactionDBCheckpoint<'db> {
    db: esker::Db,
    _db: PhantomData<&'db ()>,
}

impl<'db> TransactionDBCheckpoint<'db> {
    /// A checkpoint object for `db`.
    ///
    /// # Errors
    /// Never fails.
    pub fn new<T: ThreadMode>(db: &'db TransactionDB<T>) -> Result<TransactionDBCheckpoint<'db>, Error> {
        Ok(TransactionDBCheckpoint {
            db: db.engine().clone(),
            _db: PhantomData,
        })
    }

    /// Creates a checkpoint in `path`, which must not exist. Memtables are flushed first.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::create_checkpoint`].
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        create(&self.db, path.as_ref(), 0)
    }

    /// Creates a checkpoint in `path`. Memtables are flushed if WALs have so many bytes.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::create_checkpoint`].
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        create(&self.db, path.as_ref(), log_size_for_flush)
    }
}
