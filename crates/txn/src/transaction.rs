//! A transaction: what it writes, which keys it tracks, and what it sees.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Result;
use esker::{ColumnFamily, Db, Snapshot, WriteBatch, WriteBatchWithIndex, WriteOptions};

use crate::lock::TransactionId;
use crate::lock::manager::LockRequest;
use crate::lock::tracker::LockTracker;
use crate::options::{IsolationLevel, OptimisticTransactionOptions, TransactionOptions, limit};
use crate::ranges::TrackedRange;
use crate::read_set::ReadSet;
use crate::save_points::SavePoint;
use crate::state::{SharedState, TransactionState};
use crate::transaction_db::TransactionDbShared;

/// Hears of a snapshot that [`set_snapshot_on_next_operation`](Transaction::set_snapshot_on_next_operation) has asked for.
pub trait TransactionNotifier: Send + Sync {
    /// The transaction has taken it.
    fn snapshot_created(&self, snapshot: &Snapshot);
}

/// How a transaction keeps others away from its keys.
pub(crate) enum Control {
    /// By locks.
    Locks(Box<Locking>),
    /// Not at all: its commit fails where others have written them.
    Validation {
        /// As old as the oldest sequence number that a tracked key is validated by: what compactions must not make look older.
        boundary: Option<Snapshot>,
    },
}

/// The further state of a transaction with locks.
pub(crate) struct Locking {
    pub shared: Arc<TransactionDbShared>,
    pub request: LockRequest,
    pub skip_prepare: bool,
    pub skip_concurrency_control: bool,
    /// When it began, by the clock of the options.
    pub start: Duration,
}

/// Counters of a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub puts: u64,
    pub deletes: u64,
    pub merges: u64,
}

/// A snapshot to be taken with the next operation, and who hears of it.
pub(crate) type SnapshotNeeded = Option<Option<Arc<dyn TransactionNotifier>>>;

/// Writes that take effect together or not at all, and reads that see them. Made by [`TransactionDB`](crate::TransactionDB) or
/// [`OptimisticTransactionDB`](crate::OptimisticTransactionDB).
///
/// One thread at a time uses it. Dropped, it gives back its locks and forgets what it has not committed; what it has prepared stays prepared, and is found by
/// [`get_all_prepared_transactions`](crate::TransactionDB::get_all_prepared_transactions), without locks.
pub struct Transaction {
    pub(crate) db: Db,
    pub(crate) control: Control,
    pub(crate) id: TransactionId,
    pub(crate) name: Vec<u8>,
    pub(crate) state: Arc<SharedState>,
    pub(crate) write_options: WriteOptions,
    pub(crate) max_write_batch_size: usize,
    pub(crate) batch: WriteBatchWithIndex,
    pub(crate) commit_time_batch: WriteBatch,
    pub(crate) tracked: LockTracker,
    /// In the order in which they were locked: those since a save point are the last ones.
    pub(crate) ranges: Vec<TrackedRange>,
    /// Its reads, where it is serializable.
    pub(crate) reads: Option<Arc<ReadSet>>,
    pub(crate) save_points: Vec<SavePoint>,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) snapshot_needed: SnapshotNeeded,
    pub(crate) counts: Counts,
}

/// Numbers of optimistic transactions.
static NEXT_OPTIMISTIC_ID: AtomicU64 = AtomicU64::new(1);

