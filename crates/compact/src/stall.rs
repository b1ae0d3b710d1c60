//! Decides by RocksDB's rules when writes are slowed or stopped, so that flushes and compactions keep up.

use std::fmt;

use crate::options::LeveledOptions;

/// Why writes wait.
///
/// See the example of [`StallCondition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallCause {
    /// Too many memtables wait for a flush.
    MemtableLimit,
    /// L0 has too many files.
    L0FileCountLimit,
    /// Too many bytes wait for compaction.
    PendingCompactionBytes,
    /// The memtables that share a write buffer manager take too much memory.
    WriteBufferManagerLimit,
    /// Compactions are behind, and the write has low priority.
    LowPriority,
    /// A user has locked the WAL.
    WalLocked,
}

/// Whether writes may proceed.
///
/// ```
/// # use esker_compact::stall as esker;
///
/// use esker::{StallCause, StallCondition};
///
/// let condition = StallCondition::Stopped { cause: StallCause::L0FileCountLimit };
/// assert_eq!(condition.option(), "level0_stop_writes_trigger");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallCondition {
    /// Writes proceed at full speed.
    Normal,
    /// Writes proceed at a [limited rate](crate::pace::write_rate).
    Delayed {
        /// Why writes are delayed.
        cause: StallCause,
    },
    /// Writes are stopped.
    Stopped {
        /// Why writes are stopped.
        cause: StallCause,
    },
}

impl StallCondition {
    /// The option whose limit was reached: a name of RocksDB's, or `write_buffer_manager`, `low_pri` and
    /// `lock_wal` for what is no option of the database. Empty if writes proceed.
    pub fn option(self) -> &'static str {
        let (cause, stopped) = match self {
            StallCondition::Normal => return "",
            StallCondition::Delayed { cause } => (cause, false),
            StallCondition::Stopped { cause } => (cause, true),
        };
        match (cause, stopped) {
            (StallCause::MemtableLimit, _) => "max_write_buffer_number",
            (StallCause::L0FileCountLimit, false) => "level0_slowdown_writes_trigger",
            (StallCause::L0FileCountLimit, true) => "level0_stop_writes_trigger",
            (StallCause::PendingCompactionBytes, false) => "soft_pending_compaction_bytes_limit",
            (StallCause::PendingCompactionBytes, true) => "hard_pending_compaction_bytes_limit",
            (StallCause::WriteBufferManagerLimit, _) => "write_buffer_manager",
            (StallCause::LowPriority, _) => "low_pri",
            (StallCause::WalLocked, _) => "lock_wal",
        }
    }
}

impl StallCause {
    /// All causes of a stall.
    pub const ALL: [StallCause; 6] = [
        StallCause::MemtableLimit,
        StallCause::L0FileCountLimit,
        StallCause::PendingCompactionBytes,
        StallCause::WriteBufferManagerLimit,
        StallCause::LowPriority,
        StallCause::WalLocked,
    ];
}

impl fmt::Display for StallCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StallCondition::Normal => f.write_str("normal"),
            StallCondition::Delayed { cause } => write!(f, "delayed ({cause})"),
            StallCondition::Stopped { cause } => write!(f, "stopped ({cause})"),
        }
    }
}

impl fmt::Display for StallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StallCause::MemtableLimit => "memtable-limit",
            StallCause::L0FileCountLimit => "l0-file-count-limit",
            StallCause::PendingCompactionBytes => "pending-compaction-bytes",
            StallCause::WriteBufferManagerLimit => "write-buffer-manager-limit",
            StallCause::LowPriority => "low-priority",
            StallCause::WalLocked => "wal-locked",
        })
    }
}

/// The limits for the memtables of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBufferLimits {
    /// The maximum number of memtables, including the mutable one. Default: 2.
    pub max_write_buffer_number: usize,
    /// The number of immutable memtables that triggers a flush. Default: 1.
    pub min_write_buffer_number_to_merge: usize,
}

impl Default for WriteBufferLimits {
    fn default() -> WriteBufferLimits {
        WriteBufferLimits {
            max_write_buffer_number: 2,
            min_write_buffer_number_to_merge: 1,
        }
    }
}

/// The state of one column family that decides whether writes stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallInputs {
    /// The number of immutable memtables that are not flushed.
    pub unflushed_memtables: usize,
    /// The number of files in L0.
    pub l0_files: usize,
    /// [`Scores::pending_compaction_bytes`](crate::score::Scores::pending_compaction_bytes).
    pub pending_compaction_bytes: u64,
}

