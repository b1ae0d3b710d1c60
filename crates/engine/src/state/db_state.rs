//! The state guarded by the database mutex. A function that takes `&mut DbState` runs under it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::{Error, ErrorKind, MAX_SEQNO, Result, SeqNo};
use compact::Border;
use compact::LeveledOptions;
use compact::pace::{Drain, Work};
use compact::score::Scores;
use compact::stall::{StallCause, StallCondition, StallInputs, WriteBufferLimits};
use manifest::{ManifestState, Version};
use memtable::Memtable;

use crate::batch::write_batch::WriteBatch;
use crate::events::{Event, FlushReason};
use crate::options::Options;
use crate::state::column_family::Family;
use crate::state::compaction_job::CompactionJob;
use crate::state::error_state::Recovery;
use crate::state::level_stats::FamilyStats;
use crate::state::range_latch::RangeLatch;
use crate::state::section_rows::SectionRows;
use crate::state::super_version::SuperVersion;
use crate::stats::StallTotal;

/// The numbers of outstanding requests that keep compactions from starting.
#[derive(Default)]
pub(crate) struct CompactionHolds {
    /// The number of requests that disable manual compactions. Manual compactions are refused unless it is 0.
    pub manual: usize,
    /// The number of requests that abort all compactions. No compaction starts unless it is 0.
    pub all: usize,
}

/// The state of the database.
pub(crate) struct DbState {
    /// The existing families, by id.
    pub families: BTreeMap<u32, FamilyState>,
    /// The highest family id ever used.
    pub max_family: u32,
    /// The data of the MANIFEST about the database that is stored nowhere else; each new MANIFEST gets it.
    pub recorded: Recorded,
    /// The WALs that may hold rows of memtables, oldest first; the last one is the current one.
    pub wals: VecDeque<LiveWal>,
    /// The numbers of obsolete WALs that are kept to be recycled.
    pub recyclable_wals: VecDeque<u64>,
    /// The number of the first WAL of this session. Older WALs may have another record format, and are not
    /// recycled.
    pub first_own_wal: u64,
    /// The first failure of a write, a sync or a background job. While it is set nothing is written.
    pub background_error: Option<Error>,
    /// True if every failure so far can be retried: the contents of every file are known.
    pub resumable: bool,
    /// The progress of the recovery from `background_error`.
    pub recovery: Recovery,
    /// True if a change of the MANIFEST, or its replacement, has failed: its contents are unknown until
    /// another MANIFEST replaces it.
    pub manifest_in_doubt: bool,
    /// The files that are named only by a failed change of the MANIFEST.
    pub files_in_doubt: Vec<PathBuf>,
    /// True while a thread writes the MANIFEST, which happens without the mutex; only that thread changes
    /// versions meanwhile.
    pub manifest_busy: bool,
    /// The number of running flushes.
    pub running_flushes: usize,
    /// The number of running compactions.
    pub running_compactions: usize,
    /// The compactions that wait for a thread of bottom priority. They count as running.
    pub handed_over: VecDeque<CompactionJob>,
    /// True once a close has begun: user writes are refused and no compaction begins, while rows without a
    /// WAL are flushed.
    pub shutting_down: bool,
    /// True once the close has flushed the rows without a WAL: no job begins any more, and background work
    /// ends.
    pub closing: bool,
    /// The progress of a close.
    pub close: Close,
    /// Dropped families that may still have handles.
    pub dropped_families: Vec<Weak<Family>>,
    /// The number of pauses of background work in force: no work begins unless it is 0.
    pub background_paused: usize,
    /// The number of locks on the WAL: nothing is written unless it is 0.
    pub wal_locks: usize,
    /// The key ranges of the ingestion in progress, if one is: no row is written to them.
    pub range_latch: Option<RangeLatch>,
    /// The outstanding requests that keep compactions from starting.
    pub compaction_holds: CompactionHolds,
    /// The number of manual compactions that run or wait for their turn.
    pub running_manual: usize,
    /// True if a manual compaction must run alone: no other compaction begins.
    pub manual_alone: bool,
    /// The begins and ends of stalls that listeners have not been notified of yet, in order.
    pub stall_events: Vec<Event>,
    /// The writers that wait for memory shared with other databases.
    pub memory_stall: Waiting,
    /// The writers and ingestions that wait for the WAL to be unlocked.
    pub wal_lock_stall: Waiting,
    /// The waits of low-priority writes since they are slowed, and the family that is the cause; `None` until
    /// the slowdown is reported.
    pub low_pri_stall: Option<(u32, StallTotal)>,
    /// The outstanding prepared sections (transactions without a commit or rollback) in WALs, by name.
    pub sections: BTreeMap<Vec<u8>, PreparedSection>,
    /// True if a WAL of this session has markers of two-phase transactions.
    pub marked: bool,
    /// True if the database was opened with `atomic_flush`: each flush includes all families.
    pub atomic_flush: bool,
    /// The families that a user wants flushed together in a database without `atomic_flush`. None of them is
    /// flushed alone meanwhile.
    pub flush_groups: Vec<FlushGroup>,
    /// True if the database was opened with `allow_2pc`: recovery reads every WAL that may have a prepared
    /// section, even if no family needs its rows.
    pub two_phase: bool,
}

