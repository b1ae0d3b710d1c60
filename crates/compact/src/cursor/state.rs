//! The state of a compaction cursor, its rules and its counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::internal_key::{self, TRAILER_LEN};
use base::merge::MergeOperator;
use base::{Cursor, Error, ErrorKind, Kind, MAX_SEQNO, Result, RowLimit, SeqNo, UserComparator};
use rangedel::{FragmentedTombstones, TombstoneCursor};

use super::older_versions::OlderVersions;
use super::operands::Operands;
use crate::beyond::BeyondOutput;
use crate::filter::{BlobHook, CompactionFilter};
use crate::stripes::Stripes;
use crate::tombstones::{CompactionTombstones, TombstoneRules};

/// The rules of one compaction or flush.
pub struct CompactionRules {
    /// The order of user keys.
    pub comparator: UserComparator,
    /// The live snapshots, in any order.
    pub snapshots: Vec<SeqNo>,
    /// The earliest snapshot by which a transaction may still check for conflicts; [`MAX_SEQNO`]: none. The
    /// last of the newer writes to a key leaves a trace in the output.
    pub earliest_write_conflict_snapshot: SeqNo,
    /// True if the output is the bottom of its key range: [`Plan::bottommost`](crate::Plan).
    pub bottommost: bool,
    /// The keys that may exist below the output.
    pub beyond: BeyondOutput,
    /// The range tombstones of all inputs.
    pub tombstones: CompactionTombstones,
    /// Combines merge operands; without an operator the operands stay as they are.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The user's compaction filter.
    pub filter: Option<Box<dyn CompactionFilter>>,
    /// The level that the filter is called with: the topmost level of the inputs.
    pub level: usize,
    /// Writes and reads blob files. Without a hook, blob indexes stay as they are.
    pub blobs: Option<Box<dyn BlobHook>>,
    /// For families with timestamps: history older than this timestamp may be dropped. `None`: no history may
    /// be dropped.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// For families with timestamps: entries newer than this timestamp are dropped. `None`: none are.
    pub trim_ts: Option<Arc<[u8]>>,
    /// Sequence numbers from this one on are not zeroed, even though every snapshot sees them. [`MAX_SEQNO`]
    /// or more: any may be zeroed.
    pub preserve_from: SeqNo,
    /// The limit for values that the merge operator and the filter produce. A larger value is refused: the
    /// operands stay uncombined, and a filtered row stays as it was.
    pub row_limit: RowLimit,
    /// True if entries of unknown kinds are kept as they are; if false, they fail the compaction.
    pub keep_unknown_kinds: bool,
    /// The exclusive upper bound of the keys, a user key without timestamp.
    pub end: Option<Vec<u8>>,
    /// Cancellation flags. If any of them is set, the cursor fails with `Aborted`. The cursor checks them
    /// while it drops entries, and [`write_outputs`](crate::outputs::write_outputs) checks them between
    /// blocks.
    pub cancelled: Vec<Arc<AtomicBool>>,
}

impl CompactionRules {
    /// The rules of a flush without snapshots; any key may exist below its output.
    pub fn new(comparator: UserComparator) -> CompactionRules {
        CompactionRules {
            snapshots: Vec::new(),
            earliest_write_conflict_snapshot: MAX_SEQNO,
            bottommost: false,
            beyond: BeyondOutput::anything(comparator.clone()),
            tombstones: CompactionTombstones::none(comparator.clone()),
            merge_operator: None,
            filter: None,
            level: 0,
            blobs: None,
            full_history_ts_low: None,
            trim_ts: None,
            preserve_from: SeqNo::MAX,
            row_limit: RowLimit::MAX,
            keep_unknown_kinds: false,
            end: None,
            cancelled: Vec::new(),
            comparator,
        }
    }
}

