//! The replacement of io_uring on systems other than Linux, or without the feature `io-uring`: no read is
//! started, so that each is hinted and then read when it is waited for.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::ReadBuffer;

/// No read is in flight.
pub(super) enum Ticket {}

impl Ticket {
    pub fn wait(self) -> io::Result<(ReadBuffer, i32)> {
        match self {}
    }

    pub fn is_done(&self) -> bool {
        match *self {}
    }
}

/// Runs `begin`. Without io_uring its reads are submitted one by one.
pub fn together<T>(begin: impl FnOnce() -> T) -> T {
    begin()
}

/// Returns the memory: nothing is started.
pub(super) fn start(_: &Arc<File>, _: u64, memory: ReadBuffer) -> Result<Ticket, ReadBuffer> {
    Err(memory)
}
