//! Databases whose rows have a time to live: RocksDB's `DBWithTTL`, and rows with a time of their own.
//!
//! The time is a suffix of the value, which the underlying database does not know:
//!
//! ```text
//! FamilyTtl::RocksDb   value | u32 Unix seconds when it was written
//! FamilyTtl::PerKey    value | u64 Unix microseconds when it expires; 0: never
//! ```
//!
//! A compaction filter drops expired rows. The kind of a family is recorded in the OPTIONS file, as the name
//! of that filter's factory, so that a database that is opened without it says so in LOG.

mod hooks;
mod iterator;
mod plain;
mod rules;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use base::{Error, Result, merge};

use crate::batch::operation::Operation;
use crate::batch::write_batch::WriteBatch;
use crate::files::pinned_value::PinnedValue;
use crate::options::file::OptionsFile;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::names::STATS_COLUMN_FAMILY;
use crate::options::{ColumnFamilyOptions, Options, WriteOptions};
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

pub use iterator::TtlIterator;
pub use rules::FamilyTtl;
use rules::Rules;

/// An open database whose families have a time to live.
///
/// Each family is of one of the kinds of [`FamilyTtl`]. Times come from [`Options::clock`]. Operations
/// without a method here are available in the [underlying database](DbWithTtl::db), which shows values with
/// their suffix; rows written there without one are `Corruption` here. Wide-column entities are refused.
/// Cheap to clone; all clones are the same database.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use esker::{DbWithTtl, Options};
///
/// let options = Options { create_if_missing: true, ..Default::default() };
/// let db = DbWithTtl::open(&options, dir.path(), 3600)?;
/// db.put("session", "an hour")?;
/// assert!(db.get("session")?.is_some());
/// let mut rows = db.iter()?;
/// rows.seek_to_first();
/// assert_eq!(rows.value(), b"an hour");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DbWithTtl {
    db: Db,
    families: Arc<ArcSwap<HashMap<u32, Arc<Rules>>>>,
}

/// The options to open a [`DbWithTtl`].
///
/// ```
/// use esker::{DbWithTtl, FamilyTtl, Options, TtlOptions};
/// use std::time::Duration;
///
/// # let dir = tempfile::tempdir()?;
/// let options = Options { create_if_missing: true, ..Default::default() };
/// let ttl = TtlOptions {
///     default: FamilyTtl::PerKey(Some(Duration::from_secs(3600))),
///     families: [("sessions".to_owned(), FamilyTtl::PerKey(None))].into(),
///     read_only: false,
/// };
/// let db = DbWithTtl::open_with(&options, dir.path(), &ttl)?;
/// assert_eq!(db.ttl(&db.db().default_column_family())?, ttl.default);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TtlOptions {
    /// The expiry of the default family, and of those that [`families`](TtlOptions::families) does not name.
    pub default: FamilyTtl,
    /// The expiry of other families, by name.
    pub families: BTreeMap<String, FamilyTtl>,
    /// True to open the database for reads only, like [`Db::open_read_only`].
    pub read_only: bool,
}

impl DbWithTtl {
    /// Opens the database in `path` with all its families, like RocksDB's `DBWithTTL::Open` with one time to
    /// live in seconds. The options' compaction filters and merge operators get values without their suffix.
    ///
    /// # Errors
    /// The errors of [`Db::open`]; `InvalidArgument` for a family that was of the other kind when it was last
    /// opened.
    pub fn open(options: &Options, path: impl AsRef<Path>, ttl: i32) -> Result<DbWithTtl> {
        let ttl = TtlOptions {
            default: FamilyTtl::RocksDb(ttl),
            families: BTreeMap::new(),
            read_only: false,
        };
        DbWithTtl::open_with(options, path, &ttl)
    }

