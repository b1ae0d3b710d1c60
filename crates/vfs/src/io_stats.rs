//! The file operations of the calling thread through [`PosixFs`](crate::PosixFs): RocksDB's IOStatsContext,
//! mostly with its names.
//!
//! Calls and bytes are counted next to system calls, so the counters cost nothing measurable. Times are taken
//! only if the thread takes times ([`base::perf::set_level`]), and CPU times only if it takes those. Reads
//! and writes through mappings, and so those of a database's log, are not counted: only the kernel sees them.

use std::cell::Cell;
use std::ops::Sub;
use std::time::Duration;

use base::env::{Stopwatch, thread_cpu};
use base::perf;

macro_rules! io_stats {
    ($( $(#[$doc:meta])+ $field:ident; )+) => {
        /// The counters of a thread since the thread began. Times are in nanoseconds.
        ///
        /// ```
        /// # use esker_vfs as esker;
        /// use esker::io_stats;
        ///
        /// let before = io_stats::current();
        /// // Reads and writes of this thread.
        /// let after = io_stats::current();
        /// assert_eq!(after.bytes_read, before.bytes_read);
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct IoStats {
            $( $(#[$doc])+ pub $field: u64, )+
        }

        impl Sub for IoStats {
            type Output = IoStats;

            fn sub(self, earlier: IoStats) -> IoStats {
                IoStats {
                    $( $field: self.$field - earlier.$field, )+
                }
            }
        }

        /// The counters of a thread.
        pub(crate) struct IoCells {
            $( pub(crate) $field: Cell<u64>, )+
        }

        thread_local! {
            static CELLS: IoCells = const {
                IoCells {
                    $( $field: Cell::new(0), )+
                }
            };
        }

        /// The counters of the calling thread so far.
        pub fn current() -> IoStats {
            CELLS.with(|cells| IoStats {
                $( $field: cells.$field.get(), )+
            })
        }
    };
}

io_stats! {
    /// Reads of a part of a table, WAL or other file.
    reads;
    /// Bytes read.
    bytes_read;
    /// Writes of a part of a file.
    writes;
    /// Bytes written.
    bytes_written;
    /// Time of opening and creating files.
    open_nanos;
    /// Time of claiming space for files in advance.
    allocate_nanos;
    /// Time of reads.
    read_nanos;
    /// CPU time of reads.
    cpu_read_nanos;
    /// Time of writes, into the page cache or past it.
    write_nanos;
    /// CPU time of writes.
    cpu_write_nanos;
    /// Time of starting the kernel's writeback to disk: `bytes_per_sync`.
    range_sync_nanos;
    /// Time of syncs of files.
    fsync_nanos;
}

/// The reads of the calling thread so far, [`IoStats::reads`] alone.
#[inline]
pub fn reads() -> u64 {
    CELLS.with(|cells| cells.reads.get())
}

/// One of a thread's counters.
type Field = fn(&IoCells) -> &Cell<u64>;

fn add(field: Field, amount: u64) {
    CELLS.with(|cells| {
        let cell = field(cells);
        cell.set(cell.get().wrapping_add(amount));
    });
}

/// Counts a read of `bytes`.
pub(crate) fn count_read(bytes: usize) {
    add(|cells| &cells.reads, 1);
    add(|cells| &cells.bytes_read, bytes as u64);
}

/// Counts a write of `bytes`.
pub(crate) fn count_write(bytes: usize) {
    add(|cells| &cells.writes, 1);
    add(|cells| &cells.bytes_written, bytes as u64);
}

/// A timer that adds the time of its life to one counter, and the CPU time to another.
#[must_use = "keep the timer: its drop ends the measurement"]
pub(crate) struct Timer {
    wall: Option<(Stopwatch, Field)>,
    cpu: Option<(Duration, Field)>,
}

/// Measures the time from now until the result is dropped, if the thread takes times.
pub(crate) fn time(field: Field) -> Timer {
    Timer {
        wall: perf::takes_times().then(|| (Stopwatch::start(), field)),
        cpu: None,
    }
}

/// Measures the time of a read.
pub(crate) fn time_read() -> Timer {
    time_with_cpu(|cells| &cells.read_nanos, |cells| &cells.cpu_read_nanos)
}

/// Measures the time of a write.
pub(crate) fn time_write() -> Timer {
    time_with_cpu(|cells| &cells.write_nanos, |cells| &cells.cpu_write_nanos)
}

fn time_with_cpu(wall: Field, cpu: Field) -> Timer {
    Timer {
        cpu: perf::takes_cpu_times().then(|| (thread_cpu(), cpu)),
        ..time(wall)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some((start, field)) = self.wall {
            add(field, start.nanos());
        }
        if let Some((before, field)) = self.cpu {
            add(field, thread_cpu().saturating_sub(before).as_nanos() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use base::perf::PerfLevel;

    use super::*;
    use crate::{CreateOptions, FileSystem, OpenOptions, PosixFs};

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

    /// Writes a file, syncs it and reads it, on its own thread.
    fn at_level(level: PerfLevel, direct: bool) -> Option<IoStats> {
        let work = move || {
            perf::set_level(level);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            let fs = PosixFs::new();
            let options = CreateOptions {
                preallocate: 1 << 20,
                bytes_per_sync: 1 << 20,
                direct,
                ..CreateOptions::default()
            };
            let mut file = fs.create(&path, &options).ok()?;
            for _ in 0..4_096 {
                file.append(&[7; 1_000]).unwrap();
            }
            file.sync().unwrap();
            file.close().unwrap();
            let file = fs.open_random(&path, &OpenOptions::default()).unwrap();
            let mut back = vec![0; 1 << 20];
            file.read_exact_at(0, &mut back).unwrap();
            Some(current())
        };
        std::thread::spawn(work).join().unwrap()
    }

    #[test]
    fn times_are_taken_where_the_thread_takes_them() {
        for direct in [false, true] {
            let Some(counted) = at_level(PerfLevel::EnableWait, direct) else {
                assert!(direct, "not every file system can write past the page cache");
                continue;
            };
            let only_counts = IoStats {
                reads: 1,
                bytes_read: 1 << 20,
                writes: counted.writes,
                bytes_written: counted.bytes_written,
                ..IoStats::default()
            };
            assert_eq!(counted, only_counts);
            assert!(
                counted.bytes_written >= 4_096_000 && counted.writes < 20,
                "{counted:?}"
            );

            let timed = at_level(PerfLevel::EnableTimeExceptForMutex, direct).unwrap();
            let times = [
                timed.open_nanos,
                timed.allocate_nanos,
                timed.read_nanos,
                timed.write_nanos,
                timed.fsync_nanos,
            ];
            assert!(times.iter().all(|nanos| *nanos > 0), "{timed:?}");
            // Direct writes leave nothing for writeback.
            assert_eq!(timed.range_sync_nanos > 0, !direct, "{timed:?}");
            assert_eq!((timed.cpu_read_nanos, timed.cpu_write_nanos), (0, 0));

            let all = at_level(PerfLevel::EnableTimeAndCpuTimeExceptForMutex, direct).unwrap();
            assert!(all.cpu_read_nanos > 0 && all.cpu_write_nanos > 0, "{all:?}");
        }
    }
}
