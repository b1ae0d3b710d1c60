//! Tests of two-phase commit without crashes.

use std::path::Path;

use esker::{
    ColumnFamilyOptions, Db, FileTraceReader, FileTraceWriter, Options, Replayer, TraceOptions, TracedQuery,
    WriteBatch, WriteOptions,
};
use esker_txn::{
    Transaction, TransactionDB, TransactionDBOptions, TransactionOptions, TransactionState, TxnDBWritePolicy,
};
use vfs::{MemFs, UnsyncedPolicy};

use super::common::*;

#[test]
fn a_prepared_transaction_is_not_seen_until_it_is_committed() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    first.put_cf(&family, b"b", b"1").unwrap();
    assert_eq!(
        text(first.prepare()),
        "Invalid argument: Cannot prepare a transaction that has not been named."
    );
    first.set_name(b"first").unwrap();
    let before = db.db().latest_sequence_number();
    first.prepare().unwrap();
    assert_eq!(
        db.db().latest_sequence_number(),
        before,
        "rows of a section have no numbers"
    );
    assert_eq!(first.state(), TransactionState::Prepared);
    assert_eq!(get(db.db(), &family, b"a"), "-");
    db.db().put(b"z", b"1").unwrap();
    first.commit_time_write_batch().put(b"own", b"1");
    first.commit().unwrap();
    assert_eq!(db.db().latest_sequence_number(), before + 4);
    for key in [&b"a"[..], b"b", b"own"] {
        assert_eq!(get(db.db(), &family, key), "1");
    }
    assert!(db.lock_status().is_empty());
    assert_eq!(
        text(first.prepare()),
        "Invalid argument: Transaction has already been committed."
    );
}

#[test]
fn a_prepared_transaction_is_rolled_back() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.set_name(b"first").unwrap();
    first.put_cf(&family, b"a", b"1").unwrap();
    first.prepare().unwrap();
    assert_eq!(
        text(first.prepare()),
        "Invalid argument: Transaction has already been prepared."
    );
    first.rollback().unwrap();
    assert_eq!(first.state(), TransactionState::RolledBack);
    assert_eq!(
        text(first.commit()),
        "Invalid argument: Transaction has already been rolledback."
    );
    assert_eq!(
        text(first.rollback()),
        "Invalid argument: Two phase transaction is not in state for rollback."
    );
    assert!(db.lock_status().is_empty());
    assert_eq!(get(db.db(), &family, b"a"), "-");
}

#[test]
fn names_are_unique_among_those_that_live() {
    let db = open(&MemFs::new());
    let (mut first, mut second) = (begin(&db), begin(&db));
    let long = [b'x'; 513];
    for bad in [&b""[..], &long] {
        assert_eq!(
            text(first.set_name(bad)),
            "Invalid argument: Transaction name length must be between 1 and 512 chars."
        );
    }
    first.set_name(b"name").unwrap();
    assert_eq!(
        text(first.set_name(b"other")),
        "Invalid argument: Transaction has already been named."
    );
    assert_eq!(
        text(second.set_name(b"name")),
        "Invalid argument: Transaction name must be unique."
    );
    first.commit().unwrap();
    second.set_name(b"name").unwrap();
    second.prepare().unwrap();
    assert_eq!(
        text(begin(&db).set_name(b"name")),
        "Invalid argument: Transaction name must be unique."
    );
    drop(second);
    let mut third = begin(&db);
    assert_eq!(
        text(third.set_name(b"name")),
        "Invalid argument: Transaction name must be unique.",
        "what is prepared outlives its owner"
    );
    third.prepare().unwrap_err();
    db.get_transaction_by_name(b"name").unwrap().rollback().unwrap();
    assert!(db.get_transaction_by_name(b"name").is_none());
    third.set_name(b"name").unwrap();
}

#[test]
fn two_phases_may_be_demanded() {
    let db = open(&MemFs::new());
    let options = TransactionOptions {
        skip_prepare: false,
        ..TransactionOptions::default()
    };
    let mut first = db.begin_transaction(&WriteOptions::default(), &options);
    first.put_cf(&family(db.db()), b"a", b"1").unwrap();
    assert_eq!(text(first.commit()), "Invalid argument: Txn not prepared");
    first.set_name(b"x").unwrap();
    first.prepare().unwrap();
    first.commit().unwrap();
    let mut second = begin(&db);
    second.commit_time_write_batch().put(b"a", b"2");
    assert_eq!(
        text(second.commit()),
        "Invalid argument: Commit-time batch contains values that will not be committed."
    );
}

