//! Transactions together with the rest of the database: its first write, options of writes, a locked WAL,
//! imported families, paused work and automatic compactions. These are scenarios of RocksDB's transaction
//! tests.

use std::sync::Arc;

use esker::{ColumnFamilyOptions, ImportColumnFamilyOptions, Options, WaitForCompactOptions, WriteOptions};
use esker_txn::{TransactionDB, TransactionOptions, TransactionState};
use vfs::{MemFs, UnsyncedPolicy};

use super::common::*;

#[test]
fn the_very_first_write_is_before_or_after_a_snapshot() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    assert_eq!(db.db().latest_sequence_number(), 0);
    // The snapshot has sequence number 0, the first row 1: it was written since.
    let mut first = begin(&db);
    first.set_snapshot();
    db.put(b"a", b"first").unwrap();
    assert_eq!(text(first.put_cf(&family, b"a", b"mine")), BUSY);
    let mut second = begin(&db);
    second.set_snapshot();
    second.put_cf(&family, b"a", b"mine").unwrap();
    second.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"a"), "mine");

    let db = open_optimistic(&MemFs::new());
    let own = self::family(db.db());
    let mut first = db.begin_transaction(&WriteOptions::default(), &Default::default());
    first.set_snapshot();
    first.put_cf(&own, b"a", b"mine").unwrap();
    db.db().put(b"a", b"first").unwrap();
    assert_eq!(text(first.commit()), BUSY);
}

#[test]
fn a_transaction_is_committed_with_its_write_options() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    let synced = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    let mut first = db.begin_transaction(&synced, &TransactionOptions::default());
    assert!(first.write_options().sync && !first.write_options().disable_wal);
    first.put_cf(&family, b"kept", b"1").unwrap();
    first.commit().unwrap();
    let mut second = db.begin_transaction(&synced, &TransactionOptions::default());
    second.set_write_options(unlogged);
    assert!(!second.write_options().sync && second.write_options().disable_wal);
    second.put_cf(&family, b"lost", b"2").unwrap();
    second.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"lost"), "2");
    // After a crash there is what was synced, and not what was not in the WAL.
    let crashed = fs.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose);
    let db = open(&crashed);
    let family = self::family(db.db());
    assert_eq!(get(db.db(), &family, b"kept"), "1");
    assert_eq!(get(db.db(), &family, b"lost"), "-");
}

#[test]
fn a_locked_wal_holds_every_phase_of_a_transaction() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let at_once = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let begin_named = |options: &WriteOptions, name: &[u8]| {
        let mut transaction = db.begin_transaction(options, &TransactionOptions::default());
        transaction.set_name(name).unwrap();
        transaction.put_cf(&family, name, b"1").unwrap();
        transaction
    };
    let mut unprepared = begin_named(&at_once, b"unprepared");
    let mut prepared = begin_named(&at_once, b"prepared");
    let mut rolled_back = begin_named(&at_once, b"rolled back");
    prepared.prepare().unwrap();
    rolled_back.prepare().unwrap();
    let mut patient = begin_named(&WriteOptions::default(), b"patient");
    db.db().lock_wal().unwrap();
    let before = db.db().latest_sequence_number();
    for refused in [unprepared.prepare(), prepared.commit(), rolled_back.rollback()] {
        assert_eq!(refused.unwrap_err().kind(), base::ErrorKind::Incomplete);
    }
    assert_eq!(prepared.state(), TransactionState::Prepared);
    assert_eq!(get(db.db(), &family, b"prepared"), "-");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| patient.prepare().and_then(|()| patient.commit()));
        assert_eq!(db.db().latest_sequence_number(), before);
        db.db().unlock_wal().unwrap();
        waits.join().unwrap().unwrap();
    });
    // The refused calls succeed now.
    prepared.commit().unwrap();
    rolled_back.rollback().unwrap();
    unprepared.rollback().unwrap();
    let mut again = begin_named(&at_once, b"again");
    again.prepare().unwrap();
    again.commit().unwrap();
    let shown = |key: &[u8]| get(db.db(), &family, key);
    assert_eq!(
        [&b"prepared"[..], b"patient", b"again"].map(shown),
        ["1", "1", "1"]
    );
    assert_eq!([&b"rolled back"[..], b"unprepared"].map(shown), ["-", "-"]);
    assert!(db.get_all_prepared_transactions().is_empty());
}

