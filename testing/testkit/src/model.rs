//! A simple model of a database's results.
//!
//! Every operation takes the next sequence number and is kept permanently; a read at a sequence number uses
//! the operations up to it. User timestamps are not modelled.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use base::merge::MergeOperator;
use base::{Error, ErrorKind, Result, SeqNo, UserComparator};

/// A key and a value.
pub type Row = (Vec<u8>, Vec<u8>);

/// One write to one column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sets the key to this value.
    Put(Vec<u8>, Vec<u8>),
    /// Deletes the key.
    Delete(Vec<u8>),
    /// Deletes the key. As in RocksDB, the caller guarantees that the key was written once since it was last
    /// deleted and never merged; the model then treats it as a deletion.
    SingleDelete(Vec<u8>),
    /// Adds an operand to the key.
    Merge(Vec<u8>, Vec<u8>),
    /// Deletes every key from the first up to the second, exclusive. Empty or inverted ranges do nothing.
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// The changes of one key, oldest first.
type Versions = Vec<(SeqNo, Change)>;

enum Change {
    Put(Vec<u8>),
    Delete,
    Merge(Vec<u8>),
}

struct Family {
    cmp: UserComparator,
    merge: Option<Arc<dyn MergeOperator>>,
    /// The rows, sorted by `cmp`.
    keys: Vec<(Vec<u8>, Versions)>,
    tombstones: Vec<(Vec<u8>, Vec<u8>, SeqNo)>,
}

/// A database of column families, by their ids. Family 0 exists from the start, bytewise and without a merge
/// operator.
pub struct Model {
    families: BTreeMap<u32, Family>,
    last_seqno: SeqNo,
}

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// An empty database.
    pub fn new() -> Model {
        let mut model = Model {
            families: BTreeMap::new(),
            last_seqno: 0,
        };
        model.create_family(0, UserComparator::Bytewise, None);
        model
    }

    /// Adds family `id`, or empties it and changes its order and operator.
    pub fn create_family(&mut self, id: u32, cmp: UserComparator, merge: Option<Arc<dyn MergeOperator>>) {
        self.families.insert(
            id,
            Family {
                cmp,
                merge,
                keys: Vec::new(),
                tombstones: Vec::new(),
            },
        );
    }

    /// Removes family `id`.
    pub fn drop_family(&mut self, id: u32) {
        self.families.remove(&id);
    }

    /// The ids of the families, ascending.
    pub fn families(&self) -> impl Iterator<Item = u32> + '_ {
        self.families.keys().copied()
    }

    /// The sequence number of the last operation, which a snapshot taken now sees.
    pub fn last_seqno(&self) -> SeqNo {
        self.last_seqno
    }

    /// Applies one operation and returns its sequence number.
    pub fn apply(&mut self, family: u32, op: &Op) -> SeqNo {
        self.last_seqno += 1;
        let seqno = self.last_seqno;
        let family = self.families.get_mut(&family).expect("a family of the model");
        match op {
            Op::Put(key, value) => family.change(key, seqno, Change::Put(value.clone())),
            Op::Delete(key) | Op::SingleDelete(key) => family.change(key, seqno, Change::Delete),
            Op::Merge(key, operand) => family.change(key, seqno, Change::Merge(operand.clone())),
            Op::DeleteRange(start, end) => family.tombstones.push((start.clone(), end.clone(), seqno)),
        }
        seqno
    }

    /// Applies a write batch: its operations take consecutive sequence numbers. Returns the last one.
    pub fn write<'a>(&mut self, batch: impl IntoIterator<Item = &'a (u32, Op)>) -> SeqNo {
        for (family, op) in batch {
            self.apply(*family, op);
        }
        self.last_seqno
    }

    /// The value of `key` at `seqno`; `MergeFailed` if there are operands and the operator is missing or
    /// fails.
    pub fn get(&self, family: u32, key: &[u8], seqno: SeqNo) -> Result<Option<Vec<u8>>> {
        let family = self.family(family);
        match family.find(key) {
            Ok(at) => family.value(&family.keys[at].0, &family.keys[at].1, seqno),
            Err(_) => Ok(None),
        }
    }

    /// The rows at `seqno` between the bounds, in the family's order. Fails at the first row for which
    /// [`get`](Model::get) fails.
    pub fn scan(
        &self,
        family: u32,
        seqno: SeqNo,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Vec<Row>> {
        let family = self.family(family);
        let above = |key: &[u8]| match lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => family.cmp.compare(key, bound) != Ordering::Less,
            Bound::Excluded(bound) => family.cmp.compare(key, bound) == Ordering::Greater,
        };
        let below = |key: &[u8]| match upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => family.cmp.compare(key, bound) != Ordering::Greater,
            Bound::Excluded(bound) => family.cmp.compare(key, bound) == Ordering::Less,
        };
        let mut rows = Vec::new();
        for (key, versions) in &family.keys {
            if above(key)
                && below(key)
                && let Some(value) = family.value(key, versions, seqno)?
            {
                rows.push((key.clone(), value));
            }
        }
        Ok(rows)
    }

    /// The rows of [`scan`](Model::scan), last first.
    pub fn reverse_scan(
        &self,
        family: u32,
        seqno: SeqNo,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Vec<Row>> {
        let mut rows = self.scan(family, seqno, lower, upper)?;
        rows.reverse();
        Ok(rows)
    }

    /// Every row at `seqno`.
    pub fn rows(&self, family: u32, seqno: SeqNo) -> Result<Vec<Row>> {
        self.scan(family, seqno, Bound::Unbounded, Bound::Unbounded)
    }

    fn family(&self, id: u32) -> &Family {
        self.families.get(&id).expect("a family of the model")
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Model");
        debug.field("last_seqno", &self.last_seqno);
        for (id, family) in &self.families {
            debug.field(&format!("keys of {id}"), &family.keys.len());
        }
        debug.finish()
    }
}

