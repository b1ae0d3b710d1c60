//! The cache, its slots, and the two kinds of pin: guards and handles.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::asked::AskedLately;
use crate::clock::Clock;
use crate::entry_info::{EntryInfo, RoleUsage};
use crate::frame::Frame;
use crate::lru::{Lru, Stats};
use crate::memory::BlockMemory;
use crate::options::{
    CacheKey, CacheOptions, CacheType, EntryRole, Insertion, MetadataChargePolicy, Priority, Standing,
};
use crate::secondary_cache::{AdmissionPolicy, SecondaryCache, SecondaryTally, SecondaryUsage};
use crate::shard::Shard;
use crate::sync::{AtomicU64, Ordering};

/// A sharded cache of values of type `V`.
///
/// Values are shared, never copied. A [`Guard`] or [`Handle`] pins a value: it stays at its address,
/// unchanged, until the last pin is gone.
///
/// ```
/// # use esker_cache as esker;
///
/// use esker::{Cache, CacheOptions, CacheType, MetadataChargePolicy};
/// use std::sync::Arc;
///
/// let options = CacheOptions {
///     capacity: 64 << 20,
///     cache_type: CacheType::HyperClock,
///     metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
///     ..Default::default()
/// };
/// // Of blocks: a `BlockCache`, which `BlockBasedOptions::block_cache` takes.
/// let cache: Arc<Cache<String>> = Cache::new(options);
/// assert_eq!((cache.usage(), cache.capacity()), (0, 64 << 20));
/// for role in cache.usage_by_role(None) {
///     println!("{}: {} entries, {} bytes", role.role.name(), role.entries, role.usage);
/// }
/// ```
pub struct Cache<V> {
    /// Each shard has its own reference count for its handles: a count shared by all shards would move from
    /// core to core with every read.
    shards: Box<[Arc<Shard<V>>]>,
    shard_bits: u32,
    /// The cost in bytes that each entry adds to the charge with which it is inserted.
    metadata_charge: usize,
    name: &'static str,
    /// The secondary cache, which takes evicted entries.
    secondary: Option<Arc<dyn SecondaryCache<V>>>,
    asked: AskedLately,
    last_id: AtomicU64,
    last_owner: AtomicU64,
    memory: BlockMemory,
}

// SAFETY: values are handed from thread to thread (inserted by one, dropped by another) and shared between
// them by pins; everything else inside is atomics, or guarded by the shards' locks.
unsafe impl<V: Send + Sync> Send for Cache<V> {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl<V: Send + Sync> Sync for Cache<V> {}

/// One word that remembers the place of a value in a [`Cache`]. Empty by default.
///
/// A slot belongs to the one cache whose handles are stored in it. It keeps nothing alive and may be stale at
/// any time. A slot does not check keys: it leads to the value it was last stored from, and its owner knows
/// which that is.
#[derive(Default)]
pub struct Slot(AtomicU64);

impl Slot {
    /// Remembers the value of `handle`.
    pub fn store<V>(&self, handle: &Handle<V>) {
        let generation = handle.frame().state().generation();
        let word = (u64::from(generation) << 32) | u64::from(handle.number);
        // Relaxed suffices for this word: a pin checks the frame's state word, and that publishes the value.
        self.0.store(word, Ordering::Relaxed);
    }

    /// Empties the slot.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Empties the slot if it still holds `word`.
    #[cold]
    fn forget(&self, word: u64) {
        let _ = self
            .0
            .compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// False if the slot is empty: it was never stored to, or its value was found to be gone. True does not
    /// mean that the value is still cached.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0.load(Ordering::Relaxed);
        write!(f, "Slot(frame {}, generation {})", word as u32, word >> 32)
    }
}

/// The result of a lookup in one shard.
enum Found<V> {
    Value(Handle<V>),
    /// The placeholder of a value that came back from the secondary cache once.
    Placeholder,
    Nothing,
}

impl<V> Cache<V> {
    /// An empty cache of the kind that [`CacheOptions::cache_type`] names.
    pub fn new(options: CacheOptions) -> Arc<Cache<V>> {
        Cache::over(options, None)
    }

