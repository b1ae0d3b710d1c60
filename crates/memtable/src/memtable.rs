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
use crate::prefix::{PrefixRule, big_endian};
use crate::skiplist::{MAX_HEIGHT, Node, SkipList, Splice};

/// How a memtable is laid out.
#[derive(Clone, Debug)]
pub struct MemtableOptions {
    /// Most bytes taken from the allocator at once (RocksDB's option of that name); chunks start at 2 KiB and double up to it. Larger values
    /// than a quarter of it get an allocation of their own. Default 1 MiB.
    pub arena_block_size: usize,
    /// What most user keys are expected to begin with. Searches tell keys apart by the eight bytes behind it, so a guess that fits
    /// makes them faster, and one that does not makes them slower, never wrong. [`Memtable::common_prefix`] of the memtable before is a good one.
    /// Default empty.
    pub common_prefix: Vec<u8>,
    /// Seed of the tower heights. Default 0.
    pub seed: u64,
}

impl Default for MemtableOptions {
    fn default() -> MemtableOptions {
        MemtableOptions {
            arena_block_size: 1 << 20,
            common_prefix: Vec::new(),
            seed: 0,
        }
    }
}

/// Entries in memory, sorted by internal key, and range tombstones.
///
/// Any number of threads add and read at the same time. Nothing is ever changed or removed; all of it goes when the memtable drops. What it
/// is asked for is what was added before the question, and perhaps what is being added meanwhile: a reader's snapshot decides.
pub struct Memtable {
    list: SkipList,
    tombstones: MemTombstones,
    seed: u64,
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

/// Splices a thread keeps, each for one memtable at a time: a thread that writes to a few column families in turn finds its place in
/// each.
const SPLICES: usize = 4;

thread_local! {
    static NEAR: RefCell<[Splice; SPLICES]> = const { RefCell::new([const { Splice::new() }; SPLICES]) };
}

impl Memtable {
    /// An empty memtable.
    pub fn new(cmp: InternalComparator, options: MemtableOptions) -> Memtable {
        let rule = PrefixRule::new(cmp.user(), &options.common_prefix);
        Memtable {
            tombstones: MemTombstones::new(cmp.user().clone()),
            list: SkipList::new(cmp, Arena::new(options.arena_block_size), rule),
            seed: options.seed,
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
        self.list.comparator()
    }

    /// Adds an entry. False, and nothing is added, if there is one of the same user key and sequence number, whatever its kind.
    ///
    /// [`Kind::RangeDeletion`] deletes from `user_key` up to `value`, exclusive, and goes to [`range_tombstones`](Self::range_tombstones);
    /// that is never refused. Keys that come in order, forwards or backwards, cost O(1) a thread, others a search.
    ///
    /// # Panics
    /// If key or value have 4 GiB or more, which no write batch can hold.
    pub fn add(&self, seqno: SeqNo, kind: Kind, user_key: &[u8], value: &[u8]) -> bool {
        if kind == Kind::RangeDeletion {
            self.tombstones.add(user_key, value, seqno);
        } else {
            let trailer = pack_trailer(seqno, kind as u8);
            let height = self.height(user_key, trailer);
            let added = NEAR.with(|near| match near.try_borrow_mut() {
                Ok(mut splices) => {
                    let splice = &mut splices[self.list.identity() as usize % SPLICES];
                    self.list.insert(user_key, trailer, value, height, splice)
                }
                // A comparator of the user's own that writes into a memtable.
                Err(_) => self
                    .list
                    .insert(user_key, trailer, value, height, &mut Splice::new()),
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

    /// Levels of a new tower: one more with each toss of a coin, and the same again for the same entry and seed.
    #[inline]
    fn height(&self, user_key: &[u8], trailer: u64) -> usize {
        // A batch may give many keys one sequence number, and keys often differ in their last bytes alone.
        let tail = big_endian(&user_key[user_key.len().saturating_sub(8)..]);
        let mut mixed = (trailer ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tail;
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (1 + (mixed >> 32).trailing_zeros() as usize).min(MAX_HEIGHT)
    }

    /// Calls `visit` with every entry of `user_key` that a reader at `snapshot` sees, newest first, until it breaks.
    /// Takes no lock and allocates nothing. Range tombstones are not looked at.
    ///
    /// Where keys end in timestamps, `user_key` ends in that of the reader, and entries of the same key with it or older ones are visited,
    /// by timestamp before sequence number; [`Value::user_key`] tells which.
    #[inline]
    pub fn get<'a>(
        &'a self,
        user_key: &[u8],
        snapshot: SeqNo,
        mut visit: impl FnMut(SeqNo, Kind, Value<'a>) -> ControlFlow<()>,
    ) {
        let target = self
            .list
            .target(user_key, pack_trailer(snapshot.min(MAX_SEQNO), 0xff));
        let mut node = self.list.first_version(&target);
        while let Some(found) = NonNull::new(node.cast_mut()) {
            let value = Value {
                table: self,
                node: found,
            };
            let trailer = trailer(value.internal_key());
            // Of another timestamp's entries any sequence number may come.
            if trailer <= target.trailer {
                let kind = Kind::from_byte(trailer as u8).expect("the kind it was added with");
                if visit(trailer >> 8, kind, value).is_break() {
                    return;
                }
            }
            // SAFETY: the node is of this list and has the target's user key.
            node = unsafe { self.list.next_version(found.as_ptr(), &target) };
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
        self.list.arena.memory_usage() + tombstones
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

    /// The bytes that its first and its last user key, and so all between, begin with: a guess for the memtable to come. Empty for an order
    /// of the user's own, and where there is no more than one key to judge by.
    pub fn common_prefix(&self) -> Vec<u8> {
        let (first, last) = (self.list.first(), self.list.last());
        if first.is_null() || first == last {
            return Vec::new();
        }
        // SAFETY: both are nodes of this list, and not the head.
        let [first, last] = [first, last].map(|node| user_key(unsafe { Node::key(node) }));
        self.list.rule().common_prefix(first, last).to_vec()
    }

    pub(crate) fn list(&self) -> &SkipList {
        &self.list
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

/// An entry's value where it lies in the memtable. Valid as long as the memtable; [`pin`](Value::pin) makes it independent of the borrow.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    table: &'a Memtable,
    node: NonNull<Node>,
}

impl<'a> Value<'a> {
    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: the node is of `table`, which lives for `'a`.
        unsafe { Node::value(self.node.as_ptr()) }
    }

    /// The user key as it was added, timestamp included.
    #[inline]
    pub fn user_key(&self) -> &'a [u8] {
        user_key(self.internal_key())
    }

    #[inline]
    fn internal_key(&self) -> &'a [u8] {
        // SAFETY: as in `bytes`.
        unsafe { Node::key(self.node.as_ptr()) }
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
        PinnedValue::new(table.clone(), self.node)
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
    node: NonNull<Node>,
}

// SAFETY: a node that is linked is only read, and `table` may be sent and shared.
unsafe impl Send for PinnedValue {}
// SAFETY: as above.
unsafe impl Sync for PinnedValue {}

impl PinnedValue {
    /// `node` is one of `table`.
    pub(crate) fn new(table: Arc<Memtable>, node: NonNull<Node>) -> PinnedValue {
        PinnedValue { table, node }
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
        // SAFETY: the node is of `self.table`, which lives as long as the borrow of `self`.
        unsafe { Node::value(self.node.as_ptr()) }
    }
}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