impl Transaction {
    /// One with locks.
    pub(crate) fn pessimistic(
        shared: &Arc<TransactionDbShared>,
        write_options: &WriteOptions,
        options: &TransactionOptions,
    ) -> Transaction {
        let locks = &shared.locks;
        let id = locks.new_id();
        let start = locks.clock().now();
        let timeout = match options.lock_timeout < 0 {
            true => shared.options.transaction_lock_timeout,
            false => options.lock_timeout,
        };
        let expires = limit(options.expiration).map(|after| start.saturating_add(after));
        let control = Control::Locks(Box::new(Locking {
            shared: shared.clone(),
            request: LockRequest {
                id,
                timeout: limit(timeout),
                expires,
                deadlock_detect_depth: options.deadlock_detect.then_some(options.deadlock_detect_depth),
            },
            skip_prepare: options.skip_prepare,
            skip_concurrency_control: options.skip_concurrency_control
                || shared.options.skip_concurrency_control,
            start,
        }));
        let mut transaction = Transaction::new(&shared.db, control, id, write_options);
        transaction.max_write_batch_size = options.max_write_batch_size;
        if expires.is_some() {
            locks.add_expirable(id, transaction.state.clone());
        }
        transaction.isolate(options.isolation_level, options.set_snapshot);
        transaction
    }

    fn isolate(&mut self, level: IsolationLevel, set_snapshot: bool) {
        if level == IsolationLevel::Serializable {
            self.reads = Some(Arc::default());
        }
        if set_snapshot || self.reads.is_some() {
            self.set_snapshot();
        }
    }

    /// One without locks.
    pub(crate) fn optimistic(
        db: &Db,
        write_options: &WriteOptions,
        options: &OptimisticTransactionOptions,
    ) -> Transaction {
        let id = NEXT_OPTIMISTIC_ID.fetch_add(1, Ordering::Relaxed);
        let mut transaction = Transaction::new(db, Control::Validation { boundary: None }, id, write_options);
        transaction.isolate(options.isolation_level, options.set_snapshot);
        transaction
    }

    fn new(db: &Db, control: Control, id: TransactionId, write_options: &WriteOptions) -> Transaction {
        Transaction {
            db: db.clone(),
            control,
            id,
            name: Vec::new(),
            state: Arc::new(SharedState::new()),
            write_options: write_options.clone(),
            max_write_batch_size: 0,
            batch: WriteBatchWithIndex::new(),
            commit_time_batch: WriteBatch::new(),
            tracked: LockTracker::default(),
            ranges: Vec::new(),
            reads: None,
            save_points: Vec::new(),
            snapshot: None,
            snapshot_needed: None,
            counts: Counts::default(),
        }
    }

    /// Its promises about its reads.
    pub fn isolation_level(&self) -> IsolationLevel {
        match self.reads.is_some() {
            true => IsolationLevel::Serializable,
            false => IsolationLevel::ReadCommitted,
        }
    }

    /// Its number, unique among the transactions with locks of a database while that is open, or among the optimistic ones of the process.
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Its name; empty if it has none.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// How far it has come.
    pub fn state(&self) -> TransactionState {
        self.state.get()
    }

    /// The rows it writes.
    pub fn write_batch(&self) -> &WriteBatch {
        self.batch.write_batch()
    }

    /// The rows it writes, to read and to add to: RocksDB's `GetWriteBatch`. What is added there is neither locked nor tracked, nor counted.
    pub fn indexed_batch(&mut self) -> &mut WriteBatchWithIndex {
        &mut self.batch
    }

    /// Rows that are written along with the marker which commits a prepared transaction, before its own. They are not locked, not tracked and not read.
    pub fn commit_time_write_batch(&mut self) -> &mut WriteBatch {
        &mut self.commit_time_batch
    }

    /// The options its writes are done with.
    pub fn write_options(&self) -> &WriteOptions {
        &self.write_options
    }

    /// Puts other options in their place.
    pub fn set_write_options(&mut self, options: WriteOptions) {
        self.write_options = options;
    }

    /// Time since it began, by the clock of the options. Of an optimistic one: zero.
    pub fn elapsed_time(&self) -> Duration {
        match &self.control {
            Control::Locks(locking) => locking.now().saturating_sub(locking.start),
            Control::Validation { .. } => Duration::ZERO,
        }
    }

    /// Waits so many milliseconds for a lock from now on; 0: it does not wait, negative: as long as it takes. Of no effect on an optimistic one.
    pub fn set_lock_timeout(&mut self, millis: i64) {
        if let Control::Locks(locking) = &mut self.control {
            locking.request.timeout = limit(millis);
        }
    }

