//! Searches live files for corruption while the database runs: one file after the other, the one verified
//! longest ago first, at a limited rate and bypassing all caches.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::sync::thread::{self};
use base::user_code::catch;
use base::{Error, ErrorKind, Result};
use vfs::rate_limiter::{IoPriority, OpType};
use vfs::{Access, OpenOptions, RandomAccessFile};

use crate::events::Event;
use crate::jobs::verify::{Live, What};
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use crate::state::verifier::Verifier;
use crate::state::verifier::VerifyProgress;

/// The number of bytes read at a time.
const STEP: usize = 64 << 10;

/// The pause after a pass over all files, and while there is no file.
const IDLE: Duration = Duration::from_secs(1);

/// The name, in errors, of a fault that stops writes.
const VERIFY: &str = "verify live files";

/// Reads a file at the limited rate, and fails if the file is no longer in use.
#[derive(Debug)]
struct PacedFile {
    file: Arc<dyn RandomAccessFile>,
    verifier: Arc<Verifier>,
}

impl PacedFile {
    /// Waits until `bytes` may be read.
    fn wait_for(&self, bytes: u64) -> Result<()> {
        let verifier = &self.verifier;
        let goes_on = || verifier.goes_on();
        let limiter = &verifier.limiter;
        if goes_on() && limiter.request_while(bytes, IoPriority::Low, OpType::Read, goes_on) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Aborted, "verification was stopped"))
    }
}

impl RandomAccessFile for PacedFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mut read = 0;
        for piece in buf.chunks_mut(STEP) {
            self.wait_for(piece.len() as u64)?;
            let got = self.file.read_at(offset + read as u64, piece)?;
            self.verifier.bytes_read.fetch_add(got as u64, Ordering::Relaxed);
            read += got;
            if got < piece.len() {
                break;
            }
        }
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, _offset: u64, _len: u64) {}

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// A corrupt place of a file.
struct Fault {
    error: Error,
    /// The smallest and the largest user key of the block, or of the file if the block is not known.
    smallest_key: Vec<u8>,
    largest_key: Vec<u8>,
}

impl Db {
    /// The progress of the background verification; the property `esker.verify` is the same as text.
    pub fn verify_progress(&self) -> VerifyProgress {
        self.inner().verify_progress()
    }
}

impl DbInner {
    /// Starts the verification thread, unless it runs or the database is read-only.
    pub(crate) fn start_verifier(self: &Arc<Self>) -> Result<()> {
        let mut state = self.jobs.verifier.state.lock();
        if state.thread.is_some() || state.closing || self.read_only {
            return Ok(());
        }
        let inner = self.clone();
        let thread = thread::Builder::new()
            .name("esker-verify".to_owned())
            .spawn(move || inner.run_verifier());
        state.thread = Some(thread.map_err(|error| Error::io("start thread", &self.dir, error))?);
        Ok(())
    }

