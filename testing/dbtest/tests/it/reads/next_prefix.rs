//! Steps from a key to the next prefix, compared with a model, for any rows in between, any number of plain
//! steps, and any former position.

use std::ops::Bound;
use std::sync::Arc;

use base::merge::StringAppend;
use dbtest::by_hand::flush;
use esker::{
    Db, DbIterator, Options, PrefixExtractor, ReadOptions, Snapshot, UserComparator, WriteBatch,
    WriteBatchWithIndex,
};
use testkit::model::{Model, Op, Row};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

/// An extractor whose prefix ends with the last `/` of a key.
struct Directory {
    knows_successor: bool,
}

impl PrefixExtractor for Directory {
    fn name(&self) -> &str {
        "test.Directory"
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let end = key.iter().position(|&byte| byte == b'/')?;
        Some(&key[..=end])
    }

    fn successor(&self, key: &[u8], _comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
        if let Some(prefix) = self.prefix(key).filter(|_| self.knows_successor) {
            out.extend_from_slice(&prefix[..prefix.len() - 1]);
            out.push(b'/' + 1);
        }
        self.knows_successor
    }
}

fn extractor(rng: &mut TestRng, comparator: &UserComparator) -> Arc<dyn PrefixExtractor> {
    let knows_successor = rng.bool() && matches!(comparator, UserComparator::Bytewise);
    match rng.u32(..6) {
        0 => base::prefix::builtin("fixed:1").unwrap(),
        1 => base::prefix::builtin("fixed:2").unwrap(),
        2 => base::prefix::builtin("capped:2").unwrap(),
        3 => base::prefix::builtin("noop").unwrap(),
        _ => Arc::new(Directory { knows_successor }),
    }
}

fn key(rng: &mut TestRng) -> Vec<u8> {
    let len = rng.usize(1..6);
    (0..len).map(|_| *rng.pick(&[b'a', b'b', b'/', 0xff])).collect()
}

fn operation(rng: &mut TestRng, cmp: &UserComparator) -> Op {
    let (mut key, mut other) = (key(rng), key(rng));
    if cmp.compare(&key, &other).is_gt() {
        std::mem::swap(&mut key, &mut other);
    }
    match rng.u32(..20) {
        0..11 => Op::Put(key, rng.u32(..).to_string().into_bytes()),
        11..16 => Op::Delete(key),
        16..18 => Op::Merge(key, b"more".to_vec()),
        _ => Op::DeleteRange(key, other),
    }
}

fn add(batch: &mut WriteBatch, op: &Op) {
    match op {
        Op::Put(key, value) => batch.put(key, value),
        Op::Delete(key) | Op::SingleDelete(key) => batch.delete(key),
        Op::Merge(key, value) => batch.merge(key, value),
        Op::DeleteRange(begin, end) => batch.delete_range(begin, end),
    }
}

/// Checks the position of an iterator: an index of `rows`, or none.
fn stands(iter: &DbIterator, rows: &[Row], at: Option<usize>, what: &str) {
    iter.status().unwrap();
    assert_eq!(iter.valid(), at.is_some(), "{what}");
    if let Some(at) = at {
        assert_eq!(
            (iter.key(), iter.value()),
            (&rows[at].0[..], &rows[at].1[..]),
            "{what}"
        );
    }
}

/// The first row after `at` with another prefix; the next row if that at `at` has no prefix.
fn next_prefix(rows: &[Row], at: usize, extractor: &dyn PrefixExtractor) -> Option<usize> {
    let prefix = extractor.prefix(&rows[at].0);
    let other = |row: &Row| prefix.is_none() || extractor.prefix(&row.0) != prefix;
    (at + 1..rows.len()).find(|&next| other(&rows[next]))
}