/// The counters of a compaction cursor. The names are RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// Entries read.
    pub num_input_records: u64,
    /// Deletions of any kind among the entries read.
    pub num_input_deletion_records: u64,
    /// Entries of an unknown kind among the entries read.
    pub num_input_corrupt_records: u64,
    /// Bytes of the internal keys read.
    pub total_input_raw_key_bytes: u64,
    /// Bytes of the values read.
    pub total_input_raw_value_bytes: u64,
    /// Entries that the compaction filter dropped or turned into deletions.
    pub num_record_drop_user: u64,
    /// Entries dropped because a newer version hides them from every reader.
    pub num_record_drop_hidden: u64,
    /// Deletions dropped because nothing is left that they hide.
    pub num_record_drop_obsolete: u64,
    /// Entries of `num_record_drop_hidden` that a range tombstone hides.
    pub num_record_drop_range_del: u64,
    /// Range tombstones dropped, counted once for each output file they would have been in.
    pub num_range_del_drop_obsolete: u64,
    /// Entries of `num_record_drop_obsolete` that were dropped above the bottom level, because no file below
    /// covers their key.
    pub num_optimized_del_drop_obsolete: u64,
    /// Single deletions dropped without having met their value.
    pub num_single_del_fallthru: u64,
    /// Single deletions that met something other than exactly one value.
    pub num_single_del_mismatch: u64,
    /// Merge operands that stay uncombined, because the operator failed or its result exceeds the row limit.
    pub num_merge_failures: u64,
    /// Values of the filter that exceed the row limit, and entities with two columns of one name: their rows
    /// stayed as they were.
    pub num_filter_values_refused: u64,
    /// Entries of kind `ValuePreferredSeqno` that took the sequence number they prefer.
    pub num_timed_put_swap_preferred_seqno: u64,
    /// Blobs read.
    pub num_blobs_read: u64,
    /// Blobs moved to another file.
    pub num_blobs_relocated: u64,
}

/// The location of the current entry's value.
#[derive(Clone, Copy)]
pub(super) enum ValueAt {
    /// The cursor is not valid.
    Nowhere,
    /// The value is empty.
    Empty,
    /// The value at the input's position.
    Input,
    /// The value is this number of bytes at the start of the value at the input's position.
    InputPrefix(usize),
    /// The current value is in `buffer`.
    Buffer,
    /// The value is in `operands`, at this offset and with this length.
    Operand(usize, usize),
}

/// The state in which the current key has no version in any stripe so far: the number is above every ceiling,
/// so nothing is hidden.
pub(super) const NO_STRIPE: SeqNo = SeqNo::MAX;

/// A cursor over the surviving entries of `input`, whose entries come in the order of internal keys.
///
/// It only moves forward: [`seek_to_first`](CompactionCursor::seek_to_first), then
/// [`next`](CompactionCursor::next) while [`valid`](CompactionCursor::valid); then
/// [`status`](CompactionCursor::status) distinguishes the end of the input from an error.
pub struct CompactionCursor<C> {
    pub(super) input: C,
    /// The current entry's internal key. Its user key is that of the last entry taken from the input.
    pub(super) key: Vec<u8>,
    pub(super) value: ValueAt,
    pub(super) buffer: Vec<u8>,
    /// True if the input has moved past the current entry already.
    pub(super) ahead: bool,
    /// True if the current position is not an entry, but the start of a range tombstone.
    pub(super) is_tombstone_start: bool,
    /// True if the current entry is the first one yielded of its user key, timestamps ignored.
    pub(super) starts_user_key: bool,
    pub(super) error: Option<Error>,

    // State of the user key in `key`.
    /// True if `key` holds a key; if false, the next entry is the first version of its key.
    pub(super) has_key: bool,
    /// True if an entry of the key (with timestamp) was yielded.
    pub(super) shown: bool,
    /// True if an entry of the key (timestamps ignored) was yielded.
    pub(super) shown_user_key: bool,
    /// The stripe of the last version met; later versions in the same stripe are hidden.
    pub(super) last_ceiling: SeqNo,
    /// True if the last entry yielded had its sequence number set to 0.
    pub(super) zeroed: bool,
    /// True if the key's timestamp is older than `full_history_ts_low`.
    pub(super) below_low: bool,
    /// True if merge operands were yielded uncombined: they do not hide later entries in their stripe.
    pub(super) unmerged: bool,
    /// True if a single deletion was yielded and its value comes next: that value is yielded empty.
    pub(super) clear_next: bool,

