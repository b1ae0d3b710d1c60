//! The cost of the memtable per entry, in nanoseconds.
//! `cargo bench -p esker-memtable --bench memtable [-- FILTER]`.
//!
//! * `add_in_order`, `add_random`: an insertion, keys ascending or shuffled; random ones go into a memtable
//!   that holds half a million entries (as full as the default `write_buffer_size` gets with values of 100
//!   bytes) and more by the end
//! * `get`, `get_missing`: a point read out of half a million entries, by one thread and by two
//! * `seek`, `next`, `prev`: the cursor over them, as iterators and flushes use it
//!
//! Keys have 16 bytes and values 100. The results show the memtable's part of a Put and of a Get, and the
//! cost of random keys compared with sorted ones. `add_*` include the first touch of new memory, as in
//! production.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Cursor, InternalComparator, Kind, MAX_SEQNO, UserComparator, internal_key};
use divan::Bencher;
use esker_memtable::{Memtable, MemtableOptions};
use testkit::bench::{KEY_LEN, Shuffled, end_on_panic, key, size};

const VALUE: [u8; 100] = [b'v'; 100];
const THREADS: [usize; 2] = [1, 2];

fn main() {
    end_on_panic();
    divan::main();
}

fn entries() -> usize {
    size(500_000, 500)
}

fn empty() -> Memtable {
    Memtable::new(
        InternalComparator::new(UserComparator::Bytewise),
        MemtableOptions::default(),
    )
}

/// Every even key, added in random order.
fn full() -> Arc<Memtable> {
    let table = empty();
    let order = Shuffled::new(entries());
    for seqno in 1..=entries() as u64 {
        add(&table, seqno, &key(2 * order.next()));
    }
    Arc::new(table)
}

fn add(table: &Memtable, seqno: u64, key: &[u8]) {
    assert!(table.add(seqno, Kind::Value, key, &VALUE));
}

#[divan::bench(sample_size = 1000)]
fn add_in_order(bencher: Bencher) {
    let table = empty();
    let mut seqno = 0;
    bencher
        .with_inputs(|| {
            seqno += 1;
            (seqno, key(seqno as usize))
        })
        .bench_local_values(|(seqno, key)| add(&table, seqno, &key));
}

#[divan::bench(sample_size = 1000)]
fn add_random(bencher: Bencher) {
    let table = full();
    let order = Shuffled::new(entries());
    let mut seqno = entries() as u64;
    bencher
        .with_inputs(|| {
            seqno += 1;
            // Keys between the existing ones.
            (seqno, key(2 * order.next() + 1))
        })
        .bench_local_values(|(seqno, key)| add(&table, seqno, &key));
}

/// Whether the memtable has the key.
fn find(table: &Memtable, key: &[u8; KEY_LEN]) -> bool {
    let mut found = false;
    table
        .get(key, MAX_SEQNO, |_, kind, value| {
            found = kind == Kind::Value && value.len() == VALUE.len();
            ControlFlow::Break(())
        })
        .expect("a memtable that checks nothing");
    found
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn get(bencher: Bencher) {
    let table = full();
    let order = Shuffled::new(entries());
    bencher
        .with_inputs(|| key(2 * order.next()))
        .bench_values(|key| assert!(find(&table, &key)));
}

#[divan::bench(threads = THREADS, sample_size = 1000)]
fn get_missing(bencher: Bencher) {
    let table = full();
    let order = Shuffled::new(entries());
    bencher
        .with_inputs(|| key(2 * order.next() + 1))
        .bench_values(|key| assert!(!find(&table, &key)));
}

#[divan::bench(sample_size = 1000)]
fn seek(bencher: Bencher) {
    let mut cursor = full().cursor();
    let order = Shuffled::new(entries());
    bencher
        .with_inputs(|| internal_key::encode(&key(2 * order.next()), MAX_SEQNO, Kind::Value))
        .bench_local_refs(|target| {
            cursor.seek(target);
            assert!(cursor.valid());
        });
}

#[divan::bench(sample_size = 1000)]
fn next(bencher: Bencher) {
    let mut cursor = full().cursor();
    cursor.seek_to_first();
    bencher.bench_local(|| {
        cursor.next();
        if !cursor.valid() {
            cursor.seek_to_first();
        }
        cursor.key().len() + cursor.value().len()
    });
}

#[divan::bench(sample_size = 1000)]
fn prev(bencher: Bencher) {
    let mut cursor = full().cursor();
    cursor.seek_to_last();
    bencher.bench_local(|| {
        cursor.prev();
        if !cursor.valid() {
            cursor.seek_to_last();
        }
        cursor.key().len() + cursor.value().len()
    });
}
