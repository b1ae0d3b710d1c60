//! The lock-free state of a clock shard: which frame holds which key, which frames are free, and which entry
//! is evicted next.
//!
//! # The table
//!
//! The table is an array of cells of one word each. A search begins at the cell that the key's hash names and
//! goes through the cells one after another:
//!
//! ```text
//! cell  63         32 31       20 19                0
//!      | frame + 1   | tag       | displacements     |
//! ```
//!
//! A cell leads to a frame whose key has that tag, or is free (0). It also counts displacements: the entries
//! that were stored in a later cell because this one was taken when they were inserted. A search may end at a
//! cell without displacements. A cell is a hint, as a slot is: the entry it leads to may be gone and its
//! frame filled with another key. A thread that follows a cell therefore compares the key and pins the
//! generation it saw. Each entry remembers its cell. The one thread that makes an entry invisible, by the
//! frame's state word, clears the entry's cell and decrements the displacements on the way to it.
//!
//! # Growth
//!
//! When free cells become scarce, a table of twice the size is made and all entries are added to it. Frames
//! stay where they are, and so do slots and pins. Lookups continue meanwhile in the old table, which is kept
//! as long as the cache lives, for threads that are still searching it; all old tables together are no larger
//! than the newest. Insertions, erasures and evictions wait: the gate counts those under way, and stays shut
//! until the new table is in place. Only then does a thread of a clock cache wait for another.

use std::ptr;

use crate::frame::{Slab, Zeroed};
use crate::lru::Stats;
use crate::options::{CacheKey, EntryRole, Insertion, Priority};
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, yield_now};

/// The maximum number of times that the clock hand passes an unused entry before it evicts the entry.
const MAX_COUNTDOWN: u32 = 3;

/// A bit in the word of an entry's priority and role: the entry was hit.
const HIT: u32 = 1 << 24;

const DISPLACEMENTS: u64 = (1 << 20) - 1;
const TAG: u64 = ((1 << 12) - 1) << 20;
const FRAME_SHIFT: u32 = 32;

/// The number of cells of the first table, if the table grows.
const FIRST_CELLS: usize = if cfg!(loom) { 2 } else { 64 };

/// No frame: the end of the free list.
const NONE: u32 = u32::MAX;

/// The bit of the gate's word that is set while the gate is shut.
const SHUT: usize = 1 << (usize::BITS - 1);

/// The description of a frame's entry. The owner of the empty frame writes it before the frame is filled. Any
/// thread may read it, and then checks by the frame's generation whether it read the entry it meant. That
/// requires Release and Acquire: a thread that reads part of a later entry must also see that the frame was
/// emptied.
pub(crate) struct ClockEntry {
    id: AtomicU64,
    offset: AtomicU64,
    charge: AtomicUsize,
    /// The index of the entry's cell in the table.
    cell: AtomicUsize,
    /// The next frame of the free list, while this frame is free.
    next_free: AtomicU32,
    /// How many more times the clock hand passes the entry without evicting it. Only the thread that moves
    /// the hand writes it.
    countdown: AtomicU32,
    /// The entry's priority and role, for reports, and its hit bit.
    kind: AtomicU32,
}

// SAFETY: all fields are atomic integers.
unsafe impl Zeroed for ClockEntry {
    #[cfg(loom)]
    fn zeroed() -> ClockEntry {
        ClockEntry {
            id: AtomicU64::new(0),
            offset: AtomicU64::new(0),
            charge: AtomicUsize::new(0),
            cell: AtomicUsize::new(0),
            next_free: AtomicU32::new(0),
            countdown: AtomicU32::new(0),
            kind: AtomicU32::new(0),
        }
    }
}

impl ClockEntry {
    /// Describes the entry that is about to fill the frame. The caller owns the empty frame.
    pub(crate) fn set<V>(&self, insertion: &Insertion<V>) {
        let Insertion { key, priority, .. } = *insertion;
        self.id.store(key.id, Ordering::Release);
        self.offset.store(key.offset, Ordering::Release);
        self.charge.store(insertion.charge, Ordering::Release);
        let countdown = match priority {
            Priority::High => MAX_COUNTDOWN,
            Priority::Low => 1,
            Priority::Bottom => 0,
        };
        self.countdown.store(countdown, Ordering::Relaxed);
        let kind = (priority as u32) << 16 | insertion.role as u32;
        self.kind.store(kind, Ordering::Release);
    }

