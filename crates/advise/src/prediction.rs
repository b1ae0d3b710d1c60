//! The amounts of a replay.

/// The predicted amounts of a workload under one set of options.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Bytes of keys and values that the workload wrote.
    pub user_bytes: u64,
    /// Bytes of tables that flushes wrote.
    pub flushed_bytes: u64,
    /// Bytes of tables that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes of tables that compactions wrote.
    pub compaction_written_bytes: u64,
    /// Compactions that wrote tables; moves are not among them.
    pub compactions: u64,
    /// Bytes that the live rows take at the end, each once.
    pub live_bytes: u64,
    /// Bytes of all tables at the end, after the compactions that were due.
    pub table_bytes: u64,
    /// The most bytes of all tables at any time, including the inputs and outputs of running compactions.
    pub peak_table_bytes: u64,
    /// Gets of the workload.
    pub gets: u64,
    /// The number of tables that the Gets searched: for each Get the tables whose key range includes the key,
    /// down to the table that has it.
    pub tables_asked: u64,
    /// Data blocks that the Gets read, including those read because of expected false positives of filters.
    pub blocks_read: f64,
    /// Seeks of the workload.
    pub seeks: u64,
    /// Sorted runs that the seeks read, a block each or more.
    pub runs_sought: u64,
    /// Microseconds of the workload without stalls.
    pub micros: u64,
    /// Microseconds for which writes were delayed or stopped, which `micros` does not include.
    pub stalled_micros: u64,
}

impl Prediction {
    /// Bytes of tables written for each byte of a flush, as RocksDB's `W-Amp` of the sum.
    pub fn write_amplification(&self) -> f64 {
        ratio(
            (self.flushed_bytes + self.compaction_written_bytes) as f64,
            self.flushed_bytes,
        )
    }

    /// Bytes of tables at the end for each byte of live rows.
    pub fn space_amplification(&self) -> f64 {
        ratio(self.table_bytes as f64, self.live_bytes)
    }

    /// The most bytes of tables for each byte of rows that are live at the end.
    pub fn peak_space_amplification(&self) -> f64 {
        ratio(self.peak_table_bytes as f64, self.live_bytes)
    }

    /// Tables asked by a Get.
    pub fn tables_per_get(&self) -> f64 {
        ratio(self.tables_asked as f64, self.gets)
    }

    /// Data blocks read by a Get, in the cache or not.
    pub fn blocks_per_get(&self) -> f64 {
        ratio(self.blocks_read, self.gets)
    }

    /// Sorted runs that a seek reads.
    pub fn runs_per_seek(&self) -> f64 {
        ratio(self.runs_sought as f64, self.seeks)
    }

    /// The share of the time in which writes were delayed or stopped, from 0 to 1.
    pub fn stalled_share(&self) -> f64 {
        ratio(self.stalled_micros as f64, self.micros + self.stalled_micros)
    }
}

/// `amount` over `whole`; 0 if there is nothing.
fn ratio(amount: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { amount / whole as f64 }
}