/// The waiters for one condition that concerns no single family, and their waits since the first of them
/// began.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    now: usize,
    total: StallTotal,
}

impl Waiting {
    /// Adds a waiter. True if no other waiter is there.
    pub fn begin(&mut self) -> bool {
        self.now += 1;
        self.now == 1
    }

    /// Removes a waiter that has waited `micros` microseconds. Returns the waits of all if it was the last.
    pub fn end(&mut self, micros: u64) -> Option<StallTotal> {
        self.now -= 1;
        self.total.count += 1;
        self.total.micros += micros;
        (self.now == 0).then(|| std::mem::take(&mut self.total))
    }
}

/// A set of families that are flushed together once.
#[derive(Debug)]
pub(crate) struct FlushGroup {
    pub families: Vec<u32>,
    /// True once the memtables of the families are immutable.
    pub switched: bool,
}

/// The data of a MANIFEST that is not about files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    /// The database's id.
    pub db_id: Option<String>,
    /// The lowest number of a WAL that may be needed, whatever the families record.
    pub min_log_number_to_keep: u64,
    /// The closed and synced WALs that the MANIFEST names, and their bytes: see
    /// [`recorded_wals`](super::recorded_wals).
    pub wals: BTreeMap<u64, u64>,
    /// Unknown fields, written by later RocksDB releases.
    pub unknown_fields: BTreeMap<u32, Box<[u8]>>,
}

impl Recorded {
    /// The data of a MANIFEST that was read. Recovery adds the WALs that it keeps.
    pub fn of(state: &ManifestState) -> Recorded {
        Recorded {
            db_id: state.db_id.clone(),
            min_log_number_to_keep: state.min_log_number_to_keep,
            wals: BTreeMap::new(),
            unknown_fields: state.unknown_fields.clone(),
        }
    }
}

/// A section of a WAL that was prepared and neither committed nor rolled back.
pub(crate) struct PreparedSection {
    /// The number of the WAL that holds the section.
    pub wal: u64,
    /// The rows that its commit must begin with.
    pub rows: SectionRows,
    /// The rows of the section, if recovery found the section. Otherwise its transaction has the rows.
    pub recovered: Option<Arc<WriteBatch>>,
}

/// A WAL on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveWal {
    pub number: u64,
    /// The size of the WAL in bytes, set once it is no longer written to.
    pub size: u64,
    /// The time of the clock at which it was begun, or at which recovery found it.
    pub begun: Duration,
}

