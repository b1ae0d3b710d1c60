//! Options that are lists and texts: stored, and read back.

use std::ffi::{c_char, c_int};

use esker::{Error, ErrorKind};

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::cache::{rocksdb_hyper_clock_cache_options_t, rocksdb_lru_cache_options_t};
use crate::ffi::*;
use crate::generated::structs::rocksdb_optimistictransactiondb_options_t;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;

/// Functions that store a set of numbers.
macro_rules! set_functions {
    ($field:ident: fn $add:ident, fn $remove:ident, fn $contains:ident, fn $count:ident, fn $clear:ident) => {
        api!(
            fn $add(options: *mut rocksdb_options_t, number: c_int) {
                (&mut (*options).kept).$field.insert(number);
            }
        );
        api!(
            fn $remove(options: *mut rocksdb_options_t, number: c_int) {
                (&mut (*options).kept).$field.remove(&number);
            }
        );
        api!(
            fn $contains(options: *mut rocksdb_options_t, number: c_int) -> u8 {
                u8::from((&(*options).kept).$field.contains(&number))
            }
        );
        api!(
            fn $count(options: *mut rocksdb_options_t) -> usize {
                (&(*options).kept).$field.len()
            }
        );
        api!(
            fn $clear(options: *mut rocksdb_options_t) {
                (&mut (*options).kept).$field.clear();
            }
        );
    };
}

set_functions!(write_lifetime_hint_styles:
    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_add,
    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_remove,
    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_contains,
    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_count,
    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_clear);
set_functions!(checksum_handoff_types:
    fn rocksdb_options_checksum_handoff_file_types_add,
    fn rocksdb_options_checksum_handoff_file_types_remove,
    fn rocksdb_options_checksum_handoff_file_types_contains,
    fn rocksdb_options_checksum_handoff_file_types_count,
    fn rocksdb_options_checksum_handoff_file_types_clear);

api!(
    fn rocksdb_options_set_daily_offpeak_time_utc(options: *mut rocksdb_options_t, text: *const c_char) {
        (&mut (*options).kept).daily_offpeak_time_utc = string(text).into_bytes();
    }
);

api!(
    fn rocksdb_options_get_daily_offpeak_time_utc(
        options: *mut rocksdb_options_t,
        size: *mut usize,
    ) -> *const c_char {
        borrowed(&(&(*options).kept).daily_offpeak_time_utc, size)
    }
);

api!(
    fn rocksdb_options_set_db_host_id(options: *mut rocksdb_options_t, text: *const c_char) {
        (&mut (*options).kept).db_host_id = Some(string(text).into_bytes());
    }
);

api!(
    fn rocksdb_options_get_db_host_id(options: *mut rocksdb_options_t, size: *mut usize) -> *const c_char {
        let id = (&(*options).kept).db_host_id.as_deref();
        borrowed(id.unwrap_or(b"__hostname__"), size)
    }
);

api!(
    fn rocksdb_options_get_db_log_dir(options: *mut rocksdb_options_t, size: *mut usize) -> *const c_char {
        borrowed((&(*options).db_log_dir).as_bytes(), size)
    }
);

api!(
    fn rocksdb_options_get_wal_dir(options: *mut rocksdb_options_t, size: *mut usize) -> *const c_char {
        borrowed((&(*options).wal_dir).as_bytes(), size)
    }
);

/// The only user-defined index that RocksDB has by name.
const TRIE_INDEX: &str = "trie_index";

fn index_factory(text: String) -> esker::Result<Option<Vec<u8>>> {
    match text.as_str() {
        TRIE_INDEX => Ok(Some(text.into_bytes())),
        _ => Err(Error::not_supported(format!(
            "Could not load UserDefinedIndexFactory: {text}"
        ))),
    }
}

unsafe fn optional(name: &Option<Vec<u8>>, length: *mut usize) -> *const c_char {
    match name {
        Some(name) => borrowed(name, length),
        None => nothing(length).cast_const(),
    }
}

api!(
    fn rocksdb_block_based_options_set_user_defined_index_factory_from_string(
        options: *mut rocksdb_block_based_table_options_t,
        text: *const c_char,
        length: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*options).user_defined_index =
                index_factory(String::from_utf8_lossy(bytes(text, length)).into_owned())?;
            Ok(())
        })
    }
);

