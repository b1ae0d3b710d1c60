//! The rate of delayed writes.
//!
//! A compaction of L0 takes all of its files, and L0 does not shrink before the compaction ends: until then,
//! writes must fit into the room up to the stop trigger. So while a compaction runs, that room is divided
//! over the time it will still take, estimated from the last compactions. Writes then proceed at a steady
//! rate instead of alternating between fast, slow and stopped. The rate is half way between the rate that
//! fills the room and that of the compaction, because the next compaction has to take the data that fills the
//! room now. Where no compaction runs, the rate is the user's limit at the point where delays begin, and
//! decreases towards the rate of compactions as the stop trigger gets nearer. The fill of the memtable counts
//! byte by byte, so the rate never jumps.

use std::time::Duration;

use crate::options::LeveledOptions;
use crate::stall::{StallCause, StallInputs, WriteBufferLimits};

/// The lowest rate in bytes a second, unless the user's own limit is lower.
const MIN_WRITE_RATE: f64 = 16384.0;

/// Before the first compaction has been measured, the rate of compactions is assumed to be this fraction of
/// the user's rate.
const UNKNOWN: f64 = 1.0 / 8.0;

/// Just before writes stop, their rate is this fraction of the rate of compactions, so that the stop is not
/// reached.
const AT_STOP: f64 = 0.5;

/// A compaction that takes longer than estimated is assumed to need at least this part of its time more.
const LEAST_LEFT: f64 = 0.1;

/// The weight of the newest compaction in the mean.
const NEWEST: f64 = 0.4;

/// The rate at which compactions take bytes out of L0, in bytes a second: a mean over the last few.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drain {
    rate: Option<f64>,
    last_end: Duration,
    /// True if writes were still delayed when the last compaction ended.
    behind: bool,
}

impl Drain {
    /// Records a compaction that took `bytes` out of L0. `behind`: writes are delayed, so the time until the
    /// next compaction counts as well.
    pub fn carried(&mut self, bytes: u64, start: Duration, end: Duration, behind: bool) {
        let since = match self.behind {
            true => start.min(self.last_end),
            false => start,
        };
        let took = end.saturating_sub(since).as_secs_f64().max(1e-3);
        let newest = bytes as f64 / took;
        self.rate = Some(match self.rate {
            None => newest,
            Some(mean) => mean + (newest - mean) * NEWEST,
        });
        self.last_end = end;
        self.behind = behind;
    }

    /// The rate in bytes a second; `None` before the first compaction.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.rate.map(|rate| rate as u64)
    }
}

/// A running compaction out of L0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The bytes that the compaction takes out of L0.
    pub bytes: u64,
    /// The start of the compaction.
    pub start: Duration,
}

impl Work {
    /// The time the compaction will still take at the mean rate; never less than a tenth of the whole. `None`
    /// if the rate is unknown.
    pub fn left(&self, drain: Drain, now: Duration) -> Option<Duration> {
        let rate = drain.rate.filter(|rate| *rate > 0.0)?;
        let whole = (self.bytes as f64 / rate).clamp(1e-3, 1e6);
        let done = now.saturating_sub(self.start).as_secs_f64();
        Some(Duration::from_secs_f64((whole - done).max(whole * LEAST_LEFT)))
    }
}

/// The bytes of memtables that may still be written before L0 stops writes.
pub fn room_in_l0(inputs: StallInputs, filled: f64, options: &LeveledOptions, write_buffer_size: u64) -> u64 {
    let files = inputs.l0_files as f64 + inputs.unflushed_memtables as f64 + filled.clamp(0.0, 1.0);
    let room = options.level0_stop_writes_trigger as f64 - files;
    (room.max(0.0) * write_buffer_size as f64) as u64
}

/// The rate in bytes a second at which delayed writes make `room` last for the time `left`, while `drain` is
/// the rate of compactions.
pub fn even_rate(delayed_write_rate: u64, drain: Drain, room: u64, left: Duration) -> u64 {
    let ceiling = delayed_write_rate.max(1) as f64;
    let even = room as f64 / left.as_secs_f64().max(1e-3);
    let between = drain.rate.map_or(even, |drain| (drain * even).sqrt());
    // Whatever the mean is, half of the room is left for the second half of the time.
    between.min(2.0 * even).max(MIN_WRITE_RATE).min(ceiling) as u64
}

