//! Blocks of every shape against a sorted vector.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use base::internal_key::{self, TRAILER_LEN};
use base::{Comparator, Cursor, InternalComparator, Kind, MAX_SEQNO, Result, UserComparator};
use testkit::conformance::check_cursor;
use testkit::rng::{self, TestRng};

use super::builder::BlockBuilder;
use super::entries::Entries;
use super::search::{Lookup, visit_versions};
use super::*;
use crate::LookupKey;
use crate::vectors::{unhex, vectors};

type Model = Vec<(Vec<u8>, Vec<u8>)>;

/// Longer keys first, then bytewise: an order that prefixes cannot represent.
struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.len().cmp(&a.len()).then_with(|| a.cmp(b))
    }
}

/// A block cursor with the parameters of a seek.
struct Subject {
    cursor: BlockCursor,
    form: KeyForm,
    stored_order: UserComparator,
    order: InternalComparator,
}

impl Subject {
    fn new(
        block: Arc<Block>,
        form: KeyForm,
        stored_order: &UserComparator,
        order: &UserComparator,
    ) -> Subject {
        let mut cursor = BlockCursor::new(form);
        cursor.set_block(BlockPin::Owned(block));
        Subject {
            cursor,
            form,
            stored_order: stored_order.clone(),
            order: InternalComparator::new(order.clone()),
        }
    }
}

