//! The contract of the traits, checked on every implementation.

use std::path::Path;

use base::ErrorKind;
use esker_vfs::{Access, CreateOptions, FileSystem, OpenOptions};
use testkit::TestRng;

use crate::subjects::{Subject, on_each};

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
    strict_bytes_per_sync: false,
    temperature: base::Temperature::UNKNOWN,
};

fn plain_options() -> Vec<CreateOptions> {
    let plain = CreateOptions::default();
    vec![
        plain,
        CreateOptions {
            direct: true,
            ..plain
        },
        CreateOptions {
            preallocate: 1 << 20,
            bytes_per_sync: 256 << 10,
            ..plain
        },
        CreateOptions {
            bytes_per_sync: 256 << 10,
            strict_bytes_per_sync: true,
            ..plain
        },
        CreateOptions {
            direct: true,
            preallocate: 300_000,
            ..plain
        },
    ]
}

fn open_options() -> Vec<OpenOptions> {
    let mut all = Vec::new();
    for access in [Access::Normal, Access::Random, Access::Sequential] {
        for (direct, mmap) in [(false, false), (true, false), (false, true)] {
            all.push(OpenOptions {
                direct,
                mmap,
                access,
                ..OpenOptions::default()
            });
        }
    }
    all
}

/// `None` if the file system does not support direct access.
fn supported<T>(direct: bool, result: base::Result<T>) -> Option<T> {
    match result {
        Err(error) if direct && error.kind() == ErrorKind::NotSupported => {
            testkit::skip("a file system with direct I/O");
            None
        }
        result => Some(result.unwrap()),
    }
}

fn read(fs: &dyn FileSystem, path: &Path, len: usize) -> Vec<u8> {
    let file = fs.open_random(path, &OpenOptions::default()).unwrap();
    let mut bytes = vec![0xee; len];
    let read = file.read_at(0, &mut bytes).unwrap();
    bytes.truncate(read);
    bytes
}

#[test]
fn plain_files_hold_what_was_appended() {
    on_each(|Subject { fs, dir, .. }| {
        let mut rng = testkit::rng();
        for options in plain_options() {
            let around = |edge: usize| edge - 1..=edge + 1;
            let totals = around(1)
                .chain(around(4 << 10))
                .chain(around(64 << 10))
                .chain(around(256 << 10));
            for total in totals.chain([3_000_000]) {
                let path = dir.join("plain");
                let data = rng.bytes(total);
                let Some(mut file) = supported(options.direct, fs.create(&path, &options)) else {
                    break;
                };
                let mut rest = &data[..];
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(rng.usize(1..=rest.len()));
                    file.append(now).unwrap();
                    rest = later;
                    assert_eq!(file.len(), (total - rest.len()) as u64);
                    if rng.u8(..4) == 0 {
                        file.flush().unwrap();
                        assert_eq!(fs.size(&path).unwrap(), file.len());
                        assert_eq!(read(&**fs, &path, total), data[..total - rest.len()]);
                    }
                }
                assert_eq!(file.is_empty(), total == 0);
                file.sync().unwrap();
                assert_eq!(fs.size(&path).unwrap(), total as u64);
                file.close().unwrap();
                file.close().unwrap();
                for late in [file.append(b"x"), file.flush(), file.sync(), file.sync_all()] {
                    assert_eq!(late.unwrap_err().kind(), ErrorKind::InvalidArgument);
                }
                drop(file);
                assert_eq!(fs.read_file(&path).unwrap(), data);
            }
        }
    });
}

#[test]
fn unflushed_bytes_of_a_plain_file_may_be_lost_with_the_writer_and_no_others() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("plain");
        let mut file = fs.create(&path, &CreateOptions::default()).unwrap();
        file.append(b"kept").unwrap();
        file.flush().unwrap();
        file.append(b"not").unwrap();
        drop(file);
        assert!(b"keptnot".starts_with(&fs.read_file(&path).unwrap()));
        assert!(fs.size(&path).unwrap() >= 4);
    });
}

