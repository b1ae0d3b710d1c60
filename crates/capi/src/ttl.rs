//! Databases whose rows have a time to live: RocksDB's `DBWithTTL`, in which a value ends with the time of
//! its write.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};

use esker::{DEFAULT_COLUMN_FAMILY, DbWithTtl, Error, FamilyTtl, Result, TtlOptions};

use crate::db::{Families, Kind, check_all_named, give_handles, rocksdb_t, with_families};
use crate::family_handle::{handle, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::options::rocksdb_options_t;
use crate::process::OfProcess;

unsafe fn open(
    options: *const rocksdb_options_t,
    whole: &esker::Options,
    name: *const c_char,
    families: &[(String, c_int)],
) -> Result<(*mut rocksdb_t, DbWithTtl)> {
    let dir = path(name);
    let names: Vec<String> = families.iter().map(|(name, _)| name.clone()).collect();
    check_all_named(whole, &dir, &names)?;
    let families: BTreeMap<String, FamilyTtl> = families
        .iter()
        .map(|(name, ttl)| (name.clone(), FamilyTtl::RocksDb(*ttl)))
        .collect();
    let ttl = TtlOptions {
        default: families
            .get(DEFAULT_COLUMN_FAMILY)
            .copied()
            .unwrap_or(FamilyTtl::RocksDb(0)),
        families,
        read_only: false,
    };
    let db = DbWithTtl::open_with(whole, dir, &ttl)?;
    let object = rocksdb_t::opened(db.db().clone(), &*options);
    (*object).kind = Kind::Ttl(OfProcess::new(db.clone()));
    Ok((object, db))
}

api!(
    fn rocksdb_open_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        ttl: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        fallible(errptr, || {
            let whole = (*options).database()?;
            let default = [(DEFAULT_COLUMN_FAMILY.to_owned(), ttl)];
            Ok(open(options, &whole, name, &default)?.0)
        })
    }
);

api!(
    fn rocksdb_open_column_families_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        ttls: *const c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_t {
        let families = Families::new(count, names, family_options, handles);
        fallible(errptr, || {
            let (whole, list) = with_families(options, &families)?;
            let ttls = array(ttls, list.len());
            if ttls.len() != list.len() {
                return Err(Error::invalid_argument(
                    "ttls size has to be the same as number of column families",
                ));
            }
            let pairs: Vec<(String, c_int)> = list.iter().cloned().zip(ttls.iter().copied()).collect();
            let (object, db) = open(options, &whole, name, &pairs)?;
            give_handles(db.db(), &list, handles)?;
            Ok(object)
        })
    }
);

api!(
    fn rocksdb_create_column_family_with_ttl(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        ttl: c_int,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t {
        fallible(errptr, || {
            let Some(db) = (*db).ttl() else {
                return Err(Error::invalid_argument(
                    "the database was opened without a time to live",
                ));
            };
            let options = (*options).family()?;
            let ttl = FamilyTtl::RocksDb(ttl);
            Ok(handle(db.create_column_family(&string(name), &options, ttl)?))
        })
    }
);
