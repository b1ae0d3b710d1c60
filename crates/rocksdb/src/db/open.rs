//! Opening, listing, destroying and repairing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::{DBCommon, DBInner, DBWithThreadMode, DBWithThreadModeInner, ThreadMode};
use crate::{ColumnFamilyDescriptor, ColumnFamilyTtl, DEFAULT_COLUMN_FAMILY_NAME, Error, Options};

/// The mode of an open.
pub(crate) enum Access<'a> {
    /// The database is opened for writing.
    ReadWrite,
    /// The database is opened for writing by transactions that lock.
    Transactions,
    /// The database is opened for reading its present state.
    ReadOnly { error_if_log_file_exist: bool },
    /// The database is opened as a secondary of another process that writes it, with a directory of its own.
    Secondary(&'a Path),
}

/// An open database, and the requested families.
pub(crate) type Opened = (esker::Db, BTreeMap<String, esker::ColumnFamily>);

/// Opens the database in `path` with the families of `descriptors`, and with the default one whether it is
/// named or not.
pub(crate) fn open(
    options: &Options,
    path: &Path,
    descriptors: Vec<ColumnFamilyDescriptor>,
    access: &Access<'_>,
) -> Result<Opened, Error> {
    let mut engine = engine_options(options, &descriptors)?;
    engine.allow_2pc |= matches!(access, Access::Transactions);
    let wanted = engine.column_families.keys();
    let mut names: Vec<String> = wanted.cloned().collect();
    if !names.iter().any(|name| name == DEFAULT_COLUMN_FAMILY_NAME) {
        names.push(DEFAULT_COLUMN_FAMILY_NAME.to_owned());
    }
    let db = match access {
        Access::ReadWrite | Access::Transactions => {
            check_named(&engine, path, &names)?;
            esker::Db::open(&engine, path)?
        }
        Access::ReadOnly {
            error_if_log_file_exist,
        } => {
            if *error_if_log_file_exist {
                check_no_wal(&engine, path)?;
            }
            esker::Db::open_read_only(&engine, path)?
        }
        Access::Secondary(secondary) => esker::Db::open_as_secondary(&engine, path, secondary)?,
    };
    let families = families_of(&db, names)?;
    Ok((db, families))
}

fn families_of(db: &esker::Db, names: Vec<String>) -> Result<BTreeMap<String, esker::ColumnFamily>, Error> {
    let mut families = BTreeMap::new();
    for name in names {
        let family = db
            .column_family(&name)
            .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))?;
        families.insert(name, family);
    }
    Ok(families)
}

/// Opens a database whose rows expire, in the way in which [`open`] opens other databases.
fn open_ttl(
    options: &Options,
    path: &Path,
    descriptors: &[ColumnFamilyDescriptor],
    ttl: Duration,
) -> Result<(esker::DbWithTtl, BTreeMap<String, esker::ColumnFamily>), Error> {
    let engine = engine_options(options, descriptors)?;
    let of = |own| {
        esker::FamilyTtl::RocksDb(match own {
            ColumnFamilyTtl::Disabled => 0,
            ColumnFamilyTtl::Duration(own) => seconds(own),
            ColumnFamilyTtl::SameAsDb => seconds(ttl),
        })
    };
    let mut names: Vec<String> = descriptors.iter().map(|cf| cf.name.clone()).collect();
    if !names.iter().any(|name| name == DEFAULT_COLUMN_FAMILY_NAME) {
        names.push(DEFAULT_COLUMN_FAMILY_NAME.to_owned());
    }
    check_named(&engine, path, &names)?;
    let ttls = esker::TtlOptions {
        default: of(ColumnFamilyTtl::SameAsDb),
        families: descriptors
            .iter()
            .map(|cf| (cf.name.clone(), of(cf.ttl)))
            .collect(),
        read_only: false,
    };
    let db = esker::DbWithTtl::open_with(&engine, path, &ttls)?;
    let families = families_of(db.db(), names)?;
    Ok((db, families))
}

/// The time to live is rounded to whole seconds, as in RocksDB.
fn seconds(ttl: Duration) -> i32 {
    i32::try_from(ttl.as_secs()).unwrap_or(i32::MAX)
}

