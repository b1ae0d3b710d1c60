//! Flipped bits in memory: in batches, in the rows of memtables, in blocks of the cache. Checksums detect
//! them, and damaged rows are neither written nor returned.

use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    ColumnFamily, ColumnFamilyOptions, CompressionType, Db, Error, ErrorKind, Options, Result, WriteBatch,
    WriteOptions,
};
use testkit::memory::TurnedBit;
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

fn options(fs: &MemFs, family: ColumnFamilyOptions) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        column_family: family,
        ..Options::default()
    }
}

fn protected() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        memtable_protection_bytes_per_key: 8,
        memtable_verify_per_key_checksum_on_seek: true,
        ..ColumnFamilyOptions::default()
    }
}

fn rows() -> Vec<(Vec<u8>, Vec<u8>)> {
    let row = |i: u32| {
        (
            format!("row {i:03}").into_bytes(),
            format!("value of {i}").into_bytes(),
        )
    };
    (0..40).map(row).collect()
}

/// All rows read forwards; reading backwards must give the same.
fn scan(db: &Db, family: &ColumnFamily) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut iter = db.iter_cf(family);
    iter.seek_to_first();
    while iter.valid() {
        found.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status()?;
    let mut backwards = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backwards.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status()?;
    backwards.reverse();
    assert_eq!(backwards, found);
    Ok(found)
}

/// The bytes before the key of a short row in a memtable: the sum of the lengths and the checksum, then the
/// lengths.
const SUMS: usize = 4 + 8;
const LENGTHS: usize = 2;
/// The bytes after the key: kind and sequence number.
const TRAILER: usize = 8;

/// The memory range of a row in the memtable: checksums, lengths, key, trailer, value.
fn place(db: &Db, key: &[u8]) -> std::ops::Range<usize> {
    let family = db.default_column_family();
    let value = db.get_pinned_cf(&family, key).unwrap();
    let value = value.expect("the row is there");
    let start = value.as_ptr().addr();
    start - TRAILER - key.len() - LENGTHS - SUMS..start + value.len()
}

fn filled(fs: &MemFs, family: ColumnFamilyOptions) -> Db {
    let db = Db::open(&options(fs, family), DIR).unwrap();
    for (key, value) in rows() {
        db.put(&key, &value).unwrap();
    }
    db
}

/// True if the error names the row: key in hexadecimal, and sequence number.
fn names_row(error: &Error, key: &[u8], seqno: usize) -> bool {
    let text = error.to_string();
    error.is_corruption()
        && text.contains(&base::protection::hex(key))
        && text.contains(&format!("sequence number {seqno}"))
        && text.contains("the memtable")
        && text.contains("column family default")
}

#[test]
fn a_bit_turned_anywhere_in_a_memtables_row_is_noticed_by_get_and_by_scans() {
    let db = filled(&MemFs::new(), protected());
    let family = db.default_column_family();
    for (i, (key, value)) in rows().iter().enumerate().step_by(7) {
        let place = place(&db, key);
        for address in place.clone() {
            let Some(turned) = TurnedBit::new(address, (address % 8) as u8) else {
                return;
            };
            let error = db.get(key).expect_err("a damaged row");
            if address >= place.end - value.len() {
                assert!(names_row(&error, key, i + 1), "{error}");
            }
            assert!(error.is_corruption());
            assert!(scan(&db, &family).unwrap_err().is_corruption());
            drop(turned);
        }
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value));
    }
    assert_eq!(scan(&db, &family).unwrap(), rows());
}

#[test]
fn no_table_is_written_from_a_damaged_row_and_the_wal_still_has_it() {
    let (key, value) = &rows()[20];
    let plain = ColumnFamilyOptions {
        memtable_verify_per_key_checksum_on_seek: false,
        ..protected()
    };
    let trailer = SUMS + LENGTHS + key.len();
    // One bit is flipped in each field of the row: the sum of the lengths, the checksum, both bytes of the
    // lengths, the key, the kind, the sequence number, and the value.
    for at in [
        0,
        5,
        SUMS,
        SUMS + 1,
        SUMS + LENGTHS,
        trailer - 1,
        trailer,
        trailer + 1,
        trailer + TRAILER - 1,
        trailer + TRAILER,
        trailer + TRAILER + value.len() - 1,
    ] {
        let fs = MemFs::new();
        let db = filled(&fs, plain.clone());
        let Some(turned) = TurnedBit::new(place(&db, key).start + at, 2) else {
            return;
        };
        let family = db.default_column_family();
        let error = db.flush().unwrap_err();
        assert!(
            error.to_string().contains("checksum verification failed"),
            "byte {at}: {error}"
        );
        assert_eq!(db.live_files().len(), 0, "byte {at}");
        // The database accepts no more writes after the failed flush.
        assert!(db.put(b"more", b"").is_err());
        drop(turned);
        drop(family);
        db.close().unwrap();
        let db = Db::open(&options(&fs, plain.clone()), DIR).unwrap();
        assert_eq!(
            scan(&db, &db.default_column_family()).unwrap(),
            rows(),
            "byte {at}"
        );
    }
}

