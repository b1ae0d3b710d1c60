//! Properties: each has the kind of value that its row promises.

use std::collections::BTreeSet;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite_family};
use esker::{ColumnFamily, Db, Options, Property, PropertyKind};
use vfs::MemFs;

const DIR: &str = "/db";

struct TestDatabase {
    db: Db,
    family: ColumnFamily,
}

impl TestDatabase {
    fn new() -> TestDatabase {
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        options.column_family.disable_auto_compactions = true;
        let db = Db::open(&options, DIR).unwrap();
        let family = db.default_column_family();
        TestDatabase { db, family }
    }

    /// Writes the keys `from..to` and flushes them to a table.
    fn table(&self, from: u32, to: u32) {
        for key in from..to {
            self.db.put(format!("{key:06}").as_bytes(), [b'v'; 50]).unwrap();
        }
        flush(&self.db);
    }

    fn compact(&self) {
        rewrite_family(&self.db, &self.family);
        self.db.wait_for_purge().unwrap();
    }
}

#[test]
fn every_row_answers_to_its_name() {
    let held = TestDatabase::new();
    held.table(0, 100);
    let mut names = BTreeSet::new();
    for row in Property::ALL {
        assert!(names.insert(row.name), "{} has two rows", row.name);
        let name = row.name.replace("<N>", "1");
        let found = Property::of_name(&name).map(|found| found.name);
        assert_eq!(found, Some(row.name));
        let number = held.db.property_int(&held.family, &name);
        let text = held.db.property(&held.family, &name);
        match row.kind {
            PropertyKind::Int => assert_eq!(number.map(|number| number.to_string()), text, "{name}"),
            _ => assert_eq!(number, None, "{name}"),
        }
        let lacks_value = row.name.contains("blob-cache") || row.name.contains("secondary");
        let lacks_value = lacks_value || row.name == "rocksdb.options-statistics";
        assert_eq!(text.is_none(), lacks_value, "{name}");
    }
    assert!(Property::of_name("rocksdb.num-files-at-level").is_none());
    assert!(Property::of_name("rocksdb.num-files-at-level1x").is_none());
}

#[test]
fn reads_of_tables_are_estimated_by_samples() {
    let held = TestDatabase::new();
    held.table(0, 100);
    held.table(100, 200);
    held.table(200, 300);
    let reads = || -> Vec<u64> {
        let mut files = held.db.live_files();
        files.sort_by_key(|file| file.number);
        files.iter().map(|file| file.num_reads_sampled).collect()
    };
    assert_eq!(reads(), [0, 0, 0]);
    for _ in 0..30_000 {
        held.db.get(b"000150").unwrap();
    }
    let keys = [b"000210", b"000220", b"000230"];
    for _ in 0..20_000 {
        held.db.multi_get(&keys);
    }
    let after_gets = reads();
    let about = |found: u64, expected: u64| found > expected * 8 / 10 && found < expected * 12 / 10;
    assert_eq!(after_gets[0], 0);
    assert!(
        about(after_gets[1], 30_000) && about(after_gets[2], 60_000),
        "{after_gets:?}"
    );
    // An iterator that reaches a table reads it once; a compaction does not count as a read, and its output
    // tables begin with 0 reads.
    for _ in 0..20_000 {
        let mut iter = held.db.iter();
        iter.seek(b"000050");
    }
    let after_scans = reads();
    assert!(about(after_scans[0], 20_000), "{after_scans:?}");
    held.compact();
    assert_eq!(reads(), [0]);
}
