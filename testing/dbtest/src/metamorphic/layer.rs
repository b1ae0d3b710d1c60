//! The layer of a database that rows pass through: none, transactions, or one with a time to live.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::{Clock, SystemClock};
use esker::{
    ColumnFamily, ColumnFamilyOptions, Db, DbIterator, DbWithTtl, FamilyTtl, Options, ReadOptions, Result,
    TtlIterator, TtlOptions, WriteBatch, WriteOptions,
};
use testkit::TestRng;
use testkit::model::{Op, Row};
use txn::{
    IsolationLevel, OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions,
};

use super::esker_store::{add, has_timestamps, told, words};
use super::{FamilyPlan, Outcome, Plan, Step, Walk};
use crate::settings;

/// The layer of a database that rows pass through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// Rows are written to the database itself.
    #[default]
    None,
    /// Rows are written by transactions with locks, some of them in two phases.
    Locks,
    /// Rows are written by transactions that are validated when they commit.
    Optimistic,
    /// Rows have a time to live that does not end, and some deletions write a row whose time is over.
    TimeToLive,
}

/// An open layer.
pub(super) enum OpenLayer {
    None,
    Locks(TransactionDB),
    Optimistic(OptimisticTransactionDB),
    TimeToLive(DbWithTtl, Arc<ShiftedClock>),
}

/// The clock of the machine, which can be advanced.
#[derive(Debug)]
pub(super) struct ShiftedClock {
    system: SystemClock,
    /// The microseconds by which the clock was advanced.
    ahead: AtomicU64,
}

impl Default for ShiftedClock {
    fn default() -> ShiftedClock {
        ShiftedClock {
            system: SystemClock::new(),
            ahead: AtomicU64::new(0),
        }
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Duration {
        self.system.now()
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_micros() / 1_000_000
    }

    fn unix_micros(&self) -> u64 {
        self.system.unix_micros() + self.ahead.load(Ordering::Relaxed)
    }
}

/// The time to live of the rows that are written instead of deletions.
const SHORT: Duration = Duration::from_secs(1);

/// The time to live of a family's rows, which ends for none of them.
fn time_to_live(family: &FamilyPlan) -> FamilyTtl {
    match family.merge_operator {
        "nullptr" if !family.has_timestamps() => FamilyTtl::PerKey(Some(Duration::from_secs(1 << 32))),
        _ => FamilyTtl::RocksDb(0),
    }
}

impl OpenLayer {
    /// Opens the database with the layer. `clock` is that of all opens: rows whose time was over stay so.
    pub fn open(
        layer: Layer,
        options: &Options,
        path: &std::path::Path,
        plan: &Plan,
        clock: &Arc<ShiftedClock>,
    ) -> Result<(Db, OpenLayer)> {
        let mut options = options.clone();
        match layer {
            Layer::None => Ok((Db::open(&options, path)?, OpenLayer::None)),
            Layer::Locks => {
                options.allow_2pc = true;
                let db = Db::open(&options, path)?;
                let locks = TransactionDB::wrap(db.clone(), &TransactionDBOptions::default())?;
                Ok((db, OpenLayer::Locks(locks)))
            }
            Layer::Optimistic => {
                let db = Db::open(&options, path)?;
                Ok((
                    db.clone(),
                    OpenLayer::Optimistic(OptimisticTransactionDB::wrap(db)),
                ))
            }
            Layer::TimeToLive => {
                options.clock = clock.clone();
                let families =
                    { plan.families.iter() }.map(|family| (family.name.clone(), time_to_live(family)));
                let ttl = TtlOptions {
                    default: time_to_live(&plan.families[0]),
                    families: families.collect(),
                    read_only: false,
                };
                let db = DbWithTtl::open_with(&options, path, &ttl)?;
                Ok((db.db().clone(), OpenLayer::TimeToLive(db, clock.clone())))
            }
        }
    }

    /// True if rows may be entities.
    pub fn takes_entities(&self) -> bool {
        !matches!(self, OpenLayer::TimeToLive(..))
    }

    pub fn create_column_family(
        &self,
        db: &Db,
        plan: &FamilyPlan,
        options: &ColumnFamilyOptions,
    ) -> Result<ColumnFamily> {
        match self {
            OpenLayer::TimeToLive(ttl, _) => {
                // The layer adds its own user code to that of the family.
                let own = ColumnFamilyOptions {
                    compaction_filter_factory: None,
                    merge_operator: settings::merge_operator(plan.merge_operator),
                    ..options.clone()
                };
                ttl.create_column_family(&plan.name, &own, time_to_live(plan))
            }
            _ => db.create_column_family(&plan.name, options),
        }
    }