    /// Opens as [`open`](DbWithTtl::open) does, with a kind and a time to live for each family.
    ///
    /// # Errors
    /// The errors of `open`; `InvalidArgument` for a family with rows of neither kind that is opened as
    /// [`FamilyTtl::PerKey`].
    pub fn open_with(options: &Options, path: impl AsRef<Path>, ttl: &TtlOptions) -> Result<DbWithTtl> {
        let path = path.as_ref();
        let exists = options.fs.exists(&path.join("CURRENT"))?;
        let stored = match exists {
            true => OptionsFile::newest(&*options.fs, path)?.map(|(_, file)| file),
            false => None,
        };
        let existing = match exists {
            true => Db::list_column_families(options, path)?,
            false => Vec::new(),
        };
        let of = |name: &str| ttl.families.get(name).copied().unwrap_or(ttl.default);
        for name in &existing {
            check_kind(name, of(name), stored.as_ref())?;
        }
        let mut with_hooks = options.clone();
        let mut rules = BTreeMap::new();
        let named = options
            .column_families
            .keys()
            .chain(&existing)
            .chain(ttl.families.keys());
        for name in named.filter(|name| *name != STATS_COLUMN_FAMILY && *name != DEFAULT_COLUMN_FAMILY) {
            let own = Rules::new(of(name), options.clock.clone());
            let family = hooked(options.family(name), &own, stored_operator(name, stored.as_ref()))?;
            if existing.contains(name) || options.column_families.contains_key(name) {
                with_hooks.column_families.insert(name.clone(), family);
            }
            rules.insert(name.clone(), own);
        }
        let own = Rules::new(of(DEFAULT_COLUMN_FAMILY), options.clock.clone());
        let operator = stored_operator(DEFAULT_COLUMN_FAMILY, stored.as_ref());
        let default = hooked(options.family(DEFAULT_COLUMN_FAMILY), &own, operator)?;
        match with_hooks.column_families.get_mut(DEFAULT_COLUMN_FAMILY) {
            Some(family) => *family = default,
            None => with_hooks.column_family = default,
        }
        rules.insert(DEFAULT_COLUMN_FAMILY.to_owned(), own);
        let db = match ttl.read_only {
            true => Db::open_read_only(&with_hooks, path)?,
            false => Db::open(&with_hooks, path)?,
        };
        let known = |family: ColumnFamily| Some((family.id(), rules.get(family.name())?.clone()));
        let families = db.column_families().into_iter().filter_map(known).collect();
        Ok(DbWithTtl {
            db,
            families: Arc::new(ArcSwap::from_pointee(families)),
        })
    }

    /// The underlying database, for operations that do not involve values.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Creates a column family: RocksDB's `CreateColumnFamilyWithTtl`. Errors are those of
    /// [`Db::create_column_family`].
    pub fn create_column_family(
        &self,
        name: &str,
        options: &ColumnFamilyOptions,
        ttl: FamilyTtl,
    ) -> Result<ColumnFamily> {
        let rules = Rules::new(ttl, self.db.options().clock.clone());
        let family = self
            .db
            .create_column_family(name, &hooked(options, &rules, None)?)?;
        self.families.rcu(|families| {
            let mut families = HashMap::clone(families);
            families.insert(family.id(), rules.clone());
            families
        });
        Ok(family)
    }

    /// Sets the time to live of rows of `family`: in [`FamilyTtl::RocksDb`], of all existing rows; in
    /// [`FamilyTtl::PerKey`], of rows written from now on without one of their own. It applies until the
    /// database is closed.
    ///
    /// # Errors
    /// `InvalidArgument` for the other kind, and for a family of another database.
    pub fn set_ttl(&self, family: &ColumnFamily, ttl: FamilyTtl) -> Result<()> {
        self.rules(family)?.set(ttl)
    }

    /// The time to live of rows of `family`. Errors are those of [`set_ttl`](DbWithTtl::set_ttl).
    pub fn ttl(&self, family: &ColumnFamily) -> Result<FamilyTtl> {
        Ok(self.rules(family)?.ttl())
    }

    fn rules(&self, family: &ColumnFamily) -> Result<Arc<Rules>> {
        self.db.inner().check_owns(&family.0)?;
        self.rules_by_id(family.id())
    }

    fn rules_by_id(&self, id: u32) -> Result<Arc<Rules>> {
        let known = self.families.load().get(&id).cloned();
        known.ok_or_else(|| {
            Error::invalid_argument(format!("column family {id} was not opened with a time to live"))
        })
    }

