//! A cursor over a memtable.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use base::internal_key::{trailer, user_key};
use base::{Cursor, Result};

use crate::memtable::{Memtable, PinnedValue};
use crate::skiplist::{Node, Splice};

/// Walks the entries of a memtable, which it keeps alive. Entries added while it lives appear where they belong.
///
/// `next` follows a pointer. `prev` searches, from near the place of the `prev` before, so that walking backwards costs little more.
pub struct MemtableCursor {
    table: Arc<Memtable>,
    /// Of `table`; null while not valid.
    node: *const Node,
    /// Where `prev` last was. Made by the first `prev`.
    near: Option<Box<Splice>>,
}

// SAFETY: the pointers lead to nodes of `table`, which are only read, and `table` may be sent between threads.
unsafe impl Send for MemtableCursor {}
// SAFETY: shared access only reads the node.
unsafe impl Sync for MemtableCursor {}

impl MemtableCursor {
    pub(crate) fn new(table: Arc<Memtable>) -> MemtableCursor {
        MemtableCursor {
            table,
            node: ptr::null(),
            near: None,
        }
    }

    /// The memtable it walks.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// The value together with the memtable, independent of the cursor. Requires [`valid`](Cursor::valid).
    pub fn pin_value(&self) -> PinnedValue {
        PinnedValue::new(self.table.clone(), self.current())
    }

    #[inline]
    fn current(&self) -> NonNull<Node> {
        NonNull::new(self.node.cast_mut()).expect("a valid cursor")
    }

    /// The last node before the place in the order, or null.
    fn last_before(&mut self, user_key: &[u8], trailer: u64) -> *const Node {
        let list = self.table.list();
        let near = self.near.get_or_insert_with(|| Box::new(Splice::new()));
        list.last_before_near(&list.target(user_key, trailer), near)
    }
}

impl Cursor for MemtableCursor {
    #[inline]
    fn valid(&self) -> bool {
        !self.node.is_null()
    }

    fn seek_to_first(&mut self) {
        self.node = self.table.list().first();
    }

    fn seek_to_last(&mut self) {
        self.node = self.table.list().last();
    }

    fn seek(&mut self, target: &[u8]) {
        let list = self.table.list();
        self.node = list.first_at_or_after(&list.target(user_key(target), trailer(target)));
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        let before = self.last_before(user_key(target), trailer(target));
        let list = self.table.list();
        let behind = match before.is_null() {
            true => list.first(),
            // SAFETY: a node of the cursor's own list.
            false => unsafe { list.next(before) },
        };
        // SAFETY: a node of the list, and not the head.
        let met = !behind.is_null()
            && unsafe { list.is_at(behind, &list.target(user_key(target), trailer(target))) };
        self.node = if met { behind } else { before };
    }

    #[inline]
    fn next(&mut self) {
        // SAFETY: a node of the cursor's own list.
        self.node = unsafe { self.table.list().next(self.current().as_ptr()) };
    }

    fn prev(&mut self) {
        // SAFETY: a node of the cursor's own table, which outlives this call; what it points to is never written.
        let key = unsafe { Node::key(self.current().as_ptr()) };
        self.node = self.last_before(user_key(key), trailer(key));
    }

    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: the node is of `table`, which lives as long as the borrow of `self`.
        unsafe { Node::key(self.current().as_ptr()) }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        // SAFETY: as in `key`.
        unsafe { Node::value(self.current().as_ptr()) }
    }

    #[inline]
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for MemtableCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemtableCursor")
            .field("table", &self.table)
            .field("valid", &self.valid())
            .finish()
    }
}
