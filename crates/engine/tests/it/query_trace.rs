//! Query traces: RocksDB's format, replay, and errors for damaged traces.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::merge::StringAppend;
use esker::{
    ColumnFamily, ColumnFamilyOptions, Db, Error, ErrorKind, FileTraceReader, FileTraceWriter, ManualClock,
    Options, ReadOptions, ReplayOptions, Replayed, Replayer, Result, TraceOptions, TraceWriter, TracedQuery,
    WriteBatch, WriteOptions,
};
use vfs::{MemFs, PosixFs};

/// Options of a replay without waiting.
const FAST: ReplayOptions = ReplayOptions {
    num_threads: 1,
    fast_forward: 1e12,
};

/// A trace in the format of RocksDB 11.8: a header, a write, a Get, a seek with an upper bound, a backward
/// seek with a lower bound, a MultiGet, the end. Each record is a microsecond later than the previous one.
const GOLDEN: [&str; 7] = [
    "0100000000000000 01 5b000000 66656564636166656465616462656566095472616365205665727369\
     6f6e3a20302e3209526f636b7344422056657273696f6e3a2031312e3809466f726d61743a2054696d657374\
     616d70204f7054797065205061796c6f61640a",
    "0200000000000000 03 1a000000 0200000000000000 11 0100000000000000 01000000 01016b0176",
    "0300000000000000 04 0e000000 0c00000000000000 00000000 016b",
    "0400000000000000 05 10000000 b000000000000000 00000000 016b 017a",
    "0500000000000000 06 10000000 7000000000000000 00000000 016b 0161",
    "0600000000000000 0d 1a000000 0007000000000000 02000000 08 00000000 00000000 04 016b 0178",
    "0700000000000000 02 00000000",
];

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn golden() -> Vec<u8> {
    GOLDEN.iter().flat_map(|record| bytes_of(record)).collect()
}

fn with_merges() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        merge_operator: Some(Arc::new(StringAppend::new(","))),
        ..ColumnFamilyOptions::default()
    }
}

/// A database in memory.
struct World {
    fs: Arc<MemFs>,
    clock: Arc<ManualClock>,
    db: Db,
}

impl World {
    fn new() -> World {
        let (fs, clock) = (Arc::new(MemFs::new()), Arc::new(ManualClock::default()));
        let options = Options {
            create_if_missing: true,
            fs: fs.clone(),
            clock: clock.clone(),
            column_family: with_merges(),
            ..Options::default()
        };
        World {
            db: Db::open(&options, Path::new("db")).unwrap(),
            fs,
            clock,
        }
    }

    fn tick(&self) {
        self.clock.advance(Duration::from_micros(1));
    }

    fn start(&self, options: &TraceOptions) {
        let writer = FileTraceWriter::create(&*self.fs, Path::new("trace")).unwrap();
        self.db.start_trace(options, Box::new(writer)).unwrap();
    }

    fn put(&self, bytes: &[u8]) -> PathBuf {
        use vfs::FileSystem;
        let path = PathBuf::from("written");
        let mut file = self.fs.create(&path, &vfs::CreateOptions::default()).unwrap();
        file.append(bytes).unwrap();
        file.close().unwrap();
        path
    }

    fn replayer(&self, path: &Path) -> Replayer {
        let reader = FileTraceReader::open(&*self.fs, path).unwrap();
        Replayer::new(&self.db, &self.db.column_families(), reader)
    }

    fn queries(&self) -> Vec<TracedQuery> {
        let mut replayer = self.replayer(Path::new("trace"));
        replayer.prepare().unwrap();
        std::iter::from_fn(|| replayer.next_record().unwrap().map(|record| record.query)).collect()
    }
}

/// Runs the queries of [`GOLDEN`].
fn ask(world: &World) {
    let db = &world.db;
    let default = db.default_column_family();
    world.tick();
    world.start(&TraceOptions::default());
    world.tick();
    db.put(b"k", b"v").unwrap();
    world.tick();
    db.get(b"k").unwrap();
    world.tick();
    let upper = ReadOptions {
        iterate_upper_bound: Some(b"z".to_vec()),
        ..ReadOptions::default()
    };
    db.iter_opt(&upper).seek(b"k");
    world.tick();
    let lower = ReadOptions {
        iterate_lower_bound: Some(b"a".to_vec()),
        ..ReadOptions::default()
    };
    let mut iter = db.iter_opt(&lower);
    iter.seek_for_prev(b"k");
    iter.next();
    world.tick();
    db.multi_get_cf(&default, &[b"k", b"x"]);
    world.tick();
    db.end_trace().unwrap();
    db.get(b"k").unwrap();
}