    /// Stops the verification thread.
    pub(crate) fn stop_verifier(&self) {
        let thread = {
            let mut state = self.jobs.verifier.state.lock();
            state.closing = true;
            self.jobs.verifier.changed.notify_all();
            state.thread.take()
        };
        self.jobs.verifier.limiter.wake();
        // A panic of the thread printed its message when it occurred.
        thread.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// Changes the rate; see [`Db::set_verify_rate`](crate::Db::set_verify_rate).
    pub(crate) fn set_verify_rate(self: &Arc<Self>, rate: u64) -> Result<()> {
        {
            let _state = self.jobs.verifier.state.lock();
            self.jobs.verifier.rate.store(rate, Ordering::Relaxed);
            self.jobs.verifier.changed.notify_all();
        }
        self.jobs.verifier.limiter.wake();
        match rate {
            0 => Ok(()),
            _ => {
                self.jobs.verifier.limiter.set_bytes_per_second(rate)?;
                self.start_verifier()
            }
        }
    }

    pub(crate) fn verify_progress(&self) -> VerifyProgress {
        let live = self.live();
        let state = self.jobs.verifier.state.lock();
        let done = || live.iter().filter(|live| state.done.contains(&live.number()));
        VerifyProgress {
            passes: state.passes,
            files_done: done().count() as u64,
            files: live.len() as u64,
            bytes_done: done().map(Live::size).sum(),
            bytes: live.iter().map(Live::size).sum(),
            bytes_read: self.jobs.verifier.bytes_read.load(Ordering::Relaxed),
            faults: state.faults,
        }
    }

    fn run_verifier(&self) {
        while self.jobs.verifier.wait() {
            let Some(live) = self.next_to_verify() else {
                let mut state = self.jobs.verifier.state.lock();
                if !state.closing {
                    self.jobs.verifier.changed.wait_for(&mut state, IDLE);
                }
                continue;
            };
            let faults = match catch(|| self.verify_live(&live)) {
                Ok(Ok(faults)) => faults,
                Err(panicked) => {
                    self.latch(VERIFY, panicked);
                    Vec::new()
                }
                // The verification was stopped, or the rate has changed: the file is read from its beginning
                // again.
                Ok(Err(_)) => continue,
            };
            {
                let mut state = self.jobs.verifier.state.lock();
                state.done.insert(live.number());
                state.faults += faults.len() as u64;
            }
            for fault in faults {
                self.report_fault(&live, fault);
            }
        }
    }

    /// The file in use that was verified longest ago: within a pass each file comes once, new files included.
    /// `None` at the end of a pass.
    fn next_to_verify(&self) -> Option<Live> {
        let mut live = self.live();
        live.sort_by_key(Live::number);
        let mut state = self.jobs.verifier.state.lock();
        state
            .done
            .retain(|number| live.binary_search_by_key(number, Live::number).is_ok());
        if !live.is_empty() && state.done.len() == live.len() {
            state.passes += 1;
            state.done.clear();
            return None;
        }
        live.into_iter().find(|live| !state.done.contains(&live.number()))
    }

    /// Verifies a file and returns its corrupt places.
    ///
    /// Errors: `Aborted` if it was stopped.
    fn verify_live(&self, live: &Live) -> Result<Vec<Fault>> {
        let open = |direct| {
            let options = OpenOptions {
                direct,
                access: Access::Sequential,
                ..OpenOptions::default()
            };
            self.open_live(live, &options)
        };
        // The file is read without the page cache if possible: the page cache may hold intact data of a block
        // that is corrupt on the disk.
        let opened = open(true).or_else(|_| open(false));
        let checked = opened.and_then(|file| {
            let file: Arc<dyn RandomAccessFile> = Arc::new(PacedFile {
                file,
                verifier: self.jobs.verifier.clone(),
            });
            live.check_size(&*file)?;
            match live.verify_whole(&*file) {
                Ok(true) => Ok(Vec::new()),
                Ok(false) => verify_pieces(live, file),
                Err(error) if error.is_corruption() => {
                    // Locates the corruption.
                    let faults = verify_pieces(live, file)?;
                    Ok(match faults.is_empty() {
                        true => vec![fault_of_file(live, error)],
                        false => faults,
                    })
                }
                Err(error) => Err(error),
            }
        });
        match checked {
            Err(error) if error.kind() == ErrorKind::Aborted => Err(error),
            Err(error) => Ok(vec![fault_of_file(live, error)]),
            Ok(faults) => Ok(faults),
        }
    }

    fn report_fault(&self, live: &Live, fault: Fault) {
        self.notify(&Event::CorruptionFound {
            family: live.family.name.clone(),
            path: live.path().display().to_string(),
            offset: fault.error.offset().unwrap_or(0),
            smallest_key: fault.smallest_key,
            largest_key: fault.largest_key,
            error: fault.error.clone(),
        });
        if self.options.verify_stops_writes {
            self.latch(VERIFY, fault.error);
        }
    }
}

fn fault_of_file(live: &Live, error: Error) -> Fault {
    let (smallest_key, largest_key) = match &live.what {
        What::Table(file) => (
            file.smallest_user_key().to_vec(),
            file.largest_user_key().to_vec(),
        ),
        What::Blob(_) => (Vec::new(), Vec::new()),
    };
    Fault {
        error: error.in_file(&live.path()),
        smallest_key,
        largest_key,
    }
}

/// Verifies block by block, or blob by blob.
fn verify_pieces(live: &Live, file: Arc<dyn RandomAccessFile>) -> Result<Vec<Fault>> {
    let What::Table(metadata) = &live.what else {
        return match live.verify_pieces(file, 0) {
            Err(error) if error.kind() == ErrorKind::Aborted => Err(error),
            Err(error) => Ok(vec![fault_of_file(live, error)]),
            Ok(()) => Ok(Vec::new()),
        };
    };
    let table = live.open_table(metadata, file)?;
    let mut bad = Vec::new();
    let verified = table.verify(0, &mut |block| {
        if let Err(error) = block.result {
            bad.push((block.what == "data block", block.offset, error));
        }
    });
    match verified {
        Err(error) if error.kind() == ErrorKind::Aborted => return Err(error),
        Err(error) if bad.is_empty() => return Ok(vec![fault_of_file(live, error)]),
        _ => {}
    }
    let fault = |(is_data, offset, error): (bool, u64, Error)| {
        let mut fault = fault_of_file(live, error.at(offset));
        if is_data && let Some((after, last)) = table.keys_of_block(offset) {
            if let Some(after) = after {
                fault.smallest_key = after;
            }
            fault.largest_key = last;
        }
        fault
    };
    Ok(bad.into_iter().map(fault).collect())
}
