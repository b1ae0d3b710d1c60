//! The entries of a batch with an index, one by one, in both modes of RocksDB's `overwrite_key`.

use std::path::Path;
use std::sync::Arc;

use esker::{BatchEntries, BatchEntryKind, ColumnFamily, Db, ErrorKind, Options, WriteBatchWithIndex};
use esker::{UserComparator, WriteBatch};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

fn open(comparator: UserComparator) -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.comparator = comparator;
    Db::open(&options, Path::new("/db")).unwrap()
}

/// An entry: its key, kind, value and update count.
type Entry = (Vec<u8>, BatchEntryKind, Vec<u8>, u32);

fn place(entries: &BatchEntries) -> Option<Entry> {
    entries.status().unwrap();
    assert_eq!(entries.valid(), entries.entry().is_some());
    let entry = entries.entry()?;
    let owned = (entry.key.to_vec(), entry.kind, entry.value.to_vec());
    Some((owned.0, owned.1, owned.2, entry.update_count))
}

/// The entries of a family, in order, and the number of updates of each key: RocksDB's index as it is
/// changed by each operation.
#[derive(Default)]
struct Index {
    overwrites: bool,
    entries: Vec<Entry>,
}

impl Index {
    fn add(&mut self, key: &[u8], kind: BatchEntryKind, value: &[u8]) {
        let at = self.entries.partition_point(|entry| &entry.0[..] < key);
        let newest = self.entries.get(at).filter(|entry| entry.0 == key);
        let count = newest.map_or(0, |newest| newest.3);
        let entry = (key.to_vec(), kind, value.to_vec(), count + 1);
        match self.overwrites && count > 0 && kind != BatchEntryKind::Merge {
            true => self.entries[at] = entry,
            false => self.entries.insert(at, entry),
        }
    }
}

fn key(rng: &mut TestRng) -> Vec<u8> {
    format!("k{}", rng.u32(..9)).into_bytes()
}

/// Adds an operation to the batch and to the model.
fn operate(
    rng: &mut TestRng,
    family: &ColumnFamily,
    batch: &mut WriteBatchWithIndex,
    model: &mut Index,
    at: usize,
) {
    let (name, value) = (key(rng), format!("v{at}").into_bytes());
    match rng.u32(..10) {
        0..3 => {
            batch.put_cf(family, &name, &value);
            model.add(&name, BatchEntryKind::Put, &value);
        }
        3..6 => {
            batch.merge_cf(family, &name, &value);
            model.add(&name, BatchEntryKind::Merge, &value);
        }
        6 => {
            batch.delete_cf(family, &name);
            model.add(&name, BatchEntryKind::Delete, b"");
        }
        7 => {
            batch.single_delete_cf(family, &name);
            model.add(&name, BatchEntryKind::SingleDelete, b"");
        }
        8 => batch.put_log_data(b"note"),
        _ => batch.delete_range_cf(family, b"k0", &name),
    }
}

/// Moves at random and compares each position with the model's.
fn walk(rng: &mut TestRng, entries: &mut BatchEntries, model: &[Entry]) {
    let mut at: Option<usize> = None;
    for _ in 0..80 {
        let target = key(rng);
        let step = match (rng.u32(..10), at) {
            (4.., None) => 0,
            (step, _) => step,
        };
        at = match step {
            0 => {
                entries.seek_to_first();
                Some(0)
            }
            1 => {
                entries.seek_to_last();
                model.len().checked_sub(1)
            }
            2 => {
                entries.seek(&target);
                Some(model.partition_point(|entry| entry.0 < target))
            }
            3 => {
                entries.seek_for_prev(&target);
                model.partition_point(|entry| entry.0 <= target).checked_sub(1)
            }
            4..7 => {
                entries.next();
                at.map(|at| at + 1)
            }
            _ => {
                entries.prev();
                at.and_then(|at| at.checked_sub(1))
            }
        };
        at = at.filter(|at| *at < model.len());
        assert_eq!(place(entries), at.map(|at| model[at].clone()), "step {step}");
    }
}

