//! Reads by io_uring: a ring for each thread, made when the thread first begins a read.
//!
//! Memory and file of a read belong to the ring until the kernel is done with them, whatever becomes of who asked: the
//! kernel never writes into memory that has gone to somebody else. What the kernel does in part or not at all is
//! finished by `pread`, which has the last word about errors too.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, types};
use parking_lot::Mutex;

use crate::ReadBuffer;

/// Reads of a thread under way at most; more are not begun.
const MOST: u32 = 128;

/// The ring of a thread. Reads that it began may be waited for by another.
pub(super) struct Ring(Mutex<State>);

struct State {
    uring: IoUring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots that are `Flying`.
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

/// A read that the ring has taken over.
pub(super) struct Ticket {
    ring: Arc<Ring>,
    slot: usize,
    /// False once the slot is somebody else's.
    held: bool,
}

thread_local! {
    static RING: OnceCell<Option<Arc<Ring>>> = const { OnceCell::new() };
    static HELD_BACK: Cell<u32> = const { Cell::new(0) };
}

/// Hands the reads that `begin` begins over to the kernel by one call, when it returns: of as many files as it likes.
pub fn together<T>(begin: impl FnOnce() -> T) -> T {
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            HELD_BACK.set(HELD_BACK.get() - 1);
            if HELD_BACK.get() > 0 {
                return;
            }
            // While a thread ends its ring may be gone already.
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

/// The calling thread's; `None` where the kernel gives none.
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
            Arc::new(Ring(Mutex::new(State {
                uring,
                slots: Vec::new(),
                free: Vec::new(),
                flying: 0,
            })))
        })
    }
}

/// Begins to read into all of `memory`. Gives it back where that cannot be.
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

impl State {
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
        // SAFETY: memory and file go into the slot, and stay there until the kernel has told that it is done.
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

    /// What the kernel does not take now is handed over by whoever waits.
    fn submit(&mut self) {
        if !self.uring.submission().is_empty() {
            let _ = self.uring.submit();
        }
    }

    /// Takes note of what the kernel is done with.
    fn reap(&mut self) {
        for done in self.uring.completion() {
            let slot = done.user_data() as usize;
            let flying = std::mem::replace(&mut self.slots[slot], Slot::Free);
            let Slot::Flying { memory, wanted, .. } = flying else {
                // The kernel tells of each read once.
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

    /// Waits until the kernel is done with something.
    fn wait(&mut self) -> io::Result<()> {
        match self.uring.submit_and_wait(1) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Interrupted, or out of room until somebody reaps.
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        while self.flying > 0 {
            if self.wait().is_err() {
                // The kernel may yet write into the memory: it is nobody's from now on.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            self.reap();
        }
    }
}

impl Ticket {
    /// Waits for the end: the memory, and what the kernel says of it, a count of bytes or a negative error. An error if the ring is
    /// broken; the memory stays with it then.
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

    fn take(&mut self, state: &mut State) -> Option<(ReadBuffer, i32)> {
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
