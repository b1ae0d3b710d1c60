//! Flushes, compactions, background work, and changes of options.

use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering;
use std::time::Duration;

use esker::{ColumnFamily, CompactRangeOptions, Error, ErrorKind, Result, WaitForCompactOptions};

use crate::changed_options::changes_of_engine;
use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::structs::{
    rocksdb_flushoptions_t, rocksdb_flushwaloptions_t, rocksdb_wait_for_compact_options_t,
};
use crate::generation::{Generation, generation};
use crate::options::bottommost_level_compaction;
use crate::read_options::{flush_options, rocksdb_readoptions_t};
use crate::timestamps::rocksdb_compactoptions_t;

api!(
    fn rocksdb_flush(db: *mut rocksdb_t, options: *const rocksdb_flushoptions_t, errptr: *mut *mut c_char) {
        fallible(errptr, || {
            let db = &*db;
            db.db
                .flush_cf_opt(std::slice::from_ref(&db.default), &flush_options(options))
        })
    }
);

api!(
    fn rocksdb_flush_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        cf: FamilyPtr,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            db.db.flush_cf_opt(
                std::slice::from_ref(family(cf).unwrap_or(&db.default)),
                &flush_options(options),
            )
        })
    }
);

api!(
    fn rocksdb_flush_cfs(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        families: *mut FamilyPtr,
        count: c_int,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let families = array(families, count.max(0) as usize).iter();
            let families: Vec<_> = families.filter_map(|cf| family(*cf).cloned()).collect();
            (*db).db.flush_cf_opt(&families, &flush_options(options))
        })
    }
);

api!(
    fn rocksdb_flush_wal(db: *mut rocksdb_t, sync: u8, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.flush_wal(sync != 0))
    }
);

api!(
    fn rocksdb_flush_wal_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushwaloptions_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || (*db).db.flush_wal((*options).fields.sync != 0))
    }
);

/// Returns an end of a range; NULL is no bound.
unsafe fn end<'a>(key: *const c_char, length: usize) -> Option<&'a [u8]> {
    (!key.is_null()).then(|| bytes(key, length))
}

unsafe fn compact_range_options(options: *const rocksdb_compactoptions_t) -> CompactRangeOptions {
    let Some(options) = options.as_ref() else {
        return CompactRangeOptions::default();
    };
    let fields = &options.fields;
    CompactRangeOptions {
        exclusive_manual_compaction: fields.exclusive_manual_compaction != 0,
        allow_write_stall: fields.allow_write_stall != 0,
        change_level: fields.change_level != 0,
        target_level: usize::try_from(fields.target_level).ok(),
        bottommost_level_compaction: bottommost_level_compaction(fields.bottommost_level_compaction as u8),
        max_subcompactions: fields.max_subcompactions as u32,
        // RocksDB's default is the first directory.
        target_path_id: Some(fields.target_path_id as u32),
        full_history_ts_low: options.full_history_ts_low.clone().filter(|low| !low.is_empty()),
        ..CompactRangeOptions::default()
    }
}

/// Runs a compaction whose caller cannot get an error: the error is written to standard error, unless
/// compactions are disabled.
unsafe fn compact(
    db: *mut rocksdb_t,
    cf: FamilyPtr,
    options: *const rocksdb_compactoptions_t,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) {
    let db = &*db;
    let family = family(cf).unwrap_or(&db.default);
    let compacted = db
        .db
        .compact_range_cf_opt(family, from, to, &compact_range_options(options));
    if let Err(error) = compacted
        && error.kind() != esker::ErrorKind::Incomplete
    {
        complain(&format!("rocksdb_compact_range: {}", error_text(&error)));
    }
}

api!(
    fn rocksdb_compact_range(
        db: *mut rocksdb_t,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
    ) {
        compact(
            db,
            std::ptr::null_mut(),
            std::ptr::null(),
            end(from, from_len),
            end(to, to_len),
        )
    }
);