    // The configuration, in the form that the loop over the entries needs.
    pub(super) cmp: UserComparator,
    pub(super) ts_size: usize,
    /// True if entries need more than the order of bytes, snapshots and the bottom level: all of them then
    /// take the slow path.
    pub(super) slow: bool,
    /// In a compaction to the bottommost level, sequence numbers below this number are set to 0; 0: no
    /// sequence number is changed.
    pub(super) zero_below: SeqNo,
    pub(super) end: Option<Vec<u8>>,
    pub(super) stripes: Stripes,
    pub(super) earliest_write_conflict_snapshot: SeqNo,
    pub(super) bottommost: bool,
    pub(super) beyond: BeyondOutput,
    pub(super) tombstones: CompactionTombstones,
    pub(super) covering: TombstoneCursor,
    pub(super) has_tombstones: bool,
    pub(super) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(super) filter: Option<Box<dyn CompactionFilter>>,
    pub(super) level: usize,
    pub(super) blobs: Option<Box<dyn BlobHook>>,
    /// Chooses by size and by newer versions which values go to blob files.
    pub(super) older_versions: OlderVersions,
    pub(super) full_history_ts_low: Option<Vec<u8>>,
    pub(super) trim_ts: Option<Arc<[u8]>>,
    pub(super) row_limit: RowLimit,
    /// The first few user keys whose filter result exceeded the row limit, each with its error.
    pub(super) refused: Vec<(Vec<u8>, Error)>,
    pub(super) keep_unknown_kinds: bool,
    pub(super) cancelled: Vec<Arc<AtomicBool>>,

    /// The fragments of range tombstones. The fragments from `next_start` on have not been yielded.
    pub(super) starts: Arc<FragmentedTombstones>,
    pub(super) next_start: usize,
    pub(super) operands: Operands,
    /// A buffer for the last key of a block.
    pub(super) block_key: Vec<u8>,
    pub(super) stats: CompactionStats,
}

/// The relation of an entry's user key to that of the previous entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    OtherTimestamp,
    OtherKey,
}

impl<C: Cursor> CompactionCursor<C> {
    /// A cursor over `input`, which is not positioned yet.
    pub fn new(input: C, rules: CompactionRules) -> CompactionCursor<C> {
        let stripes = Stripes::new(rules.snapshots);
        let ts_size = rules.comparator.timestamp_size();
        let low = rules.full_history_ts_low.filter(|_| ts_size > 0);
        let covering = rules.tombstones.cursor(low.as_deref());
        let has_tombstones = !rules.tombstones.is_empty();
        let older_versions = OlderVersions::new(rules.blobs.as_deref());
        // At the bottom most range tombstones are dropped, and there are no files below to align the outputs
        // with.
        let starts = if rules.bottommost {
            FragmentedTombstones::empty()
        } else {
            Arc::clone(rules.tombstones.fragments())
        };
        CompactionCursor {
            input,
            key: Vec::new(),
            value: ValueAt::Nowhere,
            buffer: Vec::new(),
            ahead: false,
            is_tombstone_start: false,
            starts_user_key: false,
            error: None,
            has_key: false,
            shown: false,
            shown_user_key: false,
            last_ceiling: NO_STRIPE,
            zeroed: false,
            below_low: false,
            unmerged: false,
            clear_next: false,
            slow: ts_size > 0
                || matches!(rules.comparator, UserComparator::Custom(_))
                || has_tombstones
                || rules.filter.is_some()
                || rules.blobs.is_some(),
            zero_below: if rules.bottommost {
                (stripes.earliest() + 1).min(rules.preserve_from)
            } else {
                0
            },
            ts_size,
            end: rules.end,
            stripes,
            earliest_write_conflict_snapshot: rules.earliest_write_conflict_snapshot,
            bottommost: rules.bottommost,
            beyond: rules.beyond,
            tombstones: rules.tombstones,
            covering,
            has_tombstones,
            merge_operator: rules.merge_operator,
            filter: rules.filter,
            level: rules.level,
            blobs: rules.blobs,
            older_versions,
            full_history_ts_low: low,
            trim_ts: rules.trim_ts.filter(|_| ts_size > 0),
            row_limit: rules.row_limit,
            refused: Vec::new(),
            keep_unknown_kinds: rules.keep_unknown_kinds,
            cancelled: rules.cancelled,
            starts,
            next_start: 0,
            operands: Operands::default(),
            block_key: Vec::new(),
            stats: CompactionStats::default(),
            cmp: rules.comparator,
        }
    }

