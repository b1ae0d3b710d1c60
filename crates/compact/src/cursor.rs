//! The compaction cursor: walks the merged entries of a compaction's inputs and shows those that must survive it.
//!
//! What survives is decided as RocksDB decides it. Snapshots cut sequence numbers into [stripes](crate::stripes); of
//! the versions of a key within a stripe readers see the newest, so
//!
//! * older versions in the same stripe go;
//! * a deletion goes once nothing it hides can be left: every snapshot sees it and its key is not
//!   [beyond the output](crate::beyond), or it is the last version of its key there and nothing is beyond;
//! * a single deletion goes together with the value it meets in its stripe, or as a deletion does;
//! * merge operands are combined within their stripe, with their value if it is there, and become a value themselves
//!   where the history of their key ends; what cannot be combined stays as it is;
//! * what a range tombstone of the same stripe covers goes;
//! * at the bottom, what every snapshot sees gets sequence number 0.
//!
//! In families with timestamps every version of a key is a key of its own, except those older than
//! `full_history_ts_low`, which are treated as versions of one.
//!
//! The plain case - a value, nothing configured that may touch it - costs one comparison with the key before, one copy
//! of the key and no allocation; everything else is out of line.

mod merge;
mod older_versions;
mod rules;
#[cfg(test)]
mod tests;
mod whole_block;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Atomically};

use base::internal_key::{self, TRAILER_LEN};
use base::merge::MergeOperator;
use base::{Cursor, Error, ErrorKind, Kind, MAX_SEQNO, Result, RowLimit, SeqNo, UserComparator};
use rangedel::{FragmentedTombstones, TombstoneCursor};

use crate::beyond::BeyondOutput;
use crate::filter::{BlobHook, CompactionFilter};
use crate::order;
use crate::stripes::Stripes;
use crate::tombstones::CompactionTombstones;
use older_versions::OlderVersions;

pub(crate) use whole_block::BlockRun;

/// What a compaction, or a flush, has to respect.
pub struct CompactionRules {
    /// The order of user keys.
    pub comparator: UserComparator,
    /// Snapshots alive, in any order.
    pub snapshots: Vec<SeqNo>,
    /// The earliest snapshot by which a transaction may still check for conflicts; [`MAX_SEQNO`]: none. Of the writes to
    /// a key that are newer, the last leaves a trace.
    pub earliest_write_conflict_snapshot: SeqNo,
    /// The output is the bottom of its key range: [`Plan::bottommost`](crate::Plan).
    pub bottommost: bool,
    /// What lies below the output.
    pub beyond: BeyondOutput,
    /// The range tombstones of all inputs.
    pub tombstones: CompactionTombstones,
    /// Combines merge operands; without one they stay as they are.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The user's filter.
    pub filter: Option<Box<dyn CompactionFilter>>,
    /// The level told to the filter: the topmost of the inputs.
    pub level: usize,
    /// Writes and reads blob files. Without one, blob indexes stay as they are.
    pub blobs: Option<Box<dyn BlobHook>>,
    /// Of families with timestamps: history older than this timestamp may be dropped. `None`: none of it.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Sequence numbers from this one on stay what they are, though every snapshot sees them. [`MAX_SEQNO`] and more: none do.
    pub preserve_from: SeqNo,
    /// Limit of the values that the merge operator and the filter produce. A larger one is refused: operands stay uncombined, and a
    /// filtered row stays as it was.
    pub row_limit: RowLimit,
    /// Entries of unknown kind are kept as they are instead of failing the compaction.
    pub keep_unknown_kinds: bool,
    /// Exclusive upper bound, a user key without timestamp.
    pub end: Option<Vec<u8>>,
    /// Any of them, set from outside, makes the cursor fail with `Aborted`: looked at while entries are dropped, and by
    /// [`write_outputs`](crate::outputs::write_outputs) between blocks.
    pub cancelled: Vec<Arc<AtomicBool>>,
}

impl CompactionRules {
    /// Of a flush without snapshots: nothing is known of what lies below.
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
            preserve_from: SeqNo::MAX,
            row_limit: RowLimit::MAX,
            keep_unknown_kinds: false,
            end: None,
            cancelled: Vec::new(),
            comparator,
        }
    }
}

