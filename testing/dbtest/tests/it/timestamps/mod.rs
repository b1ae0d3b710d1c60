//! Families with timestamps under random writes: every reader sees the rows of its timestamp and its
//! snapshot.

mod in_memory;
mod versions;

use std::ops::RangeInclusive;
use std::sync::Arc;

use base::{Comparator, SeqNo, UserComparator};
use dbtest::by_hand::everything;
use dbtest::{files, settings};
use esker::{Db, Options, ReadOptions, Snapshot, WriteBatch};
use testkit::TestRng;
use vfs::MemFs;

const KEYS: usize = 40;

/// The writes in order: timestamps never decrease, as RocksDB requires.
#[derive(Default)]
struct History {
    writes: Vec<Write>,
}

struct Write {
    timestamp: u64,
    what: What,
}

enum What {
    Put(Vec<u8>, Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
    /// The history was trimmed to an older timestamp.
    Trimmed,
}

impl History {
    /// The value and the operands of `key`, oldest first, for a reader of the first `seqno` writes at
    /// `timestamp`, and the timestamp of the newest of them.
    fn operands(
        &self,
        cmp: &UserComparator,
        key: &[u8],
        seqno: usize,
        timestamp: u64,
    ) -> Option<(u64, Vec<Vec<u8>>)> {
        let seen = self.writes[..seqno]
            .iter()
            .filter(|write| write.timestamp <= timestamp);
        let mut operands = Vec::new();
        let mut written = None;
        for write in seen.rev() {
            let is_base = match &write.what {
                What::Put(of, value) if of == key => {
                    operands.push(value.clone());
                    true
                }
                What::Merge(of, operand) if of == key => {
                    operands.push(operand.clone());
                    false
                }
                What::Delete(of) if of == key => break,
                What::DeleteRange(start, end)
                    if bare(cmp, start, key).is_le() && bare(cmp, key, end).is_lt() =>
                {
                    break;
                }
                _ => continue,
            };
            written = written.or(Some(write.timestamp));
            if is_base {
                break;
            }
        }
        operands.reverse();
        Some((written?, operands))
    }