#[test]
fn the_database_below_says_what_cannot_be() {
    let fs = MemFs::new();
    let plain = Db::open(&options(&fs), DIR).unwrap();
    let write = WriteOptions::default();
    let refused = plain.prepare(b"x", &WriteBatch::new(), &write);
    assert!(text(refused).contains("allow_2pc"));
    assert!(TransactionDB::wrap(plain.clone(), &TransactionDBOptions::default()).is_err());
    plain.close().unwrap();
    let db = open(&fs);
    let low = db.db();
    low.prepare(b"x", &WriteBatch::new(), &write).unwrap();
    assert_eq!(
        text(low.prepare(b"x", &WriteBatch::new(), &write)),
        "Invalid argument: Transaction name must be unique."
    );
    let unknown = low.commit_prepared(b"y", &WriteBatch::new(), &WriteBatch::new(), &write);
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("no transaction is prepared")
    );
    assert!(low.rollback_prepared(b"y", &write).is_err());
    low.rollback_prepared(b"x", &write).unwrap();
}

#[test]
fn wals_go_once_what_was_prepared_in_them_has_ended() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    let mut transactions: Vec<_> = (0..4u8)
        .map(|at| {
            let mut transaction = begin(&db);
            transaction.set_name(&[at]).unwrap();
            transaction.put_cf(&family, &[at], b"1").unwrap();
            transaction.prepare().unwrap();
            // The section is in a separate WAL.
            db.db().put(b"other", b"1").unwrap();
            flush(db.db());
            transaction
        })
        .collect();
    assert!(wals(&fs) >= 5, "{}", wals(&fs));
    // The transactions end in any order, and one of them by a rollback.
    transactions.remove(2).commit().unwrap();
    transactions.remove(0).rollback().unwrap();
    transactions.remove(1).commit().unwrap();
    assert!(wals(&fs) >= 4);
    transactions.remove(0).rollback().unwrap();
    db.db().put(b"other", b"2").unwrap();
    flush(db.db());
    testkit::wait_until("old WALs are deleted", || wals(&fs) == 1);
    assert_eq!(get(db.db(), &family, &[2]), "1");
    assert_eq!(get(db.db(), &family, &[0]), "-");
}

#[test]
fn rows_of_a_family_that_was_dropped_go_nowhere() {
    let fs = MemFs::new();
    let db = open(&fs);
    let own = db
        .create_column_family("own", &ColumnFamilyOptions::default())
        .unwrap();
    let mut first = begin(&db);
    first.set_name(b"first").unwrap();
    first.put_cf(&own, b"a", b"1").unwrap();
    first.put_cf(&family(db.db()), b"a", b"1").unwrap();
    first.prepare().unwrap();
    db.drop_column_family(&own).unwrap();
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family(db.db()), b"a"), "1");
    let db = open(&fs.process_death_clone());
    assert_eq!(get(db.db(), &family(db.db()), b"a"), "1");
}

#[test]
fn without_wal_the_marks_are_written_all_the_same() {
    let fs = MemFs::new();
    let db = open(&fs);
    let no_wal = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    let mut first = db.begin_transaction(&no_wal, &TransactionOptions::default());
    first.set_name(b"first").unwrap();
    first.put_cf(&family(db.db()), b"a", b"1").unwrap();
    first.prepare().unwrap();
    first.commit().unwrap();
    let db = open(&fs.process_death_clone());
    assert!(db.get_all_prepared_transactions().is_empty());
    assert_eq!(get(db.db(), &family(db.db()), b"a"), "1");
}

