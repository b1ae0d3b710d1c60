//! An iterator of a transaction that records the keys that it passes.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use base::{Result, SeqNo};
use esker::{ColumnFamily, DbIterator};

use crate::key_range::KeyRange;
use crate::read_set::ReadSet;

/// An iterator over a column family with a transaction's writes over it, made by
/// [`Transaction::scan`](crate::Transaction::scan). In a serializable transaction, the keys that it passes
/// and the gaps between them count as read, and no others.
pub struct TransactionIterator {
    iter: DbIterator,
    recorder: Option<Recorder>,
}

/// Records the keys that an iterator passes.
pub(crate) struct Recorder {
    reads: Arc<ReadSet>,
    family: ColumnFamily,
    /// The iterator's number in the set.
    iterator: u64,
    seqno: SeqNo,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl Recorder {
    /// The recorder of an iterator of `family` between two bounds, which has the number `iterator` in the set
    /// and reads as of `seqno`.
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

    /// The position of an iterator, as the end of the range that it has passed on its way up.
    fn end(&self, iter: &DbIterator) -> Bound<Vec<u8>> {
        match iter.valid() {
            true => Bound::Included(iter.key().to_vec()),
            false => self.upper.clone().map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    /// The position of an iterator, as the beginning of the range that it has passed on its way down.
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

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) {
        self.iter.seek_to_first();
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.lower.clone(),
                end: recorder.end(&self.iter),
            });
        }
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) {
        self.iter.seek_to_last();
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.begin(&self.iter),
                end: recorder.upper.clone().map_or(Bound::Unbounded, Bound::Excluded),
            });
        }
    }

    /// Moves to the first key at or after `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.iter.seek(target);
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: Some(target.to_vec()),
                end: recorder.end(&self.iter),
            });
        }
    }

    /// Moves to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.iter.seek_for_prev(target);
        if let Some(recorder) = &self.recorder {
            recorder.begin_to_pass(KeyRange {
                begin: recorder.begin(&self.iter),
                end: Bound::Included(target.to_vec()),
            });
        }
    }

    /// Moves to the next key. The iterator must be valid.
    pub fn next(&mut self) {
        self.iter.next();
        if let Some(recorder) = &self.recorder {
            let end = recorder.end(&self.iter);
            let end = end.as_ref().map(|end| &end[..]);
            let mut reads = recorder.reads.lock();
            reads.pass_on(recorder.family.id(), recorder.iterator, end);
        }
    }

    /// Moves to the previous key. The iterator must be valid.
    pub fn prev(&mut self) {
        self.iter.prev();
        if let Some(recorder) = &self.recorder {
            let begin = recorder.begin(&self.iter);
            let mut reads = recorder.reads.lock();
            reads.pass_back(recorder.family.id(), recorder.iterator, begin.as_deref());
        }
    }

    /// True while the iterator is positioned on a key.
    pub fn valid(&self) -> bool {
        self.iter.valid()
    }

    /// The current key. The iterator must be valid.
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// The current value. The iterator must be valid.
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
