//! Compaction styles: databases used by Esker and RocksDB in turn, and compactions that are due by time
//! alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use dbtest::by_hand::{compact, flush};
use dbtest::events::Recorder;
use dbtest::files;
use esker::{
    CompactRangeOptions, CompactionStyle, CompressionType, Db, Event, Options, OptionsFile, ReadOptions,
};
use tempfile::TempDir;
use testkit::{oracle, rng};
use vfs::MemFs;

/// Writes the keys of several flushes, each over part of the previous ones, and prints the contents of the
/// database.
const RDICT_WRITES: &str = r#"
import sys
from rocksdict import Rdict, Options, DBCompactionStyle, UniversalCompactOptions, FifoCompactOptions
path, style = sys.argv[1], sys.argv[2]
o = Options(raw_mode=True)
o.create_if_missing(True)
if style == "universal":
    o.set_compaction_style(DBCompactionStyle.universal())
    u = UniversalCompactOptions()
    u.size_ratio = 7
    u.min_merge_width = 3
    o.set_universal_compaction_options(u)
elif style == "fifo":
    o.set_compaction_style(DBCompactionStyle.fifo())
    f = FifoCompactOptions()
    f.max_table_files_size = 123456789
    o.set_fifo_compaction_options(f)
d = Rdict(path, options=o)
for round in range(int(sys.argv[3]), int(sys.argv[4])):
    for i in range(round * 50, round * 50 + 200):
        d[b"k%06d" % i] = b"r%d-%d" % (round, i)
    d.flush()
for key, value in d.items():
    print(key.decode(), value.decode())
d.close()
"#;

fn rdict_writes(dir: &Path, style: &str, rounds: std::ops::Range<u32>) -> Option<String> {
    let output = oracle::rocksdict()?
        .args(["-c", RDICT_WRITES])
        .arg(dir)
        .args([style, &rounds.start.to_string(), &rounds.end.to_string()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

fn write_rounds(db: &Db, rounds: std::ops::Range<u32>) {
    for round in rounds {
        for i in round * 50..round * 50 + 200 {
            let (key, value) = (format!("k{i:06}"), format!("r{round}-{i}"));
            db.put(key.as_bytes(), value.as_bytes()).unwrap();
        }
        flush(db);
    }
}

fn rows(db: &Db) -> String {
    let mut rows = String::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        let (key, value) = (
            String::from_utf8_lossy(iter.key()),
            String::from_utf8_lossy(iter.value()),
        );
        rows.push_str(&format!("{key} {value}\n"));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn ldb_scan(dir: &Path) -> Option<String> {
    let output = oracle::ldb()?
        .arg(format!("--db={}", dir.display()))
        .arg("scan")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.replace(" : ", " ").replace(" ==> ", " "))
}

/// The options of the last open of a database.
fn stored(dir: &Path) -> Options {
    let (_, file) = OptionsFile::newest(&vfs::PosixFs::new(), dir).unwrap().unwrap();
    let (mut options, unknown) = file.options();
    let ours = [
        "compaction_style",
        "compaction_options_universal",
        "compaction_options_fifo",
        "ttl",
    ];
    assert!(
        !unknown.iter().any(|(_, name)| ours.contains(&&name[..])),
        "{unknown:?}"
    );
    options.error_if_exists = false;
    options
}

#[test]
fn universal_databases_change_hands() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let Some(theirs) = rdict_writes(&path, "universal", 0..7) else {
        return;
    };
    let mut options = stored(&path);
    let family = &mut options.column_family;
    assert_eq!(family.compaction_style, CompactionStyle::Universal);
    assert_eq!(
        (
            family.compaction_options_universal.size_ratio,
            family.compaction_options_universal.min_merge_width
        ),
        (7, 3)
    );
    family.compression = CompressionType::None;
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(rows(&db), theirs);
    write_rounds(&db, 5..14);
    db.wait_for_compact().unwrap();
    files::check(&db).unwrap();
    let ours = rows(&db);
    db.close().unwrap();
    drop(db);

    assert_eq!(rdict_writes(&path, "universal", 0..0).unwrap(), ours);
    rdict_writes(&path, "universal", 12..20).unwrap();
    let db = Db::open(&options, &path).unwrap();
    write_rounds(&db, 18..24);
    let all = rows(&db);
    compact(&db);
    let levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    assert!(levels.iter().all(|&level| level == 6), "{levels:?}");
    assert_eq!(rows(&db), all);
    files::check(&db).unwrap();
    db.close().unwrap();
    drop(db);
    let read = rdict_writes(&path, "universal", 0..0).unwrap();
    assert_eq!(read, all);
}

#[test]
fn fifo_databases_change_hands() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let Some(theirs) = rdict_writes(&path, "fifo", 0..3) else {
        return;
    };
    let options = stored(&path);
    let family = &options.column_family;
    assert_eq!(family.compaction_style, CompactionStyle::Fifo);
    assert_eq!(family.compaction_options_fifo.max_table_files_size, 123_456_789);
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(rows(&db), theirs);
    write_rounds(&db, 2..5);
    let ours = rows(&db);
    db.close().unwrap();
    drop(db);
    assert_eq!(rdict_writes(&path, "fifo", 0..0).unwrap(), ours);
}

#[test]
fn an_older_rocksdb_reads_every_style_by_the_options_we_write() {
    for settings in [
        "compaction_style=kCompactionStyleUniversal num_levels=1 level0_file_num_compaction_trigger=3",
        "compaction_style=kCompactionStyleUniversal compaction_options_universal={size_ratio=30;allow_trivial_move=true;}",
        "compaction_style=kCompactionStyleFIFO compaction_options_fifo={allow_compaction=true;} ttl=5000",
        "ttl=0 periodic_compaction_seconds=77",
    ] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("db");
        let mut options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        for setting in settings.split(' ') {
            let (name, value) = setting.split_once('=').unwrap();
            dbtest::settings::set(&mut options, name, value).unwrap();
        }
        let db = Db::open(&options, &path).unwrap();
        write_rounds(&db, 0..9);
        db.wait_for_compact().unwrap();
        let ours = rows(&db);
        db.close().unwrap();
        let Some(scanned) = ldb_scan(&path) else {
            return;
        };
        assert_eq!(scanned, ours, "{settings}");
    }
}