#[test]
fn rows_out_of_a_wal_are_protected_too() {
    let fs = MemFs::new();
    filled(&fs, ColumnFamilyOptions::default()).close().unwrap();
    let options = Options {
        avoid_flush_during_recovery: true,
        ..options(&fs, protected())
    };
    let db = Db::open(&options, DIR).unwrap();
    let (key, value) = &rows()[3];
    let Some(turned) = TurnedBit::new(place(&db, key).end - 1, 0) else {
        return;
    };
    assert!(names_row(&db.get(key).unwrap_err(), key, 4));
    drop(turned);
    assert_eq!(db.get(key).unwrap().as_ref(), Some(value));
}

#[test]
fn a_key_that_changed_is_missed_without_checks_of_searches_and_found_out_of_order_with_them() {
    let (key, value) = &rows()[20];
    let of_order = ColumnFamilyOptions {
        paranoid_memory_checks: true,
        ..ColumnFamilyOptions::default()
    };
    let plain = ColumnFamilyOptions {
        memtable_protection_bytes_per_key: 8,
        ..ColumnFamilyOptions::default()
    };
    let get_with = |family: ColumnFamilyOptions| {
        let db = filled(&MemFs::new(), family);
        // The flip hits the tens digit of `row 020`.
        let turned = TurnedBit::new(place(&db, key).end - value.len() - 8 - 2, 2)?;
        let found = db.get(key);
        drop(turned);
        Some(found)
    };
    let Some(found) = get_with(plain) else {
        return;
    };
    assert_eq!(
        found.unwrap(),
        None,
        "as RocksDB, which compares with what it does not verify"
    );
    assert!(get_with(protected()).unwrap().unwrap_err().is_corruption());
    let error = get_with(of_order).unwrap().unwrap_err();
    assert!(error.to_string().contains("Out-of-order keys"), "{error}");
}

#[test]
fn a_bit_turned_in_a_cached_block_is_noticed_by_get_and_by_scans() {
    for compression in [CompressionType::None, CompressionType::Lz4] {
        let family = ColumnFamilyOptions {
            block_protection_bytes_per_key: 8,
            compression,
            ..ColumnFamilyOptions::default()
        };
        let db = filled(&MemFs::new(), family);
        flush(&db);
        let family = db.default_column_family();
        assert_eq!(scan(&db, &family).unwrap(), rows());
        for (i, (key, value)) in rows().iter().enumerate().step_by(9) {
            let place = {
                let pinned = db.get_pinned_cf(&family, key).unwrap();
                let start = pinned.expect("the row is there").as_ptr().addr();
                // The tested bytes of the memtable begin with the last digit of the row's key.
                start - 9..start + value.len()
            };
            for address in place.clone() {
                let Some(turned) = TurnedBit::new(address, (address % 8) as u8) else {
                    return;
                };
                let error = db.get(key).expect_err("a damaged entry");
                assert!(error.is_corruption() && error.file().is_some(), "{error}");
                if address > place.start + 9 {
                    let text = error.to_string();
                    assert!(text.contains(&base::protection::hex(key)), "{text}");
                    assert!(text.contains(&format!("sequence number {}", i + 1)), "{text}");
                }
                assert!(scan(&db, &family).unwrap_err().is_corruption());
                drop(turned);
            }
        }
        assert_eq!(scan(&db, &family).unwrap(), rows());
    }
}

/// A batch with an operation of every kind.
fn batch(family: &ColumnFamily) -> WriteBatch {
    let mut batch = WriteBatch::with_protection(8).unwrap();
    batch.put(b"key", b"a value of some length");
    batch.put_cf(family, b"other key", b"");
    batch.put_log_data(b"log data");
    batch.delete(b"row 001");
    batch.delete_cf(family, b"gone");
    batch.single_delete(b"row 002");
    batch.delete_range(b"row 003", b"row 005");
    batch.delete_range_cf(family, b"a", b"b");
    batch
}

