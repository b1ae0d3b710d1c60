//! The info log: its lines agree with the events, have RocksDB's form, and its files do not disturb other
//! files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use base::filename::{self, FileKind};
use dbtest::by_hand::{everything, flush};
use dbtest::events::Recorder;
use esker::{
    CompactRangeOptions, CompressionType, Db, Event, InfoLogLevel, Logger, NullLogger, Options,
    SstFileWriter, StallCondition,
};
use testkit::receive;
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    }
}

fn info_logs(fs: &MemFs, dir: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(dir)).unwrap_or_default();
    names.retain(|name| filename::parse(name) == Some(FileKind::InfoLog));
    names
}

fn log_of(fs: &MemFs) -> String {
    String::from_utf8(fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap()
}

/// The event lines: each must be a JSON object with the common fields of all events.
fn event_lines(log: &str) -> Vec<serde_json::Value> {
    let lines = log.lines().filter_map(|line| line.split_once("EVENT_LOG_v1 "));
    lines
        .map(|(_, json)| {
            let event: serde_json::Value =
                serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
            assert!(
                event["time_micros"].as_u64().unwrap() > 0 && event["job"].is_u64(),
                "{json}"
            );
            event
        })
        .collect()
}

/// Jobs by number, and whether they ended, as reported by the listener or by the log.
type Jobs = BTreeSet<(u64, &'static str)>;

fn jobs_heard(events: &[Event]) -> Jobs {
    let jobs = events.iter().filter_map(|event| match event {
        Event::FlushBegun { job, .. } => Some((*job, "flush_started")),
        Event::Flushed { job, .. } => Some((*job, "flush_finished")),
        Event::CompactionBegun { job, .. } => Some((*job, "compaction_started")),
        Event::Compacted { job, .. } => Some((*job, "compaction_finished")),
        Event::Moved { job, .. } => Some((*job, "trivial_move")),
        _ => None,
    });
    jobs.collect()
}

#[test]
fn it_tells_what_listeners_are_told() {
    let fs = MemFs::new();
    let events = Recorder::events();
    let mut options = options(&fs);
    options.listeners = vec![events.clone()];
    options.column_family.level0_file_num_compaction_trigger = 2;
    options.column_family.level0_slowdown_writes_trigger = 3;
    options.column_family.level0_stop_writes_trigger = 100;
    let db = Db::open(&options, DIR).unwrap();
    for round in 0..6u8 {
        for key in 0..50u8 {
            db.put([key], [round; 100]).unwrap();
        }
        flush(&db);
    }
    db.wait_for_compact().unwrap();
    let extra = db.create_column_family("extra", &options.column_family).unwrap();
    db.drop_column_family(&extra).unwrap();
    let family = db.default_column_family();
    db.compact_range_cf(&family, None, None).unwrap();
    let levels: Vec<u64> = db
        .levels(&family)
        .iter()
        .map(|level| level.files as u64)
        .collect();
    let tables: BTreeSet<u64> = db.live_files().iter().map(|file| file.number).collect();
    db.close().unwrap();
    let log = log_of(&fs);
    let heard = events.all();
    let lines = event_lines(&log);

    let heard_jobs = jobs_heard(&heard);
    let names = [
        "flush_started",
        "flush_finished",
        "compaction_started",
        "compaction_finished",
        "trivial_move",
    ];
    let told = lines.iter().filter_map(|event| {
        let name = names.into_iter().find(|name| event["event"] == *name)?;
        Some((event["job"].as_u64()?, name))
    });
    assert_eq!(told.collect::<Jobs>(), heard_jobs);
    assert!(
        heard_jobs
            .iter()
            .filter(|(_, name)| *name == "flush_finished")
            .count()
            >= 6
    );
    assert!(heard_jobs.iter().any(|(_, name)| *name == "compaction_finished"));

    // Some job reports the current number of files of each level (jobs report with a delay), and every live
    // table was created by a reported job.
    let mut shapes = lines.iter().filter_map(|event| event["lsm_state"].as_array());
    let is_now = |shape: &Vec<serde_json::Value>| {
        shape
            .iter()
            .map(serde_json::Value::as_u64)
            .eq(levels.iter().map(|&files| Some(files)))
    };
    assert!(shapes.any(is_now), "{levels:?}\n{log}");
    let made = lines
        .iter()
        .filter(|event| event["event"] == "table_file_creation");
    let made: BTreeSet<u64> = made
        .inspect(|event| {
            let properties = &event["table_properties"];
            assert_eq!(event["cf_name"], "default");
            assert_eq!(properties["comparator"], "leveldb.BytewiseComparator");
            assert!(properties["num_entries"].as_u64() > Some(0) && event["file_size"].as_u64() > Some(0));
        })
        .map(|event| event["file_number"].as_u64().unwrap())
        .collect();
    assert!(tables.is_subset(&made), "{tables:?} {made:?}");

    let stalls = heard.iter().filter(
        |event| matches!(event, Event::Stall { condition, .. } if *condition != StallCondition::Normal),
    );
    let told = log
        .lines()
        .filter(|line| line.contains("[WARN]") && line.contains("[default] Stalling writes because we have"));
    assert_eq!(told.count(), stalls.count());
    let ends = heard.iter().filter(|event| {
        matches!(
            event,
            Event::Stall {
                condition: StallCondition::Normal,
                ..
            }
        )
    });
    assert_eq!(
        log.lines()
            .filter(|line| line.contains("[default] Writes go on"))
            .count(),
        ends.count()
    );

    // The log has the engine that wrote it, the options, and the end of the session.
    for line in [
        "RocksDB version: 7.8.3",
        "Esker version: ",
        "Git sha ",
        "DB SUMMARY",
        "Created column family [extra] (ID 1)",
        "--------------- Options for column family [extra]:",
        "Dropped column family [extra] with id 1",
        "Options.write_buffer_size: 67108864",
        "Options.create_if_missing: 1",
        "\n  block_size: 4096\n",
        "Options.compression: LZ4",
        "Options.bottommost_compression: Disabled",
    ] {
        assert!(log.contains(line), "{line}");
    }
    assert!(log.ends_with("Shutdown complete\n"));
    // Each line of the log has a date, a thread and a text, except the lines of a table's options.
    for line in log.lines().filter(|line| !line.starts_with("  ")) {
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        assert!(
            fields[0].len() == 26 && fields[0].as_bytes()[10] == b'-',
            "{line}"
        );
        assert!(fields[1].parse::<u64>().is_ok(), "{line}");
    }
}

/// RocksDB's `benchmark.sh` and similar scripts read these lines by position.
#[test]
fn lines_that_scripts_read_are_rocksdbs() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.column_family.level0_file_num_compaction_trigger = 100;
    options.column_family.compression = CompressionType::None;
    options.column_family.streams_bypass_level0 = false;
    let log_after = |options: &Options, reason: &str| {
        let db = Db::open(options, DIR).unwrap();
        db.put(b"k", reason.as_bytes()).unwrap();
        flush(&db);
        let family = db.default_column_family();
        // One file, without overlap, is moved.
        let range = CompactRangeOptions::default();
        db.compact_range_cf_opt(&family, None, None, &range).unwrap();
        db.close().unwrap();
        log_of(&fs)
    };
    let log = log_after(&options, "first");
    let fields = |log: &str, words: &str| -> Vec<String> {
        let line = log.lines().find(|line| line.contains(words));
        let line = line.unwrap_or_else(|| panic!("no {words} in\n{log}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // The numbers of the fields are those of awk: the release and the commit.
    assert_eq!(fields(&log, "RocksDB version:")[4], "7.8.3");
    assert!(!fields(&log, "Git sha")[4].is_empty());
    let moved = log.lines().find(|line| line.contains(" Moved #"));
    let (_, moved) = moved
        .and_then(|line| line.split_once("] [default] "))
        .expect("a move");
    let bytes = fields(&log, "\"trivial_move\"").join("");
    let bytes = bytes
        .split_once("total_files_size\":")
        .expect("a size")
        .1
        .trim_end_matches('}')
        .to_owned();
    let expected = format!(
        "Moved #1 files to level-6 {bytes} bytes OK: base level 6 level multiplier 10.00 max bytes base 268435456 \
         files[0 0 0 0 0 0 1] max score 0.00, estimated pending compaction bytes 0"
    );
    assert_eq!(moved, expected);
    // An OPTIONS file of a later release, or with options that only a later release knows, sets the reported
    // release.
    options.column_family.paranoid_memory_checks = true;
    assert_eq!(
        fields(&log_after(&options, "second"), "RocksDB version:")[4],
        "9.7.0"
    );
    options.column_family.paranoid_memory_checks = false;
    assert_eq!(
        fields(&log_after(&options, "third"), "RocksDB version:")[4],
        "9.7.0"
    );
}

#[test]
fn ingested_files_are_counted() {
    let fs = MemFs::new();
    let options = options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let ingest = |name: &str, keys: std::ops::Range<u8>| {
        let path = Path::new("/outside").join(name);
        let mut writer = SstFileWriter::new(&options);
        fs.create_dir_all(Path::new("/outside")).unwrap();
        writer.open(&path).unwrap();
        keys.for_each(|key| writer.put(&[key], b"value").unwrap());
        writer.finish().unwrap();
        db.ingest_external_file(&[path], &Default::default()).unwrap();
    };
    ingest("1", 0..10);
    // The second ingested file overlaps the first, so it is placed in a level above it.
    ingest("2", 5..12);
    let in_l0 = db.live_files().iter().filter(|file| file.level == 0).count();
    let l0_files = format!("AddFile(L0 Files): cumulative {in_l0}, interval {in_l0}");
    let stats = db.property(&family, "rocksdb.cfstats").unwrap();
    for line in [
        "AddFile(Total Files): cumulative 2, interval 2",
        &l0_files,
        "AddFile(Keys): cumulative 17, interval 17",
    ] {
        assert!(stats.contains(&format!("\n{line}\n")), "{line}\n{stats}");
    }
}

#[test]
fn writers_that_wait_for_a_flush_are_told_of() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let (sender, lines) = channel();
    // The flush continues when this channel gets a message.
    let (go_on, held) = channel::<()>();
    let held = Mutex::new(held);
    let hold = move |_: Op, _: &Path| {
        receive("the order to go on", &held.lock().unwrap());
    };
    fs.add(
        Rule::new(Action::Call(Arc::new(hold)))
            .on([Op::Create])
            .path_ends_with(".sst")
            .times(1),
    );
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        info_log: Some(Arc::new(Told(Mutex::new(sender)))),
        ..Options::default()
    };
    options.column_family.write_buffer_size = 64 << 10;
    let db = Db::open(&options, DIR).unwrap();
    let writer = {
        let db = db.clone();
        std::thread::spawn(move || (0..20u8).for_each(|key| db.put([key], [7; 32 << 10]).unwrap()))
    };
    let wait_for = |what: &str| {
        while !receive("a line", &lines).1.contains(what) {}
    };
    wait_for(
        "[default] Stopping writes because we have 1 immutable memtables (waiting for flush), max_write_buffer_number is set to 2",
    );
    go_on.send(()).unwrap();
    wait_for("[default] Writes go on");
    writer.join().unwrap();
    drop(db);
}

#[test]
fn it_may_lie_elsewhere() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.db_log_dir = "/logs".to_owned();
    for dir in ["/db", "/db", "/db/inner"] {
        drop(Db::open(&options, dir).unwrap());
        assert!(info_logs(&fs, dir).is_empty());
    }
    let names = fs.list(Path::new("/logs")).unwrap();
    assert_eq!(names.len(), 3);
    assert!(
        names.contains(&"db_LOG".to_owned()) && names.contains(&"db_inner_LOG".to_owned()),
        "{names:?}"
    );
    Db::destroy(&options, "/db/inner").unwrap();
    assert_eq!(fs.list(Path::new("/logs")).unwrap().len(), 2);
    Db::destroy(&options, "/db").unwrap();
    assert!(fs.list(Path::new("/logs")).unwrap().is_empty());
}

/// A logger that sends each message to a channel.
struct Told(Mutex<Sender<(InfoLogLevel, String)>>);

impl Logger for Told {
    fn log(&self, level: InfoLogLevel, message: &str) {
        // The receiver of the messages may be gone.
        let _ = self.0.lock().unwrap().send((level, message.to_owned()));
    }
}

#[test]
fn a_user_may_take_the_lines() {
    let fs = MemFs::new();
    let (sender, lines) = channel();
    let mut options = options(&fs);
    options.info_log = Some(Arc::new(Told(Mutex::new(sender))));
    options.info_log_level = InfoLogLevel::Warn;
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"k", b"v").unwrap();
    flush(&db);
    db.close().unwrap();
    let lines: Vec<(InfoLogLevel, String)> = lines.try_iter().collect();
    assert!(lines.iter().any(
        |(level, line)| *level == InfoLogLevel::Header && line.contains("Options.fs")
            || line.contains("DB SUMMARY")
    ));
    assert!(
        !lines.iter().any(|(level, _)| *level < InfoLogLevel::Warn),
        "{lines:?}"
    );
    assert!(info_logs(&fs, DIR).is_empty());

    options.info_log = Some(Arc::new(NullLogger));
    drop(Db::open(&options, DIR).unwrap());
    assert!(info_logs(&fs, DIR).is_empty());
}

