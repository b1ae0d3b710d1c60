//! Reads that are started and waited for later, with and without io_uring.

use std::path::Path;
use std::sync::Arc;

use base::ErrorKind;
use esker_vfs::{
    Action, FaultFs, FileSystem, LogFs, MemFs, Op, OpenOptions, PosixFs, RandomAccessFile, ReadBuffer, Rule,
    together,
};
use testkit::rng;

fn bytes(len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at * 31 % 251) as u8 ^ (at >> 8) as u8)
        .collect()
}

/// The file as each implementation opens it.
fn bodies(dir: &Path, content: &[u8]) -> Vec<(String, Arc<dyn RandomAccessFile>)> {
    let path = dir.join("file");
    std::fs::write(&path, content).unwrap();
    let mem = MemFs::new();
    mem.write_file(Path::new("/file"), content).unwrap();
    let mut opened: Vec<(String, Arc<dyn RandomAccessFile>)> = vec![(
        "memory".to_owned(),
        mem.open_random(Path::new("/file"), &OpenOptions::default())
            .unwrap(),
    )];
    for (name, fs) in [
        ("io_uring", PosixFs::new()),
        ("no io_uring", PosixFs::without_io_uring()),
    ] {
        for (how, direct, mmap) in [
            ("pread", false, false),
            ("direct", true, false),
            ("mmap", false, true),
        ] {
            let options = OpenOptions {
                direct,
                mmap,
                ..OpenOptions::default()
            };
            match fs.open_random(&path, &options) {
                Ok(file) => opened.push((format!("{name}, {how}"), file)),
                Err(error) => assert!(direct, "{error}"),
            }
        }
    }
    opened
}

#[test]
fn what_is_read_is_what_a_read_gives() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let content = bytes(300_001);
    let mut rng = rng::rng();
    for (name, file) in bodies(dir.path(), &content) {
        let mut buffers = Vec::new();
        for round in 0..20 {
            let ranges: Vec<(u64, usize)> = (0..rng.usize(1..40))
                .map(|_| {
                    // Ranges include the end of the file, and beyond.
                    let offset = rng.u64(..content.len() as u64 + 5_000);
                    let most = *rng.pick(&[1, 100, 5_000, 70_000]);
                    (offset, rng.usize(..most))
                })
                .collect();
            let mut pending: Vec<_> = together(|| {
                let start = |&(offset, len): &(u64, usize)| {
                    let memory = buffers.pop().unwrap_or_default();
                    Some(file.start_read(offset, len, memory))
                };
                ranges.iter().map(start).collect()
            });
            // The reads are waited for in any order, and some not at all.
            for _ in 0..ranges.len() {
                let at = rng.usize(..ranges.len());
                let Some(mut read) = pending[at].take() else {
                    continue;
                };
                if rng.bool() {
                    read.is_done();
                }
                let read: ReadBuffer = read.wait().unwrap();
                let (offset, len) = ranges[at];
                let rest = content.get(offset as usize..).unwrap_or_default();
                let expected = &rest[..len.min(rest.len())];
                assert!(&read[..] == expected, "{name}, round {round}: {offset}+{len}");
                buffers.push(read);
            }
        }
    }
}

#[test]
fn more_than_a_ring_holds() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let content = bytes(100_000);
    for (name, file) in bodies(dir.path(), &content) {
        for at_once in [false, true] {
            let start = |at: usize| file.start_read(at as u64, 10, ReadBuffer::default());
            let pending: Vec<_> = match at_once {
                true => together(|| (0..1000).map(start).collect()),
                false => (0..1000).map(start).collect(),
            };
            for (at, read) in pending.into_iter().enumerate() {
                assert_eq!(read.wait().unwrap()[..], content[at..at + 10], "{name}");
            }
        }
    }
}

#[test]
fn reads_outlive_thread_file_and_reader() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let content = bytes(200_000);
    for (name, file) in bodies(dir.path(), &content) {
        // The reads are started on a thread that ends, and their file is closed.
        let other = file.clone();
        let begun = std::thread::spawn(move || {
            let start = |at: u64| other.start_read(at * 1000, 1000, ReadBuffer::default());
            (0..100).map(start).collect::<Vec<_>>()
        });
        let begun = begun.join().unwrap();
        for (at, read) in begun.into_iter().enumerate() {
            assert_eq!(read.wait().unwrap()[..], content[at * 1000..][..1000], "{name}");
        }
        // These reads are dropped before they end.
        for at in 0..50 {
            drop(file.start_read(at * 4096, 4096, ReadBuffer::default()));
        }
        together(|| drop(file.start_read(0, 4096, ReadBuffer::default())));
    }
}

#[test]
fn faults_and_logs_are_told_of_them() {
    let mem: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let path = Path::new("/file");
    mem.write_file(path, &bytes(1000)).unwrap();
    let faults = FaultFs::new(mem);
    let log = LogFs::new(Arc::new(faults.clone()), "/").with_queries();
    let file = log.open_random(path, &OpenOptions::default()).unwrap();
    log.take();
    let read = || file.start_read(10, 100, ReadBuffer::default()).wait();
    assert_eq!(read().unwrap()[..], bytes(1000)[10..110]);
    assert_eq!(log.take(), "start_read file 10+100\n");
    let rule = faults.add(Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Read]));
    let error = read().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Io, Some(10)));
    assert_eq!(faults.fired(rule), 1);
    faults.clear_rules();
    faults.add(Rule::new(Action::ShortRead).on([Op::Read]).nth(0));
    assert!(read().unwrap().len() < 100);
    faults.add(Rule::new(Action::BitFlip).on([Op::Read]).nth(0));
    assert_ne!(read().unwrap()[..], bytes(1000)[10..110]);
    assert_eq!(read().unwrap()[..], bytes(1000)[10..110]);
}