/// The mutable state of a family.
pub(crate) struct FamilyState {
    pub family: Arc<Family>,
    pub version: Arc<Version>,
    /// The mutable memtable.
    pub mem: Memory,
    /// The immutable memtables, oldest first.
    pub immutable: VecDeque<Immutable>,
    /// Flushed memtables that readers may still hold.
    pub retired: Vec<Weak<Memtable>>,
    /// The reason for flushing the immutable memtables even if they are few; `None` if there is none.
    pub flush_requested: Option<FlushReason>,
    /// The log number in the MANIFEST: WALs with lower numbers hold no unflushed row of this family.
    pub log_number: u64,
    /// True if the tables of the family include user-defined timestamps.
    pub persist_user_defined_timestamps: bool,
    /// The timestamp below which versions of keys may have been dropped; empty if none have been.
    pub full_history_ts_low: Box<[u8]>,
    /// The stall of writes caused by the family's files.
    pub stall: StallCondition,
    /// True if compactions are behind, even if writes are not delayed yet.
    pub behind: bool,
    /// The measured rate at which compactions empty L0.
    pub drain: Drain,
    /// The running compaction that empties L0.
    pub l0_work: Option<Work>,
    /// The waits of writers, in number and microseconds, since the stall last changed.
    pub stalled: StallTotal,
    /// True if writers wait for a flush to make room for another memtable.
    pub memtables_stall: bool,
    /// The estimated number of bytes that compactions must rewrite until every level is within its target
    /// size.
    pub pending_compaction_bytes: u64,
    /// The score of the level most in need of compaction, at the last check.
    pub compaction_score: f64,
    /// True if a level is too large, so that a compaction may be found.
    pub compaction_due: bool,
    /// True if a compaction waits because an SST file manager allows too little space for its outputs. No
    /// compaction of the family has ended since.
    pub awaits_room: bool,
    /// The running compactions of this family.
    pub running: compact::picker::Running,
    /// The oldest snapshot when one was last released, or the last row at that time; 0 if none was released.
    /// Bottommost files with older rows may hold versions that only that snapshot could see.
    pub released_snapshot: SeqNo,
    /// The number of manual compactions that wait for others to end: no automatic one begins meanwhile.
    pub manual_waits: usize,
    /// The numbers of files that users want compacted when nothing is more urgent.
    pub suggested: BTreeSet<u64>,
    /// The numbers of files that users want rewritten, each in its level.
    pub to_rewrite: BTreeSet<u64>,
    /// The numbers of files that compactions exclude, because they have a row too large for the tables of
    /// this engine.
    pub left_alone: BTreeSet<u64>,
    /// True while a flush of this family is running.
    pub flushing: bool,
    /// The number of flushes that run, or have ended without listeners having been notified.
    pub unreported_flushes: u32,
    /// The keys at which the streams found by its last flush will continue; compactions end their files
    /// there.
    pub stream_borders: Arc<[Border]>,
    /// The statistics of the family's jobs.
    pub stats: FamilyStats,
}

/// A memtable and the oldest WAL that can hold its rows.
#[derive(Clone)]
pub(crate) struct Memory {
    pub table: Arc<Memtable>,
    pub first_wal: u64,
    /// The oldest WAL with a prepared section whose rows the memtable took at the commit.
    pub oldest_section: Option<u64>,
}

/// A memtable that waits for its flush, or is being flushed.
pub(crate) struct Immutable {
    pub memory: Memory,
    pub flushing: bool,
}

impl FamilyState {
    /// Removes the `count` oldest memtables, which were flushed.
    pub fn retire(&mut self, count: usize) {
        self.retired.retain(|memtable| memtable.strong_count() > 0);
        let flushed = self.immutable.drain(..count);
        self.retired
            .extend(flushed.map(|flushed| Arc::downgrade(&flushed.memory.table)));
    }

    /// The flushed memtables that iterators or snapshots still hold.
    pub fn pinned(&self) -> impl Iterator<Item = Arc<Memtable>> {
        self.retired.iter().filter_map(Weak::upgrade)
    }

    /// The oldest WAL with rows that are in no table of this family yet; `current` if there are none.
    pub fn oldest_wal(&self, current: u64) -> u64 {
        self.oldest_wal_after(0, current)
    }

    /// Same as [`oldest_wal`](Self::oldest_wal), after the `flushed` oldest memtables are flushed.
    fn oldest_wal_after(&self, flushed: usize, current: u64) -> u64 {
        let oldest = match self.immutable.get(flushed) {
            Some(oldest) => oldest.memory.first_wal,
            None if self.mem.table.is_empty() => current,
            None => self.mem.first_wal,
        };
        let unflushed = self.immutable.iter().skip(flushed);
        let sections = unflushed.filter_map(|immutable| immutable.memory.oldest_section);
        sections.chain(self.mem.oldest_section).fold(oldest, u64::min)
    }