#[test]
fn a_trace_has_the_bytes_of_rocksdb_and_is_read_back_record_for_record() {
    let world = World::new();
    ask(&world);
    let mut reader = FileTraceReader::open(&*world.fs, Path::new("trace")).unwrap();
    for turn in 0..2 {
        for record in GOLDEN {
            assert_eq!(reader.read().unwrap(), Some(bytes_of(record)), "turn {turn}");
        }
        assert_eq!(reader.read().unwrap(), None);
        reader.reset().unwrap();
    }
    reader.close().unwrap();
    assert_eq!(reader.read().unwrap_err().kind(), ErrorKind::Io);

    let mut replayer = world.replayer(Path::new("trace"));
    assert_eq!(
        replayer.next_record().unwrap_err().to_string(),
        "Result incomplete: Not prepared!"
    );
    replayer.prepare().unwrap();
    assert_eq!(replayer.header_timestamp(), 1);
    let times: Vec<u64> = std::iter::from_fn(|| Some(replayer.next_record().unwrap()?.timestamp)).collect();
    assert_eq!(times, [2, 3, 4, 5, 6]);
    let key = b"k".to_vec();
    let batch = bytes_of(GOLDEN[1])[22..].to_vec();
    assert_eq!(WriteBatch::from_data(&batch).unwrap().count(), 1);
    let seek = |for_prev, lower: &[u8], upper: &[u8]| TracedQuery::Seek {
        for_prev,
        family: 0,
        key: key.clone(),
        lower: lower.to_vec(),
        upper: upper.to_vec(),
    };
    let expected = [
        TracedQuery::Write(batch),
        TracedQuery::Get {
            family: 0,
            key: key.clone(),
        },
        seek(false, b"", b"z"),
        seek(true, b"a", b""),
        TracedQuery::MultiGet(vec![(0, key.clone()), (0, b"x".to_vec())]),
    ];
    assert_eq!(world.queries(), expected);
}