/// Returns the options of the crate `esker` for a database with the given families.
fn engine_options(
    options: &Options,
    descriptors: &[ColumnFamilyDescriptor],
) -> Result<esker::Options, Error> {
    options.check()?;
    let mut engine = options.inner.clone();
    let mut kept = options.kept.clone();
    if !descriptors.is_empty() {
        // As in the `rocksdb` crate: if families are named without the default one, that has default options.
        engine.column_family = Options::default().inner.column_family;
    }
    for descriptor in descriptors {
        descriptor.options.check()?;
        kept.extend(descriptor.options.kept.clone());
        let family = descriptor.options.inner.column_family.clone();
        if descriptor.name == DEFAULT_COLUMN_FAMILY_NAME {
            engine.column_family = family.clone();
        }
        engine.column_families.insert(descriptor.name.clone(), family);
    }
    engine.kept_options = kept
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Ok(engine)
}

/// RocksDB opens a database for writing only with all its families.
fn check_named(engine: &esker::Options, path: &Path, names: &[String]) -> Result<(), Error> {
    // If the database cannot be listed, the open reports the reason.
    let existing = esker::Db::list_column_families(engine, path).unwrap_or_default();
    let unnamed: Vec<&str> = existing
        .iter()
        .map(String::as_str)
        .filter(|name| !names.iter().any(|named| named == name) && *name != STATS_HISTORY)
        .collect();
    match unnamed.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "Column families not opened: {}",
            unnamed.join(", ")
        ))),
    }
}

/// The name of RocksDB's internal column family for the history of statistics.
const STATS_HISTORY: &str = "___rocksdb_stats_history___";

fn check_no_wal(engine: &esker::Options, path: &Path) -> Result<(), Error> {
    let wal_dir = match engine.wal_dir.is_empty() {
        true => path,
        false => Path::new(&engine.wal_dir),
    };
    for name in engine.fs.list(wal_dir)? {
        if name.ends_with(".log") && engine.fs.size(&wal_dir.join(&name))? > 0 {
            return Err(Error::new(format!(
                "Corruption: error_if_log_file_exist is set and there is the WAL {name}"
            )));
        }
    }
    Ok(())
}

fn named<I, N>(names: I) -> Vec<ColumnFamilyDescriptor>
where
    I: IntoIterator<Item = N>,
    N: AsRef<str>,
{
    let descriptor = |name: N| ColumnFamilyDescriptor::new(name.as_ref(), Options::default());
    names.into_iter().map(descriptor).collect()
}

fn named_with_options<I, N>(names: I) -> Vec<ColumnFamilyDescriptor>
where
    I: IntoIterator<Item = (N, Options)>,
    N: AsRef<str>,
{
    let descriptor = |(name, options): (N, Options)| ColumnFamilyDescriptor::new(name.as_ref(), options);
    names.into_iter().map(descriptor).collect()
}

impl<T: ThreadMode> DBWithThreadMode<T> {
    fn open_descriptors(
        opts: &Options,
        path: &Path,
        descriptors: Vec<ColumnFamilyDescriptor>,
        access: &Access<'_>,
    ) -> Result<Self, Error> {
        let (db, families) = open(opts, path, descriptors, access)?;
        let inner = DBWithThreadModeInner { db, ttl: None };
        Ok(DBCommon::new(inner, families, path.to_path_buf()))
    }

