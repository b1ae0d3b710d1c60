//! The options of single operations.

use std::ffi::c_char;
use std::sync::OnceLock;
use std::time::Duration;

use esker::{FlushOptions, IoPriority, ReadOptions, ReadTier, WriteOptions};

use crate::ffi::*;
use crate::generated::fields::ReadoptionsFields;
use crate::generated::structs::{rocksdb_flushoptions_t, rocksdb_writeoptions_t};
use crate::snapshot::rocksdb_snapshot_t;

/// The C object `rocksdb_readoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_readoptions_t {
    pub fields: ReadoptionsFields,
    pub snapshot: Option<esker::Snapshot>,
    pub lower_bound: Option<Vec<u8>>,
    pub upper_bound: Option<Vec<u8>>,
    pub timestamp: Option<Vec<u8>>,
    pub iter_start_ts: Option<Vec<u8>>,
    pub table_filter: Option<esker::TableFilter>,
    pub table_index: Option<Vec<u8>>,
    pub request_id: Option<Vec<u8>>,
    pub has_merge_threshold: bool,
    /// The engine's options, from the first read on until a field changes.
    translated: OnceLock<ReadOptions>,
}

/// Returns the priority of RocksDB's number; `None` for `IO_TOTAL`.
pub fn priority(number: std::ffi::c_int) -> Option<IoPriority> {
    match number {
        0 => Some(IoPriority::Low),
        1 => Some(IoPriority::Mid),
        2 => Some(IoPriority::High),
        3 => Some(IoPriority::User),
        _ => None,
    }
}

impl rocksdb_readoptions_t {
    /// Drops the translation, before a field changes.
    pub fn changed(&mut self) {
        self.translated.take();
    }

    /// Returns the engine's read options.
    fn options(&self) -> ReadOptions {
        let fields = &self.fields;
        let total_order = fields.total_order_seek != 0;
        ReadOptions {
            snapshot: self.snapshot.clone(),
            iterate_lower_bound: self.lower_bound.clone(),
            iterate_upper_bound: self.upper_bound.clone(),
            verify_checksums: fields.verify_checksums != 0,
            fill_cache: fields.fill_cache != 0,
            prefix_same_as_start: fields.prefix_same_as_start != 0 && !total_order,
            auto_prefix_mode: fields.auto_prefix_mode != 0 && !total_order,
            read_tier: match fields.read_tier {
                1 => ReadTier::BlockCache,
                3 => ReadTier::Memtable,
                _ => ReadTier::All,
            },
            tailing: fields.tailing != 0,
            max_skippable_internal_keys: fields.max_skippable_internal_keys,
            rate_limiter_priority: priority(fields.rate_limiter_priority),
            timestamp: self.timestamp.clone(),
            iter_start_ts: self.iter_start_ts.clone(),
            deadline: (fields.deadline > 0).then(|| Duration::from_micros(fields.deadline)),
            io_timeout: (fields.io_timeout > 0).then(|| Duration::from_micros(fields.io_timeout)),
            pin_data: fields.pin_data != 0,
            value_size_soft_limit: fields.value_size_soft_limit,
            ignore_range_deletions: fields.ignore_range_deletions != 0,
            readahead_size: fields.readahead_size,
            adaptive_readahead: fields.adaptive_readahead != 0,
            auto_readahead_size: fields.auto_readahead_size != 0,
            async_io: fields.async_io != 0,
            auto_refresh_iterator_with_snapshot: fields.auto_refresh_iterator_with_snapshot != 0,
            allow_unprepared_value: fields.allow_unprepared_value != 0,
            table_filter: self.table_filter.clone(),
            block_property_filter: None,
        }
    }

    /// Translates `options`; NULL means the defaults.
    ///
    /// # Safety
    /// `options` is NULL or an object of this kind, which outlives the reference and does not change
    /// meanwhile.
    #[inline]
    pub unsafe fn lent<'a>(options: *const rocksdb_readoptions_t) -> &'a ReadOptions {
        static DEFAULTS: OnceLock<ReadOptions> = OnceLock::new();
        match options.as_ref() {
            Some(options) => options.translated.get_or_init(|| options.options()),
            None => DEFAULTS.get_or_init(|| rocksdb_readoptions_t::default().options()),
        }
    }

    /// Same as [`lent`](Self::lent), for a caller that keeps or changes the options.
    ///
    /// # Safety
    /// `options` is NULL or an object of this kind.
    pub unsafe fn of(options: *const rocksdb_readoptions_t) -> ReadOptions {
        rocksdb_readoptions_t::lent(options).clone()
    }
}

/// Returns the engine's write options; NULL means the defaults.
///
/// # Safety
/// `options` is NULL or an object of this kind.
pub unsafe fn write_options(options: *const rocksdb_writeoptions_t) -> WriteOptions {
    let Some(options) = options.as_ref() else {
        return WriteOptions::default();
    };
    let fields = &options.fields;
    WriteOptions {
        sync: fields.sync != 0,
        disable_wal: fields.disable_WAL != 0,
        no_slowdown: fields.no_slowdown != 0,
        low_pri: fields.low_pri != 0,
        rate_limiter_priority: priority(fields.rate_limiter_priority),
        ignore_missing_column_families: fields.ignore_missing_column_families != 0,
        protection_bytes_per_key: fields.protection_bytes_per_key as usize,
        before_images: false,
    }
}

/// Returns the engine's flush options; NULL means the defaults.
///
/// # Safety
/// `options` is NULL or an object of this kind.
pub unsafe fn flush_options(options: *const rocksdb_flushoptions_t) -> FlushOptions {
    let Some(options) = options.as_ref() else {
        return FlushOptions::default();
    };
    FlushOptions {
        wait: options.fields.wait != 0,
        allow_write_stall: options.fields.allow_write_stall != 0,
        listener_wait: options.fields.listener_wait != 0,
        force_atomic_flush: options.fields.force_atomic_flush != 0,
    }
}

api!(
    fn rocksdb_readoptions_create() -> *mut rocksdb_readoptions_t {
        boxed(rocksdb_readoptions_t::default())
    }
);

api!(
    fn rocksdb_readoptions_set_snapshot(
        options: *mut rocksdb_readoptions_t,
        snapshot: *const rocksdb_snapshot_t,
    ) {
        (*options).changed();
        (*options).snapshot = snapshot.as_ref().and_then(|snapshot| snapshot.get().cloned());
    }
);

unsafe fn bound(key: *const c_char, length: usize) -> Option<Vec<u8>> {
    (!key.is_null()).then(|| bytes(key, length).to_vec())
}

api!(
    fn rocksdb_readoptions_set_iterate_upper_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        length: usize,
    ) {
        (*options).changed();
        (*options).upper_bound = bound(key, length);
    }
);

api!(
    fn rocksdb_readoptions_set_iterate_lower_bound(
        options: *mut rocksdb_readoptions_t,
        key: *const c_char,
        length: usize,
    ) {
        (*options).changed();
        (*options).lower_bound = bound(key, length);
    }
);

api!(
    fn rocksdb_readoptions_set_timestamp(
        options: *mut rocksdb_readoptions_t,
        ts: *const c_char,
        length: usize,
    ) {
        (*options).changed();
        (*options).timestamp = bound(ts, length);
    }
);

api!(
    fn rocksdb_readoptions_set_iter_start_ts(
        options: *mut rocksdb_readoptions_t,
        ts: *const c_char,
        length: usize,
    ) {
        (*options).changed();
        (*options).iter_start_ts = bound(ts, length);
    }
);