/// What the cursor met and did. The names are RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// Entries read.
    pub num_input_records: u64,
    /// Of them, deletions of any kind.
    pub num_input_deletion_records: u64,
    /// Of them, of an unknown kind.
    pub num_input_corrupt_records: u64,
    /// Bytes of their internal keys.
    pub total_input_raw_key_bytes: u64,
    /// Bytes of their values.
    pub total_input_raw_value_bytes: u64,
    /// Dropped or turned into deletions by the filter.
    pub num_record_drop_user: u64,
    /// Dropped because a newer version hides them from every reader.
    pub num_record_drop_hidden: u64,
    /// Deletions dropped because nothing is left for them to hide.
    pub num_record_drop_obsolete: u64,
    /// Of `num_record_drop_hidden`, hidden by a range tombstone.
    pub num_record_drop_range_del: u64,
    /// Range tombstones dropped, once for each output file they would have been in.
    pub num_range_del_drop_obsolete: u64,
    /// Of `num_record_drop_obsolete`, dropped above the bottom because their key lies in a gap of the levels below.
    pub num_optimized_del_drop_obsolete: u64,
    /// Single deletions dropped without having met their value.
    pub num_single_del_fallthru: u64,
    /// Single deletions that met something else than one value.
    pub num_single_del_mismatch: u64,
    /// Merge operands that the operator refused to combine, or made more of than a row can hold, and that stay.
    pub num_merge_failures: u64,
    /// Values of the filter that no row can hold: the rows stayed as they were.
    pub num_filter_values_too_large: u64,
    /// Entries of kind `ValuePreferredSeqno` that took the sequence number they prefer.
    pub num_timed_put_swap_preferred_seqno: u64,
    /// Blobs read.
    pub num_blobs_read: u64,
    /// Blobs moved to another file.
    pub num_blobs_relocated: u64,
}

/// Where the value of the current entry is.
#[derive(Clone, Copy)]
enum ValueAt {
    /// Not valid.
    Nowhere,
    /// It is empty.
    Empty,
    /// Where the input stands.
    Input,
    /// There, but only its first bytes.
    InputPrefix(usize),
    /// In `buffer`.
    Buffer,
    /// In `operands`, at an offset and of a length.
    Operand(usize, usize),
}

/// No version of the key was met in any stripe yet: above every ceiling, so that nothing is hidden.
const NO_STRIPE: SeqNo = SeqNo::MAX;

/// Walks what survives of the entries of `input`, which come in the order of internal keys.
///
/// Forward only: [`seek_to_first`](CompactionCursor::seek_to_first), then [`next`](CompactionCursor::next) while
/// [`valid`](CompactionCursor::valid); then [`status`](CompactionCursor::status) tells an end from an error.
pub struct CompactionCursor<C> {
    input: C,
    /// The current entry's internal key. Its user key is that of the last entry taken from the input.
    key: Vec<u8>,
    value: ValueAt,
    buffer: Vec<u8>,
    /// The input stands behind the current entry already.
    ahead: bool,
    /// The current entry is none, but the place where a range tombstone begins.
    is_tombstone_start: bool,
    /// The current entry is the first shown of its user key, timestamps left out.
    starts_user_key: bool,
    error: Option<Error>,

    // About the user key of `key`.
    /// False: whatever comes next is the first version of its key.
    has_key: bool,
    /// An entry of the key (with timestamp) was shown.
    shown: bool,
    /// An entry of the key (timestamps left out) was shown.
    shown_user_key: bool,
    /// Stripe of the last version met; what follows in the same stripe is hidden.
    last_ceiling: SeqNo,
    /// The last entry shown has sequence number 0 now.
    zeroed: bool,
    /// Its timestamp is older than `full_history_ts_low`.
    below_low: bool,
    /// Operands were shown uncombined: what follows in their stripe is not hidden by them.
    unmerged: bool,
    /// A single deletion was shown although its value is next: that is shown without its bytes.
    clear_next: bool,