    /// Opens a database, and creates it if there is none.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens a database that only has the default family.
    ///
    /// # Errors
    /// `Invalid argument` if it does not exist and `create_if_missing` is off, or if it has other families;
    /// `IO error` if it is open elsewhere; `Corruption` if it is damaged; `Not implemented` with the name of
    /// an option that Esker does not have.
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_descriptors(opts, path.as_ref(), Vec::new(), &Access::ReadWrite)
    }

    /// Opens a database for reading its present state.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); with `error_if_log_file_exist`, `Corruption` if there is a WAL.
    pub fn open_for_read_only<P: AsRef<Path>>(
        opts: &Options,
        path: P,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error> {
        let access = Access::ReadOnly {
            error_if_log_file_exist,
        };
        Self::open_descriptors(opts, path.as_ref(), Vec::new(), &access)
    }

    /// Opens a database that another process writes, for reading; `secondary_path` is its own directory.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_as_secondary<P: AsRef<Path>>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
    ) -> Result<Self, Error> {
        let access = Access::Secondary(secondary_path.as_ref());
        Self::open_descriptors(opts, primary_path.as_ref(), Vec::new(), &access)
    }

    /// Opens a database whose rows live for `ttl`: a compaction drops them afterwards. Values end with the
    /// time of their write, which a database without a time to live shows.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_with_ttl<P: AsRef<Path>>(opts: &Options, path: P, ttl: Duration) -> Result<Self, Error> {
        Self::open_cf_descriptors_with_ttl(opts, path, Vec::new(), ttl)
    }

    /// Opens a database whose rows live for `ttl`, with these families.
    ///
    /// # Errors
    /// The errors of [`open_cf`](Self::open_cf).
    pub fn open_cf_with_ttl<P, I, N>(opts: &Options, path: P, cfs: I, ttl: Duration) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = named(cfs).into_iter().map(|mut cf| {
            cf.set_ttl(ColumnFamilyTtl::SameAsDb);
            cf
        });
        Self::open_cf_descriptors_with_ttl(opts, path, cfs, ttl)
    }

    /// Opens a database whose rows expire, with these families, each with its own time to live. Rows of the
    /// default family live for `ttl` unless it is named.
    ///
    /// # Errors
    /// The errors of [`open_cf`](Self::open_cf).
    pub fn open_cf_descriptors_with_ttl<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        ttl: Duration,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let descriptors: Vec<ColumnFamilyDescriptor> = cfs.into_iter().collect();
        let (db, families) = open_ttl(opts, path.as_ref(), &descriptors, ttl)?;
        let inner = DBWithThreadModeInner {
            db: db.db().clone(),
            ttl: Some(db),
        };
        Ok(DBCommon::new(inner, families, path.as_ref().to_path_buf()))
    }

    /// Opens a database with these families, with default options.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open); a missing family is created only with
    /// `create_missing_column_families`.
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_descriptors(opts, path.as_ref(), named(cfs), &Access::ReadWrite)
    }

    /// Opens a database with these families and their options.
    ///
    /// # Errors
    /// The errors of [`open_cf`](Self::open_cf).
    pub fn open_cf_with_opts<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        let cfs = named_with_options(cfs);
        Self::open_descriptors(opts, path.as_ref(), cfs, &Access::ReadWrite)
    }

    /// Opens a database with these families, for reading its present state. Other families are left out.
    ///
    /// # Errors
    /// The errors of [`open_for_read_only`](Self::open_for_read_only).
    pub fn open_cf_for_read_only<P, I, N>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_read_only(opts, path, named(cfs), error_if_log_file_exist)
    }

    /// Opens a database with these families and their options, for reading its present state.
    ///
    /// # Errors
    /// The errors of [`open_for_read_only`](Self::open_for_read_only).
    pub fn open_cf_with_opts_for_read_only<P, I, N>(
        db_opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        let cfs = named_with_options(cfs);
        Self::open_cf_descriptors_read_only(db_opts, path, cfs, error_if_log_file_exist)
    }

    /// Opens a database with these families, for reading its present state.
    ///
    /// # Errors
    /// The errors of [`open_for_read_only`](Self::open_for_read_only).
    pub fn open_cf_descriptors_read_only<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let access = Access::ReadOnly {
            error_if_log_file_exist,
        };
        Self::open_descriptors(opts, path.as_ref(), cfs.into_iter().collect(), &access)
    }

    /// Opens a database that another process writes, with these families.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_cf_as_secondary<P, I, N>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_as_secondary(opts, primary_path, secondary_path, named(cfs))
    }

    /// Opens a database that another process writes, with these families and their options.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_cf_descriptors_as_secondary<P, I>(
        opts: &Options,
        path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let access = Access::Secondary(secondary_path.as_ref());
        Self::open_descriptors(opts, path.as_ref(), cfs.into_iter().collect(), &access)
    }

    /// Opens a database with these families and their options.
    ///
    /// # Errors
    /// The errors of [`open_cf`](Self::open_cf).
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        Self::open_descriptors(opts, path.as_ref(), cfs.into_iter().collect(), &Access::ReadWrite)
    }
}

/// The names of the families of the database in `path`.
pub(crate) fn list_cf(opts: &Options, path: &Path) -> Result<Vec<String>, Error> {
    Ok(esker::Db::list_column_families(&opts.inner, path)?)
}

/// Deletes the database in `path`.
pub(crate) fn destroy(opts: &Options, path: &Path) -> Result<(), Error> {
    Ok(esker::Db::destroy(&opts.inner, path)?)
}

/// Rebuilds a database from the files in `path`.
pub(crate) fn repair(opts: &Options, path: &Path) -> Result<(), Error> {
    esker::Db::repair(&opts.inner, path)?;
    Ok(())
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The names of the families of the database in `path`, without opening it.
    ///
    /// # Errors
    /// There is no database, or its MANIFEST is damaged.
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        list_cf(opts, path.as_ref())
    }

    /// Deletes the database in `path`. Does nothing if there is none.
    ///
    /// # Errors
    /// `IO error` if it is open.
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        destroy(opts, path.as_ref())
    }

    /// Rebuilds a database from the readable data of the files in `path`.
    ///
    /// # Errors
    /// `IO error` if it is open.
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        repair(opts, path.as_ref())
    }

    /// The directory of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