/// Whether writes to the family may proceed. Stops take precedence over delays; among equals memtables come
/// first, then L0, then pending bytes.
pub fn condition(
    inputs: StallInputs,
    options: &LeveledOptions,
    buffers: WriteBufferLimits,
) -> StallCondition {
    let compacts = !options.disable_auto_compactions;
    let over = |limit: u64| compacts && limit > 0 && inputs.pending_compaction_bytes >= limit;
    let stopped = |cause| StallCondition::Stopped { cause };
    let delayed = |cause| StallCondition::Delayed { cause };
    if inputs.unflushed_memtables >= buffers.max_write_buffer_number {
        stopped(StallCause::MemtableLimit)
    } else if compacts && inputs.l0_files >= options.level0_stop_writes_trigger {
        stopped(StallCause::L0FileCountLimit)
    } else if over(options.hard_pending_compaction_bytes_limit) {
        stopped(StallCause::PendingCompactionBytes)
    } else if buffers.max_write_buffer_number > 3
        && inputs.unflushed_memtables >= buffers.max_write_buffer_number - 1
        && inputs.unflushed_memtables > buffers.min_write_buffer_number_to_merge
    {
        delayed(StallCause::MemtableLimit)
    } else if compacts
        && options
            .level0_slowdown_writes_trigger
            .is_some_and(|trigger| inputs.l0_files >= trigger)
    {
        delayed(StallCause::L0FileCountLimit)
    } else if over(options.soft_pending_compaction_bytes_limit) {
        delayed(StallCause::PendingCompactionBytes)
    } else {
        StallCondition::Normal
    }
}

/// True if compactions should take more than one thread although writes are not delayed yet, by RocksDB's
/// early signs of falling behind. `bottommost_bytes`: the size of the files with no data below them.
pub fn wants_more_compactions(
    inputs: StallInputs,
    options: &LeveledOptions,
    bottommost_bytes: u64,
    files_marked: usize,
) -> bool {
    let trigger = options.level0_file_num_compaction_trigger;
    let slowdown = options.level0_slowdown_writes_trigger.unwrap_or(trigger);
    let quarter_way = trigger + slowdown.saturating_sub(trigger) / 4;
    if inputs.l0_files >= quarter_way.min(trigger * 2) {
        return true;
    }
    let soft = options.soft_pending_compaction_bytes_limit;
    let due = if bottommost_bytes == 0 {
        soft / 4
    } else {
        // A small family must not take the threads of others: at least a full compaction of L0 must be due.
        let behind = (bottommost_bytes / 8).max(options.max_bytes_for_level_base.saturating_mul(2));
        behind.min(soft / 4)
    };
    soft == 0 || inputs.pending_compaction_bytes >= due || files_marked >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unflushed_memtables: usize, l0_files: usize, gib_due: u64) -> String {
        let inputs = StallInputs {
            unflushed_memtables,
            l0_files,
            pending_compaction_bytes: gib_due << 30,
        };
        let buffers = WriteBufferLimits {
            max_write_buffer_number: 4,
            min_write_buffer_number_to_merge: 1,
        };
        condition(inputs, &LeveledOptions::default(), buffers).to_string()
    }

    #[test]
    fn each_limit_has_its_condition_and_stops_come_first() {
        assert_eq!(at(2, 19, 63), "normal");
        assert_eq!(at(3, 0, 0), "delayed (memtable-limit)");
        assert_eq!(at(4, 0, 0), "stopped (memtable-limit)");
        assert_eq!(at(0, 20, 0), "delayed (l0-file-count-limit)");
        assert_eq!(at(0, 36, 0), "stopped (l0-file-count-limit)");
        assert_eq!(at(0, 0, 64), "delayed (pending-compaction-bytes)");
        assert_eq!(at(0, 0, 256), "stopped (pending-compaction-bytes)");
        assert_eq!(at(3, 36, 256), "stopped (l0-file-count-limit)");
        assert_eq!(at(4, 36, 256), "stopped (memtable-limit)");
    }

    #[test]
    fn without_automatic_compactions_only_memtables_stall() {
        let options = LeveledOptions {
            disable_auto_compactions: true,
            ..LeveledOptions::default()
        };
        let inputs = StallInputs {
            unflushed_memtables: 1,
            l0_files: 1000,
            pending_compaction_bytes: u64::MAX,
        };
        assert_eq!(
            condition(inputs, &options, WriteBufferLimits::default()),
            StallCondition::Normal
        );
    }

    #[test]
    fn two_memtables_are_not_delayed_before_they_stop() {
        let inputs = |unflushed_memtables| StallInputs {
            unflushed_memtables,
            ..StallInputs::default()
        };
        let of = |n| {
            condition(
                inputs(n),
                &LeveledOptions::default(),
                WriteBufferLimits::default(),
            )
        };
        assert_eq!(of(1), StallCondition::Normal);
        assert_eq!(
            of(2),
            StallCondition::Stopped {
                cause: StallCause::MemtableLimit
            }
        );
    }

    #[test]
    fn more_compactions_run_before_writes_are_delayed() {
        let options = LeveledOptions::default();
        let inputs = |l0_files, mib: u64| StallInputs {
            unflushed_memtables: 0,
            l0_files,
            pending_compaction_bytes: mib << 20,
        };
        assert!(!wants_more_compactions(inputs(7, 0), &options, 0, 0));
        assert!(wants_more_compactions(inputs(8, 0), &options, 0, 0));
        assert!(!wants_more_compactions(inputs(0, 511), &options, 1 << 30, 0));
        assert!(wants_more_compactions(inputs(0, 512), &options, 1 << 30, 0));
        assert!(wants_more_compactions(inputs(0, 0), &options, 1 << 30, 2));
    }
}
