//! The memtable: the table that the engine writes to and reads from.

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::ops::{ControlFlow, Deref};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::internal_key::{pack_trailer, trailer, user_key};
use base::prefix::PrefixExtractor;
use base::protection::mismatch;
use base::{InternalComparator, Kind, MAX_SEQNO, Protection, Result, SeqNo};
use rangedel::{FragmentedTombstones, MemTombstones};

use crate::arena::Arena;
use crate::checks::{self, Checks};
use crate::entry::{Entry, Target};
use crate::filter::{Filter, FilterOptions};
use crate::insert::Near;
use crate::tree::{Tree, found};
use crate::unsorted::Unsorted;

/// The options of a memtable.
#[derive(Clone, Debug)]
pub struct MemtableOptions {
    /// The maximum number of bytes allocated at once (RocksDB's option of that name). Blocks start at 2 KiB
    /// and double up to it. Values larger than a quarter of it get their own allocation. Default: 1 MiB.
    pub arena_block_size: usize,
    /// Whether to request huge pages of 2 MiB from the system, if the block size is at least half of that; it
    /// is then rounded up to whole huge pages. They make insertions a third cheaper and dropping the memtable
    /// ten times cheaper. Default: true. No effect except on Linux, and none there if transparent huge pages
    /// are set to "never".
    pub huge_pages: bool,
    /// Bytes of a checksum over kind, user key, value and sequence number of each entry, which is verified
    /// whenever the entry is read: 0, 1, 2, 4 or 8. An entry takes four bytes more, plus these bytes rounded
    /// up to whole words. Default: 0, no checksums.
    pub protection_bytes_per_key: u8,
    /// With checksums: also verifies each entry that a search or an insertion compares keys with. This
    /// detects a corrupt key that misleads a search. Default: false.
    pub verify_on_seek: bool,
    /// Compares the entries around the result of a search with each other, and each entry of a walk with the
    /// previous one. Needs no checksums. Default: false.
    pub check_order: bool,
    /// The options of a Bloom filter over the keys, which insertions fill and
    /// [`may_contain`](Memtable::may_contain) queries. Default: none.
    pub filter: Option<FilterOptions>,
    /// Appends rows unsorted, and sorts them when a reader arrives: RocksDB's `vector`, for bulk loads, with
    /// room for this many rows from the beginning. Until then a row takes eight bytes more. A read after a
    /// write waits for the sort, and [`add`](Memtable::add) does not detect that a row exists already.
    /// Default: none, every row is sorted in when it is added.
    pub vector: Option<usize>,
}

impl Default for MemtableOptions {
    fn default() -> MemtableOptions {
        MemtableOptions {
            arena_block_size: 1 << 20,
            huge_pages: true,
            protection_bytes_per_key: 0,
            verify_on_seek: false,
            check_order: false,
            filter: None,
            vector: None,
        }
    }
}

/// Entries in memory, sorted by internal key, and range tombstones.
///
/// Any number of threads add and read concurrently. Entries are never changed or removed; all are freed when
/// the memtable drops. A read sees every entry added before it, and perhaps entries that are being added
/// meanwhile: the reader's snapshot decides.
pub struct Memtable {
    tree: Tree,
    tombstones: MemTombstones,
    /// With checksums: the range tombstones as they were added, with start and end.
    tombstone_rows: Option<Tree>,
    filter: Option<Box<Filter>>,
    /// Rows that are not in the tree yet.
    unsorted: Option<Box<Unsorted>>,
    counters: Counters,
}

/// Counters on their own cache line, because every insertion writes them.
#[repr(align(64))]
struct Counters {
    entries: AtomicU64,
    deletes: AtomicU64,
    data_size: AtomicU64,
    /// The sequence number of the first entry; `u64::MAX` before there is one.
    first_seqno: AtomicU64,
    /// The highest sequence number of an entry that is not a range tombstone.
    last_entry: AtomicU64,
    /// The lowest and the highest sequence number of the entries that were added over a range tombstone; none
    /// if the first exceeds the second.
    over_tombstones: [AtomicU64; 2],
}

/// The number of leaves a thread remembers, each in one memtable: a thread that writes alternately to a few
/// column families finds its leaf in each.
const PLACES: usize = 4;

thread_local! {
    static NEAR: RefCell<[Near; PLACES]> = const { RefCell::new([const { Near::new() }; PLACES]) };
}