api!(
    fn rocksdb_compact_range_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
    ) {
        compact(db, cf, std::ptr::null(), end(from, from_len), end(to, to_len))
    }
);

api!(
    fn rocksdb_compact_range_opt(
        db: *mut rocksdb_t,
        options: *mut rocksdb_compactoptions_t,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
    ) {
        compact(
            db,
            std::ptr::null_mut(),
            options,
            end(from, from_len),
            end(to, to_len),
        )
    }
);

api!(
    fn rocksdb_compact_range_cf_opt(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        options: *mut rocksdb_compactoptions_t,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
    ) {
        compact(db, cf, options, end(from, from_len), end(to, to_len))
    }
);

api!(
    fn rocksdb_suggest_compact_range(
        db: *mut rocksdb_t,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            db.db
                .suggest_compact_range(&db.default, end(from, from_len), end(to, to_len))
        })
    }
);

api!(
    fn rocksdb_suggest_compact_range_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            db.db.suggest_compact_range(
                family(cf).unwrap_or(&db.default),
                end(from, from_len),
                end(to, to_len),
            )
        })
    }
);

api!(
    fn rocksdb_disable_manual_compaction(db: *mut rocksdb_t) {
        let db = &*db;
        if db.manual_pauses.fetch_add(1, Ordering::AcqRel) >= 0 {
            db.db.disable_manual_compaction();
        }
    }
);

api!(
    fn rocksdb_enable_manual_compaction(db: *mut rocksdb_t) {
        let db = &*db;
        if db.manual_pauses.fetch_sub(1, Ordering::AcqRel) > 0
            && let Err(error) = db.db.enable_manual_compaction()
        {
            complain(&format!(
                "rocksdb_enable_manual_compaction: {}",
                error_text(&error)
            ));
        }
    }
);

api!(
    fn rocksdb_wait_for_compact(
        db: *mut rocksdb_t,
        options: *mut rocksdb_wait_for_compact_options_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            let fields = options
                .as_ref()
                .map(|options| options.fields.clone())
                .unwrap_or_default();
            db.db.wait_for_compact_opt(&WaitForCompactOptions {
                abort_on_pause: fields.abort_on_pause != 0,
                flush: fields.flush != 0,
                wait_for_purge: fields.wait_for_purge != 0,
                timeout: (fields.timeout > 0).then(|| Duration::from_micros(fields.timeout)),
            })?;
            match fields.close_db != 0 {
                true => db.db.close(),
                false => Ok(()),
            }
        })
    }
);

api!(
    fn rocksdb_cancel_all_background_work(db: *mut rocksdb_t, wait: u8) {
        if let Err(error) = (*db).db.cancel_all_background_work(wait != 0) {
            complain(&format!(
                "rocksdb_cancel_all_background_work: {}",
                error_text(&error)
            ));
        }
    }
);

api!(
    fn rocksdb_pause_background_work(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.pause_background_work())
    }
);

api!(
    fn rocksdb_continue_background_work(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.continue_background_work())
    }
);

api!(
    fn rocksdb_disable_file_deletions(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || {
            (*db).db.disable_file_deletions();
            Ok(())
        })
    }
);

api!(
    fn rocksdb_enable_file_deletions(db: *mut rocksdb_t, second: usize, third: *mut *mut c_char) {
        // In RocksDB 7.8 the second argument is `force`, and the third is `errptr`.
        let (force, errptr) = if generation() < Generation::V10_4 {
            (second as u8 != 0, third)
        } else {
            (false, std::ptr::with_exposed_provenance_mut(second))
        };
        let db = &(*db).db;
        fallible(errptr, || {
            loop {
                match db.enable_file_deletions() {
                    Ok(()) if force => {}
                    Err(error) if force && error.kind() == ErrorKind::InvalidArgument => return Ok(()),
                    result => return result,
                }
            }
        })
    }
);

api!(
    fn rocksdb_verify_checksum(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || (*db).db.verify_checksum())
    }
);

