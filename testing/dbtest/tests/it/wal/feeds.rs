//! Change feeds with durable cursors: every row is delivered in order at least once, whatever happens to
//! memtables, WALs and processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use dbtest::by_hand::{at_once, flush};
use dbtest::crash::images_of_changes;
use esker::{
    BeforeImage, Db, ErrorKind, Feed, FeedEvent, FeedOptions, FlushOptions, Operation, Options, WriteBatch,
    WriteOptions, feed_cursors,
};
use testkit::TestRng;
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, Rule, UnsyncedPolicy};

const DIR: &str = "/db";

fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        allow_2pc: true,
        fs,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    options
}

fn named(name: &str) -> FeedOptions {
    FeedOptions {
        cursor: Some(name.to_owned()),
        ..FeedOptions::default()
    }
}

/// A row as a feed shows it, or a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Row(u64, String, String),
    Gap(u64, u64),
}

fn row(sequence: u64, family: &str, key: &str) -> Seen {
    Seen::Row(sequence, family.to_owned(), key.to_owned())
}

/// The remaining events of a feed, up to its end.
fn rest(feed: &mut Feed) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(event) = feed.next().unwrap() {
        match event {
            FeedEvent::Gap { from, to } => seen.push(Seen::Gap(from, to)),
            FeedEvent::Batch(batch) => {
                for row in batch.rows() {
                    let row = row.unwrap();
                    let (Operation::Put { key, .. } | Operation::Delete { key, .. }) = row.operation else {
                        panic!("{row:?}");
                    };
                    let key = String::from_utf8(key.to_vec()).unwrap();
                    seen.push(Seen::Row(row.sequence, row.family.unwrap_or("?").to_owned(), key));
                }
            }
        }
    }
    seen
}

/// The WALs in the archive.
fn archived(fs: &dyn FileSystem) -> usize {
    let dir = Path::new(DIR).join("archive");
    if !fs.exists(&dir).unwrap() {
        return 0;
    }
    let names = fs.list(&dir).unwrap();
    let is_wal = |name: &&String| matches!(filename::parse(name), Some(FileKind::Wal(_)));
    names.iter().filter(is_wal).count()
}