    /// The number of immutable memtables that no flush has taken yet.
    pub fn unflushed(&self) -> usize {
        self.immutable
            .iter()
            .filter(|immutable| !immutable.flushing)
            .count()
    }

    /// True if a flush should begin.
    pub fn wants_flush(&self) -> bool {
        let enough = self.family.current().min_write_buffer_number_to_merge as usize;
        let full = self.immutable.len() + 1 >= self.family.current().max_write_buffer_number as usize;
        let unflushed = self.unflushed();
        !self.flushing && unflushed > 0 && (self.flush_requested.is_some() || unflushed >= enough || full)
    }

    /// True if the memtable must be switched before more rows are inserted.
    pub fn mem_is_full(&self) -> bool {
        // An empty memtable is not replaced even if its memory exceeds the limit, which may have been lowered
        // since it was allocated: a new memtable would not be better.
        !self.mem.table.is_empty()
            && self.mem.table.memory_usage() as u64 >= self.family.current().write_buffer_size
    }

    /// True if another immutable memtable may be added.
    pub fn has_room_for_immutable(&self) -> bool {
        self.immutable.len() + 1 < self.family.current().max_write_buffer_number as usize
    }

    /// True if memtables that wait to be flushed can delay writes before they stop them.
    pub fn may_delay_by_memtables(&self) -> bool {
        self.family.current().max_write_buffer_number > 3
    }

    /// Makes the current state visible to readers.
    pub fn install_super_version(&self) {
        self.install_up_to(MAX_SEQNO);
    }

    /// Same as [`install_super_version`](Self::install_super_version), but rows after `visible` are not read.
    pub fn install_up_to(&self, visible: SeqNo) -> Arc<SuperVersion> {
        let immutable = self
            .immutable
            .iter()
            .rev()
            .map(|immutable| immutable.memory.table.clone())
            .collect();
        self.family.install(
            self.mem.table.clone(),
            immutable,
            self.version.clone(),
            visible,
            &self.full_history_ts_low,
        )
    }

    /// The current stall of writes, memtables included.
    pub fn stall_of_all(&self) -> StallCondition {
        if self.memtables_stall {
            MEMTABLE_LIMIT
        } else {
            self.stall
        }
    }

    /// The event to send if [`stall_of_all`](Self::stall_of_all) has changed from `previous`; `None` if it
    /// has not.
    pub fn stall_event(&mut self, previous: StallCondition, delayed_write_rate: u64) -> Option<Event> {
        let condition = self.stall_of_all();
        if condition == previous {
            return None;
        }
        let stalled = std::mem::take(&mut self.stalled);
        let rate = self.write_rate(delayed_write_rate);
        Some(self.event_of(previous, condition, stalled, rate))
    }

    /// Ends the stall of a family that is dropped, and returns the event to send.
    pub fn end_stall(&mut self, delayed_write_rate: u64) -> Option<Event> {
        let previous = self.stall_of_all();
        self.stall = StallCondition::Normal;
        self.memtables_stall = false;
        self.stall_event(previous, delayed_write_rate)
    }

    /// The event of a stall of this family.
    fn event_of(
        &self,
        previous: StallCondition,
        condition: StallCondition,
        stalled: StallTotal,
        delayed_write_rate: u64,
    ) -> Event {
        let options = self.family.current().leveled();
        Event::Stall {
            family: self.family.name.clone(),
            previous,
            condition,
            waits: stalled.count,
            waited_micros: stalled.micros,
            immutable_memtables: self.immutable.len(),
            max_write_buffer_number: self.family.current().max_write_buffer_number as usize,
            l0_files: options.files_that_stall(&self.version),
            level0_slowdown_writes_trigger: options.level0_slowdown_writes_trigger.unwrap_or(0),
            level0_stop_writes_trigger: options.level0_stop_writes_trigger,
            pending_compaction_bytes: self.pending_compaction_bytes,
            soft_pending_compaction_bytes_limit: options.soft_pending_compaction_bytes_limit,
            hard_pending_compaction_bytes_limit: options.hard_pending_compaction_bytes_limit,
            memtable_bytes: self.mem.table.memory_usage() as u64,
            write_buffer_manager_limit: 0,
            delayed_write_rate,
        }
    }