/// The expected rows of a database, and of snapshots.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn read_all(db: &Db, options: &ReadOptions) -> Rows {
    let mut rows = Rows::new();
    let mut iter = db.iter_opt(options);
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// Random histories with another style at each open. FIFO compaction has room for everything, so that it only
/// drops rows under range tombstones.
#[test]
fn a_family_may_change_its_style_at_every_open() {
    let mut rng = rng();
    for _ in 0..6 {
        let fs: Arc<dyn vfs::FileSystem> = Arc::new(MemFs::new());
        let mut model = Rows::new();
        let levels = rng.i32(1..8);
        for _ in 0..rng.usize(2..6) {
            let styles = [
                CompactionStyle::Level,
                CompactionStyle::Universal,
                CompactionStyle::Universal,
                CompactionStyle::Fifo,
                CompactionStyle::None,
            ];
            let mut options = Options {
                create_if_missing: true,
                fs: fs.clone(),
                max_background_jobs: rng.i32(1..5),
                max_subcompactions: rng.u32(1..4),
                ..Options::default()
            };
            let family = &mut options.column_family;
            dbtest::settings::draw(&mut rng, family);
            family.compaction_style = *rng.pick(&styles[usize::from(levels == 1)..]);
            family.num_levels = levels;
            family.write_buffer_size = 8192;
            family.ttl = 0;
            let db = Db::open(&options, "/db").unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read_all(&db, &ReadOptions::default()), model);
            let mut held = Vec::new();
            for i in 0..rng.usize(100..600) {
                let key = format!("k{:03}", rng.u32(..200)).into_bytes();
                match rng.u32(..100) {
                    0..70 => {
                        let value = vec![b'v'; rng.usize(..300)];
                        db.put(&key, &value).unwrap();
                        model.insert(key, value);
                    }
                    70..85 => {
                        db.delete(&key).unwrap();
                        model.remove(&key);
                    }
                    85..90 => {
                        let end = [&key[..], b"z"].concat();
                        let begin = key[..rng.usize(1..=3)].to_vec();
                        let cf = db.default_column_family();
                        db.delete_range_cf(&cf, &begin, &end).unwrap();
                        model.retain(|key, _| key < &begin || key >= &end);
                    }
                    90..94 => db.flush().unwrap(),
                    94..96 => {
                        let cf = db.default_column_family();
                        let options = CompactRangeOptions::default();
                        db.compact_range_cf_opt(&cf, Some(&key), None, &options).unwrap();
                    }
                    96..98 => held.push((db.snapshot(), model.clone(), i)),
                    _ => {
                        if !held.is_empty() {
                            held.swap_remove(rng.usize(..held.len()));
                        }
                    }
                }
            }
            files::check(&db).unwrap();
            assert_eq!(read_all(&db, &ReadOptions::default()), model);
            for (snapshot, rows, at) in held {
                let options = ReadOptions {
                    snapshot: Some(snapshot),
                    ..ReadOptions::default()
                };
                assert_eq!(read_all(&db, &options), rows, "the snapshot of operation {at}");
            }
            db.wait_for_compact().unwrap();
            files::check(&db).unwrap();
            db.close().unwrap();
        }
    }
}

/// The job of a compaction, its first level, and the number of its threads up to one that begins. They begin
/// in any order.
fn division(event: &Event) -> Option<(u64, usize, usize)> {
    match event {
        Event::SubcompactionBegun {
            job,
            subcompaction,
            base_input_level,
            ..
        } => Some((*job, *base_input_level, subcompaction + 1)),
        _ => None,
    }
}

#[test]
fn universal_divides_merges_that_level_0_has_no_part_in() {
    for (style, expected) in [
        (CompactionStyle::Universal, (6, 4)),
        (CompactionStyle::Level, (6, 1)),
    ] {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_000_000));
        let divided = Recorder::of(division);
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            clock: clock.clone(),
            listeners: vec![divided.clone()],
            max_subcompactions: 4,
            ..Options::default()
        };
        let family = &mut options.column_family;
        family.compaction_style = style;
        family.compression = CompressionType::None;
        family.target_file_size_base = 4 << 10;
        family.periodic_compaction_seconds = 100;
        let db = Db::open(&options, "/db").unwrap();
        for key in 0..2000 {
            db.put(format!("k{key:04}").as_bytes(), [7; 20]).unwrap();
        }
        flush(&db);
        compact(&db);
        assert!(db.live_files().iter().all(|file| file.level == 6));
        let before = rows(&db);
        divided.take();
        clock.advance(Duration::from_secs(200));
        // The change of an option makes the database look for files that are due by their age.
        db.set_options(&db.default_column_family(), &[("ttl", "1000000")])
            .unwrap();
        db.wait_for_compact().unwrap();
        let mut merges: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for (job, level, threads) in divided.all() {
            let merge = merges.entry(job).or_insert((level, 0));
            merge.1 = merge.1.max(threads);
        }
        assert!(
            !merges.is_empty() && merges.values().all(|merge| *merge == expected),
            "{merges:?}"
        );
        assert_eq!(rows(&db), before);
        files::check(&db).unwrap();
        db.close().unwrap();
    }
}
