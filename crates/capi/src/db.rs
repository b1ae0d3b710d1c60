//! `rocksdb_t`: opening and closing.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use esker::{
    ColumnFamily, ColumnFamilyOptions, Db, DbWithTtl, Error, FamilyTtl, Operation, Options, PinnedValue,
    ReadOptions, Result, WriteBatch, WriteBatchWithIndex, WriteOptions,
};

use txn::{OptimisticTransactionDB, TransactionDB};

use crate::family_handle::{handle, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::options::{DatabaseListener, rocksdb_options_t};
use crate::process::OfProcess;

/// `rocksdb_t`, `rocksdb_transactiondb_t` and `rocksdb_optimistictransactiondb_t`: RocksDB's databases are of
/// one class, and programs pass one in the place of another.
pub struct rocksdb_t {
    pub db: OfProcess<Db>,
    /// The database or transaction layer that writes go through.
    pub kind: Kind,
    /// The family of functions without `_cf`.
    pub default: ColumnFamily,
    /// True if `inplace_update_support` was set: snapshots are empty.
    pub inplace_update: bool,
    /// The number of times that manual compactions were disabled, less the times that they were enabled.
    /// Below 0, the next disabling has no effect.
    pub manual_pauses: AtomicI64,
    listeners: Vec<Arc<dyn DatabaseListener>>,
}

/// The layers that writes of a database pass through, which depend on the function that opened it.
pub enum Kind {
    /// A plain database, or the base database of a database with transactions.
    Plain,
    /// A database whose rows have a time to live.
    Ttl(OfProcess<DbWithTtl>),
    /// The locks of transactions.
    Locks(OfProcess<TransactionDB>),
    /// A database with optimistic transactions, which are validated at their commits.
    Validation(OfProcess<OptimisticTransactionDB>),
}

impl rocksdb_t {
    /// Creates the caller's object for an open database.
    pub fn opened(db: Db, options: &rocksdb_options_t) -> *mut rocksdb_t {
        let pointer = boxed(rocksdb_t {
            default: db.default_column_family(),
            db: OfProcess::new(db),
            kind: Kind::Plain,
            inplace_update: options.fields.inplace_update_support != 0,
            manual_pauses: AtomicI64::new(0),
            listeners: options.listeners.clone(),
        });
        options
            .listeners
            .iter()
            .for_each(|listener| listener.attach(pointer.cast()));
        pointer
    }

    /// Creates an object for the base database of this database with transactions. The object is not updated
    /// when the database is closed. Writes through the object take no locks.
    pub fn another(&self) -> *mut rocksdb_t {
        boxed(rocksdb_t {
            db: OfProcess::new((*self.db).clone()),
            kind: Kind::Plain,
            default: self.default.clone(),
            inplace_update: self.inplace_update,
            manual_pauses: AtomicI64::new(0),
            listeners: Vec::new(),
        })
    }

    /// Opens a database with one family, after `change` has changed its options.
    ///
    /// # Safety
    /// The caller keeps the rules of `rocksdb_open`.
    pub unsafe fn open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        change: impl FnOnce(&mut Options),
    ) -> Result<*mut rocksdb_t> {
        let (mut whole, dir) = ((*options).database()?, path(name));
        change(&mut whole);
        check_all_named(&whole, &dir, &["default".to_owned()])?;
        Ok(rocksdb_t::opened(Db::open(&whole, dir)?, &*options))
    }

    /// Opens a database with several families, after `change` has changed its options.
    ///
    /// # Safety
    /// The caller keeps the rules of `rocksdb_open_column_families`.
    pub unsafe fn open_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        families: &Families,
        change: impl FnOnce(&mut Options),
    ) -> Result<*mut rocksdb_t> {
        let (mut whole, list) = with_families(options, families)?;
        change(&mut whole);
        let dir = path(name);
        check_all_named(&whole, &dir, &list)?;
        let db = Db::open(&whole, dir)?;
        give_handles(&db, &list, families.handles)?;
        Ok(rocksdb_t::opened(db, &*options))
    }
}

/// The number of bytes that the time of its write takes at the end of a value.
const SUFFIX: usize = 4;

