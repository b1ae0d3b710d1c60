//! How a family's files are merged, and the options of the styles that are not leveled, with RocksDB's names, units and
//! defaults.

use base::Temperature;
use manifest::FileMetadata;

use crate::due::newest_data;

/// How a family's files are merged, with what steers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Level by level, each a sorted run, each larger than the one above.
    #[default]
    Level,
    /// Sorted runs one after the other in time, merged when several are of similar size.
    Universal(CompactionOptionsUniversal),
    /// The oldest files are dropped.
    Fifo(CompactionOptionsFifo),
    /// Nothing is compacted unless a user asks for it.
    None,
}

/// When a universal compaction has taken in enough sorted runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionStopStyle {
    /// When the next run is not of the size of the last one.
    SimilarSize,
    /// When the next run is larger than all taken in together. The default.
    #[default]
    TotalSize,
}

/// What universal compaction is steered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsUniversal {
    /// Percent by which the next sorted run may be larger than those taken in. 1.
    pub size_ratio: u32,
    /// Sorted runs of one compaction at least. 2.
    pub min_merge_width: u32,
    /// Sorted runs of one compaction at most. No limit.
    pub max_merge_width: u32,
    /// Percent of the oldest run that the others may be of before all are merged: how much space is paid for writing
    /// less. 200.
    pub max_size_amplification_percent: u32,
    /// At least this percentage of the data, the oldest, is compressed, and what is newer is not; negative: all is. -1.
    pub compression_size_percent: i32,
    /// Sorted runs at most; 0: as the size of the data lets expect; -1: as many as
    /// `level0_file_num_compaction_trigger`. -1.
    pub max_read_amp: i32,
    /// When enough is taken in. `TotalSize`.
    pub stop_style: CompactionStopStyle,
    /// Files that overlap no others are moved, not rewritten. False.
    pub allow_trivial_move: bool,
    /// Compacts parts of runs. Not to be had. False.
    pub incremental: bool,
    /// Files that wait for a pool of threads for the bottom level are not held meanwhile. There is no such pool here, so
    /// that nothing ever waits so. True.
    pub reduce_file_locking: bool,
}

impl Default for CompactionOptionsUniversal {
    fn default() -> CompactionOptionsUniversal {
        CompactionOptionsUniversal {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: u32::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            max_read_amp: -1,
            stop_style: CompactionStopStyle::TotalSize,
            allow_trivial_move: false,
            incremental: false,
            reduce_file_locking: true,
        }
    }
}

/// From which age on files shall have which temperature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTemperatureAge {
    /// The temperature.
    pub temperature: Temperature,
    /// Seconds.
    pub age: u64,
}

/// What FIFO compaction is steered by, beside `ttl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsFifo {
    /// Bytes of all tables beyond which the oldest are dropped. 1 GiB.
    pub max_table_files_size: u64,
    /// Small files of L0 are merged. False.
    pub allow_compaction: bool,
    /// Bytes of all tables and blob files beyond which the oldest tables are dropped, and with them what only they refer
    /// to; 0: `max_table_files_size` holds. 0.
    pub max_data_files_size: u64,
    /// From which age on files are rewritten for storage of which temperature, the youngest first. None.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// Merges files by the ratio of keys to values. Not to be had. False.
    pub use_kv_ratio_compaction: bool,
}

impl Default for CompactionOptionsFifo {
    fn default() -> CompactionOptionsFifo {
        CompactionOptionsFifo {
            max_table_files_size: 1 << 30,
            allow_compaction: false,
            max_data_files_size: 0,
            use_kv_ratio_compaction: false,
            file_temperature_age_thresholds: Vec::new(),
        }
    }
}

impl CompactionOptionsFifo {
    /// The temperature that `file` shall have at `now` for its age; `None` if it is too young to say, or its age is not known.
    pub(crate) fn temperature_due(&self, file: &FileMetadata, now: u64) -> Option<Temperature> {
        let written = newest_data(file);
        let mut due = self.file_temperature_age_thresholds.iter().rev();
        let reached = due.find(|due| written > 0 && now.saturating_sub(due.age) >= written)?;
        Some(reached.temperature)
    }

    /// Bytes beyond which files are dropped, and whether those of blob files count.
    pub fn limit(&self) -> (u64, bool) {
        match self.max_data_files_size {
            0 => (self.max_table_files_size, false),
            limit => (limit, true),
        }
    }
}
