//! The state that the threads of mixgraph share.

use std::sync::Mutex;

use super::{Mixgraph, SineRate};

/// The state that the threads of a run share.
#[derive(Debug)]
pub struct Shared {
    pub operations: Mixgraph,
    pub rate: Option<SineRate>,
    /// Counters of the threads that are done.
    pub done: Mutex<Done>,
}

/// Counts of operations, and of keys and bytes that they read and wrote.
#[derive(Debug, Default)]
pub struct Done {
    pub gets: u64,
    pub puts: u64,
    pub seeks: u64,
    pub found: u64,
    pub bytes: usize,
    pub value_bytes: usize,
    pub steps: u64,
}

impl Done {
    pub fn add(&mut self, other: &Done) {
        self.gets += other.gets;
        self.puts += other.puts;
        self.seeks += other.seeks;
        self.found += other.found;
        self.bytes += other.bytes;
        self.value_bytes += other.value_bytes;
        self.steps += other.steps;
    }
}