    /// Puts since it began or was rolled back.
    pub fn num_puts(&self) -> u64 {
        self.counts.puts
    }

    /// Deletions since it began or was rolled back.
    pub fn num_deletes(&self) -> u64 {
        self.counts.deletes
    }

    /// Merges since it began or was rolled back.
    pub fn num_merges(&self) -> u64 {
        self.counts.merges
    }

    /// Keys it tracks: has locked, or will have validated.
    pub fn num_keys(&self) -> usize {
        self.tracked.len()
    }

    /// From now on its writes and reads for update fail, or its commit does, where others have written a key since now. Reads do not change: give them the
    /// [snapshot](Self::snapshot) to see the database as it is now.
    pub fn set_snapshot(&mut self) {
        self.snapshot = Some(self.db.snapshot());
        self.snapshot_needed = None;
    }

    /// Takes the snapshot with the next write or read for update, once that has its lock, so that it does not conflict with whoever had the lock
    /// before. `notifier` hears of it.
    pub fn set_snapshot_on_next_operation(&mut self, notifier: Option<Arc<dyn TransactionNotifier>>) {
        self.snapshot_needed = Some(notifier);
    }

    /// The snapshot, if one is set.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Lets the snapshot go.
    pub fn clear_snapshot(&mut self) {
        self.snapshot = None;
        self.snapshot_needed = None;
    }

    pub(crate) fn take_snapshot_if_needed(&mut self) {
        if let Some(notifier) = self.snapshot_needed.take() {
            let snapshot = self.db.snapshot();
            self.snapshot = Some(snapshot.clone());
            if let Some(notifier) = notifier {
                notifier.snapshot_created(&snapshot);
            }
        }
    }

    /// The family of that id.
    pub(crate) fn family_by_id(&self, id: u32) -> Result<ColumnFamily> {
        self.db
            .column_family_by_id(id)
            .ok_or_else(|| base::Error::invalid_argument(format!("Column family id not found: {id}")))
    }

    /// Forgets what it has written and gives back its locks. Its snapshot stays.
    pub(crate) fn clear(&mut self) {
        self.release_all();
        self.batch.clear();
        self.commit_time_batch.clear();
        self.save_points.clear();
        self.counts = Counts::default();
        if let Some(reads) = &mut self.reads {
            // Iterators that live on add to one that does not count.
            *reads = Arc::default();
        }
    }

    /// Gives back its locks.
    pub(crate) fn release_all(&mut self) {
        if !self.ranges.is_empty() {
            self.release_ranges_from(0);
        }
        match &mut self.control {
            Control::Locks(locking) => {
                for (family, key, _) in self.tracked.iter() {
                    locking.unlock(family, key);
                }
            }
            Control::Validation { boundary } => *boundary = None,
        }
        self.tracked.clear();
    }
}

impl Locking {
    pub fn now(&self) -> Duration {
        self.shared.locks.clock().now()
    }

    /// True once its time is over.
    pub fn is_expired(&self) -> bool {
        self.request.expires.is_some_and(|expires| expires <= self.now())
    }

    /// Gives back the lock of a key.
    pub fn unlock(&self, family: u32, key: &[u8]) {
        if !self.skip_concurrency_control {
            self.shared.locks.unlock(self.request.id, family, key);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.release_all();
        let Control::Locks(locking) = &self.control else {
            return;
        };
        if locking.request.expires.is_some() {
            locking.shared.locks.remove_expirable(self.id);
        }
        if self.name.is_empty() {
            return;
        }
        match self.state.get() {
            TransactionState::Prepared => {
                let batch = std::mem::take(&mut self.batch).into_write_batch();
                locking.shared.park(&self.name, Arc::new(batch));
            }
            _ => locking.shared.unregister(&self.name),
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Transaction({} {:?} {:?}, {} keys)",
            self.id,
            self.name.escape_ascii().to_string(),
            self.state(),
            self.num_keys()
        )
    }
}