impl Memtable {
    /// An empty memtable.
    pub fn new(cmp: InternalComparator, options: MemtableOptions) -> Memtable {
        let checks = Checks::new(
            options.protection_bytes_per_key,
            options.verify_on_seek,
            options.check_order,
        );
        let arena = || Arena::new(options.arena_block_size, options.huge_pages);
        let rows = || Tree::new(cmp.clone(), checks, arena());
        Memtable {
            tombstones: MemTombstones::new(cmp.user().clone()),
            tombstone_rows: (checks.width > 0).then(rows),
            filter: options
                .filter
                .map(|filter| Box::new(Filter::new(filter, cmp.user().clone()))),
            unsorted: options.vector.map(|count| Box::new(Unsorted::new(count))),
            tree: Tree::new(cmp, checks, arena()),
            counters: Counters {
                entries: AtomicU64::new(0),
                deletes: AtomicU64::new(0),
                data_size: AtomicU64::new(0),
                first_seqno: AtomicU64::new(u64::MAX),
                last_entry: AtomicU64::new(0),
                over_tombstones: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            },
        }
    }

    /// The order of the memtable's keys.
    pub fn comparator(&self) -> &InternalComparator {
        self.tree.comparator()
    }

    /// Adds an entry. False, with nothing added, if there is one of the same user key and sequence number,
    /// whatever its kind.
    ///
    /// [`Kind::RangeDeletion`] deletes from `user_key` up to `value`, exclusive, and goes to
    /// [`range_tombstones`](Self::range_tombstones); it is never refused. Keys in ascending or descending
    /// order cost O(1), others a search.
    ///
    /// # Panics
    /// If key or value have 4 GiB or more, which no write batch can hold.
    pub fn add(&self, seqno: SeqNo, kind: Kind, user_key: &[u8], value: &[u8]) -> bool {
        if self.tree.checks.width > 0 {
            // A corrupt entry that the insertion has met is reported by a later read or flush.
            return self
                .add_copied(seqno, kind, user_key, value, None)
                .unwrap_or(true);
        }
        if kind == Kind::RangeDeletion {
            self.tombstones.add(user_key, value, seqno);
        } else {
            self.add_to_filter(user_key);
            let trailer = pack_trailer(seqno, kind as u8);
            if let Some(unsorted) = &self.unsorted {
                unsorted.push(Entry::allocate(&self.tree.arena, user_key, trailer, value));
                self.count(seqno, kind, user_key, value);
                return true;
            }
            let added = NEAR.with(|places| match places.try_borrow_mut() {
                Ok(mut places) => {
                    let near = &mut places[self.tree.identity() as usize % PLACES];
                    self.tree.insert(user_key, trailer, value, ptr::null(), near)
                }
                // The comparator of the user may itself write into a memtable on this thread.
                Err(_) => self
                    .tree
                    .insert(user_key, trailer, value, ptr::null(), &mut Near::new()),
            });
            if !added {
                return false;
            }
        }
        self.count(seqno, kind, user_key, value);
        true
    }

    /// Adds a row as [`add`](Self::add) does, with integrity protection: `row` is the checksum of kind, key,
    /// value and sequence number, computed by the row's creator. It is compared with the row as copied here,
    /// whether or not this memtable has checksums.
    ///
    /// Errors: `Corruption` with the row, before any read sees it, if the copy differs; and with
    /// [`verify_on_seek`](MemtableOptions::verify_on_seek) if the search for its place met a corrupt entry.
    pub fn add_protected(
        &self,
        seqno: SeqNo,
        kind: Kind,
        user_key: &[u8],
        value: &[u8],
        row: Protection,
    ) -> Result<bool> {
        self.add_copied(seqno, kind, user_key, value, Some(row))
    }