    /// True if a flush of its memtable would delay or stop writes.
    pub fn flush_would_stall(&self) -> bool {
        let inputs = self.stall_inputs();
        let after = StallInputs {
            unflushed_memtables: inputs.unflushed_memtables + 1,
            l0_files: inputs.l0_files + 1,
            ..inputs
        };
        let options = self.family.current().leveled();
        let condition = compact::stall::condition(after, &options, self.buffer_limits());
        !self.mem.table.is_empty() && condition != StallCondition::Normal
    }

    /// The data that determines the stall of writes.
    fn stall_inputs(&self) -> StallInputs {
        // The maximum number of memtables is enforced where memtables are switched; a writer can wait there
        // for room.
        let unflushed_memtables = self.immutable.len();
        if !self.left_alone.is_empty() {
            // If a file is excluded from compactions, a wait would not reduce the files and bytes above it.
            return StallInputs {
                unflushed_memtables,
                ..StallInputs::default()
            };
        }
        StallInputs {
            unflushed_memtables,
            l0_files: self.family.current().leveled().files_that_stall(&self.version),
            pending_compaction_bytes: self.pending_compaction_bytes,
        }
    }

    fn buffer_limits(&self) -> WriteBufferLimits {
        WriteBufferLimits {
            max_write_buffer_number: self.family.current().max_write_buffer_number as usize,
            min_write_buffer_number_to_merge: self.family.current().min_write_buffer_number_to_merge as usize,
        }
    }

    /// The current rate of delayed writes in bytes per second, for this family's stall.
    pub fn write_rate(&self, delayed_write_rate: u64) -> u64 {
        let StallCondition::Delayed { cause } = self.stall else {
            return delayed_write_rate;
        };
        let filled = self.mem.table.memory_usage() as f64 / self.family.current().write_buffer_size as f64;
        let (inputs, options) = (self.stall_inputs(), self.family.current().leveled());
        if cause == StallCause::L0FileCountLimit
            && let Some(work) = self.l0_work
            && let Some(left) = work.left(self.drain, self.family.clock.now())
        {
            let size = self.family.current().write_buffer_size;
            let room = compact::pace::room_in_l0(inputs, filled, &options, size);
            return compact::pace::even_rate(delayed_write_rate, self.drain, room, left);
        }
        let depth = compact::pace::depth(cause, inputs, filled, &options, self.buffer_limits());
        compact::pace::write_rate(delayed_write_rate, self.drain.bytes_per_second(), depth)
    }

    /// Counts a wait of a writer for this family.
    pub fn record_stalled(&mut self, condition: StallCondition, micros: u64) {
        self.stats.stalls.add(condition, micros);
        self.stalled.count += 1;
        self.stalled.micros += micros;
    }

    /// The number of files of each level.
    pub fn level_files(&self) -> Vec<usize> {
        let levels = 0..self.version.num_levels();
        levels.map(|level| self.version.files(level).len()).collect()
    }

    /// True if files may be compacted for another reason than their sizes.
    fn is_due_otherwise(&self, options: &LeveledOptions) -> bool {
        let now = self.family.clock.unix_seconds();
        !self.suggested.is_empty()
            || !self.to_rewrite.is_empty()
            || compact::due::is_due(&self.version, options, now, self.released_snapshot)
    }

    /// Checks whether compactions are due by age. True if there is one.
    pub fn record_age(&mut self) -> bool {
        let due = self.is_due_otherwise(&self.family.current().leveled());
        self.compaction_due |= due;
        due
    }