/// The progress of a family from the point where writes are delayed because of `cause`, 0, to the point where
/// they stop, 1. `filled`: the part of the memtable that is written.
pub fn depth(
    cause: StallCause,
    inputs: StallInputs,
    filled: f64,
    options: &LeveledOptions,
    buffers: WriteBufferLimits,
) -> f64 {
    let filled = filled.clamp(0.0, 1.0);
    let depth = match cause {
        StallCause::MemtableLimit => {
            let free = buffers.max_write_buffer_number as f64 - inputs.unflushed_memtables as f64 - filled;
            1.0 - free
        }
        StallCause::L0FileCountLimit => {
            let stop = options.level0_stop_writes_trigger as f64;
            let slow = options
                .level0_slowdown_writes_trigger
                .map_or(stop, |trigger| trigger as f64);
            let files = inputs.l0_files as f64 + inputs.unflushed_memtables as f64 + filled;
            (files - slow) / (stop - slow).max(1.0)
        }
        // Stalls of these causes stop writes, or have separate rates.
        StallCause::WriteBufferManagerLimit | StallCause::LowPriority | StallCause::WalLocked => 1.0,
        StallCause::PendingCompactionBytes => {
            let soft = options.soft_pending_compaction_bytes_limit;
            let hard = match options.hard_pending_compaction_bytes_limit {
                hard if hard > soft => hard,
                _ => soft.saturating_mul(2),
            };
            inputs.pending_compaction_bytes.saturating_sub(soft) as f64 / (hard - soft).max(1) as f64
        }
    };
    depth.clamp(0.0, 1.0)
}

