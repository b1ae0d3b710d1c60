//! Ingestions with concurrent writers: only writers of the ingested keys wait. Tables across the bounds of a
//! replaced range are cut.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dbtest::by_hand::{compact, flush};
use dbtest::crash::{dump, images_of_changes};
use dbtest::files;
use esker::{
    CompactFilesOptions, CompactionStyle, Db, ErrorKind, FlushOptions, IngestExternalFileArg,
    IngestExternalFileOptions, Options, RangeOpt, ReadOptions, SstFileWriter, WriteBatch, WriteOptions,
};
use vfs::{Action, FaultFs, MemFs, Op, Rule};

use crate::ingest::{self, DIR, OUTSIDE, fresh, options, put, rows_of, shape, strays, write_file};

fn at_once() -> WriteOptions {
    WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    }
}

/// An ingestion that replaces the rows from `start` to `limit`; an empty key is no bound.
fn replacing(db: &Db, files: &[PathBuf], start: &str, limit: &str) -> IngestExternalFileArg {
    let bound = |key: &str| (!key.is_empty()).then(|| key.as_bytes().to_vec());
    let range = RangeOpt {
        start: bound(start),
        limit: bound(limit),
    };
    ingest::replacing(db, files, Some(range))
}

/// A database over a fault-injecting file system. It compacts on request alone: a compaction that the
/// ingested files make due would meet the rules of the file system after the latch is released.
fn over_faults() -> (MemFs, FaultFs, Options) {
    let (mem, _) = fresh();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faults.clone()));
    options.column_family.disable_auto_compactions = true;
    (mem, faults, options)
}

/// Calls `act` on another thread, and waits for it, whenever the ingestion writes or syncs a table of the
/// database or the MANIFEST.
fn beside(faults: &FaultFs, act: impl Fn(Op, &Path) + Send + Sync + 'static) {
    beside_ops(faults, &[Op::Append, Op::Sync], act);
}

fn beside_ops(faults: &FaultFs, ops: &[Op], act: impl Fn(Op, &Path) + Send + Sync + 'static) {
    let act = Arc::new(act);
    for part in ["/db/MANIFEST", ".sst"] {
        let act = act.clone();
        let hook = move |op: Op, path: &Path| {
            if path.starts_with(DIR) {
                std::thread::scope(|scope| scope.spawn(|| act(op, path)).join()).unwrap();
            }
        };
        let rule = Rule::new(Action::Call(Arc::new(hook)));
        faults.add(rule.on(ops.iter().copied()).path_contains(part));
    }
}

/// Each way to write the key of a row: alone, in a batch, with a range deletion.
fn try_each_way(db: &Db, key: &str, other: &str) -> Vec<esker::Result<()>> {
    let family = db.default_column_family();
    let mut batch = WriteBatch::new();
    batch.put(other.as_bytes(), b"batch");
    batch.merge(key.as_bytes(), b"batch");
    let end = format!("{key}~");
    vec![
        db.put_cf_opt(&family, key.as_bytes(), b"put", &at_once())
            .map(drop),
        db.write_opt(batch, &at_once()).map(drop),
        db.delete_range_cf_opt(&family, key.as_bytes(), end.as_bytes(), &at_once())
            .map(drop),
        db.put_cf_opt(&family, key.as_bytes(), b"last", &at_once())
            .map(drop),
    ]
}