    /// An empty cache over `secondary`.
    pub(crate) fn over(
        options: CacheOptions,
        secondary: Option<Arc<dyn SecondaryCache<V>>>,
    ) -> Arc<Cache<V>> {
        let shard_bits = options.shard_bits();
        let shards = 1usize << shard_bits;
        let per_shard = options.capacity.div_ceil(shards);
        let max_frames = 1 << (32 - shard_bits);
        let new_shard = |_| match options.cache_type {
            CacheType::Lru => Shard::lru(
                shard_bits,
                Lru::new(
                    per_shard,
                    options.strict_capacity_limit,
                    options.high_pri_pool_ratio,
                    options.low_pri_pool_ratio,
                ),
                max_frames,
                secondary.clone(),
            ),
            CacheType::HyperClock => Shard::clock(
                shard_bits,
                Clock::new(
                    per_shard,
                    options.strict_capacity_limit,
                    options.estimated_entry_charge,
                    max_frames,
                ),
                secondary.clone(),
            ),
        };
        let of_entry = match options.cache_type {
            CacheType::Lru => Cache::<V>::METADATA_CHARGE,
            CacheType::HyperClock => Cache::<V>::CLOCK_METADATA_CHARGE,
        };
        Arc::new(Cache {
            shards: (0..shards).map(|shard| Arc::new(new_shard(shard))).collect(),
            shard_bits,
            metadata_charge: match options.metadata_charge_policy {
                MetadataChargePolicy::FullChargeCacheMetadata => of_entry,
                MetadataChargePolicy::DontChargeCacheMetadata => 0,
            },
            name: match (options.cache_type, options.estimated_entry_charge) {
                _ if secondary.as_ref().is_some_and(|secondary| secondary.is_tiered()) => "TieredCache",
                (CacheType::Lru, _) => "LRUCache",
                (CacheType::HyperClock, 0) => "AutoHyperClockCache",
                (CacheType::HyperClock, _) => "FixedHyperClockCache",
            },
            secondary,
            asked: AskedLately::new(options.capacity),
            last_id: AtomicU64::new(0),
            last_owner: AtomicU64::new(0),
            memory: BlockMemory::new(options.capacity),
        })
    }

    /// An empty LRU cache; the cache type in the options is ignored.
    pub fn lru(options: CacheOptions) -> Arc<Cache<V>> {
        Cache::new(CacheOptions {
            cache_type: CacheType::Lru,
            ..options
        })
    }

    /// Bytes an LRU cache spends on an entry: its frame with the value itself (not the memory the value
    /// points to), its links, and its part of the hash table. This is added to every charge under
    /// [`MetadataChargePolicy::FullChargeCacheMetadata`].
    pub const METADATA_CHARGE: usize =
        size_of::<Frame<V>>() + size_of::<crate::lru::Entry>() + size_of::<u32>();

    /// Bytes a clock cache spends on an entry: its frame, the description of the entry,
    /// and two cells of the table.
    pub const CLOCK_METADATA_CHARGE: usize =
        size_of::<Frame<V>>() + size_of::<crate::clock::ClockEntry>() + 2 * size_of::<u64>();

    /// A new identity, unique in this cache, for [`CacheKey::id`]. Never 0.
    pub fn new_id(&self) -> u64 {
        self.new_id_of(0)
    }

    /// A new identity as of [`new_id`](Self::new_id), whose entries [`usage_by_role`](Self::usage_by_role)
    /// can report by `owner`.
    pub fn new_id_of(&self, owner: u32) -> u64 {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        (u64::from(owner) << CacheKey::OWNER_SHIFT) | id
    }

    /// The memory that the cache's values should be allocated from. Its layout is chosen for the initial
    /// capacity of the cache.
    pub fn memory(&self) -> &BlockMemory {
        &self.memory
    }

    /// A new owner of entries, unique in this cache. Never 0.
    pub fn new_owner(&self) -> u32 {
        self.last_owner.fetch_add(1, Ordering::Relaxed) as u32 + 1
    }