    pub(crate) fn key(&self) -> CacheKey {
        CacheKey {
            id: self.id.load(Ordering::Acquire),
            offset: self.offset.load(Ordering::Acquire),
        }
    }

    pub(crate) fn charge(&self) -> usize {
        self.charge.load(Ordering::Acquire)
    }

    pub(crate) fn cell(&self) -> usize {
        self.cell.load(Ordering::Acquire)
    }

    pub(crate) fn priority(&self) -> Priority {
        let priority = self.kind.load(Ordering::Acquire) >> 16 & 0xff;
        let all = [Priority::High, Priority::Low, Priority::Bottom];
        let found = all.into_iter().find(|known| *known as u32 == priority);
        found.unwrap_or(Priority::Low)
    }

    pub(crate) fn role(&self) -> EntryRole {
        let role = self.kind.load(Ordering::Acquire) & 0xffff;
        let found = EntryRole::ALL.into_iter().find(|known| *known as u32 == role);
        found.unwrap_or_default()
    }

    /// True if the clock hand has ever found the entry touched.
    pub(crate) fn was_hit(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & HIT != 0
    }

    /// Records that the clock hand passes the entry and finds it touched.
    pub(crate) fn count_up(&self) {
        if !self.was_hit() {
            self.kind.fetch_or(HIT, Ordering::Relaxed);
        }
        let countdown = self.countdown.load(Ordering::Relaxed);
        self.countdown
            .store((countdown + 1).min(MAX_COUNTDOWN), Ordering::Relaxed);
    }

    /// Records that the clock hand passes the entry and finds it untouched. True if the entry is to be
    /// evicted.
    pub(crate) fn count_down(&self) -> bool {
        let countdown = self.countdown.load(Ordering::Relaxed);
        self.countdown
            .store(countdown.saturating_sub(1), Ordering::Relaxed);
        countdown == 0
    }
}

/// The cells of a table. Their number is a power of two.
pub(crate) struct Table {
    cells: Box<[AtomicU64]>,
}

fn tag_of(hash: u64) -> u64 {
    (hash >> 32) & TAG
}

impl Table {
    fn new(len: usize) -> Table {
        Table {
            cells: (0..len).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    fn place(&self, hash: u64, step: usize) -> usize {
        (hash as usize).wrapping_add(step) & (self.len() - 1)
    }

    /// Calls `see` with each frame that may hold a key of that hash, until it returns a result.
    pub(crate) fn search<R>(&self, hash: u64, mut see: impl FnMut(u32) -> Option<R>) -> Option<R> {
        let tag = tag_of(hash);
        for step in 0..self.len() {
            let cell = self.cells[self.place(hash, step)].load(Ordering::Acquire);
            let frame = (cell >> FRAME_SHIFT) as u32;
            if frame != 0
                && cell & TAG == tag
                && let Some(found) = see(frame - 1)
            {
                return Some(found);
            }
            if cell & DISPLACEMENTS == 0 {
                break;
            }
        }
        None
    }

    /// Stores `frame` in a free cell, and the cell's index in `entry`. False if all cells are taken.
    fn add(&self, hash: u64, frame: u32, entry: &ClockEntry) -> bool {
        let lead = u64::from(frame + 1) << FRAME_SHIFT | tag_of(hash);
        for step in 0..self.len() {
            let place = self.place(hash, step);
            let cell = &self.cells[place];
            let mut seen = cell.load(Ordering::Relaxed);
            while seen >> FRAME_SHIFT == 0 {
                // The index is stored before the cell shows the frame to other threads, which may remove the
                // entry at once.
                entry.cell.store(place, Ordering::Release);
                match cell.compare_exchange(seen, seen | lead, Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(_) => return true,
                    Err(now) => seen = now,
                }
            }
            cell.fetch_add(1, Ordering::Relaxed);
        }
        (0..self.len()).for_each(|step| self.displace_less(hash, step));
        false
    }

    fn displace_less(&self, hash: u64, step: usize) {
        self.cells[self.place(hash, step)].fetch_sub(1, Ordering::Release);
    }

    /// Clears the cell at `place`, which leads to an entry of that hash that the caller has made invisible.
    fn remove(&self, hash: u64, place: usize) {
        self.cells[place].fetch_and(DISPLACEMENTS, Ordering::Release);
        let mut step = 0;
        while self.place(hash, step) != place {
            self.displace_less(hash, step);
            step += 1;
        }
    }
}

/// The counters of [`Stats`]. They have their own cache line, because every lookup writes one.
#[repr(align(64))]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    inserts: AtomicU64,
    refused: AtomicU64,
    evictions: AtomicU64,
    second_chances: AtomicU64,
}

impl Counts {
    fn new() -> Counts {
        Counts {
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            inserts: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            second_chances: AtomicU64::new(0),
        }
    }
}

/// The counted events.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Hit,
    Miss,
    Insert,
    Refused,
    Eviction,
    SecondChance,
}