#[test]
fn statistics_are_dumped_as_the_properties_tell_them() {
    let fs = MemFs::new();
    let (sender, lines) = channel();
    let mut options = options(&fs);
    options.info_log = Some(Arc::new(Told(Mutex::new(sender))));
    options.stats_dump_period_sec = 1;
    options.statistics = Some(esker::Statistics::new());
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"k", b"v").unwrap();
    flush(&db);
    db.get(b"k").unwrap();
    let snapshot = db.snapshot();
    let dump = loop {
        let (_, line) = receive("a line", &lines);
        if line.contains("** DB Stats **") && line.contains("\n1 snapshots at sequence number 1, ") {
            break line;
        }
    };
    let family = db.default_column_family();
    let dbstats = db.property(&family, "rocksdb.dbstats").unwrap();
    let cfstats = db.property(&family, "rocksdb.cfstats").unwrap();
    // The lines that do not depend on the time are in each of the two texts.
    let steady = |line: &&str| {
        !["Uptime", "Cumulative", "Interval", "Flush(GB)", " Int"]
            .iter()
            .any(|word| line.starts_with(word))
            && !line.is_empty()
    };
    for line in dbstats.lines().chain(cfstats.lines()).filter(steady) {
        assert!(dump.contains(line), "{line}\n--- is not in\n{dump}");
    }
    for part in [
        "** Compaction Stats [default] **",
        "Cumulative writes: 1 writes, 1 keys",
        "Block cache LRUCache@",
        "Block cache entry stats(count,size,portion): DataBlock(1,",
    ] {
        assert!(dump.contains(part), "{part}\n{dump}");
    }
    // Jobs may report their end before the next dump of statistics.
    let statistics = loop {
        let (_, line) = receive("a line", &lines);
        if line.contains("STATISTICS:\n") {
            break line;
        }
    };
    assert!(
        statistics.contains("STATISTICS:\nrocksdb.block.cache.miss COUNT : ")
            && statistics.contains("\nrocksdb.number.keys.written COUNT : 1\n"),
        "{statistics}"
    );
    drop(snapshot);
}