    /// The value `slot` remembers, if it is still cached. Takes no lock and allocates nothing. The cost is
    /// one `fetch_add`, and one more store on the first hit after the insertion or after eviction passed the
    /// entry.
    #[inline]
    pub fn get(&self, slot: &Slot) -> Option<Guard<'_, V>> {
        let word = slot.0.load(Ordering::Relaxed);
        if word == 0 {
            return None;
        }
        let number = word as u32;
        let shard = self.shards.get(self.shard_of(number))?;
        let index = number >> self.shard_bits;
        let frame = shard.frame(index)?;
        match frame.pin_generation((word >> 32) as u32) {
            Ok(()) => Some(Guard { shard, frame, number }),
            Err(last) => {
                // The failed pin took two atomic operations on a frame that holds another entry by now.
                // Emptying the slot avoids a second time.
                slot.forget(word);
                if let Some(generation) = last {
                    shard.settle(index, generation);
                }
                None
            }
        }
    }

    /// Prefetches the memory that [`get`](Cache::get) of `slot` reads first.
    #[inline]
    pub fn prefetch(&self, slot: &Slot) {
        let number = slot.0.load(Ordering::Relaxed) as u32;
        if let Some(shard) = self.shards.get(self.shard_of(number))
            && let Some(frame) = shard.frame(number >> self.shard_bits)
        {
            frame.prefetch();
        }
    }

    /// The value of `key`, if it is cached; the secondary cache is not asked. Takes the shard's lock, counts
    /// a hit or a miss, and makes the entry the most recently used.
    pub fn lookup(self: &Arc<Self>, key: CacheKey) -> Option<Handle<V>> {
        match self.find(key) {
            Found::Value(handle) => Some(handle),
            Found::Placeholder | Found::Nothing => None,
        }
    }

    /// Looks a value up in this cache and, on a miss, in the secondary cache; it then returns the value and
    /// charge that `restore` makes of the bytes found there. The first time a value comes back, it is the
    /// caller's alone, and charged as long as it is pinned. If it is looked up again soon, it is inserted as
    /// [`insert_as`](Self::insert_as) does. `Err` is a value that there was no room to charge: the caller
    /// owns it, outside of the cache. Without a secondary cache this costs one comparison more than `lookup`,
    /// and only on a miss.
    ///
    /// Uncompressing takes no lock. `restore` returns `None` for bytes it cannot use: that is a miss, and the
    /// secondary cache forgets the bytes.
    pub fn lookup_or_restore(
        self: &Arc<Self>,
        key: CacheKey,
        priority: Priority,
        role: EntryRole,
        tally: &SecondaryTally,
        restore: impl FnOnce(&[u8]) -> Option<(V, usize)>,
    ) -> Option<Result<Handle<V>, V>> {
        let wanted_before = match self.find(key) {
            Found::Value(handle) => return Some(Ok(handle)),
            Found::Placeholder => true,
            Found::Nothing => false,
        };
        let secondary = self.secondary.as_ref()?;
        let mut restore = Some(restore);
        let (value, charge) = secondary.find(key, role, wanted_before, tally, &mut |bytes| {
            restore.take().and_then(|restore| restore(bytes))
        })?;
        let insertion =
            |value, charge, role, standing| self.insertion(key, value, charge, priority, role, standing);
        if wanted_before {
            return Some(
                self.add(insertion(value, charge, role, Standing::Listed))
                    .or_else(|value| self.add(insertion(value, charge, role, Standing::Alone))),
            );
        }
        let alone = self.add(insertion(value, charge, role, Standing::Alone));
        let placeholder = insertion(secondary.placeholder(), 0, EntryRole::Misc, Standing::IfAbsent);
        drop(self.add(placeholder).ok());
        Some(alone)
    }

    fn find(self: &Arc<Self>, key: CacheKey) -> Found<V> {
        let hash = key.hash();
        let shard = self.shard_of_hash(hash);
        let Some((index, frame)) = self.shards[shard].lookup(key, hash) else {
            return Found::Nothing;
        };
        let handle = self.handle(shard, index, frame);
        match &self.secondary {
            Some(secondary) if secondary.found_placeholder(&handle) => Found::Placeholder,
            _ => Found::Value(handle),
        }
    }

    pub(crate) fn add(self: &Arc<Self>, insertion: Insertion<V>) -> Result<Handle<V>, V> {
        let shard = self.shard_of_hash(insertion.hash);
        let (index, frame) = self.shards[shard].insert(insertion)?;
        Ok(self.handle(shard, index, frame))
    }

