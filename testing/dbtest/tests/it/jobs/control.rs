//! Changes of options in an open database; background work that is paused, continued, cancelled and
//! requested.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dbtest::by_hand::flush;
use dbtest::events::Recorder;
use dbtest::files;
use dbtest::gate::Gate;
use esker::option_table::OptionTable;
use esker::{
    ColumnFamilyOptions, CompactRangeOptions, CompactionFilter, CompactionFilterFactory, CompactionStyle,
    CompressionType, Db, Decision, ErrorKind, Event, FilterContext, IndexType, Options, OptionsFile,
    ValueType,
};
use testkit::rng;
use vfs::MemFs;

fn options() -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    }
}

fn put_and_flush(db: &Db, keys: &[&str]) {
    for key in keys {
        db.put(key.as_bytes(), b"value").unwrap();
    }
    flush(db);
}

fn levels(db: &Db) -> Vec<usize> {
    let mut levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    levels.sort_unstable();
    levels
}

#[test]
fn random_changes_while_others_write_and_compact() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let done = AtomicBool::new(false);
    let mut rng = rng();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0u64;
            while !done.load(Ordering::Relaxed) {
                let key = format!("key{:03}", i * 7 % 500);
                db.put(key.as_bytes(), i.to_string().as_bytes()).unwrap();
                i += 1;
                if i.is_multiple_of(500) {
                    db.compact_range_cf(&family, None, None).unwrap();
                }
            }
        });
        let rows = ColumnFamilyOptions::rows().iter();
        let rows: Vec<_> = rows.filter(|row| row.mutable && !row.domain.is_empty()).collect();
        for _ in 0..60 {
            let row = *rng.pick(&rows);
            let value = *rng.pick(row.domain);
            // Some changes contradict earlier ones.
            if let Err(error) = db.set_options(&family, &[(row.name, value)]) {
                assert!(
                    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotSupported),
                    "{error}"
                );
                continue;
            }
            let mut expected = ColumnFamilyOptions::default();
            (row.set)(&mut expected, value).unwrap();
            if !row.name.starts_with("compaction_options_") {
                assert_eq!(
                    (row.get)(&family.current_options()),
                    (row.get)(&expected),
                    "{}={value}",
                    row.name
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    db.wait_for_compact().unwrap();
    files::check(&db).unwrap();
    let (_, file) = OptionsFile::newest(&*options.fs, "/db".as_ref())
        .unwrap()
        .unwrap();
    // The OPTIONS file does not contain options that RocksDB does not have.
    let names: Vec<&str> = file.entries().map(|(_, _, name, _)| name).collect();
    let (file, now) = (file.options().0.column_family, family.current_options());
    let rows = ColumnFamilyOptions::rows().iter();
    let written: Vec<_> = rows.filter(|row| names.contains(&row.name)).collect();
    assert!(written.len() > 30);
    for row in written {
        assert_eq!((row.get)(&file), (row.get)(&now), "{}", row.name);
    }
    db.close().unwrap();
}

/// Compactions wait at the gate when they create their filter.
struct GateFactory(Arc<Gate>);

impl CompactionFilterFactory for GateFactory {
    fn name(&self) -> &str {
        "gate"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.0.pass();
        Some(Box::new(Keep))
    }
}

struct Keep;

impl CompactionFilter for Keep {
    fn filter(&mut self, _level: usize, _key: &[u8], _type: ValueType, _value: &[u8]) -> Decision {
        Decision::Keep
    }
}

fn gated() -> (Db, Arc<Gate>) {
    let gate = Gate::closed();
    let mut options = options();
    options.column_family.compaction_filter_factory = Some(Arc::new(GateFactory(gate.clone())));
    let db = Db::open(&options, "/db").unwrap();
    // The rows have different keys, so that a compaction keeps all of them.
    for suffix in ["", "x"] {
        let many: Vec<String> = (0..3000).map(|i| format!("key{i:05}{suffix}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        put_and_flush(&db, &many);
    }
    (db, gate)
}

#[test]
fn one_manual_compaction_is_called_off_by_who_asked_for_it() {
    let (db, gate) = gated();
    let family = db.default_column_family();
    let canceled = Arc::new(AtomicBool::new(false));
    let options = CompactRangeOptions {
        canceled: Some(canceled.clone()),
        ..CompactRangeOptions::default()
    };
    let compact = || db.compact_range_cf_opt(&family, None, None, &options);
    thread::scope(|scope| {
        let compaction = scope.spawn(compact);
        gate.wait_for(1);
        canceled.store(true, Ordering::Relaxed);
        gate.open();
        let error = compaction.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incomplete);
    });
    assert_eq!(compact().unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(levels(&db), [0, 0]);
    // The cancellation does not apply to another compaction of the same files.
    db.compact_range_cf(&family, None, None).unwrap();
    assert_eq!(levels(&db), [6]);
    canceled.store(false, Ordering::Relaxed);
    compact().unwrap();
    db.close().unwrap();
}

/// Cancels a compaction at its thousandth row.
struct Fleeting(Arc<AtomicBool>);

struct CallsOff(Arc<AtomicBool>, usize);

impl CompactionFilterFactory for Fleeting {
    fn name(&self) -> &str {
        "calls off"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(CallsOff(self.0.clone(), 0)))
    }
}

impl CompactionFilter for CallsOff {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
        self.1 += 1;
        if self.1 == 1000 {
            self.0.store(true, Ordering::Relaxed);
        }
        Decision::Keep
    }
}

#[test]
fn who_calls_a_compaction_off_may_take_that_back_before_it_ends() {
    let canceled = Arc::new(AtomicBool::new(false));
    let withdrawn = canceled.clone();
    let mut options = options();
    options.column_family.compaction_filter_factory = Some(Arc::new(Fleeting(canceled.clone())));
    // The cancellation is withdrawn when the compaction's table is given up.
    options.listeners = vec![Recorder::of(move |event| {
        let is_given_up = matches!(event, Event::TableCreationFailed { .. });
        is_given_up.then(|| withdrawn.store(false, Ordering::Relaxed))
    })];
    let db = Db::open(&options, "/db").unwrap();
    let many: Vec<String> = (0..3000).map(|i| format!("key{i:05}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    put_and_flush(&db, &many);
    put_and_flush(&db, &many);
    let options = CompactRangeOptions {
        canceled: Some(canceled.clone()),
        ..CompactRangeOptions::default()
    };
    let error = db
        .compact_range_cf_opt(&db.default_column_family(), None, None, &options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    assert!(!canceled.load(Ordering::Relaxed));
    assert_eq!(levels(&db), [0, 0]);
    db.close().unwrap();
}

/// A filter that removes rows whose keys begin with this byte or a greater one.
struct RemovesFrom(Arc<std::sync::atomic::AtomicU8>);

impl CompactionFilterFactory for RemovesFrom {
    fn name(&self) -> &str {
        "removes-from"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(RemovesFrom(self.0.clone())))
    }
}

impl CompactionFilter for RemovesFrom {
    fn filter(&mut self, _level: usize, key: &[u8], _value_type: ValueType, _value: &[u8]) -> Decision {
        match key[0] == self.0.load(Ordering::Relaxed) {
            true => Decision::Remove,
            false => Decision::Keep,
        }
    }
}

#[test]
fn files_are_rewritten_where_they_lie_when_that_is_suggested() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let removed = Arc::new(std::sync::atomic::AtomicU8::new(0));
        let mut options = options();
        options.column_family.compaction_style = style;
        options.column_family.compaction_filter_factory = Some(Arc::new(RemovesFrom(removed.clone())));
        let db = Db::open(&options, "/db").unwrap();
        let family = db.default_column_family();
        put_and_flush(&db, &["a", "m"]);
        db.compact_range_cf(&family, None, None).unwrap();
        put_and_flush(&db, &["b", "m"]);
        let numbers = |level: usize| {
            let files = db.live_files();
            let of_level = files.iter().filter(|file| file.level == level);
            of_level.map(|file| file.number).collect::<Vec<u64>>()
        };
        let (top, bottom) = (numbers(0), numbers(6));
        // Without a suggestion, no file is rewritten.
        removed.store(b'm', Ordering::Relaxed);
        db.wait_for_compact().unwrap();
        assert_eq!((numbers(0), numbers(6)), (top.clone(), bottom.clone()));
        db.suggest_compact_files(&family, &[bottom[0], 1_000_000])
            .unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [0, 6], "{style:?}");
        assert_eq!(numbers(0), top);
        assert_ne!(numbers(6), bottom);
        assert_eq!(
            db.get(b"m").unwrap().as_deref(),
            Some(&b"value"[..]),
            "that above"
        );
        // Each call of `suggest_compact_files` leads to one rewrite of the files.
        let bottom = numbers(6);
        db.suggest_compact_files(&family, &top).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!((levels(&db), numbers(6)), (vec![0, 6], bottom), "{style:?}");
        assert_eq!(db.get(b"m").unwrap(), None);
        removed.store(b'a', Ordering::Relaxed);
        db.suggest_compact_files(&family, &numbers(6)).unwrap();
        db.wait_for_compact().unwrap();
        assert_eq!(levels(&db), [0], "of the file nothing is left");
        files::check(&db).unwrap();
        db.close().unwrap();
    }
}

