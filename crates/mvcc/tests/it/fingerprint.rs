//! Equal histories have equal fingerprints, however they are stored, and different ones differ.

use std::sync::Arc;

use esker::{Db, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Fingerprint, MvccStore, RangeTombstoneOptions, Span, Timestamp, Value,
};
use testkit::rng::{self, TestRng};
use vfs::{FileSystem, MemFs};

use super::model::{NOW, open_with};

/// A write, with its time in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Write {
    Put(&'static [u8], i64, Vec<u8>),
    Delete(&'static [u8], i64),
    DeleteSpan(&'static [u8], &'static [u8], i64),
    Inline(&'static [u8], Vec<u8>),
}

const KEYS: [&[u8]; 6] = [b"a", b"a\0", b"ab", b"b", b"c", b"d"];
const INLINE: &[u8] = b"inline";

/// Writes in the order of their times, each at a different one.
fn history(rng: &mut TestRng) -> Vec<Write> {
    let mut writes = vec![Write::Inline(INLINE, rng.bytes(3))];
    for second in 1..rng.i64(20..60) {
        let key = *rng.pick(&KEYS);
        let len = rng.usize(..20);
        writes.push(match rng.u32(..10) {
            0 => Write::Delete(key, second),
            1 => {
                let (a, b) = (rng.usize(..KEYS.len()), rng.usize(..KEYS.len()));
                match a == b {
                    true => Write::DeleteSpan(b"a", b"e", second),
                    false => Write::DeleteSpan(KEYS[a.min(b)], KEYS[a.max(b)], second),
                }
            }
            _ => Write::Put(key, second, rng.bytes(len)),
        });
    }
    writes
}

struct Written {
    db: Db,
    store: MvccStore,
}

/// Writes everything in random batches and files.
fn write(rng: &mut TestRng, writes: &[Write]) -> Written {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let gc = CompactionGc::new();
    let small = rng.bool();
    let db = open_with(fs, "/db", |options| {
        gc.configure(&mut options.column_family);
        if small {
            options.column_family.table.block_size = 60;
            options.column_family.target_file_size_base = 200;
        }
    });
    let options = BatchOptions {
        checksums: rng.bool(),
        range_tombstones: true,
        max_steps: rng.u32(..3),
        ..BatchOptions::default()
    };
    let family = db.default_column_family();
    let store = MvccStore::open_with_compactions(&db, &family, options, NOW, Some(gc)).unwrap();
    let mut rest = writes;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rng.usize(1..=rest.len()));
        let mut batch = store.begin(NOW);
        for write in now {
            match write {
                Write::Put(key, second, value) => {
                    let value = Value::Bytes(value);
                    batch.put(key, Timestamp::from_secs(*second), value).unwrap();
                }
                Write::Delete(key, second) => {
                    batch.delete(key, Timestamp::from_secs(*second)).unwrap();
                }
                Write::DeleteSpan(start, end, second) => {
                    let time = Timestamp::from_secs(*second);
                    let options = RangeTombstoneOptions::default();
                    batch
                        .delete_range_using_tombstone(Span::new(start, end), time, &options)
                        .unwrap();
                }
                Write::Inline(key, value) => {
                    batch.put_inline(key, Some(Value::Bytes(value))).unwrap();
                }
            }
        }
        batch.commit(&WriteOptions::default()).unwrap();
        if rng.one_in(3) {
            // These rows are written, and then reverted without a trace.
            let mut batch = store.begin(NOW);
            let late = Timestamp::from_secs(80);
            batch.put(b"c", late, Value::Bytes(b"gone")).unwrap();
            batch.put(b"z", late, Value::Bytes(b"gone")).unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
            let mut batch = store.begin(NOW);
            let before = Timestamp::from_secs(79);
            batch
                .revert_to(Span::new(b"a", b"d"), before, &Default::default())
                .unwrap();
            batch.clear_range(Span::new(b"z", b"zz")).unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
        }
        match rng.u32(..4) {
            0 => db.flush().unwrap(),
            1 => compact(&db),
            _ => {}
        }
        rest = later;
    }
    Written { db, store }
}

fn compact(db: &Db) {
    let family = db.default_column_family();
    db.compact_range_cf(&family, None, None).unwrap();
}

impl Written {
    fn of(&self, span: Span<'_>, after: i64, until: i64) -> Fingerprint {
        let reader = self.store.reader(Timestamp::MAX).unwrap();
        let (after, until) = (Timestamp::from_secs(after), Timestamp::from_secs(until));
        reader.fingerprint(span, after, until).unwrap()
    }

    fn all(&self) -> Fingerprint {
        self.of(Span::ALL, 0, 99)
    }
}

/// Changes or drops one write.
fn change(rng: &mut TestRng, writes: &mut Vec<Write>) {
    let at = rng.usize(..writes.len());
    let before = writes[at].clone();
    match &mut writes[at] {
        Write::Put(_, _, value) if !value.is_empty() && rng.bool() => {
            let at = rng.usize(..value.len());
            value[at] ^= 1 << rng.u32(..8);
        }
        Write::Put(_, _, value) if rng.bool() => value.push(0),
        Write::Put(key, second, _) if rng.bool() => writes[at] = Write::Delete(key, *second),
        Write::Put(key, ..) | Write::Delete(key, _) if rng.bool() => {
            *key = if *key == b"a" { b"b" } else { b"a" };
        }
        Write::Inline(_, value) => value.push(7),
        _ => drop(writes.remove(at)),
    }
    assert_ne!(writes.get(at), Some(&before));
}

#[test]
fn the_same_history_has_the_same() {
    let mut rng = rng::rng();
    for _ in 0..20 {
        let writes = history(&mut rng);
        let (one, other) = (write(&mut rng, &writes), write(&mut rng, &writes));
        let whole = one.all();
        assert_eq!(whole, other.all());
        compact(&one.db);
        assert_eq!(whole, one.all());
        // The fingerprints of two parts add up to that of the whole.
        let (key, second) = (*rng.pick(&KEYS), rng.i64(1..60));
        let (left, right) = (
            Span::new(b"", key),
            Span {
                start: key,
                end: None,
            },
        );
        let mut sum = Fingerprint::default();
        for span in [left, right] {
            for (after, until) in [(0, second), (second, 99)] {
                let part = one.of(span, after, until);
                assert_eq!(part, other.of(span, after, until));
                sum += part;
            }
        }
        assert_eq!(sum, whole);
        for _ in 0..5 {
            let mut changed = writes.clone();
            change(&mut rng, &mut changed);
            assert_ne!(write(&mut rng, &changed).all(), whole, "{writes:?} {changed:?}");
        }
    }
}

/// Garbage does not affect the fingerprint, whether it was removed, was left to compactions, or still exists.
#[test]
fn no_garbage_is_in_it() {
    let mut rng = rng::rng();
    for _ in 0..20 {
        let writes = history(&mut rng);
        let stores: Vec<Written> = (0..3).map(|_| write(&mut rng, &writes)).collect();
        let second = rng.i64(1..60);
        let threshold = Timestamp::from_secs(second);
        let ttl = std::time::Duration::from_secs(100 - second as u64);
        stores[0].store.advance_threshold(threshold).unwrap();
        let expected = stores[0].all();
        stores[1]
            .store
            .collect_garbage(ttl, NOW, &Default::default())
            .unwrap();
        assert_eq!(stores[1].all(), expected);
        stores[2].store.collect_in_compactions(ttl, NOW).unwrap();
        assert_eq!(stores[2].all(), expected);
        compact(&stores[2].db);
        assert_eq!(stores[2].all(), expected);
    }
}
