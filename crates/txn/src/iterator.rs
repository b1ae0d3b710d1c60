//! An iterator of a transaction that takes note of what it passes.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use base::{Result, SeqNo};
use esker::{ColumnFamily, DbIterator};

use crate::key_range::KeyRange;
use crate::read_set::ReadSet;

/// An iterator over a column family with a transaction's writes over it, made by [`Transaction::scan`](crate::Transaction::scan). In a serializable
/// transaction the keys that it passes, and the gaps between them, count as read, and no others.
pub struct TransactionIterator {
    iter: DbIterator,
    recorder: Option<Recorder>,
}

/// Takes note of what an iterator passes.
pub(crate) struct Recorder {
    reads: Arc<ReadSet>,
    family: ColumnFamily,
    /// Its number in the set.
    iterator: u64,
    seqno: SeqNo,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl Recorder {
    /// For an iterator of `family` between two bounds, that is number `iterator` of the set and reads as of `seqno`.
    pub fn new(
        reads: &Arc<ReadSet>,
        family: &ColumnFamily,
        (iterator, seqno): (u64, SeqNo),
        lower: Option<Vec<u8>>,
        upper: Option<Vec<u8>>,
    ) -> Recorder {
        Recorder {
            reads: reads.clone(),
            family: family.clone(),
            iterator,
            seqno,
            lower,
            upper,
        }
    }

    /// The place where an iterator stands, as the end of what it has passed on its way up.
    fn end(&self, iter: &DbIterator) -> Bound<Vec<u8>> {
        match iter.valid() {
            true => Bound::Included(iter.key().to_vec()),
            false => self.upper.clone().map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    /// The same on its way down.
    fn begin(&self, iter: &DbIterator) -> Option<Vec<u8>> {
        match iter.valid() {
            true => Some(iter.key().to_vec()),
            false => self.lower.clone(),
        }
    }

    fn begin_to_pass(&self, range: KeyRange) {
        let mut reads = self.reads.lock();
        reads.begin_to_pass(&self.family, self.iterator, range, self.seqno);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.reads.lock().end_to_pass(self.family.id(), self.iterator);
    }
}

impl TransactionIterator {
    pub(crate) fn new(iter: DbIterator, recorder: Option<Recorder>) -> TransactionIterator {
        TransactionIterator { iter, recorder }
    }

    /// To the first key.
    pub fn seek_to_first(&mut self) {
        self.iter.seek_to_first();
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.lower.clone(),
                end: recorder.end(&self.iter),
            });
        }
    }

    /// To the last key.
    pub fn seek_to_last(&mut self) {
        self.iter.seek_to_last();
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.begin(&self.iter),
                end: recorder.upper.clone().map_or(Bound::Unbounded, Bound::Excluded),
            });
        }
    }

    /// To the first key at or behind `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.iter.seek(target);
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: Some(target.to_vec()),
                end: recorder.end(&self.iter),
            });
        }
    }

    /// To the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.iter.seek_for_prev(target);
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.begin(&self.iter),
                end: Bound::Included(target.to_vec()),
            });
        }
    }

    /// To the next key. It must be valid.
    pub fn next(&mut self) {
        self.iter.next();
        if let Some(recorder) = &self.recorder {
            let end = recorder.end(&self.iter);
            let end = end.as_ref().map(|end| &end[..]);
            let mut reads = recorder.reads.lock();
            reads.pass_on(recorder.family.id(), recorder.iterator, end);
        }
    }

    /// To the key before. It must be valid.
    pub fn prev(&mut self) {
        self.iter.prev();
        if let Some(recorder) = &self.recorder {
            let begin = recorder.begin(&self.iter);
            let mut reads = recorder.reads.lock();
            reads.pass_back(recorder.family.id(), recorder.iterator, begin.as_deref());
        }
    }

    /// True while it stands on a key.
    pub fn valid(&self) -> bool {
        self.iter.valid()
    }

    /// The key. It must be valid.
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// The value. It must be valid.
    pub fn value(&self) -> &[u8] {
        self.iter.value()
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.iter.status()
    }
}

impl fmt::Debug for TransactionIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.valid().then(|| self.key().escape_ascii().to_string());
        write!(f, "TransactionIterator({place:?})")
    }
}