    pub fn write(&self, db: &Db, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        match self {
            OpenLayer::TimeToLive(ttl, _) => ttl.write_opt(&batch, options),
            _ => db.write_opt(batch, options),
        }
    }

    /// Deletes a key by a row whose time is over, in a family of such rows. False if the family is another.
    pub fn expire(&self, family: &ColumnFamily, key: &[u8], options: &WriteOptions) -> Result<bool> {
        let OpenLayer::TimeToLive(ttl, clock) = self else {
            return Ok(false);
        };
        if !matches!(ttl.ttl(family)?, FamilyTtl::PerKey(_)) {
            return Ok(false);
        }
        ttl.put_with_ttl_cf_opt(family, key, EXPIRED, SHORT, options)?;
        clock.ahead.fetch_add(SHORT.as_micros() as u64, Ordering::Relaxed);
        Ok(true)
    }

    pub fn get(
        &self,
        db: &Db,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        match self {
            OpenLayer::TimeToLive(ttl, _) => ttl.get_cf_opt(family, key, options),
            _ => db.get_cf_opt(family, key, options),
        }
    }

    pub fn get_pinned(
        &self,
        db: &Db,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        let found = match self {
            OpenLayer::TimeToLive(ttl, _) => ttl.get_pinned_cf_opt(family, key, options)?,
            OpenLayer::Locks(_) | OpenLayer::Optimistic(_) if !has_timestamps(family) => {
                let transaction = self.begin(&WriteOptions::default(), IsolationLevel::Serializable);
                transaction.map_or(Ok(None), |transaction| {
                    transaction.get_cf_opt(family, key, options)
                })?
            }
            _ => db.get_pinned_cf_opt(family, key, options)?,
        };
        Ok(found.map(|value| value.to_vec()))
    }

