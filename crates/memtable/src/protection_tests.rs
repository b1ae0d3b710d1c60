//! Tests of flipped bits in entries.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::internal_key::encode;
use base::{Cursor, Error, InternalComparator, Kind, Protection, Result, SeqNo, UserComparator};

use crate::entry::Entry;
use crate::tree::found;
use crate::{Memtable, MemtableOptions};

const WIDTHS: [u8; 4] = [1, 2, 4, 8];
/// Bytes of the lengths of these rows.
const LENGTHS: usize = size_of::<Entry>();

fn table(options: MemtableOptions) -> Arc<Memtable> {
    Arc::new(Memtable::new(
        InternalComparator::new(UserComparator::Bytewise),
        options,
    ))
}

fn protected(width: u8) -> MemtableOptions {
    MemtableOptions {
        protection_bytes_per_key: width,
        ..MemtableOptions::default()
    }
}

fn get(table: &Memtable, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut value = None;
    table.get(key, 1 << 40, |_, kind, found| {
        value = (kind == Kind::Value).then(|| found.to_vec());
        ControlFlow::Break(())
    })?;
    Ok(value)
}

/// Walks over every entry forwards, then backwards.
fn walk(table: &Arc<Memtable>) -> Result<usize> {
    let mut cursor = table.cursor();
    let mut entries = 0;
    cursor.seek_to_first();
    while cursor.valid() {
        entries += 1;
        cursor.next();
    }
    cursor.status()?;
    cursor.seek_to_last();
    while cursor.valid() {
        cursor.prev();
    }
    cursor.status().map(|()| entries)
}

/// The address of the entry of `key`, and the number of its bytes before and after that address.
fn place(table: &Arc<Memtable>, key: &[u8]) -> (*mut u8, usize, usize) {
    let mut cursor = table.cursor();
    cursor.seek(&encode(key, 1 << 40, Kind::Value));
    let tree = table.tree();
    let entry = found(
        tree.first_at_or_after(&crate::entry::Target {
            user_key: key,
            trailer: u64::MAX,
        })
        .entry_for_tests(),
    )
    .expect("an entry")
    .as_ptr();
    let len = LENGTHS + cursor.key().len() + cursor.value().len();
    let front = match tree.checks.width {
        0 => 0,
        width => 4 + usize::from(width),
    };
    (entry.cast::<u8>(), front, len)
}

/// Keeps a bit flipped until this value is dropped.
struct Flip(*mut u8, u8);

impl Flip {
    fn new(address: *mut u8, bit: u8) -> Flip {
        let flip = Flip(address, bit);
        flip.turn();
        flip
    }

    fn turn(&self) {
        // SAFETY: the address is one of an entry's, of a live memtable that no other thread reads meanwhile.
        unsafe { self.0.write(self.0.read() ^ (1 << self.1)) };
    }
}

impl Drop for Flip {
    fn drop(&mut self) {
        self.turn();
    }
}

fn rows() -> Vec<(Vec<u8>, SeqNo)> {
    (0..60u64)
        .map(|i| (format!("row/{:04}", i * 7).into_bytes(), i + 1))
        .collect()
}

fn fill(table: &Memtable) {
    for (key, seqno) in rows() {
        assert!(table.add(seqno, Kind::Value, &key, &key));
    }
}

#[test]
fn without_checksums_entries_have_no_byte_more_and_with_them_reads_are_the_same() {
    let plain = table(MemtableOptions::default());
    fill(&plain);
    for width in WIDTHS {
        for verify_on_seek in [false, true] {
            for check_order in [false, true] {
                let table = table(MemtableOptions {
                    verify_on_seek,
                    check_order,
                    ..protected(width)
                });
                fill(&table);
                assert!(!table.add(1, Kind::Value, &rows()[0].0, b"again"));
                assert_eq!(walk(&table).unwrap(), rows().len());
                for (key, _) in rows() {
                    assert_eq!(get(&table, &key).unwrap(), Some(key.clone()));
                    assert_eq!(get(&table, &[&key[..], b"x"].concat()).unwrap(), None);
                }
                assert_eq!(table.data_size(), plain.data_size());
            }
        }
    }
}

#[test]
fn a_bit_turned_at_any_byte_of_an_entry_is_noticed_by_a_walk_and_by_a_read_of_it() {
    let table = table(MemtableOptions {
        verify_on_seek: true,
        ..protected(8)
    });
    fill(&table);
    for (key, seqno) in rows() {
        let (start, front, len) = place(&table, &key);
        for at in 0..front + len {
            // The flipped bits include those of the lengths, and those before and after the checksum.
            let address = start.wrapping_sub(front).wrapping_add(at);
            for bit in [0, 3, 7] {
                let flip = Flip::new(address, bit);
                let error = walk(&table).unwrap_err();
                assert!(error.is_corruption(), "{error}");
                let error = get(&table, &key).unwrap_err();
                assert!(error.is_corruption(), "byte {at} bit {bit}: {error}");
                if at >= front + LENGTHS + key.len() + 8 {
                    // For a changed value the error names the row.
                    assert!(
                        error.to_string().contains(&base::protection::hex(&key)),
                        "{error}"
                    );
                    assert!(
                        error.to_string().contains(&format!("sequence number {seqno}")),
                        "{error}"
                    );
                }
                drop(flip);
            }
        }
        assert_eq!(get(&table, &key).unwrap(), Some(key.clone()));
    }
    assert_eq!(walk(&table).unwrap(), rows().len());
}

