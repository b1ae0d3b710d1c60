//! Latencies of reads of a family's tables, by the level of the table: `rocksdb.cf-file-histogram`.

use std::fmt;

use base::statistics::HistogramImpl;

/// A histogram of microseconds for each level.
#[derive(Debug)]
pub(crate) struct ReadLatency {
    levels: Vec<HistogramImpl>,
}

impl ReadLatency {
    pub fn new(num_levels: usize) -> ReadLatency {
        ReadLatency {
            levels: (0..num_levels).map(|_| HistogramImpl::default()).collect(),
        }
    }

    /// Counts a read of a table in `level`. A read of a table that is in no level yet is not counted.
    pub fn add(&self, level: u8, micros: u64) {
        if let Some(level) = self.levels.get(usize::from(level)) {
            level.add(micros);
        }
    }

    /// True if `level` is the last level.
    pub fn is_last(&self, level: u8) -> bool {
        usize::from(level) + 1 == self.levels.len()
    }
}

/// Writes the histograms in RocksDB's format, without the heading of the property.
impl fmt::Display for ReadLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (level, histogram) in self.levels.iter().enumerate() {
            if histogram.data().count > 0 {
                writeln!(
                    f,
                    "** Level {level} read latency histogram (micros):\n{histogram}"
                )?;
            }
        }
        Ok(())
    }
}