#[test]
fn a_bit_turned_anywhere_in_a_batch_is_noticed_before_it_is_written() {
    let fs = MemFs::new();
    let db = filled(&fs, ColumnFamilyOptions::default());
    let family = db.create_column_family("other", &protected()).unwrap();
    let default = db.default_column_family();
    let good = batch(&family);
    good.verify_checksum().unwrap();
    let length_of_wal = || {
        let names = fs.list(DIR.as_ref()).unwrap();
        let wals = names.iter().filter(|name| name.ends_with(".log"));
        wals.map(|name| fs.size(&std::path::Path::new(DIR).join(name)).unwrap())
            .sum::<u64>()
    };
    let before = (
        scan(&db, &default).unwrap(),
        scan(&db, &family).unwrap(),
        length_of_wal(),
    );
    // The sequence number at the front of the batch has no checksum, because it is only known at the write.
    for at in 8..good.data_size() {
        for bit in 0..8 {
            let damaged = good.clone();
            let Some(turned) = TurnedBit::new(damaged.data().as_ptr().addr() + at, bit) else {
                return;
            };
            // The flipped bit is not restored, because the memory is freed with the batch.
            std::mem::forget(turned);
            assert!(
                damaged.verify_checksum().unwrap_err().is_corruption(),
                "byte {at} bit {bit}"
            );
            let disable_wal = bit % 2 == 1;
            let options = WriteOptions {
                disable_wal,
                ..WriteOptions::default()
            };
            let refused = db.write_opt(damaged, &options).unwrap_err();
            assert!(refused.is_corruption(), "byte {at} bit {bit}: {refused}");
        }
    }
    let after = (
        scan(&db, &default).unwrap(),
        scan(&db, &family).unwrap(),
        length_of_wal(),
    );
    assert_eq!(after, before);
    db.write(good).unwrap();
    assert_eq!(
        db.get(b"key").unwrap().as_deref(),
        Some(&b"a value of some length"[..])
    );
    assert_eq!(db.get(b"row 004").unwrap(), None);
    assert_eq!(scan(&db, &family).unwrap(), [(b"other key".to_vec(), Vec::new())]);
}

#[test]
fn batches_are_the_same_with_and_without_checksums_and_join() {
    let db = filled(&MemFs::new(), protected());
    let family = db.create_column_family("other", &protected()).unwrap();
    let with = batch(&family);
    let mut without = WriteBatch::from_data(with.data()).unwrap();
    assert_eq!((&without, without.protection_bytes_per_key()), (&with, 0));
    without.append(&with);
    let mut joined = with.clone();
    joined.append(&with);
    joined.append(&WriteBatch::from_data(with.data()).unwrap());
    joined.verify_checksum().unwrap();
    assert_eq!(
        (joined.count(), joined.protection_bytes_per_key()),
        (3 * with.count(), 8)
    );
    joined.clear();
    joined.put(b"again", b"1");
    joined.verify_checksum().unwrap();
    let protect = WriteOptions {
        protection_bytes_per_key: 8,
        ..WriteOptions::default()
    };
    db.write_opt(joined, &protect).unwrap();
    db.write_opt(without, &protect).unwrap();
    db.put_cf_opt(&family, b"single", b"2", &protect).unwrap();
    db.delete_cf_opt(&db.default_column_family(), b"row 010", &protect)
        .unwrap();
    db.single_delete_cf_opt(&db.default_column_family(), b"row 011", &protect)
        .unwrap();
    db.delete_range_cf_opt(&db.default_column_family(), b"row 02", b"row 03", &protect)
        .unwrap();
    assert_eq!(db.get(b"again").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(scan(&db, &family).unwrap().len(), 2);
    // Of 40 rows, 001 to 004, 010, 011 and 020 to 029 were deleted; "again" and "key" are new.
    assert_eq!(scan(&db, &db.default_column_family()).unwrap().len(), 40 - 16 + 2);
    flush(&db);
    assert_eq!(scan(&db, &db.default_column_family()).unwrap().len(), 40 - 16 + 2);
}

#[test]
fn other_widths_are_refused() {
    let fs = MemFs::new();
    for width in [3, 5, 6, 7] {
        let of_memtables = ColumnFamilyOptions {
            memtable_protection_bytes_per_key: width,
            ..ColumnFamilyOptions::default()
        };
        let of_blocks = ColumnFamilyOptions {
            block_protection_bytes_per_key: width,
            ..ColumnFamilyOptions::default()
        };
        for family in [of_memtables, of_blocks] {
            let error = Db::open(&options(&fs, family), DIR).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        }
    }
    let db = filled(&fs, ColumnFamilyOptions::default());
    for width in [1, 2, 4, 7, 9, 16] {
        let write = WriteOptions {
            protection_bytes_per_key: width,
            ..WriteOptions::default()
        };
        let error = db
            .put_cf_opt(&db.default_column_family(), b"k", b"v", &write)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(
            WriteBatch::with_protection(width).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }
    assert_eq!(db.get(b"k").unwrap(), None);
}
