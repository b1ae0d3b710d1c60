//! An estimate of how many processors the program leaves idle, for compactions that can use more than one.
//!
//! The CPU time of the process, less that of background work, is the load of everything else: writers,
//! readers and the rest of the program. The processors that neither this load nor a thread of background work
//! needs are idle. Other programs are not seen; the scheduler of the system divides the time with them.

use std::time::Duration;

/// The length of the shortest time over which a load is measured.
const SHORTEST: Duration = Duration::from_millis(5);

/// The largest part of a processor that may be in use although it counts as idle.
const TOLERATED: f64 = 0.25;

/// The CPU time of the process and of its background work, up to a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: Duration,
    process: Duration,
    worked: Duration,
}

/// The state of the estimate. The owner has a lock, a clock and the CPU time of the process.
#[derive(Debug)]
pub(super) struct Processors {
    number: usize,
    /// The number of threads that do background work now.
    working: usize,
    /// The CPU time of background work that has ended.
    worked: Duration,
    /// The beginning of the time over which the load is measured next.
    since: Moment,
    /// The load of everything but background work, as a number of processors.
    load: f64,
}

impl Processors {
    /// An estimate for a machine of `number` processors. None is idle until a load has been measured.
    pub fn new(number: usize, now: Duration, process: Duration) -> Processors {
        Processors {
            number,
            working: 0,
            worked: Duration::ZERO,
            since: Moment {
                at: now,
                process,
                worked: Duration::ZERO,
            },
            load: number as f64,
        }
    }

    /// Counts a thread that begins background work.
    pub fn begin(&mut self) {
        self.working += 1;
    }

    /// Counts the end of a thread's work, and the CPU time that it has used.
    pub fn end(&mut self, cpu: Duration) {
        self.working = self.working.saturating_sub(1);
        self.worked += cpu;
    }

    /// The number of idle processors, if the process has used `process` of CPU time until `now`.
    pub fn idle(&mut self, now: Duration, process: Duration) -> usize {
        let time = now.saturating_sub(self.since.at);
        if time >= SHORTEST {
            let used = process.saturating_sub(self.since.process);
            let worked = self.worked.saturating_sub(self.since.worked);
            self.load = used.saturating_sub(worked).as_secs_f64() / time.as_secs_f64();
            self.since = Moment {
                at: now,
                process,
                worked: self.worked,
            };
        }
        let idle = self.number as f64 - self.load - self.working as f64;
        (idle + TOLERATED).max(0.0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn no_processor_is_idle_before_a_load_is_known() {
        let mut processors = Processors::new(8, ms(100), ms(30));
        assert_eq!(processors.idle(ms(101), ms(30)), 0);
        assert_eq!(processors.idle(ms(200), ms(30)), 8);
    }

    #[test]
    fn a_writer_and_a_job_leave_none_of_two_processors() {
        let mut processors = Processors::new(2, ms(0), ms(0));
        processors.begin();
        assert_eq!(processors.idle(ms(100), ms(100)), 0);
        // The thread that writes waits now: since the last measurement, only the ended job has used CPU time
        // of the process.
        processors.end(ms(95));
        processors.begin();
        assert_eq!(processors.idle(ms(200), ms(200)), 1);
    }

    #[test]
    fn the_work_of_two_threads_is_no_load() {
        let mut processors = Processors::new(2, ms(0), ms(0));
        for job in 1..5 {
            processors.begin();
            assert_eq!(
                processors.idle(ms(100 * job), ms(200 * job)),
                usize::from(job > 1)
            );
            processors.begin();
            processors.end(ms(200));
            processors.end(ms(200));
        }
    }

    #[test]
    fn a_load_that_was_measured_lasts_for_some_time() {
        let mut processors = Processors::new(4, ms(0), ms(0));
        processors.begin();
        assert_eq!(processors.idle(ms(10), ms(20)), 1);
        assert_eq!(processors.idle(ms(12), ms(60)), 1);
        assert_eq!(processors.idle(ms(20), ms(20)), 3);
    }
}
