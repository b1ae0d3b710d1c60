//! The holders of memory and files: iterators, snapshots, backups. Iterators record when they were opened and
//! what they read (`state/open_iterators.rs`), at the cost of two atomic operations. Other holders are not
//! recorded: replaced super versions are remembered, and their remaining holders are counted on request.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use memtable::Memtable;

use crate::state::db_inner::DbInner;
use crate::state::feed_cursors::PinningCursor;
use crate::state::handle::Db;
use crate::state::snapshot::PinnedSnapshot;
use crate::state::super_version::SuperVersion;

/// The data that is kept because it may still be read: see [`Db::pins`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// let snapshot = db.snapshot();
/// assert_eq!(db.pins().snapshots.len(), 1);
/// println!("{}", db.pins());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Open iterators, oldest first in each family. An iterator whose super version is among
    /// [`super_versions`](Self::super_versions) keeps the memory and files of that super version. The other
    /// iterators read the current super version, and keep nothing that would be freed without them.
    pub iterators: Vec<PinningIterator>,
    /// Replaced super versions that are still read, oldest first in each family.
    pub super_versions: Vec<PinnedSuperVersion>,
    /// Snapshots, oldest first. They keep row versions that compactions could drop, but no file and no
    /// memtable.
    pub snapshots: Vec<PinnedSnapshot>,
    /// Backups, checkpoints and other holders that prevent the deletion of files, oldest first.
    pub file_deletions: Vec<FileDeletionsHold>,
    /// Cursors of change feeds, by name, and the archived WALs that are kept for them.
    pub cursors: Vec<PinningCursor>,
    /// The number of files that would have been deleted otherwise.
    pub files_waiting: usize,
    /// The bytes of flushed memtables that readers still hold.
    pub memtable_bytes: u64,
    /// The bytes of tables that are not in the current version, but in an older one that is still read.
    pub file_bytes: u64,
}

/// An open iterator.
///
/// See the example of [`Pins`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinningIterator {
    /// The name of the column family that the iterator reads.
    pub column_family: String,
    /// The number of the super version that the iterator reads.
    pub super_version: u64,
    /// The time since the iterator was opened, exact to some milliseconds.
    pub age: Duration,
}

/// The memtables and files of a super version that was replaced by a flush or a compaction and is still read,
/// by iterators or by snapshots of a secondary.
///
/// See the example of [`Pins`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinnedSuperVersion {
    /// The name of the column family.
    pub column_family: String,
    /// The number of the super version, counted within the family.
    pub number: u64,
    /// The number of holders of the super version.
    pub holders: usize,
    /// The time since the super version was replaced.
    pub replaced_for: Duration,
    /// The number of the super version's memtables that are flushed.
    pub memtables: usize,
    /// The bytes of the pinned memtables.
    pub memtable_bytes: u64,
    /// The number of the super version's tables that are no longer in the current version.
    pub files: usize,
    /// The size in bytes of the tables that are no longer in the current version.
    pub file_bytes: u64,
}

/// A holder for which no file is deleted.
///
/// See the example of [`Pins`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDeletionsHold {
    /// The name of the holder: `backup 3`, `checkpoint DIR`, `export DIR`, `disable_file_deletions`, or the
    /// argument of [`Db::hold_file_deletions`].
    pub holder: String,
    /// The time since this holder stopped the deletion of files.
    pub age: Duration,
}

impl Db {
    /// Returns the holders of memory and files: iterators and snapshots with their age, and the memtables and
    /// files that they keep. The property `esker.pins` is the same as text, with the iterators of one super
    /// version in one line.
    ///
    /// The cost is a pass over the open iterators, and over the files of each family with replaced super
    /// versions that are still held.
    pub fn pins(&self) -> Pins {
        self.inner().pins()
    }
}