#[test]
fn only_writers_of_the_keys_wait_for_an_ingestion() {
    for replaces in [false, true] {
        let (_, faults, options) = over_faults();
        let db = Arc::new(Db::open(&options, DIR).unwrap());
        put(&db, &["c", "m", "x"], "old");
        flush(&db);
        put(&db, &["d", "n", "y"], "in memory");
        let file = write_file(&options, "1", &["d:new", "m:new", "n:new"]);
        let other = write_file(&options, "2", &["p:new", "q:new"]);
        let (tried, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let act = {
            let (db, tried, late) = (db.clone(), tried.clone(), late.clone());
            move |_: Op, path: &Path| {
                for outcome in try_each_way(&db, "a", "b") {
                    outcome.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                }
                // Writers of keys in the gap between two ingested files do not wait. If the ingestion
                // replaces the whole range, they do.
                let gap = try_each_way(&db, "o", "b");
                for outcome in try_each_way(&db, "e", "b")
                    .into_iter()
                    .chain(gap.into_iter().filter(|_| replaces))
                {
                    let error = outcome.expect_err("the range is latched");
                    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
                }
                tried.fetch_add(1, Ordering::Relaxed);
                let waits = || {
                    let db = db.clone();
                    std::thread::spawn(move || db.put(b"n", b"later").unwrap())
                };
                late.lock().unwrap().get_or_insert_with(waits);
            }
        };
        let arg = match replaces {
            true => replacing(&db, &[file, other], "c", "r"),
            false => IngestExternalFileArg::new(
                &db.default_column_family(),
                [file, other],
                IngestExternalFileOptions::default(),
            ),
        };
        let prepared = db.prepare_file_ingestion(&[arg]).unwrap();
        beside(&faults, act);
        db.commit_file_ingestion_handle(prepared).unwrap();
        faults.clear_rules();
        late.lock().unwrap().take().unwrap().join().unwrap();
        assert!(tried.load(Ordering::Relaxed) >= 3, "{tried:?}");
        let kept = if replaces { vec![] } else { vec!["c=old"] };
        let gap = if replaces { vec![] } else { vec!["o=last"] };
        let expected: Vec<&str> = ["a=last", "b=batch"]
            .into_iter()
            .chain(kept)
            .chain(["d=new", "m=new", "n=later"])
            .chain(gap)
            .chain(["p=new", "q=new", "x=old", "y=in memory"])
            .collect();
        assert_eq!(rows_of(&db), expected);
        assert_eq!(files::check(&db).unwrap(), "");
        put(&db, &["e"], "released");
        let before = dump(&db).unwrap();
        drop(Arc::into_inner(db).unwrap());
        assert_eq!(dump(&Db::open(&options, DIR).unwrap()).unwrap(), before);
    }
}

/// Files that go to L0 with a sequence number, while rows are written that would span it.
#[test]
fn writers_go_on_while_a_file_goes_to_l0() {
    let (_, faults, mut options) = over_faults();
    options.column_family.disable_auto_compactions = true;
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    put(&db, &["a", "m", "z"], "old");
    flush(&db);
    put(&db, &["b", "y"], "in memory");
    let file = write_file(&options, "1", &["m:new", "n:new"]);
    let snapshots = Arc::new(Mutex::new(Vec::new()));
    let act = {
        let (db, snapshots) = (db.clone(), snapshots.clone());
        move |_: Op, path: &Path| {
            db.put_cf_opt(&db.default_column_family(), b"c", b"beside", &at_once())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let db = db.clone();
            let snapshot = std::thread::spawn(move || db.snapshot());
            snapshots.lock().unwrap().push(snapshot);
        }
    };
    beside(&faults, act);
    db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
        .unwrap();
    faults.clear_rules();
    assert_eq!(
        rows_of(&db),
        [
            "a=old",
            "b=in memory",
            "c=beside",
            "m=new",
            "n=new",
            "y=in memory",
            "z=old"
        ]
    );
    // No snapshot changes: one taken before the ingestion shows the old rows, a snapshot that waited for the
    // ingestion shows the new ones.
    let taken = std::mem::take(&mut *snapshots.lock().unwrap());
    for snapshot in taken {
        let snapshot = snapshot.join().unwrap();
        let read = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..ReadOptions::default()
        };
        let seen = ["m", "n"].map(|key| {
            db.get_cf_opt(&db.default_column_family(), key.as_bytes(), &read)
                .unwrap()
        });
        let new = [Some(b"new".to_vec()), Some(b"new".to_vec())];
        let old = [Some(b"old".to_vec()), None];
        let seen = seen.map(|value| value.map(|value| value.to_vec()));
        assert!(seen == new || seen == old, "{seen:?}");
    }
    put(&db, &["m"], "newest");
    flush(&db);
    assert_eq!(files::check(&db).unwrap(), "");
    compact(&db);
    assert_eq!(db.get(b"m").unwrap().as_deref(), Some(&b"newest"[..]));
}

