//! `rocksdb_table_properties_t`: the properties of a table.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use esker::{TableFilter, TableProperties};

use crate::ffi::*;
use crate::generated::fields::TablePropertiesFields;
use crate::read_options::rocksdb_readoptions_t;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The C object `rocksdb_table_properties_t`.
#[derive(Clone, Default)]
pub struct rocksdb_table_properties_t {
    pub fields: TablePropertiesFields,
    user_collected: Pairs,
    readable: Pairs,
}

impl rocksdb_table_properties_t {
    /// Returns the properties of a table.
    pub fn of(from: &TableProperties) -> rocksdb_table_properties_t {
        let user_collected: Pairs = from.user_collected.clone().into_iter().collect();
        let readable: Pairs = from
            .entries()
            .into_iter()
            .map(|(name, value)| {
                let shown = TableProperties::show(&name, &value).into_bytes();
                (name, shown)
            })
            .collect();
        rocksdb_table_properties_t {
            fields: fields_of(from, user_collected.len(), readable.len()),
            user_collected,
            readable,
        }
    }
}

fn fields_of(from: &TableProperties, user_collected: usize, readable: usize) -> TablePropertiesFields {
    TablePropertiesFields {
        orig_file_number: from.orig_file_number,
        data_size: from.data_size,
        index_size: from.index_size,
        index_partitions: from.index_partitions.unwrap_or(0),
        top_level_index_size: from.top_level_index_size.unwrap_or(0),
        index_key_is_user_key: u64::from(from.index_key_is_user_key),
        index_value_is_delta_encoded: u64::from(from.index_value_is_delta_encoded),
        udi_is_primary_index: from.udi_is_primary_index,
        filter_size: from.filter_size,
        raw_key_size: from.raw_key_size,
        raw_value_size: from.raw_value_size,
        num_data_blocks: from.num_data_blocks,
        num_data_blocks_compression_rejected: from.num_data_blocks_compression_rejected.unwrap_or(0),
        num_data_blocks_compression_bypassed: from.num_data_blocks_compression_bypassed.unwrap_or(0),
        num_uniform_blocks: from.num_uniform_blocks.unwrap_or(0),
        num_entries: from.num_entries,
        num_filter_entries: from.num_filter_entries,
        num_deletions: from.num_deletions,
        num_merge_operands: from.num_merge_operands,
        num_range_deletions: from.num_range_deletions,
        format_version: from.format_version,
        fixed_key_len: from.fixed_key_len,
        column_family_id: from.column_family_id,
        creation_time: from.creation_time,
        oldest_key_time: from.oldest_key_time,
        newest_key_time: from.newest_key_time.unwrap_or(0),
        file_creation_time: from.file_creation_time,
        slow_compression_estimated_data_size: from.slow_compression_estimated_data_size,
        fast_compression_estimated_data_size: from.fast_compression_estimated_data_size,
        tail_start_offset: from.tail_start_offset.unwrap_or(0),
        user_defined_timestamps_persisted: u64::from(from.user_defined_timestamps_persisted),
        key_largest_seqno: from.key_largest_seqno.unwrap_or(0),
        key_smallest_seqno: from.key_smallest_seqno.unwrap_or(0),
        data_block_restart_interval: from.data_block_restart_interval.unwrap_or(0),
        index_block_restart_interval: from.index_block_restart_interval.unwrap_or(0),
        separate_key_value_in_data_block: from.separate_key_value_in_data_block,
        db_id: from.db_id.clone(),
        db_session_id: from.db_session_id.clone(),
        db_host_id: from.db_host_id.clone(),
        column_family_name: from.column_family_name.clone(),
        filter_policy_name: from.filter_policy.clone(),
        comparator_name: from.comparator.clone(),
        merge_operator_name: from.merge_operator.clone(),
        prefix_extractor_name: from.prefix_extractor_name.clone(),
        property_collectors_names: from.property_collectors.clone(),
        compression_name: from.compression.clone(),
        compression_options: from.compression_options.clone(),
        seqno_to_time_mapping: from.seqno_to_time_mapping.clone(),
        has_key_largest_seqno: u8::from(from.key_largest_seqno.is_some()),
        has_key_smallest_seqno: u8::from(from.key_smallest_seqno.is_some()),
        user_collected_properties_count: user_collected,
        readable_properties_count: readable,
        ..TablePropertiesFields::default()
    }
}

/// Returns the name, or the value, of the entry `at` of a list.
unsafe fn at(list: &Pairs, at: usize, value: bool, length: *mut usize) -> *const c_char {
    match list.get(at) {
        Some((_, found)) if value => borrowed(found, length),
        Some((found, _)) => borrowed(found, length),
        None => nothing(length).cast_const(),
    }
}

api!(
    fn rocksdb_table_properties_user_collected_properties_key_at(
        properties: *const rocksdb_table_properties_t,
        index: usize,
        length: *mut usize,
    ) -> *const c_char {
        at(&(*properties).user_collected, index, false, length)
    }
);

api!(
    fn rocksdb_table_properties_user_collected_properties_value_at(
        properties: *const rocksdb_table_properties_t,
        index: usize,
        length: *mut usize,
    ) -> *const c_char {
        at(&(*properties).user_collected, index, true, length)
    }
);

api!(
    fn rocksdb_table_properties_readable_properties_key_at(
        properties: *const rocksdb_table_properties_t,
        index: usize,
        length: *mut usize,
    ) -> *const c_char {
        at(&(*properties).readable, index, false, length)
    }
);

api!(
    fn rocksdb_table_properties_readable_properties_value_at(
        properties: *const rocksdb_table_properties_t,
        index: usize,
        length: *mut usize,
    ) -> *const c_char {
        at(&(*properties).readable, index, true, length)
    }
);

type FilterFn = unsafe extern "C" fn(*mut c_void, *const rocksdb_table_properties_t) -> u8;

api!(
    fn rocksdb_readoptions_set_table_filter(
        options: *mut rocksdb_readoptions_t,
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        filter: Option<FilterFn>,
    ) {
        let state = Arc::new(CallbackState::new(state, destructor));
        (*options).changed();
        (*options).table_filter = filter.map(|filter| {
            TableFilter::new(move |properties| {
                let properties = rocksdb_table_properties_t::of(properties);
                // SAFETY: the caller passed the function for this state.
                unsafe { filter(state.pointer, &properties) != 0 }
            })
        });
    }
);

api!(
    fn rocksdb_readoptions_has_table_filter(options: *const rocksdb_readoptions_t) -> u8 {
        u8::from((*options).table_filter.is_some())
    }
);

api!(
    fn rocksdb_readoptions_clear_table_filter(options: *mut rocksdb_readoptions_t) {
        (*options).changed();
        (*options).table_filter = None;
    }
);