#[test]
fn a_random_history_comes_in_order_across_restarts() {
    for seed in 0..6 {
        let mut rng = TestRng::with_seed(seed);
        let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
        let mut options = options(fs.clone());
        options.recycle_log_file_num = [0, 2][rng.usize(..2)];
        options.avoid_flush_during_recovery = rng.usize(..2) == 0;
        let mut db = Db::open(&options, DIR).unwrap();
        db.create_column_family("two", &options.column_family).unwrap();
        let mut feed = db.feed(&named("reader")).unwrap();
        let mut written: Vec<Seen> = Vec::new();
        // The number of rows in `written` that were acknowledged, and the number of rows that the feed has
        // returned.
        let (mut acknowledged, mut seen) = (0, 0);
        for step in 0..120 {
            match rng.usize(..12) {
                0..5 => {
                    let two = db.column_family("two").unwrap();
                    let mut batch = WriteBatch::new();
                    for part in 0..=rng.usize(..3) {
                        let key = format!("{step}-{part}");
                        let sequence = written.len() as u64 + 1;
                        match rng.usize(..2) {
                            0 => {
                                batch.put(key.as_bytes(), &vec![b'v'; rng.usize(..200)]);
                                written.push(row(sequence, "default", &key));
                            }
                            _ => {
                                batch.delete_cf(&two, key.as_bytes());
                                written.push(row(sequence, "two", &key));
                            }
                        }
                    }
                    db.write(batch).unwrap();
                }
                5 | 6 => flush(&db),
                7..10 => {
                    let found = rest(&mut feed);
                    assert_eq!(found, written[seen..], "seed {seed}, step {step}");
                    seen = written.len();
                    if rng.usize(..2) == 0 {
                        feed.acknowledge(feed.position()).unwrap();
                        acknowledged = seen;
                    }
                }
                10 => {
                    drop(feed);
                    db.close().unwrap();
                    db = Db::open(&options, DIR).unwrap();
                    feed = db.feed(&named("reader")).unwrap();
                    assert_eq!(feed.acknowledged(), Some(acknowledged as u64 + 1));
                    seen = acknowledged;
                }
                _ => {
                    // A feed over the WALs of the closed database continues from the same position.
                    let mut other = Feed::open(&options, DIR, &named("reader")).unwrap();
                    assert_eq!(
                        rest(&mut other),
                        written[acknowledged..],
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
        assert_eq!(rest(&mut feed), written[seen..]);
        feed.acknowledge(feed.position()).unwrap();
        flush(&db);
        db.wait_for_purge().unwrap();
        let cursors = db.pins().cursors;
        assert_eq!(
            (cursors.len(), cursors[0].position),
            (1, written.len() as u64 + 1)
        );
        assert!(db.drop_feed_cursor("reader").unwrap() && !db.drop_feed_cursor("reader").unwrap());
    }
}

#[test]
fn wals_are_kept_for_a_cursor_and_go_once_they_are_acknowledged() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let log = LogFs::new(fs.clone(), DIR);
    let options = Options {
        recycle_log_file_num: 2,
        ..options(Arc::new(log.clone()))
    };
    let db = Db::open(&options, DIR).unwrap();
    let mut feed = db.feed(&named("slow")).unwrap();
    for key in 0..5 {
        db.put(format!("{key}").as_bytes(), b"").unwrap();
        flush(&db);
    }
    db.wait_for_purge().unwrap();
    assert!(!log.take().lines().any(|line| line.starts_with("reuse")));
    assert_eq!(archived(&*fs), 5);
    let pinned = &db.pins().cursors[0];
    assert_eq!((&*pinned.name, pinned.position, pinned.wals), ("slow", 1, 5));
    assert!(
        db.pins()
            .to_string()
            .contains("cursor slow at sequence number 1 keeps 5 WALs")
    );
    assert_eq!(feed_cursors(&options, DIR).unwrap().len(), 1);
    // The feed is acknowledged in the middle: the WALs after that position stay.
    let FeedEvent::Batch(_) = feed.next().unwrap().unwrap() else {
        panic!("no row");
    };
    feed.next().unwrap();
    feed.next().unwrap();
    feed.acknowledge(3).unwrap();
    db.put(b"5", b"").unwrap();
    flush(&db);
    db.wait_for_purge().unwrap();
    let left = archived(&*fs);
    assert_eq!(left, 5, "the WALs of rows 2 to 6");
    assert_eq!(rest(&mut feed).len(), 3);
    feed.acknowledge(feed.position()).unwrap();
    db.put(b"6", b"").unwrap();
    flush(&db);
    db.wait_for_purge().unwrap();
    assert!(archived(&*fs) <= 2, "{}", archived(&*fs));
}

#[test]
fn beyond_its_budget_a_feed_has_a_gap() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = options(fs.clone());
    let db = Db::open(&options, DIR).unwrap();
    let little = FeedOptions {
        retain_bytes: 25_000,
        ..named("little")
    };
    drop(db.feed(&little).unwrap());
    for key in 0..5 {
        db.put(format!("{key}").as_bytes(), [b'v'; 10_000]).unwrap();
        flush(&db);
        db.wait_for_purge().unwrap();
    }
    assert_eq!(archived(&*fs), 2);
    let seen = rest(&mut db.feed(&little).unwrap());
    assert_eq!(
        seen,
        [Seen::Gap(1, 3), row(4, "default", "3"), row(5, "default", "4")]
    );
    let log = String::from_utf8(fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap();
    assert!(log.contains("which cursor little needs"), "{log}");
}

#[test]
fn rows_name_their_families_and_dropped_ones_too() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = options(fs.clone());
    let db = Db::open(&options, DIR).unwrap();
    drop(db.feed(&named("reader")).unwrap());
    let writes = WriteOptions::default();
    let kept = db.create_column_family("kept", &options.column_family).unwrap();
    let gone = db.create_column_family("gone\n", &options.column_family).unwrap();
    db.put_cf_opt(&gone, b"a", b"", &writes).unwrap();
    db.put_cf_opt(&kept, b"b", b"", &writes).unwrap();
    db.put(b"c", b"").unwrap();
    db.drop_column_family(&gone).unwrap();
    let all = [row(1, "gone\n", "a"), row(2, "kept", "b"), row(3, "default", "c")];
    assert_eq!(rest(&mut db.feed(&named("reader")).unwrap()), all);
    drop((kept, gone));
    db.close().unwrap();
    assert_eq!(
        rest(&mut Feed::open(&options, DIR, &named("reader")).unwrap()),
        all
    );
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(rest(&mut db.feed(&named("reader")).unwrap()), all);
    // This feed is restricted to some families: rows of other families are counted, but not returned.
    let some = FeedOptions {
        column_families: BTreeSet::from(["gone\n".to_owned(), "default".to_owned()]),
        ..named("reader")
    };
    let mut feed = db.feed(&some).unwrap();
    assert_eq!(rest(&mut feed), [all[0].clone(), all[2].clone()]);
    assert_eq!(feed.position(), 4);
}

/// An open that cannot read the cursors takes it that there is one, and records the name of a dropped family.
#[test]
fn a_family_dropped_while_the_cursors_cannot_be_read_keeps_its_name() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let options = options(Arc::new(faults.clone()));
    let db = Db::open(&options, DIR).unwrap();
    drop(db.feed(&named("reader")).unwrap());
    let gone = db.create_column_family("gone", &options.column_family).unwrap();
    db.put_cf(&gone, b"a", b"").unwrap();
    drop(gone);
    db.close().unwrap();
    let unreadable = faults.add(Rule::new(Action::Fail(ErrorKind::Io)).path_ends_with("reader.cursor"));
    let db = Db::open(&options, DIR).unwrap();
    assert!(faults.fired(unreadable) > 0);
    db.drop_column_family(&db.column_family("gone").unwrap()).unwrap();
    faults.clear_rules();
    let mut feed = db.feed(&named("reader")).unwrap();
    assert_eq!(rest(&mut feed), [row(1, "gone", "a")]);
}

#[test]
fn a_section_is_kept_until_its_commit_was_acknowledged() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = options(fs.clone());
    let writes = WriteOptions::default();
    let db = Db::open(&options, DIR).unwrap();
    let mut section = WriteBatch::new();
    section.put(b"prepared", b"");
    // One transaction is prepared before the cursor exists, and one after.
    db.prepare(b"old", &section, &writes).unwrap();
    db.put(b"a", b"").unwrap();
    flush(&db);
    let mut feed = db
        .feed(&FeedOptions {
            since: Some(2),
            ..named("reader")
        })
        .unwrap();
    db.prepare(b"new", &section, &writes).unwrap();
    for key in ["b", "c"] {
        db.put(key.as_bytes(), b"").unwrap();
        flush(&db);
    }
    assert_eq!(rest(&mut feed), [row(2, "default", "b"), row(3, "default", "c")]);
    feed.acknowledge(feed.position()).unwrap();
    for name in [b"old", b"new"] {
        db.commit_prepared(name, &WriteBatch::new(), &section, &writes)
            .unwrap();
        db.flush_opt(&at_once()).unwrap();
    }
    db.put(b"d", b"").unwrap();
    db.flush_opt(&at_once()).unwrap();
    db.wait_for_purge().unwrap();
    drop(feed);
    db.close().unwrap();
    let db = Db::open(&options, DIR).unwrap();
    let mut feed = db.feed(&named("reader")).unwrap();
    let expected = [
        row(4, "default", "prepared"),
        row(5, "default", "prepared"),
        row(6, "default", "d"),
    ];
    assert_eq!(rest(&mut feed), expected);
}

