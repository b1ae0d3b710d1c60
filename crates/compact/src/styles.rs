//! The compaction styles, and the options of the styles other than leveled, with RocksDB's names, units and
//! defaults.

use base::Temperature;
use manifest::FileMetadata;

/// The compaction style of a family, with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Leveled: each level is a sorted run, larger than the one above.
    #[default]
    Level,
    /// Universal: sorted runs ordered by time, merged when several are of similar size.
    Universal(CompactionOptionsUniversal),
    /// FIFO: the oldest files are dropped.
    Fifo(CompactionOptionsFifo),
    /// Files are compacted only in manual compactions.
    None,
}

/// When a universal compaction stops taking in sorted runs.
///
/// See the example of [`CompactionOptionsUniversal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionStopStyle {
    /// The compaction stops taking in runs if the next run differs in size from the last one.
    SimilarSize,
    /// The compaction stops taking in runs if the next run is larger than the sum of those taken in. The
    /// default.
    #[default]
    TotalSize,
}

/// The options of universal compaction.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{CompactionOptionsUniversal, CompactionStopStyle};
///
/// let options = CompactionOptionsUniversal {
///     max_size_amplification_percent: 100,
///     stop_style: CompactionStopStyle::SimilarSize,
///     ..Default::default()
/// };
/// assert_eq!(options.min_merge_width, 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsUniversal {
    /// The percentage by which the next sorted run may be larger than those taken in. Default: 1.
    pub size_ratio: u32,
    /// The minimum number of sorted runs in one compaction. Default: 2.
    pub min_merge_width: u32,
    /// The maximum number of sorted runs in one compaction. Default: no limit.
    pub max_merge_width: u32,
    /// The size that the other runs may have together, as a percentage of the oldest run, before all are
    /// merged: the price in space for writing less. Default: 200.
    pub max_size_amplification_percent: u32,
    /// At least this percentage of the data, the oldest, is compressed, and newer data is not; negative: all
    /// data is compressed. Default: -1.
    pub compression_size_percent: i32,
    /// The maximum number of sorted runs; 0: estimated from the size of the data; -1:
    /// `level0_file_num_compaction_trigger`. Default: -1.
    pub max_read_amp: i32,
    /// When a compaction stops taking in runs. Default: `TotalSize`.
    pub stop_style: CompactionStopStyle,
    /// Files that overlap no others are moved, not rewritten. Default: false.
    pub allow_trivial_move: bool,
    /// Compacts parts of runs. Not supported: true is refused. Default: false.
    pub incremental: bool,
    /// Files that wait for the thread pool of the bottom level are not locked meanwhile. There is no such
    /// pool here, so no file ever waits for it. Default: true.
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

/// An age of files, and the temperature that files of this age get.
///
/// See the example of [`CompactionOptionsFifo`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTemperatureAge {
    /// The temperature of files of this age or older.
    pub temperature: Temperature,
    /// The age in seconds.
    pub age: u64,
}

/// The options of FIFO compaction, besides `ttl`.
///
/// ```
/// # mod esker {
/// #     pub use base::Temperature;
/// #     pub use esker_compact::{CompactionOptionsFifo, FileTemperatureAge};
/// # }
/// use esker::{CompactionOptionsFifo, FileTemperatureAge, Temperature};
///
/// let an_hour_old = FileTemperatureAge { temperature: Temperature::COLD, age: 3600 };
/// let options = CompactionOptionsFifo {
///     max_table_files_size: 10 << 30,
///     file_temperature_age_thresholds: vec![an_hour_old],
///     ..Default::default()
/// };
/// assert!(!options.allow_compaction);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptionsFifo {
    /// The bytes of all tables above which the oldest are dropped. Default: 1 GiB.
    pub max_table_files_size: u64,
    /// Small files of L0 are merged. Default: false.
    pub allow_compaction: bool,
    /// The bytes of all tables and blob files above which the oldest tables are dropped, with the blob files
    /// that only they refer to; 0: `max_table_files_size` applies. Default: 0.
    pub max_data_files_size: u64,
    /// The ages from which files are rewritten for storage of another temperature, the youngest first.
    /// Default: none.
    pub file_temperature_age_thresholds: Vec<FileTemperatureAge>,
    /// Merges files by the ratio of keys to values. Not supported: true is refused. Default: false.
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
    /// The temperature that `file` should have at `now` for its age; `None` if it is too young for any, or
    /// its age is unknown.
    pub(crate) fn temperature_due(&self, file: &FileMetadata, now: u64) -> Option<Temperature> {
        let written = newest_data(file);
        let mut due = self.file_temperature_age_thresholds.iter().rev();
        let reached = due.find(|due| written > 0 && now.saturating_sub(due.age) >= written)?;
        Some(reached.temperature)
    }

    /// The bytes above which files are dropped, and whether blob files count.
    pub fn limit(&self) -> (u64, bool) {
        match self.max_data_files_size {
            0 => (self.max_table_files_size, false),
            limit => (limit, true),
        }
    }
}

/// The time of the newest data of `file` in Unix seconds, as FIFO compaction sees it; 0 if unknown.
pub(crate) fn newest_data(file: &FileMetadata) -> u64 {
    file.file_creation_time.max(file.oldest_ancestor_time)
}
