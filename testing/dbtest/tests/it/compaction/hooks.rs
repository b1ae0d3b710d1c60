//! User code in compactions: filters, partitioners, collectors of table properties; and rows dropped without
//! a compaction.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dbtest::by_hand::{compact, flush_and_settle};
use dbtest::events::Recorder;
use dbtest::{files, settings};
use esker::{
    CollectorContext, CompactOnDeletionCollectorFactory, CompactionFilter, CompactionFilterFactory, Db,
    Decision, EntryType, Event, FilterContext, Options, OptionsFile, SeqNo, SstPartitionerFixedPrefixFactory,
    TableFileCreationReason, TablePropertiesCollector, TablePropertiesCollectorFactory, ValueType,
};
use tempfile::TempDir;
use testkit::oracle;
use vfs::MemFs;

/// The recorded reasons of compactions, and properties of tables.
struct Told {
    reasons: Arc<Recorder<String>>,
    properties: Arc<Recorder<String>>,
}

/// The reason of a compaction in its plan.
fn reason(event: &Event) -> Option<String> {
    let (Event::Compacted { plan, .. } | Event::Moved { plan, .. } | Event::Dropped { plan, .. }) = event
    else {
        return None;
    };
    let reason = plan.split("reason ").nth(1).unwrap_or_default();
    Some(reason.split(',').next().unwrap_or_default().to_owned())
}

/// The collectors of a new table, and the properties that begin with `own.`.
fn properties(event: &Event) -> Option<String> {
    let Event::TableCreated { properties, .. } = event else {
        return None;
    };
    let own = properties.user_collected.iter();
    let own = own.filter(|(name, _)| name.starts_with(b"own."));
    let own: Vec<String> = own
        .map(|(name, value)| {
            format!(
                "{}={}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value)
            )
        })
        .collect();
    let collectors = String::from_utf8_lossy(&properties.property_collectors).into_owned();
    Some(format!("{collectors} {}", own.join(" ")))
}

fn options() -> (Options, Told) {
    let told = Told {
        reasons: Recorder::of(reason),
        properties: Recorder::of(properties),
    };
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        listeners: vec![told.reasons.clone(), told.properties.clone()],
        ..Options::default()
    };
    (options, told)
}

fn put_all(db: &Db, keys: &[&str]) {
    for key in keys {
        db.put(key.as_bytes(), format!("value of {key}").as_bytes())
            .unwrap();
    }
}

fn keys(db: &Db) -> String {
    let mut keys = Vec::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        let (key, value) = (
            String::from_utf8_lossy(iter.key()),
            String::from_utf8_lossy(iter.value()),
        );
        keys.push(match value == format!("value of {key}") {
            true => key.into_owned(),
            false => format!("{key}={value}"),
        });
        iter.next();
    }
    iter.status().unwrap();
    keys.join(" ")
}

/// Compaction filters that decide by the first letter of a key: `r` removes, `p` purges, `c` changes, `s`
/// skips up to `t`.
struct Filters {
    flushes: bool,
    made: AtomicUsize,
    contexts: Mutex<Vec<FilterContext>>,
}

impl Filters {
    fn new(flushes: bool) -> Arc<Filters> {
        Arc::new(Filters {
            flushes,
            made: AtomicUsize::new(0),
            contexts: Mutex::default(),
        })
    }
}

impl CompactionFilterFactory for Filters {
    fn name(&self) -> &str {
        "by first letter"
    }

    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.flushes || reason == TableFileCreationReason::Compaction
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.contexts.lock().unwrap().push(*context);
        Some(Box::new(ByLetter))
    }
}

struct ByLetter;

impl CompactionFilter for ByLetter {
    fn filter(&mut self, _level: usize, key: &[u8], value_type: ValueType, _value: &[u8]) -> Decision {
        match (key.first(), value_type) {
            (Some(b'r'), _) => Decision::Remove,
            (Some(b'p'), _) => Decision::Purge,
            (Some(b'c'), _) => Decision::ChangeValue(b"changed".to_vec()),
            (Some(b's'), _) => Decision::RemoveAndSkipUntil(b"t".to_vec()),
            _ => Decision::Keep,
        }
    }
}

