//! `rocksdb_t`: opening and closing.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use esker::{ColumnFamily, Db, Error, Options, Result};

use crate::column_family::{handle, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::listener::CallbackListener;
use crate::options::rocksdb_options_t;

/// `rocksdb_t`.
pub struct rocksdb_t {
    pub db: Db,
    /// The family of functions without `_cf`.
    pub default: ColumnFamily,
    /// True if `inplace_update_support` was set: snapshots are empty.
    pub inplace_update: bool,
    /// The number of times that manual compactions were disabled, less the times that they were enabled.
    /// Below 0, the next disabling has no effect.
    pub manual_pauses: AtomicI64,
    listeners: Vec<Arc<CallbackListener>>,
}

impl rocksdb_t {
    /// Creates the caller's object for an open database.
    pub fn opened(db: Db, options: &rocksdb_options_t) -> *mut rocksdb_t {
        let pointer = boxed(rocksdb_t {
            default: db.default_column_family(),
            db,
            inplace_update: options.fields.inplace_update_support != 0,
            manual_pauses: AtomicI64::new(0),
            listeners: options.listeners.clone(),
        });
        options
            .listeners
            .iter()
            .for_each(|listener| listener.attach(pointer));
        pointer
    }

    /// Creates another object for the same database, which is not notified of its end.
    pub fn another(&self) -> *mut rocksdb_t {
        boxed(rocksdb_t {
            db: self.db.clone(),
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
        let (mut whole, list) =
            with_families(options, families.count, families.names, families.family_options)?;
        change(&mut whole);
        let dir = path(name);
        check_all_named(&whole, &dir, &list)?;
        let db = Db::open(&whole, dir)?;
        give_handles(&db, &list, families.handles)?;
        Ok(rocksdb_t::opened(db, &*options))
    }
}

/// The families of an open, as C passes them.
pub struct Families {
    pub count: c_int,
    pub names: *const *const c_char,
    pub family_options: *const *const rocksdb_options_t,
    pub handles: *mut *mut rocksdb_column_family_handle_t,
}

/// Returns the options of a database, and of its families by name.
///
/// # Safety
/// The arrays have `count` elements.
unsafe fn with_families(
    options: *const rocksdb_options_t,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
) -> Result<(Options, Vec<String>)> {
    let mut whole = (*options).database()?;
    let count = count.max(0) as usize;
    let mut list = Vec::with_capacity(count);
    for (name, options) in array(names, count).iter().zip(array(family_options, count)) {
        let name = string(*name);
        whole.column_families.insert(name.clone(), (**options).family()?);
        list.push(name);
    }
    Ok((whole, list))
}

/// Returns an error unless `names` has every family of the database: RocksDB requires it for an open with
/// writes.
fn check_all_named(options: &Options, path: &std::path::Path, names: &[String]) -> Result<()> {
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
unsafe fn give_handles(
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
        let families = Families {
            count,
            names,
            family_options,
            handles,
        };
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
        fallible(errptr, || {
            let (whole, list) = with_families(options, count, names, family_options)?;
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
        fallible(errptr, || {
            let (whole, list) = with_families(options, count, names, family_options)?;
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
        // The caller's remaining iterators and snapshots see a closed database from here on.
        if let Err(error) = db.db.close() {
            complain(&format!("rocksdb_close: {}", error_text(&error)));
        }
        // The threads have ended: there are no more callbacks.
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
