//! Garbage in the last level, which is dropped without a manual compaction; and files that are left alone.

use std::sync::Arc;
use std::time::Duration;

use esker::{CompactionStyle, Db, WriteOptions};
use mvcc::{BatchOptions, CompactionGc, MvccReadOptions, MvccStore, Span, Timestamp, Value};
use testkit::rng;
use vfs::{FileSystem, MemFs};

use super::model::{NOW, dump, open_with};

const KEYS: u64 = 60;

fn open(fs: Arc<dyn FileSystem>, style: CompactionStyle) -> (Db, MvccStore, CompactionGc) {
    let gc = CompactionGc::new();
    let db = open_with(fs, "/db", |options| {
        gc.configure(&mut options.column_family);
        options.column_family.compaction_style = style;
    });
    let family = db.default_column_family();
    let options = BatchOptions::default();
    let store = MvccStore::open_with_compactions(&db, &family, options, NOW, Some(gc.clone())).unwrap();
    (db, store, gc)
}

/// Writes a version of each key at each of the times, all into the last level.
fn fill(db: &Db, store: &MvccStore, seconds: impl Iterator<Item = i64>) {
    for second in seconds {
        let mut batch = store.begin(NOW);
        for key in 0..KEYS {
            let value = format!("value {key} {second}, of some length so that files are cut");
            let key = format!("key{key:03}");
            batch
                .put(
                    key.as_bytes(),
                    Timestamp::from_secs(second),
                    Value::Bytes(value.as_bytes()),
                )
                .unwrap();
        }
        batch.commit(&WriteOptions::default()).unwrap();
    }
    settle(db);
}

fn settle(db: &Db) {
    db.flush().unwrap();
    let family = db.default_column_family();
    db.compact_range_cf(&family, None, None).unwrap();
    db.wait_for_compact().unwrap();
}

/// Rewrites files that a snapshot held back. The engine may have noticed the release by itself, and have
/// begun.
fn suggest(db: &Db, store: &MvccStore) {
    store.suggest_compactions().unwrap();
    db.wait_for_compact().unwrap();
}

fn collect(db: &Db, store: &MvccStore, until: i64) {
    let ttl = Duration::from_nanos((NOW - Timestamp::from_secs(until).wall) as u64);
    store.collect_in_compactions(ttl, NOW).unwrap();
    db.wait_for_compact().unwrap();
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

fn files(db: &Db) -> Vec<u64> {
    let mut numbers: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn garbage_at_the_bottom_leaves_by_itself() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let (db, store, _) = open(Arc::new(MemFs::new()), style);
        fill(&db, &store, 1..=9);
        let before = files(&db);
        assert!(before.len() > 4);
        assert!(db.live_files().iter().all(|file| file.level == 6));
        collect(&db, &store, 1);
        assert_eq!(files(&db), before, "nothing is hidden yet");
        collect(&db, &store, 8);
        let left = dump(&db).len() as u64;
        // Each key keeps the version at 8, which a reader sees, and the version at 9. Versions that a version
        // in another file hides stay too.
        assert!(
            left >= 2 * KEYS && left <= 2 * KEYS + before.len() as u64,
            "{style:?}: {left}"
        );
        let after = files(&db);
        assert!(after.iter().all(|number| !before.contains(number)));
        assert!(db.live_files().iter().all(|file| file.level == 6));
        for at in [9, 10] {
            let at = Timestamp::from_secs(at);
            let found = store.scan(Span::ALL, at, &MvccReadOptions::default()).unwrap();
            assert_eq!(found.rows.len(), KEYS);
        }
        for _ in 0..5 {
            collect(&db, &store, 8);
            assert_eq!(files(&db), after, "{style:?}: remaining files are left alone");
        }
    }
}