/// The rate of delayed writes in bytes a second at that [`depth`]. It never exceeds `delayed_write_rate`.
pub fn write_rate(delayed_write_rate: u64, drain: Option<u64>, depth: f64) -> u64 {
    let ceiling = delayed_write_rate.max(1) as f64;
    let carried = drain.map_or(ceiling * UNKNOWN, |drain| drain as f64);
    let floor = (carried * AT_STOP).max(MIN_WRITE_RATE).min(ceiling);
    (ceiling * (floor / ceiling).powf(depth)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(l0_files: usize, filled: f64) -> f64 {
        let inputs = StallInputs {
            l0_files,
            ..StallInputs::default()
        };
        let options = LeveledOptions::default();
        depth(
            StallCause::L0FileCountLimit,
            inputs,
            filled,
            &options,
            WriteBufferLimits::default(),
        )
    }

    #[test]
    fn depth_grows_with_every_byte() {
        assert_eq!((at(20, 0.0), at(36, 0.0), at(50, 0.0)), (0.0, 1.0, 1.0));
        assert_eq!(at(20, 1.0), at(21, 0.0));
        assert!(at(27, 0.4) < at(27, 0.5));
        let of_bytes = |gib: u64| {
            let inputs = StallInputs {
                pending_compaction_bytes: gib << 30,
                ..StallInputs::default()
            };
            let cause = StallCause::PendingCompactionBytes;
            depth(
                cause,
                inputs,
                0.0,
                &LeveledOptions::default(),
                WriteBufferLimits::default(),
            )
        };
        assert_eq!((of_bytes(64), of_bytes(160), of_bytes(256)), (0.0, 0.5, 1.0));
        let of_memtables = |filled| {
            let inputs = StallInputs {
                unflushed_memtables: 3,
                ..StallInputs::default()
            };
            let buffers = WriteBufferLimits {
                max_write_buffer_number: 4,
                min_write_buffer_number_to_merge: 1,
            };
            depth(
                StallCause::MemtableLimit,
                inputs,
                filled,
                &LeveledOptions::default(),
                buffers,
            )
        };
        assert_eq!(
            (of_memtables(0.0), of_memtables(0.5), of_memtables(1.0)),
            (0.0, 0.5, 1.0)
        );
    }

    #[test]
    fn the_rate_falls_from_the_users_to_half_of_what_is_carried_away() {
        assert_eq!(write_rate(16 * MIB, Some(2 * MIB), 0.0), 16 * MIB);
        assert_eq!(write_rate(16 * MIB, Some(2 * MIB), 1.0), MIB);
        assert_eq!(write_rate(16 * MIB, Some(2 * MIB), 0.5), 4 * MIB);
        // Compactions are faster than the user's limit: the limit applies at every depth.
        assert_eq!(write_rate(MIB, Some(100 * MIB), 0.9), MIB);
        assert_eq!(write_rate(16 * MIB, None, 1.0), MIB);
        // The rate is never 0, and never above the user's limit.
        assert_eq!(write_rate(16 * MIB, Some(0), 1.0), 16 << 10);
        assert_eq!(write_rate(100, Some(0), 1.0), 100);
    }

    #[test]
    fn what_is_carried_away_is_a_mean_over_working_time() {
        let seconds = Duration::from_secs;
        let mut drain = Drain::default();
        assert_eq!(drain.bytes_per_second(), None);
        drain.carried(10 * MIB, seconds(100), seconds(110), true);
        assert_eq!(drain.bytes_per_second(), Some(MIB));
        // Before the compaction, ten seconds of other work passed while writes were delayed: these seconds
        // count.
        drain.carried(40 * MIB, seconds(120), seconds(130), false);
        assert_eq!(drain.bytes_per_second(), Some((MIB as f64 * 1.4) as u64));
        // No write was delayed: the idle time does not count.
        drain.carried(10 * MIB, seconds(1000), seconds(1010), false);
        let expected = 1.4 + (1.0 - 1.4) * NEWEST;
        assert_eq!(drain.bytes_per_second(), Some((MIB as f64 * expected) as u64));
    }

    #[test]
    fn room_is_shared_out_evenly() {
        let seconds = Duration::from_secs;
        let mut drain = Drain::default();
        let work = Work {
            bytes: 20 * MIB,
            start: seconds(50),
        };
        assert_eq!(work.left(drain, seconds(50)), None);
        drain.carried(10 * MIB, seconds(0), seconds(5), false);
        assert_eq!(work.left(drain, seconds(52)), Some(seconds(8)));
        assert_eq!(
            work.left(drain, seconds(100)),
            Some(seconds(1)),
            "it takes longer than estimated"
        );
        let inputs = StallInputs {
            l0_files: 30,
            unflushed_memtables: 1,
            pending_compaction_bytes: 0,
        };
        let room = room_in_l0(inputs, 0.5, &LeveledOptions::default(), 4 * MIB);
        assert_eq!(room, 18 * MIB);
        assert_eq!(even_rate(16 * MIB, drain, room, seconds(9)), 2 * MIB);
        assert_eq!(even_rate(MIB, drain, room, seconds(9)), MIB);
        assert_eq!(even_rate(MIB, drain, 0, seconds(9)), 16 << 10);
    }

    /// Writes at full speed against compactions that take all of L0 each time: once their rate is known, the
    /// stop is not reached, and the rate does not oscillate.
    #[test]
    fn writes_and_compactions_find_a_balance() {
        let (ceiling, buffer, speed) = (64 * MIB, 4 * MIB, 8 * MIB);
        let options = LeveledOptions::default();
        let mut drain = Drain::default();
        let (mut files, mut written, mut now) = (0usize, 0.0, Duration::ZERO);
        let mut running: Option<(usize, Work, Duration)> = None;
        let (mut rates, mut stopped) = (Vec::new(), 0);
        let step = Duration::from_millis(10);
        while now < Duration::from_secs(600) {
            let filled = written / buffer as f64;
            let inputs = StallInputs {
                l0_files: files,
                ..StallInputs::default()
            };
            let left = running.and_then(|(_, work, _)| work.left(drain, now));
            let rate = match (files, left) {
                (36.., _) => 0,
                (20.., Some(left)) => {
                    even_rate(ceiling, drain, room_in_l0(inputs, filled, &options, buffer), left)
                }
                (20.., None) => write_rate(ceiling, drain.bytes_per_second(), at(files, filled)),
                _ => ceiling,
            };
            if now > Duration::from_secs(100) {
                stopped += usize::from(files >= 36);
                if files >= 20 {
                    rates.push(rate);
                }
            }
            written += rate as f64 * step.as_secs_f64();
            if written >= buffer as f64 {
                files += 1;
                written = 0.0;
            }
            match running {
                None if files >= 4 => {
                    let bytes = files as u64 * buffer;
                    let took = Duration::from_secs_f64(bytes as f64 / speed as f64);
                    running = Some((files, Work { bytes, start: now }, now + took));
                }
                Some((taken, work, end)) if now >= end => {
                    drain.carried(work.bytes, work.start, now, files >= 20);
                    files -= taken;
                    running = None;
                }
                _ => {}
            }
            now += step;
        }
        assert_eq!(stopped, 0, "no stop once the rate of compactions is known");
        let calm = |rate: &&u64| (speed / 2..speed * 2).contains(*rate);
        let share = rates.iter().filter(calm).count() as f64 / rates.len() as f64;
        assert!(share > 0.9, "{share}");
        assert!(rates.iter().all(|rate| *rate > speed / 8));
    }
}
