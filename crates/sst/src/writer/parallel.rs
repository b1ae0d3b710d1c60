//! Compression of data blocks by several threads.
//!
//! The thread that writes a table builds its blocks and writes them to the file in order; the other threads
//! only compress. The number of blocks in flight is fixed: when there is one more, the writer waits for the
//! oldest. So the contents of a table, and the point at which it is full, do not depend on the threads'
//! timing.

use std::collections::VecDeque;
use std::sync::Arc;

use base::statistics::Statistics;
use base::sync::thread::{self, JoinHandle};
use base::sync::{Condvar, Mutex};
use base::{Error, Result};
use codec::{CompressionOptions, CompressionType, Compressor};

use super::sink::{Stored, compress};

/// The number of blocks in flight for each thread: one that it compresses, and some that wait, so that it
/// finds the next at once.
const BLOCKS_PER_THREAD: usize = 4;

/// The maximum number of threads for a table. The number in the options may come from a file.
const MOST_THREADS: u32 = 64;

/// A block after compression.
pub(super) struct Finished {
    /// The contents before compression.
    pub contents: Vec<u8>,
    /// The compressed bytes; empty if the block is stored raw.
    pub compressed: Vec<u8>,
    pub stored: Stored,
}

enum Slot {
    Waits(Vec<u8>),
    /// A thread is compressing the block.
    Taken,
    Done(Result<Finished>),
}

#[derive(Default)]
struct Queue {
    /// The blocks in flight, in the order of the file.
    slots: VecDeque<Slot>,
    /// The number of the first block in `slots`.
    first: usize,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// The condition variable that is signalled when there is a block to compress, or when no more will come.
    work: Condvar,
    /// The condition variable that is signalled when a block was compressed.
    done: Condvar,
}

/// The compression threads of one table.
pub(super) struct ParallelCompression {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    most: usize,
    /// The bytes of the blocks in flight.
    bytes: usize,
}

impl ParallelCompression {
    /// Starts the number of threads in the options, or fewer if the system refuses more. `None` if none could
    /// be started. `statistics` records the time of each block's compression.
    pub fn start(
        compression: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
        statistics: Option<&Arc<Statistics>>,
    ) -> Result<Option<ParallelCompression>> {
        let shared = Arc::new(Shared::default());
        let mut started = ParallelCompression {
            shared,
            threads: Vec::new(),
            most: 0,
            bytes: 0,
        };
        for _ in 0..options.parallel_threads.min(MOST_THREADS) {
            let compressor = Compressor::new(compression, options, dictionary)?;
            let (shared, options) = (started.shared.clone(), options.clone());
            let statistics = statistics.cloned();
            let thread = thread::Builder::new().name("esker-compress".to_owned());
            match thread.spawn(move || shared.work(compressor, &options, statistics.as_deref())) {
                Ok(thread) => started.threads.push(thread),
                Err(_) => break,
            }
        }
        started.most = started.threads.len() * BLOCKS_PER_THREAD;
        Ok(Some(started).filter(|started| started.most > 0))
    }

    /// The bytes of the blocks in flight.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over a block. Afterwards `contents` is a buffer for the next one.
    pub fn push(&mut self, contents: &mut Vec<u8>) {
        self.bytes += contents.len();
        let mut queue = self.shared.queue.lock();
        let spare = queue.spare.pop().unwrap_or_default();
        queue
            .slots
            .push_back(Slot::Waits(std::mem::replace(contents, spare)));
        drop(queue);
        self.shared.work.notify_one();
    }

    /// The oldest block, if there are more in flight than allowed, or with `all` any block. Waits for its
    /// compression.
    pub fn pop(&mut self, all: bool) -> Option<Result<Finished>> {
        let mut queue = self.shared.queue.lock();
        if queue.slots.is_empty() || (!all && queue.slots.len() <= self.most) {
            return None;
        }
        while !matches!(queue.slots.front(), Some(Slot::Done(_))) {
            self.shared.done.wait(&mut queue);
        }
        queue.first += 1;
        let Some(Slot::Done(finished)) = queue.slots.pop_front() else {
            return None;
        };
        drop(queue);
        if let Ok(finished) = &finished {
            self.bytes -= finished.contents.len();
        }
        Some(finished)
    }

    /// Takes back the buffers of a block for reuse.
    pub fn give_back(&self, finished: Finished) {
        let mut queue = self.shared.queue.lock();
        for mut buffer in [finished.contents, finished.compressed] {
            buffer.clear();
            queue.spare.push(buffer);
        }
    }
}

impl Drop for ParallelCompression {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.closed = true;
        drop(queue);
        self.shared.work.notify_all();
        // The thread has printed its panic, and the waiter for its block was notified.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Shared {
    /// The loop of each thread, until no more blocks will come.
    fn work(
        &self,
        mut compressor: Compressor,
        options: &CompressionOptions,
        statistics: Option<&Statistics>,
    ) {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return;
            }
            let next = queue.slots.iter().position(|slot| matches!(slot, Slot::Waits(_)));
            let Some(at) = next else {
                self.work.wait(&mut queue);
                continue;
            };
            let number = queue.first + at;
            let Slot::Waits(contents) = std::mem::replace(&mut queue.slots[at], Slot::Taken) else {
                continue;
            };
            let mut compressed = queue.spare.pop().unwrap_or_default();
            drop(queue);
            // The thread that waits for the block must be notified even if the compression panics.
            let mut told = Told {
                shared: self,
                number,
                outcome: Err(Error::corruption("a compression thread has panicked")),
            };
            let stored = compress(&mut compressor, options, statistics, &contents, &mut compressed);
            told.outcome = stored.map(|stored| Finished {
                contents,
                compressed,
                stored,
            });
            drop(told);
            queue = self.queue.lock();
        }
    }
}

/// Stores the outcome of a block in its slot when it is dropped.
struct Told<'a> {
    shared: &'a Shared,
    number: usize,
    outcome: Result<Finished>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(
            &mut self.outcome,
            Err(Error::corruption("the outcome was stored already")),
        );
        let mut queue = self.shared.queue.lock();
        let at = self.number.checked_sub(queue.first);
        if let Some(slot @ Slot::Taken) = at.and_then(|at| queue.slots.get_mut(at)) {
            *slot = Slot::Done(outcome);
        }
        drop(queue);
        self.shared.done.notify_all();
    }
}