    /// Copies a row into the memtable, compares it with its checksum if that is known, and makes it visible.
    #[cold]
    #[inline(never)]
    fn add_copied(
        &self,
        seqno: SeqNo,
        kind: Kind,
        user_key: &[u8],
        value: &[u8],
        expected: Option<Protection>,
    ) -> Result<bool> {
        let checks = self.tree.checks;
        let given = || Protection::of_row(kind as u8, user_key, value).toggle_seqno(seqno);
        let row = expected.unwrap_or_else(given);
        let trailer = pack_trailer(seqno, kind as u8);
        // Range tombstones are stored as fragments, and with checksums also as rows.
        let tree = match kind {
            Kind::RangeDeletion => self.tombstone_rows.as_ref(),
            _ => Some(&self.tree),
        };
        let entry = tree.map_or(ptr::null(), |tree| {
            Entry::allocate_protected(&tree.arena, checks.width, user_key, trailer, value, row).as_ptr()
        });
        let copied = if entry.is_null() {
            given()
        } else {
            // SAFETY: the entry was just written, and no other thread knows it.
            unsafe { Entry::protection(entry) }
        };
        if expected.is_some_and(|expected| expected != copied) {
            let place = "a write on its way to the memtable";
            return Err(mismatch(place, user_key, seqno, kind as u8));
        }
        if kind != Kind::RangeDeletion {
            self.add_to_filter(user_key);
        }
        let unsorted = self.unsorted.as_ref().filter(|_| kind != Kind::RangeDeletion);
        if let Some((unsorted, entry)) = unsorted.zip(NonNull::new(entry.cast_mut())) {
            unsorted.push(entry);
        } else if let Some(tree) = tree {
            checks::begin();
            let place = tree.identity() as usize % PLACES;
            let swap = |near: &mut Near| {
                NEAR.with(|places| {
                    if let Ok(mut places) = places.try_borrow_mut() {
                        mem::swap(near, &mut places[place]);
                    }
                });
            };
            let mut near = Near::new();
            swap(&mut near);
            let added = tree.insert(user_key, trailer, value, entry, &mut near);
            swap(&mut near);
            // SAFETY: this tree was searched.
            unsafe { checks::end(checks) }?;
            if !added {
                return Ok(false);
            }
        }
        if kind == Kind::RangeDeletion {
            self.tombstones.add(user_key, value, seqno);
        }
        self.count(seqno, kind, user_key, value);
        Ok(true)
    }

    /// Adds unsorted rows to the tree.
    #[inline]
    pub(crate) fn sort(&self) {
        if let Some(unsorted) = &self.unsorted
            && !unsorted.is_empty()
        {
            self.sort_rows(unsorted);
        }
    }

    #[cold]
    #[inline(never)]
    fn sort_rows(&self, unsorted: &Unsorted) {
        unsorted.drain(|rows| {
            let tree = &self.tree;
            // SAFETY: the entries were allocated in the tree's arena.
            let target = |entry: &NonNull<Entry>| unsafe { tree.target_of(entry.as_ptr()) };
            rows.sort_unstable_by(|a, b| target(a).compare(&target(b), &tree.cmp));
            let mut near = Near::new();
            for entry in rows {
                let Target { user_key, trailer } = target(entry);
                tree.insert(user_key, trailer, &[], entry.as_ptr(), &mut near);
            }
        });
        // A corrupt row is reported by a later read or flush.
        checks::begin();
    }

    #[inline(always)]
    fn add_to_filter(&self, user_key: &[u8]) {
        if let Some(filter) = &self.filter {
            filter.add(user_key);
        }
    }

    /// The filter's answer for a user key: `Some(false)` if no entry of it exists, `None` without a filter.
    /// Range tombstones are not in the filter.
    #[inline]
    pub fn may_contain(&self, user_key: &[u8]) -> Option<bool> {
        self.filter.as_ref().map(|filter| filter.may_contain(user_key))
    }

    /// The filter's answer for keys with the prefix that `extractor` gives for the user key of
    /// `internal_key`; `None` without a filter, and true if the filter was filled with the prefixes of
    /// another extractor, or with none.
    pub fn may_contain_prefix(&self, extractor: &dyn PrefixExtractor, internal_key: &[u8]) -> Option<bool> {
        let filter = self.filter.as_ref()?;
        Some(filter.may_contain_prefix_by(extractor, internal_key))
    }

    /// Counts a row that was added.
    #[inline(always)]
    fn count(&self, seqno: SeqNo, kind: Kind, user_key: &[u8], value: &[u8]) {
        if kind != Kind::RangeDeletion {
            self.counters.entries.fetch_add(1, Ordering::Relaxed);
            if kind.is_tombstone() {
                self.counters.deletes.fetch_add(1, Ordering::Relaxed);
            }
            // If two threads race, the lower number may stay. A tombstone is added alone and is above both.
            if self.counters.last_entry.load(Ordering::Relaxed) < seqno {
                self.counters.last_entry.store(seqno, Ordering::Relaxed);
            }
            if !self.tombstones.is_empty() {
                self.record_over_tombstone(seqno, user_key);
            }
        } else if self.counters.last_entry.load(Ordering::Relaxed) >= seqno {
            // The tombstone was added out of order, so the entries over it are unknown.
            self.record_over_tombstones(0, MAX_SEQNO);
        }
        let size = user_key.len() + size_of::<u64>() + value.len();
        self.counters.data_size.fetch_add(size as u64, Ordering::Relaxed);
        if self.counters.first_seqno.load(Ordering::Relaxed) > seqno {
            self.counters.first_seqno.fetch_min(seqno, Ordering::Relaxed);
        }
    }