    /// Checks files and memtables again, and updates the stall of writes.
    pub fn update_stall(&mut self) {
        let version = &self.version;
        for numbers in [&mut self.suggested, &mut self.to_rewrite, &mut self.left_alone] {
            numbers.retain(|&number| version.level_of(number).is_some());
        }
        let options = self.family.current().leveled();
        let scores = Scores::new(&self.version, &options);
        self.pending_compaction_bytes = scores.pending_compaction_bytes;
        self.compaction_score = scores.levels.first().map_or(0.0, |level| level.score);
        let blob_garbage = options
            .blob_garbage_collection
            .filter(|_| !options.disable_auto_compactions)
            .and_then(|collection| collection.due(&self.version));
        self.compaction_due =
            scores.needs_compaction() || blob_garbage.is_some() || self.is_due_otherwise(&options);
        let inputs = self.stall_inputs();
        self.stall = compact::stall::condition(inputs, &options, self.buffer_limits());
        let last = self.version.num_non_empty_levels().saturating_sub(1);
        let bottommost_bytes = self.version.files(last).iter().map(|file| file.size).sum();
        self.behind = self.stall != StallCondition::Normal
            || !options.disable_auto_compactions
                && compact::stall::wants_more_compactions(inputs, &options, bottommost_bytes, 0);
        let pressing = self.stall != StallCondition::Normal;
        self.family.pressing.store(pressing, Ordering::Relaxed);
    }
}

impl StallReason {
    /// True if writes are stopped.
    pub fn is_stop(&self) -> bool {
        matches!(self.condition, StallCondition::Stopped { .. })
    }
}

impl DbState {
    /// The state of a database that has no families and WALs yet, with the data of its MANIFEST.
    pub fn new(recorded: &ManifestState, options: &Options) -> DbState {
        DbState {
            families: BTreeMap::new(),
            max_family: recorded.max_column_family,
            recorded: Recorded::of(recorded),
            wals: VecDeque::new(),
            recyclable_wals: VecDeque::new(),
            first_own_wal: u64::MAX,
            background_error: None,
            resumable: false,
            recovery: Recovery::default(),
            manifest_in_doubt: false,
            files_in_doubt: Vec::new(),
            manifest_busy: false,
            running_flushes: 0,
            running_compactions: 0,
            handed_over: VecDeque::new(),
            shutting_down: false,
            closing: false,
            close: Close::default(),
            dropped_families: Vec::new(),
            background_paused: 0,
            manual_alone: false,
            wal_locks: 0,
            range_latch: None,
            compaction_holds: CompactionHolds::default(),
            running_manual: 0,
            stall_events: Vec::new(),
            memory_stall: Waiting::default(),
            wal_lock_stall: Waiting::default(),
            low_pri_stall: None,
            sections: BTreeMap::new(),
            marked: false,
            atomic_flush: options.atomic_flush,
            flush_groups: Vec::new(),
            two_phase: options.allow_2pc,
        }
    }

    /// The family with that id. `ColumnFamilyDropped` if it does not exist.
    pub fn family_mut(&mut self, id: u32) -> Result<&mut FamilyState> {
        self.families
            .get_mut(&id)
            .ok_or_else(|| Error::new(ErrorKind::ColumnFamilyDropped, format!("column family {id}")))
    }

    /// The number of the current WAL.
    pub fn current_wal(&self) -> u64 {
        self.wals.back().map_or(0, |wal| wal.number)
    }

    /// The families to be flushed next, by one job. Families that keep the oldest WAL come first: a busy
    /// family must not prevent a quiet one from releasing it.
    pub fn due_flush(&self) -> Option<Vec<u32>> {
        if self.atomic_flush {
            // With `atomic_flush` one flush runs at a time and takes all immutable memtables: memtables that
            // were switched together are installed together, in order.
            let due = self.running_flushes == 0 && self.families.values().any(FamilyState::wants_flush);
            let unflushed = self.families.iter().filter(|(_, own)| own.unflushed() > 0);
            return due.then(|| unflushed.map(|(&id, _)| id).collect());
        }
        let is_flushing = |id: &u32| self.families.get(id).is_some_and(|own| own.flushing);
        let mut groups = self.flush_groups.iter().filter(|group| group.switched);
        if let Some(group) = groups.find(|group| !group.families.iter().any(is_flushing)) {
            return Some(group.families.clone());
        }
        let current = self.current_wal();
        let is_grouped = |id: u32| self.flush_groups.iter().any(|group| group.families.contains(&id));
        let wanting = self.families.values().filter(|own| own.wants_flush());
        wanting
            .filter(|own| !is_grouped(own.family.id))
            .min_by_key(|own| own.oldest_wal(current))
            .map(|own| vec![own.family.id])
    }