/// Appends random records to a log of `fs`, syncing now and then, and checks what readers see.
fn write_log(
    fs: &dyn FileSystem,
    path: &Path,
    mut file: Box<dyn esker_vfs::WritableFile>,
    rng: &mut TestRng,
    total: usize,
) {
    let reader = fs.open_random(path, &OpenOptions::default()).unwrap();
    let syncer = file.syncer().unwrap();
    let mut written = Vec::new();
    while written.len() < total {
        let len = match rng.u8(..20) {
            0 => rng.usize(..300_000),
            1 => rng.usize(..20_000),
            _ => rng.usize(..1000),
        };
        let record = rng.bytes(len.min(total - written.len()));
        let start = written.len();
        file.append(&record).unwrap();
        written.extend_from_slice(&record);
        assert_eq!(file.len(), written.len() as u64);
        match rng.u8(..100) {
            0 => file.sync().unwrap(),
            1 => syncer.sync().unwrap(),
            2 => file.sync_all().unwrap(),
            3 => file.flush().unwrap(),
            _ => {}
        }
        // A reader that was opened before the append sees the bytes without a flush.
        let mut seen = vec![0xee; record.len()];
        reader.read_exact_at(start as u64, &mut seen).unwrap();
        assert!(seen == record, "at {start}");
    }
    assert!(fs.size(path).unwrap() >= total as u64);
    assert!(read(fs, path, total) == written);
    file.close().unwrap();
    file.close().unwrap();
    assert_eq!(file.append(b"x").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(fs.size(path).unwrap(), total as u64);
    assert!(fs.read_file(path).unwrap() == written);
    syncer.sync().unwrap();
}

#[test]
fn logs_are_seen_as_they_grow_and_end_where_they_should() {
    on_each(|Subject { fs, dir, .. }| {
        let mut rng = testkit::rng();
        for (total, options) in [
            (0, LOG),
            (1, LOG),
            (128 << 10, LOG),
            (9 << 20, LOG),
            (
                5 << 20,
                CreateOptions {
                    preallocate: 1 << 20,
                    bytes_per_sync: 1 << 20,
                    ..LOG
                },
            ),
            (
                6 << 20,
                CreateOptions {
                    bytes_per_sync: 1 << 20,
                    strict_bytes_per_sync: true,
                    ..LOG
                },
            ),
        ] {
            let path = dir.join("log");
            let file = fs.create(&path, &options).unwrap();
            write_log(&**fs, &path, file, &mut rng, total);
        }
    });
}

#[test]
fn zeros_follow_the_data_of_a_log() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("log");
        let mut file = fs.create(&path, &LOG).unwrap();
        for i in 0..1000u32 {
            file.append(&[0xaa; 150]).unwrap();
            if i % 100 == 0 {
                file.sync().unwrap();
            }
        }
        // The file is dropped without a sync, as if the process had died.
        drop(file);
        let bytes = fs.read_file(&path).unwrap();
        assert!(bytes[..150_000].iter().all(|&byte| byte == 0xaa));
        assert!(bytes[150_000..].iter().all(|&byte| byte == 0));
    });
}

#[test]
fn reuse_overwrites_and_cuts_off() {
    on_each(|Subject { fs, dir, .. }| {
        let mut rng = testkit::rng();
        for options in [LOG, CreateOptions::default()] {
            for (old_len, new_len) in [
                (0, 1000),
                (1000, 0),
                (700_000, 300_000),
                (300_000, 700_000),
                (5 << 20, 4 << 20),
            ] {
                let (old, new) = (dir.join("old"), dir.join("new"));
                fs.write_file(&old, &rng.bytes(old_len)).unwrap();
                let file = fs.reuse(&old, &new, &options).unwrap();
                assert_eq!(file.path(), new);
                assert!(!fs.exists(&old).unwrap());
                assert!([0, old_len as u64].contains(&fs.size(&new).unwrap()));
                if options.log {
                    write_log(&**fs, &new, file, &mut rng, new_len);
                } else {
                    let mut file = file;
                    let data = rng.bytes(new_len);
                    file.append(&data).unwrap();
                    file.close().unwrap();
                    assert!(fs.read_file(&new).unwrap() == data);
                }
            }
        }
    });
}

#[test]
fn a_log_is_synced_while_it_grows() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("log");
        let mut file = fs.create(&path, &LOG).unwrap();
        let syncer = file.syncer().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let records = 30_000u32;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    syncer.sync().unwrap();
                }
            });
            for i in 0..records {
                file.append(&i.to_le_bytes().repeat(25)).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        file.close().unwrap();
        let bytes = fs.read_file(&path).unwrap();
        assert_eq!(bytes.len(), records as usize * 100);
        for (i, record) in bytes.chunks(100).enumerate() {
            assert!(record.chunks(4).all(|number| number == (i as u32).to_le_bytes()));
        }
    });
}

