//! A shard of a clock cache: frames whose state is a [`Clock`]. No thread waits for another, except while the
//! table grows.
//!
//! An entry becomes invisible by an exchange of its frame's state word, which exactly one thread can make;
//! that thread also removes the entry from the table. A frame becomes empty by another such exchange; the
//! thread that makes it discharges the entry and frees the frame.

use crate::clock::{Clock, Count};
use crate::entry_info::EntryInfo;
use crate::evicted::Evicted;
use crate::frame::{Frame, FrameState, LAST_GENERATION, Slab};
use crate::options::{CacheKey, Insertion, Standing};
use crate::secondary_cache::{Demoted, SecondaryCache};

/// The number of rounds of the clock hand after which every untouched entry has been evicted: the maximum
/// countdown, and one.
const ROUNDS: u64 = 5;

pub(crate) struct ClockShard<'a, V> {
    pub(crate) frames: &'a Slab<Frame<V>>,
    pub(crate) clock: &'a Clock,
    /// The secondary cache, which takes evicted entries.
    pub(crate) secondary: Option<&'a dyn SecondaryCache<V>>,
}

/// Why an entry is removed.
#[derive(Clone, Copy)]
enum Going {
    /// The entry is removed to make room, and may go to the secondary cache.
    Evicted,
    /// A caller erased the entry: its value is not needed any more.
    Erased,
}

/// The state of a visible entry that may be removed. A pinned entry is parked, so that its last unpin settles
/// it.
fn loose_state<V>(frame: &Frame<V>) -> Option<FrameState> {
    loop {
        let state = frame.state();
        if !state.is_visible() {
            return None;
        }
        if state.pins() == 0 {
            return Some(state);
        }
        if state.is_parked() || frame.park(state, false) {
            return None;
        }
    }
}