/// While an ingestion syncs the WAL, after it has reserved its sequence number, later rows of other keys are
/// flushed, and their table is compacted with one of older rows of its key. That table would be the newer one
/// in L0.
#[test]
fn no_table_in_l0_spans_the_number_of_an_ingested_file() {
    // With one family a flush syncs no WAL, for which it would wait here.
    let (_, faults, mut options) = over_faults();
    options.column_families.clear();
    options.column_family.compaction_style = CompactionStyle::Universal;
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    // Rows below L0 let a compaction within L0 keep the sequence numbers.
    put(&db, &["a", "m", "z"], "oldest");
    flush(&db);
    compact(&db);
    put(&db, &["a", "m", "z"], "old");
    flush(&db);
    let file = write_file(&options, "1", &["m:new"]);
    let syncs = Arc::new(AtomicUsize::new(0));
    let hook = {
        let (db, syncs) = (db.clone(), syncs.clone());
        move |_: Op, _: &Path| {
            let nth = syncs.fetch_add(1, Ordering::Relaxed);
            let act = || match nth {
                // The first sync is before the reservation. This row makes a second one necessary.
                0 => put(&db, &["b"], "beside"),
                1 => {
                    put(&db, &["y"], "beside");
                    flush(&db);
                    let family = db.default_column_family();
                    let files = db.live_files();
                    let in_level0 = files.iter().filter(|file| file.level == 0);
                    let numbers: Vec<u64> = in_level0.map(|file| file.number).collect();
                    assert_eq!(numbers.len(), 2);
                    db.compact_files(&family, &numbers, 0, &CompactFilesOptions::default())
                        .unwrap();
                }
                _ => {}
            };
            std::thread::scope(|scope| scope.spawn(act).join()).unwrap();
        }
    };
    put(&db, &["x"], "in memory");
    faults.add(
        Rule::new(Action::Call(Arc::new(hook)))
            .on([Op::Sync])
            .path_contains(".log"),
    );
    db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
        .unwrap();
    faults.clear_rules();
    assert!(syncs.load(Ordering::Relaxed) > 1);
    // The compaction moves the file down with the L0 files that are older. Its rows lose their number.
    let files = db.live_files();
    let ingested = files
        .iter()
        .find(|file| file.smallest_seqno == file.largest_seqno && file.level == 0);
    let (family, numbers) = (db.default_column_family(), [ingested.unwrap().number]);
    db.compact_files(&family, &numbers, 6, &CompactFilesOptions::default())
        .unwrap();
    assert_eq!(
        rows_of(&db),
        ["a=old", "b=beside", "m=new", "x=in memory", "y=beside", "z=old"]
    );
}

/// The contents of a database with a locked WAL do not change.
#[test]
fn a_lock_of_the_wal_waits_for_an_ingestion() {
    let (_, faults, options) = over_faults();
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    put(&db, &["m"], "old");
    flush(&db);
    let file = write_file(&options, "1", &["m:new"]);
    let locker = Arc::new(Mutex::new(None));
    let act = {
        let (db, locker) = (db.clone(), locker.clone());
        move |_: Op, _: &Path| {
            let locks = || {
                let db = db.clone();
                std::thread::spawn(move || {
                    db.lock_wal().unwrap();
                    let seen = db.get(b"m").unwrap();
                    db.unlock_wal().unwrap();
                    seen
                })
            };
            locker.lock().unwrap().get_or_insert_with(locks);
        }
    };
    let family = db.default_column_family();
    let arg = IngestExternalFileArg::new(&family, [file], IngestExternalFileOptions::default());
    let prepared = db.prepare_file_ingestion(&[arg]).unwrap();
    beside(&faults, act);
    db.commit_file_ingestion_handle(prepared).unwrap();
    faults.clear_rules();
    let locked = locker.lock().unwrap().take().unwrap();
    assert_eq!(locked.join().unwrap().as_deref(), Some(&b"new"[..]));
}