    /// Counts a miss without a [`lookup`](Self::lookup): the caller knows that the value of `key` is not
    /// cached.
    #[inline]
    pub fn record_absent(&self, key: CacheKey) {
        self.shards[self.shard_of_hash(key.hash())].record_absent();
    }

    /// True if evicted entries go to a secondary cache.
    pub fn has_secondary(&self) -> bool {
        self.secondary.is_some()
    }

    /// True if the secondary cache holds the value of `key`.
    pub fn secondary_holds(&self, key: CacheKey) -> bool {
        self.secondary
            .as_ref()
            .is_some_and(|secondary| secondary.holds(key))
    }

    /// The usage of the secondary cache, if there is one. Costs as much as
    /// [`usage_by_role`](Self::usage_by_role).
    pub fn secondary_usage(&self) -> Option<SecondaryUsage> {
        self.secondary.as_ref().map(|secondary| secondary.usage())
    }

    /// Changes the capacity of the secondary cache, if there is one. Entries that no longer fit are evicted;
    /// with 0, nothing is admitted any more. Where the two caches share one budget, the change lasts until
    /// the budget changes.
    pub fn set_secondary_capacity(&self, capacity: usize) {
        if let Some(secondary) = &self.secondary {
            secondary.set_capacity(capacity);
        }
    }

    /// Changes the policy that admits evicted entries to the secondary cache, if there is one.
    pub fn set_admission_policy(&self, policy: AdmissionPolicy) {
        if let Some(secondary) = &self.secondary {
            secondary.set_policy(policy);
        }
    }

    /// Changes the secondary cache's part, 0 to 1, of the budget it shares with this cache. False where the
    /// two share none.
    pub fn set_compressed_secondary_ratio(&self, ratio: f64) -> bool {
        self.secondary
            .as_ref()
            .is_some_and(|secondary| secondary.set_budget(None, Some(ratio), &mut |own| self.resize(own)))
    }

    /// Inserts a value with the role [`Misc`](EntryRole::Misc); see [`insert_as`](Self::insert_as).
    ///
    /// # Errors
    /// The errors of [`insert_as`](Self::insert_as).
    pub fn insert(
        self: &Arc<Self>,
        key: CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
    ) -> Result<Handle<V>, V> {
        self.insert_as(key, value, charge, priority, EntryRole::Misc)
    }

    /// Whether the value of `key`, which the caller looked up without success and can do without in the
    /// cache, should be inserted. True if there is room for two values of that charge, or if the key was
    /// requested lately (that request is then forgotten). "Lately" means: not more than about as many other
    /// keys ago as a full cache has entries; a value that is requested less often would be evicted before its
    /// second request. Always true if there is a secondary cache, because evictions are what fill it.
    pub fn admits(&self, key: CacheKey, charge: usize) -> bool {
        let hash = key.hash();
        let again = self.asked.again(hash);
        // The check asks for room for two values. Charges differ, and the room that one eviction leaves often
        // suffices for the next insertion: with room for one, a full cache would admit nearly everything.
        let charge = charge.saturating_add(self.metadata_charge).saturating_mul(2);
        again || self.secondary.is_some() || self.shards[self.shard_of_hash(hash)].has_room(charge)
    }

    /// Inserts `value`, replacing any other value of the same key. `charge` is the memory the value stands
    /// for, in bytes, without the bytes that [`METADATA_CHARGE`](Self::METADATA_CHARGE) counts.
    ///
    /// Takes the shard's lock, evicts as needed, and drops evicted values after the lock is released.
    ///
    /// # Errors
    /// The value is returned if it does not fit besides pinned entries and `strict_capacity_limit` is set, or
    /// if the shard has no number for another frame and all frames are pinned.
    pub fn insert_as(
        self: &Arc<Self>,
        key: CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: EntryRole,
    ) -> Result<Handle<V>, V> {
        self.add(self.insertion(key, value, charge, priority, role, Standing::Listed))
    }

    fn insertion(
        &self,
        key: CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: EntryRole,
        standing: Standing,
    ) -> Insertion<V> {
        Insertion {
            key,
            hash: key.hash(),
            value,
            charge: charge.saturating_add(self.metadata_charge),
            priority,
            role,
            standing,
        }
    }