    // Configuration, in the form the loop needs it.
    cmp: UserComparator,
    ts_size: usize,
    /// Something beyond plain byte order, snapshots and the bottom is to be respected.
    slow: bool,
    /// Below this, what every snapshot sees at the bottom gets sequence number 0. 0: nothing does.
    zero_below: SeqNo,
    end: Option<Vec<u8>>,
    stripes: Stripes,
    earliest_write_conflict_snapshot: SeqNo,
    bottommost: bool,
    beyond: BeyondOutput,
    tombstones: CompactionTombstones,
    covering: TombstoneCursor,
    has_tombstones: bool,
    merge_operator: Option<Arc<dyn MergeOperator>>,
    filter: Option<Box<dyn CompactionFilter>>,
    level: usize,
    blobs: Option<Box<dyn BlobHook>>,
    /// Where values go by their size and by what stands before them.
    older_versions: OlderVersions,
    full_history_ts_low: Option<Vec<u8>>,
    row_limit: RowLimit,
    /// The user keys of rows that the filter would have made too large, the first few, and why.
    refused: Vec<(Vec<u8>, Error)>,
    keep_unknown_kinds: bool,
    cancelled: Vec<Arc<AtomicBool>>,

    /// Fragments whose starts are still to be shown, from `next_start` on.
    starts: Arc<FragmentedTombstones>,
    next_start: usize,
    operands: merge::Operands,
    /// Memory for the last key of a block.
    block_key: Vec<u8>,
    stats: CompactionStats,
}

/// How an entry's user key relates to that of the entry before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Same,
    OtherTimestamp,
    OtherKey,
}