/// The lock-free state of a shard: see the module.
pub(crate) struct Clock {
    pub(crate) entries: Slab<ClockEntry>,
    /// The number of frames that have ever been in use.
    in_use: AtomicU32,
    /// The number of frames that can be named.
    max_frames: u32,
    /// The first free frame, and above it a counter of changes, which prevents the ABA problem.
    free: AtomicU64,
    /// The number of frames that the clock hand has passed.
    hand: AtomicUsize,
    capacity: AtomicUsize,
    /// 1 if insertions fail when the whole capacity is pinned.
    strict: AtomicU32,
    usage: AtomicUsize,
    /// The number of entries in the table.
    occupancy: AtomicUsize,
    table: AtomicPtr<Table>,
    /// True if the table does not grow.
    fixed: bool,
    /// The number of threads that are changing the table, and the bit [`SHUT`].
    gate: AtomicUsize,
    /// All tables, the newest last. The thread that makes a new table holds the lock.
    tables: Mutex<Vec<*mut Table>>,
    counts: Counts,
}

/// A guard: the hash table does not grow while the guard exists.
pub(crate) struct Passage<'a> {
    clock: &'a Clock,
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.clock.gate.fetch_sub(1, Ordering::Release);
    }
}

impl Clock {
    /// The state for entries of `capacity` bytes in all. If `estimated_entry_charge` is not 0, the table is
    /// made for entries of that many bytes each and does not grow; if it is 0, sizes are unknown and the
    /// table grows.
    pub(crate) fn new(
        capacity: usize,
        strict: bool,
        estimated_entry_charge: usize,
        max_frames: u64,
    ) -> Clock {
        let fixed = estimated_entry_charge > 0;
        let cells = match capacity.checked_div(estimated_entry_charge) {
            // The table is two thirds full when the cache is full.
            Some(entries) => (entries.saturating_mul(3) / 2)
                .clamp(FIRST_CELLS, 1 << 30)
                .next_power_of_two(),
            None => FIRST_CELLS,
        };
        let table = Box::into_raw(Box::new(Table::new(cells)));
        Clock {
            entries: Slab::new(),
            in_use: AtomicU32::new(0),
            max_frames: u32::try_from(max_frames).unwrap_or(NONE - 1),
            free: AtomicU64::new(u64::from(NONE)),
            hand: AtomicUsize::new(0),
            capacity: AtomicUsize::new(capacity),
            strict: AtomicU32::new(u32::from(strict)),
            usage: AtomicUsize::new(0),
            occupancy: AtomicUsize::new(0),
            table: AtomicPtr::new(table),
            fixed,
            gate: AtomicUsize::new(0),
            tables: Mutex::new(vec![table]),
            counts: Counts::new(),
        }
    }

    // ---- sums

