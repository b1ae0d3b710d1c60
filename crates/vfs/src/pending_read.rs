//! Asynchronous reads.
//!
//! [`start_read`](crate::RandomAccessFile::start_read) starts one, [`PendingRead::wait`] waits for it. Where
//! the system supports it (io_uring), the disk works meanwhile, and reads started [`together`] are submitted
//! by one call. Elsewhere the kernel gets a readahead hint, and waiting reads. File systems in memory, and
//! layers that change the bytes read, read at once.

use std::fmt;
use std::ops::Deref;

use base::{Error, Result};

use crate::aligned_buffer::{AlignedBuffer, DIRECT_ALIGNMENT};

pub use crate::posix::together;

/// The bytes of a read, in memory that is reused for the next one and that direct reads fill without a copy.
///
/// See the example of [`PendingRead`].
#[derive(Default)]
pub struct ReadBuffer {
    memory: Option<AlignedBuffer>,
    start: usize,
    len: usize,
}

impl ReadBuffer {
    /// Sets the length of the buffer to `len` bytes, which are undefined until they are written.
    pub fn resize(&mut self, len: usize) -> &mut [u8] {
        self.aligned(len, DIRECT_ALIGNMENT)
    }

    /// Resizes as [`resize`](ReadBuffer::resize) does, at an address that is a multiple of `alignment`.
    pub(crate) fn aligned(&mut self, len: usize, alignment: usize) -> &mut [u8] {
        let fits = |memory: &AlignedBuffer| memory.len() >= len && memory.alignment() >= alignment;
        if len > 0 && !self.memory.as_ref().is_some_and(fits) {
            self.memory = Some(AlignedBuffer::new(len.next_multiple_of(alignment), alignment));
        }
        (self.start, self.len) = (0, len);
        match &mut self.memory {
            Some(memory) => &mut memory[..len],
            None => &mut [],
        }
    }

    /// Keeps only `len` bytes of the buffer from `start` on, or fewer if the buffer ends earlier.
    pub(crate) fn narrow(&mut self, start: usize, len: usize) {
        let start = start.min(self.len);
        self.len = len.min(self.len - start);
        self.start += start;
    }

    /// Discards the bytes of the buffer, and keeps its memory.
    pub fn clear(&mut self) {
        (self.start, self.len) = (0, 0);
    }

    /// The size of the read's memory in bytes.
    pub fn capacity(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.len())
    }

    /// The read's bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Some(memory) => &mut memory[self.start..self.start + self.len],
            None => &mut [],
        }
    }
}

impl Deref for ReadBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.memory {
            Some(memory) => &memory[self.start..self.start + self.len],
            None => &[],
        }
    }
}

impl From<&[u8]> for ReadBuffer {
    fn from(bytes: &[u8]) -> ReadBuffer {
        let mut buffer = ReadBuffer::default();
        buffer.resize(bytes.len()).copy_from_slice(bytes);
        buffer
    }
}

impl fmt::Debug for ReadBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadBuffer({} bytes)", self.len)
    }
}

/// A read in flight. Dropping it discards its bytes without waiting.
pub(crate) trait InFlight: Send {
    /// Waits for the end of the read.
    fn wait(self: Box<Self>) -> Result<ReadBuffer>;

    /// True if a wait would return at once.
    fn is_done(&mut self) -> bool;
}

/// A started read.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use esker::file_system::{FileSystem, MemFs, OpenOptions, ReadBuffer};
///
/// let fs = MemFs::new();
/// fs.write_file("/a".as_ref(), b"some bytes")?;
/// let file = fs.open_random("/a".as_ref(), &OpenOptions::default())?;
/// let read = file.start_read(5, 5, ReadBuffer::default());
/// // Other work, while a file system with asynchronous reads fetches the bytes.
/// assert_eq!(&read.wait()?[..], b"bytes");
/// # Ok::<(), base::Error>(())
/// ```
pub struct PendingRead(ReadState);

enum ReadState {
    Done(Result<ReadBuffer>),
    InFlight(Box<dyn InFlight>),
}

impl PendingRead {
    /// A read that is done at once: `read` fills the buffer and returns the number of bytes.
    pub fn at_once(
        len: usize,
        mut buffer: ReadBuffer,
        read: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> PendingRead {
        let read = read(buffer.resize(len));
        PendingRead(ReadState::Done(read.map(|read| {
            buffer.narrow(0, read);
            buffer
        })))
    }

    /// A failed read.
    pub fn failed(error: Error) -> PendingRead {
        PendingRead(ReadState::Done(Err(error)))
    }

    pub(crate) fn in_flight(read: Box<dyn InFlight>) -> PendingRead {
        PendingRead(ReadState::InFlight(read))
    }

    /// Passes the read's result to `told` when a caller waits for the read, but not if the read is dropped
    /// before.
    pub fn telling(self, told: impl FnOnce(&Result<ReadBuffer>) + Send + 'static) -> PendingRead {
        self.then(|result| {
            told(&result);
            result
        })
    }

    /// Replaces the read's result with that of `finish` when a caller waits for the read. For a file system
    /// that changes the bytes that another file system reads. `finish` does not run if the read is dropped
    /// before.
    pub fn then(
        self,
        finish: impl FnOnce(Result<ReadBuffer>) -> Result<ReadBuffer> + Send + 'static,
    ) -> PendingRead {
        PendingRead::in_flight(Box::new(Then { read: self, finish }))
    }

    /// Waits for the end of the read and returns its bytes: fewer than requested only at the end of the file.
    ///
    /// Errors: those of the file system.
    pub fn wait(self) -> Result<ReadBuffer> {
        match self.0 {
            ReadState::Done(read) => read,
            ReadState::InFlight(read) => read.wait(),
        }
    }

    /// True if [`wait`](PendingRead::wait) would return without waiting. Does not wait itself.
    pub fn is_done(&mut self) -> bool {
        match &mut self.0 {
            ReadState::Done(_) => true,
            ReadState::InFlight(read) => read.is_done(),
        }
    }
}

/// A read whose result is changed when a caller waits for it.
struct Then<F> {
    read: PendingRead,
    finish: F,
}

impl<F: FnOnce(Result<ReadBuffer>) -> Result<ReadBuffer> + Send> InFlight for Then<F> {
    fn wait(self: Box<Self>) -> Result<ReadBuffer> {
        (self.finish)(self.read.wait())
    }

    fn is_done(&mut self) -> bool {
        self.read.is_done()
    }
}

impl fmt::Debug for PendingRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            ReadState::Done(Ok(_)) => "PendingRead(done)",
            ReadState::Done(Err(_)) => "PendingRead(failed)",
            ReadState::InFlight(_) => "PendingRead(in flight)",
        })
    }
}