#[test]
fn filters_see_every_row_that_is_compacted() {
    for style in ["kCompactionStyleLevel", "kCompactionStyleUniversal"] {
        let filters = Filters::new(false);
        let (mut options, _) = options();
        options.max_subcompactions = 3;
        settings::set(&mut options, "compaction_style", style).unwrap();
        options.column_family.compaction_filter_factory = Some(filters.clone());
        let db = Db::open(&options, "/db").unwrap();
        put_all(&db, &["a", "c", "p1", "r1", "s1", "s2", "t"]);
        flush_and_settle(&db);
        put_all(&db, &["b", "p2", "r1", "s3"]);
        flush_and_settle(&db);
        assert_eq!(keys(&db), "a b c p1 p2 r1 s1 s2 s3 t", "flushes filter nothing");
        // A snapshot does not protect rows from a filter.
        let snapshot = db.snapshot();
        db.put(b"u", b"value of u").unwrap();
        compact(&db);
        assert_eq!(keys(&db), "a b c=changed t u", "{style}");
        let oldest = |context: &FilterContext| context.oldest_snapshot;
        assert_eq!(
            filters.contexts.lock().unwrap().last().map(oldest),
            Some(snapshot.sequence_number())
        );
        let all_manual = |contexts: &[FilterContext]| contexts.iter().all(|own| own.is_manual_compaction);
        assert!(all_manual(&filters.contexts.lock().unwrap()));
        // Rows at the bottom are filtered again, by this compaction or by the one after the release of the
        // snapshot.
        drop(snapshot);
        compact(&db);
        assert_eq!(keys(&db), "a b c=changed t u", "{style}");
        let contexts = filters.contexts.lock().unwrap();
        assert_eq!(contexts.last().map(oldest), Some(db.latest_sequence_number()));
        assert!(contexts[0].is_full_compaction && contexts[0].input_start_level == Some(0));
        assert!(filters.made.load(Ordering::Relaxed) >= 2);
        drop(contexts);
        db.close().unwrap();
    }
}

#[test]
fn filters_may_ask_for_flushes() {
    let filters = Filters::new(true);
    let (mut options, _) = options();
    options.column_family.compaction_filter_factory = Some(filters.clone());
    let db = Db::open(&options, "/db").unwrap();
    put_all(&db, &["a", "c", "p1", "r1", "s1", "t"]);
    flush_and_settle(&db);
    assert_eq!(keys(&db), "a c=changed t");
    let context = filters.contexts.lock().unwrap()[0];
    assert_eq!(
        (context.reason, context.input_start_level),
        (TableFileCreationReason::Flush, None)
    );
    db.close().unwrap();
}

#[test]
fn files_of_levels_end_where_a_partitioner_says() {
    let (mut options, told) = options();
    options.column_family.sst_partitioner_factory = Some(Arc::new(SstPartitionerFixedPrefixFactory::new(1)));
    let db = Db::open(&options, "/db").unwrap();
    put_all(&db, &["a1", "a2", "b1", "c1", "c2"]);
    db.delete_range(b"a2", b"c2").unwrap();
    flush_and_settle(&db);
    // A file that overlaps no other one, but has keys of several partitions, is rewritten by the compaction.
    compact(&db);
    let ranges = |db: &Db| -> Vec<String> {
        let mut files = db.live_files();
        files.sort_by(|a, b| a.smallest_key.cmp(&b.smallest_key));
        let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        files
            .iter()
            .map(|file| {
                format!(
                    "L{} {}..{}",
                    file.level,
                    text(&file.smallest_key),
                    text(&file.largest_key)
                )
            })
            .collect()
    };
    assert_eq!(ranges(&db), ["L6 a1..a1", "L6 c2..c2"]);
    put_all(&db, &["b1", "b2"]);
    flush_and_settle(&db);
    // A file that is within one partition is moved.
    compact(&db);
    assert_eq!(ranges(&db), ["L6 a1..a1", "L6 b1..b2", "L6 c2..c2"]);
    files::check(&db).unwrap();
    db.close().unwrap();
    assert_eq!(told.reasons.count(), 2);
}

