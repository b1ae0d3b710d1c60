//! Reads of one key search memtables first, and tables only if memtables have no version of the key.

use std::path::PathBuf;
use std::sync::Arc;

use base::perf::{self, PerfLevel};
use esker::{CompactionStyle, Db, IngestExternalFileOptions, Options, SstFileWriter, WriteOptions};
use mvcc::{BatchOptions, Error, MvccKey, MvccReadOptions, MvccStore, RevertOptions, Span, Timestamp, Value};
use vfs::MemFs;

const KEY: &[u8] = b"key";

fn at(second: i64) -> Timestamp {
    Timestamp::from_secs(second)
}

/// A store whose memtables have the version of 50 s, and whose tables have that of 10 s.
struct Stage {
    options: Options,
    db: Db,
    store: MvccStore,
}

impl Stage {
    fn new(behind: bool) -> Stage {
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        if behind {
            options.column_family.cf_allow_ingest_behind = true;
            options.column_family.num_levels = 3;
            options.column_family.compaction_style = CompactionStyle::Universal;
        }
        mvcc::configure(&mut options.column_family);
        let db = Db::open(&options, "/db").unwrap();
        let store = MvccStore::open(&db, &db.default_column_family(), BatchOptions::default(), 0).unwrap();
        let stage = Stage { options, db, store };
        stage.put(10).unwrap();
        stage.db.flush().unwrap();
        stage.put(50).unwrap();
        stage
    }

    fn put(&self, second: i64) -> mvcc::Result<()> {
        let mut batch = self.store.begin_keys(&[KEY], 0);
        batch.put(KEY, at(second), Value::Int(second))?;
        batch.commit(&WriteOptions::default())
    }

    /// The time in seconds of the version that a read at `second` finds.
    fn found(&self, second: i64) -> Option<i64> {
        let options = MvccReadOptions::default();
        let found = self.store.get(KEY, at(second), &options).unwrap().found;
        found.map(|version| version.timestamp.wall / 1_000_000_000)
    }

    /// Ingests a file with a version.
    fn ingest(&self, second: i64, options: &IngestExternalFileOptions) {
        let path = PathBuf::from(format!("/file-{second}.sst"));
        let mut writer = SstFileWriter::new(&self.options);
        writer.open(&path).unwrap();
        let key = MvccKey {
            user_key: KEY,
            timestamp: at(second),
        };
        let mut value = Vec::new();
        Value::Int(second).encode(&mut value, KEY, false);
        writer.put(key.encode(), value).unwrap();
        writer.finish().unwrap();
        self.db.ingest_external_file(&[path], options).unwrap();
    }

    /// Fails unless the newest version of the key is that of `second`.
    fn check_newest(&self, second: i64) {
        match self.put(second - 1) {
            Err(Error::WriteTooOld { actual, .. }) => assert_eq!(actual, at(second).next()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_version_in_a_memtable_needs_no_table() {
    let stage = Stage::new(false);
    perf::set_level(PerfLevel::EnableCount);
    let tables_read = |read: &dyn Fn()| {
        perf::reset();
        read();
        perf::context().block_cache_hit_count + perf::context().block_read_count
    };
    assert_eq!(tables_read(&|| assert_eq!(stage.found(60), Some(50))), 0);
    assert_eq!(tables_read(&|| stage.check_newest(50)), 0);
    assert!(tables_read(&|| assert_eq!(stage.found(20), Some(10))) > 0);
    perf::set_level(PerfLevel::Disable);
    assert_eq!(stage.found(5), None);
}

/// Files with newer and with older versions than those in memtables.
#[test]
fn ingested_versions_are_found() {
    let stage = Stage::new(false);
    stage.ingest(100, &IngestExternalFileOptions::default());
    assert_eq!(stage.found(200), Some(100));
    stage.check_newest(100);
    stage.put(120).unwrap();
    stage.ingest(70, &IngestExternalFileOptions::default());
    assert_eq!((stage.found(200), stage.found(80)), (Some(120), Some(70)));
    stage.check_newest(120);
}

/// A file behind the data has a newer version than the memtable.
#[test]
fn versions_ingested_behind_are_found() {
    let stage = Stage::new(true);
    let behind = IngestExternalFileOptions {
        ingest_behind: true,
        ..IngestExternalFileOptions::default()
    };
    stage.ingest(100, &behind);
    assert_eq!((stage.found(200), stage.found(60)), (Some(100), Some(50)));
    stage.check_newest(100);
}

/// The versions in memtables are removed: those in tables are the newest again.
#[test]
fn a_removed_version_shows_those_in_tables() {
    let stage = Stage::new(false);
    let mut batch = stage.store.begin(0);
    let span = Span::new(KEY, b"kez");
    batch.revert_to(span, at(20), &RevertOptions::default()).unwrap();
    batch.commit(&WriteOptions::default()).unwrap();
    assert_eq!(stage.found(60), Some(10));
    stage.check_newest(10);
}

/// Memtables have filters over user keys, which answer for most keys of which they have no version.
#[test]
fn memtables_have_filters_over_user_keys() {
    let stage = Stage::new(false);
    perf::set_level(PerfLevel::EnableCount);
    perf::reset();
    for (user_key, second, passed) in [(KEY, 40, [1, 0]), (b"other", 50, [1, 1])] {
        let timestamp = at(second);
        let key = MvccKey { user_key, timestamp };
        assert_eq!(stage.db.get(key.encode()).unwrap(), None);
        let counts = perf::context();
        assert_eq!(
            [counts.bloom_memtable_hit_count, counts.bloom_memtable_miss_count],
            passed
        );
    }
    perf::set_level(PerfLevel::Disable);
    // A size that is set already stays.
    let mut options = Options::default();
    options.column_family.memtable_prefix_bloom_size_ratio = 0.1;
    mvcc::configure(&mut options.column_family);
    assert_eq!(options.column_family.memtable_prefix_bloom_size_ratio, 0.1);
}
