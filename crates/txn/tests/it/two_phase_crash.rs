//! Tests that prepared and committed transactions survive the death of the process and of the machine.

use std::collections::BTreeMap;

use esker::{ColumnFamily, ColumnFamilyOptions, WriteOptions};
use esker_txn::{Transaction, TransactionDB, TransactionState};
use testkit::rng::{self, TestRng};
use vfs::{FaultFs, MemFs, UnsyncedPolicy};

use super::common::*;

fn prepared(db: &TransactionDB, name: &[u8], rows: &[(&[u8], &[u8])]) -> Transaction {
    let mut transaction = begin_synced(db, name);
    let family = family(db.db());
    for (key, value) in rows {
        transaction.merge_cf(&family, key, value).unwrap();
    }
    transaction.prepare().unwrap();
    transaction
}

/// The names of the prepared transactions.
fn names(db: &TransactionDB) -> Vec<String> {
    let found = db.get_all_prepared_transactions();
    found
        .iter()
        .map(|transaction| transaction.name().escape_ascii().to_string())
        .collect()
}

/// The file system after a loss of power that takes everything unsynced.
fn power_loss(fs: &MemFs) -> MemFs {
    fs.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose)
}

#[test]
fn a_prepared_transaction_is_found_after_crash_upon_crash() {
    let mut fs = MemFs::new();
    let db = open(&fs);
    drop(prepared(&db, b"x", &[(b"a", b"1"), (b"b", b"1")]));
    // Only the prepared section keeps the first WAL from deletion.
    db.db().put(b"other", b"1").unwrap();
    flush(db.db());
    db.db().put(b"other", b"2").unwrap();
    flush(db.db());
    for round in 0..4 {
        fs = match round % 2 {
            0 => fs.process_death_clone(),
            _ => power_loss(&fs),
        };
        let db = open(&fs);
        let mut found = db.get_all_prepared_transactions();
        assert_eq!(found.len(), 1, "round {round}");
        assert_eq!(
            (found[0].name(), found[0].state()),
            (&b"x"[..], TransactionState::Prepared)
        );
        assert!(db.lock_status().is_empty(), "it holds no locks");
        assert_eq!(get(db.db(), &family(db.db()), b"a"), "-");
        assert_eq!(get(db.db(), &family(db.db()), b"other"), "2");
        assert!(
            db.get_all_prepared_transactions().is_empty(),
            "each is given once"
        );
        if round == 3 {
            found[0].commit().unwrap();
        }
        drop(found);
        // These rows of the new session are in the WAL that now has the prepared section.
        db.db().put(b"round", [b'0' + round]).unwrap();
        if round == 1 {
            flush(db.db());
        }
    }
    let db = open(&power_loss(&fs));
    assert!(names(&db).is_empty());
    assert_eq!(get(db.db(), &family(db.db()), b"a"), "1", "once, not twice");
    assert_eq!(get(db.db(), &family(db.db()), b"b"), "1");
}

/// A WAL with a prepared section stays until the section has ended. RocksDB once lost prepared transactions
/// because it released such a WAL before the section was recorded (issue 4613).
#[test]
fn a_wal_stays_while_a_section_in_it_is_outstanding() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    for at in 0..5u8 {
        db.db().put(b"other", [at]).unwrap();
        drop(prepared(&db, &[b'a' + at], &[(&[at], b"1")]));
        flush(db.db());
    }
    db.get_transaction_by_name(b"b").unwrap().rollback().unwrap();
    db.get_transaction_by_name(b"d").unwrap().commit().unwrap();
    db.db().put(b"other", b"2").unwrap();
    flush(db.db());
    assert_eq!(get(db.db(), &family, &[3]), "1");
    for fs in [fs.process_death_clone(), power_loss(&fs)] {
        let db = open(&fs);
        assert_eq!(names(&db), ["a", "c", "e"]);
        assert_eq!(get(db.db(), &db.db().default_column_family(), &[3]), "1");
    }
}