#[test]
fn transactions_write_to_an_imported_family() {
    let db = open(&MemFs::new());
    let options = ColumnFamilyOptions::default();
    let exported = db.create_column_family("exported", &options).unwrap();
    db.put_cf(&exported, b"k1", b"v1").unwrap();
    db.put_cf(&exported, b"k2", b"v2").unwrap();
    let files = db.db().export_column_family(&exported, "/export").unwrap();
    db.drop_column_family(&exported).unwrap();
    let import = ImportColumnFamilyOptions::default();
    let imported = db
        .db()
        .create_column_family_with_import("imported", &options, &[&files], &import)
        .unwrap();
    let mut first = begin(&db);
    first.set_snapshot();
    assert_eq!(read(&mut first, &imported, b"k1"), "v1");
    first.put_cf(&imported, b"k3", b"v3").unwrap();
    // The keys of the imported family are locked like others.
    assert_eq!(text(db.put_cf(&imported, b"k1", b"w")), TIMED_OUT);
    assert_eq!(text(db.put_cf(&imported, b"k3", b"w")), TIMED_OUT);
    db.put_cf(&imported, b"k2", b"w").unwrap();
    assert_eq!(text(first.put_cf(&imported, b"k2", b"v")), BUSY);
    first.commit().unwrap();
    let shown = |key: &[u8]| get(db.db(), &imported, key);
    assert_eq!([b"k1", b"k2", b"k3"].map(|key| shown(key)), ["v1", "w", "v3"]);
    db.drop_column_family(&imported).unwrap();
}

#[test]
fn a_wait_for_compactions_ends_when_work_is_paused() {
    let db = open(&MemFs::new());
    let abort = WaitForCompactOptions {
        abort_on_pause: true,
        ..WaitForCompactOptions::default()
    };
    let family = family(db.db());
    db.put(b"a", b"1").unwrap();
    let wait = |options: &WaitForCompactOptions| text(db.db().wait_for_compact_opt(options));
    assert_eq!(wait(&abort), "ok");
    db.db().pause_background_work().unwrap();
    assert_eq!(wait(&abort), "Operation aborted: ");
    // Without the option, a wait for what is not due ends.
    assert_eq!(wait(&WaitForCompactOptions::default()), "ok");
    std::thread::scope(|scope| {
        // A flush waits until the work continues, and with it every wait that does not give up.
        let flushed = scope.spawn(|| db.db().flush());
        testkit::wait_until("the memtable is to be flushed", || {
            db.db().property_int(&family, "rocksdb.num-immutable-mem-table") == Some(1)
        });
        assert_eq!(wait(&abort), "Operation aborted: ");
        let limited = WaitForCompactOptions {
            timeout: Some(std::time::Duration::from_millis(1)),
            ..WaitForCompactOptions::default()
        };
        assert_eq!(wait(&limited), "Operation timed out: ");
        let patient = scope.spawn(|| wait(&WaitForCompactOptions::default()));
        db.db().continue_background_work().unwrap();
        flushed.join().unwrap().unwrap();
        assert_eq!(patient.join().unwrap(), "ok");
    });
    db.put(b"b", b"1").unwrap();
    let last = WaitForCompactOptions {
        flush: true,
        wait_for_purge: true,
        ..abort
    };
    assert_eq!(wait(&last), "ok");
    let property = "rocksdb.num-entries-active-mem-table";
    assert_eq!(
        db.db().property_int(&family, property),
        Some(0),
        "all is in tables"
    );
}

#[test]
fn each_family_has_its_own_automatic_compactions() {
    let fs = MemFs::new();
    let db = open(&fs);
    for name in ["a", "b"] {
        db.create_column_family(name, &ColumnFamilyOptions::default())
            .unwrap();
    }
    drop(db);
    let automatic = |automatic: bool| ColumnFamilyOptions {
        disable_auto_compactions: !automatic,
        level0_file_num_compaction_trigger: 2,
        ..ColumnFamilyOptions::default()
    };
    let options = Options {
        column_family: automatic(true),
        column_families: [
            ("a".to_owned(), automatic(false)),
            ("b".to_owned(), automatic(true)),
        ]
        .into(),
        fs: Arc::new(fs.clone()),
        ..Options::default()
    };
    let db = TransactionDB::open(&options, &no_wait(), DIR).unwrap();
    let families = ["default", "a", "b"].map(|name| db.db().column_family(name).unwrap());
    let disabled = || {
        families
            .each_ref()
            .map(|family| family.current_options().disable_auto_compactions)
    };
    assert_eq!(disabled(), [false, true, false]);
    for round in 0..4 {
        let mut transaction = begin(&db);
        for family in &families {
            transaction.put_cf(family, b"k", format!("{round}")).unwrap();
        }
        transaction.commit().unwrap();
        db.db().flush_cf(&families).unwrap();
    }
    db.db().wait_for_compact().unwrap();
    let in_level_0 = |family: &esker::ColumnFamily| {
        let property = "rocksdb.num-files-at-level0";
        let files = db.db().property(family, property).unwrap();
        files.parse::<u64>().unwrap()
    };
    let files = families.each_ref().map(in_level_0);
    assert_eq!(files[1], 4);
    assert!(files[0] < files[1] && files[2] < files[1], "{files:?}");
    db.db().enable_auto_compaction(&families).unwrap();
    assert_eq!(disabled(), [false; 3]);
    db.db().wait_for_compact().unwrap();
    assert!(in_level_0(&families[1]) < files[1]);
    for family in &families {
        assert_eq!(get(db.db(), family, b"k"), "3");
    }
}