    /// Sets `key` to `value`, with the family's time to live.
    ///
    /// # Errors
    /// The errors of [`Db::put`].
    pub fn put_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (key, value) = (key.as_ref(), value.as_ref());
        let value = self.rules(family)?.stamped(value, None)?;
        self.db.put_cf_opt(family, key, &value, options)
    }

    /// Sets `key` to `value` with the time to live `ttl`, of at least a microsecond.
    ///
    /// # Errors
    /// `NotSupported` in a family that is not [`FamilyTtl::PerKey`]; the errors of [`Db::put`].
    pub fn put_with_ttl_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
        options: &WriteOptions,
    ) -> Result<()> {
        let (key, value) = (key.as_ref(), value.as_ref());
        let value = self.rules(family)?.stamped(value, Some(ttl))?;
        self.db.put_cf_opt(family, key, &value, options)
    }

    /// Adds a merge operand to `key`, with the family's time to live. `NotSupported` in
    /// [`FamilyTtl::PerKey`].
    pub fn merge_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        let rules = self.rules(family)?;
        rules.check_merges()?;
        self.db
            .merge_cf_opt(family, key, &rules.stamped(operand, None)?, options)
    }

    /// Deletes `key`.
    pub fn delete_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.db.delete_cf_opt(family, key, options)
    }

    /// Applies a batch whose values and operands have no suffix yet, with the times to live of their
    /// families.
    ///
    /// # Errors
    /// `NotSupported` for operations other than puts, merges, deletions and log data; the errors of
    /// [`Db::write`] and [`merge`](DbWithTtl::merge_cf_opt).
    pub fn write_opt(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        self.write_rows(options, batch, None)
    }

    /// Writes as [`write`](DbWithTtl::write_opt) does, with the time to live `ttl` for all puts, which must
    /// be in families with a time to live [per key](FamilyTtl::PerKey).
    pub fn write_with_ttl(&self, batch: &WriteBatch, ttl: Duration, options: &WriteOptions) -> Result<()> {
        self.write_rows(options, batch, Some(ttl))
    }

    fn write_rows(&self, options: &WriteOptions, batch: &WriteBatch, ttl: Option<Duration>) -> Result<()> {
        batch.status()?;
        let mut stamped = WriteBatch::with_protection(batch.protection_bytes_per_key())?;
        for operation in batch.operations() {
            match operation? {
                Operation::Put { family, key, value } => {
                    let rules = self.rules_by_id(family)?;
                    stamped.add_put(family, key, &rules.stamped(value, ttl)?);
                }
                Operation::Merge { family, key, operand } => {
                    let rules = self.rules_by_id(family)?;
                    rules.check_merges()?;
                    stamped.add_merge(family, key, &rules.stamped(operand, None)?);
                }
                operation @ (Operation::Delete { .. }
                | Operation::SingleDelete { .. }
                | Operation::DeleteRange { .. }
                | Operation::LogData(_)) => stamped.add_without_value(&operation),
                _ => {
                    return Err(Error::not_supported(
                        "a database with a time to live supports puts, merges, deletions and log data only",
                    ));
                }
            }
        }
        self.db.write_opt(stamped, options)
    }

    /// The value of `key`, or `None`; in a family with a time to live [per key](FamilyTtl::PerKey) also if it
    /// has expired.
    ///
    /// # Errors
    /// `Corruption` for a value without a suffix; the errors of [`Db::get`].
    pub fn get_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        let key = key.as_ref();
        let rules = self.rules(family)?;
        let found = self.db.get_cf_opt(family, key, options)?;
        found.map_or(Ok(None), |value| rules.shown(value, rules.now()))
    }

    /// Reads as [`get`](DbWithTtl::get_cf_opt) does, without a copy.
    ///
    /// # Errors
    /// The errors of `get`.
    pub fn get_pinned_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        let key = key.as_ref();
        let rules = self.rules(family)?;
        let found = self.db.get_pinned_cf_opt(family, key, options)?;
        found.map_or(Ok(None), |value| rules.shown_pinned(value, rules.now()))
    }

    /// The values of many keys as of one moment, each like [`get_pinned`](DbWithTtl::get_pinned_cf_opt).
    pub fn multi_get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Result<Option<PinnedValue>>> {
        let rules = match self.rules(family) {
            Ok(rules) => rules,
            Err(error) => return keys.iter().map(|_| Err(error.clone())).collect(),
        };
        let now = rules.now();
        let found = self.db.multi_get_pinned_cf_opt(family, keys, options).into_iter();
        found
            .map(|value| value?.map_or(Ok(None), |value| rules.shown_pinned(value, now)))
            .collect()
    }

    /// The values of many keys as of one moment, each like [`get`](DbWithTtl::get_cf_opt).
    pub fn multi_get_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>>> {
        let rules = match self.rules(family) {
            Ok(rules) => rules,
            Err(error) => return keys.iter().map(|_| Err(error.clone())).collect(),
        };
        let now = rules.now();
        let found = self.db.multi_get_cf_opt(family, keys, options).into_iter();
        found
            .map(|value| value?.map_or(Ok(None), |value| rules.shown(value, now)))
            .collect()
    }

    /// An iterator over `family`, without a position. Rows that expire while it moves are skipped from then
    /// on. Every value is read with its row, because its suffix decides whether the row is shown.
    ///
    /// # Errors
    /// The errors of [`set_ttl`](DbWithTtl::set_ttl).
    pub fn iter_cf_opt(&self, family: &ColumnFamily, options: &ReadOptions) -> Result<TtlIterator> {
        let rules = self.rules(family)?;
        let options = ReadOptions {
            allow_unprepared_value: false,
            ..options.clone()
        };
        Ok(TtlIterator::new(self.db.iter_cf_opt(family, &options), rules))
    }
}

