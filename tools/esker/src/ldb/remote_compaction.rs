//! `remote_compaction_primary` and `remote_compaction_worker`: a compaction that one process asks for and
//! another does, over a directory that both know.
//!
//! ```text
//! primary: JOB_DIR/input.bin, the job
//! worker:  JOB_DIR/output/*.sst, the tables; then JOB_DIR/result.bin, the result
//! ```

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use esker::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus as Status,
    CompactionServiceOptionsOverride, CompactionServiceScheduleResponse, Db, OpenAndCompactOptions,
};
use parking_lot::{Condvar, Mutex};

use crate::ldb::line::Line;
use crate::ldb::outcome::{Failed, Outcome};
use crate::ldb::{open, options};
use crate::output::Out;

const INPUT: &str = "input.bin";
const RESULT: &str = "result.bin";
const OUTPUT: &str = "output";
/// The time between two looks at a file that the other process writes.
const INTERVAL: Duration = Duration::from_millis(100);
/// The number of looks, two minutes in all.
const LOOKS: u32 = 1200;

/// The service of the primary: it offers one compaction to the worker.
struct OneJob {
    dir: PathBuf,
    is_scheduled: AtomicBool,
}

impl OneJob {
    /// Writes the job to the directory. A result that is there is of an earlier job.
    fn offer(&self, input: &[u8]) -> std::io::Result<()> {
        match fs::remove_file(self.dir.join(RESULT)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => write_whole(&self.dir.join(INPUT), input),
        }
    }
}

impl CompactionService for OneJob {
    fn name(&self) -> &str {
        "LocalFileCompactionService"
    }

    /// Offers the job to the worker. The database does every later job itself.
    fn schedule(&self, _: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let status = if self.is_scheduled.swap(true, Ordering::Relaxed) {
            Status::UseLocal
        } else {
            match self.offer(input) {
                Ok(()) => Status::Success,
                Err(_) => Status::Failure,
            }
        };
        CompactionServiceScheduleResponse {
            scheduled_job_id: b"job_0001".to_vec(),
            status,
        }
    }

    fn wait(&self, _: &[u8]) -> (Status, Vec<u8>) {
        match wait_for(&self.dir.join(RESULT), LOOKS) {
            Some(result) => (Status::Success, result),
            None => (Status::Failure, Vec::new()),
        }
    }
}

pub fn primary(line: &Line, out: &mut Out) -> Outcome {
    let dir = job_dir(line)?;
    let mut options = options::prepare(line)?;
    options.compaction_service = Some(Arc::new(OneJob {
        dir,
        is_scheduled: AtomicBool::new(false),
    }));
    options.column_family.disable_auto_compactions = true;
    let session = open::with_options(line, options).map_err(|failed| after("Open: ", failed))?;
    let compacted = session.db.compact_range_cf(&session.family, None, None);
    compacted.map_err(|error| Failed::with("CompactRange: ", &error))?;
    session.close()?;
    writeln!(out, "remote_compaction_primary: OK")?;
    Ok(String::new())
}

pub fn worker(line: &Line, out: &mut Out) -> Outcome {
    let dir = job_dir(line)?;
    let input_path = dir.join(INPUT);
    let Some(input) = wait_for(&input_path, LOOKS) else {
        let seconds = (INTERVAL * LOOKS).as_secs();
        let file = input_path.display();
        return Err(Failed::said(format!("Timed out ({seconds}s) waiting for {file}")));
    };
    let result = Db::open_and_compact(
        &OpenAndCompactOptions::default(),
        line.db(),
        dir.join(OUTPUT),
        &input,
        &CompactionServiceOptionsOverride::default(),
    )
    .map_err(|error| Failed::with("OpenAndCompact: ", &error))?;
    let result_path = dir.join(RESULT);
    if write_whole(&result_path, &result).is_err() {
        return Err(Failed::said(format!("Failed to write {}", result_path.display())));
    }
    writeln!(
        out,
        "remote_compaction_worker: OK ({} bytes result)",
        result.len()
    )?;
    Ok(String::new())
}

fn job_dir(line: &Line) -> Result<PathBuf, Failed> {
    line.path("job_dir")
        .ok_or_else(|| Failed::said("--job_dir is required"))
}

fn after(words: &str, failed: Failed) -> Failed {
    match failed {
        Failed::Message(message) => Failed::Message(format!("{words}{message}")),
        Failed::PipeClosed => Failed::PipeClosed,
    }
}

/// Writes a file under another name and renames it, so that the process that waits for it reads the whole.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".tmp");
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}

/// The bytes of a file once it is there and not empty; `None` if it is not after so many looks.
fn wait_for(path: &Path, looks: u32) -> Option<Vec<u8>> {
    let (nothing, never) = (Mutex::new(()), Condvar::new());
    for _ in 0..looks {
        if let Ok(bytes) = fs::read(path)
            && !bytes.is_empty()
        {
            return Some(bytes);
        }
        never.wait_for(&mut nothing.lock(), INTERVAL);
    }
    None
}
