//! Temperatures of tables: chosen by level and by age, recorded, passed to the file system, and counted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use base::statistics::{Statistics, Ticker};
use dbtest::by_hand::{flush, rewrite};
use esker::{
    CompactionOptionsFifo, CompactionStyle, Db, FileTemperatureAge, IngestExternalFileArg,
    IngestExternalFileOptions, Options, Temperature,
};
use vfs::{LogFs, MemFs};

use crate::ingest::{DIR, fresh, rows_of, write_file};

fn temperatures(db: &Db) -> Vec<(usize, Temperature)> {
    let mut files: Vec<_> = db.live_files();
    files.sort_by_key(|file| (file.level, file.number));
    files.iter().map(|file| (file.level, file.temperature)).collect()
}

#[test]
fn tables_have_the_temperature_of_their_level() {
    let mem = MemFs::new();
    let log = LogFs::new(Arc::new(mem), DIR);
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(log.clone()),
        statistics: Some(Statistics::new()),
        ..Options::default()
    };
    options.column_family.last_level_temperature = Temperature::COLD;
    options.column_family.default_write_temperature = Temperature::HOT;
    options.column_family.streams_bypass_level0 = false;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    let put = |value: &[u8]| {
        for key in 0..100 {
            db.put(format!("k{key:03}").as_bytes(), value).unwrap();
        }
        flush(&db);
    };
    put(b"old");
    rewrite(&db);
    put(b"new");
    assert_eq!(temperatures(&db), [(0, Temperature::HOT), (6, Temperature::COLD)]);
    let family = db.default_column_family();
    let bytes_at = |temperature: Temperature| {
        let name = format!("rocksdb.live-sst-files-size-at-temperature{}", temperature.0);
        db.property(&family, &name).unwrap().parse::<u64>().unwrap()
    };
    let all: u64 = db.live_files().iter().map(|file| file.size).sum();
    assert_eq!(bytes_at(Temperature::HOT) + bytes_at(Temperature::COLD), all);
    assert_eq!(bytes_at(Temperature::WARM), 0);
    // The changed temperature applies to files that are written from now on.
    db.set_options(&family, &[("default_write_temperature", "kWarm")])
        .unwrap();
    put(b"newest");
    assert_eq!(
        temperatures(&db),
        [
            (0, Temperature::HOT),
            (0, Temperature::WARM),
            (6, Temperature::COLD)
        ]
    );
    db.close().unwrap();
    drop((family, db));

    let told = log.take();
    assert!(
        told.contains("temperature=0x4") && told.contains("temperature=0xc"),
        "{told}"
    );
    let statistics = Statistics::new();
    options.statistics = Some(statistics.clone());
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(temperatures(&db).len(), 3, "the MANIFEST knows");
    assert_eq!(db.get(b"k050").unwrap().unwrap(), b"newest");
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        iter.next();
    }
    iter.status().unwrap();
    drop(iter);
    let told = log.take();
    let opened = |words: &str| {
        told.lines()
            .any(|line| line.contains(".sst") && line.contains("open") && line.contains(words))
    };
    assert!(
        opened("temperature=0x4") && opened("temperature=0xc") && opened("temperature=0x8"),
        "{told}"
    );
    let count = |ticker| statistics.get_ticker_count(ticker);
    for ticker in [
        Ticker::HotFileReadBytes,
        Ticker::WarmFileReadCount,
        Ticker::ColdFileReadCount,
        Ticker::LastLevelReadBytes,
        Ticker::NonLastLevelReadCount,
    ] {
        assert!(count(ticker) > 0, "{ticker:?}");
    }
    assert_eq!(count(Ticker::IceFileReadCount), 0);
    assert_eq!(
        count(Ticker::LastLevelReadBytes),
        count(Ticker::ColdFileReadBytes)
    );
}

#[test]
fn reads_are_timed_by_level() {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        statistics: Some(Statistics::new()),
        ..Options::default()
    };
    options.column_family.streams_bypass_level0 = false;
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let histogram = || db.property(&family, "rocksdb.cf-file-histogram").unwrap();
    assert_eq!(
        histogram(),
        "\n** File Read Latency Histogram By Level [default] **\n"
    );
    db.put(b"a", b"1").unwrap();
    flush(&db);
    assert!(db.get(b"a").unwrap().is_some());
    assert!(histogram().contains("** Level 0 read latency histogram (micros):\nCount: "));
    assert!(!histogram().contains("** Level 6"));
    rewrite(&db);
    assert!(db.get(b"a").unwrap().is_some());
    assert!(histogram().contains("** Level 6 read latency histogram (micros):\nCount: "));
    let all = db.property(&family, "rocksdb.cfstats").unwrap();
    let without = db.property(&family, "rocksdb.cfstats-no-file-histogram").unwrap();
    assert!(all.contains("Read Latency Histogram") && !without.contains("Read Latency Histogram"));
}

