//! Traces of I/O: RocksDB's bytes, the operations that are in them, and those that are not.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use esker::{
    Db, Error, ErrorKind, Event, EventListener, FileOperation, FileOperationType, FileTraceWriter,
    IoTraceReader, IoTraceRecord, ManualClock, Options, Result, TraceKind, TraceOptions, TraceWriter,
};
use vfs::{FileSystem, MemFs};

use crate::trace_files::{bytes_of, written};

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
            ..Options::default()
        };
        let db = Db::open(&options, Path::new("db")).unwrap();
        // A thread deletes the first MANIFEST of the new database. A trace must not record that.
        testkit::wait_until("the first MANIFEST is deleted", || {
            !fs.exists(Path::new("db/MANIFEST-000001")).unwrap()
        });
        World { db, fs, clock }
    }

    fn start(&self, options: &TraceOptions) {
        let writer = FileTraceWriter::create(&*self.fs, Path::new("trace")).unwrap();
        self.db.start_io_trace(options, Box::new(writer)).unwrap();
    }

    fn records(&self) -> Vec<IoTraceRecord> {
        records(&*self.fs, Path::new("trace")).unwrap()
    }
}

fn records(fs: &dyn FileSystem, path: &Path) -> Result<Vec<IoTraceRecord>> {
    let mut reader = IoTraceReader::open(fs, path)?;
    std::iter::from_fn(|| reader.next_record().transpose()).collect()
}

/// A trace by the format of RocksDB 11.8: a header, a read of 16 bytes at 32 that took 5 ns, a sync, a size,
/// a read with the id of its request.
const GOLDEN: [&str; 5] = [
    "0100000000000000 01 19000000 10 66656564636166656465616462656566 0b000000 08000000",
    "0200000000000000 0c 3b000000 0600000000000000 04 52656164 0500000000000000 02 4f4b 0a 3030303030392e737374 \
     1000000000000000 2000000000000000 0000000000000000",
    "0300000000000000 0c 2b000000 0000000000000000 04 53796e63 0000000000000000 02 4f4b 0a 3030303030342e6c6f67 0000000000000000",
    "0400000000000000 0c 32000000 0100000000000000 0b 47657446696c6553697a65 0000000000000000 02 4f4b 02 6462 \
     0700000000000000 0000000000000000",
    "0500000000000000 0c 3e000000 0600000000000000 04 52656164 0500000000000000 02 4f4b 0a 3030303030392e737374 \
     1000000000000000 2000000000000000 0100000000000000 02 7271",
];

fn golden() -> Vec<u8> {
    GOLDEN.iter().flat_map(|record| bytes_of(record)).collect()
}

#[test]
fn rocksdbs_bytes_are_read() {
    let world = World::new();
    let path = written(&*world.fs, &golden());
    let kind = TraceKind::of_file(&*world.fs, &path).unwrap();
    assert_eq!(kind, Some(TraceKind::Io));
    let found = records(&*world.fs, &path).unwrap();
    let read = IoTraceRecord {
        access_timestamp: 2,
        file_operation: "Read".to_owned(),
        latency: 5,
        io_status: "OK".to_owned(),
        file_name: "000009.sst".to_owned(),
        len: Some(16),
        offset: Some(32),
        ..IoTraceRecord::default()
    };
    assert_eq!(found[0], read);
    assert_eq!(
        (&*found[1].file_operation, found[1].len, found[1].file_size),
        ("Sync", None, None)
    );
    assert_eq!(found[2].file_size, Some(7));
    let with_request = IoTraceRecord {
        access_timestamp: 5,
        request_id: Some(b"rq".to_vec()),
        ..read
    };
    assert_eq!(found[3], with_request);
}