    /// Removes `key` from the table: neither lookups nor slots find it any more. Its value is dropped at
    /// once, or with its last pin. The secondary cache forgets it too. True if either cache had it. Takes the
    /// shard's lock.
    pub fn erase(&self, key: CacheKey) -> bool {
        let hash = key.hash();
        let erased = self.shards[self.shard_of_hash(hash)].erase(key, hash);
        match &self.secondary {
            // The secondary cache comes last: an entry evicted before this has arrived there by now, unless
            // another thread is still handing it down.
            Some(secondary) => secondary.erase(key) || erased,
            None => erased,
        }
    }

    /// Frees every entry that is not pinned. The secondary cache keeps its entries.
    pub fn erase_unreferenced(&self) {
        self.shards.iter().for_each(|shard| shard.erase_unreferenced());
    }

    /// The sum of the charges of all entries, in bytes. Takes each shard's lock in turn.
    pub fn usage(&self) -> usize {
        self.shards.iter().map(|shard| shard.usage()).sum()
    }

    /// The sum of the charges of the entries that are pinned right now, in bytes. Looks at every frame, under
    /// each shard's lock in turn: for reports, not for hot paths.
    pub fn pinned_usage(&self) -> usize {
        self.shards.iter().map(|shard| shard.pinned_usage()).sum()
    }

    /// The capacity in bytes: the sum of charges the cache may hold. It is the configured capacity, rounded
    /// up to a multiple of the number of shards. Where the cache shares a budget with its secondary cache, it
    /// is that budget.
    pub fn capacity(&self) -> usize {
        let own: usize = self.shards.iter().map(|shard| shard.capacity()).sum();
        match &self.secondary {
            Some(secondary) if secondary.is_tiered() => own + secondary.capacity(),
            _ => own,
        }
    }

    /// Changes the capacity, or the budget shared with the secondary cache. Evicts unpinned entries that no
    /// longer fit.
    pub fn set_capacity(&self, capacity: usize) {
        let shared = self
            .secondary
            .as_ref()
            .is_some_and(|secondary| secondary.set_budget(Some(capacity), None, &mut |own| self.resize(own)));
        if !shared {
            self.resize(capacity);
        }
    }

    fn resize(&self, capacity: usize) {
        let per_shard = capacity.div_ceil(self.shards.len());
        for shard in &self.shards {
            shard.set_capacity(per_shard);
        }
    }

    /// Sets whether insertions fail when the whole capacity is pinned.
    pub fn set_strict_capacity_limit(&self, strict: bool) {
        for shard in &self.shards {
            shard.set_strict_capacity_limit(strict);
        }
    }

    /// The number of entries in the table, including the placeholders of a secondary cache.
    pub fn occupancy(&self) -> usize {
        self.shards.iter().map(|shard| shard.occupancy()).sum()
    }

