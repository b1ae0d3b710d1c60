//! Reads by io_uring: one ring for each thread, made at the thread's first started read.
//!
//! The ring owns the memory and the file of a read until the kernel is done with them, even if the reader is
//! dropped: so the kernel never writes into memory that has another owner. Reads that the kernel completes
//! partly or not at all are finished by `pread`, which also determines the error.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, types};
use parking_lot::Mutex;

use crate::ReadBuffer;

/// The maximum number of reads in flight for a thread; further ones are not started.
const MOST: u32 = 128;

/// The ring of a thread. Another thread may wait for its reads.
pub(super) struct Ring(Mutex<RingState>);

struct RingState {
    uring: IoUring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// The number of slots that are `Flying`.
    flying: usize,
}

enum Slot {
    Free,
    /// The kernel may write into the memory.
    Flying {
        memory: ReadBuffer,
        _file: Arc<File>,
        wanted: bool,
    },
    Landed {
        memory: ReadBuffer,
        result: i32,
    },
}

/// A read that the ring has accepted.
pub(super) struct Ticket {
    ring: Arc<Ring>,
    slot: usize,
    /// False once the slot belongs to another read.
    held: bool,
}

thread_local! {
    static RING: OnceCell<Option<Arc<Ring>>> = const { OnceCell::new() };
    static HELD_BACK: Cell<u32> = const { Cell::new(0) };
}

/// Submits the reads that `begin` starts by one call when it returns, for any number of files.
pub fn together<T>(begin: impl FnOnce() -> T) -> T {
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            HELD_BACK.set(HELD_BACK.get() - 1);
            if HELD_BACK.get() > 0 {
                return;
            }
            // While a thread ends, its ring may have been dropped already.
            let _ = RING.try_with(|ring| {
                if let Some(Some(ring)) = ring.get() {
                    ring.0.lock().submit();
                }
            });
        }
    }
    HELD_BACK.set(HELD_BACK.get() + 1);
    let _release = Release;
    begin()
}

/// The ring of the calling thread; `None` if the kernel refuses one.
fn of_thread() -> Option<Arc<Ring>> {
    RING.try_with(|ring| ring.get_or_init(Ring::new).clone())
        .ok()
        .flatten()
}

impl Ring {
    fn new() -> Option<Arc<Ring>> {
        let uring = IoUring::new(MOST).ok()?;
        let mut probe = Probe::new();
        uring.submitter().register_probe(&mut probe).ok()?;
        let can = probe.is_supported(opcode::Read::CODE)
            && uring.params().is_feature_nodrop()
            && uring.params().is_feature_submit_stable();
        can.then(|| {
            Arc::new(Ring(Mutex::new(RingState {
                uring,
                slots: Vec::new(),
                free: Vec::new(),
                flying: 0,
            })))
        })
    }
}

/// Starts a read into all of `memory`. Returns the memory if that is not possible.
pub(super) fn start(file: &Arc<File>, offset: u64, memory: ReadBuffer) -> Result<Ticket, ReadBuffer> {
    let Some(ring) = of_thread().filter(|_| !memory.is_empty()) else {
        return Err(memory);
    };
    let mut state = ring.0.lock();
    let slot = state.push(file, offset, memory)?;
    if HELD_BACK.get() == 0 {
        state.submit();
    }
    drop(state);
    Ok(Ticket {
        ring,
        slot,
        held: true,
    })
}

impl RingState {
    fn push(&mut self, file: &Arc<File>, offset: u64, mut memory: ReadBuffer) -> Result<usize, ReadBuffer> {
        if self.flying >= MOST as usize {
            self.reap();
        }
        let len = u32::try_from(memory.len()).ok();
        let Some(len) = len.filter(|_| self.flying < MOST as usize) else {
            return Err(memory);
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        });
        let read = opcode::Read::new(types::Fd(file.as_raw_fd()), memory.bytes_mut().as_mut_ptr(), len)
            .offset(offset)
            .build()
            .user_data(slot as u64);
        // SAFETY: memory and file are moved into the slot, and stay there until the kernel has completed the
        // read.
        let pushed = unsafe { self.uring.submission().push(&read) };
        if pushed.is_err() {
            self.free.push(slot);
            return Err(memory);
        }
        self.slots[slot] = Slot::Flying {
            memory,
            _file: file.clone(),
            wanted: true,
        };
        self.flying += 1;
        Ok(slot)
    }

    /// Reads that the kernel does not accept now are submitted by a waiter.
    fn submit(&mut self) {
        if !self.uring.submission().is_empty() {
            let _ = self.uring.submit();
        }
    }

    /// Records the reads that the kernel has completed.
    fn reap(&mut self) {
        for done in self.uring.completion() {
            let slot = done.user_data() as usize;
            let flying = std::mem::replace(&mut self.slots[slot], Slot::Free);
            let Slot::Flying { memory, wanted, .. } = flying else {
                // The kernel reports each read once.
                self.slots[slot] = flying;
                continue;
            };
            self.flying -= 1;
            if wanted {
                self.slots[slot] = Slot::Landed {
                    memory,
                    result: done.result(),
                };
            } else {
                self.free.push(slot);
            }
        }
    }

    /// Waits until the kernel completes a read.
    fn wait(&mut self) -> io::Result<()> {
        match self.uring.submit_and_wait(1) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The call was interrupted, or the queue is full until completions are reaped.
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }
}

impl Drop for RingState {
    fn drop(&mut self) {
        while self.flying > 0 {
            if self.wait().is_err() {
                // The kernel may still write into the memory, so it is leaked.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            self.reap();
        }
    }
}

impl Ticket {
    /// Waits for the end of the read. Returns the memory and the kernel's result, a count of bytes or a
    /// negative error. An error if the ring is broken; the memory then stays with the ring.
    pub(super) fn wait(mut self) -> io::Result<(ReadBuffer, i32)> {
        let ring = self.ring.clone();
        let mut state = ring.0.lock();
        loop {
            if let Some(landed) = self.take(&mut state) {
                return Ok(landed);
            }
            state.wait()?;
            state.reap();
        }
    }

    fn take(&mut self, state: &mut RingState) -> Option<(ReadBuffer, i32)> {
        match std::mem::replace(&mut state.slots[self.slot], Slot::Free) {
            Slot::Landed { memory, result } => {
                state.free.push(self.slot);
                self.held = false;
                Some((memory, result))
            }
            other => {
                state.slots[self.slot] = other;
                None
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        let mut state = self.ring.0.lock();
        state.submit();
        state.reap();
        matches!(state.slots[self.slot], Slot::Landed { .. })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        let ring = self.ring.clone();
        let mut state = ring.0.lock();
        state.reap();
        if let Slot::Flying { wanted, .. } = &mut state.slots[self.slot] {
            *wanted = false;
        } else {
            self.take(&mut state);
        }
    }
}