#[test]
fn narrow_checksums_find_most_and_searches_without_them_find_what_they_end_at() {
    for width in WIDTHS {
        let table = table(protected(width));
        fill(&table);
        let (mut found, mut all) = (0, 0);
        for (key, _) in rows() {
            let (start, _, len) = place(&table, &key);
            for at in LENGTHS + key.len() + 8..len {
                let flip = Flip::new(start.wrapping_add(at), (at % 8) as u8);
                all += 1;
                let noticed = get(&table, &key).is_err();
                assert_eq!(walk(&table).is_err(), noticed);
                found += usize::from(noticed);
                drop(flip);
            }
        }
        // A checksum of one byte may miss one in 256.
        let missed = all - found;
        assert!(
            missed * 256 <= all * if width == 1 { 4 } else { 0 },
            "{missed} of {all}"
        );
    }
}

#[test]
fn a_key_out_of_order_is_noticed_without_checksums() {
    let table = table(MemtableOptions {
        check_order: true,
        ..MemtableOptions::default()
    });
    fill(&table);
    // The last key stays the last.
    for (key, _) in &rows()[..rows().len() - 1] {
        let (start, _, _) = place(&table, key);
        // The key becomes the greatest.
        let flip = Flip::new(start.wrapping_add(LENGTHS + 4), 3);
        assert!(
            walk(&table)
                .unwrap_err()
                .to_string()
                .contains("Out-of-order keys")
        );
        drop(flip);
    }
    assert_eq!(walk(&table).unwrap(), rows().len());
    // A Get must report the corrupt row for which it looks, even if the row misleads its search.
    let key = &rows()[30].0;
    let (start, _, _) = place(&table, key);
    let flip = Flip::new(start.wrapping_add(LENGTHS + 4), 3);
    assert!(get(&table, key).unwrap_err().is_corruption());
    drop(flip);
    assert_eq!(get(&table, key).unwrap().as_ref(), Some(key));
}

#[test]
fn a_row_that_changed_on_its_way_is_not_added() {
    for width in [0, 1, 8] {
        let table = table(protected(width));
        let row =
            |key: &[u8], value: &[u8]| Protection::of_row(Kind::Value as u8, key, value).toggle_seqno(5);
        assert!(
            table
                .add_protected(5, Kind::Value, b"k", b"v", row(b"k", b"v"))
                .unwrap()
        );
        assert!(
            !table
                .add_protected(5, Kind::Value, b"k", b"v", row(b"k", b"v"))
                .unwrap()
        );
        let refused = |seqno, kind, key: &[u8], value: &[u8]| -> Error {
            table
                .add_protected(seqno, kind, key, value, row(b"l", b"v"))
                .unwrap_err()
        };
        for error in [
            refused(6, Kind::Value, b"l", b"v"),
            refused(5, Kind::Deletion, b"l", b"v"),
            refused(5, Kind::Value, b"m", b"v"),
            refused(5, Kind::Value, b"l", b"w"),
            refused(5, Kind::RangeDeletion, b"l", b"v"),
        ] {
            assert!(
                error.is_corruption() && error.to_string().contains("sequence number"),
                "{error}"
            );
        }
        assert_eq!((table.num_entries(), table.num_range_deletes()), (1, 0));
        assert_eq!(walk(&table).unwrap(), 1);
    }
}

#[test]
fn range_tombstones_are_verified_before_they_are_flushed() {
    let table = table(protected(8));
    let mut tombstones = Vec::new();
    for i in 0..50u8 {
        let (start, end) = ([b'a', i], [b'a', i + 7]);
        assert!(table.add(u64::from(i) + 1, Kind::RangeDeletion, &start, &end));
        tombstones.push((start, end));
    }
    let good = table.verified_range_tombstones(&[20]).unwrap();
    let plain = table.range_tombstones().snapshot_for(&[20]);
    assert!(good.tombstones().eq(plain.tombstones()));
    assert!(table.memory_usage() > 0 && table.num_range_deletes() == 50 && table.num_entries() == 0);
    let rows = table.tombstone_rows().expect("a protected memtable");
    let mut place = rows.first();
    for _ in &tombstones {
        let entry = place.entry_for_tests();
        for at in 0..LENGTHS + 2 + 8 + 2 {
            let flip = Flip::new(entry.cast::<u8>().cast_mut().wrapping_add(at), 1);
            assert!(
                table
                    .verified_range_tombstones(&[20])
                    .unwrap_err()
                    .is_corruption()
            );
            drop(flip);
        }
        // SAFETY: the place is of this tree, and at an entry.
        place = unsafe { rows.next(&place) };
    }
    assert!(place.entry_for_tests().is_null());
}

#[test]
fn an_entry_is_as_long_as_its_parts_and_its_checksum() {
    let table = table(protected(0));
    fill(&table);
    let (start, front, _) = place(&table, &rows()[0].0);
    let (next, _, _) = place(&table, &rows()[1].0);
    let key = rows()[0].0.len();
    let len = (size_of::<Entry>() + key + 8 + key).next_multiple_of(2);
    assert_eq!((front, next.addr() - start.addr()), (0, len));
}