#[test]
fn contradicting_options_are_refused_together() {
    let sound = options();
    let mut options = sound.clone();
    options.max_background_jobs = 0;
    options.wal_compression = CompressionType::Lz4;
    options.allow_mmap_reads = true;
    options.use_direct_reads = true;
    let family = &mut options.column_family;
    family.max_write_buffer_number = 0;
    family.max_bytes_for_level_multiplier = 0.0;
    family.num_levels = 1;
    family.table.block_size = 1;
    family.table.cache_index_and_filter_blocks = true;
    family.table.no_block_cache = true;
    family.table.index_type = IndexType::HashSearch;
    family.table.block_align = true;
    family.compression = CompressionType::Zstd;
    family.compression_opts.zstd_max_train_bytes = 1000;
    family.block_protection_bytes_per_key = 3;
    let other = ColumnFamilyOptions {
        min_write_buffer_number_to_merge: 0,
        ..ColumnFamilyOptions::default()
    };
    options.column_families.insert("other".to_owned(), other);
    let of_family = [
        "max_write_buffer_number=0 is outside",
        "max_bytes_for_level_multiplier=0 is outside",
        "num_levels=1",
        "block_size=1 is outside",
        "no_block_cache",
        "prefix_extractor",
        "block_align",
        "max_dict_bytes",
        "Block per key-value checksum",
    ];
    let error = Db::open(&options, "/db").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let of_database = [
        "max_background_jobs=0 is outside",
        "wal_compression",
        "allow_mmap_reads, but reads are direct",
        "options of column family other: min_write_buffer_number_to_merge=0 is outside",
    ];
    for part in of_family.into_iter().chain(of_database) {
        assert!(error.to_string().contains(part), "{part} is not in {error}");
    }
    assert!(!options.fs.exists(Path::new("/db/CURRENT")).unwrap());

    let db = Db::open(&sound, "/db").unwrap();
    let error = db
        .create_column_family("more", &options.column_family)
        .unwrap_err()
        .to_string();
    for part in of_family {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    let family = db.default_column_family();
    let changes = [
        ("max_write_buffer_number", "0"),
        ("no_such_option", "1"),
        ("block_align", "true"),
        ("compression", "kZSTD"),
        ("compression_opts", "{zstd_max_train_bytes=1000;}"),
    ];
    let error = db.set_options(&family, &changes).unwrap_err().to_string();
    for part in [
        "max_write_buffer_number=0 is outside",
        "unknown option no_such_option",
        "block_align",
        "max_dict_bytes",
    ] {
        assert_eq!(error.matches(part).count(), 1, "{part} in {error}");
    }
    let error = db
        .set_db_options(&[("max_background_jobs", "0"), ("no_such_option", "1")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("max_background_jobs=0 is outside") && error.contains("unknown option no_such_option"),
        "{error}"
    );
}
