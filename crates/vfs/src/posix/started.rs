//! Reads of a file that are started first and waited for later.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;

use super::io::read_aligned;
use super::io::{error, read_full};
use super::ring::{self, Ticket};
use super::sys;
use crate::aligned_buffer::DIRECT_ALIGNMENT;
use crate::pending_read::InFlight;
use crate::{PendingRead, ReadBuffer};

/// The parameters of a read, and its descriptor.
pub(super) struct Request<'a> {
    pub file: &'a Arc<File>,
    pub path: &'a Path,
    pub offset: u64,
    pub len: usize,
    /// For a file opened past the page cache: the alignment of offset, length and memory.
    pub direct: Option<usize>,
    /// Whether io_uring is used.
    pub ring: bool,
}

impl Request<'_> {
    /// Starts the read.
    pub(super) fn start(self, mut memory: ReadBuffer) -> PendingRead {
        let alignment = self.direct.unwrap_or(1);
        let skip = (self.offset % alignment as u64) as usize;
        let from = self.offset - skip as u64;
        match self.direct {
            None => memory.resize(self.len),
            Some(_) => memory.aligned(
                (skip + self.len).next_multiple_of(alignment),
                alignment.max(DIRECT_ALIGNMENT),
            ),
        };
        let begun = match self.ring {
            true => ring::start(self.file, from, memory),
            false => Err(memory),
        };
        let state = match begun {
            Ok(ticket) => Begun::Ring(ticket),
            Err(memory) => {
                if self.direct.is_none() && self.len > 0 {
                    let _hint = sys::will_need(self.file, self.offset, self.len as u64);
                }
                Begun::Hinted(memory)
            }
        };
        PendingRead::in_flight(Box::new(Started {
            file: self.file.clone(),
            path: self.path.to_path_buf(),
            from,
            skip,
            len: self.len,
            direct: self.direct,
            state,
        }))
    }
}

enum Begun {
    /// The kernel is reading through io_uring.
    Ring(Ticket),
    /// The read is not started; the kernel has only got a readahead hint.
    Hinted(ReadBuffer),
}

struct Started {
    file: Arc<File>,
    path: PathBuf,
    from: u64,
    skip: usize,
    len: usize,
    direct: Option<usize>,
    state: Begun,
}

impl Started {
    /// Reads the rest of `memory`, after its first `done` bytes.
    fn finish(&self, memory: &mut ReadBuffer, done: usize) -> io::Result<usize> {
        let rest = &mut memory.bytes_mut()[done..];
        let at = self.from + done as u64;
        match self.direct {
            None => Ok(done + read_full(&self.file, rest, at)?),
            // A count that is not a multiple of the alignment means the end of the file.
            Some(alignment) if !done.is_multiple_of(alignment) => Ok(done),
            Some(alignment) => Ok(done + read_aligned(&self.file, alignment, at, rest)?),
        }
    }
}

impl InFlight for Started {
    fn wait(mut self: Box<Self>) -> Result<ReadBuffer> {
        let (mut memory, done) =
            match std::mem::replace(&mut self.state, Begun::Hinted(ReadBuffer::default())) {
                Begun::Hinted(memory) => (memory, 0),
                Begun::Ring(ticket) => {
                    let timer = crate::io_stats::time_read();
                    let waited = ticket.wait();
                    drop(timer);
                    match waited {
                        // The error of the readahead hint is ignored: a read follows, and reports an error
                        // that persists.
                        Ok((memory, result)) => (memory, usize::try_from(result).unwrap_or(0)),
                        Err(broken) => return Err(error("read", &self.path, broken).at(self.from)),
                    }
                }
            };
        let read = match done == memory.len() {
            true => {
                crate::io_stats::count_read(done);
                done
            }
            false => self
                .finish(&mut memory, done)
                .map_err(|e| error("read", &self.path, e).at(self.from))?,
        };
        memory.narrow(0, read);
        memory.narrow(self.skip, self.len);
        Ok(memory)
    }

    fn is_done(&mut self) -> bool {
        match &self.state {
            Begun::Ring(ticket) => ticket.is_done(),
            Begun::Hinted(_) => true,
        }
    }
}
