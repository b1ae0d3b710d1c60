//! Compactions by the workers of a compaction service, which run in this process. A worker knows what one in
//! another process would: the job, and the files of the database.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
    freed: Condvar,
}

struct State {
    /// The jobs that were accepted, by their numbers.
    jobs: Vec<Vec<u8>>,
    /// The number of workers without a job.
    idle: u32,
}

/// A worker that has a job.
struct Busy<'a>(&'a Workers);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state.lock().idle += 1;
        self.0.freed.notify_one();
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
                idle: flags.remote_compaction_worker_threads,
            }),
            freed: Condvar::new(),
        })
    }

    /// The numbers of compactions that workers have done, and of those that they have failed.
    pub fn ended(&self) -> [u64; 2] {
        self.ended.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Waits for an idle worker, and returns it with the job.
    fn take(&self, job: &str) -> (Busy<'_>, Vec<u8>) {
        let mut state = self.state.lock();
        while state.idle == 0 {
            self.freed.wait(&mut state);
        }
        state.idle -= 1;
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
