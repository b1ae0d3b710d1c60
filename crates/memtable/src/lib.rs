//! The in-memory table: an arena, a concurrent skip list, and range tombstones.
//!
//! * `arena`: memory handed out piece by piece, given back all at once
//! * `prefix`: eight bytes that stand for a key
//! * `skiplist`: the list itself; its head comment says why it is sound and what makes it fast
//! * [`Memtable`], [`MemtableCursor`]: what the engine uses

mod arena;
mod cursor;
mod memtable;
mod prefix;
mod skiplist;
mod sync;

pub use cursor::MemtableCursor;
pub use memtable::{Memtable, MemtableOptions, PinnedValue, Value};

#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(all(not(loom), test))]
mod tests;