#[test]
fn what_recovery_writes_came_in() {
    let fs = Arc::new(MemFs::new());
    let options = Options {
        create_if_missing: true,
        fs: fs.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    for key in 0..1000 {
        db.put(format!("k{key:04}").as_bytes(), [7; 1000]).unwrap();
    }
    // The database is closed with its rows only in the WAL.
    db.close().unwrap();
    let db = Db::open(&options, "/db").unwrap();
    let stats = db.property(&db.default_column_family(), "rocksdb.stats").unwrap();
    let row = |name: &str| -> Vec<String> {
        let line = stats.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {stats}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    // The columns are sum, files, size and its unit, score, Read, Rn, Rnp1, Write, Wnew, Moved, W-Amp.
    assert_eq!(
        (&row("Sum")[1][..], &row("Sum")[11][..]),
        ("1/0", "1.0"),
        "{stats}"
    );
    // The table was written by recovery, whose bytes count as work of priority `User`.
    assert_eq!(row("User")[1], "0/0", "{stats}");
    assert!(!stats.lines().any(|line| line.starts_with("High ")), "{stats}");
    // A manual compaction writes all rows once more.
    let family = db.default_column_family();
    db.compact_range_cf_opt(&family, None, None, &everything())
        .unwrap();
    let stats = db.property(&family, "rocksdb.stats").unwrap();
    let told = stats
        .lines()
        .find_map(|line| line.strip_prefix("Write amplification: "));
    let told: f64 = told.unwrap().parse().unwrap();
    assert!((1.5..2.5).contains(&told), "{stats}");
    db.close().unwrap();
}
