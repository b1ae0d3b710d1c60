//! The memtable: what the engine writes into and reads from.

use std::cell::RefCell;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::internal_key::{pack_trailer, trailer, user_key};
use base::{InternalComparator, Kind, MAX_SEQNO, SeqNo};
use rangedel::MemTombstones;

use crate::arena::Arena;
use crate::cursor::MemtableCursor;
use crate::entry::{Entry, Target};
use crate::insert::Near;
use crate::tree::{Tree, found};

/// How a memtable is laid out.
#[derive(Clone, Debug)]
pub struct MemtableOptions {
    /// Most bytes taken from the allocator at once (RocksDB's option of that name); chunks start at 2 KiB and
    /// double up to it. Larger values than a quarter of it get an allocation of their own. Default 1 MiB.
    pub arena_block_size: usize,
    /// Whether to ask the system for huge pages of 2 MiB, where the block size is at least half of that; it is then
    /// rounded up to whole ones. They make insertions a third cheaper and dropping the memtable ten times. Default
    /// true; without effect except on Linux, and there where transparent huge pages are "never".
    pub huge_pages: bool,
}

impl Default for MemtableOptions {
    fn default() -> MemtableOptions {
        MemtableOptions {
            arena_block_size: 1 << 20,
            huge_pages: true,
        }
    }
}

/// Entries in memory, sorted by internal key, and range tombstones.
///
/// Any number of threads add and read at the same time. Nothing is ever changed or removed; all of it goes when the
/// memtable drops. What it is asked for is what was added before the question, and perhaps what is being added
/// meanwhile: a reader's snapshot decides.
pub struct Memtable {
    tree: Tree,
    tombstones: MemTombstones,
    counters: Counters,
}

/// On a line of their own: every insertion writes them.
#[repr(align(64))]
struct Counters {
    entries: AtomicU64,
    deletes: AtomicU64,
    data_size: AtomicU64,
    /// `u64::MAX` before the first entry.
    first_seqno: AtomicU64,
}

/// Places a thread remembers, each in one memtable at a time: a thread that writes to a few column families in turn
/// finds its place in each.
const PLACES: usize = 4;

thread_local! {
    static NEAR: RefCell<[Near; PLACES]> = const { RefCell::new([const { Near::new() }; PLACES]) };
}

impl Memtable {
    /// An empty memtable.
    pub fn new(cmp: InternalComparator, options: MemtableOptions) -> Memtable {
        Memtable {
            tombstones: MemTombstones::new(cmp.user().clone()),
            tree: Tree::new(cmp, Arena::new(options.arena_block_size, options.huge_pages)),
            counters: Counters {
                entries: AtomicU64::new(0),
                deletes: AtomicU64::new(0),
                data_size: AtomicU64::new(0),
                first_seqno: AtomicU64::new(u64::MAX),
            },
        }
    }

    /// The order of its keys.
    pub fn comparator(&self) -> &InternalComparator {
        self.tree.comparator()
    }

    /// Adds an entry. False, and nothing is added, if there is one of the same user key and sequence number,
    /// whatever its kind.
    ///
    /// [`Kind::RangeDeletion`] deletes from `user_key` up to `value`, exclusive, and goes to
    /// [`range_tombstones`](Self::range_tombstones); that is never refused. Keys that come in order, forwards or
    /// backwards, cost O(1), others a search.
    ///
    /// # Panics
    /// If key or value have 4 GiB or more, which no write batch can hold.
    pub fn add(&self, seqno: SeqNo, kind: Kind, user_key: &[u8], value: &[u8]) -> bool {
        if kind == Kind::RangeDeletion {
            self.tombstones.add(user_key, value, seqno);
        } else {
            let trailer = pack_trailer(seqno, kind as u8);
            let added = NEAR.with(|places| match places.try_borrow_mut() {
                Ok(mut places) => {
                    let near = &mut places[self.tree.identity() as usize % PLACES];
                    self.tree.insert(user_key, trailer, value, near)
                }
                // A comparator of the user's own that writes into a memtable.
                Err(_) => self.tree.insert(user_key, trailer, value, &mut Near::new()),
            });
            if !added {
                return false;
            }
            self.counters.entries.fetch_add(1, Ordering::Relaxed);
            if kind.is_tombstone() {
                self.counters.deletes.fetch_add(1, Ordering::Relaxed);
            }
        }
        let size = user_key.len() + size_of::<u64>() + value.len();
        self.counters.data_size.fetch_add(size as u64, Ordering::Relaxed);
        if self.counters.first_seqno.load(Ordering::Relaxed) > seqno {
            self.counters.first_seqno.fetch_min(seqno, Ordering::Relaxed);
        }
        true
    }

