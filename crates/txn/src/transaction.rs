//! A transaction: its writes, its tracked keys, and its reads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Error, ErrorKind, Result, SeqNo};
use esker::{ColumnFamily, Db, Snapshot, WriteBatch, WriteBatchWithIndex, WriteOptions};

use crate::lock::TransactionId;
use crate::lock::held_ranges::RangeLockId;
use crate::lock::manager::LockRequest;
use crate::lock::tracker::LockTracker;
use crate::options::{IsolationLevel, OptimisticTransactionOptions, TransactionOptions, limit};
use crate::read_set::ReadSet;
use crate::shared::TransactionDbShared;
use crate::state::{SharedState, TransactionState};
use crate::tracked_range::TrackedRange;
use crate::transaction_waits::TransactionWaits;

/// Notified of a snapshot that
/// [`set_snapshot_on_next_operation`](Transaction::set_snapshot_on_next_operation) asked for.
pub trait TransactionNotifier: Send + Sync {
    /// The transaction calls this function when it has taken the snapshot.
    fn snapshot_created(&self, snapshot: &Snapshot);
}

/// The way in which a transaction protects its keys from other transactions.
pub(crate) enum Control {
    /// The transaction locks its keys.
    Locks(Box<Locking>),
    /// The commit of the transaction validates its keys, and fails if other transactions have written them.
    Validation {
        /// A snapshot as old as the oldest sequence number that validates a tracked key: compactions must not
        /// make newer entries look older.
        boundary: Option<Snapshot>,
    },
}

/// The further state of a transaction with locks.
pub(crate) struct Locking {
    pub shared: Arc<TransactionDbShared>,
    pub request: LockRequest,
    pub skip_prepare: bool,
    pub skip_concurrency_control: bool,
    /// The number of reads that were locked and validated when the transaction was prepared.
    pub reads_locked: u64,
    /// The time of the transaction's beginning, by the clock of the options.
    pub start: Duration,
}

/// The counters of a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub puts: u64,
    pub deletes: u64,
    pub merges: u64,
}

/// A snapshot to be taken with the next operation, and the notifier to call.
pub(crate) type SnapshotNeeded = Option<Option<Arc<dyn TransactionNotifier>>>;

/// The state of a transaction at a save point, and the keys that it has locked since.
pub(crate) struct SavePoint {
    pub snapshot: Option<Snapshot>,
    pub snapshot_needed: SnapshotNeeded,
    pub counts: Counts,
    pub new_locks: LockTracker,
    /// The number of ranges that the transaction has locked.
    pub ranges: usize,
}

/// Writes that take effect together or not at all, and reads that see them. Made by
/// [`TransactionDB`](crate::TransactionDB) or [`OptimisticTransactionDB`](crate::OptimisticTransactionDB).
///
/// Only one thread may use it at a time. When it is dropped, it releases its locks and discards uncommitted
/// writes; if it was prepared, it stays prepared, with the rows that it then had and without locks, and
/// [`get_all_prepared_transactions`](crate::TransactionDB::get_all_prepared_transactions) returns it.
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
    /// The ranges in the order in which they were locked: the ranges that were locked since a save point are
    /// the last ones.
    pub(crate) ranges: Vec<TrackedRange>,
    /// The reads of a serializable transaction.
    pub(crate) reads: Option<Arc<ReadSet>>,
    pub(crate) save_points: Vec<SavePoint>,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) snapshot_needed: SnapshotNeeded,
    pub(crate) counts: Counts,
}

/// The next id of an optimistic transaction.
static NEXT_OPTIMISTIC_ID: AtomicU64 = AtomicU64::new(1);

impl Transaction {
    /// Makes a transaction with locks.
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
            reads_locked: 0,
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

    /// Makes a transaction without locks.
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

    /// The isolation level.
    pub fn isolation_level(&self) -> IsolationLevel {
        match self.reads.is_some() {
            true => IsolationLevel::Serializable,
            false => IsolationLevel::ReadCommitted,
        }
    }