/// Upstream lost committed rows when a memtable was switched between the two phases (pull request 9571): the
/// section is in an older WAL than any that the memtable was written to.
#[test]
fn a_memtable_switched_between_the_phases_keeps_the_wal_of_the_section() {
    let fs = MemFs::new();
    let db = open(&fs);
    let second = db
        .create_column_family("second", &options(&fs).column_family)
        .unwrap();
    let first = family(db.db());
    let both = [first.clone(), second.clone()];
    let write = WriteOptions::default();
    let mut transaction = begin_synced(&db, b"x");
    for family in &both {
        transaction.merge_cf(family, b"key", b"1").unwrap();
    }
    transaction.prepare().unwrap();
    // The rows go to another WAL than that of the prepared section.
    db.db().put_cf_opt(&first, b"a", b"1", &write).unwrap();
    db.db().put_cf_opt(&second, b"a", b"1", &write).unwrap();
    db.db().flush_cf(&both).unwrap();
    transaction.commit().unwrap();
    // After this flush one family has the rows in a table and the other in its memtable, and obsolete WALs
    // are deleted.
    db.db().put_cf_opt(&first, b"b", b"1", &write).unwrap();
    db.db().flush_cf(&both[..1]).unwrap();
    db.db().put_cf_opt(&first, b"c", b"1", &write).unwrap();
    db.db().flush_cf(&both[..1]).unwrap();
    let check = |fs: MemFs| {
        let db = open(&fs);
        assert!(names(&db).is_empty());
        for name in ["default", "second"] {
            let family = db.db().column_family(name).unwrap();
            assert_eq!(get(db.db(), &family, b"key"), "1", "{name}");
        }
    };
    check(fs.process_death_clone());
    check(power_loss(&fs));
    // After all rows are in tables, the WAL of the section is deleted, and its marker refers to nothing.
    db.db().flush_cf(&both[1..]).unwrap();
    db.db().put_cf_opt(&second, b"d", b"1", &write).unwrap();
    check(fs.process_death_clone());
    check(power_loss(&fs));
}

#[test]
fn the_marker_of_a_section_whose_wal_is_gone_leaves_no_hole() {
    let fs = MemFs::new();
    let db = open(&fs);
    let second = db
        .create_column_family("second", &ColumnFamilyOptions::default())
        .unwrap();
    let first = family(db.db());
    let write = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    // This row keeps the WAL of the marker from deletion, but not the WAL of the section.
    let mut transaction = prepared(&db, b"x", &[(b"a", b"1"), (b"b", b"1")]);
    db.db().put(b"c", b"1").unwrap();
    flush(db.db());
    db.db().put_cf_opt(&second, b"kept", b"1", &write).unwrap();
    transaction.commit().unwrap();
    db.db().put_cf_opt(&second, b"behind", b"1", &write).unwrap();
    flush(db.db());
    db.db().put_cf_opt(&first, b"d", b"1", &write).unwrap();
    db.db().put_cf_opt(&second, b"last", b"1", &write).unwrap();
    testkit::wait_until("the WAL of the section is deleted", || wals(&fs) == 2);
    for fs in [fs.process_death_clone(), power_loss(&fs)] {
        let db = open(&fs);
        let second = db.db().column_family("second").unwrap();
        for key in [&b"kept"[..], b"behind", b"last"] {
            assert_eq!(get(db.db(), &second, key), "1");
        }
        for key in [b"a", b"b", b"c", b"d"] {
            assert_eq!(get(db.db(), &db.db().default_column_family(), key), "1");
        }
        // The next write has a higher sequence number than all rows before it.
        db.db().put(b"a", b"2").unwrap();
        assert_eq!(get(db.db(), &db.db().default_column_family(), b"a"), "2");
    }
}

/// A key that is written without sync: its rows may be lost.
const JUNK: &[u8] = b"junk";

/// A merge: its family, key and operand.
type Row = (String, Vec<u8>, String);

/// The rows that a history must find after a crash.
struct Promised {
    /// The visible rows: for each key the operands of its merges.
    visible: BTreeMap<(String, Vec<u8>), String>,
    /// The rows of prepared transactions, by name.
    prepared: BTreeMap<Vec<u8>, Vec<Row>>,
}