/// Defines writes of one row that pass through the locks of transactions, and those that also pass through
/// times to live.
macro_rules! writes {
    ($($(#[$meta:meta])+ $name:ident ($($arg:ident),*) $(through $ttl:ident)?;)+) => { $(
        $(#[$meta])+
        #[inline]
        pub fn $name(&self, family: &ColumnFamily, $($arg: &[u8],)* options: &WriteOptions) -> Result<()> {
            match &self.kind {
                Kind::Plain | Kind::Validation(_) => self.db.$name(family, $($arg,)* options),
                Kind::Locks(db) => db.$name(family, $($arg,)* options),
                Kind::Ttl(db) => (writes!(@base db $($ttl)?)).$name(family, $($arg,)* options),
            }
        }
    )+ };
    (@base $db:ident ttl) => {
        $db
    };
    (@base $db:ident) => {
        $db.db()
    };
}

impl rocksdb_t {
    /// The database's times to live, if it has any.
    #[inline]
    pub fn ttl(&self) -> Option<&DbWithTtl> {
        match &self.kind {
            Kind::Ttl(ttl) => Some(ttl),
            _ => None,
        }
    }

    /// The number of bytes at the end of each value that hold the time of its write, which the caller does
    /// not see.
    #[inline]
    pub fn suffix(&self) -> usize {
        match self.kind {
            Kind::Ttl(_) => SUFFIX,
            _ => 0,
        }
    }

    /// `NotSupported` in a database with times to live, for a function that would show whole values.
    #[inline]
    pub fn check_no_ttl(&self, name: &str) -> Result<()> {
        match self.kind {
            Kind::Ttl(_) => Err(Error::not_supported(format!(
                "{name} in a database with a time to live"
            ))),
            _ => Ok(()),
        }
    }

    /// `NotSupported` for a write with a timestamp in a database whose writes pass through transactions or
    /// times to live.
    pub fn check_stamped(&self) -> Result<()> {
        match self.kind {
            Kind::Locks(_) => Err(Error::not_supported(
                "Write operation with user timestamp must go through the transaction API instead of \
                 TransactionDB.",
            )),
            _ => self.check_no_ttl("a timestamp"),
        }
    }

    writes! {
        /// Sets a key.
        put_cf_opt(key, value) through ttl;
        /// Adds an operand.
        merge_cf_opt(key, value) through ttl;
        /// Deletes a key.
        delete_cf_opt(key);
        /// Deletes a key that was put once.
        single_delete_cf_opt(key);
    }

    /// Deletes a range of keys.
    pub fn delete_range_cf_opt(
        &self,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match &self.kind {
            Kind::Locks(db) => db.delete_range_cf_opt(family, begin, end, options),
            Kind::Validation(_) => Err(no_range_deletion()),
            _ => self.db.delete_range_cf_opt(family, begin, end, options),
        }
    }

    /// Returns the value of a key.
    #[inline]
    pub fn get_pinned_cf_opt(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        match &self.kind {
            Kind::Ttl(db) => db.get_pinned_cf_opt(family, key, options),
            _ => self.db.get_pinned_cf_opt(family, key, options),
        }
    }

    /// Writes a batch.
    #[inline]
    pub fn write_in_place(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.kind {
            Kind::Plain => {}
            Kind::Ttl(db) => return db.write_opt(batch, options),
            Kind::Locks(db) => return db.write_opt(batch.clone(), options),
            Kind::Validation(_) => check_no_range_deletion(batch)?,
        }
        self.db.write_in_place(batch, options).map(drop)
    }

    /// Writes the rows of an index.
    pub fn write_index(&self, options: &WriteOptions, batch: &mut WriteBatchWithIndex) -> Result<()> {
        match &self.kind {
            Kind::Plain => {}
            Kind::Ttl(db) => return db.write_opt(batch.write_batch(), options),
            Kind::Locks(db) => return db.write_opt(batch.write_batch().clone(), options),
            Kind::Validation(_) => check_no_range_deletion(batch.write_batch())?,
        }
        batch.write_to(&self.db, options).map(drop)
    }

    /// Creates a family, whose rows do not expire if the database has times to live.
    pub fn create_family(&self, name: &str, options: &ColumnFamilyOptions) -> Result<ColumnFamily> {
        match &self.kind {
            Kind::Ttl(db) => db.create_column_family(name, options, FamilyTtl::RocksDb(0)),
            Kind::Locks(db) => db.create_column_family(name, options),
            _ => self.db.create_column_family(name, options),
        }
    }

    /// Drops a family, with the locks on its keys.
    pub fn drop_family(&self, family: &ColumnFamily) -> Result<()> {
        match &self.kind {
            Kind::Locks(db) => db.drop_column_family(family),
            _ => self.db.drop_column_family(family),
        }
    }
}

fn no_range_deletion() -> Error {
    Error::not_supported("DeleteRange is not supported in OptimisticTransactionDB")
}

fn check_no_range_deletion(batch: &WriteBatch) -> Result<()> {
    let deletes_range = |operation: Operation<'_>| matches!(operation, Operation::DeleteRange { .. });
    if batch.operations().flatten().any(deletes_range) {
        return Err(no_range_deletion());
    }
    Ok(())
}

/// The families of an open, as C passes them.
pub struct Families {
    pub count: c_int,
    pub names: *const *const c_char,
    pub family_options: *const *const rocksdb_options_t,
    pub handles: *mut *mut rocksdb_column_family_handle_t,
}

impl Families {
    /// Gathers the arguments of a call, in their order.
    pub fn new(
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> Families {
        Families {
            count,
            names,
            family_options,
            handles,
        }
    }
}

/// Returns the options of a database, and of its families by name.
///
/// # Safety
/// The arrays have `count` elements.
pub unsafe fn with_families(
    options: *const rocksdb_options_t,
    families: &Families,
) -> Result<(Options, Vec<String>)> {
    let mut whole = (*options).database()?;
    let count = families.count.max(0) as usize;
    let mut list = Vec::with_capacity(count);
    let names = array(families.names, count).iter();
    for (name, options) in names.zip(array(families.family_options, count)) {
        let name = string(*name);
        whole.column_families.insert(name.clone(), (**options).family()?);
        list.push(name);
    }
    Ok((whole, list))
}

/// Returns an error unless `names` has every family of the database: RocksDB requires it for an open with
/// writes.
pub fn check_all_named(options: &Options, path: &std::path::Path, names: &[String]) -> Result<()> {
    if !names.iter().any(|name| name == "default") {
        return Err(Error::invalid_argument("Default column family not specified"));
    }
    if !options.fs.exists(&path.join("CURRENT"))? {
        return Ok(());
    }
    let there = Db::list_column_families(options, path)?;
    let missing: Vec<&str> = there
        .iter()
        .map(String::as_str)
        .filter(|name| !names.iter().any(|n| n == name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "Column families not opened: {}",
        missing.join(", ")
    )))
}

/// Writes the handles of the opened families, in the order of their names in the call.
///
/// # Safety
/// `handles` has room for all families.
pub unsafe fn give_handles(
    db: &Db,
    names: &[String],
    handles: *mut *mut rocksdb_column_family_handle_t,
) -> Result<()> {
    for (at, name) in names.iter().enumerate() {
        let family = db
            .column_family(name)
            .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))?;
        *handles.add(at) = handle(family);
    }
    Ok(())
}