/// The versions a reader holds back stay, and no file is rewritten again and again for them.
#[test]
fn nothing_is_rewritten_for_what_a_reader_holds() {
    let (db, store, gc) = open(Arc::new(MemFs::new()), CompactionStyle::Level);
    gc.set_min_garbage(0.0);
    fill(&db, &store, 1..=9);
    let before = files(&db);
    let reader = store.reader(Timestamp::from_secs(1)).unwrap();
    for until in 2..6 {
        collect(&db, &store, until);
        assert_eq!(files(&db), before, "everything is still read");
    }
    drop(reader);
    let reader = store.reader(Timestamp::from_secs(7)).unwrap();
    collect(&db, &store, 8);
    let part = files(&db);
    assert!(part.iter().all(|number| !before.contains(number)));
    for _ in 0..4 {
        collect(&db, &store, 8);
        assert_eq!(files(&db), part, "the rest is held");
    }
    let seen = reader.scan(Span::ALL, Timestamp::from_secs(7), &MvccReadOptions::default());
    assert_eq!(seen.unwrap().rows.len(), KEYS);
    drop(reader);
    suggest(&db, &store);
    assert!(dump(&db).len() as u64 <= 2 * KEYS + before.len() as u64);
    assert_eq!(store.suggest_compactions().unwrap(), 0);
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

/// Compactions do not rewrite files endlessly for a snapshot of the engine, whether it is between the
/// versions or before all of them.
#[test]
fn a_snapshot_of_the_engine_does_not_have_files_rewritten_for_ever() {
    let (db, store, gc) = open(Arc::new(MemFs::new()), CompactionStyle::Level);
    gc.set_min_garbage(0.0);
    let first = db.snapshot();
    fill(&db, &store, 1..=5);
    let second = db.snapshot();
    fill(&db, &store, 6..=9);
    collect(&db, &store, 8);
    let held = files(&db);
    for _ in 0..5 {
        collect(&db, &store, 8);
        assert_eq!(files(&db), held);
    }
    assert_eq!(dump(&db).len() as u64, 9 * KEYS, "the snapshots see it");
    drop((first, second));
    suggest(&db, &store);
    let left = files(&db);
    assert!(dump(&db).len() as u64 <= 2 * KEYS + held.len() as u64);
    collect(&db, &store, 8);
    assert_eq!(files(&db), left);
}

#[test]
fn files_with_little_to_lose_are_left_alone() {
    let (db, store, gc) = open(Arc::new(MemFs::new()), CompactionStyle::Level);
    fill(&db, &store, 1..=1);
    // One key in ten gets a second version.
    let mut batch = store.begin(NOW);
    for key in (0..KEYS).step_by(10) {
        batch
            .put(
                format!("key{key:03}").as_bytes(),
                Timestamp::from_secs(2),
                Value::Bytes(b"new"),
            )
            .unwrap();
    }
    batch.commit(&WriteOptions::default()).unwrap();
    settle(&db);
    let before = files(&db);
    collect(&db, &store, 5);
    assert_eq!(files(&db), before);
    gc.set_min_garbage(2.0);
    assert_eq!(store.suggest_compactions().unwrap(), 0);
    gc.set_min_garbage(0.0);
    assert!(store.suggest_compactions().unwrap() > 0);
    db.wait_for_compact().unwrap();
    assert_ne!(files(&db), before);
    assert!((dump(&db).len() as u64) < KEYS + KEYS / 10);
}

/// A reverted version does not hide older ones, and no file is rewritten for garbage that only such a version
/// would hide.
#[test]
fn what_is_distrusted_has_nothing_rewritten() {
    let (db, store, gc) = open(Arc::new(MemFs::new()), CompactionStyle::Level);
    gc.set_min_garbage(0.0);
    fill(&db, &store, 1..=5);
    let mut batch = store.begin(NOW);
    batch
        .put(b"other", Timestamp::from_secs(6), Value::Bytes(b"reverted"))
        .unwrap();
    batch
        .revert_to(Span::ALL, Timestamp::from_secs(5), &Default::default())
        .unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    settle(&db);
    let before = files(&db);
    for _ in 0..3 {
        collect(&db, &store, 6);
        assert_eq!(files(&db), before);
    }
}

/// For any random sequence of collections and held readers, the rewrites end, and no file is rewritten
/// without dropping garbage.
#[test]
fn collections_come_to_rest() {
    let mut rng = rng::rng();
    for _ in 0..10 {
        let style = *rng.pick(&[CompactionStyle::Level, CompactionStyle::Universal]);
        let (db, store, gc) = open(Arc::new(MemFs::new()), style);
        gc.set_min_garbage(*rng.pick(&[0.0, 0.1, 0.25, 0.5]));
        let (mut second, mut readers) = (0, Vec::new());
        for _ in 0..6 {
            let more = rng.i64(1..4);
            fill(&db, &store, second + 1..=second + more);
            second += more;
            if rng.bool() {
                let at = Timestamp::from_secs(second).max(store.threshold().next());
                readers.push(store.reader(at).unwrap());
            }
            if rng.one_in(3) {
                readers.clear();
            }
            collect(&db, &store, rng.i64(1..=second));
            // A compaction that was running during `collect` removed only the garbage of the collection
            // before. Another suggestion of compactions removes the rest.
            store.suggest_compactions().unwrap();
            db.wait_for_compact().unwrap();
            let rest = files(&db);
            assert_eq!(store.suggest_compactions().unwrap(), 0, "{style:?}");
            db.wait_for_compact().unwrap();
            assert_eq!(files(&db), rest, "{style:?}");
        }
    }
}