#[test]
fn a_partitioner_is_kept_in_the_options_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.sst_partitioner_factory = Some(Arc::new(SstPartitionerFixedPrefixFactory::new(2)));
    let db = Db::open(&options, &path).unwrap();
    put_all(&db, &["aa1", "ab1"]);
    flush_and_settle(&db);
    db.close().unwrap();
    drop(db);
    let ldb = oracle::ldb();
    let divided_before = ldb.is_some();
    if let Some(mut ldb) = ldb {
        let output = ldb
            .arg(format!("--db={}", path.display()))
            .arg("compact")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // The options of this open name no partitioner, so the one of the last open is used.
    let db = Db::open(&Options::default(), &path).unwrap();
    put_all(&db, &["aa2", "ab2"]);
    compact(&db);
    let mut starts: Vec<Vec<u8>> = db
        .live_files()
        .into_iter()
        .map(|file| file.smallest_key)
        .collect();
    starts.sort();
    // If ldb has divided the old rows into files by prefix, the new rows are placed among them.
    match divided_before {
        true => assert_eq!(starts, [b"aa1", b"aa2", b"ab1"]),
        false => assert_eq!(starts, [b"aa1", b"ab1"]),
    }
    db.close().unwrap();
    let (_, file) = OptionsFile::newest(&vfs::PosixFs::new(), &path).unwrap().unwrap();
    let stored = file.options().0.column_family.sst_partitioner_factory;
    assert_eq!(
        format!("{:?}", stored.unwrap()),
        "{length=2;id=SstPartitionerFixedPrefixFactory;}"
    );
}

/// Counts entries by kind, and marks tables that have a key `mark`.
struct Counts;

impl TablePropertiesCollectorFactory for Counts {
    fn name(&self) -> &str {
        "Counts"
    }

    fn create(&self, context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        assert_eq!(context.num_levels, 7);
        Some(Box::new(Counting::default()))
    }
}

#[derive(Default)]
struct Counting {
    puts: usize,
    deletes: usize,
    marked: bool,
}

impl TablePropertiesCollector for Counting {
    fn add_user_key(&mut self, key: &[u8], _value: &[u8], entry: EntryType, _seqno: SeqNo, _size: u64) {
        match entry {
            EntryType::Put => self.puts += 1,
            EntryType::Delete => self.deletes += 1,
            _ => {}
        }
        self.marked |= key == b"mark";
    }

    fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let counts = [("own.puts", self.puts), ("own.deletes", self.deletes)];
        counts
            .map(|(name, count)| (name.as_bytes().to_vec(), count.to_string().into_bytes()))
            .to_vec()
    }

    fn need_compact(&self) -> bool {
        self.marked
    }
}

#[test]
fn collectors_give_tables_properties_and_mark_them() {
    let (mut options, told) = options();
    options.column_family.table_properties_collector_factories =
        vec![Arc::new(Counts), CompactOnDeletionCollectorFactory::new(3, 3)];
    let db = Db::open(&options, "/db").unwrap();
    put_all(&db, &["a", "z"]);
    db.delete(b"b").unwrap();
    flush_and_settle(&db);
    compact(&db);
    // Three adjacent deletions trigger a compaction automatically.
    for key in ["c", "d", "e"] {
        db.delete(key.as_bytes()).unwrap();
    }
    put_all(&db, &["b"]);
    flush_and_settle(&db);
    put_all(&db, &["b", "mark"]);
    flush_and_settle(&db);
    assert_eq!(keys(&db), "a b mark z");
    db.close().unwrap();
    assert_eq!(
        told.reasons.all(),
        [
            "ManualCompaction",
            "FilesMarkedForCompaction",
            "FilesMarkedForCompaction"
        ]
    );
    assert_eq!(
        told.properties.all()[0],
        "[Counts,CompactOnDeletionCollector] own.deletes=1 own.puts=2"
    );
}

#[test]
fn tables_tell_their_properties_by_path() {
    let (mut options, _told) = options();
    options.column_family.table_properties_collector_factories = vec![Arc::new(Counts)];
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for keys in [&["a", "c"][..], &["b", "d"], &["x"]] {
        put_all(&db, keys);
        flush_and_settle(&db);
    }
    db.close().unwrap();
    drop(db);
    let db = Db::open(&options, "/db").unwrap();
    let family = db.column_family(family.name()).unwrap();
    let all = db.properties_of_all_tables(&family).unwrap();
    let paths: Vec<_> = db.live_files().into_iter().map(|file| file.path).collect();
    assert!(paths.len() == 3 && paths.iter().all(|path| all.contains_key(path)));
    assert_eq!(all.values().map(|table| table.num_entries).sum::<u64>(), 5);
    assert!(
        all.values()
            .all(|table| table.user_collected.contains_key(&b"own.puts"[..]))
    );
    let within = |ranges: &[(&[u8], &[u8])]| {
        let found = db.properties_of_tables_in_range(&family, ranges).unwrap();
        found.values().map(|table| table.num_entries).collect::<Vec<_>>()
    };
    assert_eq!(within(&[(b"c", b"c"), (b"a", b"b")]), [2, 2]);
    assert_eq!(within(&[(b"e", b"y")]), [1]);
    assert!(within(&[(b"e", b"f")]).is_empty() && within(&[]).is_empty());
}