api!(
    fn rocksdb_open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        fallible(errptr, || rocksdb_t::open(options, name, |_| {}))
    }
);

api!(
    fn rocksdb_open_for_read_only(
        options: *const rocksdb_options_t,
        name: *const c_char,
        _error_if_wal_exists: u8,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        fallible(errptr, || {
            let whole = (*options).database()?;
            Ok(rocksdb_t::opened(
                Db::open_read_only(&whole, path(name))?,
                &*options,
            ))
        })
    }
);

api!(
    fn rocksdb_open_as_secondary(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        fallible(errptr, || {
            let whole = (*options).database()?;
            Ok(rocksdb_t::opened(
                Db::open_as_secondary(&whole, path(name), path(secondary))?,
                &*options,
            ))
        })
    }
);

api!(
    fn rocksdb_try_catch_up_with_primary(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.try_catch_up_with_primary())
    }
);

api!(
    fn rocksdb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            rocksdb_t::open_families(options, name, &families, |_| {})
        })
    }
);

api!(
    fn rocksdb_open_for_read_only_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        _error_if_wal_exists: u8,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            let (whole, list) = with_families(options, &families)?;
            let db = Db::open_read_only(&whole, path(name))?;
            give_handles(&db, &list, handles)?;
            Ok(rocksdb_t::opened(db, &*options))
        })
    }
);

api!(
    fn rocksdb_open_as_secondary_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            let (whole, list) = with_families(options, &families)?;
            let db = Db::open_as_secondary(&whole, path(name), path(secondary))?;
            give_handles(&db, &list, handles)?;
            Ok(rocksdb_t::opened(db, &*options))
        })
    }
);

api!(
    fn rocksdb_close(db: *mut rocksdb_t) {
        let Some(db) = taken(db) else {
            return;
        };
        if !db.db.is_own() {
            // A child of `fork` only forgets the object: the database continues in the process that opened
            // it.
            return std::mem::forget(db);
        }
        // The caller's remaining iterators and snapshots see a closed database from here on.
        if let Err(error) = db.db.close() {
            complain(&format!("rocksdb_close: {}", error_text(&error)));
        }
        // The threads of the database have ended, so there are no more callbacks.
        for listener in &db.listeners {
            listener.attach(std::ptr::null_mut());
        }
    }
);

api!(
    fn rocksdb_destroy_db(options: *const rocksdb_options_t, name: *const c_char, errptr: *mut *mut c_char) {
        fallible(errptr, || Db::destroy(&(*options).database()?, path(name)))
    }
);

api!(
    fn rocksdb_repair_db(options: *const rocksdb_options_t, name: *const c_char, errptr: *mut *mut c_char) {
        fallible(errptr, || {
            Db::repair(&(*options).database()?, path(name)).map(drop)
        })
    }
);

api!(
    fn rocksdb_free(pointer: *mut std::ffi::c_void) {
        libc::free(pointer)
    }
);