/// Moves an iterator at random, and steps to the next prefix from each position.
fn wander(
    rng: &mut TestRng,
    iter: &mut DbIterator,
    rows: &[Row],
    cmp: &UserComparator,
    own: &dyn PrefixExtractor,
) {
    let mut at: Option<usize> = None;
    for _ in 0..30 {
        let (what, to) = match (rng.u32(..8), at) {
            (0, _) => {
                iter.seek_to_first();
                ("first", (!rows.is_empty()).then_some(0))
            }
            (1, _) => {
                iter.seek_to_last();
                ("last", rows.len().checked_sub(1))
            }
            (2, _) | (_, None) => {
                let key = key(rng);
                let behind = rows.partition_point(|row| cmp.compare(&row.0, &key).is_lt());
                match rng.bool() {
                    true => {
                        iter.seek(&key);
                        ("seek", (behind < rows.len()).then_some(behind))
                    }
                    false => {
                        iter.seek_for_prev(&key);
                        let there = rows.get(behind).is_some_and(|row| row.0 == key);
                        ("seek_for_prev", (behind + usize::from(there)).checked_sub(1))
                    }
                }
            }
            (3, Some(from)) => {
                iter.next();
                ("next", (from + 1 < rows.len()).then_some(from + 1))
            }
            (4, Some(from)) => {
                iter.prev();
                ("prev", from.checked_sub(1))
            }
            (_, Some(from)) => {
                iter.next_prefix();
                ("next_prefix", next_prefix(rows, from, own))
            }
        };
        stands(iter, rows, to, what);
        at = to;
    }
}

#[test]
fn random_walks_find_the_next_prefix() {
    let mut rng = rng::rng();
    for _ in 0..200 {
        let reverse = rng.one_in(4);
        let cmp = match reverse {
            true => UserComparator::ReverseBytewise,
            false => UserComparator::Bytewise,
        };
        let own = extractor(&mut rng, &cmp);
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        let family = &mut options.column_family;
        family.comparator = cmp.clone();
        family.prefix_extractor = Some(own.clone());
        family.merge_operator = Some(Arc::new(StringAppend::new(",")));
        family.table.block_size = 100;
        family.target_file_size_base = 500;
        let db = Db::open(&options, "/db").unwrap();
        let mut model = Model::new();
        model.create_family(1, cmp.clone(), Some(Arc::new(StringAppend::new(","))));
        let mut snapshots: Vec<(Snapshot, u64)> = Vec::new();
        for _ in 0..rng.u32(1..12) {
            for _ in 0..rng.u32(..30) {
                let op = operation(&mut rng, &cmp);
                let mut batch = WriteBatch::new();
                add(&mut batch, &op);
                db.write(batch).unwrap();
                model.apply(1, &op);
            }
            match rng.u32(..6) {
                0 | 1 => flush(&db),
                2 => db.compact_range(None, None).unwrap(),
                3 => snapshots.push((db.snapshot(), model.last_seqno())),
                _ => {}
            }
        }
        snapshots.push((db.snapshot(), model.last_seqno()));
        for _ in 0..12 {
            let (snapshot, seqno) = rng.pick(&snapshots).clone();
            let bound = |rng: &mut TestRng| rng.one_in(3).then(|| key(rng));
            let (lower, upper) = (bound(&mut rng), bound(&mut rng));
            let read = ReadOptions {
                snapshot: Some(snapshot),
                iterate_lower_bound: lower.clone(),
                iterate_upper_bound: upper.clone(),
                ..ReadOptions::default()
            };
            // Rows of the batch that are not written yet are newer than all written ones.
            let over_batch = seqno == model.last_seqno() && rng.one_in(3);
            let mut batch = WriteBatchWithIndex::new();
            let mut written = Vec::new();
            if over_batch {
                for _ in 0..rng.u32(1..8) {
                    let op = operation(&mut rng, &cmp);
                    let mut one = WriteBatch::new();
                    add(&mut one, &op);
                    batch.append(&one);
                    written.push((1, op));
                }
            }
            let family = db.default_column_family();
            let mut iter = batch.iter_with_base(&db, &family, &read).unwrap();
            iter.set_max_prefix_steps(rng.u32(..5));
            let as_if = model.write(&written);
            let low = lower.as_deref().map_or(Bound::Unbounded, Bound::Included);
            let high = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let at = if over_batch { as_if } else { seqno };
            let rows = model.scan(1, at, low, high).unwrap();
            wander(&mut rng, &mut iter, &rows, &cmp, &*own);
            drop(iter);
            if !written.is_empty() {
                // The rows of the batch are in the model, so they are written to the database too.
                let batch = batch.into_write_batch();
                db.write(batch).unwrap();
                snapshots.push((db.snapshot(), model.last_seqno()));
            }
        }
    }
}