impl DbInner {
    pub(crate) fn pins(&self) -> Pins {
        let now = self.options.clock.now();
        let mut pins = Pins {
            snapshots: self.snapshots.pins(now),
            file_bytes: self
                .obsolete
                .zombie_bytes
                .load(std::sync::atomic::Ordering::Relaxed),
            cursors: self.pinning_cursors(),
            ..Pins::default()
        };
        let (holds, files_waiting) = self.obsolete.held();
        pins.files_waiting = files_waiting;
        pins.file_deletions = holds
            .into_iter()
            .map(|hold| FileDeletionsHold {
                holder: hold.holder.to_string(),
                age: now.saturating_sub(hold.since),
            })
            .collect();
        let families: Vec<_> = {
            let state = self.state.lock();
            let flushed = state.families.values().flat_map(|family| family.pinned());
            pins.memtable_bytes = flushed.map(|memtable| memtable.memory_allocated() as u64).sum();
            state
                .families
                .values()
                .map(|family| family.family.clone())
                .collect()
        };
        for family in families {
            let mut open = family.iterators.list();
            open.sort_unstable_by_key(|open| open.opened);
            pins.iterators
                .extend(open.into_iter().map(|open| PinningIterator {
                    column_family: family.name.clone(),
                    super_version: open.super_version,
                    age: now.saturating_sub(open.opened),
                }));
            let newest = family.super_version.load_full();
            let held = family.replaced.held();
            if held.is_empty() {
                continue;
            }
            let memtables: HashSet<*const Memtable> = memtables_of(&newest).map(Arc::as_ptr).collect();
            let files: HashSet<u64> = newest.version.all_files().map(|(_, file)| file.number).collect();
            for (old, holders, replaced) in held {
                let mut pinned = PinnedSuperVersion {
                    column_family: family.name.clone(),
                    number: old.number,
                    holders,
                    replaced_for: now.saturating_sub(replaced),
                    ..PinnedSuperVersion::default()
                };
                for memtable in memtables_of(&old).filter(|held| !memtables.contains(&Arc::as_ptr(held))) {
                    pinned.memtables += 1;
                    pinned.memtable_bytes += memtable.memory_allocated() as u64;
                }
                for (_, file) in old.version.all_files() {
                    if !files.contains(&file.number) {
                        pinned.files += 1;
                        pinned.file_bytes += file.size;
                    }
                }
                pins.super_versions.push(pinned);
            }
        }
        pins
    }
}

fn memtables_of(super_version: &SuperVersion) -> impl Iterator<Item = &Arc<Memtable>> {
    std::iter::once(&super_version.mem).chain(&super_version.immutable)
}

impl fmt::Display for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "held back: {} bytes of memtables, {} bytes of files",
            self.memtable_bytes, self.file_bytes
        )?;
        // The iterators are grouped by the super version that they read; within a group the oldest comes
        // first.
        let mut readers: BTreeMap<(&str, u64), Vec<Duration>> = BTreeMap::new();
        for open in &self.iterators {
            let of_one = readers.entry((&open.column_family, open.super_version));
            of_one.or_default().push(open.age);
        }
        for ((family, number), ages) in readers {
            let seconds = |age: Option<&Duration>| age.map_or(0, Duration::as_secs);
            writeln!(
                f,
                "{} iterators in [{family}] read super version {number}, {} to {} s old",
                ages.len(),
                seconds(ages.last()),
                seconds(ages.first())
            )?;
        }
        for held in &self.super_versions {
            writeln!(
                f,
                "{} iterators and others in [{}] on super version {}, replaced {} s ago: {} memtables, {} bytes; {} files, {} bytes",
                held.holders,
                held.column_family,
                held.number,
                held.replaced_for.as_secs(),
                held.memtables,
                held.memtable_bytes,
                held.files,
                held.file_bytes
            )?;
        }
        for snapshot in &self.snapshots {
            writeln!(
                f,
                "{} snapshots at sequence number {}, {} s old",
                snapshot.holders,
                snapshot.sequence_number,
                snapshot.age.as_secs()
            )?;
        }
        for cursor in &self.cursors {
            writeln!(f, "{cursor}")?;
        }
        for hold in &self.file_deletions {
            let age = hold.age.as_secs();
            writeln!(f, "{} has allowed no deletion of files for {age} s", hold.holder)?;
        }
        if !self.file_deletions.is_empty() {
            writeln!(f, "{} files wait to be deleted", self.files_waiting)?;
        }
        Ok(())
    }
}