    /// Called after a flush of these families has failed: if it included several, they are flushed together
    /// again.
    pub fn regroup(&mut self, families: impl Iterator<Item = u32>) {
        let families: Vec<u32> = families.collect();
        if !self.atomic_flush && families.len() > 1 {
            self.flush_groups.push(FlushGroup {
                families,
                switched: true,
            });
        }
    }

    /// `families`, and the families whose memtables are switched together with theirs: with `atomic_flush`,
    /// all that hold rows. A family whose rows a running flush has taken is among the latter only if it is
    /// named.
    pub fn switched_with(&self, families: Vec<u32>) -> Vec<u32> {
        if !self.atomic_flush || families.is_empty() {
            return families;
        }
        let holds_rows = |own: &FamilyState| !own.mem.table.is_empty() || own.unflushed() > 0;
        let is_named = |own: &FamilyState| families.contains(&own.family.id);
        let all = { self.families.values() }.filter(|own| is_named(own) || holds_rows(own));
        all.map(|own| own.family.id).collect()
    }

    /// True if the memtables of `families` may become immutable now.
    pub fn may_switch(&self, families: &[u32]) -> bool {
        let mut concerned = families.iter().filter_map(|id| self.families.get(id));
        concerned.all(|own| own.mem.table.is_empty() || own.has_room_for_immutable())
    }

    /// The oldest WAL with an outstanding section.
    pub fn oldest_section(&self) -> Option<u64> {
        self.sections.values().map(|section| section.wal).min()
    }

    /// The oldest WAL that any family needs.
    pub fn oldest_needed_wal(&self) -> u64 {
        self.oldest_needed_wal_after(&[])
    }

    /// Same as [`oldest_needed_wal`](Self::oldest_needed_wal), after the given numbers of the oldest
    /// memtables of some families are flushed.
    pub fn oldest_needed_wal_after(&self, flushes: &[(u32, usize)]) -> u64 {
        let current = self.current_wal();
        let oldest = |(id, family): (&u32, &FamilyState)| {
            let flushed = flushes.iter().find(|(flushed, _)| flushed == id);
            family.oldest_wal_after(flushed.map_or(0, |(_, memtables)| *memtables), current)
        };
        let families = self.families.iter().map(oldest);
        families.chain(self.oldest_section()).min().unwrap_or(current)
    }

    /// The oldest WAL that is needed without family `dropped`.
    pub fn oldest_needed_wal_without(&self, dropped: u32) -> u64 {
        let current = self.current_wal();
        let others = self
            .families
            .values()
            .filter(|family| family.family.id != dropped);
        let needed = others.map(|family| family.oldest_wal(current));
        needed.chain(self.oldest_section()).min().unwrap_or(current)
    }

    /// The oldest WAL that a recovery would replay, according to the MANIFEST.
    pub fn oldest_recorded_wal(&self) -> u64 {
        match self.two_phase {
            // A section may be in a WAL of which no family needs a row.
            true => self.recorded.min_log_number_to_keep,
            false => self.oldest_recorded_wal_of_rows(),
        }
    }

    /// The oldest WAL with rows that some family needs, according to the MANIFEST.
    pub fn oldest_recorded_wal_of_rows(&self) -> u64 {
        let families = self.families.values().map(|family| family.log_number).min();
        families.unwrap_or(0).max(self.recorded.min_log_number_to_keep)
    }

    /// The severest stall of all families.
    pub fn stall(&self) -> StallCondition {
        self.stalling_family(0)
            .map_or(StallCondition::Normal, |family| family.stall)
    }

    /// The family with the severest stall, if there is one; among delaying families, the one that delays the
    /// most.
    fn stalling_family(&self, delayed_write_rate: u64) -> Option<&FamilyState> {
        let severity = |family: &&FamilyState| match family.stall {
            StallCondition::Normal => (0, 0),
            StallCondition::Delayed { .. } => (1, u64::MAX - family.write_rate(delayed_write_rate)),
            StallCondition::Stopped { .. } => (2, 0),
        };
        let stalling = self.families.values();
        let stalling = stalling.filter(|family| family.stall != StallCondition::Normal);
        stalling.max_by_key(severity)
    }

