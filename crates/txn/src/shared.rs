//! The state that a database and its transactions share.

use std::collections::HashMap;
use std::sync::Arc;

use base::sync::Mutex;
use base::{Error, Result};
use esker::{Db, WriteBatch};

use crate::lock::manager::LockManager;
use crate::options::TransactionDBOptions;
use crate::timestamped_snapshot::TimestampedSnapshots;

/// State that a database and its transactions share.
pub(crate) struct TransactionDbShared {
    pub db: Db,
    pub options: TransactionDBOptions,
    pub locks: LockManager,
    pub names: Mutex<HashMap<Vec<u8>, Named>>,
    pub timestamped_snapshots: Mutex<TimestampedSnapshots>,
}

/// The owner of a name.
pub(crate) enum Named {
    /// A live transaction.
    Live,
    /// A prepared transaction without a [`Transaction`](crate::Transaction), and its rows.
    Prepared(Arc<WriteBatch>),
}

impl TransactionDbShared {
    /// Adds locks for a family that was created in the underlying database.
    pub fn know_family(&self, id: u32) {
        if self.locks.has_family(id) {
            return;
        }
        if self.db.column_family_by_id(id).is_some() {
            self.locks.add_family(id);
        }
    }

    /// Registers the name of a transaction. `InvalidArgument` if it is in use.
    pub fn register(&self, name: &[u8]) -> Result<()> {
        let mut names = self.names.lock();
        if names.contains_key(name) {
            return Err(Error::invalid_argument("Transaction name must be unique."));
        }
        names.insert(name.to_vec(), Named::Live);
        Ok(())
    }

    /// Releases the name of a transaction that has ended.
    pub fn unregister(&self, name: &[u8]) {
        self.names.lock().remove(name);
    }

    /// Keeps a prepared transaction whose `Transaction` was dropped.
    pub fn park(&self, name: &[u8], batch: Arc<WriteBatch>) {
        self.names.lock().insert(name.to_vec(), Named::Prepared(batch));
    }
}