#[test]
fn reads_are_short_only_at_the_end() {
    on_each(|Subject { fs, dir, .. }| {
        let mut rng = testkit::rng();
        for len in [0, 1, 5000, 8192, 2_500_000] {
            let path = dir.join("file");
            let data = rng.bytes(len);
            fs.write_file(&path, &data).unwrap();
            for options in open_options() {
                let Some(file) = supported(options.direct, fs.open_random(&path, &options)) else {
                    continue;
                };
                assert_eq!((file.len(), file.is_empty()), (len as u64, len == 0));
                assert_eq!(file.path(), path);
                if let Some(mapped) = file.mapped() {
                    assert!(mapped == data);
                }
                let mut ranges = vec![(0, len), (0, len + 1), (len, 10), (len + 5000, 10), (0, 0)];
                for _ in 0..40 {
                    let start = rng.usize(..=len);
                    ranges.push((start, rng.usize(..6000)));
                    ranges.push((start / 4096 * 4096, rng.usize(..3) * 4096));
                }
                for (start, count) in ranges {
                    let expected = &data[start.min(len)..(start + count).min(len)];
                    file.prefetch(start as u64, count as u64);
                    let mut buf = vec![0xee; count];
                    let read = file.read_at(start as u64, &mut buf).unwrap();
                    assert!(&buf[..read] == expected, "{options:?} {start}+{count} of {len}");
                    let exact = file.read_exact_at(start as u64, &mut buf);
                    if expected.len() == count {
                        exact.unwrap();
                    } else {
                        let error = exact.unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::Corruption);
                        assert_eq!((error.file(), error.offset()), (Some(&*path), Some(start as u64)));
                    }
                }
                assert_eq!(file.read_at(u64::MAX / 4, &mut [0; 10]).unwrap(), 0);
                file.prefetch(u64::MAX, u64::MAX);
            }
        }
    });
}

#[test]
fn names_can_be_changed() {
    on_each(|Subject { fs, dir, .. }| {
        let path = |name: &str| dir.join(name);
        assert_eq!(fs.list(dir).unwrap(), [""; 0]);
        for name in ["b", "a", "c"] {
            fs.write_file(&path(name), name.as_bytes()).unwrap();
        }
        fs.create_dir_all(&path("sub/sub")).unwrap();
        fs.create_dir_all(&path("sub/sub")).unwrap();
        assert_eq!(fs.list(dir).unwrap(), ["a", "b", "c", "sub"]);

        fs.rename(&path("a"), &path("d")).unwrap();
        fs.rename(&path("b"), &path("c")).unwrap();
        assert_eq!(fs.list(dir).unwrap(), ["c", "d", "sub"]);
        assert_eq!(fs.read_file(&path("c")).unwrap(), b"b");
        fs.rename(&path("c"), &path("sub/c")).unwrap();
        fs.rename(&path("sub"), &path("bus")).unwrap();
        assert_eq!(fs.read_file(&path("bus/c")).unwrap(), b"b");
        assert!(fs.rename(&path("bus"), &path("bus/sub/bus")).is_err());

        fs.link(&path("d"), &path("e")).unwrap();
        assert_eq!(fs.link(&path("d"), &path("e")).unwrap_err().kind(), ErrorKind::Io);
        fs.truncate(&path("e"), 0).unwrap();
        assert_eq!(fs.size(&path("d")).unwrap(), 0);
        fs.remove(&path("d")).unwrap();
        assert!(fs.exists(&path("e")).unwrap());
        assert!(!fs.exists(&path("d")).unwrap());
        assert!(fs.exists(dir).unwrap());

        assert_eq!(fs.remove_dir(&path("bus")).unwrap_err().kind(), ErrorKind::Io);
        fs.remove_dir(&path("bus/sub")).unwrap();
        fs.remove(&path("bus/c")).unwrap();
        fs.sync_dir(&path("bus")).unwrap();
        fs.remove_dir(&path("bus")).unwrap();
        fs.sync_dir(dir).unwrap();
        assert_eq!(fs.list(dir).unwrap(), ["e"]);
    });
}

#[test]
fn open_files_outlive_their_names() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("file");
        for options in open_options() {
            fs.write_file(&path, b"content").unwrap();
            let Some(file) = supported(options.direct, fs.open_random(&path, &options)) else {
                continue;
            };
            fs.write_file(&dir.join("other"), b"another").unwrap();
            fs.rename(&dir.join("other"), &path).unwrap();
            fs.remove(&path).unwrap();
            let mut buf = [0; 7];
            file.read_exact_at(0, &mut buf).unwrap();
            assert_eq!(&buf, b"content");
        }
    });
}

