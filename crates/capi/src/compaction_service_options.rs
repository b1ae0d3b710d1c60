//! `rocksdb_compaction_service_options_override_t`: options of a process that compacts for another.

use std::ffi::c_char;

use esker::{CompactionServiceOptionsOverride, Result};

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::compaction_filter::{
    rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t, rocksdb_options_set_compaction_filter,
    rocksdb_options_set_compaction_filter_factory,
};
use crate::comparator::rocksdb_comparator_t;
use crate::env::{rocksdb_env_t, rocksdb_logger_t};
use crate::ffi::*;
use crate::generated::structs::rocksdb_cuckoo_table_options_t;
use crate::listener::{rocksdb_eventlistener_t, rocksdb_options_add_eventlistener};
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::options::*;
use crate::slice_transform::{rocksdb_options_set_prefix_extractor, rocksdb_slicetransform_t};

/// The C object `rocksdb_compaction_service_options_override_t`.
#[derive(Default)]
pub struct rocksdb_compaction_service_options_override_t {
    options: rocksdb_options_t,
    named: Vec<(String, String)>,
}

impl rocksdb_compaction_service_options_override_t {
    /// Returns the engine's options of a worker.
    pub fn engine(&self) -> Result<CompactionServiceOptionsOverride> {
        let options = self.options.database()?;
        let table = match self.options.table {
            TableFactory::Default => None,
            TableFactory::BlockBased(_) | TableFactory::Other => Some(options.column_family.table.clone()),
        };
        Ok(CompactionServiceOptionsOverride {
            options,
            table,
            options_map: self.named.clone(),
        })
    }
}

type Override = *mut rocksdb_compaction_service_options_override_t;

api!(
    fn rocksdb_compaction_service_options_override_create() -> Override {
        boxed(rocksdb_compaction_service_options_override_t::default())
    }
);

api!(
    fn rocksdb_compaction_service_options_override_create_from_options(
        options: *mut rocksdb_options_t,
    ) -> Override {
        let Some(options) = options.as_ref() else {
            return std::ptr::null_mut();
        };
        boxed(rocksdb_compaction_service_options_override_t {
            options: options.clone(),
            named: Vec::new(),
        })
    }
);

api!(
    fn rocksdb_compaction_service_options_override_destroy(object: Override) {
        free_box(object)
    }
);

api!(
    fn rocksdb_compaction_service_options_override_set_option(
        object: Override,
        name: *const c_char,
        value: *const c_char,
    ) {
        (&mut (*object).named).push((string(name), string(value)));
    }
);

api!(
    fn rocksdb_compaction_service_options_override_set_statistics(
        object: Override,
        options: *mut rocksdb_options_t,
    ) {
        if let Some(options) = options.as_ref() {
            (*object).options.statistics = options.statistics.clone();
        }
    }
);

/// Defines setters of the inner options, each by calling the setter of `rocksdb_options_t` for the same
/// option.
macro_rules! setters {
    ($(fn $name:ident($value:ty) => $set:ident;)+) => { $(
        api!(fn $name(object: Override, value: *mut $value) {
            if let Some(object) = object.as_mut() {
                $set(&mut object.options, value);
            }
        });
    )+ };
}

setters! {
    fn rocksdb_compaction_service_options_override_set_env(rocksdb_env_t) => rocksdb_options_set_env;
    fn rocksdb_compaction_service_options_override_set_comparator(rocksdb_comparator_t)
        => rocksdb_options_set_comparator;
    fn rocksdb_compaction_service_options_override_set_merge_operator(rocksdb_mergeoperator_t)
        => rocksdb_options_set_merge_operator;
    fn rocksdb_compaction_service_options_override_set_compaction_filter(rocksdb_compactionfilter_t)
        => rocksdb_options_set_compaction_filter;
    fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(rocksdb_compactionfilterfactory_t)
        => rocksdb_options_set_compaction_filter_factory;
    fn rocksdb_compaction_service_options_override_set_prefix_extractor(rocksdb_slicetransform_t)
        => rocksdb_options_set_prefix_extractor;
    fn rocksdb_compaction_service_options_override_set_block_based_table_factory(rocksdb_block_based_table_options_t)
        => rocksdb_options_set_block_based_table_factory;
    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(rocksdb_cuckoo_table_options_t)
        => rocksdb_options_set_cuckoo_table_factory;
    fn rocksdb_compaction_service_options_override_add_event_listener(rocksdb_eventlistener_t)
        => rocksdb_options_add_eventlistener;
    fn rocksdb_compaction_service_options_override_set_info_log(rocksdb_logger_t) => rocksdb_options_set_info_log;
    fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(rocksdb_file_checksum_gen_factory_t)
        => rocksdb_options_set_file_checksum_gen_factory;
    fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(rocksdb_sst_partitioner_factory_t)
        => rocksdb_options_set_sst_partitioner_factory;
}