#[test]
fn rows_without_a_wal_are_a_gap() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let db = Db::open(&options(fs), DIR).unwrap();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    db.put(b"a", b"").unwrap();
    db.put_cf_opt(&db.default_column_family(), b"b", b"", &unlogged)
        .unwrap();
    db.put(b"c", b"").unwrap();
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    let seen = rest(&mut feed);
    assert_eq!(
        seen,
        [row(1, "default", "a"), Seen::Gap(2, 2), row(3, "default", "c")]
    );
    // A cursor does not keep WALs without a row once it has passed them.
    let mut feed = db.feed(&named("reader")).unwrap();
    rest(&mut feed);
    feed.acknowledge(feed.position()).unwrap();
    let position = feed.acknowledged();
    for key in 0..4 {
        db.put_cf_opt(&db.default_column_family(), [key], b"", &unlogged)
            .unwrap();
        flush(&db);
    }
    rest(&mut feed);
    feed.acknowledge(feed.position()).unwrap();
    assert_eq!(feed.acknowledged(), position);
    let current = db.get_current_wal_file().unwrap().number;
    assert_eq!(db.pins().cursors[0].oldest_wal, current);
}

#[test]
fn what_cannot_be_is_refused() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = options(fs);
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"").unwrap();
    for bad in ["", "a/b", ".a"] {
        assert_eq!(
            db.feed(&named(bad)).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }
    let from = |since| FeedOptions {
        since: Some(since),
        ..FeedOptions::default()
    };
    assert!(db.feed(&from(2)).unwrap().next().unwrap().is_none());
    assert_eq!(db.feed(&from(3)).unwrap_err().kind(), ErrorKind::NotFound);
    let unwritten = FeedOptions {
        cursor: Some("unwritten".to_owned()),
        ..from(3)
    };
    assert_eq!(db.feed(&unwritten).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(feed_cursors(&options, DIR).unwrap().is_empty());
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    assert_eq!(
        feed.acknowledge(0).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let mut feed = db.feed(&named("reader")).unwrap();
    assert_eq!(
        feed.acknowledge(2).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    rest(&mut feed);
    feed.acknowledge(2).unwrap();
    feed.acknowledge(1).unwrap();
    assert_eq!(feed.acknowledged(), Some(2));
    let second = Db::open_read_only(&options, DIR).unwrap();
    assert_eq!(
        second.feed(&named("reader")).unwrap_err().kind(),
        ErrorKind::NotSupported
    );
    assert_eq!(rest(&mut second.feed(&FeedOptions::default()).unwrap()).len(), 1);
    db.close().unwrap();
    assert!(feed.next().is_err());
}

#[test]
fn a_new_cursor_from_outside_is_refused_where_wals_are_recycled() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = Options {
        recycle_log_file_num: 1,
        ..options(fs)
    };
    let db = Db::open(&options, DIR).unwrap();
    let error = Feed::open(&options, DIR, &named("outside")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    drop(db.feed(&named("outside")).unwrap());
    Feed::open(&options, DIR, &named("outside")).unwrap();
    db.close().unwrap();
    Feed::open(&options, DIR, &named("other")).unwrap();
}

/// Power is lost, or the process dies, at any change of a file: acknowledged rows exist and are not delivered
/// again, and existing rows that were not acknowledged are delivered.
#[test]
fn a_crash_between_acknowledgements_loses_no_row_and_no_place() {
    for seed in 0..2 {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let options_of = |fs: Arc<dyn FileSystem>| Options {
            avoid_flush_during_recovery: seed == 1,
            allow_2pc: false,
            ..options(fs)
        };
        let ((), images) = images_of_changes(&mem, &faults, seed, || {
            let mut rng = TestRng::with_seed(seed);
            let mut next = 1;
            for _ in 0..2 {
                let db = Db::open(&options_of(Arc::new(faults.clone())), DIR).unwrap();
                let mut feed = db.feed(&named("reader")).unwrap();
                for _ in 0..25 {
                    match rng.usize(..5) {
                        0..3 => {
                            db.put(format!("{next:06}").as_bytes(), vec![b'v'; rng.usize(..3000)])
                                .unwrap();
                            next += 1;
                        }
                        3 => flush(&db),
                        _ => {
                            rest(&mut feed);
                            feed.acknowledge(feed.position()).unwrap();
                        }
                    }
                }
                drop(feed);
                db.close().unwrap();
            }
        });
        let mut acknowledged = BTreeSet::new();
        // Only some of the disk images are tried, because there are many.
        let images = images.into_iter().flatten().skip(seed as usize).step_by(13);
        for image in images {
            let fs: Arc<dyn FileSystem> = Arc::new(image);
            if feed_cursors(&options_of(fs.clone()), DIR).unwrap().is_empty() {
                continue;
            }
            let db = Db::open(&options_of(fs.clone()), DIR).unwrap();
            let is_there = |number: u64| db.get(format!("{number:06}").as_bytes()).unwrap().is_some();
            let last = (1..).take_while(|number| is_there(*number)).last().unwrap_or(0);
            assert_eq!(db.latest_sequence_number(), last);
            let mut feed = db.feed(&named("reader")).unwrap();
            let position = feed.acknowledged().unwrap();
            acknowledged.insert(position);
            let expected: Vec<Seen> = (position..=last)
                .map(|number| row(number, "default", &format!("{number:06}")))
                .collect();
            let log = || String::from_utf8(fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap();
            assert_eq!(rest(&mut feed), expected, "seed {seed}: {}", log());
            // The feed continues with new rows.
            db.put(b"more", b"").unwrap();
            assert_eq!(rest(&mut feed), [row(last + 1, "default", "more")]);
        }
        assert!(acknowledged.len() > 3, "{acknowledged:?}");
    }
}

/// A new cursor begins behind rows that were not synced, and power is lost: the rows survive, so that no new row
/// has a sequence number before the cursor.
#[test]
fn the_rows_before_a_new_cursor_survive_a_loss_of_power() {
    let mem = MemFs::new();
    let db = Db::open(&options(Arc::new(mem.clone())), DIR).unwrap();
    db.put(b"a", b"").unwrap();
    db.put(b"b", b"").unwrap();
    let from = |since| FeedOptions {
        since: Some(since),
        ..named("reader")
    };
    drop(db.feed(&from(3)).unwrap());
    let mut rng = TestRng::with_seed(1);
    let fs: Arc<dyn FileSystem> = Arc::new(mem.crash_clone(&mut rng, UnsyncedPolicy::Lose));
    let db = Db::open(&options(fs), DIR).unwrap();
    let mut feed = db.feed(&named("reader")).unwrap();
    db.put(b"c", b"").unwrap();
    assert_eq!(rest(&mut feed), [row(3, "default", "c")]);
}

/// Flips a bit in the last record of the WAL at `path`.
fn damage(fs: &dyn FileSystem, path: &Path) {
    let mut bytes = fs.read_file(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs.write_file(path, &bytes).unwrap();
}

/// Options with an archive, and without the reuse of WALs.
fn archiving(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        wal_size_limit_mb: 1,
        ..options(fs)
    }
}

/// A recovery ended at a damaged WAL, and its rows were written again. A cursor created after that needs the
/// WAL, which may hold prepared sections, but the damage hides none of its rows.
#[test]
fn damage_before_a_new_cursor_is_no_gap() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = archiving(fs.clone());
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"").unwrap();
    db.put(b"lost", b"").unwrap();
    let first = db.get_current_wal_file().unwrap().path;
    db.flush().unwrap();
    db.put(b"c", b"").unwrap();
    db.put(b"d", b"").unwrap();
    let name = first.file_name().unwrap();
    let in_archive = Path::new(DIR).join("archive").join(name);
    db.close().unwrap();
    // The damaged WAL is among the live ones, as after a crash before it was archived.
    if fs.exists(&in_archive).unwrap() {
        fs.rename(&in_archive, &first).unwrap();
    }
    damage(&*fs, &first);
    let from_four = FeedOptions {
        since: Some(4),
        ..named("reader")
    };
    let mut feed = Feed::open(&options, DIR, &from_four).unwrap();
    assert_eq!(rest(&mut feed), [row(4, "default", "d")]);
}

/// The path of the list of WALs that recoveries left out.
fn unread_list() -> PathBuf {
    Path::new(DIR).join("archive/UNREAD_WALS")
}

/// A disk after the death of a process that left two WALs: one with the rows `a` and `lost`, one with `unread`.
fn two_wals() -> (MemFs, [PathBuf; 2]) {
    let mem = MemFs::new();
    let db = Db::open(&archiving(Arc::new(mem.clone())), DIR).unwrap();
    db.put(b"a", b"").unwrap();
    db.put(b"lost", b"").unwrap();
    let first = db.get_current_wal_file().unwrap().path;
    db.pause_background_work().unwrap();
    let begin = FlushOptions {
        wait: false,
        ..FlushOptions::default()
    };
    db.flush_opt(&begin).unwrap();
    db.put(b"unread", b"").unwrap();
    let behind = db.get_current_wal_file().unwrap().path;
    assert_ne!(first, behind);
    let left = mem.process_death_clone();
    db.continue_background_work().unwrap();
    (left, [first, behind])
}

/// `changes` of the files at `paths` fail.
fn failing<const N: usize>(left: &MemFs, changes: [Op; N], paths: &[&Path]) -> FaultFs {
    let faults = FaultFs::new(Arc::new(left.clone()));
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        faults.add(
            Rule::new(Action::Fail(ErrorKind::Io))
                .on(changes)
                .path_ends_with(name),
        );
    }
    faults
}

/// A recovery ends at a damaged WAL. The next WAL stays where it is if it cannot be deleted, and after a crash
/// the next open finds it there, but a feed shows none of its rows, which are not in the database.
#[test]
fn rows_of_a_wal_behind_the_end_of_recovery_are_not_in_the_feed() {
    let (left, [first, behind]) = two_wals();
    damage(&left, &first);
    let faults = failing(&left, [Op::Remove, Op::Rename], &[&behind]);
    let db = Db::open(&archiving(Arc::new(faults.clone())), DIR).unwrap();
    assert!(faults.exists(&behind).unwrap());
    db.put(b"b", b"").unwrap();
    let expected = [row(1, "default", "a"), row(2, "default", "b")];
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    assert_eq!(rest(&mut feed), expected);

    let fs: Arc<dyn FileSystem> = Arc::new(left.process_death_clone());
    let mut feed = Feed::open(&archiving(fs.clone()), DIR, &FeedOptions::default()).unwrap();
    assert_eq!(rest(&mut feed), expected);
    let db = Db::open(&archiving(fs.clone()), DIR).unwrap();
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    assert_eq!(rest(&mut feed), expected);
    db.close().unwrap();
    let in_archive = Path::new(DIR).join("archive").join(behind.file_name().unwrap());
    assert!(!fs.exists(&behind).unwrap() && !fs.exists(&in_archive).unwrap());
    // An open without a WAL that was left out removes the list.
    assert!(fs.exists(&unread_list()).unwrap());
    Db::open(&archiving(fs.clone()), DIR).unwrap().close().unwrap();
    assert!(!fs.exists(&unread_list()).unwrap());
}

/// A recovery leaves a WAL out, and fails before the MANIFEST is in force. The next one reads the WAL, whose rows
/// are in the feed.
#[test]
fn rows_of_a_wal_that_a_later_recovery_reads_are_in_the_feed() {
    let (left, [first, behind]) = two_wals();
    let sound = left.read_file(&first).unwrap();
    damage(&left, &first);
    let current = filename::current(Path::new(DIR));
    let faults = failing(&left, [Op::Rename], &[&current]);
    Db::open(&archiving(Arc::new(faults)), DIR).unwrap_err();
    let fs: Arc<dyn FileSystem> = Arc::new(left.process_death_clone());
    let list = fs.read_file(&unread_list()).unwrap();
    let FileKind::Wal(number) = filename::parse(behind.file_name().unwrap().to_str().unwrap()).unwrap()
    else {
        panic!("{behind:?}");
    };
    assert_eq!(String::from_utf8(list).unwrap(), format!("{number}\n"));
    fs.write_file(&first, &sound).unwrap();
    let db = Db::open(&archiving(fs.clone()), DIR).unwrap();
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    let expected = ["a", "lost", "unread"];
    let expected: Vec<Seen> = (1..)
        .zip(expected)
        .map(|(number, key)| row(number, "default", key))
        .collect();
    assert_eq!(rest(&mut feed), expected);
    db.close().unwrap();
    assert!(!fs.exists(&unread_list()).unwrap());
}

/// The list of the WALs that were left out is damaged: the database opens, and its LOG names the list.
#[test]
fn an_open_survives_a_damaged_list_of_unread_wals() {
    let (left, [first, behind]) = two_wals();
    damage(&left, &first);
    let faults = failing(&left, [Op::Remove, Op::Rename], &[&first, &behind]);
    let db = Db::open(&archiving(Arc::new(faults)), DIR).unwrap();
    db.put(b"b", b"").unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(left.process_death_clone());
    assert!(fs.exists(&first).unwrap() && fs.exists(&behind).unwrap());
    fs.write_file(&unread_list(), b"seven").unwrap();
    let error = Feed::open(&archiving(fs.clone()), DIR, &FeedOptions::default())
        .and_then(|mut feed| feed.next().map(|_| ()))
        .unwrap_err();
    assert!(
        error.is_corruption() && error.to_string().contains("UNREAD_WALS"),
        "{error}"
    );
    let db = Db::open(&archiving(fs.clone()), DIR).unwrap();
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    // The WAL with `a` may be one of those that were left out, so it is deleted.
    assert_eq!(rest(&mut feed), [row(2, "default", "b")]);
    let log = String::from_utf8(fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap();
    assert!(log.contains("not a list of unread WALs"), "{log}");
}

/// A WAL loses a row that was acknowledged. The recovery gives its sequence number to another row, which the
/// feed would pass over: it says so.
#[test]
fn numbers_that_go_back_behind_a_cursor_are_an_error() {
    let mem = MemFs::new();
    let db = Db::open(&archiving(Arc::new(mem.clone())), DIR).unwrap();
    let mut feed = db.feed(&named("reader")).unwrap();
    db.put(b"a", b"").unwrap();
    db.put(b"lost", b"").unwrap();
    assert_eq!(rest(&mut feed).len(), 2);
    feed.acknowledge(3).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(mem.process_death_clone());
    let wal = db.get_current_wal_file().unwrap().path;
    let bytes = fs.read_file(&wal).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    fs.write_file(&wal, &bytes[..end]).unwrap();
    let db = Db::open(&archiving(fs), DIR).unwrap();
    db.put(b"new", b"").unwrap();
    let mut feed = db.feed(&named("reader")).unwrap();
    let error = feed.next().unwrap_err();
    assert!(error.is_corruption(), "{error}");
    assert!(error.message().contains("Gap in sequence number"), "{error}");
}

/// The rows of a feed with their images, as text.
fn with_images(feed: &mut Feed) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut rows = Vec::new();
    while let Some(FeedEvent::Batch(batch)) = feed.next().unwrap() {
        for row in batch.rows() {
            let row = row.unwrap();
            let (what, key) = match row.operation {
                Operation::Put { key, .. } => ("put", key),
                Operation::Merge { key, .. } => ("merge", key),
                Operation::Delete { key, .. } => ("delete", key),
                Operation::Entity { key, .. } => ("entity", key),
                Operation::DeleteRange { begin, .. } => ("delete_range", begin),
                operation => panic!("{operation:?}"),
            };
            let before = match row.before {
                BeforeImage::Unknown => "?".to_owned(),
                BeforeImage::Absent => "-".to_owned(),
                BeforeImage::Value(value) => text(value),
                BeforeImage::Entity(entity) => {
                    let decoded = base::entity::Entity::decode(entity).unwrap();
                    let column = |(name, value): (&[u8], &_)| match value {
                        base::entity::ColumnValue::Inline(range) => {
                            format!("{}={}", text(name), text(&entity[range.clone()]))
                        }
                        value => panic!("{value:?}"),
                    };
                    decoded.columns(entity).map(column).collect::<Vec<_>>().join(" ")
                }
            };
            rows.push(format!("{what} {} {before}", text(key)));
        }
    }
    rows
}

#[test]
fn rows_come_with_what_they_replace() {
    let fs = Arc::new(MemFs::new());
    let mut options = options(fs);
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    options.column_family.enable_blob_files = true;
    let db = Db::open(&options, DIR).unwrap();
    // The cursor keeps the WALs.
    let cursor = named("reader");
    drop(db.feed(&cursor).unwrap());
    let family = db.default_column_family();
    let recorded = WriteOptions {
        before_images: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&family, b"a", b"1", &recorded).unwrap();
    db.put(b"a", b"2").unwrap();
    flush(&db);
    db.put_cf_opt(&family, b"a", b"3", &recorded).unwrap();
    db.merge_cf_opt(&family, b"a", b"4", &recorded).unwrap();
    db.put_entity_cf_opt(&family, b"a", &[(b"x", b"y"), (b"", b"z")], &recorded)
        .unwrap();
    db.delete_cf_opt(&family, b"a", &recorded).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"b", b"1");
    batch.put_log_data(b"of the user");
    batch.merge(b"b", b"2");
    batch.delete_range(b"a", b"c");
    batch.put(b"b", b"3");
    let size = batch.data_size();
    db.write_in_place(&mut batch, &recorded).unwrap();
    assert_eq!(batch.data_size(), size, "the batch stays the caller's");
    db.delete_range_cf_opt(&family, b"a", b"b", &recorded).unwrap();
    let expected = [
        "put a -",
        "put a ?",
        "put a 2",
        "merge a 3",
        "entity a 3,4",
        "delete a =z x=y",
        "put b -",
        "merge b 1",
        "delete_range a ?",
        "put b -",
        "delete_range a ?",
    ];
    assert_eq!(with_images(&mut db.feed(&cursor).unwrap()), expected);
    drop(db);
    let mut feed = Feed::open(&options, DIR, &cursor).unwrap();
    assert_eq!(with_images(&mut feed), expected);

    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(db.get(b"b").unwrap().unwrap(), b"3");
    let error = db.prepare(b"name", &batch, &recorded).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let without = WriteOptions {
        disable_wal: true,
        ..recorded
    };
    let error = db.write_opt(batch, &without).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// All writers overwrite the same keys. In the feed, the old value of each row is the value that the previous
/// row of the key wrote.
#[test]
fn images_are_exact_among_writers() {
    let fs = Arc::new(MemFs::new());
    let options = options(fs);
    let db = Db::open(&options, DIR).unwrap();
    // The cursor keeps the WALs.
    drop(db.feed(&named("reader")).unwrap());
    let mut rng = testkit::rng();
    let plans: Vec<Vec<(u32, bool)>> = (0..4)
        .map(|_| (0..150).map(|_| (rng.u32(..3), rng.one_in(40))).collect())
        .collect();
    std::thread::scope(|scope| {
        for (writer, plan) in plans.iter().enumerate() {
            let db = &db;
            scope.spawn(move || {
                let recorded = WriteOptions {
                    before_images: true,
                    ..WriteOptions::default()
                };
                for (step, &(key, flushes)) in plan.iter().enumerate() {
                    let key = format!("k{key}");
                    let value = format!("{writer}.{step}");
                    db.put_cf_opt(
                        &db.default_column_family(),
                        key.as_bytes(),
                        value.as_bytes(),
                        &recorded,
                    )
                    .unwrap();
                    if flushes {
                        flush(db);
                    }
                }
            });
        }
    });
    let mut last = std::collections::BTreeMap::new();
    let mut feed = db.feed(&named("reader")).unwrap();
    let mut rows = 0;
    while let Some(event) = feed.next().unwrap() {
        let FeedEvent::Batch(batch) = event else {
            panic!("{event:?}")
        };
        for row in batch.rows() {
            let row = row.unwrap();
            let Operation::Put { key, value, .. } = row.operation else {
                panic!("{row:?}")
            };
            let before = last.insert(key.to_vec(), value.to_vec());
            let expected = before.as_deref().map_or(BeforeImage::Absent, BeforeImage::Value);
            assert_eq!(row.before, expected, "{row:?}");
            rows += 1;
        }
    }
    assert_eq!(rows, 600);
}
