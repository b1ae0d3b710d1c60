//! Counts and times of one thread, under the names of RocksDB's `PerfContext`: for finding out why one call
//! was slow.
//!
//! A thread counts nothing before it calls [`set_level`]. From then on each count costs one addition to
//! memory of the thread, and each time two readings of the clock. CPU times, which need system calls, are
//! taken at a level of their own.

use std::cell::Cell;
use std::fmt;
use std::ops::Sub;
use std::time::Duration;

use crate::env::{Stopwatch, thread_cpu};

/// How much a thread counts. Each level includes those before it.
///
/// See the example of [`PerfContext`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PerfLevel {
    /// Counts nothing.
    #[default]
    Disable = 1,
    /// Counts events.
    EnableCount = 2,
    /// Also measures the time of waits.
    EnableWait = 3,
    /// Also measures all other times; no mutex is timed.
    EnableTimeExceptForMutex = 4,
    /// Also measures CPU times, each with two system calls.
    EnableTimeAndCpuTimeExceptForMutex = 5,
    /// Measures as the previous level does: no mutex is timed.
    EnableTime = 6,
}

impl PerfLevel {
    /// The level that has this number in RocksDB.
    pub fn of_number(number: i32) -> Option<PerfLevel> {
        Some(match number {
            1 => PerfLevel::Disable,
            2 => PerfLevel::EnableCount,
            3 => PerfLevel::EnableWait,
            4 => PerfLevel::EnableTimeExceptForMutex,
            5 => PerfLevel::EnableTimeAndCpuTimeExceptForMutex,
            6 => PerfLevel::EnableTime,
            _ => return None,
        })
    }
}