    /// True while the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        !matches!(self.value, ValueAt::Nowhere)
    }

    /// The internal key to write. Requires [`valid`](CompactionCursor::valid).
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value to write. Requires [`valid`](CompactionCursor::valid).
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.value {
            ValueAt::Input => self.input.value(),
            ValueAt::Nowhere | ValueAt::Empty => &[],
            ValueAt::InputPrefix(len) => &self.input.value()[..len],
            ValueAt::Buffer => &self.buffer,
            ValueAt::Operand(at, len) => self.operands.bytes(at, len),
        }
    }

    /// The error that ended the iteration, if one did: an error of the input, `Corruption` for a malformed
    /// key, an error of the filter or the blob hook, `Aborted` after a cancellation.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The counters so far.
    pub fn stats(&self) -> &CompactionStats {
        &self.stats
    }

    /// The first 100 user keys whose filter result exceeded the row limit, with the error of each.
    pub fn refused(&self) -> &[(Vec<u8>, Error)] {
        &self.refused
    }

    /// The rules that apply to the output's range tombstones.
    pub(crate) fn tombstone_output(&mut self) -> (&CompactionTombstones, TombstoneRules<'_>) {
        (
            &self.tombstones,
            TombstoneRules {
                full_history_ts_low: self.full_history_ts_low.as_deref(),
                stripes: &mut self.stripes,
                dropped: &mut self.stats.num_range_del_drop_obsolete,
            },
        )
    }

    pub(crate) fn comparator(&self) -> &UserComparator {
        &self.cmp
    }

    /// The keys that may exist below the output, positioned at the first key.
    pub(crate) fn beyond(&self) -> BeyondOutput {
        self.beyond.clone()
    }

    /// Drops the input's entry as hidden. True if the cursor must stop.
    #[inline]
    pub(super) fn drop_hidden(&mut self) -> bool {
        self.stats.num_record_drop_hidden += 1;
        self.skip_entry()
    }

    /// Skips the input's entry. True if the cursor must stop because it was cancelled.
    #[inline]
    pub(super) fn skip_entry(&mut self) -> bool {
        self.input.next();
        self.stops_if_cancelled()
    }

    /// True if the compaction was cancelled; the cursor has then failed.
    #[inline]
    pub(crate) fn stops_if_cancelled(&mut self) -> bool {
        let mut flags = self.cancelled.iter();
        let is_cancelled = flags.any(|flag| flag.load(Ordering::Relaxed));
        if is_cancelled {
            self.fail(Error::new(ErrorKind::Aborted, "compaction was cancelled"));
        }
        is_cancelled
    }

    #[inline]
    pub(super) fn set_trailer(&mut self, seqno: SeqNo, kind: Kind) {
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&internal_key::pack_trailer(seqno, kind as u8).to_le_bytes());
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        self.value = ValueAt::Nowhere;
        self.operands.clear();
        self.error = Some(error);
    }
}