#[test]
fn entries_are_those_of_rocksdb_in_both_modes() {
    let mut rng = rng::rng();
    let db = open(UserComparator::Bytewise);
    let family = db.default_column_family();
    for round in 0..40 {
        let overwrites = round % 2 == 1;
        let mut model = Index {
            overwrites,
            entries: Vec::new(),
        };
        let mut batch = WriteBatchWithIndex::new();
        batch.set_overwrite_key(overwrites);
        let mut operations = 0;
        // The index grows by the operations that are new at each read.
        for _ in 0..3 {
            for _ in 0..rng.usize(..25) {
                operate(&mut rng, &family, &mut batch, &mut model, operations);
                operations += 1;
            }
            let mut entries = match rng.bool() {
                true => batch.entries(Some(&family)).unwrap(),
                false => batch.entries(None).unwrap(),
            };
            // Later operations are invisible to the iterator, also if the index has them.
            let earlier = model.entries.clone();
            batch.set_save_point();
            for number in 0..rng.usize(..6) {
                operate(&mut rng, &family, &mut batch, &mut Index::default(), number);
            }
            batch.entries(Some(&family)).unwrap().seek_to_first();
            walk(&mut rng, &mut entries, &earlier);
            batch.rollback_to_save_point().unwrap();
            walk(&mut rng, &mut batch.entries(None).unwrap(), &model.entries);
        }
    }
}

#[test]
fn an_update_replaces_the_newest_entry_alone() {
    let mut batch = WriteBatchWithIndex::new();
    batch.put(b"a", b"1");
    batch.merge(b"a", b"2");
    batch.put(b"a", b"3");
    batch.single_delete(b"b");
    batch.delete(b"b");
    let listed = |batch: &WriteBatchWithIndex| {
        let mut entries = batch.entries(None).unwrap();
        entries.seek_to_first();
        let mut listed = Vec::new();
        while let Some((key, kind, value, count)) = place(&entries) {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            listed.push(format!("{} {kind:?} {} {count}", text(key), text(value)));
            entries.next();
        }
        listed
    };
    let all = [
        "a Put 3 3",
        "a Merge 2 2",
        "a Put 1 1",
        "b Delete  2",
        "b SingleDelete  1",
    ];
    assert_eq!(listed(&batch), all);
    batch.set_overwrite_key(true);
    // The last put replaces the merge, which had not replaced the first put.
    assert_eq!(listed(&batch), ["a Put 3 3", "a Put 1 1", "b Delete  2"]);
    assert_eq!(batch.count(), 5);
    let mut entries = batch.entries(None).unwrap();
    entries.next();
    entries.prev();
    assert!(!entries.valid());
    batch.clear();
    assert!(listed(&batch).is_empty());
    batch.set_max_bytes(20);
    batch.put(b"key", [0; 64]);
    assert_eq!(batch.entries(None).unwrap_err().kind(), ErrorKind::Aborted);
}

#[test]
fn each_family_has_entries_in_its_own_order() {
    let db = open(UserComparator::Bytewise);
    let backwards = esker::ColumnFamilyOptions {
        comparator: UserComparator::ReverseBytewise,
        ..Default::default()
    };
    let other = db.create_column_family("other", &backwards).unwrap();
    let mut batch = WriteBatchWithIndex::new();
    for name in ["a", "b", "c"] {
        batch.put_cf(&other, name, name);
    }
    batch.put_entity(b"d", &[(b"column", b"value")]).unwrap();
    let keys = |family: Option<&ColumnFamily>| {
        let mut entries = batch.entries(family).unwrap();
        entries.seek_to_first();
        let mut keys = Vec::new();
        while let Some((key, kind, value, _)) = place(&entries) {
            assert_eq!(kind == BatchEntryKind::PutEntity, key != value, "{key:?}");
            keys.push(String::from_utf8(key).unwrap());
            entries.next();
        }
        keys
    };
    assert_eq!(keys(Some(&other)), ["c", "b", "a"]);
    assert_eq!(keys(Some(&db.default_column_family())), ["d"]);
    assert_eq!(keys(None), ["d"]);
}

#[test]
fn each_version_of_a_key_is_a_key() {
    let db = open(UserComparator::BytewiseU64Ts);
    let family = db.default_column_family();
    let at = |ts: u64| ts.to_le_bytes();
    let mut rows = WriteBatch::new();
    rows.put_at(&family, b"a", at(1), b"one");
    rows.put_at(&family, b"a", at(2), b"two");
    rows.delete_at(&family, b"a", at(2));
    let mut batch = WriteBatchWithIndex::from(rows);
    batch.set_overwrite_key(true);
    let mut entries = batch.entries(Some(&family)).unwrap();
    entries.seek_to_first();
    let key = |ts| [&b"a"[..], &at(ts)].concat();
    let expected = (key(2), BatchEntryKind::Delete, Vec::new(), 2);
    assert_eq!(place(&entries), Some(expected));
    entries.next();
    assert_eq!(
        place(&entries),
        Some((key(1), BatchEntryKind::Put, b"one".to_vec(), 1))
    );
    entries.seek(key(2));
    assert_eq!(place(&entries).map(|entry| entry.1), Some(BatchEntryKind::Delete));
}