#[test]
fn missing_files_are_not_found_and_named() {
    on_each(|Subject { fs, dir, .. }| {
        let missing = dir.join("missing");
        let below = missing.join("file");
        let errors = [
            fs.open_random(&missing, &OpenOptions::default()).err(),
            fs.create(&below, &CreateOptions::default()).err(),
            fs.create(&below, &LOG).err(),
            fs.reuse(&missing, &dir.join("new"), &LOG).err(),
            fs.rename(&missing, &dir.join("new")).err(),
            fs.remove(&missing).err(),
            fs.link(&missing, &dir.join("new")).err(),
            fs.truncate(&missing, 1).err(),
            fs.list(&missing).err(),
            fs.remove_dir(&missing).err(),
            fs.sync_file(&missing).err(),
            fs.sync_dir(&missing).err(),
            fs.size(&missing).err(),
            fs.modified_seconds(&missing).err(),
            fs.links(&missing).err(),
            fs.lock(&below).err(),
            fs.free_space(&missing).err(),
            fs.read_file(&missing).err(),
        ];
        for (i, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("call {i} succeeded"));
            assert_eq!(error.kind(), ErrorKind::NotFound, "call {i}: {error}");
            assert!(error.to_string().contains("missing"), "call {i}: {error}");
        }
        assert!(!fs.exists(&missing).unwrap());
        assert!(!fs.exists(&below).unwrap());
        assert_eq!(fs.list(dir).unwrap(), [""; 0]);
    });
}

#[test]
fn directories_are_no_files() {
    on_each(|Subject { fs, dir, .. }| {
        for result in [
            fs.open_random(dir, &OpenOptions::default()).err(),
            fs.create(dir, &CreateOptions::default()).err(),
            fs.remove(dir).err(),
        ] {
            assert_eq!(result.unwrap().kind(), ErrorKind::Io);
        }
        let file = dir.join("file");
        fs.write_file(&file, b"x").unwrap();
        for result in [
            fs.list(&file).err(),
            fs.create_dir_all(&file).err(),
            fs.remove_dir(&file).err(),
        ] {
            assert_eq!(result.unwrap().kind(), ErrorKind::Io);
        }
    });
}

#[test]
fn lengths_can_be_changed_by_path() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("file");
        fs.write_file(&path, b"0123456789").unwrap();
        fs.truncate(&path, 4).unwrap();
        assert_eq!(fs.read_file(&path).unwrap(), b"0123");
        match fs.truncate(&path, 6) {
            Err(error) if error.kind() == ErrorKind::NotSupported => {
                testkit::skip("zeros at the end of a file")
            }
            result => {
                result.unwrap();
                assert_eq!(fs.read_file(&path).unwrap(), b"0123\0\0");
            }
        }
    });
}

#[test]
fn create_truncates() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("file");
        for options in [CreateOptions::default(), LOG] {
            fs.write_file(&path, b"0123456789").unwrap();
            let mut file = fs.create(&path, &options).unwrap();
            assert_eq!(fs.size(&path).unwrap(), 0);
            file.append(b"abc").unwrap();
            file.close().unwrap();
            assert_eq!(fs.read_file(&path).unwrap(), b"abc");
        }
    });
}

#[test]
fn a_lock_is_held_once() {
    on_each(|Subject { fs, dir, .. }| {
        let path = dir.join("LOCK");
        let lock = fs.lock(&path).unwrap();
        assert_eq!(lock.path(), path);
        assert!(fs.exists(&path).unwrap());
        for spelling in [path.clone(), dir.join(".").join("LOCK")] {
            let error = fs.lock(&spelling).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LockHeld);
            let text = error.to_string();
            assert!(text.starts_with("IO error: While lock file: "), "{text}");
            assert!(text.contains("this process") && text.contains("LOCK"), "{text}");
        }
        let other = fs.lock(&dir.join("OTHER")).unwrap();
        drop(lock);
        let again = fs.lock(&path).unwrap();
        drop((again, other));
    });
}

#[test]
fn small_files_are_replaced_as_a_whole() {
    on_each(|Subject { fs, dir, .. }| {
        let (current, temporary) = (dir.join("CURRENT"), dir.join("000001.dbtmp"));
        for content in [&b"MANIFEST-000001\n"[..], b"MANIFEST-000005\n", b""] {
            fs.replace_file(&current, &temporary, content).unwrap();
            assert_eq!(fs.read_file(&current).unwrap(), content);
            assert_eq!(fs.list(dir).unwrap(), ["CURRENT"]);
        }
    });
}

#[test]
fn there_is_space_and_time() {
    on_each(|subject| {
        let path = subject.path("file");
        subject.fs.write_file(&path, b"x").unwrap();
        assert!(subject.fs.free_space(&subject.dir).unwrap() > 1 << 20);
        let modified = subject.fs.modified_seconds(&path).unwrap();
        assert!(modified == 0 || modified > 1_600_000_000);
    });
}

#[test]
fn names_of_a_file_are_counted() {
    on_each(|subject| {
        let (path, other) = (subject.path("file"), subject.path("other"));
        subject.fs.write_file(&path, b"x").unwrap();
        assert_eq!(subject.fs.links(&path).unwrap(), 1);
        subject.fs.link(&path, &other).unwrap();
        assert_eq!(subject.fs.links(&path).unwrap(), 2);
        subject.fs.remove(&path).unwrap();
        assert_eq!(subject.fs.links(&other).unwrap(), 1);
    });
}
