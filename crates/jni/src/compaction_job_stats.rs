//! `org.rocksdb.CompactionJobStats`.

use base::sync::Mutex;

use crate::env::JByteArray;
use crate::fail::Result;
use crate::frame::{native, natives};
use crate::handles;

/// The counters of one compaction, or the sums of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// The duration in microseconds.
    pub elapsed_micros: u64,
    /// The number of input rows.
    pub num_input_records: u64,
    /// The number of input files.
    pub num_input_files: u64,
    /// The number of input files in the output level.
    pub num_input_files_at_output_level: u64,
    /// The number of output rows.
    pub num_output_records: u64,
    /// The number of output files.
    pub num_output_files: u64,
    /// True if a user has requested the compaction.
    pub is_manual_compaction: bool,
    /// The size of the input in bytes.
    pub total_input_bytes: u64,
    /// The size of the output in bytes.
    pub total_output_bytes: u64,
}

impl JobStats {
    fn add(&mut self, other: &JobStats) {
        self.elapsed_micros += other.elapsed_micros;
        self.num_input_records += other.num_input_records;
        self.num_input_files += other.num_input_files;
        self.num_input_files_at_output_level += other.num_input_files_at_output_level;
        self.num_output_records += other.num_output_records;
        self.num_output_files += other.num_output_files;
        self.is_manual_compaction |= other.is_manual_compaction;
        self.total_input_bytes += other.total_input_bytes;
        self.total_output_bytes += other.total_output_bytes;
    }
}

struct StatsObject(Mutex<JobStats>);

/// Returns a new handle of an object with the counters, which the caller owns.
pub fn insert(stats: JobStats) -> i64 {
    handles::insert(StatsObject(Mutex::new(stats)))
}

fn stats(handle: i64) -> Result<JobStats> {
    Ok(*handles::get::<StatsObject>(handle)?.0.lock())
}

native!("CompactionJobStats_newCompactionJobStats" "" fn(env) -> i64 { Ok(insert(JobStats::default())) });

native!("CompactionJobStats_reset" "J" fn(env, handle: i64) {
    *handles::get::<StatsObject>(handle)?.0.lock() = JobStats::default();
    Ok(())
});

native!("CompactionJobStats_add" "JJ" fn(env, handle: i64, other: i64) {
    let other = stats(other)?;
    handles::get::<StatsObject>(handle)?.0.lock().add(&other);
    Ok(())
});

/// A method that returns a number.
macro_rules! number {
    ($method:literal, $field:ident) => {
        native!($method "J" fn(env, handle: i64) -> i64 { Ok(stats(handle)?.$field as i64) });
    };
}
number!("CompactionJobStats_elapsedMicros", elapsed_micros);
number!("CompactionJobStats_numInputRecords", num_input_records);
number!("CompactionJobStats_numInputFiles", num_input_files);
number!(
    "CompactionJobStats_numInputFilesAtOutputLevel",
    num_input_files_at_output_level
);
number!("CompactionJobStats_numOutputRecords", num_output_records);
number!("CompactionJobStats_numOutputFiles", num_output_files);
number!("CompactionJobStats_totalInputBytes", total_input_bytes);
number!("CompactionJobStats_totalOutputBytes", total_output_bytes);

native!("CompactionJobStats_isManualCompaction" "J" fn(env, handle: i64) -> bool {
    Ok(stats(handle)?.is_manual_compaction)
});

// The engine does not count the following statistics: they stay 0, which RocksDB reports for a compaction
// without them.
natives!(
    "CompactionJobStats_numRecordsReplaced" "CompactionJobStats_totalInputRawKeyBytes"
    "CompactionJobStats_totalInputRawValueBytes" "CompactionJobStats_numInputDeletionRecords"
    "CompactionJobStats_numExpiredDeletionRecords" "CompactionJobStats_numCorruptKeys"
    "CompactionJobStats_fileWriteNanos" "CompactionJobStats_fileRangeSyncNanos" "CompactionJobStats_fileFsyncNanos"
    "CompactionJobStats_filePrepareWriteNanos" "CompactionJobStats_numSingleDelFallthru"
    "CompactionJobStats_numSingleDelMismatch";
    { "J" fn(env, handle: i64) -> i64 { stats(handle).map(|_| 0) } }
);

natives!("CompactionJobStats_smallestOutputKeyPrefix" "CompactionJobStats_largestOutputKeyPrefix"; {
    "J" fn(env, handle: i64) -> JByteArray {
        stats(handle)?;
        env.byte_array(b"")
    }
});