    /// Records an entry if it covers an older range tombstone.
    #[cold]
    #[inline(never)]
    fn record_over_tombstone(&self, seqno: SeqNo, user_key: &[u8]) {
        // Where keys have timestamps, timestamps decide, so every entry is recorded.
        let stamped = self.tree.cmp.user().timestamp_size() > 0;
        if stamped || self.tombstones.covering_seqno(user_key, seqno) > 0 {
            self.record_over_tombstones(seqno, seqno);
        }
    }

    fn record_over_tombstones(&self, lowest: SeqNo, highest: SeqNo) {
        let [first, last] = &self.counters.over_tombstones;
        first.fetch_min(lowest, Ordering::Relaxed);
        last.fetch_max(highest, Ordering::Relaxed);
    }

    /// True if a reader at `snapshot` may see an entry over the range tombstone of sequence number
    /// `tombstone`, which is in this memtable: an entry that is newer and within its range. False only if
    /// there is none.
    ///
    /// The answer comes from the entries that were added over any of the tombstones. Exact answers require
    /// that tombstones are added while no other thread adds anything, as the engine does. If they also come
    /// in the order of their sequence numbers, after all older entries, a memtable in which nothing was
    /// written over deleted keys always returns false.
    pub fn has_entries_over(&self, tombstone: SeqNo, snapshot: SeqNo) -> bool {
        let [first, last] = &self.counters.over_tombstones;
        last.load(Ordering::Relaxed) >= tombstone && first.load(Ordering::Relaxed) <= snapshot
    }

    /// Calls `visit` with every entry of `user_key` that a reader at `snapshot` sees, newest first, until it
    /// breaks. Takes no lock and allocates nothing. Range tombstones are ignored.
    ///
    /// Where keys end in timestamps, `user_key` ends in the reader's timestamp. Entries of the same key with
    /// this or an older timestamp are visited, ordered by timestamp before sequence number;
    /// [`Value::user_key`] has the timestamp.
    ///
    /// Errors: `Corruption` with the entry, if checks are enabled and found a corrupt one. Entries visited
    /// before are intact.
    #[inline]
    pub fn get<'a>(
        &'a self,
        user_key: &[u8],
        snapshot: SeqNo,
        mut visit: impl FnMut(SeqNo, Kind, Value<'a>) -> ControlFlow<()>,
    ) -> Result<()> {
        let target = Target {
            user_key,
            trailer: pack_trailer(snapshot.min(MAX_SEQNO), 0xff),
        };
        self.sort();
        let checked = self.tree.checks.any;
        if checked {
            // A search that ended in a panic of the comparator may have left the record of another memtable's
            // entry.
            checks::begin();
        }
        let mut place = self.tree.first_version(&target);
        // SAFETY: the places are of this tree, and at entries of the target's user key.
        while let Some(entry) = found(self.tree.entry(&place)) {
            if checked {
                self.check(entry.as_ptr(), &target)?;
            }
            let value = Value { table: self, entry };
            let trailer = trailer(value.internal_key());
            // Entries of another timestamp may have any sequence number.
            if trailer <= target.trailer {
                let kind = Kind::from_byte(trailer as u8).expect("the kind it was added with");
                if visit(trailer >> 8, kind, value).is_break() {
                    return Ok(());
                }
            }
            // SAFETY: the place is of this tree, and at an entry of the target's user key.
            place = unsafe { self.tree.next_version(&place, &target) };
        }
        if checked {
            self.check(ptr::null(), &target)?;
        }
        Ok(())
    }

    /// `Corruption` if the entry, one of this memtable's or null, is corrupt, or one that the search met on
    /// the way or around the target.
    #[cold]
    #[inline(never)]
    fn check(&self, entry: *const Entry, target: &Target<'_>) -> Result<()> {
        let checks = self.tree.checks;
        // SAFETY: the search was in this tree, and the entry is one of the tree's entries.
        unsafe {
            checks::end(checks)?;
            if !entry.is_null() {
                checks.verify(entry)?;
            }
            if checks.order {
                self.tree.check_order_around(target)?;
            }
            checks::end(checks)
        }
    }

    /// The range tombstones.
    pub fn range_tombstones(&self) -> &MemTombstones {
        &self.tombstones
    }