api!(
    fn rocksdb_block_based_options_clear_user_defined_index_factory(
        options: *mut rocksdb_block_based_table_options_t,
    ) {
        (*options).user_defined_index = None;
    }
);

api!(
    fn rocksdb_block_based_options_get_user_defined_index_factory_name(
        options: *const rocksdb_block_based_table_options_t,
        length: *mut usize,
    ) -> *const c_char {
        optional(&(*options).user_defined_index, length)
    }
);

api!(
    fn rocksdb_readoptions_set_table_index_factory_from_string(
        options: *mut rocksdb_readoptions_t,
        text: *const c_char,
        length: usize,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            (*options).table_index =
                index_factory(String::from_utf8_lossy(bytes(text, length)).into_owned())?;
            Ok(())
        })
    }
);

api!(
    fn rocksdb_readoptions_clear_table_index_factory(options: *mut rocksdb_readoptions_t) {
        (*options).table_index = None;
    }
);

api!(
    fn rocksdb_readoptions_get_table_index_factory_name(
        options: *const rocksdb_readoptions_t,
        length: *mut usize,
    ) -> *const c_char {
        optional(&(*options).table_index, length)
    }
);

api!(
    fn rocksdb_readoptions_set_request_id(
        options: *mut rocksdb_readoptions_t,
        id: *const c_char,
        length: usize,
    ) {
        (*options).request_id = (!id.is_null()).then(|| bytes(id, length).to_vec());
    }
);

api!(
    fn rocksdb_readoptions_get_request_id(
        options: *mut rocksdb_readoptions_t,
        length: *mut usize,
    ) -> *const c_char {
        optional(&(*options).request_id, length)
    }
);

api!(
    fn rocksdb_readoptions_clear_request_id(options: *mut rocksdb_readoptions_t) {
        (*options).request_id = None;
    }
);

api!(
    fn rocksdb_readoptions_set_merge_operand_count_threshold(
        options: *mut rocksdb_readoptions_t,
        count: usize,
    ) {
        (*options).fields.merge_operand_count_threshold = count;
        (*options).has_merge_threshold = true;
    }
);

api!(
    fn rocksdb_readoptions_has_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t) -> u8 {
        u8::from((*options).has_merge_threshold)
    }
);

api!(
    fn rocksdb_readoptions_clear_merge_operand_count_threshold(options: *mut rocksdb_readoptions_t) {
        (*options).fields.merge_operand_count_threshold = 0;
        (*options).has_merge_threshold = false;
    }
);

/// `rocksdb_memory_allocator_t`. No object of this type can be created.
pub struct rocksdb_memory_allocator_t(());

api!(
    fn rocksdb_jemalloc_nodump_allocator_create(errptr: *mut *mut c_char) -> *mut rocksdb_memory_allocator_t {
        fallible(errptr, || {
            Err(Error::new(
                ErrorKind::NotSupported,
                "Not compiled with ROCKSDB_JEMALLOC",
            ))
        })
    }
);

api!(
    fn rocksdb_lru_cache_options_set_memory_allocator(
        _options: *mut rocksdb_lru_cache_options_t,
        _allocator: *mut rocksdb_memory_allocator_t,
    ) {
    }
);

api!(
    fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
        _options: *mut rocksdb_hyper_clock_cache_options_t,
        _allocator: *mut rocksdb_memory_allocator_t,
    ) {
    }
);

/// `rocksdb_optimistictransactiondb_lock_buckets_t`. Commits are validated without lock buckets, so the
/// object has no contents.
pub struct rocksdb_optimistictransactiondb_lock_buckets_t {
    _bucket_count: usize,
    _cache_aligned: bool,
}

api!(
    fn rocksdb_optimistictransactiondb_lock_buckets_create(
        bucket_count: usize,
        cache_aligned: u8,
    ) -> *mut rocksdb_optimistictransactiondb_lock_buckets_t {
        boxed(rocksdb_optimistictransactiondb_lock_buckets_t {
            _bucket_count: bucket_count,
            _cache_aligned: cache_aligned != 0,
        })
    }
);

api!(
    fn rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(
        buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) -> usize {
        buckets.as_ref().map_or(0, size_of_val)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_lock_buckets_destroy(
        buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) {
        free_box(buckets)
    }
);

api!(
    fn rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(
        _options: *mut rocksdb_optimistictransactiondb_options_t,
        _buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) {
    }
);