/// The options of a family whose values have a suffix.
fn hooked(
    options: &ColumnFamilyOptions,
    rules: &Arc<Rules>,
    stored: Option<Arc<dyn merge::MergeOperator>>,
) -> Result<ColumnFamilyOptions> {
    let operator = options.merge_operator.clone().or(stored);
    let merges = rules.check_merges().is_ok();
    if options.merge_operator.is_some() && !merges {
        rules.check_merges()?;
    }
    Ok(ColumnFamilyOptions {
        compaction_filter_factory: Some(hooks::filter_factory(
            options.compaction_filter_factory.clone(),
            rules,
        )),
        merge_operator: operator
            .filter(|_| merges)
            .map(|operator| hooks::merge_operator(operator, rules)),
        ..options.clone()
    })
}

/// The user's merge operator named in the OPTIONS file, which gets values without a suffix.
fn stored_operator(name: &str, stored: Option<&OptionsFile>) -> Option<Arc<dyn merge::MergeOperator>> {
    let text = stored?.stored(name).merge_operator?;
    merge::from_text(merge::field_of(&text, hooks::MERGE_OPERATOR, "user_operator")?).ok()
}

/// `InvalidArgument` unless the values of an existing family have the suffix of `ttl`, as far as the OPTIONS
/// file shows.
fn check_kind(name: &str, ttl: FamilyTtl, stored: Option<&OptionsFile>) -> Result<()> {
    let Some(stored) = stored.filter(|_| name != STATS_COLUMN_FAMILY) else {
        return Ok(());
    };
    let factory = stored.compaction_filter_factory(name).unwrap_or_default();
    let by_key = factory.contains(hooks::PER_KEY_FACTORY);
    let has_kind = by_key || factory.contains(hooks::ROCKSDB_FACTORY);
    match ttl {
        FamilyTtl::RocksDb(_) if by_key => Err(Error::invalid_argument(format!(
            "rows of column family {name} have a time to live by key: FamilyTtl::PerKey"
        ))),
        FamilyTtl::PerKey(_) if has_kind && !by_key => Err(Error::invalid_argument(format!(
            "column family {name} is one of RocksDB's with a time to live: FamilyTtl::RocksDb"
        ))),
        FamilyTtl::PerKey(_) if !by_key => Err(Error::invalid_argument(format!(
            "column family {name} was created without a time to live by key"
        ))),
        _ => Ok(()),
    }
}
