//! What one thread has done and waited for, under the names of RocksDB's `PerfContext`: for finding out why one call was slow.
//!
//! Nothing is counted before the thread asks for it by [`set_level`]; then each thing that is counted costs one addition to
//! memory of the thread, and each time two looks at the clock; CPU time, which the kernel is asked for, is taken from a level of its
//! own on.

use std::cell::Cell;
use std::fmt;
use std::ops::Sub;
use std::time::Duration;

use crate::env::{Stopwatch, thread_cpu};

/// How much is counted, by thread. Each level counts what those before it do, and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PerfLevel {
    /// Nothing.
    #[default]
    Disable = 1,
    /// Counts.
    EnableCount = 2,
    /// And the time of waits.
    EnableWait = 3,
    /// And the time of everything else; no mutex is timed.
    EnableTimeExceptForMutex = 4,
    /// And CPU time, for which the kernel is asked twice each time.
    EnableTimeAndCpuTimeExceptForMutex = 5,
    /// The same: no mutex is timed.
    EnableTime = 6,
}

impl PerfLevel {
    /// The level RocksDB gives that number.
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
        /// What a thread has counted, under RocksDB's names. Times are nanoseconds.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct PerfContext {
            $( $(#[$doc])+ pub $field: u64, )+
        }

        impl PerfContext {
            /// Names and values.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$( (stringify!($field), self.$field), )+].into_iter()
            }
        }

        impl Sub for PerfContext {
            type Output = PerfContext;

            /// What was counted since `earlier`.
            fn sub(self, earlier: PerfContext) -> PerfContext {
                PerfContext {
                    $( $field: self.$field.wrapping_sub(earlier.$field), )+
                }
            }
        }

        /// Where a thread counts.
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
    /// Bytes of those, as stored.
    block_read_byte;
    /// Time of reading them.
    block_read_time;
    /// Indexes, and partitions of them, found in the block cache.
    block_cache_index_hit_count;
    /// Indexes, and partitions of them, read from files.
    index_block_read_count;
    /// Time of reading them, and of decoding them.
    read_index_block_nanos;
    /// Filters, and partitions of them, found in the block cache.
    block_cache_filter_hit_count;
    /// Filters, and partitions of them, read from files.
    filter_block_read_count;
    /// Time of reading them.
    read_filter_block_nanos;
    /// Time of computing checksums of blocks.
    block_checksum_time;
    /// Time of uncompressing blocks.
    block_decompress_time;
    /// Blocks uncompressed.
    block_decompress_count;
    /// Bytes of values that Gets returned.
    get_read_bytes;
    /// Bytes of values that MultiGets returned.
    multiget_read_bytes;
    /// Bytes of keys and values that iterators stood on.
    iter_read_bytes;
    /// Entries that iterators passed over one by one, those that range deletions cover among them.
    internal_key_skipped_count;
    /// Seeks of iterators past the range of a range deletion.
    internal_range_del_reseek_count;
    /// Merge operands that Gets put together.
    internal_merge_point_lookup_count;
    /// Time of merge operators, of reads that met operands.
    merge_operator_time_nanos;
    /// Time Gets searched memtables.
    get_from_memtable_time;
    /// Time Gets searched tables.
    get_from_output_files_time;
    /// Time of seeks.
    seek_internal_seek_time;
    /// Time of steps.
    find_next_user_entry_time;
    /// Time writes took to append to the WAL and to sync it.
    write_wal_time;
    /// Time writes took to insert into memtables.
    write_memtable_time;
    /// Time writes were held back.
    write_delay_time;
    /// Filters of memtables that let a Get pass.
    bloom_memtable_hit_count;
    /// Those that spared the search.
    bloom_memtable_miss_count;
    /// Filters of tables that let a lookup pass.
    bloom_sst_hit_count;
    /// Those that ended it.
    bloom_sst_miss_count;
    /// Steps forwards.
    iter_next_count;
    /// Steps backwards.
    iter_prev_count;
    /// Seeks.
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

/// What the calling thread counts from now on.
pub fn set_level(level: PerfLevel) {
    CELLS.with(|cells| cells.level.set(level as u8));
}

/// What the calling thread counts.
pub fn level() -> PerfLevel {
    let number = CELLS.with(|cells| cells.level.get());
    PerfLevel::of_number(i32::from(number)).unwrap_or_default()
}

/// What the calling thread has counted since it last [reset] its counts.
pub fn context() -> PerfContext {
    CELLS.with(PerfCells::read)
}

/// Sets what the calling thread has counted to 0.
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

/// Takes the time from now until it is dropped, if the thread takes times.
#[inline]
pub fn time(field: fn(&PerfCells) -> &Cell<u64>) -> Timer {
    Timer::at(PerfLevel::EnableTimeExceptForMutex, field)
}

/// The same of a wait, which is timed from a lower level on.
#[inline]
pub fn time_wait(field: fn(&PerfCells) -> &Cell<u64>) -> Timer {
    Timer::at(PerfLevel::EnableWait, field)
}

/// Takes the CPU time of the thread from now until it is dropped, if the thread takes CPU times.
#[inline]
pub fn time_cpu(field: fn(&PerfCells) -> &Cell<u64>) -> CpuTimer {
    CpuTimer(takes_cpu_times().then(|| (thread_cpu(), field)))
}

/// True if the calling thread takes times.
#[inline]
pub fn takes_times() -> bool {
    CELLS.with(|cells| cells.level.get() >= PerfLevel::EnableTimeExceptForMutex as u8)
}

/// True if the calling thread takes CPU times.
#[inline]
pub fn takes_cpu_times() -> bool {
    CELLS.with(|cells| cells.level.get() >= PerfLevel::EnableTimeAndCpuTimeExceptForMutex as u8)
}

/// Adds to a cell.
fn add(cell: &Cell<u64>, amount: u64) {
    cell.set(cell.get().wrapping_add(amount));
}

/// Where a thread adds to one of its counts.
type Field = fn(&PerfCells) -> &Cell<u64>;

/// Adds the time it lives to one of the counts.
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

/// Adds the CPU time that the thread uses while it lives to one of the counts.
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

/// As RocksDB's `PerfContext::ToString`, without what is 0.
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
        // A thread of its own: others of the test binary may have set a level.
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
                // Waiting is no work.
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
