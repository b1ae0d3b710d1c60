//! The settings a crash test runs with.

use std::sync::Arc;

use base::env::Rng;
use base::merge::StringAppend;
use esker::{ColumnFamilyOptions, CompressionType, Logger, MergeOperator, NullLogger, Options};
use vfs::FileSystem;

use super::DIR;
use crate::events::NoAutoRecovery;

const WAL_DIR: &str = "/db/wal";

/// Settings that change what is written when.
#[derive(Clone, Debug)]
pub struct Flavour {
    /// Families beside `default` that the script creates first.
    pub families: usize,
    /// `avoid_flush_during_recovery`
    pub avoid_flush_during_recovery: bool,
    /// `wal_compression`: ZSTD or none.
    pub compressed_wal: bool,
    /// A directory of their own for the WALs.
    pub wal_dir: bool,
    /// `write_buffer_size`
    pub write_buffer_size: u64,
    /// `max_total_wal_size`
    pub max_total_wal_size: u64,
    /// `max_manifest_file_size`
    pub max_manifest_file_size: u64,
    /// Writes without WAL among the others.
    pub unlogged: bool,
    /// `max_background_jobs`
    pub jobs: i32,
    /// Length of the longest values.
    pub long_values: usize,
    /// Whether there is an info log.
    pub info_log: bool,
    /// `enable_blob_files`, with garbage collection.
    pub blobs: bool,
    /// `recycle_log_file_num`
    pub recycled_wals: usize,
}

impl Flavour {
    /// The plainest.
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

    /// Number `number` of a row of flavours that begins with the plainest. Of any four that follow each other at least one, and not all,
    /// has blob files, compressed WALs, a directory for WALs, rows without WAL, WALs that are written over, and the WALs it has recovered
    /// from; the rest is drawn.
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

    /// Any.
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
            // Tests look at what is latched; histories are not to depend on the clock.
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

    /// The directories the database has files in.
    pub fn directories(&self) -> &'static [&'static str] {
        if self.wal_dir { &[DIR, WAL_DIR] } else { &[DIR] }
    }
}
