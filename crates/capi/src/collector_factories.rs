//! Factories of collectors of table properties, of which C programs can get none.

use crate::compaction_service_options::rocksdb_compaction_service_options_override_t;
use crate::options::rocksdb_options_t;

/// `rocksdb_table_properties_collector_factory_t`. No C function creates such an object: RocksDB's factories
/// are created in C++.
pub struct rocksdb_table_properties_collector_factory_t(());

api!(
    fn rocksdb_table_properties_collector_factory_destroy(
        _factory: *mut rocksdb_table_properties_collector_factory_t,
    ) {
    }
);

api!(
    fn rocksdb_options_add_table_properties_collector_factory(
        _options: *mut rocksdb_options_t,
        _factory: *mut rocksdb_table_properties_collector_factory_t,
    ) {
    }
);

api!(
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        _options: *mut rocksdb_compaction_service_options_override_t,
        _factory: *mut rocksdb_table_properties_collector_factory_t,
    ) {
    }
);