    /// Calls `visit` with every entry of `user_key` that a reader at `snapshot` sees, newest first, until it breaks.
    /// Takes no lock and allocates nothing. Range tombstones are not looked at.
    ///
    /// Where keys end in timestamps, `user_key` ends in that of the reader, and entries of the same key with it or
    /// older ones are visited, by timestamp before sequence number; [`Value::user_key`] tells which.
    #[inline]
    pub fn get<'a>(
        &'a self,
        user_key: &[u8],
        snapshot: SeqNo,
        mut visit: impl FnMut(SeqNo, Kind, Value<'a>) -> ControlFlow<()>,
    ) {
        let target = Target {
            user_key,
            trailer: pack_trailer(snapshot.min(MAX_SEQNO), 0xff),
        };
        let mut place = self.tree.first_version(&target);
        // SAFETY: the places are of this tree, and at entries of the target's user key.
        while let Some(entry) = found(unsafe { self.tree.entry(&place) }) {
            let value = Value { table: self, entry };
            let trailer = trailer(value.internal_key());
            // Of another timestamp's entries any sequence number may come.
            if trailer <= target.trailer {
                let kind = Kind::from_byte(trailer as u8).expect("the kind it was added with");
                if visit(trailer >> 8, kind, value).is_break() {
                    return;
                }
            }
            // SAFETY: as above.
            place = unsafe { self.tree.next_version(&place, &target) };
        }
    }

    /// The range tombstones.
    pub fn range_tombstones(&self) -> &MemTombstones {
        &self.tombstones
    }

    /// A cursor over the entries, without the range tombstones. It sees what is added while it lives.
    pub fn cursor(self: &Arc<Self>) -> MemtableCursor {
        MemtableCursor::new(self.clone())
    }

    /// Bytes taken from the allocator for entries, and those of the range tombstones.
    #[inline]
    pub fn memory_usage(&self) -> usize {
        let tombstones = if self.tombstones.is_empty() {
            0
        } else {
            self.tombstones.memory_usage()
        };
        self.tree.arena.memory_usage() + tombstones
    }

    /// Entries added, without range tombstones.
    pub fn num_entries(&self) -> u64 {
        self.counters.entries.load(Ordering::Relaxed)
    }

    /// Point tombstones among the entries.
    pub fn num_deletes(&self) -> u64 {
        self.counters.deletes.load(Ordering::Relaxed)
    }

    /// Range tombstones added.
    pub fn num_range_deletes(&self) -> u64 {
        self.tombstones.len() as u64
    }

    /// Sum of the lengths of internal keys and values, range tombstones included.
    pub fn data_size(&self) -> u64 {
        self.counters.data_size.load(Ordering::Relaxed)
    }

    /// The lowest sequence number added, if anything was.
    pub fn first_seqno(&self) -> Option<SeqNo> {
        let seqno = self.counters.first_seqno.load(Ordering::Relaxed);
        (seqno != u64::MAX).then_some(seqno)
    }

    /// True if nothing was added, neither entry nor range tombstone.
    pub fn is_empty(&self) -> bool {
        self.first_seqno().is_none()
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }
}

impl fmt::Debug for Memtable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memtable")
            .field("entries", &self.num_entries())
            .field("range_deletes", &self.num_range_deletes())
            .field("memory_usage", &self.memory_usage())
            .field("first_seqno", &self.first_seqno())
            .finish()
    }
}

/// An entry's value where it lies in the memtable. Valid as long as the memtable; [`pin`](Value::pin) makes it
/// independent of the borrow.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    table: &'a Memtable,
    entry: NonNull<Entry>,
}

impl<'a> Value<'a> {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: the entry is of `table`, which lives for `'a`.
        unsafe { Entry::value(self.entry.as_ptr()) }
    }

    /// The user key as it was added, timestamp included.
    #[inline]
    pub fn user_key(&self) -> &'a [u8] {
        user_key(self.internal_key())
    }

    #[inline]
    fn internal_key(&self) -> &'a [u8] {
        // SAFETY: as in `bytes`.
        unsafe { Entry::key(self.entry.as_ptr()) }
    }

    /// The value together with the memtable it lies in.
    ///
    /// # Panics
    /// If `table` is not the memtable it came from.
    pub fn pin(&self, table: &Arc<Memtable>) -> PinnedValue {
        assert!(
            std::ptr::eq(self.table, Arc::as_ptr(table)),
            "a value is pinned through its own memtable only"
        );
        PinnedValue::new(table.clone(), self.entry)
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

/// A value that keeps its memtable alive. Cloning it counts one reference.
#[derive(Clone)]
pub struct PinnedValue {
    table: Arc<Memtable>,
    /// Of `table`.
    entry: NonNull<Entry>,
}

// SAFETY: an entry is only read, and `table` may be sent and shared.
unsafe impl Send for PinnedValue {}
// SAFETY: as above.
unsafe impl Sync for PinnedValue {}

impl PinnedValue {
    /// `entry` is one of `table`.
    pub(crate) fn new(table: Arc<Memtable>, entry: NonNull<Entry>) -> PinnedValue {
        PinnedValue { table, entry }
    }

    /// The memtable it lies in.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }
}

impl Deref for PinnedValue {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the entry is of `self.table`, which lives as long as the borrow of `self`.
        unsafe { Entry::value(self.entry.as_ptr()) }
    }
}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