    /// The id, unique among the transactions with locks of an open database, or among the optimistic
    /// transactions of the process.
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// A handle by which other threads see the lock that the transaction waits for: while one thread waits in
    /// a call of the transaction, no other thread may use the transaction itself.
    pub fn waits(&self) -> TransactionWaits {
        TransactionWaits {
            id: self.id,
            shared: match &self.control {
                Control::Locks(locking) => Some(locking.shared.clone()),
                Control::Validation { .. } => None,
            },
        }
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The state.
    pub fn state(&self) -> TransactionState {
        self.state.get()
    }

    /// The rows that it writes.
    pub fn write_batch(&self) -> &WriteBatch {
        self.batch.write_batch()
    }

    /// The rows that the transaction writes, to read and to add to: RocksDB's `GetWriteBatch`. Rows added
    /// there are neither locked nor tracked nor counted. Rows that were prepared stay in it. Its
    /// [entries](WriteBatchWithIndex::entries) are those of RocksDB's overwrite mode, as there.
    pub fn indexed_batch(&mut self) -> &mut WriteBatchWithIndex {
        self.batch.set_overwrite_key(true);
        &mut self.batch
    }

    /// Rows that are written together with the marker that commits a prepared transaction, before its own
    /// rows. They are not locked, not tracked and not read.
    pub fn commit_time_write_batch(&mut self) -> &mut WriteBatch {
        &mut self.commit_time_batch
    }

    /// The options of the transaction's writes.
    pub fn write_options(&self) -> &WriteOptions {
        &self.write_options
    }

    /// Sets the options of its writes.
    pub fn set_write_options(&mut self, options: WriteOptions) {
        self.write_options = options;
    }

    /// The time since the transaction began, by the clock of the options; zero for an optimistic transaction.
    pub fn elapsed_time(&self) -> Duration {
        match &self.control {
            Control::Locks(locking) => locking.now().saturating_sub(locking.start),
            Control::Validation { .. } => Duration::ZERO,
        }
    }

    /// Sets the milliseconds that the transaction waits for a lock; 0: it does not wait, negative: no limit.
    /// Has no effect on an optimistic transaction.
    pub fn set_lock_timeout(&mut self, millis: i64) {
        if let Control::Locks(locking) = &mut self.control {
            locking.request.timeout = limit(millis);
        }
    }

    /// The number of puts since the transaction began or was rolled back.
    pub fn num_puts(&self) -> u64 {
        self.counts.puts
    }

    /// The number of deletions since the transaction began or was rolled back.
    pub fn num_deletes(&self) -> u64 {
        self.counts.deletes
    }

    /// The number of merges since the transaction began or was rolled back.
    pub fn num_merges(&self) -> u64 {
        self.counts.merges
    }

    /// The number of keys that the transaction tracks: those it has locked, or its commit will validate.
    pub fn num_keys(&self) -> usize {
        self.tracked.len()
    }

    /// Takes a snapshot. From now on its writes and reads for update, or its commit, fail if another
    /// transaction has written a key since now. Plain reads do not change: pass them the
    /// [snapshot](Self::snapshot) to read the state as of now.
    pub fn set_snapshot(&mut self) {
        self.snapshot = Some(self.db.snapshot());
        self.snapshot_needed = None;
    }

    /// Takes the snapshot with the next write or read for update, after that has its lock, so that it does
    /// not conflict with the previous holder of the lock. `notifier` is then called.
    pub fn set_snapshot_on_next_operation(&mut self, notifier: Option<Arc<dyn TransactionNotifier>>) {
        self.snapshot_needed = Some(notifier);
    }

    /// The snapshot, if one is set.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Releases the snapshot.
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

    /// The state of a transaction with locks.
    pub(crate) fn locking(&mut self) -> Option<&mut Locking> {
        match &mut self.control {
            Control::Locks(locking) => Some(locking),
            Control::Validation { .. } => None,
        }
    }

    /// The family with this id.
    pub(crate) fn family_by_id(&self, id: u32) -> Result<ColumnFamily> {
        self.db
            .column_family_by_id(id)
            .ok_or_else(|| base::Error::invalid_argument(format!("Column family id not found: {id}")))
    }

    /// Discards the writes of the transaction and releases its locks. The snapshot stays.
    pub(crate) fn clear(&mut self) {
        self.release_all();
        // A prepared transaction's batch is sealed: it would keep its rows.
        self.batch = WriteBatchWithIndex::new();
        self.commit_time_batch.clear();
        self.save_points.clear();
        self.counts = Counts::default();
        if let Some(reads) = &mut self.reads {
            // A new read set replaces the old one, to which iterators that still exist add, and which is
            // ignored.
            *reads = Arc::default();
            if let Control::Locks(locking) = &mut self.control {
                locking.reads_locked = 0;
            }
        }
    }

    /// Releases the locks of the transaction.
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

    /// Releases the ranges that were first tracked since there were `kept`.
    pub(crate) fn release_ranges_from(&mut self, kept: usize) {
        let mut gone = self.ranges.split_off(kept.min(self.ranges.len()));
        let Control::Locks(locking) = &self.control else {
            return;
        };
        gone.sort_by_key(|tracked| tracked.family);
        for of_family in gone.chunk_by(|a, b| a.family == b.family) {
            let locks: Vec<RangeLockId> = of_family.iter().map(|tracked| tracked.lock).collect();
            locking.shared.locks.unlock_ranges(of_family[0].family, &locks);
        }
    }

    /// `Aborted` if the batch has no room for a row of `bytes` bytes.
    pub(crate) fn check_batch_size(&self, bytes: usize) -> Result<()> {
        if self.max_write_batch_size == 0
            || self.batch.write_batch().data_size() + bytes + 3 <= self.max_write_batch_size
        {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Aborted, "Memory limit reached"))
    }

    /// `InvalidArgument` for a family of another database, `NotSupported` for one with timestamps.
    pub(crate) fn check_family(&self, family: &ColumnFamily) -> Result<()> {
        self.db.check_column_family(family)?;
        if family.comparator().timestamp_size() == 0 {
            return Ok(());
        }
        Err(Error::not_supported(format!(
            "transactions in column family {}, which has timestamps",
            family.name()
        )))
    }

    /// The sequence number by which an optimistic transaction validates the next key.
    pub(crate) fn record_optimistic(&mut self, validate: bool) -> Option<SeqNo> {
        if !validate {
            return None;
        }
        self.take_snapshot_if_needed();
        let snapshot = self.snapshot.clone();
        let Control::Validation { boundary } = &mut self.control else {
            return None;
        };
        let Some(snapshot) = snapshot else {
            let held = boundary.get_or_insert_with(|| self.db.snapshot());
            // The sequence number is read after the snapshot was taken, so that it is not older than the
            // snapshot.
            return Some(self.db.latest_sequence_number().max(held.sequence_number()));
        };
        let seqno = snapshot.sequence_number();
        if boundary
            .as_ref()
            .is_none_or(|held| held.sequence_number() > seqno)
        {
            *boundary = Some(snapshot);
        }
        Some(seqno)
    }
}

impl Locking {
    pub fn now(&self) -> Duration {
        self.shared.locks.clock().now()
    }

    /// True if the transaction's time limit has passed.
    pub fn is_expired(&self) -> bool {
        self.request.expires.is_some_and(|expires| expires <= self.now())
    }

    /// Releases the lock of a key.
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
                // The rows that were written since it was prepared are discarded.
                self.batch.clear();
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