    /// The number of cells of the hash table, used or not: RocksDB's `GetTableAddressCount`.
    pub fn table_address_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.table_address_count()).sum()
    }

    /// RocksDB's name of this kind of cache.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The number of shards, each with its own lock.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Counters since the cache was made. Takes each shard's lock in turn.
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for shard in &self.shards {
            sum.add(&shard.stats());
        }
        if let Some(secondary) = &self.secondary {
            let placeholders = secondary.placeholders_found().min(sum.hits);
            sum.hits -= placeholders;
            sum.misses += placeholders;
        }
        sum
    }

    /// All entries, for reports and debugging. Looks at every frame, under each shard's lock in turn.
    pub fn entries(&self) -> Vec<EntryInfo> {
        let mut out = Vec::new();
        self.for_each_entry(|entry| out.push(entry));
        out
    }

    /// Calls `see` with every entry; `see` must not use the cache. Looks at every frame, under each shard's
    /// lock in turn.
    pub fn for_each_entry(&self, mut see: impl FnMut(EntryInfo)) {
        for shard in &self.shards {
            shard.describe(&mut see);
        }
    }

    /// The usage of each role, in the order of [`EntryRole::ALL`], for the entries of one owner or of all.
    /// The sum over all equals [`usage`](Self::usage) while no thread changes the cache. Costs as much as
    /// [`for_each_entry`](Self::for_each_entry).
    pub fn usage_by_role(&self, owner: Option<u32>) -> [RoleUsage; EntryRole::ALL.len()] {
        let mut roles = EntryRole::ALL.map(|role| RoleUsage {
            role,
            ..RoleUsage::default()
        });
        self.for_each_entry(|entry| {
            if owner.is_none_or(|owner| entry.key.owner() == owner) {
                let sum = &mut roles[entry.role as usize];
                sum.entries += 1;
                sum.usage += entry.charge;
            }
        });
        roles
    }

    fn shard_of_hash(&self, hash: u64) -> usize {
        // The low bits choose the bucket.
        ((hash >> 32) as usize) & (self.shards.len() - 1)
    }

    #[inline]
    fn shard_of(&self, number: u32) -> usize {
        number as usize & ((1 << self.shard_bits) - 1)
    }

    fn handle(self: &Arc<Self>, shard: usize, index: u32, frame: &Frame<V>) -> Handle<V> {
        Handle {
            shard: self.shards[shard].clone(),
            frame: NonNull::from(frame),
            number: (index << self.shard_bits) | shard as u32,
        }
    }

    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.shards.iter().for_each(|shard| shard.check());
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn frame_of(&self, handle: &Handle<V>) -> &Frame<V> {
        let number = handle.number;
        self.shards[self.shard_of(number)]
            .frame(number >> self.shard_bits)
            .expect("a frame in use")
    }
}

impl<V> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("capacity", &self.capacity())
            .field("usage", &self.usage())
            .field("occupancy", &self.occupancy())
            .field("shards", &self.shards.len())
            .finish()
    }
}

/// A pin that borrows the cache, for the duration of a read.
pub struct Guard<'a, V> {
    shard: &'a Arc<Shard<V>>,
    frame: &'a Frame<V>,
    number: u32,
}

impl<V> Guard<'_, V> {
    /// Turns this pin into an owned handle.
    pub fn into_handle(self) -> Handle<V> {
        let handle = Handle {
            shard: self.shard.clone(),
            frame: NonNull::from(self.frame),
            number: self.number,
        };
        // The handle takes over the pin.
        std::mem::forget(self);
        handle
    }
}

impl<V> Deref for Guard<'_, V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: the guard is a pin, and the reference cannot outlive it.
        unsafe { self.frame.value() }
    }
}

impl<V> Drop for Guard<'_, V> {
    #[inline]
    fn drop(&mut self) {
        self.shard.unpin(self.frame, self.number);
    }
}

impl<V: fmt::Debug> fmt::Debug for Guard<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&**self).finish()
    }
}

/// An owned pin: it keeps its shard of the cache alive, and may be sent, shared and kept.
pub struct Handle<V> {
    shard: Arc<Shard<V>>,
    /// A frame of `shard`, which never frees frames.
    frame: NonNull<Frame<V>>,
    number: u32,
}

// SAFETY: a handle is an `Arc<Shard<V>>` with a pin, and any thread may release a pin.
unsafe impl<V: Send + Sync> Send for Handle<V> {}
// SAFETY: shared access gives out only `&V`, and more pins.
unsafe impl<V: Send + Sync> Sync for Handle<V> {}

impl<V> Handle<V> {
    #[inline]
    fn frame(&self) -> &Frame<V> {
        // SAFETY: the frame lies in a slab of the shard, which `self.shard` keeps alive.
        unsafe { self.frame.as_ref() }
    }
}

impl<V> Deref for Handle<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: the handle is a pin, and the reference cannot outlive it.
        unsafe { self.frame().value() }
    }
}

impl<V> Clone for Handle<V> {
    fn clone(&self) -> Handle<V> {
        self.frame().pin_again();
        Handle {
            shard: self.shard.clone(),
            frame: self.frame,
            number: self.number,
        }
    }
}

impl<V> Drop for Handle<V> {
    fn drop(&mut self) {
        self.shard.unpin(self.frame(), self.number);
    }
}

impl<V: fmt::Debug> fmt::Debug for Handle<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&**self).finish()
    }
}