    // Accesses to usage and capacity have one total order (SeqCst): if one thread adds to the usage while
    // another lowers the capacity, at least one of them sees both changes and evicts.

    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::SeqCst)
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        self.capacity.swap(capacity, Ordering::SeqCst);
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn set_strict(&self, strict: bool) {
        self.strict.store(u32::from(strict), Ordering::Relaxed);
    }

    pub(crate) fn usage(&self) -> usize {
        self.usage.load(Ordering::SeqCst)
    }

    /// Adds `charge` to the usage if the usage still is `seen`.
    pub(crate) fn charge_as_seen(&self, seen: usize, charge: usize) -> bool {
        self.usage
            .compare_exchange(seen, seen + charge, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn charge(&self, charge: usize) {
        self.usage.fetch_add(charge, Ordering::SeqCst);
    }

    pub(crate) fn discharge(&self, charge: usize) {
        self.usage.fetch_sub(charge, Ordering::SeqCst);
    }

    pub(crate) fn occupancy(&self) -> usize {
        self.occupancy.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, what: Count) {
        let counts = &self.counts;
        let count = match what {
            Count::Hit => &counts.hits,
            Count::Miss => &counts.misses,
            Count::Insert => &counts.inserts,
            Count::Refused => &counts.refused,
            Count::Eviction => &counts.evictions,
            Count::SecondChance => &counts.second_chances,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> Stats {
        let counts = &self.counts;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Stats {
            hits: of(&counts.hits),
            misses: of(&counts.misses),
            inserts: of(&counts.inserts),
            refused: of(&counts.refused),
            evictions: of(&counts.evictions),
            second_chances: of(&counts.second_chances),
        }
    }

    // ---- frames

    /// The number of frames that have ever been in use, or are about to be.
    pub(crate) fn frames_in_use(&self) -> u32 {
        self.in_use.load(Ordering::Acquire)
    }

    /// The entry of a frame that has been in use.
    pub(crate) fn entry(&self, index: u32) -> &ClockEntry {
        self.entries
            .get(index)
            .expect("made before its frame came into use")
    }

    /// Takes a frame from the free list. The caller owns it.
    pub(crate) fn pop_free(&self) -> Option<u32> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = head as u32;
            if index == NONE {
                return None;
            }
            // Another thread may have taken the frame meanwhile. Then `next` is meaningless, and the exchange
            // fails because the counter has changed.
            let next = self.entry(index).next_free.load(Ordering::Relaxed);
            let changed = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self
                .free
                .compare_exchange(head, changed, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
    }

    /// Returns a frame that the caller has emptied to the free list.
    pub(crate) fn push_free(&self, index: u32) {
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            self.entry(index).next_free.store(head as u32, Ordering::Relaxed);
            let changed = (head >> 32).wrapping_add(1) << 32 | u64::from(index);
            match self
                .free
                .compare_exchange(head, changed, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// The number of a frame that has never been in use, if there is one. The caller allocates its memory.
    pub(crate) fn next_unused(&self) -> Option<u32> {
        let mut in_use = self.in_use.load(Ordering::Relaxed);
        while in_use < self.max_frames {
            match self
                .in_use
                .compare_exchange(in_use, in_use + 1, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return Some(in_use),
                Err(now) => in_use = now,
            }
        }
        None
    }

    /// Returns the number of the frame to which the clock hand points, and moves the hand to the next frame.
    pub(crate) fn next_of_hand(&self, frames: u32) -> u32 {
        (self.hand.fetch_add(1, Ordering::Relaxed) % frames as usize) as u32
    }

    // ---- table

    /// The current table.
    pub(crate) fn table(&self) -> &Table {
        // SAFETY: the pointer was made by `Box::into_raw`, and its table is freed when the clock is dropped.
        // Acquire pairs with the store that published the pointer.
        unsafe { &*self.table.load(Ordering::Acquire) }
    }

    /// True if the table does not grow.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The number of entries beyond which the table counts as too full.
    fn limit(&self, cells: usize) -> usize {
        match self.fixed {
            // RocksDB's limit: beyond it, searches get long.
            true => (cells - cells / 8).saturating_sub(1).max(1),
            false => usize::MAX,
        }
    }

    /// Reserves room in the table for one more entry; false if there is none.
    pub(crate) fn occupy(&self) -> bool {
        let before = self.occupancy.fetch_add(1, Ordering::Relaxed);
        if before < self.limit(self.table().len()) {
            return true;
        }
        self.vacate();
        false
    }

    /// Releases room in the table.
    pub(crate) fn vacate(&self) {
        self.occupancy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Adds the frame `index` to the table. False if the table is full. The caller has passed the gate.
    pub(crate) fn add_to_table(&self, hash: u64, index: u32) -> bool {
        self.table().add(hash, index, self.entry(index))
    }

    /// Removes an entry of that hash from the table: the caller has made it invisible, and its cell was
    /// `cell`.
    pub(crate) fn remove_from_table(&self, hash: u64, cell: usize) {
        self.table().remove(hash, cell);
        self.vacate();
    }

    /// Passes the gate; waits while it is shut.
    pub(crate) fn pass(&self) -> Passage<'_> {
        while self.gate.fetch_add(1, Ordering::Acquire) & SHUT != 0 {
            self.gate.fetch_sub(1, Ordering::Release);
            drop(self.tables.lock());
        }
        Passage { clock: self }
    }

    /// Doubles the table if more than three fifths of it are in use. `key_of` gives the key of a frame whose
    /// entry is visible. The caller must not hold a [`Passage`].
    pub(crate) fn grow_if_full(&self, key_of: impl Fn(u32) -> Option<CacheKey>) {
        let is_full = |table: &Table| self.occupancy() > table.len() * 3 / 5;
        if self.fixed || !is_full(self.table()) {
            return;
        }
        let mut tables = self.tables.lock();
        let old = self.table();
        if !is_full(old) {
            // Another thread has replaced the full table meanwhile.
            return;
        }
        self.gate.fetch_or(SHUT, Ordering::Acquire);
        while self.gate.load(Ordering::Acquire) != SHUT {
            yield_now();
        }
        let new = Table::new(old.len() * 2);
        for cell in &old.cells {
            let frame = (cell.load(Ordering::Relaxed) >> FRAME_SHIFT) as u32;
            if let Some(index) = frame.checked_sub(1)
                && let Some(key) = key_of(index)
            {
                new.add(key.hash(), index, self.entry(index));
            }
        }
        let new = Box::into_raw(Box::new(new));
        tables.push(new);
        self.table.store(new, Ordering::Release);
        self.gate.fetch_and(!SHUT, Ordering::Release);
    }

    /// Checks the table against the visible entries (their frames and keys), while no other thread uses the
    /// cache.
    #[cfg(test)]
    pub(crate) fn check(&self, entries: &[(u32, CacheKey)]) {
        let table = self.table();
        let mut displacements = vec![0; table.len()];
        for (index, key) in entries {
            let (hash, cell) = (key.hash(), self.entry(*index).cell());
            let lead = u64::from(index + 1) << FRAME_SHIFT | tag_of(hash);
            let found = table.cells[cell].load(Ordering::Relaxed);
            assert_eq!(found & !DISPLACEMENTS, lead, "the cell leads to another frame");
            let mut step = 0;
            while table.place(hash, step) != cell {
                displacements[table.place(hash, step)] += 1;
                step += 1;
            }
        }
        let cells: Vec<u64> = table
            .cells
            .iter()
            .map(|cell| cell.load(Ordering::Relaxed))
            .collect();
        let counted: Vec<u64> = cells.iter().map(|cell| cell & DISPLACEMENTS).collect();
        assert_eq!(counted, displacements);
        let taken = cells.iter().filter(|cell| **cell >> FRAME_SHIFT != 0).count();
        assert_eq!((taken, self.occupancy()), (entries.len(), entries.len()));
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let mut tables = self.tables.lock();
        for table in std::mem::take(&mut *tables) {
            // SAFETY: the pointers were made by `Box::into_raw`, each is in the list once, and no thread uses
            // the clock any more.
            drop(unsafe { Box::from_raw(table) });
        }
        self.table.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