macro_rules! perf_context {
    ($( $(#[$doc:meta])+ $field:ident; )+) => {
        /// The counts of a thread, under RocksDB's names. Times are in nanoseconds.
        ///
        /// ```
        /// # use esker_base as esker;
        /// use esker::perf::{self, PerfLevel};
        ///
        /// perf::set_level(PerfLevel::EnableCount);
        /// perf::reset();
        /// // Reads and writes of this thread.
        /// let counts = perf::context();
        /// assert_eq!(counts.block_read_count, 0);
        /// perf::set_level(PerfLevel::Disable);
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct PerfContext {
            $( $(#[$doc])+ pub $field: u64, )+
        }

        impl PerfContext {
            /// The names and values of all counts.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$( (stringify!($field), self.$field), )+].into_iter()
            }
        }

        impl Sub for PerfContext {
            type Output = PerfContext;

            /// The counts since `earlier`.
            fn sub(self, earlier: PerfContext) -> PerfContext {
                PerfContext {
                    $( $field: self.$field.wrapping_sub(earlier.$field), )+
                }
            }
        }

        /// The cells that a thread counts in.
        #[doc(hidden)]
        pub struct PerfCells {
            level: Cell<u8>,
            $( pub $field: Cell<u64>, )+
        }

        impl PerfCells {
            const fn new() -> PerfCells {
                PerfCells {
                    level: Cell::new(PerfLevel::Disable as u8),
                    $( $field: Cell::new(0), )+
                }
            }

            fn read(&self) -> PerfContext {
                PerfContext {
                    $( $field: self.$field.get(), )+
                }
            }

            fn reset(&self) {
                $( self.$field.set(0); )+
            }
        }
    };
}

perf_context! {
    /// Blocks found in the block cache.
    block_cache_hit_count;
    /// Blocks read from files.
    block_read_count;
    /// Bytes of the blocks read from files, as stored.
    block_read_byte;
    /// Time of reading blocks from files.
    block_read_time;
    /// Indexes, and partitions of them, found in the block cache.
    block_cache_index_hit_count;
    /// Indexes, and partitions of them, read from files.
    index_block_read_count;
    /// The time spent to read and decode indexes and index partitions.
    read_index_block_nanos;
    /// The number of filters and filter partitions found in the block cache.
    block_cache_filter_hit_count;
    /// Filters, and partitions of them, read from files.
    filter_block_read_count;
    /// The time spent to read filters and filter partitions.
    read_filter_block_nanos;
    /// Time of computing checksums of blocks.
    block_checksum_time;
    /// Time of uncompressing blocks.
    block_decompress_time;
    /// The number of blocks that were decompressed.
    block_decompress_count;
    /// Bytes of values that Gets returned.
    get_read_bytes;
    /// Bytes of values that MultiGets returned.
    multiget_read_bytes;
    /// Bytes of the keys and values that iterators were positioned on.
    iter_read_bytes;
    /// Entries that iterators passed one by one, including entries that range deletions cover.
    internal_key_skipped_count;
    /// Seeks of iterators past the range of a range deletion.
    internal_range_del_reseek_count;
    /// Merge operands that Gets combined.
    internal_merge_point_lookup_count;
    /// Time of merge operators in reads.
    merge_operator_time_nanos;
    /// Time of Gets in memtables.
    get_from_memtable_time;
    /// Time of Gets in tables.
    get_from_output_files_time;
    /// The time in seeks of iterators.
    seek_internal_seek_time;
    /// Time of iterator steps.
    find_next_user_entry_time;
    /// Time of writes in appending to the WAL and syncing it.
    write_wal_time;
    /// Time of writes in inserting into memtables.
    write_memtable_time;
    /// Time of writes in stalls and delays.
    write_delay_time;
    /// Gets that a memtable's filter let pass.
    bloom_memtable_hit_count;
    /// Gets that a memtable's filter spared the search.
    bloom_memtable_miss_count;
    /// Lookups that a table's filter let pass.
    bloom_sst_hit_count;
    /// Lookups that a table's filter ended.
    bloom_sst_miss_count;
    /// The number of forward steps of iterators.
    iter_next_count;
    /// The number of backward steps of iterators.
    iter_prev_count;
    /// The number of seeks of iterators.
    iter_seek_count;
    /// CPU time of Gets.
    get_cpu_nanos;
    /// CPU time of steps forwards.
    iter_next_cpu_nanos;
    /// CPU time of steps backwards.
    iter_prev_cpu_nanos;
    /// CPU time of seeks.
    iter_seek_cpu_nanos;
}

thread_local! {
    static CELLS: PerfCells = const { PerfCells::new() };
}

/// Sets how much the calling thread counts from now on.
pub fn set_level(level: PerfLevel) {
    CELLS.with(|cells| cells.level.set(level as u8));
}

/// How much the calling thread counts.
pub fn level() -> PerfLevel {
    let number = CELLS.with(|cells| cells.level.get());
    PerfLevel::of_number(i32::from(number)).unwrap_or_default()
}

/// The counts of the calling thread since the last [reset].
pub fn context() -> PerfContext {
    CELLS.with(PerfCells::read)
}

/// Sets the counts of the calling thread to 0.
pub fn reset() {
    CELLS.with(PerfCells::reset);
}

/// True if the calling thread counts.
#[inline]
pub fn counts() -> bool {
    CELLS.with(|cells| cells.level.get() >= PerfLevel::EnableCount as u8)
}

/// Adds to one of the counts, if the thread counts.
#[inline]
pub fn count(field: impl FnOnce(&PerfCells) -> &Cell<u64>, amount: u64) {
    CELLS.with(|cells| {
        if cells.level.get() >= PerfLevel::EnableCount as u8 {
            add(field(cells), amount);
        }
    });
}

/// Measures the time from now until the result is dropped, if the thread measures times.
#[inline]
pub fn time(field: fn(&PerfCells) -> &Cell<u64>) -> Timer {
    Timer::at(PerfLevel::EnableTimeExceptForMutex, field)
}

/// Starts the timer of a wait. Waits are timed from a lower level on than the work that [`time`] measures.
#[inline]
pub fn time_wait(field: fn(&PerfCells) -> &Cell<u64>) -> Timer {
    Timer::at(PerfLevel::EnableWait, field)
}

/// Measures the thread's CPU time from now until the result is dropped, if the thread measures CPU times.
#[inline]
pub fn time_cpu(field: fn(&PerfCells) -> &Cell<u64>) -> CpuTimer {
    CpuTimer(takes_cpu_times().then(|| (thread_cpu(), field)))
}

/// True if the calling thread measures times.
#[inline]
pub fn takes_times() -> bool {
    CELLS.with(|cells| cells.level.get() >= PerfLevel::EnableTimeExceptForMutex as u8)
}

/// True if the calling thread measures CPU times.
#[inline]
pub fn takes_cpu_times() -> bool {
    CELLS.with(|cells| cells.level.get() >= PerfLevel::EnableTimeAndCpuTimeExceptForMutex as u8)
}

/// Adds `amount` to a cell.
fn add(cell: &Cell<u64>, amount: u64) {
    cell.set(cell.get().wrapping_add(amount));
}

/// Selects one of a thread's counts.
type Field = fn(&PerfCells) -> &Cell<u64>;

/// Adds its lifetime to one of the counts.
#[must_use = "what is dropped at once takes no time"]
pub struct Timer(Option<(Stopwatch, Field)>);

impl Timer {
    #[inline]
    fn at(least: PerfLevel, field: Field) -> Timer {
        let wanted = CELLS.with(|cells| cells.level.get() >= least as u8);
        Timer(wanted.then(|| (Stopwatch::start(), field)))
    }
}

impl Drop for Timer {
    #[inline]
    fn drop(&mut self) {
        if let Some((start, field)) = self.0 {
            let nanos = start.nanos();
            CELLS.with(|cells| add(field(cells), nanos));
        }
    }
}

/// Adds the CPU time that the thread uses during its lifetime to one of the counts.
#[must_use = "what is dropped at once takes no time"]
pub struct CpuTimer(Option<(Duration, Field)>);

impl Drop for CpuTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some((before, field)) = self.0 {
            let nanos = thread_cpu().saturating_sub(before).as_nanos() as u64;
            CELLS.with(|cells| add(field(cells), nanos));
        }
    }
}

/// The text of RocksDB's `PerfContext::ToString` without counts that are 0.
impl fmt::Display for PerfContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<String> = self
            .fields()
            .filter(|(_, value)| *value > 0)
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        f.write_str(&fields.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_a_microsecond() {
        let watch = Stopwatch::start();
        while watch.nanos() < 1_000 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_counts_what_it_asked_for() {
        // The test uses a thread of its own: other tests of the binary may have set a level.
        let thread = std::thread::spawn(|| {
            assert_eq!(level(), PerfLevel::Disable);
            count(|cells| &cells.block_read_count, 1);
            drop(time(|cells| &cells.block_read_time));
            assert_eq!(context(), PerfContext::default());

            set_level(PerfLevel::EnableCount);
            count(|cells| &cells.block_read_count, 2);
            let timer = time(|cells| &cells.block_read_time);
            pass_a_microsecond();
            drop(timer);
            let before = context();
            assert_eq!(before.to_string(), "block_read_count = 2");

            set_level(PerfLevel::EnableTime);
            let timer = time(|cells| &cells.block_read_time);
            pass_a_microsecond();
            drop(timer);
            count(|cells| &cells.block_read_count, 1);
            let since = context() - before;
            assert_eq!(since.block_read_count, 1);
            assert!(since.block_read_time >= 1_000, "{since}");

            set_level(PerfLevel::Disable);
            reset();
            assert_eq!(context(), PerfContext::default());
        });
        thread.join().unwrap();
    }

    #[test]
    fn cpu_time_is_taken_from_a_level_of_its_own_on() {
        let of_level = |level: PerfLevel| {
            let taken = move || {
                set_level(level);
                let timer = time_cpu(|cells| &cells.get_cpu_nanos);
                let watch = Stopwatch::start();
                while watch.nanos() < 2_000_000 {
                    std::hint::spin_loop();
                }
                drop(timer);
                // Waiting takes no CPU time.
                let idle = time_cpu(|cells| &cells.iter_seek_cpu_nanos);
                std::thread::park_timeout(Duration::from_millis(20));
                drop(idle);
                context()
            };
            std::thread::spawn(taken).join().unwrap()
        };
        let without = of_level(PerfLevel::EnableTimeExceptForMutex);
        assert_eq!((without.get_cpu_nanos, without.iter_seek_cpu_nanos), (0, 0));
        let with = of_level(PerfLevel::EnableTimeAndCpuTimeExceptForMutex);
        assert!(with.get_cpu_nanos > 0, "{with}");
        assert!(with.iter_seek_cpu_nanos < 10_000_000, "{with}");
    }

    #[test]
    fn levels_have_rocksdbs_numbers() {
        for number in 1..=6 {
            assert_eq!(
                PerfLevel::of_number(number).map(|level| level as i32),
                Some(number)
            );
        }
        assert_eq!((PerfLevel::of_number(0), PerfLevel::of_number(7)), (None, None));
    }
}
