//! The inputs of a picker.

use std::sync::Arc;

use base::SeqNo;
use manifest::{FileMetadata, Version};
use rangedel::FragmentedTombstones;

use super::running::Running;
use crate::options::LeveledOptions;

/// The facts about files that the caller of a picker knows besides their metadata.
pub trait FileFacts {
    /// True if `file` may be moved to `output_level` unchanged: it has the compression and the path that a
    /// new file there would have.
    fn can_move(&self, _file: &FileMetadata, _output_level: usize) -> bool {
        true
    }

    /// The range tombstones of `file`, if they are known without reading it.
    fn range_tombstones(&self, _file: &FileMetadata) -> Option<Arc<FragmentedTombstones>> {
        None
    }

    /// The highest sequence number that all snapshots and all readers without a snapshot see: no reader sees
    /// entries that it hides. 0: unknown.
    fn visible_to_all(&self) -> SeqNo {
        0
    }

    /// True if the caller suggests that `file` be compacted when nothing is more urgent, besides the marks in
    /// its metadata.
    fn is_suggested(&self, _file: &FileMetadata) -> bool {
        false
    }

    /// True if the caller asks that `file` be rewritten in its level when nothing is more urgent.
    fn is_to_be_rewritten(&self, _file: &FileMetadata) -> bool {
        false
    }

    /// The highest timestamp of `file`, in a family with timestamps, if it is known without reading the file.
    fn max_timestamp(&self, _file: &FileMetadata) -> Option<Box<[u8]>> {
        None
    }

    /// False if rewriting `file` at the bottom would not change it although its sequence numbers suggest so,
    /// because its merge operands cannot be combined. Such a file would otherwise be picked again and again.
    fn worth_rewriting(&self, _file: &FileMetadata) -> bool {
        true
    }
}

/// The facts of a caller that knows only the metadata of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl FileFacts for NoFacts {}

/// The inputs of a picker.
#[derive(Clone, Copy)]
pub struct PickContext<'a> {
    /// The newest version.
    pub version: &'a Version,
    /// The options in force.
    pub options: &'a LeveledOptions,
    /// The running compactions.
    pub running: &'a Running,
    /// The oldest snapshot, or the last sequence number if there is no snapshot.
    pub oldest_snapshot: SeqNo,
    /// The current time in Unix seconds.
    pub now: u64,
    /// For families with timestamps: history older than this may be dropped.
    pub full_history_ts_low: Option<&'a [u8]>,
    /// The caller's knowledge of files.
    pub facts: &'a dyn FileFacts,
}