    /// The range tombstones as fragments for readers at `snapshots` (ascending) and at the newest state, as a
    /// flush writes them ([`MemTombstones::snapshot_for`]). With checksums the fragments are built from the
    /// tombstones as they were added, each verified.
    ///
    /// Errors: `Corruption` with the tombstone that has changed.
    pub fn verified_range_tombstones(&self, snapshots: &[SeqNo]) -> Result<Arc<FragmentedTombstones>> {
        let Some(rows) = self
            .tombstone_rows
            .as_ref()
            .filter(|_| !self.tombstones.is_empty())
        else {
            return Ok(self.tombstones.snapshot_for(snapshots));
        };
        let verified = MemTombstones::new(self.comparator().user().clone());
        checks::begin();
        let mut place = rows.first();
        // SAFETY: the places are of this tree, and each is at an entry.
        unsafe {
            while let Some(entry) = found(rows.entry(&place)) {
                rows.checks.verify(entry.as_ptr())?;
                let Target { user_key, trailer } = Entry::target(entry.as_ptr());
                verified.add(user_key, Entry::value(entry.as_ptr()), trailer >> 8);
                place = rows.next(&place);
                checks::end(rows.checks)?;
            }
            checks::end(rows.checks)?;
        }
        Ok(verified.snapshot_for(snapshots))
    }

    /// Bytes in use by entries, range tombstones and the filter. They exclude the free bytes of the newest
    /// block, so a memtable that reaches the write buffer's size has filled it. A few loads.
    #[inline]
    pub fn memory_usage(&self) -> usize {
        self.memory(Arena::used)
    }

    /// Bytes allocated: the bytes in use, and the free bytes of the newest block.
    pub fn memory_allocated(&self) -> usize {
        self.memory(Arena::allocated)
    }

    #[inline]
    fn memory(&self, of: impl Fn(&Arena) -> usize) -> usize {
        let tombstones = if self.tombstones.is_empty() {
            0
        } else {
            self.tombstones.memory_usage()
        };
        let rows = self.tombstone_rows.as_ref();
        let filter = self.filter.as_ref();
        let unsorted = self.unsorted.as_ref();
        of(&self.tree.arena)
            + tombstones
            + rows.map_or(0, |rows| of(&rows.arena))
            + filter.map_or(0, |filter| filter.memory_usage())
            + unsorted.map_or(0, |unsorted| unsorted.memory_usage())
    }

    /// The number of entries added, without range tombstones.
    pub fn num_entries(&self) -> u64 {
        self.counters.entries.load(Ordering::Relaxed)
    }

    /// The number of point tombstones among the entries.
    pub fn num_deletes(&self) -> u64 {
        self.counters.deletes.load(Ordering::Relaxed)
    }

    /// The number of range tombstones added.
    pub fn num_range_deletes(&self) -> u64 {
        self.tombstones.len() as u64
    }

    /// The sum of the lengths of internal keys and values, including range tombstones.
    pub fn data_size(&self) -> u64 {
        self.counters.data_size.load(Ordering::Relaxed)
    }

    /// The lowest sequence number added, if any.
    pub fn first_seqno(&self) -> Option<SeqNo> {
        let seqno = self.counters.first_seqno.load(Ordering::Relaxed);
        (seqno != u64::MAX).then_some(seqno)
    }

    /// True if neither an entry nor a range tombstone was added.
    pub fn is_empty(&self) -> bool {
        self.first_seqno().is_none()
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    #[cfg(test)]
    pub(crate) fn tombstone_rows(&self) -> Option<&Tree> {
        self.tombstone_rows.as_ref()
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

/// An entry's value in the memtable. Valid as long as the memtable is borrowed; [`pin`](Value::pin) makes it
/// independent of the borrow.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    table: &'a Memtable,
    entry: NonNull<Entry>,
}

impl<'a> Value<'a> {
    /// The bytes of the value.
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
        // SAFETY: the entry is of `table`, which lives for `'a`.
        unsafe { Entry::key(self.entry.as_ptr()) }
    }

    /// The value as a pin that keeps its memtable alive.
    ///
    /// # Panics
    /// If `table` is not the value's memtable.
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

/// A value that keeps its memtable alive. A clone costs one reference count.
#[derive(Clone)]
pub struct PinnedValue {
    table: Arc<Memtable>,
    /// An entry of `table`.
    entry: NonNull<Entry>,
}

// SAFETY: an entry is only read, and `table` may be sent and shared.
unsafe impl Send for PinnedValue {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl Sync for PinnedValue {}

impl PinnedValue {
    /// Pins `entry`, which is one of `table`.
    pub(crate) fn new(table: Arc<Memtable>, entry: NonNull<Entry>) -> PinnedValue {
        PinnedValue { table, entry }
    }

    /// The value's memtable.
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
