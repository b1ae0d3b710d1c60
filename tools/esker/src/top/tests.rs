//! Frames of databases that do not change, at a fixed time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use testkit::datadriven;
use vfs::{FileSystem, MemFs};

use super::frame::{Sort, View, draw};
use super::layout::UNLIMITED;
use serve::observe::{Family, Level, Observation, Observer, Wal};
use serve::process;

/// A database in memory.
struct TestDatabase {
    fs: MemFs,
    clock: Arc<ManualClock>,
    observer: Option<Observer>,
    before: Option<Observation>,
}

const DIR: &str = "/db";

impl TestDatabase {
    fn new() -> TestDatabase {
        let clock = Arc::new(ManualClock::default());
        TestDatabase {
            fs: MemFs::with_clock(clock.clone()),
            clock,
            observer: None,
            before: None,
        }
    }

    /// Copies a database that RocksDB wrote.
    fn copy(&self, name: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata/rocksdb-11.9")
            .join(name);
        self.fs.create_dir_all(Path::new(DIR)).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let bytes = std::fs::read(entry.path()).unwrap();
            self.fs
                .write_file(&Path::new(DIR).join(entry.file_name()), &bytes)
                .unwrap();
        }
    }
}

#[test]
fn frames() {
    datadriven::run(
        "testdata/top",
        |_| TestDatabase::new(),
        |state, case| match case.directive.as_str() {
            // Each directive names a database that RocksDB wrote by its directory.
            "copy" => {
                state.copy(case.input.trim());
                String::new()
            }
            // Empties the directory.
            "remove" => {
                for name in state.fs.list(Path::new(DIR)).unwrap() {
                    state.fs.remove(&Path::new(DIR).join(name)).unwrap();
                }
                String::new()
            }
            // Adds these lines to LOG.
            "log" => {
                let path = Path::new(DIR).join("LOG");
                let mut bytes = state.fs.read_file(&path).unwrap_or_default();
                bytes.extend_from_slice(case.input.as_bytes());
                state.fs.write_file(&path, &bytes).unwrap();
                String::new()
            }
            // Begins a new LOG with these lines.
            "new_log" => {
                let path = Path::new(DIR).join("LOG");
                state.fs.write_file(&path, case.input.as_bytes()).unwrap();
                String::new()
            }
            "sleep" => {
                let seconds = case.input.trim().parse().unwrap();
                state.clock.advance(Duration::from_secs(seconds));
                String::new()
            }
            // The arguments of a frame are a family, an order and the width.
            "frame" => {
                let mut words = case.input.split_whitespace();
                let family = words.next().filter(|&name| name != "-").map(str::to_owned);
                let sort = match words.next() {
                    Some("name") => Sort::Name,
                    Some("size") => Sort::Size,
                    Some("score") => Sort::Score,
                    _ => Sort::Id,
                };
                let width = words.next().map_or(120, |width| match width {
                    "script" => UNLIMITED,
                    width => width.parse().unwrap(),
                });
                let (fs, clock) = (Arc::new(state.fs.clone()), state.clock.clone());
                let observer = state
                    .observer
                    .get_or_insert_with(|| Observer::new(fs, clock, Path::new(DIR), None, None));
                let now = observer.look().unwrap();
                let view = View {
                    family,
                    sort,
                    width,
                    height: None,
                };
                let frame = draw(&now, state.before.as_ref(), &view);
                state.before = Some(now);
                frame
            }
            other => panic!("unknown directive {other}"),
        },
    );
}

/// A database with everything that a frame has columns and lines for.
fn full(name: &str) -> Observation {
    let level = |level: usize| Level {
        level,
        files: 10_000,
        bytes: 999 << 40,
        score: Some(100.25),
        compacting: 120,
    };
    let family = |name: &str| Family {
        name: name.to_owned(),
        log_number: 1,
        levels: (0..7).map(level).collect(),
        blob_files: 1_000_000,
        blob_bytes: 1 << 50,
        pending_compaction_bytes: 3 << 40,
    };
    let mut log = serve::info_log::Told::default();
    log.exists = true;
    log.dumped = Some("2026/01/01-00:01:02.000001".to_owned());
    log.stalled.insert(
        name.to_owned(),
        "because of estimated pending compaction bytes 1".to_owned(),
    );
    log.errors
        .push_back("2026/01/01-00:01:01.000002 2 [ERROR] [/log/a.rs:9] Background error".to_owned());
    log.cache.push("Block cache".repeat(30));
    Observation {
        dir: Path::new("/a/directory/with a long name").join(name),
        unix_seconds: 1_000_000,
        manifest: "MANIFEST-000005".to_owned(),
        edits: 123_456,
        manifest_bytes: 5 << 30,
        last_sequence: 1 << 55,
        families: vec![family("default"), family(name)],
        wals: vec![Wal {
            number: 1_000_000,
            bytes: 1 << 30,
            begun: Some(1),
            written: 3,
            needed: true,
        }],
        log,
        process: Some(process::Process {
            id: 4_194_304,
            name: "server".to_owned(),
            resident: 100 << 30,
            io: Some((1 << 50, 1 << 50)),
        }),
    }
}

#[test]
fn every_line_keeps_to_the_width_of_the_terminal() {
    for name in [
        "own",
        "a family whose name is longer than a terminal of sixty columns is wide",
        "库库库库库库",
    ] {
        let mut before = full(name);
        before.unix_seconds -= 1;
        before.last_sequence = 0;
        for width in 20..=250 {
            let view = View {
                family: None,
                sort: Sort::Id,
                width,
                height: None,
            };
            let frame = draw(&full(name), Some(&before), &view);
            let columns = |line: &str| {
                let wide = line.chars().filter(|c| *c == '库').count();
                line.chars().count() + wide
            };
            for line in frame.lines() {
                assert!(columns(line) <= width, "{width}: {line:?}\n{frame}");
                assert_eq!(line.trim_end(), line);
            }
            let table = |line: &&str| line.starts_with("family ") || line.starts_with("default ");
            let rows: Vec<&str> = frame.lines().filter(table).collect();
            assert_eq!(rows.len(), 2, "{frame}");
            if width >= 36 {
                assert!(rows.iter().all(|row| columns(row) == width), "{width}:\n{frame}");
            }
        }
    }
}

#[test]
fn the_holder_of_a_lock_is_found() {
    let locks = "1: FLOCK  ADVISORY  WRITE 7 fe:00:12 0 EOF\n\
                 2: POSIX  ADVISORY  READ 8 fe:00:1234 0 EOF\n\
                 3: POSIX  ADVISORY  WRITE 4321 fe:00:1234 0 EOF\n";
    assert_eq!(process::holder_in(locks, "fe:00:1234"), Some(4321));
    assert_eq!(process::holder_in(locks, "fe:00:123"), None);
    let status = "Name:\tserver\nUmask:\t0022\nVmRSS:\t    2048 kB\n";
    let io = "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\n";
    let process = process::described(4321, status, Some(io));
    assert_eq!(
        (&*process.name, process.resident, process.io),
        ("server", 2 << 20, Some((4096, 8192)))
    );
    assert_eq!(process::described(1, "", None).io, None);
}
