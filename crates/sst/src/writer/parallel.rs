//! Compression of data blocks by several threads.
//!
//! The thread that writes a table makes its blocks and puts them into the file in their order; what others do is compress
//! them. So many blocks are on their way, and the oldest is waited for when there is one more: what a table looks like, and when
//! it is full, does not depend on how the threads run.

use std::collections::VecDeque;
use std::sync::Arc;

use base::statistics::Statistics;
use base::sync::thread::{self, JoinHandle};
use base::sync::{Condvar, Mutex};
use base::{Error, Result};
use codec::{CompressionOptions, CompressionType, Compressor};

use super::sink::{Stored, compress};

/// Blocks on their way for each thread: one it works on, and some that wait so that it finds the next at once.
const BLOCKS_PER_THREAD: usize = 4;

/// Threads of a table, at most: the number may come from a file.
const MOST_THREADS: u32 = 64;

/// A block that was compressed, if that paid.
pub(super) struct Finished {
    /// As it was made.
    pub contents: Vec<u8>,
    /// Compressed; nothing where it is stored as it is.
    pub compressed: Vec<u8>,
    pub stored: Stored,
}

enum Slot {
    Waits(Vec<u8>),
    /// A thread has it.
    Taken,
    Done(Result<Finished>),
}

#[derive(Default)]
struct Queue {
    /// In the order of the file.
    slots: VecDeque<Slot>,
    /// The number of the first.
    first: usize,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is a block to compress, or none will come.
    work: Condvar,
    /// A block was compressed.
    done: Condvar,
}

/// The threads of one table.
pub(super) struct ParallelCompression {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    most: usize,
    /// Bytes of the blocks on their way.
    bytes: usize,
}

impl ParallelCompression {
    /// As many threads as the options say; fewer where no more are to be had, and `None` where none is. `statistics` take the time of
    /// each block's compression.
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

    /// Bytes of the blocks on their way.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over a block: `contents` is a buffer to make the next one in afterwards.
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

    /// The oldest block, if there are more on their way than there should be, or any where `all` are wanted. Waits for it.
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

    /// Takes buffers back that a block was in.
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
        // A panic has printed itself, and who waited for the block was told.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Shared {
    /// What each thread does until there is nothing left to come.
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
            // Whoever waits for it must hear of it, come what may.
            let mut told = Told {
                shared: self,
                number,
                outcome: Err(Error::corruption("a thread that compresses blocks has panicked")),
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

/// Puts the outcome of a block into its place when it is dropped.
struct Told<'a> {
    shared: &'a Shared,
    number: usize,
    outcome: Result<Finished>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Err(Error::corruption("told already")));
        let mut queue = self.shared.queue.lock();
        let at = self.number.checked_sub(queue.first);
        if let Some(slot @ Slot::Taken) = at.and_then(|at| queue.slots.get_mut(at)) {
            *slot = Slot::Done(outcome);
        }
        drop(queue);
        self.shared.done.notify_all();
    }
}