#[test]
fn a_trace_has_the_bytes_of_rocksdb() {
    let world = World::new();
    world.clock.advance(Duration::from_micros(1));
    world.start(&TraceOptions::default());
    world.clock.advance(Duration::from_micros(1));
    world.db.put(b"key", b"value").unwrap();
    world.db.end_io_trace().unwrap();
    world.db.put(b"key", b"not traced").unwrap();
    let bytes = world.fs.read_file(Path::new("trace")).unwrap();
    let header = bytes_of(GOLDEN[0]);
    assert_eq!(bytes[..header.len()], header);
    // The WAL was open before the trace. The record is an append of 39 bytes to it, 2,000 ns after the start
    // of the clock.
    let name = world.records()[0].file_name.clone();
    assert!(name.ends_with(".log"), "{name}");
    let append = format!(
        "d007000000000000 0c 35000000 0200000000000000 06 417070656e64 0000000000000000 02 4f4b 0a {} {:02x}00000000000000 \
         0000000000000000",
        name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>(),
        world.records()[0].len.unwrap()
    );
    assert_eq!(bytes[header.len()..], bytes_of(&append));
}

/// Operations on files of that kind.
fn on<'a>(records: &'a [IoTraceRecord], end: &str) -> Vec<&'a str> {
    let of_kind = records.iter().filter(|record| record.file_name.ends_with(end));
    of_kind.map(|record| &*record.file_operation).collect()
}

#[test]
fn files_opened_before_and_after_the_start_are_traced() {
    let world = World::new();
    world.db.put(b"a", b"1").unwrap();
    world.db.flush().unwrap();
    world.start(&TraceOptions::default());
    world.db.put(b"b", b"2").unwrap();
    world.db.flush().unwrap();
    assert_eq!(world.db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    world.db.end_io_trace().unwrap();
    let records = world.records();
    let tables = on(&records, ".sst");
    for operation in [
        "NewWritableFile",
        "Append",
        "Sync",
        "Close",
        "NewRandomAccessFile",
        "Read",
    ] {
        assert!(tables.contains(&operation), "{operation}: {tables:?}");
    }
    assert!(on(&records, ".log").contains(&"Append"));
    let manifest: Vec<_> = records
        .iter()
        .filter(|record| record.file_name.starts_with("MANIFEST"))
        .collect();
    assert!(
        manifest
            .iter()
            .any(|record| record.file_operation == "Append" && record.len > Some(0))
    );
    // The thread that deletes a WAL may look for cursors of change feeds, whose directory does not exist.
    let mut others = records
        .iter()
        .filter(|record| record.file_operation != "GetChildren");
    assert!(others.all(|record| record.io_status == "OK"), "{records:?}");
    let read = records
        .iter()
        .find(|record| record.file_operation == "Read")
        .unwrap();
    assert!(read.len.is_some() && read.offset.is_some());
}

#[test]
fn a_trace_on_the_databases_own_file_system_does_not_trace_itself() {
    let world = World::new();
    let fs = world.db.options().fs.clone();
    let writer = FileTraceWriter::create(&*fs, Path::new("trace")).unwrap();
    world
        .db
        .start_io_trace(&TraceOptions::default(), Box::new(writer))
        .unwrap();
    for turn in 0..1000 {
        world.db.put(format!("{turn}").as_bytes(), [0; 100]).unwrap();
    }
    world.db.end_io_trace().unwrap();
    let records = world.records();
    assert_eq!(
        on(&records, ".log")
            .iter()
            .filter(|operation| **operation == "Append")
            .count(),
        1000
    );
    assert!(records.len() < 1010);
    assert_eq!(on(&records, "trace"), [""; 0]);
}

/// Counts appends.
#[derive(Default)]
struct Appends(Mutex<usize>);

impl EventListener for Appends {
    fn on_event(&self, _event: &Event) {}

    fn should_be_notified_on_file_io(&self) -> bool {
        true
    }

    fn on_file_operation(&self, operation: &FileOperation<'_>) {
        if operation.op == FileOperationType::Append
            && operation.path.extension().is_some_and(|end| end == "log")
        {
            *self.0.lock().unwrap() += 1;
        }
    }
}

#[test]
fn options_of_an_open_database_open_another_that_is_watched_once() {
    let (fs, appends) = (Arc::new(MemFs::new()), Arc::new(Appends::default()));
    let options = Options {
        create_if_missing: true,
        fs: fs.clone(),
        listeners: vec![appends.clone()],
        ..Options::default()
    };
    let first = Db::open(&options, Path::new("first")).unwrap();
    let second = Db::open(first.options(), Path::new("second")).unwrap();
    let third = Db::open(second.options(), Path::new("third")).unwrap();
    let writer = FileTraceWriter::create(&*fs, Path::new("trace")).unwrap();
    first
        .start_io_trace(&TraceOptions::default(), Box::new(writer))
        .unwrap();
    let before = *appends.0.lock().unwrap();
    third.put(b"k", b"v").unwrap();
    assert_eq!(*appends.0.lock().unwrap(), before + 1);
    first.end_io_trace().unwrap();
    // The first database's thread may still delete its first MANIFEST. The row that the third database writes
    // is not traced.
    let records = records(&*fs, Path::new("trace")).unwrap();
    assert_eq!(on(&records, ".log"), [""; 0]);
}

#[test]
fn one_trace_at_a_time_and_closing_ends_it() {
    let world = World::new();
    world.db.end_io_trace().unwrap();
    world.start(&TraceOptions::default());
    let second = FileTraceWriter::create(&*world.fs, Path::new("second")).unwrap();
    let busy = world
        .db
        .start_io_trace(&TraceOptions::default(), Box::new(second));
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    world.db.put(b"a", b"").unwrap();
    world.db.close().unwrap();
    assert!(on(&world.records(), ".log").contains(&"Append"));
    let third = FileTraceWriter::create(&*world.fs, Path::new("third")).unwrap();
    let closed = world.db.start_io_trace(&TraceOptions::default(), Box::new(third));
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::ShutdownInProgress);
}