#[test]
fn other_policies_are_served_as_write_committed() {
    let fs = MemFs::new();
    for policy in [TxnDBWritePolicy::WritePrepared, TxnDBWritePolicy::WriteUnprepared] {
        let with_policy = TransactionDBOptions {
            write_policy: policy,
            ..no_wait()
        };
        let db = TransactionDB::open(&options(&fs), &with_policy, DIR).unwrap();
        let mut first = begin(&db);
        first.set_name(b"first").unwrap();
        first.put_cf(&family(db.db()), b"a", b"1").unwrap();
        first.prepare().unwrap();
        assert_eq!(get(db.db(), &family(db.db()), b"b"), "-");
        first.commit().unwrap();
    }
    let served = "TransactionDB: write_policy is served as WRITE_COMMITTED";
    assert_eq!(info_logs(&fs).matches(served).count(), 2);
}

#[test]
fn the_log_names_transactions_that_are_outstanding_at_a_close_and_at_an_open() {
    let fs = MemFs::new();
    let db = open(&fs);
    for name in [&b"kept"[..], b"ended"] {
        let mut transaction = begin(&db);
        transaction.set_name(name).unwrap();
        transaction.put_cf(&family(db.db()), name, b"1").unwrap();
        transaction.prepare().unwrap();
        if name == b"ended" {
            transaction.commit().unwrap();
        }
    }
    drop(db);
    let at_close = "Shutdown: transaction kept is prepared and outstanding";
    let at_open = "TransactionDB: transaction kept is prepared and outstanding";
    let log = info_logs(&fs);
    assert!(log.contains(at_close) && !log.contains(at_open), "{log}");
    drop(open(&fs));
    let log = info_logs(&fs);
    assert_eq!(
        (log.matches(at_close).count(), log.matches(at_open).count()),
        (2, 1)
    );
    assert!(!log.contains("transaction ended is"), "{log}");
}

#[test]
fn wals_with_marks_are_tracked_and_verified() {
    let fs = MemFs::new();
    let tracked = |fs: &MemFs| Options {
        track_and_verify_wals: true,
        ..options(fs)
    };
    let open = |fs: &MemFs| TransactionDB::open(&tracked(fs), &no_wait(), DIR).unwrap();
    let db = open(&fs);
    let mut transactions: Vec<Transaction> = (0..4u8)
        .map(|number| {
            let mut transaction = begin_synced(&db, &[number]);
            transaction
                .put_cf(&family(db.db()), [b'a' + number], b"1")
                .unwrap();
            transaction.prepare().unwrap();
            // The sections are in several WALs, each of which records its predecessor.
            db.db().put([b'x', number], b"1").unwrap();
            flush(db.db());
            transaction
        })
        .collect();
    transactions[0].commit().unwrap();
    transactions[1].rollback().unwrap();
    db.db().put(b"between", b"1").unwrap();
    flush(db.db());
    transactions[2].commit().unwrap();
    for fs in [
        fs.process_death_clone(),
        fs.crash_clone(&mut fastrand::Rng::with_seed(1), UnsyncedPolicy::Lose),
    ] {
        for _ in 0..2 {
            let db = open(&fs);
            let seen = [b"a", b"b", b"c", b"d"].map(|key| get(db.db(), &family(db.db()), key));
            assert_eq!(seen.concat(), "1-1-");
            let found = db.get_all_prepared_transactions();
            assert_eq!(found.iter().map(Transaction::name).collect::<Vec<_>>(), [[3]]);
        }
    }
}

#[test]
fn a_follower_sees_both_phases() {
    let fs = MemFs::new();
    let db = open(&fs);
    let primary = family(db.db());
    let mut first = begin_synced(&db, b"first");
    first.put_cf(&primary, b"a", b"1").unwrap();
    first.prepare().unwrap();
    flush(db.db());
    let with_sections = Options {
        allow_2pc: true,
        follower_refresh_catchup_period_ms: 1,
        ..options(&fs)
    };
    let follower = Db::open_as_follower(&with_sections, "/follower", DIR).unwrap();
    let seen = |key: &[u8]| get(&follower, &follower.default_column_family(), key);
    let mut second = begin_synced(&db, b"second");
    second.put_cf(&primary, b"b", b"1").unwrap();
    second.prepare().unwrap();
    db.db().put(b"x", b"1").unwrap();
    testkit::wait_until("the follower has the row after both sections", || {
        seen(b"x") == "1"
    });
    assert_eq!((seen(b"a"), seen(b"b")), ("-".to_owned(), "-".to_owned()));
    first.commit().unwrap();
    second.rollback().unwrap();
    db.db().put(b"y", b"1").unwrap();
    testkit::wait_until("the follower has the row after the ends", || seen(b"y") == "1");
    assert_eq!((seen(b"a"), seen(b"b")), ("1".to_owned(), "-".to_owned()));
}