impl Family {
    fn find(&self, key: &[u8]) -> std::result::Result<usize, usize> {
        self.keys
            .binary_search_by(|entry| self.cmp.compare(&entry.0, key))
    }

    fn change(&mut self, key: &[u8], seqno: SeqNo, change: Change) {
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.keys.insert(at, (key.to_vec(), Versions::new()));
                at
            }
        };
        self.keys[at].1.push((seqno, change));
    }

    /// The newest range tombstone over `key` that a reader at `seqno` sees; 0 if there is none.
    fn covering_seqno(&self, key: &[u8], seqno: SeqNo) -> SeqNo {
        self.tombstones
            .iter()
            .filter(|(start, end, at)| {
                *at <= seqno
                    && self.cmp.compare(start, key) != Ordering::Greater
                    && self.cmp.compare(key, end) == Ordering::Less
            })
            .map(|tombstone| tombstone.2)
            .max()
            .unwrap_or(0)
    }

    fn value(&self, key: &[u8], versions: &Versions, seqno: SeqNo) -> Result<Option<Vec<u8>>> {
        let covered = self.covering_seqno(key, seqno);
        // The merge operands since the last put or deletion of the key, newest first.
        let mut operands: Vec<&[u8]> = Vec::new();
        let mut base: Option<&[u8]> = None;
        for (at, change) in versions.iter().rev() {
            if *at > seqno {
                continue;
            }
            if *at < covered {
                break;
            }
            match change {
                Change::Merge(operand) => operands.push(operand),
                Change::Put(value) => {
                    base = Some(value);
                    break;
                }
                Change::Delete => break,
            }
        }
        if operands.is_empty() {
            return Ok(base.map(<[u8]>::to_vec));
        }
        operands.reverse();
        self.merge
            .as_ref()
            .and_then(|operator| operator.full_merge(key, base, &operands))
            .map(Some)
            .ok_or_else(|| Error::new(ErrorKind::MergeFailed, "the operands cannot be merged"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &str) -> Op {
        Op::Put(key.into(), value.into())
    }

    fn text(rows: &[Row]) -> String {
        let row = |(key, value): &Row| {
            format!(
                "{}={}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(value)
            )
        };
        rows.iter().map(row).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_reader_sees_what_was_there_at_its_seqno() {
        let mut model = Model::new();
        let first = model.apply(0, &put("a", "1"));
        let second = model.apply(0, &put("a", "2"));
        let gone = model.apply(0, &Op::Delete(b"a".to_vec()));
        assert_eq!(model.get(0, b"a", first - 1).unwrap(), None);
        assert_eq!(model.get(0, b"a", first).unwrap().unwrap(), b"1");
        assert_eq!(model.get(0, b"a", second).unwrap().unwrap(), b"2");
        assert_eq!(model.get(0, b"a", gone).unwrap(), None);
        assert_eq!(model.get(0, b"b", gone).unwrap(), None);
    }

    #[test]
    fn range_deletions_hide_older_writes_only() {
        let mut model = Model::new();
        let before = model.write(&[(0, put("a", "1")), (0, put("b", "1")), (0, put("d", "1"))]);
        model.apply(0, &Op::DeleteRange(b"a".to_vec(), b"d".to_vec()));
        model.apply(0, &put("b", "2"));
        model.apply(0, &Op::DeleteRange(b"z".to_vec(), b"a".to_vec()));
        let now = model.last_seqno();
        assert_eq!(text(&model.rows(0, before).unwrap()), "a=1 b=1 d=1");
        assert_eq!(text(&model.rows(0, now).unwrap()), "b=2 d=1");
        assert_eq!(
            text(
                &model
                    .reverse_scan(0, now, Bound::Unbounded, Bound::Included(b"d"))
                    .unwrap()
            ),
            "d=1 b=2"
        );
        assert_eq!(
            text(
                &model
                    .scan(0, now, Bound::Excluded(b"b"), Bound::Excluded(b"d"))
                    .unwrap()
            ),
            ""
        );
    }

    #[test]
    fn merges_stop_at_deletions() {
        let mut model = Model::new();
        model.create_family(
            3,
            UserComparator::ReverseBytewise,
            base::merge::builtin("stringappend"),
        );
        let merge = |key: &str, operand: &str| (3, Op::Merge(key.into(), operand.into()));
        model.write(&[
            (3, put("a", "0")),
            merge("a", "1"),
            merge("a", "2"),
            merge("b", "9"),
        ]);
        let appended = model.last_seqno();
        model.apply(3, &Op::DeleteRange(b"b".to_vec(), b"a".to_vec()));
        model.write(&[
            merge("b", "x"),
            (3, Op::SingleDelete(b"a".to_vec())),
            merge("a", "y"),
        ]);
        assert_eq!(text(&model.rows(3, appended).unwrap()), "b=9 a=0,1,2");
        assert_eq!(text(&model.rows(3, model.last_seqno()).unwrap()), "b=x a=y");

        model.apply(0, &Op::Merge(b"k".to_vec(), b"v".to_vec()));
        let error = model.get(0, b"k", model.last_seqno()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MergeFailed);
    }
}
