//! The options of a garbage collection.

use esker::WriteOptions;

/// The options of a garbage collection.
#[derive(Clone, Debug)]
pub struct GcOptions {
    /// The maximum number of versions that a batch removes one by one: bounds how long writers wait.
    /// Default: 4096.
    pub page_versions: u64,
    /// The maximum bytes of keys of versions that a batch removes one by one, but at least one version:
    /// bounds how much a batch writes. Default: 1 MiB.
    pub page_bytes: u64,
    /// The number of consecutive versions of garbage, with none kept between them, from which one range
    /// deletion removes them; 0: never. Default: 2000.
    pub min_run_versions: u64,
    /// The maximum number of versions that one range deletion removes. They are read while writers wait.
    /// Default: 65536.
    pub max_run_versions: u64,
    /// The write options of the batches; not with [`WriteOptions::disable_wal`].
    pub write: WriteOptions,
}

impl Default for GcOptions {
    fn default() -> GcOptions {
        GcOptions {
            page_versions: 4096,
            page_bytes: 1 << 20,
            min_run_versions: 2000,
            max_run_versions: 65_536,
            write: WriteOptions::default(),
        }
    }
}