#[test]
fn others_who_open_it_see_what_is_committed_or_refuse() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    for (name, commits) in [(b"a", true), (b"b", false)] {
        let mut transaction = begin(&db);
        transaction.set_name(name).unwrap();
        transaction.put_cf(&family, name, b"1").unwrap();
        transaction.prepare().unwrap();
        if commits {
            transaction.commit().unwrap();
        }
    }
    let refuses = |opened: base::Result<Db>| {
        let refused = opened.unwrap_err().to_string();
        assert!(
            refused.contains("WAL contains prepared transactions. Open with TransactionDB::Open()."),
            "{refused}"
        );
    };
    refuses(Db::open_read_only(&options(&fs), DIR));
    let two_phase = Options {
        allow_2pc: true,
        ..options(&fs)
    };
    let reader = Db::open_read_only(&two_phase, DIR).unwrap();
    let get_read_only = |key: &[u8]| get(&reader, &reader.default_column_family(), key);
    assert_eq!(
        (get_read_only(b"a"), get_read_only(b"b")),
        ("1".to_owned(), "-".to_owned())
    );
    let dead = fs.process_death_clone();
    refuses(Db::open(&options(&dead), DIR));
    // The open is also refused if no family needs the WAL of the section.
    db.db().put(b"c", b"1").unwrap();
    flush(db.db());
    db.db().put(b"c", b"2").unwrap();
    flush(db.db());
    refuses(Db::open(&options(&fs.process_death_clone()), DIR));
    // After all transactions have ended and the database was closed, any program can open the database.
    let db = open(&dead);
    for mut transaction in db.get_all_prepared_transactions() {
        assert_eq!(transaction.name(), b"b");
        let seen = transaction.get_cf(&db.db().default_column_family(), b"b");
        assert_eq!(seen.unwrap().as_deref(), Some(&b"1"[..]));
        transaction.rollback().unwrap();
    }
    db.db().close().unwrap();
    drop(db);
    let plain = Options {
        create_if_missing: false,
        ..options(&dead)
    };
    Db::open(&plain, DIR).unwrap();
}

#[test]
fn a_checkpoint_has_what_is_prepared() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    let mut committed = begin(&db);
    committed.set_name(b"committed").unwrap();
    committed.put_cf(&family, b"a", b"1").unwrap();
    committed.prepare().unwrap();
    let mut outstanding = begin(&db);
    outstanding.set_name(b"outstanding").unwrap();
    outstanding.put_cf(&family, b"b", b"1").unwrap();
    outstanding.prepare().unwrap();
    for round in [b"1", b"2"] {
        db.db().put(b"other", round).unwrap();
        flush(db.db());
    }
    committed.commit().unwrap();
    // For one of the two checkpoints memtables are flushed, for the other the WAL is copied.
    for (path, log_size_for_flush) in [("/with_wal", u64::MAX), ("/flushed", 0)] {
        let how = esker::CheckpointOptions { log_size_for_flush };
        db.db().create_checkpoint(path, &how).unwrap();
        let copy = TransactionDB::open(&options(&fs), &no_wait(), path).unwrap();
        let family = copy.db().default_column_family();
        assert_eq!(get(copy.db(), &family, b"a"), "1", "{path}");
        let mut found = copy.get_all_prepared_transactions();
        assert_eq!(found.len(), 1, "{path}");
        found[0].commit().unwrap();
        assert_eq!(get(copy.db(), &family, b"b"), "1", "{path}");
    }
}