#[test]
fn fifo_rewrites_files_by_their_age() {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000_000));
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        clock: clock.clone(),
        statistics: Some(Statistics::new()),
        ..Options::default()
    };
    let age = |temperature, age| FileTemperatureAge { temperature, age };
    options.column_family.compaction_style = CompactionStyle::Fifo;
    options.column_family.ttl = 10_000;
    options.column_family.compaction_options_fifo = CompactionOptionsFifo {
        file_temperature_age_thresholds: vec![age(Temperature::WARM, 100), age(Temperature::COLD, 1000)],
        ..CompactionOptionsFifo::default()
    };
    let db = Db::open(&options, DIR).unwrap();
    let file = |key: &str| {
        db.put(key.as_bytes(), b"value").unwrap();
        db.put(b"same", key.as_bytes()).unwrap();
        db.delete(format!("{key}-").as_bytes()).unwrap();
        flush(&db);
    };
    // A file that is rewritten with another temperature keeps its rows and its place among the files.
    let look = |seconds: u64, expected: &[Temperature]| {
        clock.advance(Duration::from_secs(seconds));
        file("n");
        db.wait_for_compact().unwrap();
        let mut files = db.live_files();
        files.sort_by_key(|file| file.smallest_seqno);
        let found: Vec<_> = files.iter().map(|file| file.temperature).collect();
        assert_eq!(found, expected, "{files:?}");
        assert_eq!(db.get(b"same").unwrap().unwrap(), b"n");
    };
    let (none, warm, cold) = (Temperature::UNKNOWN, Temperature::WARM, Temperature::COLD);
    file("a");
    look(50, &[none, none]);
    look(60, &[warm, none, none]);
    look(950, &[cold, cold, warm, none]);
    // The rewrite with another temperature has not made the file younger: it is dropped by its `ttl`.
    look(8_990, &[cold, cold, cold, none]);
    assert!(db.get(b"a").unwrap().is_none(), "older than ttl");

    for (wrong, words) in [
        (
            "{file_temperature_age_thresholds={{temperature=kCold;age=5;}:{temperature=kWarm;age=5;}}}",
            "ages must rise",
        ),
        (
            "{allow_trivial_copy_when_change_temperature=true}",
            "compaction_options_fifo",
        ),
        (
            "{file_temperature_age_thresholds={{temperature=kHotter;age=5;}}}",
            "compaction_options_fifo",
        ),
    ] {
        let error = db
            .set_options(&db.default_column_family(), &[("compaction_options_fifo", wrong)])
            .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let small = [("compaction_options_fifo", "{max_table_files_size=1;}")];
    db.set_options(&db.default_column_family(), &small).unwrap();
    file("z");
    db.wait_for_compact().unwrap();
    db.close().unwrap();
    let compactions = [
        Ticker::FifoChangeTemperatureCompactions,
        Ticker::FifoTtlCompactions,
        Ticker::FifoMaxSizeCompactions,
    ];
    let [changed, aged, too_many] = compactions.map(|ticker| db.statistics().get(ticker));
    // There is one rewrite for each file that became warm or cold.
    assert!(
        changed >= 4 && aged == 1 && too_many >= 1,
        "{changed} {aged} {too_many}"
    );
}

#[test]
fn ingested_files_have_the_temperature_they_are_said_to_have() {
    let (_, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    let file = write_file(&options, "1", &["a:1"]);
    let ingested = IngestExternalFileArg {
        file_temperature: Temperature::ICE,
        ..IngestExternalFileArg::new(
            &db.default_column_family(),
            [file],
            IngestExternalFileOptions::default(),
        )
    };
    db.ingest_external_files(&[ingested]).unwrap();
    assert_eq!(temperatures(&db), [(6, Temperature::ICE)]);
    assert_eq!(rows_of(&db), ["a=1"]);
}

#[test]
fn rocksdb_knows_the_temperatures() {
    let Some(mut ldb) = testkit::oracle::ldb() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.last_level_temperature = Temperature::COLD;
    let db = Db::open(&options, &path).unwrap();
    db.put(b"a", b"1").unwrap();
    rewrite(&db);
    assert_eq!(temperatures(&db), [(6, Temperature::COLD)]);
    drop(db);
    let manifest = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.display().to_string().contains("MANIFEST"))
        .unwrap();
    let dump = ldb
        .arg("manifest_dump")
        .arg(format!("--path={}", manifest.display()))
        .args(["--verbose", "--json"])
        .output()
        .unwrap();
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned() + &String::from_utf8_lossy(&dump.stderr);
    assert!(dump.contains("emperature"), "{dump}");
    assert!(Path::new(&path).exists());
}

#[test]
fn what_writes_cost_is_told_in_one_table() {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.streams_bypass_level0 = false;
    options.column_family.compression_per_level = vec![
        esker::CompressionType::None,
        esker::CompressionType::Lz4,
        esker::CompressionType::Zstd,
    ];
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    for round in 0..2u8 {
        for key in 0..2000 {
            db.put(format!("k{key:05}").as_bytes(), [round; 100]).unwrap();
        }
        flush(&db);
        rewrite(&db);
    }
    let text = db.property(&family, "esker.write-cost").unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["**", "Cost", "of", "Writes", "[default]", "**"]);
    assert_eq!(rows[2].len(), rows[3].len(), "{text}");
    let cell = |name: &str| -> f64 {
        let at = rows[2].iter().position(|head| *head == name).unwrap();
        rows[3][at].parse().unwrap()
    };
    assert!(
        cell("wps") > 0.0 && cell("cpu/w(us)") >= 0.0 && cell("stall%") < 100.0,
        "{text}"
    );
    // Each round of rows was flushed, and compacted with all earlier rows.
    assert!((1.0..4.0).contains(&cell("w-amp")), "{text}");
    let level = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).cloned();
    assert_eq!(level("L0").unwrap()[1..3], ["kNoCompression", "2"], "{text}");
    let below = rows.last().unwrap();
    assert!(
        below[0].starts_with('L') && below[1] != "kNoCompression",
        "{text}"
    );
    assert_eq!(below.len(), 6);
    db.reset_stats();
    let text = db.property(&family, "esker.write-cost").unwrap();
    assert!(!text.contains("\nL0"), "{text}");
}