impl Cursor for Subject {
    fn valid(&self) -> bool {
        self.cursor.valid()
    }
    fn seek_to_first(&mut self) {
        self.cursor.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.cursor.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        let place = self.form.target(target, self.order.user());
        self.cursor.seek(&place, &self.stored_order);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.seek(target);
        if !self.valid() {
            self.seek_to_last();
        } else if self.order.compare(self.key(), target).is_gt() {
            self.prev();
        }
    }
    fn next(&mut self) {
        self.cursor.next();
    }
    fn prev(&mut self) {
        self.cursor.prev();
    }
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }
    fn value(&self) -> &[u8] {
        self.cursor.value()
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

fn build(entries: &Model, interval: usize) -> Block {
    let mut builder = BlockBuilder::new(interval);
    for (key, value) in entries {
        builder.add(key, value);
    }
    Block::parse(builder.finish().0.clone()).unwrap()
}

/// User keys of one of many shapes, in the order of bytes and without duplicates.
fn user_keys(rng: &mut TestRng, shape: usize) -> BTreeSet<Vec<u8>> {
    let count = rng.usize(1..90);
    let start = rng.u32(..1_000_000);
    (0..count)
        .map(|i| match shape {
            // The keys are consecutive numbers, which share most of their digits, as keys of most blocks do.
            0 => format!("{:016}", start + i as u32).into_bytes(),
            1 => format!("user{:08}/field{}", start + i as u32 / 5, i % 5).into_bytes(),
            // Random keys, which have no common prefix.
            2 => {
                let len = rng.usize(..20);
                rng.bytes(len)
            }
            // Some keys are prefixes of others, with zeros that look like the end.
            3 => [
                &b"key"[..],
                &vec![0; rng.usize(..9)],
                &vec![rng.u8(..2); rng.usize(..3)],
            ]
            .concat(),
            // The keys are in clusters: each has far more in common with the keys of its cluster than with
            // all others.
            4 => [&[rng.u8(..3)][..], &[b'x'; 30], &[rng.u8(..4), rng.u8(..4)]].concat(),
            // Long keys.
            5 => [&vec![b'l'; rng.usize(100..400)][..], &rng.bytes(2)].concat(),
            // The bytes that trailers consist of.
            _ => (0..rng.usize(..12))
                .map(|_| [0, 1, 2, 0xff][rng.usize(..4)])
                .collect(),
        })
        .collect()
}

/// Versions of user keys, in order.
fn entries(rng: &mut TestRng, shape: usize, most_versions: usize, order: &UserComparator) -> Model {
    let mut entries = Vec::new();
    for user_key in user_keys(rng, shape) {
        let mut seqnos = BTreeSet::new();
        for _ in 0..rng.usize(1..=most_versions) {
            seqnos.insert(match rng.u8(..3) {
                0 => rng.u64(..4),
                1 => 255 + rng.u64(..4),
                _ => rng.u64(..=MAX_SEQNO),
            });
        }
        for seqno in seqnos {
            let kind = *rng.pick(&[Kind::Value, Kind::Deletion, Kind::Merge]);
            let len = *rng.pick(&[0, 1, 20, 130, 300]);
            entries.push((internal_key::encode(&user_key, seqno, kind), rng.bytes(len)));
        }
    }
    let cmp = InternalComparator::new(order.clone());
    entries.sort_by(|a, b| cmp.compare(&a.0, &b.0));
    entries
}

/// User keys at and next to those of the model, and sequence numbers at and next to theirs.
fn probes(model: &Model, order: &UserComparator) -> Vec<(Vec<u8>, u64)> {
    let mut probes = Vec::new();
    for (key, _) in model {
        let (user_key, seqno) = (internal_key::user_key(key), internal_key::seqno(key));
        let (without, ts) = user_key.split_at(user_key.len() - order.timestamp_size());
        let mut next = without.to_vec();
        if let Some(last) = next.last_mut() {
            *last = last.wrapping_add(1);
        }
        let shorter = &without[..without.len().saturating_sub(1)];
        for neighbour in [&next[..], shorter, &[without, b"\0"].concat()] {
            probes.push(([neighbour, ts].concat(), seqno));
        }
        for seqno in [seqno, seqno.saturating_sub(1), MAX_SEQNO] {
            probes.push((user_key.to_vec(), seqno));
        }
    }
    probes
}

/// Every probe must find the versions that a walk over the model finds.
fn check_lookups(
    block: &Block,
    model: &Model,
    form: &KeyForm,
    stored_order: &UserComparator,
    order: &UserComparator,
) {
    let cmp = InternalComparator::new(order.clone());
    for (user_key, seqno) in probes(model, order) {
        let key = LookupKey::new(&user_key, seqno, order);
        let lookup = Lookup {
            target: form.target(key.internal_key(), order),
            user_key: &user_key,
            seqno,
            form,
            stored_order,
            order,
        };
        let mut found = Vec::new();
        let mut visit = |key: &[u8], value: Range<usize>| {
            found.push((key.to_vec(), block.data()[value].to_vec()));
            ControlFlow::Continue(())
        };
        visit_versions(block, &lookup, &mut visit).unwrap();
        let is_version = |other: &[u8]| {
            let other_user_key = internal_key::user_key(other);
            order.compare_without_timestamp(other_user_key, &user_key).is_eq()
                && internal_key::seqno(other) <= seqno
                && cmp.compare(other, key.internal_key()).is_ge()
        };
        let expected: Model = model
            .iter()
            .filter(|entry| is_version(&entry.0))
            .cloned()
            .collect();
        assert_eq!(found, expected, "{user_key:02x?} at {seqno}");
    }
}

/// All checks of a block whose entries equal `model`.
fn check_block(
    make: impl Fn() -> Block,
    model: &Model,
    form: KeyForm,
    stored_order: &UserComparator,
    order: &UserComparator,
    seed: u64,
) {
    for (indexed, width) in [(false, 0), (true, 0), (false, 1), (true, 8)] {
        let block = Arc::new(make().protect(width).unwrap());
        if width > 0 {
            assert!(block.entry_index().is_none() && block.protection().is_some());
        } else if indexed {
            let fits = block.entries().len() < 1 << 16;
            assert_eq!(
                block.entry_index().map(EntryIndex::len),
                fits.then_some(model.len())
            );
        }
        check_cursor(
            || Subject::new(block.clone(), form, stored_order, order),
            model,
            &InternalComparator::new(order.clone()),
            seed,
        );
        check_lookups(&block, model, &form, stored_order, order);
    }
}

#[test]
fn cursors_and_lookups_agree_with_a_sorted_vector() {
    let mut rng = rng::rng();
    let orders = [
        UserComparator::Bytewise,
        UserComparator::Bytewise,
        UserComparator::ReverseBytewise,
        UserComparator::Custom(Arc::new(ByLength)),
    ];
    for round in 0..84 {
        let order = &orders[round % 4];
        let versions = *rng.pick(&[1, 1, 6]);
        let model = entries(&mut rng, round % 7, versions, order);
        let interval = *rng.pick(&[1, 2, 7, 16, 1000]);
        let make = || build(&model, interval);
        check_block(make, &model, KeyForm::PLAIN, order, order, rng.seed());
    }
}

#[test]
fn timestamps_are_part_of_keys_and_versions_of_one_key_differ_in_them() {
    let mut rng = rng::rng();
    for order in [
        UserComparator::BytewiseU64Ts,
        UserComparator::ReverseBytewiseU64Ts,
    ] {
        for shape in 0..7 {
            let mut model = Model::new();
            for user_key in user_keys(&mut rng, shape) {
                let timestamps: BTreeSet<u64> = (0..rng.usize(1..5)).map(|_| rng.u64(..6)).collect();
                for ts in timestamps {
                    let key = [&user_key[..], &ts.to_le_bytes()].concat();
                    let value = rng.bytes(10);
                    model.push((internal_key::encode(&key, rng.u64(..100), Kind::Value), value));
                }
            }
            let cmp = InternalComparator::new(order.clone());
            model.sort_by(|a, b| cmp.compare(&a.0, &b.0));
            let make = || build(&model, 16);
            check_block(make, &model, KeyForm::PLAIN, &order, &order, rng.seed());
        }
    }
}

#[test]
fn keys_are_read_as_their_form_says() {
    let mut rng = rng::rng();
    let orders = [
        (UserComparator::Bytewise, UserComparator::Bytewise),
        (UserComparator::Bytewise, UserComparator::BytewiseU64Ts),
        (
            UserComparator::ReverseBytewise,
            UserComparator::ReverseBytewiseU64Ts,
        ),
    ];
    for (stored_order, order) in orders {
        for global_seqno in [None, Some(0), Some(77), Some(MAX_SEQNO)] {
            let form = KeyForm::new(global_seqno, order.timestamp_size());
            for shape in 0..7 {
                // Each key has one version, as in a table without older versions.
                let stored = entries(&mut rng, shape, 1, &stored_order);
                let model: Model = stored
                    .iter()
                    .map(|(key, value)| {
                        let mut rewritten = Vec::new();
                        form.rewrite(key, &mut rewritten);
                        (rewritten, value.clone())
                    })
                    .collect();
                let seqno = global_seqno.unwrap_or_else(|| internal_key::seqno(&stored[0].0));
                assert_eq!(internal_key::seqno(&model[0].0), seqno);
                let make = || build(&stored, 16);
                check_block(make, &model, form, &stored_order, &order, rng.seed());
            }
        }
    }
}

#[test]
fn blocks_rocksdb_wrote_hold_what_they_should() {
    for vector in vectors("data_block") {
        let desc = vector["desc"].as_str().unwrap();
        let block = Block::parse(unhex(&vector["block_hex"])).unwrap();
        let expected: Model = vector["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (unhex(&entry["internal_key_hex"]), unhex(&entry["value_hex"])))
            .collect();
        let restarts = vector["restarts"].as_array().unwrap().len();
        assert_eq!(block.num_restarts(), restarts, "{desc}");
        let mut found = Model::new();
        let mut entries = Entries::new(block.entries());
        while let Some(entry) = entries.next().unwrap() {
            found.push((entry.key.to_vec(), entry.value.to_vec()));
        }
        assert_eq!(found, expected, "{desc}");
        let order = UserComparator::Bytewise;
        let make = || Block::parse(unhex(&vector["block_hex"])).unwrap();
        check_block(make, &expected, KeyForm::PLAIN, &order, &order, 1);
    }
}

/// A block with separate keys and values.
fn build_separated(entries: &Model, interval: usize, hash_index: bool) -> Vec<u8> {
    let hash = hash_index.then_some(0.75);
    let mut builder = BlockBuilder::of_data(interval, true, hash).with_values_apart();
    for (key, value) in entries {
        builder.add(key, value);
    }
    std::mem::take(builder.finish().0)
}

#[test]
fn separated_sections_are_joined() {
    let mut rng = rng::rng();
    for shape in 0..7 {
        let order = UserComparator::Bytewise;
        let model = entries(&mut rng, shape, 2, &order);
        for hash_index in [false, true] {
            let bytes = build_separated(&model, 16, hash_index);
            let make = || Block::parse(bytes.clone()).unwrap();
            check_block(make, &model, KeyForm::PLAIN, &order, &order, rng.seed());
        }
    }
}

#[test]
fn shapes_that_cannot_be_are_corruption() {
    let word = |word: u32| word.to_le_bytes();
    let good = [&[0, 9, 0][..], b"k\x01\0\0\0\0\0\0\0", &word(0), &word(1)].concat();
    assert_eq!(Block::parse(good.clone()).unwrap().entries().len(), 12);
    let mut bad: Vec<Vec<u8>> = vec![
        vec![],
        vec![0; 3],
        // The footer claims more restarts than the block has bytes for.
        [&word(0)[..], &word(2)].concat(),
        word(NUM_RESTARTS_MASK).to_vec(),
        // Here the reserved bit is set.
        [&word(0)[..], &word(1 | RESERVED)].concat(),
        // A missing hash index, or missing sections.
        word(HASH_INDEX).to_vec(),
        [&[0xff, 0xff][..], &word(HASH_INDEX)].concat(),
        word(SEPARATED).to_vec(),
        [&word(0)[..], &word(100), &word(1 | SEPARATED)].concat(),
        // The block has entries, but no restart.
        [&[0, 0, 0][..], &word(0)].concat(),
    ];
    // The first restart point is not 0, or is beyond the entries.
    for restart in [1, 12, 13] {
        let mut block = good.clone();
        block[12..16].copy_from_slice(&word(restart));
        bad.push(block);
    }
    bad.push([&good[..12], &word(0), &word(0), &word(2)].concat());
    bad.push([&good[..12], &word(0), &word(12), &word(2)].concat());
    for bytes in bad {
        assert!(
            Block::parse(bytes.clone()).unwrap_err().is_corruption(),
            "{bytes:02x?}"
        );
    }
    assert!(Block::parse([word(0), word(1)].concat()).unwrap().is_empty());
}

#[test]
fn values_that_overlap_cannot_make_a_block_grow() {
    let (mut block, value_len) = (Vec::new(), 200u32);
    let mut restarts = Vec::new();
    for i in 0..100u32 {
        restarts.push(block.len() as u32);
        for varint in [0, 9, value_len, 0] {
            coding::put_varint32(&mut block, varint);
        }
        block.extend_from_slice(&internal_key::encode(&[i as u8], 1, Kind::Value));
    }
    let values_offset = block.len() as u32;
    block.resize(block.len() + value_len as usize, 7);
    restarts
        .into_iter()
        .for_each(|restart| coding::put_u32(&mut block, restart));
    coding::put_u32(&mut block, values_offset);
    coding::put_u32(&mut block, 100 | SEPARATED);
    assert!(Block::parse(block).unwrap_err().is_corruption());
}

/// Walks from one end of the block to the other. Returns the rows, up to an error if there is one.
fn walk(subject: &mut Subject, forward: bool) -> (Model, Option<Error>) {
    let mut found = Model::new();
    match forward {
        true => subject.seek_to_first(),
        false => subject.seek_to_last(),
    }
    while subject.valid() {
        found.push((subject.key().to_vec(), subject.value().to_vec()));
        match forward {
            true => subject.next(),
            false => subject.prev(),
        }
    }
    (found, subject.cursor.take_error())
}

#[test]
fn a_bit_turned_anywhere_in_an_entry_with_a_checksum_is_never_a_wrong_answer() {
    let mut rng = rng::rng();
    for (order, interval) in [
        (UserComparator::Bytewise, 1),
        (UserComparator::Bytewise, 4),
        (UserComparator::ReverseBytewise, 16),
    ] {
        let cmp = InternalComparator::new(order.clone());
        let mut model = Model::new();
        for i in 0..14u8 {
            let user_key = [b"key", &[b'a' + i / 3, i][..]].concat();
            for seqno in [u64::from(i) + 300, u64::from(i) + 1] {
                let key = internal_key::encode(&user_key, seqno, Kind::Value);
                model.push((key, rng.bytes(6)));
            }
        }
        model.sort_by(|a, b| cmp.compare(&a.0, &b.0));
        let good = build(&model, interval);
        for at in 0..good.entries().len() {
            let mut bytes = good.data().to_vec();
            bytes[at] ^= 1 << rng.u32(..8);
            let protection = protection::BlockProtection::new(good.entries(), 8).unwrap();
            let block = Block::parse(bytes).unwrap().with_protection(protection);
            let block = Arc::new(block);
            let mut subject = Subject::new(block.clone(), KeyForm::PLAIN, &order, &order);
            let (found, error) = walk(&mut subject, true);
            assert!(error.expect("it is somewhere on the way").is_corruption());
            assert!(model.starts_with(&found));
            let (found, error) = walk(&mut subject, false);
            assert!(error.expect("it is somewhere on the way").is_corruption());
            assert!(model.iter().rev().take(found.len()).eq(&found));
            for (user_key, seqno) in probes(&model, &order) {
                let key = LookupKey::new(&user_key, seqno, &order);
                let expected = model
                    .iter()
                    .find(|entry| cmp.compare(&entry.0, key.internal_key()).is_ge());
                subject.seek(key.internal_key());
                let met = subject
                    .valid()
                    .then(|| (subject.key().to_vec(), subject.value().to_vec()));
                if subject.cursor.take_error().is_none() {
                    assert_eq!(met.as_ref(), expected, "byte {at}, interval {interval}");
                }
                let lookup = Lookup {
                    target: KeyForm::PLAIN.target(key.internal_key(), &order),
                    user_key: &user_key,
                    seqno,
                    form: &KeyForm::PLAIN,
                    stored_order: &order,
                    order: &order,
                };
                let mut found = None;
                let result = visit_versions(&block, &lookup, &mut |key, value| {
                    found = Some((key.to_vec(), block.data()[value].to_vec()));
                    ControlFlow::Break(())
                });
                let expected = expected.filter(|entry| internal_key::user_key(&entry.0) == user_key);
                if result.is_ok() {
                    assert_eq!(found.as_ref(), expected, "byte {at}, interval {interval}");
                }
            }
        }
    }
}

#[test]
fn a_checksum_names_the_entry_and_counts_in_the_cache() {
    let key = |i: u8| internal_key::encode(&[b'k', i], 7, Kind::Value);
    let model: Model = (0..20).map(|i| (key(i), vec![i; 10])).collect();
    let good = build(&model, 16);
    let plain = good.charge();
    let protection = protection::BlockProtection::new(good.entries(), 8).unwrap();
    let mut bytes = good.data().to_vec();
    let at = bytes.windows(10).position(|window| window == [5; 10]).unwrap();
    bytes[at + 3] ^= 4;
    let block = Block::parse(bytes).unwrap().with_protection(protection);
    assert!(block.charge() > plain);
    let mut subject = Subject::new(
        Arc::new(block),
        KeyForm::PLAIN,
        &UserComparator::Bytewise,
        &UserComparator::Bytewise,
    );
    let (found, error) = walk(&mut subject, true);
    assert_eq!(found.len(), 5);
    let text = error.unwrap().to_string();
    assert!(
        text.contains("user key 6B05, sequence number 7") && text.contains("a block"),
        "{text}"
    );
}

#[test]
fn damaged_entries_end_in_an_error_or_an_answer() {
    let mut rng = rng::rng();
    let order = UserComparator::Bytewise;
    for shape in 0..7 {
        let model = entries(&mut rng, shape, 3, &order);
        let good = build(&model, 4);
        let entries_end = good.entries().len();
        for _ in 0..300 {
            let mut bytes = good.data().to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..entries_end);
                bytes[at] = rng.u8(..);
            }
            let Ok(block) = Block::parse(bytes) else { continue };
            let block = Arc::new(block);
            if rng.bool() {
                block.entry_index();
            }
            let mut subject = Subject::new(block.clone(), KeyForm::PLAIN, &order, &order);
            let mut steps = 0;
            subject.seek_to_first();
            while subject.valid() && steps < 2 * entries_end {
                subject.next();
                steps += 1;
            }
            subject.seek_to_last();
            while subject.valid() && steps < 4 * entries_end {
                subject.prev();
                steps += 1;
            }
            assert!(steps < 4 * entries_end);
            for (user_key, seqno) in probes(&model, &order).into_iter().step_by(7) {
                let key = LookupKey::new(&user_key, seqno, &order);
                subject.seek(key.internal_key());
                subject.seek_for_prev(key.internal_key());
                let lookup = Lookup {
                    target: KeyForm::PLAIN.target(key.internal_key(), &order),
                    user_key: &user_key,
                    seqno,
                    form: &KeyForm::PLAIN,
                    stored_order: &order,
                    order: &order,
                };
                let result = visit_versions(&block, &lookup, &mut |_, _| ControlFlow::Continue(()));
                assert!(result.is_ok() || result.is_err_and(|error| error.is_corruption()));
            }
        }
    }
}

#[test]
fn a_block_searched_once_has_no_index_and_the_charge_counts_the_one_it_may_get() {
    let mut rng = rng::rng();
    let model = entries(&mut rng, 0, 1, &UserComparator::Bytewise);
    let block = build(&model, 16);
    assert!(block.entry_index_for_search().is_none());
    assert_eq!(block.entry_index_address(), 0);
    let index = block.entry_index_for_search().unwrap();
    assert_eq!(index.len(), model.len());
    assert!((0..index.len()).all(|i| index.ordinal(index.offset(i)) == i));
    assert_ne!(block.entry_index_address(), 0);
    // The charge assumes narrow words and distances, with an error of half a restart interval.
    let charged = (block.charge() - block.data().len()).abs_diff(index.len() * 3);
    assert!(charged <= 8 * 3 + Buffer::OVERHEAD, "{charged}");
    assert!(model[0].0.len() >= TRAILER_LEN);
}