#[test]
fn sampling_and_size_leave_operations_out() {
    let world = World::new();
    let traced = |options: TraceOptions| {
        world.start(&options);
        for turn in 0..9 {
            world.db.put(format!("{turn}").as_bytes(), b"").unwrap();
        }
        world.db.end_io_trace().unwrap();
        world.records().len()
    };
    let third = TraceOptions {
        sampling_frequency: 3,
        ..TraceOptions::default()
    };
    assert_eq!((traced(TraceOptions::default()), traced(third)), (9, 3));
    let small = TraceOptions {
        max_trace_file_size: 38 + 66,
        ..TraceOptions::default()
    };
    assert_eq!(
        traced(small),
        2,
        "the record that goes beyond the limit is the last"
    );
}

/// A trace file whose writes fail after the header.
struct Failing(bool);

impl TraceWriter for Failing {
    fn write(&mut self, _record: &[u8]) -> Result<()> {
        match std::mem::replace(&mut self.0, true) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::NoSpace, "planted")),
        }
    }

    fn file_size(&self) -> u64 {
        0
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn the_database_goes_on_where_the_trace_fails() {
    let world = World::new();
    world
        .db
        .start_io_trace(&TraceOptions::default(), Box::new(Failing(false)))
        .unwrap();
    world.db.put(b"k", b"v").unwrap();
    world.db.put(b"k", b"w").unwrap();
    assert_eq!(world.db.end_io_trace().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(world.db.get(b"k").unwrap().as_deref(), Some(&b"w"[..]));
}

#[test]
fn damaged_traces_are_errors_with_file_and_offset() {
    let (fs, whole) = (MemFs::new(), golden());
    let starts: Vec<usize> = GOLDEN
        .iter()
        .scan(0, |at, record| {
            let start = *at;
            *at += bytes_of(record).len();
            Some(start)
        })
        .collect();
    for cut in 0..whole.len() {
        let result = records(&fs, &written(&fs, &whole[..cut]));
        match starts.contains(&cut) && cut > 0 {
            true => drop(result.unwrap()),
            false => {
                let error = result.unwrap_err();
                let start = *starts.iter().rfind(|start| **start <= cut).unwrap();
                assert!(error.is_corruption(), "{cut}: {error}");
                assert_eq!(error.offset(), Some(start as u64), "{cut}: {error}");
                assert!(error.file().is_some());
            }
        }
    }
    let mut errors = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let path = written(&fs, &damaged);
            if let Err(error) = records(&fs, &path) {
                assert!(error.is_corruption(), "{at}.{bit}: {error}");
                assert!(
                    error.offset().is_some() && error.file().is_some(),
                    "{at}.{bit}: {error}"
                );
                errors += 1;
            }
            drop(TraceKind::of_file(&fs, &path));
        }
    }
    assert!(errors > 500, "{errors}");
}
