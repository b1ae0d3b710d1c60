//! The memtable: an arena, a concurrent tree of prefixes, and range tombstones.
//!
//! * `arena`: memory allocated piece by piece, freed at once
//! * `entry`: an entry in the arena, and places in the order
//! * `checks`: detection of flipped bits in entries
//! * `prefix`: the bits that stand for a key in a node
//! * `node`: slots that are written once, and the word that orders them
//! * `tree`: the tree and its reads; its head comment explains its speed and its correctness
//! * `insert`: writes to the tree
//! * `filter`: the Bloom filter over its keys
//! * `unsorted`: rows that wait for the first reader
//! * [`Memtable`], [`MemtableCursor`]: the types the engine uses

mod arena;
mod checks;
mod cursor;
mod entry;
mod filter;
mod insert;
mod memtable;
mod node;
mod prefix;
mod sync;
mod tree;
mod unsorted;

pub use cursor::MemtableCursor;
pub use filter::FilterOptions;
pub use memtable::{Memtable, MemtableOptions, PinnedValue, Value};

#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(all(not(loom), test))]
mod protection_tests;
#[cfg(all(not(loom), test))]
mod tests;