impl Promised {
    fn apply(&mut self, rows: &[Row]) {
        for (family, key, operand) in rows {
            let value = self.visible.entry((family.clone(), key.clone())).or_default();
            if !value.is_empty() {
                value.push(',');
            }
            value.push_str(operand);
        }
    }

    fn check(&self, db: &TransactionDB, seed: u64) {
        let mut seen = BTreeMap::new();
        for family in db.db().column_families() {
            let mut iter = db.db().iter_cf(&family);
            iter.seek_to_first();
            while iter.valid() {
                if iter.key() != JUNK {
                    let value = String::from_utf8(iter.value().to_vec()).unwrap();
                    seen.insert((family.name().to_owned(), iter.key().to_vec()), value);
                }
                iter.next();
            }
            iter.status().unwrap();
        }
        assert_eq!(seen, self.visible, "ESKER_SEED={seed}");
    }
}

/// A transaction in progress, and its rows.
type Open = (Transaction, Vec<Row>);

/// Merges the next operand into a random key, unless another transaction has locked it.
fn merge_somewhere(
    rng: &mut TestRng,
    transaction: &mut Transaction,
    families: &[ColumnFamily],
    next: &mut u64,
) -> Option<Row> {
    let (family, key) = (rng.pick(families).clone(), vec![b'a' + rng.u8(..5)]);
    let operand = next.to_string();
    *next += 1;
    transaction.merge_cf(&family, &key, operand.as_bytes()).ok()?;
    Some((family.name().to_owned(), key, operand))
}

/// Random transactions over two families, all of them synced, mixed with unsynced rows, flushes, compactions
/// and crashes at any moment between two steps.
#[test]
fn random_histories_keep_what_they_promised() {
    for seed in rng::seeds(rng::runs("ESKER_TXN_CRASHES", 10)) {
        let mut rng = TestRng::with_seed(seed);
        let mut fs = MemFs::new();
        let mut db = open(&fs);
        db.create_column_family("second", &options(&fs).column_family)
            .unwrap();
        let mut promised = Promised {
            visible: BTreeMap::new(),
            prepared: BTreeMap::new(),
        };
        let (mut open_ones, mut next): (Vec<Open>, u64) = (Vec::new(), 0);
        for _ in 0..120 {
            let families: Vec<ColumnFamily> = db.db().column_families();
            match rng.u32(..20) {
                0..=5 => {
                    let mut transaction = begin_synced(&db, &next.to_be_bytes());
                    let mut rows = Vec::new();
                    for _ in 0..rng.usize(1..4) {
                        rows.extend(merge_somewhere(&mut rng, &mut transaction, &families, &mut next));
                    }
                    open_ones.push((transaction, rows));
                }
                6..=9 if !open_ones.is_empty() => {
                    let at = rng.usize(..open_ones.len());
                    let (transaction, rows) = &mut open_ones[at];
                    if transaction.state() == TransactionState::Started {
                        transaction.prepare().unwrap();
                        promised
                            .prepared
                            .insert(transaction.name().to_vec(), rows.clone());
                    } else {
                        // The commit writes this row. A crash takes it.
                        rows.extend(merge_somewhere(&mut rng, transaction, &families, &mut next));
                    }
                }
                10..=13 if !open_ones.is_empty() => {
                    let (mut transaction, rows) = open_ones.swap_remove(rng.usize(..open_ones.len()));
                    let commits = rng.u32(..4) > 0;
                    promised.prepared.remove(transaction.name());
                    match commits {
                        true => {
                            transaction.commit().unwrap();
                            promised.apply(&rows);
                        }
                        false => transaction.rollback().unwrap(),
                    }
                }
                14 => db.db().flush_cf(&[rng.pick(&families).clone()]).unwrap(),
                15 => db.db().flush_cf(&families).unwrap(),
                16 => {
                    let (family, key) = (rng.pick(&families).clone(), vec![b'a' + rng.u8(..5)]);
                    let write = WriteOptions {
                        sync: true,
                        ..WriteOptions::default()
                    };
                    let operand = format!("w{next}");
                    next += 1;
                    if db.merge_cf_opt(&family, &key, operand.as_bytes(), &write).is_ok() {
                        promised.apply(&[(family.name().to_owned(), key, operand)]);
                    }
                }
                17 => promised.check(&db, seed),
                18 => db.db().put(JUNK, [b'v'; 300]).unwrap(),
                19 => {
                    let dead = match rng.u32(..4) {
                        0 => fs.process_death_clone(),
                        1 => fs.crash_clone(&mut rng, UnsyncedPolicy::Random),
                        2 => fs.crash_clone(&mut rng, UnsyncedPolicy::RandomPages),
                        _ => fs.crash_clone(&mut rng, UnsyncedPolicy::Lose),
                    };
                    open_ones.clear();
                    drop(db);
                    fs = dead;
                    db = open(&fs);
                    promised.check(&db, seed);
                    let found = db.get_all_prepared_transactions();
                    let names: Vec<&[u8]> = found.iter().map(Transaction::name).collect();
                    let expected: Vec<&[u8]> = promised.prepared.keys().map(|name| &name[..]).collect();
                    assert_eq!(names, expected, "ESKER_SEED={seed}");
                    open_ones.extend(found.into_iter().map(|transaction| {
                        let rows = promised.prepared[transaction.name()].clone();
                        (transaction, rows)
                    }));
                }
                _ => {}
            }
        }
    }
}

