//! The in-memory table: an arena, a concurrent tree of prefixes, and range tombstones.
//!
//! * `arena`: memory handed out piece by piece, given back all at once
//! * `entry`: an entry in the arena, and places in the order
//! * `checks`: whether bits of an entry have turned
//! * `prefix`: four bytes that stand for a key
//! * `node`: slots written once, and the word that orders them
//! * `tree`: the tree itself and its reading; its head comment says what makes it fast and why it is sound
//! * `insert`: its writing
//! * `filter`: which keys it cannot hold
//! * `unsorted`: rows that wait for the first reader
//! * [`Memtable`], [`MemtableCursor`]: what the engine uses

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
