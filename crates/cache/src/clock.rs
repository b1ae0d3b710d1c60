//! What rules the frames of a shard without a lock: which frame has which key, which are free, whose turn it is to go.
//!
//! # The table
//!
//! Cells, each one word, searched one after the other from where the key's hash points:
//!
//! ```text
//! cell  63         32 31       20 19                0
//!      | frame + 1   | tag       | displacements     |
//! ```
//!
//! A cell leads to a frame whose key has that tag, or is free (0). It also counts the entries that lie behind it because it was
//! taken when they came: a search may end at a cell without displacements. A cell is a hint, as a slot is: what it leads to
//! may have gone, and been filled with another key, so whoever follows it compares the key and pins the generation it saw.
//! Each entry remembers its cell, and who takes the entry out of sight (there is one such, by the state word of the frame)
//! clears it and takes back the displacements on the way to it.
//!
//! # Growth
//!
//! When cells get scarce a table twice as large is made, and the cells are put into it anew; frames stay where they are, and with
//! them slots and pins. Lookups go on meanwhile, in the old table, which is kept for those still in it as long as the cache
//! lives: all old tables together are no larger than the newest. Insertions, erasures and evictions wait: the gate counts
//! those under way, and is shut until the new table is there. That is the only time that one waits for another.

use std::ptr;

use crate::cache::Stats;
use crate::frame::{Slab, Zeroed};
use crate::options::{CacheKey, EntryRole, Insertion, Priority};
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, yield_now};

/// How often the hand passes an entry that nobody touches before it goes.
const MAX_COUNTDOWN: u32 = 3;

/// In the word of an entry's priority and role: it was hit.
const HIT: u32 = 1 << 24;

const DISPLACEMENTS: u64 = (1 << 20) - 1;
const TAG: u64 = ((1 << 12) - 1) << 20;
const FRAME_SHIFT: u32 = 32;

/// Cells of a table that is to grow.
const FIRST_CELLS: usize = if cfg!(loom) { 2 } else { 64 };

/// No frame: the end of the list of free ones.
const NONE: u32 = u32::MAX;

/// In the gate's word: shut.
const SHUT: usize = 1 << (usize::BITS - 1);

/// What a frame's entry is. Written by who owns the empty frame, before it is filled; read by anyone, who then finds out by the
/// frame's generation whether it was of the entry he meant. Hence Release and Acquire: who has seen a later entry's part sees
/// the frame emptied.
pub(crate) struct ClockEntry {
    id: AtomicU64,
    offset: AtomicU64,
    charge: AtomicUsize,
    /// The place of its cell in the table.
    cell: AtomicUsize,
    /// The next free frame, while it is free.
    next_free: AtomicU32,
    /// How often the hand will pass it by. The hand's alone.
    countdown: AtomicU32,
    /// Priority and role, for reports, and whether it was hit.
    kind: AtomicU32,
}

// SAFETY: all of it is atomic integers.
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
    /// Makes it that of an entry to come. The caller owns the empty frame.
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

    /// Whether the hand ever found it touched.
    pub(crate) fn was_hit(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & HIT != 0
    }

    /// The hand passes by and finds it touched.
    pub(crate) fn count_up(&self) {
        if !self.was_hit() {
            self.kind.fetch_or(HIT, Ordering::Relaxed);
        }
        let countdown = self.countdown.load(Ordering::Relaxed);
        self.countdown
            .store((countdown + 1).min(MAX_COUNTDOWN), Ordering::Relaxed);
    }

    /// The hand passes by and finds it untouched: true if it is to go.
    pub(crate) fn count_down(&self) -> bool {
        let countdown = self.countdown.load(Ordering::Relaxed);
        self.countdown
            .store(countdown.saturating_sub(1), Ordering::Relaxed);
        countdown == 0
    }
}

/// The cells. A power of two of them.
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

    /// Shows `see` each frame that may have a key of that hash, until it gives something.
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

    /// Has a cell lead to `frame`, whose entry learns which. False if all are taken.
    fn add(&self, hash: u64, frame: u32, entry: &ClockEntry) -> bool {
        let lead = u64::from(frame + 1) << FRAME_SHIFT | tag_of(hash);
        for step in 0..self.len() {
            let place = self.place(hash, step);
            let cell = &self.cells[place];
            let mut seen = cell.load(Ordering::Relaxed);
            while seen >> FRAME_SHIFT == 0 {
                // Before the cell shows it to others, who may take it out again.
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

    /// Clears the cell at `place`, which leads to an entry of that hash that the caller has taken out of sight.
    fn remove(&self, hash: u64, place: usize) {
        self.cells[place].fetch_and(DISPLACEMENTS, Ordering::Release);
        let mut step = 0;
        while self.place(hash, step) != place {
            self.displace_less(hash, step);
            step += 1;
        }
    }
}

/// Counts, as [`Stats`]. On a line of their own: every lookup writes one.
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

/// What happened.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Hit,
    Miss,
    Insert,
    Refused,
    Eviction,
    SecondChance,
}

/// See the module.
pub(crate) struct Clock {
    pub(crate) entries: Slab<ClockEntry>,
    /// Frames that were ever in use.
    in_use: AtomicU32,
    /// Frames that it can name.
    max_frames: u32,
    /// The first free frame, and above it a count of changes, so that none goes unseen.
    free: AtomicU64,
    /// Frames the hand has passed.
    hand: AtomicUsize,
    capacity: AtomicUsize,
    /// 1 if insertions fail when the capacity is pinned.
    strict: AtomicU32,
    usage: AtomicUsize,
    /// Entries in the table.
    occupancy: AtomicUsize,
    table: AtomicPtr<Table>,
    /// The table does not grow.
    fixed: bool,
    /// Those who change the table, and whether it is shut.
    gate: AtomicUsize,
    /// All tables, the newest last. Who makes a new one holds the lock.
    tables: Mutex<Vec<*mut Table>>,
    counts: Counts,
}

/// Passage through the gate: the table does not grow meanwhile.
pub(crate) struct Passage<'a> {
    clock: &'a Clock,
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.clock.gate.fetch_sub(1, Ordering::Release);
    }
}

