//! The settings of a crash test.

use std::sync::Arc;

use base::env::Rng;
use base::merge::StringAppend;
use esker::{ColumnFamilyOptions, CompressionType, Logger, MergeOperator, NullLogger, Options};
use vfs::FileSystem;

use super::DIR;
use crate::events::NoAutoRecovery;

const WAL_DIR: &str = "/db/wal";

/// The settings of a crash test that influence what is written and when.
#[derive(Clone, Debug)]
pub struct Flavour {
    /// The number of families besides `default` that the script creates first.
    pub families: usize,
    /// The option `avoid_flush_during_recovery`.
    pub avoid_flush_during_recovery: bool,
    /// True for ZSTD as `wal_compression`.
    pub compressed_wal: bool,
    /// True if the WALs have a directory of their own.
    pub wal_dir: bool,
    /// The option `write_buffer_size`, in bytes.
    pub write_buffer_size: u64,
    /// The option `max_total_wal_size`, in bytes.
    pub max_total_wal_size: u64,
    /// The option `max_manifest_file_size`, in bytes.
    pub max_manifest_file_size: u64,
    /// True if some rows are written without a WAL.
    pub unlogged: bool,
    /// The option `max_background_jobs`.
    pub jobs: i32,
    /// The length of the longest values in bytes.
    pub long_values: usize,
    /// True if there is an info log.
    pub info_log: bool,
    /// The option `enable_blob_files`, with garbage collection.
    pub blobs: bool,
    /// The option `recycle_log_file_num`.
    pub recycled_wals: usize,
}

impl Flavour {
    /// The simplest settings of a crash test.
    pub fn plain() -> Flavour {
        Flavour {
            families: 2,
            avoid_flush_during_recovery: false,
            compressed_wal: false,
            wal_dir: false,
            write_buffer_size: 1 << 20,
            max_total_wal_size: 0,
            max_manifest_file_size: 1000,
            unlogged: false,
            jobs: 2,
            long_values: 100,
            info_log: true,
            blobs: false,
            recycled_wals: 0,
        }
    }

    /// Flavour `number` of a sequence that begins with the simplest one. Among any four consecutive flavours
    /// some, but not all, have blob files, compressed WALs, a directory for WALs, rows without a WAL,
    /// recycled WALs, and WALs that recovery keeps. The other settings are drawn.
    pub fn nth(number: u64, rng: &mut Rng) -> Flavour {
        let drawn = Flavour::random(rng);
        match number % 4 {
            0 if number == 0 => Flavour::plain(),
            at => Flavour {
                avoid_flush_during_recovery: at == 1 || at == 2,
                compressed_wal: at == 2,
                wal_dir: at == 3,
                unlogged: at == 1 || at == 3,
                blobs: at == 1,
                recycled_wals: if at == 2 { 2 } else { 0 },
                ..drawn
            },
        }
    }

    /// Draws the settings of a crash test.
    pub fn random(rng: &mut Rng) -> Flavour {
        Flavour {
            families: rng.usize(0..=3),
            avoid_flush_during_recovery: rng.bool(),
            compressed_wal: rng.u8(..4) == 0,
            wal_dir: rng.u8(..4) == 0,
            write_buffer_size: if rng.bool() { 1 << 20 } else { 64 << 10 },
            max_total_wal_size: if rng.bool() { 0 } else { 20 << 10 },
            max_manifest_file_size: [0, 600, 2000, 1 << 30][rng.usize(..4)],
            unlogged: rng.u8(..3) == 0,
            jobs: if rng.bool() { 2 } else { 4 },
            long_values: [100, 2000, 9000][rng.usize(..3)],
            info_log: rng.u8(..4) == 0,
            blobs: rng.u8(..3) == 0,
            recycled_wals: [0, 0, 1, 3][rng.usize(..4)],
        }
    }

    /// The options of a database in `fs`.
    pub fn options(&self, fs: Arc<dyn FileSystem>) -> Options {
        let operator: Arc<dyn MergeOperator> = Arc::new(StringAppend::new(","));
        let mut family = ColumnFamilyOptions {
            write_buffer_size: self.write_buffer_size,
            level0_file_num_compaction_trigger: 3,
            target_file_size_base: 4 << 10,
            max_bytes_for_level_base: 16 << 10,
            max_bytes_for_level_multiplier: 4.0,
            num_levels: 4,
            merge_operator: Some(operator),
            enable_blob_files: self.blobs,
            min_blob_size: 30,
            blob_file_size: 2 << 10,
            enable_blob_garbage_collection: self.blobs,
            blob_garbage_collection_age_cutoff: 0.5,
            blob_garbage_collection_force_threshold: 0.5,
            ..ColumnFamilyOptions::default()
        };
        family.table.block_size = 512;
        let nowhere: Arc<dyn Logger> = Arc::new(NullLogger);
        Options {
            info_log: (!self.info_log).then_some(nowhere),
            create_if_missing: true,
            // Tests check latched errors, and histories must not depend on the clock.
            listeners: vec![Arc::new(NoAutoRecovery)],
            avoid_flush_during_recovery: self.avoid_flush_during_recovery,
            wal_compression: if self.compressed_wal {
                CompressionType::Zstd
            } else {
                CompressionType::None
            },
            wal_dir: if self.wal_dir {
                WAL_DIR.to_owned()
            } else {
                String::new()
            },
            max_total_wal_size: self.max_total_wal_size,
            recycle_log_file_num: self.recycled_wals,
            max_manifest_file_size: self.max_manifest_file_size,
            max_background_jobs: self.jobs,
            column_family: family,
            fs,
            ..Options::default()
        }
    }

    /// The directories with files of the database.
    pub fn directories(&self) -> &'static [&'static str] {
        if self.wal_dir { &[DIR, WAL_DIR] } else { &[DIR] }
    }
}
