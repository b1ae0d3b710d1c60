//! The range tombstones of a compaction: which entries of its input they hide, and which of them its output
//! still needs.
//!
//! A tombstone hides an older entry if no snapshot is between the two. In the output a fragment keeps only
//! the newest of the tombstones between two snapshots, and none that every snapshot sees and that hides
//! nothing below the output level. Fragments that no longer differ are joined again.

use std::cmp::Ordering;
use std::sync::Arc;

use base::{Error, Result, SeqNo, UserComparator};
use rangedel::{FragmentedTombstones, RangeTombstone, TombstoneCursor};

use crate::beyond::BeyondOutput;
use crate::order;
use crate::stripes::Stripes;

/// The range tombstones of all inputs of one compaction, fragmented together. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CompactionTombstones {
    cmp: UserComparator,
    all: Arc<FragmentedTombstones>,
    /// Tombstones newer than this timestamp hide nothing and are dropped.
    trim_ts: Option<Arc<[u8]>>,
}

impl CompactionTombstones {
    /// No tombstones, in the order `cmp`.
    pub fn none(cmp: UserComparator) -> CompactionTombstones {
        CompactionTombstones {
            cmp,
            all: FragmentedTombstones::empty(),
            trim_ts: None,
        }
    }

    /// The tombstones of `sets`, each truncated to the bounds of its file in the version
    /// ([`Plan::tombstone_bounds`](crate::Plan::tombstone_bounds)).
    pub fn new(cmp: UserComparator, sets: &[&FragmentedTombstones]) -> CompactionTombstones {
        let all = Arc::new(FragmentedTombstones::merge(&cmp, sets));
        CompactionTombstones {
            cmp,
            all,
            trim_ts: None,
        }
    }

    /// Drops the tombstones newer than `trim_ts`, as if they had never been written.
    pub fn trimmed_to(self, trim_ts: Arc<[u8]>) -> CompactionTombstones {
        CompactionTombstones {
            trim_ts: Some(trim_ts),
            ..self
        }
    }

    fn is_trimmed(&self, timestamp: &[u8]) -> bool {
        let newer = |trim_ts: &Arc<[u8]>| self.cmp.compare_timestamp(timestamp, trim_ts) == Ordering::Greater;
        self.trim_ts.as_ref().is_some_and(newer)
    }

    /// True if there are no tombstones.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The fragments, in order.
    pub fn fragments(&self) -> &Arc<FragmentedTombstones> {
        &self.all
    }

    /// True if history up to `timestamp` may be dropped, which is always so without timestamps.
    fn droppable(&self, timestamp: &[u8], full_history_ts_low: Option<&[u8]>) -> bool {
        timestamp.is_empty()
            || full_history_ts_low
                .is_some_and(|low| self.cmp.compare_timestamp(timestamp, low) == Ordering::Less)
    }

    /// A cursor that finds the tombstones which allow an entry to be dropped.
    pub(crate) fn cursor(&self, full_history_ts_low: Option<&[u8]>) -> TombstoneCursor {
        let hiding = if self.cmp.timestamp_size() == 0 {
            Arc::clone(&self.all)
        } else {
            // A range tombstone that is not older than `full_history_ts_low` hides nothing here: a reader may
            // still read as of the entry's own timestamp.
            let old = self.all.iter().flat_map(|fragment| {
                (0..fragment.seqnos.len())
                    .filter(move |&i| self.droppable(fragment.timestamp(i), full_history_ts_low))
                    .filter(move |&i| !self.is_trimmed(fragment.timestamp(i)))
                    .map(move |i| RangeTombstone {
                        start: [fragment.start, fragment.timestamp(i)].concat(),
                        end: [fragment.end, fragment.timestamp(i)].concat(),
                        seqno: fragment.seqnos[i],
                    })
            });
            Arc::new(FragmentedTombstones::build(old, &self.cmp))
        };
        TombstoneCursor::new(self.cmp.clone(), [hiding])
    }