impl Clock {
    /// For so many bytes of entries; of `estimated_entry_charge` bytes each, and then the table does not grow, or of sizes that are
    /// not known, if that is 0.
    pub(crate) fn new(
        capacity: usize,
        strict: bool,
        estimated_entry_charge: usize,
        max_frames: u64,
    ) -> Clock {
        let fixed = estimated_entry_charge > 0;
        let cells = match capacity.checked_div(estimated_entry_charge) {
            // Two thirds full when the cache is.
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

    // Usage and capacity in one order for all: of two threads of which one adds to the usage and the other lowers the capacity, at
    // least one sees what the other did, and evicts.

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

    /// Adds to the usage if it is `seen` still.
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

    /// Frames that were ever in use, or are about to be.
    pub(crate) fn frames_in_use(&self) -> u32 {
        self.in_use.load(Ordering::Acquire)
    }

    /// The entry of a frame that was in use.
    pub(crate) fn entry(&self, index: u32) -> &ClockEntry {
        self.entries
            .get(index)
            .expect("made before its frame came into use")
    }

    /// A frame that was in use and is empty now. It is the caller's.
    pub(crate) fn pop_free(&self) -> Option<u32> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = head as u32;
            if index == NONE {
                return None;
            }
            // Another may have taken it meanwhile; then this is nothing, and the exchange fails by the count.
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

    /// Gives back a frame the caller has emptied.
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

    /// The number of a frame that was never in use, if there is one. Its memory is the caller's to make.
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

    /// The number of the frame the hand points to, and on it goes.
    pub(crate) fn next_of_hand(&self, frames: u32) -> u32 {
        (self.hand.fetch_add(1, Ordering::Relaxed) % frames as usize) as u32
    }

    // ---- table

    /// The table as it is.
    pub(crate) fn table(&self) -> &Table {
        // SAFETY: made by `Box::into_raw` and given back when the clock is dropped. Acquire pairs with the store that
        // published it.
        unsafe { &*self.table.load(Ordering::Acquire) }
    }

    /// True if the table does not grow.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Entries beyond which the table is too full.
    fn limit(&self, cells: usize) -> usize {
        match self.fixed {
            // RocksDB's: searches get long behind it.
            true => (cells - cells / 8).saturating_sub(1).max(1),
            false => usize::MAX,
        }
    }

    /// Takes room in the table for one more; false if there is none.
    pub(crate) fn occupy(&self) -> bool {
        let before = self.occupancy.fetch_add(1, Ordering::Relaxed);
        if before < self.limit(self.table().len()) {
            return true;
        }
        self.vacate();
        false
    }

    /// Gives room in the table back.
    pub(crate) fn vacate(&self) {
        self.occupancy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has the table lead to `index`. False if it is full. The caller has passed the gate.
    pub(crate) fn add_to_table(&self, hash: u64, index: u32) -> bool {
        self.table().add(hash, index, self.entry(index))
    }

    /// The table leads no more to an entry of that hash that the caller has taken out of sight, whose cell was at `cell`.
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

    /// Makes the table larger if it is rather full. `moves` tells whether a frame is in sight, with its key. The caller has not
    /// passed the gate.
    pub(crate) fn grow_if_full(&self, key_of: impl Fn(u32) -> Option<CacheKey>) {
        let is_full = |table: &Table| self.occupancy() > table.len() * 3 / 5;
        if self.fixed || !is_full(self.table()) {
            return;
        }
        let mut tables = self.tables.lock();
        let old = self.table();
        if !is_full(old) {
            // Another was faster.
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

    /// Checks the table, while nobody else is at work, against the entries in sight: their frames and keys.
    #[cfg(test)]
    pub(crate) fn check(&self, entries: &[(u32, CacheKey)]) {
        let table = self.table();
        let mut displacements = vec![0; table.len()];
        for (index, key) in entries {
            let (hash, cell) = (key.hash(), self.entry(*index).cell());
            let lead = u64::from(index + 1) << FRAME_SHIFT | tag_of(hash);
            let found = table.cells[cell].load(Ordering::Relaxed);
            assert_eq!(found & !DISPLACEMENTS, lead, "the cell leads elsewhere");
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
            // SAFETY: made by `Box::into_raw`, each is in the list once, and nobody uses the clock any more.
            drop(unsafe { Box::from_raw(table) });
        }
        self.table.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