#[test]
fn a_close_ends_an_ingestion_and_its_waiters() {
    let (mem, faults, options) = over_faults();
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    put(&db, &["c", "m"], "old");
    let file = write_file(&options, "1", &["c:new"]);
    let waiters = Arc::new(Mutex::new(Vec::new()));
    let act = {
        let (db, waiters) = (db.clone(), waiters.clone());
        move |_: Op, _: &Path| {
            let mut waiters = waiters.lock().unwrap();
            if waiters.is_empty() {
                let (writer, closer) = (db.clone(), db.clone());
                waiters.push(std::thread::spawn(move || writer.put(b"c", b"waits").map(drop)));
                waiters.push(std::thread::spawn(move || closer.close()));
            }
        }
    };
    beside(&faults, act);
    // The result is ignored, because either the ingestion or the writers may come first.
    let _ = db.ingest_external_file(&[file], &IngestExternalFileOptions::default());
    // The lock of `waiters` is released before the joins: the close writes, and so calls `act`, which takes
    // the lock.
    let waiting = std::mem::take(&mut *waiters.lock().unwrap());
    for waiter in waiting {
        let _ = waiter.join().unwrap();
    }
    faults.clear_rules();
    // The database is closed; a background thread may still be in `act`, with a handle.
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(db.get(b"m").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(files::check(&db).unwrap(), "");
    assert_eq!(strays(&mem, db), [""; 0]);
}

/// A level below L0 with one table from `a` to `z`, an L0 table over it, and rows in memory.
fn across(db: &Db) {
    put(db, &["a", "g", "h", "p", "q", "z"], "deep");
    compact(db);
    put(db, &["b", "h", "y"], "above");
    db.delete_range(b"c", b"j").unwrap();
    put(db, &["d", "i"], "since");
    flush(db);
    put(db, &["e", "p"], "in memory");
}

#[test]
fn tables_across_the_bounds_are_cut() {
    let (mem, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    across(&db);
    let file = write_file(&options, "1", &["h:new", "k:new"]);
    let last = db
        .ingest_external_files(&[replacing(&db, &[file], "h", "q")])
        .unwrap();
    assert_eq!(last, db.latest_sequence_number());
    let after = [
        "a=deep",
        "b=above",
        "d=since",
        "e=in memory",
        "h=new",
        "k=new",
        "q=deep",
        "y=above",
        "z=deep",
    ];
    assert_eq!(rows_of(&db), after);
    assert_eq!(files::check(&db).unwrap(), "");
    db.verify_checksum().unwrap();
    let deepest: Vec<_> = shape(&db, "default")
        .split(", ")
        .filter(|file| file.starts_with("L6"))
        .map(|file| file.split('@').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(deepest, ["L6 a..g", "L6 h..k", "L6 q..z"]);
    put(&db, &["h", "l"], "later");
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(rows_of(&db)[4..7], ["h=later", "k=new", "l=later"]);
    compact(&db);
    assert_eq!(files::check(&db).unwrap(), "");
    assert_eq!(strays(&mem, db), [""; 0]);
}

#[test]
fn a_table_without_rows_of_the_range_is_not_rewritten() {
    let (_, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    put(&db, &["a", "z"], "deep");
    compact(&db);
    let before = db.live_files();
    let file = write_file(&options, "1", &["h:new"]);
    db.ingest_external_files(&[replacing(&db, &[file], "b", "y")])
        .unwrap();
    assert_eq!(rows_of(&db), ["a=deep", "h=new", "z=deep"]);
    assert!(db.live_files().iter().any(|file| file.number == before[0].number));
    assert_eq!(files::check(&db).unwrap(), "");
}

/// Random rows, range deletions, flushes and compactions, with replaced ranges of random bounds.
#[test]
fn ranges_with_random_bounds_are_replaced() {
    for seed in testkit::rng::seeds(2) {
        let mut rng = base::env::Rng::with_seed(seed);
        let (mem, mut options) = fresh();
        options.column_family.enable_blob_files = rng.bool();
        options.column_family.min_blob_size = 40;
        let db = Db::open(&options, DIR).unwrap();
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let key = |at: u32| format!("k{at:03}").into_bytes();
        for round in 0..30_u32 {
            for step in 0..rng.u32(1..60) {
                let at = key(rng.u32(..300));
                let value = vec![b'a' + (step % 26) as u8; rng.usize(1..90)];
                match rng.u32(..20) {
                    0 => {
                        let (begin, end) = (at.clone(), key(rng.u32(..300)));
                        if begin < end {
                            db.delete_range(&begin, &end).unwrap();
                            model.retain(|key, _| *key < begin || *key >= end);
                        }
                    }
                    1 | 2 => {
                        db.delete(&at).unwrap();
                        model.remove(&at);
                    }
                    _ => {
                        db.put(&at, &value).unwrap();
                        model.insert(at, value);
                    }
                }
            }
            match rng.u32(..8) {
                0 => compact(&db),
                1..=3 => flush(&db),
                _ => {}
            }
            let (mut from, mut to) = (rng.u32(..301), rng.u32(..301));
            if from == to {
                continue;
            }
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            let (start, limit) = (key(from), key(to));
            let path = Path::new(OUTSIDE).join("new");
            let mut writer = SstFileWriter::new(&options);
            writer.open(&path).unwrap();
            model.retain(|key, _| *key < start || *key >= limit);
            for at in (from..to).step_by(rng.usize(1..20)) {
                let value = format!("round {round}").into_bytes();
                writer.put(&key(at), &value).unwrap();
                model.insert(key(at), value);
            }
            writer.finish().unwrap();
            let text = |key: Vec<u8>| String::from_utf8(key).unwrap();
            db.ingest_external_files(&[replacing(&db, &[path], &text(start), &text(limit))])
                .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            assert_eq!(dump(&db).unwrap()["default"], model, "seed {seed}, round {round}");
        }
        assert_eq!(files::check(&db).unwrap(), "", "seed {seed}");
        drop(db);
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(dump(&db).unwrap()["default"], model, "seed {seed}");
        assert_eq!(strays(&mem, db), [""; 0], "seed {seed}");
    }
}

#[test]
fn a_crash_while_tables_are_cut_leaves_the_old_rows_or_the_new() {
    let mut rng = testkit::rng();
    let (mem, faults, over) = over_faults();
    let plain = options(Arc::new(mem.clone()));
    let db = Db::open(&over, DIR).unwrap();
    across(&db);
    db.sync_wal().unwrap();
    let file = write_file(&plain, "1", &["h:new", "k:new"]);
    let before = dump(&db).unwrap();
    let (_, images) = images_of_changes(&mem, &faults, rng.u64(..), || {
        db.ingest_external_files(&[replacing(&db, &[file], "h", "q")])
            .unwrap();
    });
    let after = dump(&db).unwrap();
    assert!(images.len() > 20, "{}", images.len());
    let mut seen = BTreeMap::new();
    for (step, image) in images.into_iter().flatten().enumerate() {
        let options = options(Arc::new(image.clone()));
        let db = Db::open(&options, DIR).unwrap_or_else(|error| panic!("step {step}: {error}"));
        let found = dump(&db).unwrap();
        assert!(found == before || found == after, "step {step}: {found:?}");
        *seen.entry(found == after).or_insert(0) += 1;
        assert_eq!(files::check(&db).unwrap(), "", "step {step}");
        assert_eq!(strays(&image, db), [""; 0], "step {step}");
    }
    assert!(seen[&false] > 0 && seen.len() == 2, "{seen:?}");
}

/// Rows that are written during an ingestion survive a crash in their order: a row that is there has all
/// earlier ones, and the files, if they are there, have every row with a lower sequence number.
#[test]
fn a_crash_loses_no_row_that_is_older_than_the_files() {
    let mut rng = testkit::rng();
    let (mem, faults, over) = over_faults();
    let db = Arc::new(Db::open(&over, DIR).unwrap());
    put(&db, &["m"], "old");
    compact(&db);
    put(&db, &["m", "x"], "in memory");
    let file = write_file(&options(Arc::new(mem.clone())), "1", &["m:new"]);
    let written = Arc::new(Mutex::new(Vec::new()));
    let act = {
        let (db, written) = (db.clone(), written.clone());
        move |_: Op, _: &Path| {
            let mut written = written.lock().unwrap();
            let row = format!("w{:03}=beside", written.len());
            db.put(&row.as_bytes()[..4], b"beside").unwrap();
            written.push((row, db.latest_sequence_number()));
        }
    };
    // The ingestion reads tables, in its search for overlaps, between its syncs of the WAL.
    beside_ops(&faults, &[Op::Read, Op::Append, Op::Sync], act);
    let (last, images) = images_of_changes(&mem, &faults, rng.u64(..), || {
        db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
            .unwrap()
    });
    let written = std::mem::take(&mut *written.lock().unwrap());
    let (older, later): (Vec<_>, Vec<_>) = written.into_iter().partition(|(_, seqno)| *seqno < last);
    assert!(!older.is_empty() && !later.is_empty(), "{older:?} {later:?}");
    let mut with_files = 0;
    for (step, image) in images.into_iter().flatten().enumerate() {
        let options = options(Arc::new(image.clone()));
        let reopened = Db::open(&options, DIR).unwrap_or_else(|error| panic!("step {step}: {error}"));
        let rows = rows_of(&reopened);
        let have = |row: &str| rows.iter().any(|found| found == row);
        if have("m=new") {
            with_files += 1;
            assert!(have("x=in memory"), "step {step}: {rows:?}");
            assert!(older.iter().all(|(row, _)| have(row)), "step {step}: {rows:?}");
        }
        let lost = older.iter().chain(&later).skip_while(|(row, _)| have(row));
        assert_eq!(
            lost.filter(|(row, _)| have(row)).count(),
            0,
            "step {step}: {rows:?}"
        );
        assert_eq!(files::check(&reopened).unwrap(), "", "step {step}");
    }
    assert!(with_files > 0);
}

#[test]
fn a_row_between_the_syncs_of_the_wal_is_as_durable_as_the_files() {
    let (mem, faults, mut over) = over_faults();
    // The row stays in memory while the WAL is synced, and is written to the WAL when sequence numbers are
    // reserved.
    over.manual_wal_flush = true;
    let db = Arc::new(Db::open(&over, DIR).unwrap());
    put(&db, &["x"], "in memory");
    let file = write_file(&options(Arc::new(mem.clone())), "1", &["m:new"]);
    let written = Arc::new(Mutex::new(None));
    let hook = {
        let (db, written) = (db.clone(), written.clone());
        move |_: Op, _: &Path| {
            let mut written = written.lock().unwrap();
            if written.is_none() {
                std::thread::scope(|scope| scope.spawn(|| db.put(b"w", b"between").unwrap()).join()).unwrap();
                *written = Some(db.latest_sequence_number());
            }
        }
    };
    let rule = Rule::new(Action::Call(Arc::new(hook)));
    faults.add(rule.on([Op::Sync]).path_contains(".log"));
    let (last, images) = images_of_changes(&mem, &faults, 1, || {
        db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
            .unwrap()
    });
    let between = written.lock().unwrap().expect("the WAL is synced");
    assert!(between <= last, "{between} {last}");
    let mut with_files = 0;
    for (step, image) in images.into_iter().flatten().enumerate() {
        let reopened = Db::open(&options(Arc::new(image)), DIR).unwrap();
        let rows = rows_of(&reopened);
        let have = |row: &str| rows.iter().any(|found| found == row);
        if have("m=new") {
            with_files += 1;
            assert!(have("x=in memory") && have("w=between"), "step {step}: {rows:?}");
        }
    }
    assert!(with_files > 0);
}

#[test]
fn a_failed_cut_leaves_nothing() {
    let (mem, faults, mut options) = over_faults();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    across(&db);
    flush(&db);
    let file = write_file(&options, "1", &["h:new"]);
    let before = dump(&db).unwrap();
    let arg = || replacing(&db, std::slice::from_ref(&file), "h", "q");
    for nth in 0..6 {
        let rule = Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Create]);
        let rule = faults.add(rule.path_ends_with(".sst").skip(nth).times(1));
        let outcome = db.ingest_external_files(&[arg()]);
        let fired = faults.fired(rule) > 0;
        faults.clear_rules();
        assert_eq!(outcome.is_err(), fired, "{nth}: {outcome:?}");
        if !fired {
            assert!(nth >= 3, "the cuts were not reached");
            break;
        }
        assert_eq!(dump(&db).unwrap(), before, "{nth}");
        put(&db, &["h"], "above");
        flush(&db);
        db.delete(b"h").unwrap();
        flush(&db);
    }
    db.put_cf_opt(&db.default_column_family(), b"h", b"free", &at_once())
        .unwrap();
    assert_eq!(files::check(&db).unwrap(), "");
    // Stray files are looked for before the database is reopened, because an open deletes them.
    assert_eq!(strays(&mem, db), [""; 0]);
}

/// Later rows get the sequence numbers that an ingestion has reserved and not used, except rows in a WAL that
/// began meanwhile: a recovery would find a lower number after a higher one.
#[test]
fn numbers_are_not_used_again_in_a_wal_that_began_above_them() {
    let (mem, faults, options) = over_faults();
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    across(&db);
    flush(&db);
    let other = db.column_family("other").unwrap();
    let file = write_file(&options, "1", &["h:new"]);
    for fails in [true, false] {
        db.put_cf(&other, b"row", b"value").unwrap();
        let beside = {
            let (db, other) = (db.clone(), other.clone());
            move |_: Op, _: &Path| {
                let wait = FlushOptions {
                    wait: false,
                    ..FlushOptions::default()
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| db.flush_cf_opt(std::slice::from_ref(&other), &wait).unwrap());
                });
            }
        };
        // Background work is paused, so that only the ingestion creates tables.
        db.pause_background_work().unwrap();
        let call = Rule::new(Action::Call(Arc::new(beside))).on([Op::Create]);
        // The rule skips the first created table, which is the ingested file; the next ones are tables that
        // are cut.
        faults.add(call.path_ends_with(".sst").skip(1).times(1));
        if fails {
            let fail = Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Create]);
            faults.add(fail.path_ends_with(".sst").skip(2).times(1));
        }
        let arg = replacing(&db, std::slice::from_ref(&file), "h", "q");
        assert_eq!(db.ingest_external_files(&[arg]).is_err(), fails);
        faults.clear_rules();
        db.put(b"z", b"later").unwrap();
        let crashed = mem.process_death_clone();
        db.continue_background_work().unwrap();
        // The wait is necessary: a flush that has not begun before the next pause would leave no room for
        // another memtable.
        db.wait_for_compact().unwrap();
        let reopened = Db::open(&ingest::options(Arc::new(crashed)), DIR).unwrap();
        assert_eq!(reopened.get(b"z").unwrap().as_deref(), Some(&b"later"[..]));
    }
}