impl<'a, V> ClockShard<'a, V> {
    fn known_frame(&self, index: u32) -> &'a Frame<V> {
        self.frames.get(index).expect("an index of the shard's own")
    }

    /// Frames that were ever in use.
    pub(crate) fn frames_in_use(&self) -> u32 {
        self.clock.frames_in_use()
    }

    fn evicted(&self) -> Evicted<'a, V> {
        Evicted::new(self.secondary)
    }

    /// Inserts an entry and pins it. The value is returned if there is no room, or if [`Standing`] refuses
    /// it. Two concurrent insertions of one key may both stay: lookups then find one of them.
    pub(crate) fn insert(&self, insertion: Insertion<V>) -> Result<(u32, &'a Frame<V>), V> {
        let mut evicted = self.evicted();
        let Insertion {
            key,
            hash,
            charge,
            standing,
            ..
        } = insertion;
        self.grow_if_full();
        let mut passage = self.clock.pass();
        if standing == Standing::IfAbsent && self.holds(key, hash) {
            return Err(insertion.value);
        }
        let fits = charge <= usize::MAX / 2 && self.reserve(charge, &mut evicted);
        if !fits {
            if self.clock.is_strict() || charge > usize::MAX / 2 {
                self.clock.count(Count::Refused);
                return Err(insertion.value);
            }
            self.clock.charge(charge);
        }
        let visible = standing != Standing::Alone;
        let Some(index) = self.free_frame(visible, &mut evicted) else {
            self.clock.discharge(charge);
            self.clock.count(Count::Refused);
            return Err(insertion.value);
        };
        self.clock.entry(index).set(&insertion);
        let frame = self.known_frame(index);
        if !visible {
            // SAFETY: the frame is empty and on no list, so this thread owns it.
            unsafe { frame.fill(insertion.value, false, true) };
            return Ok((index, frame));
        }
        self.erase_all(key, hash, &mut evicted);
        self.clock.count(Count::Insert);
        // The cell is set before the frame is filled. A thread that sees the entry may remove it at once, and
        // must clear this entry's cell, not the cell of the frame's last entry. No other thread sees a frame
        // that a cell leads to while the frame is not filled.
        let mut in_table = true;
        while !self.clock.add_to_table(hash, index) {
            if self.clock.is_fixed() {
                // Other threads inserted and removed entries so fast that the search met no free cell. The
                // entry stays out of the table and lives as long as it is pinned.
                self.clock.vacate();
                in_table = false;
                break;
            }
            // So many entries were inserted at once that no cell is left.
            drop(passage);
            self.grow_if_full();
            passage = self.clock.pass();
        }
        // SAFETY: the frame is empty and on no list, so this thread owns it.
        unsafe { frame.fill(insertion.value, in_table, !fits) };
        if fits && self.clock.usage() > self.clock.capacity() {
            // Another thread may have lowered the capacity meanwhile without seeing the new entry.
            while !frame.park(frame.state(), false) {}
        }
        drop(passage);
        Ok((index, frame))
    }

    /// True if an entry of that key is visible.
    fn holds(&self, key: CacheKey, hash: u64) -> bool {
        let found = self.clock.table().search(hash, |index| {
            let visible = self.known_frame(index).state().is_visible();
            (visible && self.clock.entry(index).key() == key).then_some(())
        });
        found.is_some()
    }

    fn grow_if_full(&self) {
        self.clock.grow_if_full(|index| {
            let visible = self.known_frame(index).state().is_visible();
            visible.then(|| self.clock.entry(index).key())
        });
    }

    /// Pins the entry of `key` and counts the hit or miss.
    pub(crate) fn lookup(&self, key: CacheKey, hash: u64) -> Option<(u32, &'a Frame<V>)> {
        let found = self.clock.table().search(hash, |index| {
            let frame = self.known_frame(index);
            let state = frame.state();
            // The generation is read before the key: if the pin finds the same generation, the key belonged
            // to it.
            if !state.is_visible() || self.clock.entry(index).key() != key {
                return None;
            }
            match frame.pin_generation(state.generation()) {
                Ok(()) => Some((index, frame)),
                Err(last) => {
                    if let Some(generation) = last {
                        self.settle(index, generation);
                    }
                    None
                }
            }
        });
        self.clock.count(match found {
            Some(_) => Count::Hit,
            None => Count::Miss,
        });
        found
    }

    /// Removes the entries of `key` from the table; true if there was one.
    pub(crate) fn erase(&self, key: CacheKey, hash: u64) -> bool {
        let mut evicted = self.evicted();
        let _passage = self.clock.pass();
        self.erase_all(key, hash, &mut evicted)
    }

    fn erase_all(&self, key: CacheKey, hash: u64, evicted: &mut Evicted<'_, V>) -> bool {
        let mut erased = false;
        // The search does not stop at the first match: concurrent insertions may have added several entries
        // of one key.
        self.clock.table().search(hash, |index| {
            loop {
                let state = self.known_frame(index).state();
                if !state.is_visible() || self.clock.entry(index).key() != key {
                    return None::<()>;
                }
                if self.take_out(index, state, Going::Erased, evicted).is_some() {
                    erased = true;
                    return None;
                }
            }
        });
        erased
    }

    /// Frees every entry that is not pinned.
    pub(crate) fn erase_unreferenced(&self) {
        let mut evicted = self.evicted();
        let _passage = self.clock.pass();
        for index in 0..self.clock.frames_in_use() {
            let Some(frame) = self.frames.get(index) else {
                continue;
            };
            loop {
                let state = frame.state();
                if !state.is_visible()
                    || state.pins() > 0
                    || self.take_out(index, state, Going::Erased, &mut evicted).is_some()
                {
                    break;
                }
            }
        }
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        let mut evicted = self.evicted();
        let _passage = self.clock.pass();
        self.clock.set_capacity(capacity);
        loop {
            let over = self.clock.usage().saturating_sub(capacity);
            if over == 0 || self.evict(over, &mut evicted) == 0 {
                return;
            }
        }
    }

    /// Settles a parked entry whose last pin was released while the frame was at `generation`: lists it again
    /// or frees it.
    pub(crate) fn settle(&self, index: u32, generation: u32) {
        let mut evicted = self.evicted();
        let _passage = self.clock.pass();
        let frame = self.known_frame(index);
        loop {
            let state = frame.state();
            if state.generation() != generation || state.pins() != 0 || !state.is_parked() {
                // Another thread pinned the entry again: it will settle the entry in turn, or has done so
                // already.
                return;
            }
            let done = if !state.is_visible() {
                self.empty(index, state, &mut evicted)
            } else if self.clock.usage() <= self.clock.capacity() {
                frame.unpark_as_seen(state)
            } else {
                let went = self
                    .take_out(index, state, Going::Evicted, &mut evicted)
                    .is_some();
                if went {
                    self.clock.count(Count::Eviction);
                }
                went
            };
            if done {
                return;
            }
        }
    }

    /// The sum of the charges of pinned entries. Looks at every frame.
    pub(crate) fn pinned_usage(&self) -> usize {
        let mut sum = 0;
        self.describe(&mut |entry| sum += if entry.pins > 0 { entry.charge } else { 0 });
        sum
    }

    pub(crate) fn describe(&self, out: &mut impl FnMut(EntryInfo)) {
        for index in 0..self.clock.frames_in_use() {
            let Some(frame) = self.frames.get(index) else {
                continue;
            };
            let state = frame.state();
            if !state.is_filled() {
                continue;
            }
            let entry = self.clock.entry(index);
            let info = EntryInfo {
                key: entry.key(),
                charge: entry.charge(),
                priority: entry.priority(),
                role: entry.role(),
                pins: state.pins(),
                erased: !state.is_visible(),
            };
            let now = frame.state();
            if now.generation() == state.generation() && now.is_filled() {
                out(info);
            }
        }
    }

    /// Charges `charge` bytes, after evicting as needed. False if they do not fit besides the pinned entries;
    /// then nothing is charged.
    fn reserve(&self, charge: usize, evicted: &mut Evicted<'_, V>) -> bool {
        loop {
            let (usage, capacity) = (self.clock.usage(), self.clock.capacity());
            let over = usage.saturating_add(charge).saturating_sub(capacity);
            if over == 0 {
                if self.clock.charge_as_seen(usage, charge) {
                    return true;
                }
            } else if self.evict(over, evicted) == 0 {
                return false;
            }
        }
    }

    /// Moves the hand until entries of `want` bytes have been evicted, or all entries are pinned. Returns the
    /// evicted bytes. Pinned entries on the way are parked, so that their last unpin settles them.
    fn evict(&self, want: usize, evicted: &mut Evicted<'_, V>) -> usize {
        let frames = self.clock.frames_in_use();
        let (mut freed, mut loose) = (0, false);
        for step in 0..u64::from(frames) * ROUNDS {
            if freed >= want || (step == u64::from(frames) && !loose) {
                break;
            }
            let index = self.clock.next_of_hand(frames);
            let Some(frame) = self.frames.get(index) else {
                continue;
            };
            let Some(state) = loose_state(frame) else {
                continue;
            };
            loose = true;
            if state.is_touched() {
                if frame.untouch_as_seen(state) {
                    self.clock.count(Count::SecondChance);
                    self.clock.entry(index).count_up();
                }
            } else if self.clock.entry(index).count_down()
                && let Some(charge) = self.take_out(index, state, Going::Evicted, evicted)
            {
                self.clock.count(Count::Eviction);
                // An entry without charge counts as progress too.
                freed += charge.max(1);
            }
        }
        freed
    }

    /// Removes a visible entry, whose state is `seen`, from the table. It is freed now, or with its last pin.
    /// Returns its charge, or `None` if its state is not `seen` any more.
    fn take_out(
        &self,
        index: u32,
        seen: FrameState,
        going: Going,
        evicted: &mut Evicted<'_, V>,
    ) -> Option<usize> {
        let entry = self.clock.entry(index);
        let frame = self.known_frame(index);
        // The fields of the entry are read before the exchange, which shows whether they belonged to this
        // entry.
        let (hash, cell, charge) = (entry.key().hash(), entry.cell(), entry.charge());
        let demoted = Demoted {
            key: entry.key(),
            role: entry.role(),
            hit: seen.is_touched() || entry.was_hit(),
        };
        if seen.pins() > 0 {
            if !frame.park(seen, true) {
                return None;
            }
            self.clock.remove_from_table(hash, cell);
        } else {
            let value = frame.take(seen)?;
            self.clock.remove_from_table(hash, cell);
            self.release(index, charge);
            match going {
                Going::Evicted => evicted.push_demoted(value, demoted),
                Going::Erased => evicted.push(value),
            }
        }
        Some(charge)
    }

    /// Empties the frame of an erased entry if its state still is `seen`.
    fn empty(&self, index: u32, seen: FrameState, evicted: &mut Evicted<'_, V>) -> bool {
        let charge = self.clock.entry(index).charge();
        let Some(value) = self.known_frame(index).take(seen) else {
            return false;
        };
        self.release(index, charge);
        evicted.push(value);
        true
    }

    /// Discharges a frame that this thread has emptied, and puts it on the free list.
    fn release(&self, index: u32, charge: usize) {
        self.clock.discharge(charge);
        if self.known_frame(index).state().generation() != LAST_GENERATION {
            self.clock.push_free(index);
        }
    }

    /// An empty frame, and room in the table for it if it is to be `visible`. Evicts an entry where either is
    /// missing.
    fn free_frame(&self, visible: bool, evicted: &mut Evicted<'_, V>) -> Option<u32> {
        if visible && !self.clock.occupy() {
            self.evict(1, evicted);
            if !self.clock.occupy() {
                return None;
            }
        }
        let frame = self.any_frame().or_else(|| {
            self.evict(1, evicted);
            self.clock.pop_free()
        });
        if visible && frame.is_none() {
            self.clock.vacate();
        }
        frame
    }

    fn any_frame(&self) -> Option<u32> {
        if let Some(index) = self.clock.pop_free() {
            return Some(index);
        }
        let index = self.clock.next_unused()?;
        // The entry is allocated before the frame: a thread that finds the frame finds its entry too.
        (self.clock.entries.ensure(index) && self.frames.ensure(index)).then_some(index)
    }

    /// Checks the invariants that hold while no other thread uses the cache.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut usage = 0;
        let mut visible = Vec::new();
        for index in 0..self.clock.frames_in_use() {
            let (state, entry) = (self.known_frame(index).state(), self.clock.entry(index));
            if state.is_filled() {
                usage += entry.charge();
            }
            if state.is_visible() {
                visible.push((index, entry.key()));
            }
            assert!(
                !state.is_parked() || state.pins() > 0,
                "no unpin is left that settles this entry"
            );
        }
        assert_eq!(self.clock.usage(), usage);
        self.clock.check(&visible);
    }
}