    pub fn multi_get(
        &self,
        db: &Db,
        family: &ColumnFamily,
        keys: &[Vec<u8>],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>>> {
        match self {
            OpenLayer::TimeToLive(ttl, _) => ttl.multi_get_cf_opt(family, keys, options),
            _ => db.multi_get_cf_opt(family, keys, options),
        }
    }

    pub fn walk(
        &self,
        db: &Db,
        family: &ColumnFamily,
        options: &ReadOptions,
        by_transaction: bool,
    ) -> EskerWalk {
        if let OpenLayer::TimeToLive(ttl, _) = self {
            return match ttl.iter_cf_opt(family, options) {
                Ok(iter) => EskerWalk::TimeToLive(iter),
                Err(error) => EskerWalk::Failed(words(&error)),
            };
        }
        let transaction = (by_transaction && !has_timestamps(family))
            .then(|| self.begin(&WriteOptions::default(), IsolationLevel::ReadCommitted))
            .flatten();
        match transaction.map(|transaction| transaction.iter_cf_opt(family, options)) {
            None => EskerWalk::Plain(db.iter_cf_opt(family, options)),
            Some(Ok(iter)) => EskerWalk::Plain(iter),
            Some(Err(error)) => EskerWalk::Failed(words(&error)),
        }
    }

    /// A transaction, if the layer has transactions.
    fn begin(&self, options: &WriteOptions, isolation_level: IsolationLevel) -> Option<Transaction> {
        match self {
            OpenLayer::Locks(db) => {
                let how = TransactionOptions {
                    isolation_level,
                    ..TransactionOptions::default()
                };
                Some(db.begin_transaction(options, &how))
            }
            OpenLayer::Optimistic(db) => {
                let how = OptimisticTransactionOptions {
                    isolation_level,
                    ..OptimisticTransactionOptions::default()
                };
                Some(db.begin_transaction(options, &how))
            }
            OpenLayer::None | OpenLayer::TimeToLive(..) => None,
        }
    }

    /// Writes by a transaction, if the layer has transactions. Its own reads before the commit must find what
    /// others find after it.
    pub fn write_in_transaction(
        &self,
        db: &Db,
        writes: &[(ColumnFamily, &Op)],
        options: &WriteOptions,
        entities: bool,
        rng: &mut TestRng,
    ) -> Option<Outcome> {
        if writes.iter().any(|(family, _)| has_timestamps(family)) {
            return None;
        }
        let isolation_level = match rng.one_in(4) {
            true => IsolationLevel::Serializable,
            false => IsolationLevel::ReadCommitted,
        };
        let mut transaction = self.begin(options, isolation_level)?;
        let prepares = matches!(self, OpenLayer::Locks(_)) && !options.disable_wal && rng.one_in(3);
        Some(commit(db, &mut transaction, (writes, entities), prepares, rng))
    }
}

/// The value of a row that is written instead of a deletion.
pub(super) const EXPIRED: &[u8] = b"expired";

/// Writes and commits, after writes that are taken back.
fn commit(
    db: &Db,
    transaction: &mut Transaction,
    (writes, entities): (&[(ColumnFamily, &Op)], bool),
    prepares: bool,
    rng: &mut TestRng,
) -> Outcome {
    if rng.one_in(6) {
        told(repeat(transaction, writes, entities))?;
        told(transaction.rollback())?;
    }
    if rng.one_in(6) {
        transaction.set_save_point();
        told(repeat(transaction, writes, entities))?;
        told(transaction.rollback_to_save_point())?;
    }
    told(repeat(transaction, writes, entities))?;
    let keys = writes
        .iter()
        .filter(|_| rng.one_in(4))
        .filter_map(|(family, op)| match op {
            Op::Put(key, _) | Op::Delete(key) | Op::SingleDelete(key) | Op::Merge(key, _) => {
                Some((family, key))
            }
            Op::DeleteRange(..) => None,
        });
    let read = keys.map(|(family, key)| {
        let found = transaction
            .get_cf(family, key)
            .map(|found| found.map(|value| value.to_vec()));
        (family, key, told(found))
    });
    let read: Vec<_> = read.collect();
    if prepares {
        told(transaction.set_name(&rng.bytes(16)))?;
        told(transaction.prepare())?;
        if rng.one_in(8) {
            told(db.flush())?;
        }
    }
    told(transaction.commit())?;
    for (family, key, before) in read {
        let after = told(db.get_cf(family, key));
        if before != after {
            return Err(format!(
                "of key {} a transaction reads {before:?}, and after its commit there is {after:?}",
                key.escape_ascii()
            ));
        }
    }
    Ok(())
}

/// Writes by calls of the transaction, with `entities` the values of some keys as those of entities.
fn repeat(transaction: &mut Transaction, writes: &[(ColumnFamily, &Op)], entities: bool) -> Result<()> {
    let mut batch = WriteBatch::new();
    for (family, op) in writes {
        match op {
            Op::Put(key, value) if entities && value.len().is_multiple_of(2) => {
                let columns: [(&[u8], &[u8]); 2] = [(b"", value), (b"column", key)];
                batch.put_entity_cf(family, key, &columns)?;
            }
            op => add(&mut batch, family, op),
        }
    }
    transaction.rebuild_from_write_batch(&batch)
}

/// An iterator over a layer.
pub enum EskerWalk {
    /// An iterator of the database or a transaction.
    Plain(DbIterator),
    /// An iterator over rows with a time to live.
    TimeToLive(TtlIterator),
    /// The first words of the status of an iterator that could not be created.
    Failed(String),
}

impl Walk for EskerWalk {
    fn step(&mut self, step: &Step) {
        match self {
            EskerWalk::Plain(iter) => {
                match step {
                    Step::First => iter.seek_to_first(),
                    Step::Last => iter.seek_to_last(),
                    Step::Seek(key) => iter.seek(key),
                    Step::SeekForPrev(key) => iter.seek_for_prev(key),
                    Step::Next => iter.next(),
                    Step::Prev => iter.prev(),
                }
                if iter.valid() {
                    iter.prepare_value();
                }
            }
            EskerWalk::TimeToLive(iter) => match step {
                Step::First => iter.seek_to_first(),
                Step::Last => iter.seek_to_last(),
                Step::Seek(key) => iter.seek(key),
                Step::SeekForPrev(key) => iter.seek_for_prev(key),
                Step::Next => iter.next(),
                Step::Prev => iter.prev(),
            },
            EskerWalk::Failed(_) => {}
        }
    }

    fn row(&self) -> Option<Row> {
        match self {
            EskerWalk::Plain(iter) => iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec())),
            EskerWalk::TimeToLive(iter) => iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec())),
            EskerWalk::Failed(_) => None,
        }
    }

    fn status(&self) -> Outcome {
        match self {
            EskerWalk::Plain(iter) => told(iter.status()),
            EskerWalk::TimeToLive(iter) => told(iter.status()),
            EskerWalk::Failed(words) => Err(words.clone()),
        }
    }
}
