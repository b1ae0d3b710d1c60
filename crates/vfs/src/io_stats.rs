//! What the calling thread has read from the disk through [`PosixFs`](crate::PosixFs): what RocksDB calls IOStatsContext.
//! Counted beside system calls, so it costs nothing that can be measured. What is read through a mapping is not counted:
//! only the kernel knows.

use std::cell::Cell;
use std::ops::Sub;

/// Reads of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoStats {
    /// Calls that read a part of a table, WAL or other file.
    pub reads: u64,
    /// Bytes they gave.
    pub bytes_read: u64,
}

impl Sub for IoStats {
    type Output = IoStats;

    fn sub(self, earlier: IoStats) -> IoStats {
        IoStats {
            reads: self.reads - earlier.reads,
            bytes_read: self.bytes_read - earlier.bytes_read,
        }
    }
}

thread_local! {
    static CURRENT: Cell<IoStats> = const { Cell::new(IoStats { reads: 0, bytes_read: 0 }) };
}

/// What the calling thread has read so far.
pub fn current() -> IoStats {
    CURRENT.get()
}

/// Counts a read of `bytes`.
pub(crate) fn count_read(bytes: usize) {
    let mut stats = CURRENT.get();
    stats.reads += 1;
    stats.bytes_read += bytes as u64;
    CURRENT.set(stats);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileSystem, OpenOptions, PosixFs};

    #[test]
    fn reads_are_counted_by_thread() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 10_000]).unwrap();
        for direct in [false, true] {
            let options = OpenOptions {
                direct,
                ..OpenOptions::default()
            };
            // Not every file system can read past the page cache.
            let Ok(file) = PosixFs::new().open_random(&path, &options) else {
                assert!(direct);
                continue;
            };
            let before = current();
            file.read_exact_at(100, &mut [0; 5_000]).unwrap();
            let read = current() - before;
            assert_eq!(read.reads, 1, "direct {direct}");
            if direct {
                assert!((5_000..=16_384).contains(&read.bytes_read), "{read:?}");
            } else {
                assert_eq!(read.bytes_read, 5_000);
            }
            let elsewhere = std::thread::spawn(current).join().unwrap();
            assert_eq!(elsewhere, IoStats::default());
        }
    }
}