    /// Passes the tombstones of an output file to `emit`: by start, newest first, truncated to the file's
    /// user keys from `lower` (`None`: the first) up to `upper`, exclusive (`None`: after the last), both
    /// without timestamp. Lower bounds must not descend from call to call with the same `beyond`.
    ///
    /// `Corruption` for a tombstone that a file's bounds truncate after a key, if the comparator cannot name
    /// the next key as its end. No release of RocksDB writes such bounds, and no bytes could express them.
    pub(crate) fn output(
        &self,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        rules: TombstoneRules<'_>,
        beyond: &mut BeyondOutput,
        mut emit: impl FnMut(&RangeTombstone) -> Result<()>,
    ) -> Result<()> {
        let cmp = &self.cmp;
        let droppable = |timestamp: &[u8]| self.droppable(timestamp, rules.full_history_ts_low);
        let first = match lower {
            Some(lower) => partition(self.all.len(), |i| {
                order::bare(cmp, self.all.fragment(i).end, lower) != Ordering::Greater
            }),
            None => 0,
        };
        let mut last: Option<Kept> = None;
        for i in first..self.all.len() {
            let fragment = self.all.fragment(i);
            let start = match lower {
                Some(lower) if order::bare(cmp, fragment.start, lower) == Ordering::Less => lower,
                _ => fragment.start,
            };
            let end = match upper {
                Some(upper) if order::bare(cmp, start, upper) != Ordering::Less => break,
                Some(upper) if order::bare(cmp, fragment.end, upper) == Ordering::Greater => upper,
                _ => fragment.end,
            };
            let mut kept = Kept::new(start, end);
            // The result is computed once for each fragment, and only if tombstones could be dropped.
            let mut needed = None;
            let mut newer: Option<(usize, SeqNo)> = None;
            for (n, &seqno) in fragment.seqnos.iter().enumerate() {
                let timestamp = fragment.timestamp(n);
                if self.is_trimmed(timestamp) {
                    *rules.dropped += 1;
                    continue;
                }
                let ceiling = rules.stripes.of(seqno);
                let repeats = newer.is_some_and(|(newer, at)| {
                    let newer = fragment.timestamp(newer);
                    at == ceiling
                        && droppable(newer)
                        && droppable(timestamp)
                        && self.not_older(newer, timestamp)
                });
                let obsolete = droppable(timestamp)
                    && seqno <= rules.stripes.earliest()
                    && !*needed.get_or_insert_with(|| beyond.may_overlap(start, end));
                if repeats || obsolete {
                    *rules.dropped += 1;
                    continue;
                }
                newer = Some((n, ceiling));
                kept.tombstones.push((timestamp, seqno));
            }
            if !kept.tombstones.is_empty()
                && ((!fragment.start_is_covered && start == fragment.start)
                    || (fragment.end_is_covered && end == fragment.end))
            {
                return Err(Error::corruption(
                    "range tombstone extends past the largest key of its file, and the comparator has no next key",
                ));
            }
            // Tombstones that were split by others, now dropped, are joined again.
            match &mut last {
                Some(last) if last.continues_in(&kept) => last.end = kept.end,
                _ => {
                    if let Some(last) = last.replace(kept) {
                        last.emit(&mut emit)?;
                    }
                }
            }
        }
        last.map_or(Ok(()), |last| last.emit(&mut emit))
    }

    fn not_older(&self, newer: &[u8], older: &[u8]) -> bool {
        newer.is_empty() || self.cmp.compare_timestamp(newer, older) != Ordering::Less
    }
}

/// A range of user keys, without timestamps, and the tombstones that are kept for it, newest first.
struct Kept<'a> {
    start: &'a [u8],
    end: &'a [u8],
    tombstones: Vec<(&'a [u8], SeqNo)>,
}

impl<'a> Kept<'a> {
    fn new(start: &'a [u8], end: &'a [u8]) -> Kept<'a> {
        Kept {
            start,
            end,
            tombstones: Vec::new(),
        }
    }

    fn continues_in(&self, next: &Kept<'_>) -> bool {
        self.end == next.start && self.tombstones == next.tombstones
    }

    fn emit(&self, emit: &mut impl FnMut(&RangeTombstone) -> Result<()>) -> Result<()> {
        for &(timestamp, seqno) in &self.tombstones {
            emit(&RangeTombstone {
                start: [self.start, timestamp].concat(),
                end: [self.end, timestamp].concat(),
                seqno,
            })?;
        }
        Ok(())
    }
}

/// The index of the first of `len` items for which `before` does not hold.
pub(crate) fn partition(len: usize, mut before: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The rules that [`CompactionTombstones::output`] takes from a cursor.
pub(crate) struct TombstoneRules<'a> {
    pub(crate) full_history_ts_low: Option<&'a [u8]>,
    pub(crate) stripes: &'a mut Stripes,
    pub(crate) dropped: &'a mut u64,
}
