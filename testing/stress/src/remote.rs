//! Compactions by the workers of a compaction service, which run in this process. A worker knows what one in
//! another process would: the job, and the files of the database.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::{Clock, Rng, SystemClock};
use esker::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus as Status,
    CompactionServiceOptionsOverride, CompactionServiceScheduleResponse, Db, OpenAndCompactOptions, Options,
};
use parking_lot::{Condvar, Mutex};

use crate::flags::Flags;

/// The compaction service.
pub struct Workers {
    path: PathBuf,
    /// The options of a worker: those of the database, without the service.
    options: Options,
    falls_back: bool,
    /// The compactions that workers have done, and those that they have failed.
    ended: [AtomicU64; 2],
    state: Mutex<State>,
    clock: SystemClock,
    freed: Condvar,
}

struct State {
    /// The jobs that were accepted, by their numbers.
    jobs: Vec<Vec<u8>>,
    /// The workers without a job: the times at which they look for one.
    looks: Vec<Duration>,
    /// The time after a job within which a worker looks for the next one.
    interval: Duration,
    rng: Rng,
}

/// The time for which a job waits.
#[derive(Debug, PartialEq, Eq)]
enum Wait {
    /// Not at all: a worker has taken it.
    No,
    /// Until a worker looks for a job.
    For(Duration),
    /// Until a worker has finished its job.
    ForAWorker,
}

impl State {
    /// Makes a worker take a job at the time `now`, if one looks for jobs then.
    fn take(&mut self, now: Duration) -> Wait {
        let first = self.looks.iter().enumerate().min_by_key(|(_, look)| **look);
        match first {
            None => Wait::ForAWorker,
            Some((_, look)) if *look > now => Wait::For(*look - now),
            Some((at, _)) => {
                self.looks.swap_remove(at);
                Wait::No
            }
        }
    }

    /// A worker has finished its job at the time `now`, and looks for another one within the interval.
    fn end(&mut self, now: Duration) {
        let micros = self.rng.u64(..=self.interval.as_micros() as u64);
        self.looks.push(now + Duration::from_micros(micros));
    }
}

/// A worker that has a job.
struct Busy<'a>(&'a Workers);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state.lock().end(self.0.clock.now());
        self.0.freed.notify_all();
    }
}

impl Workers {
    /// The service for the database at `path` that the flags ask for.
    pub fn of(flags: &Flags, options: &Options, path: &Path) -> Option<Workers> {
        (flags.remote_compaction_worker_threads > 0).then(|| Workers {
            path: path.to_owned(),
            options: options.clone(),
            falls_back: flags.remote_compaction_failure_fall_back_to_local,
            ended: Default::default(),
            state: Mutex::new(State {
                jobs: Vec::new(),
                looks: vec![Duration::ZERO; flags.remote_compaction_worker_threads as usize],
                interval: Duration::from_millis(flags.remote_compaction_worker_interval.into()),
                rng: Rng::with_seed(flags.seed),
            }),
            clock: SystemClock::new(),
            freed: Condvar::new(),
        })
    }

    /// The numbers of compactions that workers have done, and of those that they have failed.
    pub fn ended(&self) -> [u64; 2] {
        self.ended.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Waits until a worker looks for a job, and returns it with this one.
    fn take(&self, job: &str) -> (Busy<'_>, Vec<u8>) {
        let mut state = self.state.lock();
        loop {
            match state.take(self.clock.now()) {
                Wait::No => break,
                Wait::For(time) => drop(self.freed.wait_for(&mut state, time)),
                Wait::ForAWorker => self.freed.wait(&mut state),
            }
        }
        let number = job.parse::<usize>().ok();
        let input = number.and_then(|number| state.jobs.get_mut(number));
        (Busy(self), input.map(std::mem::take).unwrap_or_default())
    }

    /// The directory of a job's outputs, next to the database's.
    fn directory(&self, job: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(format!(".remote-{job}"));
        PathBuf::from(path)
    }

    /// Removes the directory of a job whose outputs are installed or given up. A failure leaves files that
    /// the next job of that number deletes.
    fn remove(&self, job: &str) {
        let (fs, dir) = (&*self.options.fs, self.directory(job));
        for name in fs.list(&dir).unwrap_or_default() {
            let _ = fs.remove(&dir.join(name));
        }
        let _ = fs.remove_dir(&dir);
    }
}

impl CompactionService for Workers {
    fn name(&self) -> &str {
        "db_stress.Workers"
    }

    fn schedule(&self, _: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let mut state = self.state.lock();
        state.jobs.push(input.to_vec());
        CompactionServiceScheduleResponse {
            scheduled_job_id: (state.jobs.len() - 1).to_string().into_bytes(),
            status: Status::Success,
        }
    }

    fn wait(&self, scheduled_job_id: &[u8]) -> (Status, Vec<u8>) {
        let job = String::from_utf8_lossy(scheduled_job_id);
        let (_busy, input) = self.take(&job);
        let options = OpenAndCompactOptions {
            // A process that was killed has left files there.
            allow_resumption: true,
            ..OpenAndCompactOptions::default()
        };
        let own = CompactionServiceOptionsOverride {
            options: self.options.clone(),
            ..CompactionServiceOptionsOverride::default()
        };
        let done = Db::open_and_compact(&options, &self.path, self.directory(&job), &input, &own);
        match done {
            Ok(result) => {
                self.ended[0].fetch_add(1, Ordering::Relaxed);
                (Status::Success, result)
            }
            Err(_) => {
                self.ended[1].fetch_add(1, Ordering::Relaxed);
                self.remove(&job);
                let status = match self.falls_back {
                    true => Status::UseLocal,
                    false => Status::Failure,
                };
                (status, Vec::new())
            }
        }
    }

    fn on_installation(&self, scheduled_job_id: &[u8], _: Status) {
        self.remove(&String::from_utf8_lossy(scheduled_job_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_worker_looks_for_a_job_within_the_interval_after_the_last_one() {
        let mut state = State {
            jobs: Vec::new(),
            looks: vec![Duration::ZERO; 2],
            interval: ms(50),
            rng: Rng::with_seed(7),
        };
        assert_eq!(state.take(ms(1)), Wait::No);
        assert_eq!(state.take(ms(1)), Wait::No);
        assert_eq!(state.take(ms(1)), Wait::ForAWorker);
        let mut waits = Vec::new();
        for round in 0..100 {
            let now = ms(1000 * round);
            state.end(now);
            match state.take(now) {
                Wait::No => waits.push(Duration::ZERO),
                Wait::For(time) => {
                    assert_eq!(state.take(now + time), Wait::No);
                    waits.push(time);
                }
                Wait::ForAWorker => panic!("a worker is idle"),
            }
            assert_eq!(state.take(now + ms(50)), Wait::ForAWorker);
        }
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!(*least < ms(10) && *most > ms(40) && *most <= ms(50), "{waits:?}");
        // The worker that looks first takes the job.
        state.looks = vec![ms(9), ms(4)];
        assert_eq!(state.take(ms(1)), Wait::For(ms(3)));
        assert_eq!(state.take(ms(4)), Wait::No);
        assert_eq!(state.looks, [ms(9)]);
        let never = Flags {
            remote_compaction_worker_interval: 0,
            ..Flags::default()
        };
        assert!(never.check().is_err());
    }
}