#[test]
fn a_secondary_follows_both_phases() {
    let fs = MemFs::new();
    let db = open(&fs);
    let primary = family(db.db());
    let with = |allow_2pc| Options {
        allow_2pc,
        ..options(&fs)
    };
    let mut kept = begin(&db);
    kept.set_name(b"kept").unwrap();
    kept.put_cf(&primary, b"kept", b"1").unwrap();
    kept.prepare().unwrap();
    let refused = Db::open_as_secondary(&with(false), DIR, "/refused");
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("WAL contains prepared transactions")
    );
    let secondary = Db::open_as_secondary(&with(true), DIR, "/secondary").unwrap();
    let seen = |key: &[u8]| {
        secondary.try_catch_up_with_primary().unwrap();
        get(&secondary, &secondary.default_column_family(), key)
    };
    let mut rng = testkit::rng();
    for round in 0..40u32 {
        let key = round.to_be_bytes();
        let mut transaction = begin(&db);
        transaction.set_name(&key).unwrap();
        transaction.merge_cf(&primary, &key, b"1").unwrap();
        transaction.merge_cf(&primary, b"count", b"x").unwrap();
        transaction.prepare().unwrap();
        assert_eq!(seen(&key), "-");
        if rng.one_in(4) {
            db.db().put(b"other", key).unwrap();
            flush(db.db());
        }
        match rng.one_in(5) {
            true => {
                transaction.rollback().unwrap();
                assert_eq!(seen(&key), "-");
            }
            false => {
                transaction.commit().unwrap();
                assert_eq!(seen(&key), "1", "round {round}");
            }
        }
        if rng.one_in(6) {
            flush(db.db());
        }
        assert_eq!(seen(b"count"), get(db.db(), &primary, b"count"), "round {round}");
    }
    kept.commit().unwrap();
    assert_eq!(seen(b"kept"), "1");
    // A secondary that starts now must read the section from a WAL of which no family needs a row.
    let late = Db::open_as_secondary(&with(true), DIR, "/late").unwrap();
    assert_eq!(get(&late, &late.default_column_family(), b"kept"), "1");
}

#[test]
fn a_repair_keeps_what_was_committed() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    for (name, commits) in [(b"a", true), (b"b", false)] {
        let mut transaction = begin(&db);
        transaction.set_name(name).unwrap();
        transaction.put_cf(&family, name, b"1").unwrap();
        transaction.prepare().unwrap();
        if commits {
            transaction.commit().unwrap();
        }
    }
    let dead = fs.process_death_clone();
    let report = Db::repair(&options(&dead), DIR).unwrap();
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.starts_with("transaction b was prepared")),
        "{:?}",
        report.warnings
    );
    let db = Db::open(&options(&dead), DIR).unwrap();
    let seen = |key: &[u8]| get(&db, &db.default_column_family(), key);
    assert_eq!((seen(b"a"), seen(b"b")), ("1".to_owned(), "-".to_owned()));
}

#[test]
fn a_trace_has_the_rows_of_what_was_committed_and_replays_them() {
    let fs = MemFs::new();
    let db = open(&fs);
    let family = family(db.db());
    let writer = FileTraceWriter::create(&fs, Path::new("/trace")).unwrap();
    db.db()
        .start_trace(&TraceOptions::default(), Box::new(writer))
        .unwrap();
    for (name, commits) in [(&b"kept"[..], true), (b"dropped", false)] {
        let mut transaction = begin(&db);
        transaction.set_name(name).unwrap();
        transaction.put_cf(&family, name, b"1").unwrap();
        transaction.prepare().unwrap();
        match commits {
            true => transaction.commit().unwrap(),
            false => transaction.rollback().unwrap(),
        }
    }
    let mut unprepared = begin(&db);
    unprepared.put_cf(&family, b"at once", b"1").unwrap();
    unprepared.commit().unwrap();
    db.db().end_trace().unwrap();

    let to = open(&MemFs::new());
    let family = super::common::family(to.db());
    let reader = FileTraceReader::open(&fs, Path::new("/trace")).unwrap();
    let mut replayer = Replayer::new(to.db(), &[], reader);
    replayer.prepare().unwrap();
    let mut writes = 0;
    while let Some(record) = replayer.next_record().unwrap() {
        // Transactions read the rows that they lock.
        if let TracedQuery::Write(_) = record.query {
            replayer.execute(&record.query).unwrap();
            writes += 1;
        }
    }
    assert_eq!(writes, 2);
    for (key, value) in [(&b"kept"[..], "1"), (b"at once", "1"), (b"dropped", "-")] {
        assert_eq!(get(to.db(), &family, key), value, "{}", key.escape_ascii());
    }
}
