//! Creates new memtables.

use std::sync::Arc;

use base::InternalComparator;
use memtable::{FilterOptions, Memtable, MemtableOptions};

use crate::options::{ColumnFamilyOptions, MemtableFactory};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

impl DbInner {
    pub(crate) fn new_memtable(&self, family: &Family) -> Arc<Memtable> {
        new_memtable(&family.cmp, &family.current())
    }
}

/// Creates an empty memtable with this comparator and these options.
pub(crate) fn new_memtable(cmp: &InternalComparator, options: &ColumnFamilyOptions) -> Arc<Memtable> {
    let options = MemtableOptions {
        protection_bytes_per_key: options.memtable_protection_bytes_per_key as u8,
        verify_on_seek: options.memtable_verify_per_key_checksum_on_seek,
        check_order: options.paranoid_memory_checks,
        filter: memtable_filter(options),
        vector: match options.memtable_factory {
            MemtableFactory::SkipList { .. } => None,
            MemtableFactory::Vector { count } => Some(count),
        },
        ..MemtableOptions::default()
    };
    Arc::new(Memtable::new(cmp.clone(), options))
}

/// The filter of each memtable, by `memtable_prefix_bloom_size_ratio`.
fn memtable_filter(options: &ColumnFamilyOptions) -> Option<FilterOptions> {
    let bytes = (options.write_buffer_size as f64 * options.memtable_prefix_bloom_size_ratio) as usize;
    let filter = FilterOptions {
        bytes,
        whole_keys: options.memtable_whole_key_filtering,
        prefix_extractor: options.prefix_extractor.clone(),
    };
    let holds_something = filter.whole_keys || filter.prefix_extractor.is_some();
    (bytes > 0 && holds_something).then_some(filter)
}