impl<C: Cursor> CompactionCursor<C> {
    /// Over `input`, not placed yet.
    pub fn new(input: C, rules: CompactionRules) -> CompactionCursor<C> {
        let stripes = Stripes::new(rules.snapshots);
        let ts_size = rules.comparator.timestamp_size();
        let low = rules.full_history_ts_low.filter(|_| ts_size > 0);
        let covering = rules.tombstones.cursor(low.as_deref());
        let has_tombstones = !rules.tombstones.is_empty();
        let older_versions = OlderVersions::new(rules.blobs.as_deref());
        // At the bottom most tombstones go, and there is nothing below to align files with.
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
            row_limit: rules.row_limit,
            refused: Vec::new(),
            keep_unknown_kinds: rules.keep_unknown_kinds,
            cancelled: rules.cancelled,
            starts,
            next_start: 0,
            operands: merge::Operands::default(),
            block_key: Vec::new(),
            stats: CompactionStats::default(),
            cmp: rules.comparator,
        }
    }

    /// To the first surviving entry.
    pub fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.restart(0);
    }

    /// To the first surviving entry of the user keys from `start` on, given without timestamp.
    pub fn seek(&mut self, start: &[u8]) {
        let mut target = start.to_vec();
        // The greatest timestamp sorts first.
        target.resize(start.len() + self.ts_size, 0xff);
        let mut seek = Vec::new();
        internal_key::set_seek_target(&mut seek, &target, MAX_SEQNO);
        self.input.seek(&seek);
        let at = self.starts.seek(&self.cmp, &target);
        self.restart(at);
    }

    fn restart(&mut self, next_start: usize) {
        self.next_start = next_start;
        self.has_key = false;
        self.clear_next = false;
        self.error = None;
        self.operands.clear();
        self.advance();
    }

    /// True while it stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        !matches!(self.value, ValueAt::Nowhere)
    }

    /// The internal key as it is to be written. Requires [`valid`](CompactionCursor::valid).
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value as it is to be written. Requires [`valid`](CompactionCursor::valid).
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

    /// True where the current entry is no entry, but says that a range tombstone begins at its user key: a place where
    /// an output file may be cut. Not to be written; the tombstones of a file are written when it is closed.
    #[inline]
    pub fn is_tombstone_start(&self) -> bool {
        self.is_tombstone_start
    }

    /// True on the first entry shown of a user key (timestamps left out): files may be cut only before one.
    #[inline]
    pub fn starts_user_key(&self) -> bool {
        self.starts_user_key
    }

    /// To the next surviving entry. Requires [`valid`](CompactionCursor::valid).
    #[inline]
    pub fn next(&mut self) {
        base::invariant!(self.valid());
        if self.operands.pending() {
            return self.show_operand();
        }
        if !self.ahead {
            self.input.next();
        }
        self.advance();
    }

    /// The error that made it invalid, if one did: of the input, `Corruption` for a key that is none, of a filter's or
    /// blob hook's doing, `Aborted` when cancelled.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> &CompactionStats {
        &self.stats
    }

    /// The user keys of rows, the first 100, for which the filter gave a value that no row can hold, and what is too large.
    pub fn refused(&self) -> &[(Vec<u8>, Error)] {
        &self.refused
    }

    /// The rest of the rules, for whoever writes the tombstones of the output.
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

    /// What may lie below the output, from the first key on.
    pub(crate) fn beyond(&self) -> BeyondOutput {
        self.beyond.clone()
    }

    /// From where the input stands to the next entry that survives.
    fn advance(&mut self) {
        self.ahead = false;
        self.is_tombstone_start = false;
        loop {
            if !self.input.valid() {
                return self.finish();
            }
            let internal = self.input.key();
            let Some(user_len) = internal.len().checked_sub(TRAILER_LEN) else {
                let len = internal.len();
                return self.fail(Error::corruption(format!(
                    "internal key of {len} bytes in a compaction"
                )));
            };
            let user_key = &internal[..user_len];
            if let Some(end) = &self.end
                && order::bare(&self.cmp, self.cmp.strip_timestamp(user_key), end) != Ordering::Less
            {
                return self.finish();
            }
            let trailer = internal_key::trailer(internal);
            if self.slow {
                if self.advance_slowly(trailer) {
                    return;
                }
                continue;
            }

            let same = self.has_key && self.key.len() == internal.len() && self.key[..user_len] == *user_key;
            self.stats.num_input_records += 1;
            self.stats.total_input_raw_key_bytes += internal.len() as u64;
            self.stats.total_input_raw_value_bytes += self.input.value().len() as u64;
            if !same {
                self.key.clear();
                self.key.extend_from_slice(internal);
                self.has_key = true;
                self.shown = false;
                self.shown_user_key = false;
                self.last_ceiling = NO_STRIPE;
                self.zeroed = false;
                self.unmerged = false;
            }
            if trailer as u8 != Kind::Value as u8 || self.unmerged || self.clear_next {
                if self.consider(!same, trailer) {
                    return;
                }
                continue;
            }
            let seqno = trailer >> 8;
            let ceiling = self.stripes.of(seqno);
            let hidden = self.last_ceiling <= ceiling;
            self.last_ceiling = ceiling;
            if hidden {
                if self.drop_hidden() {
                    return;
                }
                continue;
            }
            let zero = seqno < self.zero_below;
            self.zeroed = zero;
            if zero {
                self.set_trailer(0, Kind::Value);
            } else if same {
                self.set_trailer(seqno, Kind::Value);
            }
            self.starts_user_key = !self.shown_user_key;
            self.shown = true;
            self.shown_user_key = true;
            self.value = ValueAt::Input;
            return;
        }
    }

    /// Drops the input's entry. True if the cursor must stop.
    #[inline]
    fn drop_hidden(&mut self) -> bool {
        self.stats.num_record_drop_hidden += 1;
        self.skip_entry()
    }

    /// Passes over the input's entry. True if the cursor must stop, being cancelled.
    #[inline]
    fn skip_entry(&mut self) -> bool {
        self.input.next();
        self.stops_if_cancelled()
    }

    /// True if the compaction was called off: then the cursor has failed.
    #[inline]
    pub(crate) fn stops_if_cancelled(&mut self) -> bool {
        let mut flags = self.cancelled.iter();
        let is_cancelled = flags.any(|flag| flag.load(Atomically::Relaxed));
        if is_cancelled {
            self.fail(Error::new(ErrorKind::Aborted, "compaction was cancelled"));
        }
        is_cancelled
    }

    #[inline]
    fn set_trailer(&mut self, seqno: SeqNo, kind: Kind) {
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&internal_key::pack_trailer(seqno, kind as u8).to_le_bytes());
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.value = ValueAt::Nowhere;
        self.operands.clear();
        self.error = Some(error);
    }

    /// The input is exhausted, or failed: what is left are places where tombstones begin.
    #[cold]
    fn finish(&mut self) {
        self.value = ValueAt::Nowhere;
        if !self.input.valid()
            && let Err(error) = self.input.status()
        {
            return self.fail(error);
        }
        self.show_tombstone_start(true);
    }
}

/// What [`CompactionTombstones::output`] needs of a cursor.
pub(crate) struct TombstoneRules<'a> {
    pub(crate) full_history_ts_low: Option<&'a [u8]>,
    pub(crate) stripes: &'a mut Stripes,
    pub(crate) dropped: &'a mut u64,
}
