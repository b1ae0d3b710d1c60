//! Streams on a disk whose syncs take longer than it takes to write small tables again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use dbtest::by_hand::flush;
use esker::{ColumnFamilyOptions, Db, Options};
use vfs::{Call, FileSystem, Layer, Op, PosixFs};

/// A file system on disk in which each table advances the test's clock by a fixed time.
#[derive(Clone, Debug)]
struct Slow {
    inner: Arc<PosixFs>,
    clock: Arc<ManualClock>,
    table: Duration,
}

impl Layer for Slow {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> base::Result<T>) -> base::Result<T> {
        if call.op == Op::Create && call.path.extension().is_some_and(|name| name == "sst") {
            self.clock.advance(self.table);
        }
        perform()
    }
}

/// A database at `dir` in which a table takes `table`, and which compacts nothing.
fn open(dir: &Path, table: Duration) -> Db {
    let clock = Arc::new(ManualClock::default());
    let fs = Slow {
        inner: Arc::new(PosixFs::new()),
        clock: clock.clone(),
        table,
    };
    let options = Options {
        create_if_missing: true,
        clock,
        fs: Arc::new(fs),
        column_family: ColumnFamilyOptions {
            target_file_size_base: 1 << 20,
            level0_file_num_compaction_trigger: 1000,
            level0_slowdown_writes_trigger: 1000,
            level0_stop_writes_trigger: 1000,
            compression: esker::CompressionType::None,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    Db::open(&options, dir).unwrap()
}

/// Flushes `streams` streams of `keys` keys of some 1,000 bytes, under new prefixes that begin with `name`.
/// Returns the new tables in L0, and those below.
fn flushed(db: &Db, name: &str, streams: u64, keys: u64) -> (usize, usize) {
    let tables = || {
        let files = db.live_files();
        let above = files.iter().filter(|file| file.level == 0).count();
        (above, files.len() - above)
    };
    let before = tables();
    for number in 0..keys {
        for stream in 0..streams {
            db.put(format!("{name}{stream:03}:{number:06}"), [7; 1000])
                .unwrap();
        }
    }
    flush(db);
    let after = tables();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn small_tables_that_take_the_disk_too_long_go_to_level_0() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("db"), Duration::from_millis(1));
    // The streams are written as 16 tables of 40 KiB in 16 ms.
    assert_eq!(flushed(&db, "a", 16, 40), (0, 16));
    assert_eq!(flushed(&db, "b", 16, 40), (1, 0));
    // Streams of 100 KiB are large enough to get tables of their own on this disk.
    assert_eq!(flushed(&db, "c", 16, 100), (0, 16));
    assert_eq!(flushed(&db, "d", 2, 100), (0, 2));
    assert_eq!(flushed(&db, "e", 2, 40), (1, 0));
    // After some flushes the engine writes as many small tables once more, to measure the disk again.
    (0..200).for_each(|at| assert_eq!(flushed(&db, &format!("f{at:03}"), 1, 1), (1, 0)));
    assert_eq!(flushed(&db, "g", 16, 40), (0, 16));
    assert_eq!(flushed(&db, "h", 16, 40), (1, 0));
}

#[test]
fn small_tables_on_a_fast_disk_go_below() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("db"), Duration::from_micros(100));
    for name in ["a", "b", "c"] {
        assert_eq!(flushed(&db, name, 16, 40), (0, 16));
    }
}