/// If recovery is interrupted at any change of the disk, the next recovery still finds everything.
#[test]
fn a_recovery_cut_off_anywhere_loses_nothing() {
    let before = MemFs::new();
    let db = open(&before);
    let mut committed = prepared(&db, b"committed", &[(b"a", b"1")]);
    drop(prepared(&db, b"outstanding", &[(b"b", b"1"), (b"c", b"1")]));
    db.db().put(b"other", b"1").unwrap();
    flush(db.db());
    committed.commit().unwrap();
    let before = before.process_death_clone();
    for at in 0.. {
        let fs = before.process_death_clone();
        let faulty = std::sync::Arc::new(FaultFs::new(std::sync::Arc::new(fs.clone())));
        faulty.crash_at(at);
        let through = esker::Options {
            fs: faulty.clone(),
            ..options(&fs)
        };
        let opened = TransactionDB::open(&through, &no_wait(), DIR);
        let is_done = opened.is_ok() && !faulty.is_crashed();
        drop(opened);
        for keep in [UnsyncedPolicy::Lose, UnsyncedPolicy::Keep, UnsyncedPolicy::Random] {
            let dead = fs.crash_clone(&mut fastrand::Rng::with_seed(at), keep);
            let db = open(&dead);
            assert_eq!(names(&db), ["outstanding"], "cut off at {at}");
            let family = family(db.db());
            assert_eq!(get(db.db(), &family, b"a"), "1", "cut off at {at}");
            db.get_transaction_by_name(b"outstanding")
                .unwrap()
                .commit()
                .unwrap();
            assert_eq!(get(db.db(), &family, b"c"), "1", "cut off at {at}");
        }
        if is_done {
            assert!(at > 5);
            break;
        }
    }
}

/// The rows in tables came from a WAL that recovery reads again for its section. If a loss of power had torn
/// its end, the tables would be ahead of it, and the database could not be opened.
#[test]
fn a_wal_with_a_section_is_synced_before_its_rows_are_in_tables() {
    let fs = MemFs::new();
    let db = open(&fs);
    drop(prepared(&db, b"x", &[(b"a", b"1")]));
    for at in 0..20u8 {
        db.db().put([at], [b'v'; 100]).unwrap();
    }
    flush(db.db());
    for seed in 0..30 {
        let mut rng = fastrand::Rng::with_seed(seed);
        for keep in [
            UnsyncedPolicy::Random,
            UnsyncedPolicy::RandomPages,
            UnsyncedPolicy::Lose,
        ] {
            let db = open(&fs.crash_clone(&mut rng, keep));
            assert_eq!(names(&db), ["x"]);
            assert_eq!(get(db.db(), &db.db().default_column_family(), &[19]).len(), 100);
        }
    }
}
