//! Lookups of tombstones along the path of an iterator.

use base::{SeqNo, UserComparator};

use crate::bound::{stored, stored_timestamp_size};
use crate::entries::Query;
use crate::probe::{Extent, Probe};
use crate::source::TombstoneSource;

/// Finds the tombstones over an iterator's keys. Owns its sources.
///
/// It remembers the last answer and the range of keys for which it is valid. So a walk in either direction
/// costs two comparisons a key, however many sources there are, and a search only where a tombstone begins or
/// ends. Keys may be queried in any order.
#[derive(Clone, Debug)]
pub struct TombstoneCursor {
    cmp: UserComparator,
    read_ts: Option<Box<[u8]>>,
    sources: Vec<(TombstoneSource, usize)>,
    /// The last answer was `seqno`, for readers at `snapshot`, and is valid for the keys in `same`.
    known: Option<(SeqNo, SeqNo)>,
    same: Extent,
    /// The range of the last tombstone found.
    span: Extent,
    found: bool,
}

impl TombstoneCursor {
    /// A cursor over `sources`, which may be in any order and may overlap.
    pub fn new(
        cmp: UserComparator,
        sources: impl IntoIterator<Item = impl Into<TombstoneSource>>,
    ) -> TombstoneCursor {
        let mut cursor = TombstoneCursor {
            cmp,
            read_ts: None,
            sources: Vec::new(),
            known: None,
            same: Extent::default(),
            span: Extent::default(),
            found: false,
        };
        cursor.set_sources(sources);
        cursor
    }

    /// Makes reads use the timestamp `read_ts`: tombstones newer than it are ignored.
    pub fn with_read_timestamp(mut self, read_ts: Option<&[u8]>) -> TombstoneCursor {
        self.read_ts = read_ts.map(Into::into);
        self.known = None;
        self
    }

    /// Replaces the sources.
    pub fn set_sources(&mut self, sources: impl IntoIterator<Item = impl Into<TombstoneSource>>) {
        self.sources.clear();
        let sources = sources.into_iter().map(Into::into);
        self.sources.extend(
            sources
                .filter(|source| !source.is_empty())
                .map(|source| (source, 0)),
        );
        self.known = None;
        self.found = false;
    }

    /// True if there are no tombstones, so that no key is covered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The highest sequence number `<= snapshot` of a tombstone covering the entry `user_key`, or 0 if none
    /// does.
    ///
    /// With timestamps, only tombstones count that are neither older than the entry nor newer than the read
    /// timestamp.
    #[inline]
    pub fn covering(&mut self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        if self.sources.is_empty() {
            return 0;
        }
        match self.known {
            Some((seqno, known_snapshot))
                if known_snapshot == snapshot
                    && self.same.contains(&self.cmp, stored(&self.cmp, user_key)) =>
            {
                self.found = seqno > 0;
                seqno
            }
            _ => self.search(user_key, snapshot),
        }
    }

    #[inline(never)]
    fn search(&mut self, user_key: &[u8], snapshot: SeqNo) -> SeqNo {
        self.same.clear();
        let mut probe = Probe {
            cmp: &self.cmp,
            key: stored(&self.cmp, user_key),
            query: Query {
                snapshot,
                entry_ts: Some(self.cmp.timestamp(user_key)),
                read_ts: self.read_ts.as_deref(),
            },
            newest: 0,
            span: &mut self.span,
            same: &mut self.same,
            covered: false,
        };
        for (source, hint) in &mut self.sources {
            source.probe(&mut probe, hint);
        }
        let (newest, covered) = (probe.newest, probe.covered);
        self.found = newest > 0;
        // With timestamps the answer is valid for no other entry, except where there are no tombstones at
        // all.
        let holds = !covered || self.cmp.timestamp_size() == 0;
        self.known = holds.then_some((newest, snapshot));
        newest
    }

    /// The keys under the tombstone that [`covering`](Self::covering) last found: the first key, and the
    /// first key after them, both without timestamp. `None` if it found none, or the range has no first key
    /// (see [`Fragment::start_is_covered`](crate::Fragment::start_is_covered)).
    ///
    /// An iterator may skip entries in it that are older than the tombstone.
    pub fn span(&self) -> Option<(&[u8], &[u8])> {
        let (low, high) = (self.span.low.bound()?, self.span.high.bound()?);
        let bare = |key: &[u8]| key.len().saturating_sub(stored_timestamp_size(&self.cmp));
        (self.found && !low.after).then(|| (&low.key[..bare(low.key)], &high.key[..bare(high.key)]))
    }
}