    /// The cause of a stall of writes, and the rate of delayed ones.
    pub fn stall_reason(&self, delayed_write_rate: u64) -> Option<StallReason> {
        let stalling = self.stalling_family(delayed_write_rate);
        stalling.map(|family| StallReason {
            family: family.family.id,
            condition: family.stall,
            write_rate: family.write_rate(delayed_write_rate),
        })
    }

    /// Records that low-priority writes are slowed, to `rate` bytes per second, because the compactions of a
    /// family are behind. True if there is an event to send.
    pub fn record_low_pri(&mut self, rate: u64) -> bool {
        let behind = self.families.values().find(|family| family.behind);
        let Some(family) = behind.filter(|_| self.low_pri_stall.is_none()) else {
            return false;
        };
        let event = family.event_of(StallCondition::Normal, LOW_PRIORITY, StallTotal::default(), rate);
        self.low_pri_stall = Some((family.family.id, StallTotal::default()));
        self.stall_events.push(event);
        true
    }

    /// Records that low-priority writes are no longer slowed, if they were.
    pub fn record_caught_up(&mut self) {
        if self.families.values().any(|family| family.behind) {
            return;
        }
        let Some((id, stalled)) = self.low_pri_stall.take() else {
            return;
        };
        self.stall_events.push(match self.families.get(&id) {
            Some(family) => family.event_of(LOW_PRIORITY, StallCondition::Normal, stalled, 0),
            None => Event::stall_of_database(LOW_PRIORITY, StallCondition::Normal, stalled, (0, 0)),
        });
    }

    /// The family with the largest memtable, if that is not empty and the family may have one more immutable
    /// memtable.
    pub fn largest_memtable(&self) -> Option<u32> {
        // Flushing an empty memtable would free no memory.
        let written = |family: &&FamilyState| match family.mem.table.is_empty() {
            true => 0,
            false => family.mem.table.memory_usage(),
        };
        let largest = self.families.values().max_by_key(written)?;
        (written(&largest) > 0 && largest.has_room_for_immutable()).then_some(largest.family.id)
    }
}

/// The progress of a close.
#[derive(Debug, Default)]
pub(crate) enum Close {
    /// No close has begun: the database is open.
    #[default]
    No,
    /// A thread is closing the database; others wait for it.
    Begun,
    /// The outcome of the close.
    Done(Result<()>),
}

/// The names of actions that can fail, as they appear in error texts.
pub(crate) const FLUSH: &str = "flush";
pub(crate) const COMPACTION: &str = "compaction";
pub(crate) const INGESTION: &str = "ingestion";
pub(crate) const LISTENER: &str = "notify a listener";
pub(crate) const HOUSEKEEPING: &str = "housekeeping";
pub(crate) const APPEND_TO_WAL: &str = "append to the WAL";
pub(crate) const SWITCH_WAL: &str = "switch the WAL";
pub(crate) const WRITE_MANIFEST: &str = "write the MANIFEST";
pub(crate) const BEGIN_MANIFEST: &str = "begin a MANIFEST";

/// The cause of a stall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallReason {
    pub family: u32,
    pub condition: StallCondition,
    /// The rate of delayed writes in bytes per second.
    pub write_rate: u64,
}

/// The stall of low-priority writes while compactions are behind.
pub(crate) const LOW_PRIORITY: StallCondition = StallCondition::Delayed {
    cause: StallCause::LowPriority,
};

/// The stall while the WAL is locked.
pub(crate) const WAL_LOCKED: StallCondition = StallCondition::Stopped {
    cause: StallCause::WalLocked,
};

/// The stall while memtables of several databases exceed their memory limit.
pub(crate) const MEMORY_LIMIT: StallCondition = StallCondition::Stopped {
    cause: StallCause::WriteBufferManagerLimit,
};

/// The stall of a family with the maximum number of memtables.
pub(crate) const MEMTABLE_LIMIT: StallCondition = StallCondition::Stopped {
    cause: StallCause::MemtableLimit,
};
