//! Functions that create, drop and list column families.

use std::ffi::{c_char, c_int};

use esker::ColumnFamily;

use crate::db::{Kind, rocksdb_t};
use crate::family_handle::{handle, rocksdb_column_family_handle_t};
use crate::ffi::*;
use crate::options::rocksdb_options_t;

api!(
    fn rocksdb_create_column_family(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t {
        fallible(errptr, || {
            let options = (*options).family()?;
            Ok(handle((*db).create_family(&string(name), &options)?))
        })
    }
);

api!(
    fn rocksdb_create_column_families(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        count: c_int,
        names: *const *const c_char,
        created: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut *mut rocksdb_column_family_handle_t {
        let mut handles = Vec::new();
        fallible(errptr, || {
            let options = (*options).family()?;
            let names = array(names, count.max(0) as usize).iter();
            let names: Vec<String> = names.map(|name| string(*name)).collect();
            let families: Vec<_> = names.iter().map(|name| (&**name, &options)).collect();
            let before = (*db).db.column_families();
            let created = match (*db).kind {
                Kind::Plain | Kind::Validation(_) => (*db).db.create_column_families(&families),
                Kind::Ttl(_) | Kind::Locks(_) => {
                    let create = |(name, options): &(&str, &esker::ColumnFamilyOptions)| {
                        (*db).create_family(name, options)
                    };
                    families.iter().map(create).collect()
                }
            };
            // If the creation of a family fails, the families before it in the list exist, and the caller
            // gets their handles.
            let there = match &created {
                Ok(created) => created.clone(),
                Err(_) => (*db).db.column_families(),
            };
            let is_new = |family: &ColumnFamily| {
                !before.iter().any(|known| known.id() == family.id())
                    && names.iter().any(|name| name == family.name())
            };
            handles.extend(there.into_iter().filter(is_new).map(handle));
            created.map(drop)
        });
        put_out(created, handles.len());
        // The array belongs to the caller until it is passed to rocksdb_create_column_families_destroy.
        let list: *mut *mut rocksdb_column_family_handle_t =
            libc::malloc(size_of::<usize>() * handles.len().max(1)).cast();
        if !list.is_null() {
            std::ptr::copy_nonoverlapping(handles.as_ptr(), list, handles.len());
        }
        list
    }
);

api!(
    fn rocksdb_create_column_families_destroy(list: *mut *mut rocksdb_column_family_handle_t) {
        libc::free(list.cast())
    }
);

api!(
    fn rocksdb_drop_column_family(
        db: *mut rocksdb_t,
        family: *mut rocksdb_column_family_handle_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*db).drop_family(&(*family).0))
    }
);

api!(
    fn rocksdb_get_default_column_family_handle(db: *mut rocksdb_t) -> *mut rocksdb_column_family_handle_t {
        handle((*db).db.default_column_family())
    }
);

api!(
    fn rocksdb_column_family_handle_get_id(family: *mut rocksdb_column_family_handle_t) -> u32 {
        (*family).0.id()
    }
);

api!(
    fn rocksdb_column_family_handle_get_name(
        family: *mut rocksdb_column_family_handle_t,
        length: *mut usize,
    ) -> *mut c_char {
        copied((*family).0.name().as_bytes(), length)
    }
);

api!(
    fn rocksdb_list_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut *mut c_char {
        put_out(count, 0);
        fallible(errptr, || {
            let names = esker::Db::list_column_families(&(*options).database()?, path(name))?;
            let list: *mut *mut c_char = libc::malloc(size_of::<usize>() * names.len().max(1)).cast();
            if list.is_null() {
                return Ok(list);
            }
            for (at, name) in names.iter().enumerate() {
                *list.add(at) = copied_string(name.as_bytes());
            }
            put_out(count, names.len());
            Ok(list)
        })
    }
);

api!(
    fn rocksdb_list_column_families_destroy(list: *mut *mut c_char, count: usize) {
        for name in array(list, count) {
            libc::free((*name).cast());
        }
        libc::free(list.cast());
    }
);