    /// The value of `key` for a reader of the first `seqno` writes at `timestamp`.
    fn get(&self, cmp: &UserComparator, key: &[u8], seqno: usize, timestamp: u64) -> Option<(u64, Vec<u8>)> {
        let (written, operands) = self.operands(cmp, key, seqno, timestamp)?;
        Some((written, operands.join(&b","[..])))
    }
}

/// Compares keys without timestamps.
fn bare(cmp: &UserComparator, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    cmp.compare_without_timestamp(&cmp.stamped(a), &cmp.stamped(b))
}

/// Keys of various lengths; many differ only in their last bytes.
fn key(number: usize) -> Vec<u8> {
    match number % 4 {
        0 => format!("k{number:02}").into_bytes(),
        1 => format!("key{number:014}").into_bytes(),
        2 => format!("key{:014}tail", number - 1).into_bytes(),
        _ => vec![b'k'; number],
    }
}

type Row = (Vec<u8>, u64, Vec<u8>);

#[test]
fn readers_see_their_timestamp() {
    for _ in 0..6 {
        let mut rng = testkit::rng();
        for persists in [true, false] {
            run(&mut rng, UserComparator::BytewiseU64Ts, persists);
            run(&mut rng, UserComparator::ReverseBytewiseU64Ts, persists);
        }
    }
}

/// `persists` is `persist_user_defined_timestamps`: whether tables have timestamps.
fn run(rng: &mut TestRng, cmp: UserComparator, persists: bool) {
    let mut options = Options {
        create_if_missing: true,
        allow_concurrent_memtable_write: persists,
        avoid_flush_during_recovery: !persists && rng.bool(),
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.persist_user_defined_timestamps = persists;
    family.comparator = cmp.clone();
    family.merge_operator = base::merge::builtin("stringappend");
    family.write_buffer_size = 16 << 10;
    family.target_file_size_base = 2 << 10;
    family.max_bytes_for_level_base = 8 << 10;
    family.enable_blob_files = rng.bool();
    family.min_blob_size = *rng.pick(&[20, 60, 1000]);
    family.min_older_version_blob_size = *rng.pick(&[0, 1, 30]);
    family.enable_blob_garbage_collection = rng.bool();
    settings::draw(rng, &mut family.table);
    let style = *rng.pick(&["kCompactionStyleLevel", "kCompactionStyleUniversal"]);
    settings::set_family(family, "compaction_style", style).unwrap();
    let extractor = *rng.pick(&["nullptr", "fixed:3", "capped:6"]);
    settings::set_family(family, "prefix_extractor", extractor).unwrap();
    let mut db = Db::open(&options, "/db").unwrap();
    let mut history = History::default();
    let mut snapshots: Vec<(Snapshot, usize)> = Vec::new();
    let mut timestamp = 1;
    let mut low = 0;
    let mut keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    keys.sort_by(|a, b| bare(&cmp, a, b));
    for _ in 0..300 {
        match rng.u32(..20) {
            0..8 => {
                let mut batch = WriteBatch::new();
                for _ in 0..rng.usize(1..15) {
                    timestamp += rng.u64(..3);
                    write(rng, &db, &cmp, &keys, timestamp, &mut batch, &mut history);
                }
                db.write(batch).unwrap();
                assert_eq!(db.latest_sequence_number(), history.writes.len() as SeqNo);
            }
            8 => db.flush().unwrap(),
            9 => {
                let [begin, end] = [rng.usize(..KEYS), rng.usize(..KEYS)].map(|at| &keys[at][..]);
                let bounds = rng
                    .bool()
                    .then_some((begin, end))
                    .filter(|(a, b)| bare(&cmp, a, b).is_le());
                let family = db.default_column_family();
                let (begin, end) = bounds.map_or((None, None), |(begin, end)| (Some(begin), Some(end)));
                db.compact_range_cf_opt(&family, begin, end, &everything())
                    .unwrap();
                assert_eq!(files::check(&db).unwrap(), "");
            }
            10 if snapshots.len() < 4 => snapshots.push((db.snapshot(), history.writes.len())),
            11 if !snapshots.is_empty() => drop(snapshots.swap_remove(0)),
            12 if rng.one_in(5) => {
                snapshots.clear();
                drop(db);
                db = Db::open(&options, "/db").unwrap();
            }
            14 if persists && rng.one_in(5) => {
                snapshots.clear();
                drop(db);
                let to = rng.u64(low..=timestamp);
                db = Db::open_and_trim_history(&options, "/db", &to.to_le_bytes()).unwrap();
                assert_eq!(files::check(&db).unwrap(), "");
                let newer = history.writes.iter_mut().filter(|write| write.timestamp > to);
                newer.for_each(|write| write.what = What::Trimmed);
            }
            13 if rng.one_in(3) => {
                low = raised(&db, low);
                low = rng.u64(low..=timestamp.max(low));
                let family = db.default_column_family();
                db.increase_full_history_ts_low(&family, &low.to_le_bytes())
                    .unwrap();
            }
            _ => {
                low = raised(&db, low);
                let times = low..=timestamp.max(low);
                compare(rng, &db, &cmp, &keys, times, &history, &snapshots);
            }
        }
    }
}

/// The lowest timestamp that is read, which was `low` before: a flush raises it above the timestamps that its
/// tables lack.
fn raised(db: &Db, low: u64) -> u64 {
    let raised = db.full_history_ts_low(&db.default_column_family()).unwrap();
    raised.try_into().map_or(low, u64::from_le_bytes).max(low)
}

fn write(
    rng: &mut TestRng,
    db: &Db,
    cmp: &UserComparator,
    keys: &[Vec<u8>],
    timestamp: u64,
    batch: &mut WriteBatch,
    history: &mut History,
) {
    let family = db.default_column_family();
    let key = rng.pick(keys).clone();
    let stamp = timestamp.to_le_bytes();
    let what = match rng.u32(..10) {
        0..4 => {
            let len = rng.usize(..80);
            let value = rng.bytes(len);
            batch.put_at(&family, &key, &stamp, &value);
            What::Put(key, value)
        }
        4..6 => {
            let len = rng.usize(1..80);
            let operand = rng.bytes(len);
            batch.merge_at(&family, &key, &stamp, &operand);
            What::Merge(key, operand)
        }
        6..8 => {
            batch.delete_at(&family, &key, &stamp);
            What::Delete(key)
        }
        _ => {
            let mut bounds = [key.clone(), rng.pick(keys).clone()];
            if !rng.one_in(6) {
                bounds[1] = [&key[..], b"\x01"].concat();
            }
            bounds.sort_by(|a, b| bare(cmp, a, b));
            let [start, end] = bounds;
            batch.delete_range_at(&family, &start, &end, &stamp);
            What::DeleteRange(start, end)
        }
    };
    history.writes.push(Write { timestamp, what });
}

fn compare(
    rng: &mut TestRng,
    db: &Db,
    cmp: &UserComparator,
    keys: &[Vec<u8>],
    times: RangeInclusive<u64>,
    history: &History,
    snapshots: &[(Snapshot, usize)],
) {
    let (snapshot, seqno) = match snapshots {
        [] => (None, history.writes.len()),
        _ if rng.bool() => (None, history.writes.len()),
        _ => {
            let (snapshot, seqno) = rng.pick(snapshots);
            (Some(snapshot.clone()), *seqno)
        }
    };
    let low = *times.start();
    let timestamp = if rng.bool() { *times.end() } else { rng.u64(times) };
    // A compaction may set a timestamp below the lowest that is read to zero.
    let shown = |written: u64| if written < low { 0 } else { written };
    let bound = |rng: &mut TestRng| rng.one_in(3).then(|| rng.pick(keys).clone());
    let options = ReadOptions {
        snapshot,
        timestamp: Some(timestamp.to_le_bytes().to_vec()),
        iterate_lower_bound: bound(rng),
        iterate_upper_bound: bound(rng),
        ..ReadOptions::default()
    };
    let within = |key: &[u8]| {
        options
            .iterate_lower_bound
            .as_ref()
            .is_none_or(|lower| bare(cmp, lower, key).is_le())
            && options
                .iterate_upper_bound
                .as_ref()
                .is_none_or(|upper| bare(cmp, key, upper).is_lt())
    };
    let row = |key: &Vec<u8>| {
        let (written, value) = history.get(cmp, key, seqno, timestamp)?;
        Some((key.clone(), shown(written), value))
    };
    let expected: Vec<Row> = keys.iter().filter(|key| within(key)).filter_map(row).collect();
    let mut iter = db.iter_opt(&options);
    let current = |iter: &esker::DbIterator| -> Row {
        let timestamp = u64::from_le_bytes(iter.timestamp().try_into().unwrap());
        (iter.key().to_vec(), shown(timestamp), iter.value().to_vec())
    };
    let mut got = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        got.push(current(&iter));
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(got, expected, "forwards at {timestamp}");
    got.clear();
    iter.seek_to_last();
    while iter.valid() {
        got.push(current(&iter));
        iter.prev();
    }
    got.reverse();
    assert_eq!(got, expected, "backwards at {timestamp}");
    for _ in 0..10 {
        let key = rng.pick(keys);
        let value = history.get(cmp, key, seqno, timestamp).map(|(_, value)| value);
        let family = db.default_column_family();
        let operands = db.get_merge_operands(&family, key, usize::MAX, &options).unwrap();
        let joined = value.is_some().then(|| operands.join(&b","[..]));
        assert_eq!(
            (operands.is_empty(), joined),
            (value.is_none(), value.clone()),
            "operands at {timestamp}"
        );
        assert_eq!(
            db.get_cf_opt(&family, key, &options).unwrap(),
            value,
            "get {} at {timestamp}",
            key.escape_ascii()
        );
        assert_eq!(
            db.multi_get_cf_opt(&family, &[key], &options).remove(0).unwrap(),
            value
        );
        let at = expected.partition_point(|row| bare(cmp, &row.0, key).is_lt());
        iter.seek(key);
        assert_eq!(
            iter.valid().then(|| current(&iter)).as_ref(),
            expected.get(at),
            "seek {}",
            key.escape_ascii()
        );
        if iter.valid() {
            iter.prev();
            assert_eq!(
                iter.valid().then(|| current(&iter)).as_ref(),
                at.checked_sub(1).map(|at| &expected[at])
            );
        }
        let behind = expected.partition_point(|row| bare(cmp, &row.0, key).is_le());
        iter.seek_for_prev(key);
        let before = behind.checked_sub(1).map(|at| &expected[at]);
        assert_eq!(
            iter.valid().then(|| current(&iter)).as_ref(),
            before,
            "seek_for_prev {}",
            key.escape_ascii()
        );
        if iter.valid() {
            iter.next();
            assert_eq!(
                iter.valid().then(|| current(&iter)).as_ref(),
                expected.get(behind)
            );
        }
    }
    iter.status().unwrap();
}

/// A comparator by bytes and then by timestamp; it panics for a key without a timestamp.
struct Strict;

impl Comparator for Strict {
    fn name(&self) -> &str {
        "test.strict"
    }

    fn timestamp_size(&self) -> usize {
        8
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        let stamp = |key: &[u8]| u64::from_le_bytes(key[key.len() - 8..].try_into().unwrap());
        self.compare_without_timestamp(a, b)
            .then_with(|| stamp(b).cmp(&stamp(a)))
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        assert!(a.len() >= 8 && b.len() >= 8, "a key without a timestamp");
        a[..a.len() - 8].cmp(&b[..b.len() - 8])
    }
}

#[test]
fn a_custom_order_is_asked_about_no_key_without_a_timestamp() {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.comparator = UserComparator::Custom(Arc::new(Strict));
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let put = |key: &[u8]| {
        let mut batch = WriteBatch::new();
        batch.put_at(&family, key, &1u64.to_le_bytes(), b"value");
        db.write(batch).unwrap();
    };
    put(b"b");
    let read = ReadOptions {
        snapshot: Some(db.snapshot()),
        timestamp: Some(9u64.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    };
    // The new row is the first in key order, but the iterator, which was created before, does not see it.
    put(b"a");
    let mut iter = db.iter_opt(&read);
    iter.seek_to_first();
    assert_eq!(iter.key(), b"b");
    iter.prev();
    assert!(!iter.valid());
    iter.seek_to_last();
    assert_eq!(iter.key(), b"b");
    iter.status().unwrap();
}
