//! Frames of databases that do not change, at a fixed time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use testkit::datadriven;
use vfs::{FileSystem, MemFs};

use super::frame::{Sort, View, draw};
use serve::observe::{Observation, Observer};
use serve::process;

/// A database in memory.
struct State {
    fs: MemFs,
    clock: Arc<ManualClock>,
    observer: Option<Observer>,
    before: Option<Observation>,
}

const DIR: &str = "/db";

impl State {
    fn new() -> State {
        let clock = Arc::new(ManualClock::default());
        State {
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
        |_| State::new(),
        |state, case| match case.directive.as_str() {
            // A database that RocksDB wrote, by the name of its directory.
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
            // A frame: a family, an order, the width.
            "frame" => {
                let mut words = case.input.split_whitespace();
                let family = words.next().filter(|&name| name != "-").map(str::to_owned);
                let sort = match words.next() {
                    Some("name") => Sort::Name,
                    Some("size") => Sort::Size,
                    Some("score") => Sort::Score,
                    _ => Sort::Id,
                };
                let width = words.next().map_or(120, |width| width.parse().unwrap());
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