api!(
    fn rocksdb_verify_checksum_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*db).db.verify_checksum_opt(&rocksdb_readoptions_t::of(options))
        })
    }
);

/// The name of the option in RocksDB's error texts.
fn verify_file_checksums(db: &rocksdb_t) -> Result<()> {
    if db.db.options().file_checksum_gen_factory == esker::FileChecksumGenFactory::None {
        return Err(Error::invalid_argument(
            "Cannot verify file checksum if options.file_checksum_gen_factory is null",
        ));
    }
    db.db.verify_file_checksums()
}

api!(
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
        fallible(errptr, || verify_file_checksums(&*db))
    }
);

api!(
    fn rocksdb_verify_file_checksums_with_options(
        db: *mut rocksdb_t,
        _options: *const rocksdb_readoptions_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || verify_file_checksums(&*db))
    }
);

/// Returns the names and values of changed options.
unsafe fn changes(
    count: c_int,
    keys: *const *const c_char,
    values: *const *const c_char,
) -> Vec<(String, String)> {
    let count = count.max(0) as usize;
    array(keys, count)
        .iter()
        .zip(array(values, count))
        .map(|(key, value)| (string(*key), string(*value)))
        .collect()
}

/// Changes options of a family.
fn change(db: &rocksdb_t, family: &ColumnFamily, changes: &[(String, String)]) -> Result<()> {
    let of_engine = changes_of_engine(changes)?;
    match of_engine.is_empty() && !changes.is_empty() {
        true => Ok(()),
        false => db.db.set_options(family, &of_engine),
    }
}

fn as_pairs(changes: &[(String, String)]) -> Vec<(&str, &str)> {
    changes
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

api!(
    fn rocksdb_set_db_options(
        db: *mut rocksdb_t,
        count: c_int,
        keys: *const *const c_char,
        values: *const *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*db).db.set_db_options(&as_pairs(&changes(count, keys, values)))
        })
    }
);

api!(
    fn rocksdb_set_options(
        db: *mut rocksdb_t,
        count: c_int,
        keys: *const *const c_char,
        values: *const *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            change(db, &db.default, &changes(count, keys, values))
        })
    }
);

api!(
    fn rocksdb_set_options_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        count: c_int,
        keys: *const *const c_char,
        values: *const *const c_char,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            let family = family(cf).unwrap_or(&db.default);
            change(db, family, &changes(count, keys, values))
        })
    }
);

/// Drops the tables whose keys are all in a range.
unsafe fn delete_files(
    db: *mut rocksdb_t,
    cf: FamilyPtr,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
    errptr: *mut *mut c_char,
) {
    fallible(errptr, || {
        let db = &*db;
        db.db
            .delete_files_in_range(family(cf).unwrap_or(&db.default), from, to)
    })
}

api!(
    fn rocksdb_delete_file_in_range(
        db: *mut rocksdb_t,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
        errptr: *mut *mut c_char,
    ) {
        delete_files(
            db,
            std::ptr::null_mut(),
            end(from, from_len),
            end(to, to_len),
            errptr,
        )
    }
);

api!(
    fn rocksdb_delete_file_in_range_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        from: *const c_char,
        from_len: usize,
        to: *const c_char,
        to_len: usize,
        errptr: *mut *mut c_char,
    ) {
        delete_files(db, cf, end(from, from_len), end(to, to_len), errptr)
    }
);

api!(
    fn rocksdb_increase_full_history_ts_low(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        ts: *const c_char,
        tslen: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let db = &*db;
            db.db
                .increase_full_history_ts_low(family(cf).unwrap_or(&db.default), bytes(ts, tslen))
        })
    }
);

api!(
    fn rocksdb_get_full_history_ts_low(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        tslen: *mut usize,
        errptr: *mut *mut c_char,
    ) -> *mut c_char {
        put_out(tslen, 0);
        fallible(errptr, || {
            let db = &*db;
            let low = db.db.full_history_ts_low(family(cf).unwrap_or(&db.default))?;
            Ok(copied(&low, tslen))
        })
    }
);