#[test]
fn a_trace_of_the_first_version_is_read() {
    let world = World::new();
    let header = bytes_of(GOLDEN[0]);
    let version = header.windows(3).position(|three| three == b"0.2").unwrap();
    let mut old = header;
    old[version + 2] = b'1';
    old.extend(bytes_of(
        "02 00000000000000 03 11000000 0100000000000000 01000000 01016b0176",
    ));
    old.extend(bytes_of("03 00000000000000 04 06000000 00000000 016b"));
    let mut replayer = world.replayer(&world.put(&old));
    replayer.prepare().unwrap();
    replayer.replay(&FAST, None).unwrap();
    assert_eq!(world.db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

fn dump(db: &Db, family: &ColumnFamily) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = db.iter_cf(family);
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

#[test]
fn a_trace_replayed_gives_the_same_database() {
    let (from, to) = (World::new(), World::new());
    let other = |world: &World| world.db.create_column_family("other", &with_merges()).unwrap();
    let families = [&from, &to].map(|world| [world.db.default_column_family(), other(world)]);
    from.start(&TraceOptions::default());
    let mut rng = testkit::rng();
    let options = WriteOptions::default();
    for turn in 0..500 {
        let (key, end) = (format!("k{:02}", rng.u8(..40)), format!("k{:02}", rng.u8(..40)));
        let family = &families[0][rng.usize(..2)];
        let value = format!("v{turn}");
        let (key, end, value) = (key.as_bytes(), end.as_bytes(), value.as_bytes());
        match rng.u8(..6) {
            0 => from.db.merge_cf_opt(family, key, value, &options).unwrap(),
            1 => from.db.delete_cf_opt(family, key, &options).unwrap(),
            2 if key < end => from.db.delete_range_cf_opt(family, key, end, &options).unwrap(),
            3 => {
                let mut batch = WriteBatch::new();
                batch.put_cf(family, key, value);
                batch.delete(end);
                from.db.write_opt(batch, &options).unwrap();
            }
            4 => drop(from.db.get_cf(family, key).unwrap()),
            _ => from.db.put_cf_opt(family, key, value, &options).unwrap(),
        }
    }
    from.db.end_trace().unwrap();
    let reader = FileTraceReader::open(&*from.fs, Path::new("trace")).unwrap();
    let mut replayer = Replayer::new(&to.db, &families[1], reader);
    replayer.prepare().unwrap();
    replayer.replay(&FAST, None).unwrap();
    let [of_from, of_to] = &families;
    for (traced, replayed) in of_from.iter().zip(of_to) {
        let rows = dump(&from.db, traced);
        assert!(rows.len() > 10);
        assert_eq!(dump(&to.db, replayed), rows, "{traced:?}");
    }
    assert_eq!(to.db.latest_sequence_number(), from.db.latest_sequence_number());
    let again = replayer.replay(&FAST, None).unwrap_err();
    assert_eq!(again.to_string(), "Result incomplete: Trace end.");
}

#[test]
fn threads_replay_each_query_once_and_hand_over_what_it_gave() {
    let world = World::new();
    world.db.put(b"k", b"v").unwrap();
    world.start(&TraceOptions::default());
    for _ in 0..100 {
        world.db.get(b"k").unwrap();
        world.db.iter().seek(b"a");
    }
    world.db.end_trace().unwrap();
    let results = Mutex::new(Vec::new());
    let options = ReplayOptions {
        num_threads: 3,
        ..FAST
    };
    let mut replayer = world.replayer(Path::new("trace"));
    replayer.prepare().unwrap();
    let each = |result: Result<Replayed>| results.lock().unwrap().push(result.unwrap());
    replayer.replay(&options, Some(&each)).unwrap();
    let results = results.into_inner().unwrap();
    let values = results
        .iter()
        .filter(|given| matches!(given, Replayed::Value(Some(value)) if value == b"v"));
    assert_eq!((values.count(), results.len()), (100, 200));
    let stands = results.iter().filter(
        |given| matches!(given, Replayed::Stands(Some((key, value))) if key == b"k" && value == b"v"),
    );
    assert_eq!(stands.count(), 100);

    let panics = |_: Result<Replayed>| panic!("a result that no one wants");
    replayer.prepare().unwrap();
    let failed = replayer.replay(&options, Some(&panics)).unwrap_err();
    assert_eq!(failed.message(), "a result that no one wants");

    // The replayer does not have the family that the trace names.
    let reader = FileTraceReader::open(&*world.fs, Path::new("trace")).unwrap();
    let mut replayer = Replayer::new(&world.db, &[], reader);
    for options in [&FAST, &options] {
        replayer.prepare().unwrap();
        let failed = replayer.replay(options, None).unwrap_err();
        assert_eq!(failed.to_string(), "Corruption: Invalid Column Family ID.");
    }
    for fast_forward in [0.0, -1.0, f64::NAN] {
        let wrong = ReplayOptions {
            num_threads: 1,
            fast_forward,
        };
        let refused = replayer.replay(&wrong, None).unwrap_err();
        assert_eq!(refused.to_string(), "Invalid argument: Wrong fast forward speed!");
    }
}

#[test]
fn filter_sampling_and_size_leave_queries_out() {
    let world = World::new();
    let asked = |options: TraceOptions| {
        world.start(&options);
        for turn in 0..10 {
            world.db.put(format!("{turn}").as_bytes(), b"").unwrap();
            world.db.get(b"k").unwrap();
        }
        world.db.end_trace().unwrap();
        let queries = world.queries();
        let writes = queries
            .iter()
            .filter(|query| matches!(query, TracedQuery::Write(_)));
        (writes.count(), queries.len())
    };
    let filtered = |filter| TraceOptions {
        filter,
        ..TraceOptions::default()
    };
    assert_eq!(asked(TraceOptions::default()), (10, 20));
    assert_eq!(asked(filtered(TraceOptions::FILTER_GET)), (10, 10));
    assert_eq!(asked(filtered(TraceOptions::FILTER_WRITE)), (0, 10));
    let third = TraceOptions {
        sampling_frequency: 3,
        ..filtered(TraceOptions::FILTER_GET)
    };
    assert_eq!(asked(third), (3, 3));
    let small = TraceOptions {
        max_trace_file_size: 104 + 2 * 38,
        ..filtered(TraceOptions::FILTER_GET)
    };
    assert_eq!(
        asked(small),
        (3, 3),
        "the record that goes beyond the limit is the last"
    );
}

#[test]
fn a_second_trace_ends_the_first_and_closing_ends_any() {
    let world = World::new();
    let nothing = world.db.end_trace().unwrap_err();
    assert_eq!(nothing.to_string(), "IO error: No trace file to close");
    world.start(&TraceOptions::default());
    world.db.get(b"k").unwrap();
    let second = FileTraceWriter::create(&*world.fs, Path::new("second")).unwrap();
    world
        .db
        .start_trace(&TraceOptions::default(), Box::new(second))
        .unwrap();
    assert_eq!(world.queries().len(), 1);
    world.db.put(b"a", b"").unwrap();
    world.db.close().unwrap();
    let mut reader = FileTraceReader::open(&*world.fs, Path::new("second")).unwrap();
    let types: Vec<u8> = std::iter::from_fn(|| Some(reader.read().unwrap()?[8])).collect();
    assert_eq!(types, [1, 3, 2]);
    let third = FileTraceWriter::create(&*world.fs, Path::new("third")).unwrap();
    let closed = world.db.start_trace(&TraceOptions::default(), Box::new(third));
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::ShutdownInProgress);
}

/// A trace writer that accepts a number of records and then fails, or panics.
struct Failing {
    left: Arc<AtomicU64>,
    panics: bool,
}

impl TraceWriter for Failing {
    fn write(&mut self, _record: &[u8]) -> Result<()> {
        if self.left.load(Ordering::SeqCst) == 0 {
            assert!(!self.panics, "planted");
            return Err(Error::new(ErrorKind::NoSpace, "planted"));
        }
        self.left.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn file_size(&self) -> u64 {
        0
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn queries_go_on_where_the_trace_fails() {
    for (panics, kind) in [(false, ErrorKind::NoSpace), (true, ErrorKind::Panicked)] {
        let world = World::new();
        let left = Arc::new(AtomicU64::new(2));
        let writer = Failing {
            left: left.clone(),
            panics,
        };
        world
            .db
            .start_trace(&TraceOptions::default(), Box::new(writer))
            .unwrap();
        for turn in 0..4 {
            world.db.put(b"k", format!("{turn}").as_bytes()).unwrap();
        }
        assert_eq!(world.db.get(b"k").unwrap().as_deref(), Some(&b"3"[..]));
        left.store(9, Ordering::SeqCst);
        assert_eq!(world.db.end_trace().unwrap_err().kind(), kind);
        assert_eq!(left.load(Ordering::SeqCst), 9, "nothing follows what is missing");
    }
}

/// Reads the whole trace, and then replays it.
fn replay(world: &World, bytes: &[u8]) -> Result<()> {
    let mut replayer = world.replayer(&world.put(bytes));
    replayer.prepare()?;
    replayer.replay(&FAST, None)
}

#[test]
fn damaged_traces_are_errors_with_file_and_offset() {
    let (world, whole) = (World::new(), golden());
    replay(&world, &whole).unwrap();
    let starts: Vec<usize> = GOLDEN
        .iter()
        .scan(0, |at, record| {
            let start = *at;
            *at += bytes_of(record).len();
            Some(start)
        })
        .collect();
    for cut in 0..whole.len() {
        let result = replay(&world, &whole[..cut]);
        match starts.contains(&cut) {
            true if cut > 0 => result.unwrap(),
            true => assert_eq!(result.unwrap_err().kind(), ErrorKind::Incomplete),
            false => {
                let error = result.unwrap_err();
                let start = *starts.iter().rfind(|start| **start < cut).unwrap();
                assert!(error.is_corruption(), "{cut}: {error}");
                assert_eq!(error.offset(), Some(start as u64), "{cut}: {error}");
                assert!(error.file().is_some());
            }
        }
    }
    // Bytes of times are not flipped, because a wrong time makes the replay wait.
    let times: Vec<usize> = starts.iter().flat_map(|start| *start..start + 8).collect();
    for at in (0..whole.len()).filter(|at| !times.contains(at)) {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            if let Err(error) = replay(&world, &damaged) {
                let known = [ErrorKind::Corruption, ErrorKind::InvalidArgument];
                assert!(known.contains(&error.kind()), "{at}.{bit}: {error}");
            }
        }
    }
}

#[test]
fn a_missing_file_is_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let missing = FileTraceReader::open(&PosixFs::new(), &dir.path().join("none"));
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}
