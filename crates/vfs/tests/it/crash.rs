//! The state that [`MemFs`] leaves after process death or power loss, and when its space is used up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::ErrorKind;
use base::env::Rng;
use esker_vfs::{CreateOptions, FileSystem, MemFs, OpenOptions, UnsyncedPolicy};

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
    strict_bytes_per_sync: false,
    temperature: base::Temperature::UNKNOWN,
};

const POLICIES: [UnsyncedPolicy; 4] = [
    UnsyncedPolicy::Lose,
    UnsyncedPolicy::Keep,
    UnsyncedPolicy::Random,
    UnsyncedPolicy::RandomPages,
];

fn p(path: &str) -> &Path {
    Path::new(path)
}

fn read(fs: &MemFs, path: &str) -> Vec<u8> {
    fs.read_file(p(path)).unwrap()
}

fn write(fs: &MemFs, path: &str, bytes: &[u8]) {
    fs.write_file(p(path), bytes).unwrap();
}

/// The results of many random crashes.
fn crashes<T: Ord>(fs: &MemFs, policy: UnsyncedPolicy, look: impl Fn(&MemFs) -> T) -> BTreeSet<T> {
    let mut rng = testkit::rng();
    (0..300)
        .map(|_| look(&fs.crash_clone(&mut rng, policy)))
        .collect()
}

#[test]
fn synced_bytes_stay_and_of_the_others_a_prefix() {
    for options in [LOG, CreateOptions::default()] {
        let fs = MemFs::new();
        let data: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8 + 1).collect();
        let mut file = fs.create(p("f"), &options).unwrap();
        fs.sync_dir(p("/")).unwrap();
        file.append(&data[..5000]).unwrap();
        file.sync().unwrap();
        file.append(&data[5000..]).unwrap();
        file.flush().unwrap();

        let lost = read(&fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose), "f");
        assert_eq!(lost[..5000], data[..5000]);
        assert!(lost[5000..].iter().all(|&byte| byte == 0));
        let kept = read(&fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Keep), "f");
        assert_eq!(kept[..data.len()], data);

        let survivors = crashes(&fs, UnsyncedPolicy::Random, |fs| {
            let bytes = read(fs, "f");
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            assert_eq!(bytes[..end], data[..end]);
            assert!(bytes[end..].iter().all(|&byte| byte == 0));
            end
        });
        assert!(
            survivors.contains(&5000) && survivors.contains(&20_000) && survivors.len() > 20,
            "{survivors:?}"
        );
    }
}

#[test]
fn pages_may_come_in_any_order() {
    let fs = MemFs::new();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    fs.sync_dir(p("/")).unwrap();
    file.append(&[1; 3 * 4096]).unwrap();
    let patterns = crashes(&fs, UnsyncedPolicy::RandomPages, |fs| {
        let mut bytes = read(fs, "f");
        bytes.resize(3 * 4096, 0);
        bytes
            .chunks(4096)
            .map(|page| {
                assert!(page.iter().all(|byte| *byte == page[0]));
                page[0]
            })
            .collect::<Vec<_>>()
    });
    assert_eq!(patterns.len(), 8);
}

#[test]
fn a_name_needs_its_directory_synced() {
    let fs = MemFs::new();
    write(&fs, "a", b"1");
    write(&fs, "b", b"2");
    for policy in [UnsyncedPolicy::Random, UnsyncedPolicy::RandomPages] {
        let lists = crashes(&fs, policy, |fs| fs.list(p("/")).unwrap());
        let expected: [&[&str]; 4] = [&[], &["a"], &["b"], &["a", "b"]];
        assert_eq!(
            lists,
            expected
                .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
                .into()
        );
    }
    fs.sync_dir(p("/")).unwrap();
    for policy in POLICIES {
        assert_eq!(
            crashes(&fs, policy, |fs| (fs.list(p("/")).unwrap(), read(fs, "a"))).len(),
            1
        );
    }
}

#[test]
fn of_the_changes_of_names_any_may_be_there() {
    let fs = MemFs::new();
    write(&fs, "old", b"1");
    write(&fs, "moved", b"2");
    fs.sync_dir(p("/")).unwrap();
    fs.remove(p("old")).unwrap();
    fs.rename(p("moved"), p("there")).unwrap();
    write(&fs, "new", b"3");
    fs.link(p("new"), p("linked")).unwrap();
    for policy in [UnsyncedPolicy::Random, UnsyncedPolicy::RandomPages] {
        let lists = crashes(&fs, policy, |fs| fs.list(p("/")).unwrap());
        assert_eq!(lists.len(), 16, "{lists:?}");
        let is_whole = |names: &Vec<String>| {
            let has = |name: &str| names.iter().any(|other| other == name);
            has("moved") != has("there")
        };
        assert!(lists.iter().all(is_whole), "{lists:?}");
    }
}

#[test]
fn a_rename_is_whole_and_not_durable_before_the_directory_is() {
    let fs = MemFs::new();
    write(&fs, "CURRENT", b"old");
    write(&fs, "tmp", b"new");
    fs.sync_dir(p("/")).unwrap();
    fs.rename(p("tmp"), p("CURRENT")).unwrap();
    let seen = crashes(&fs, UnsyncedPolicy::Random, |fs| {
        (read(fs, "CURRENT"), fs.exists(p("tmp")).unwrap())
    });
    assert_eq!(seen, [(b"old".to_vec(), true), (b"new".to_vec(), false)].into());
    fs.sync_dir(p("/")).unwrap();
    let seen = crashes(&fs, UnsyncedPolicy::Random, |fs| {
        (read(fs, "CURRENT"), fs.exists(p("tmp")).unwrap())
    });
    assert_eq!(seen, [(b"new".to_vec(), false)].into());
}

#[test]
fn a_rename_across_directories_leaves_one_name() {
    let fs = MemFs::new();
    for dir in ["a", "b"] {
        fs.create_dir_all(p(dir)).unwrap();
    }
    fs.sync_dir(p("/")).unwrap();
    write(&fs, "a/f", b"x");
    fs.rename(p("a/f"), p("b/f")).unwrap();
    let look = |fs: &MemFs| (fs.exists(p("a/f")).unwrap(), fs.exists(p("b/f")).unwrap());
    assert_eq!(
        crashes(&fs, UnsyncedPolicy::Random, look),
        [(false, false), (true, false), (false, true)].into()
    );
    // Syncing the new directory also makes the removal from the old one durable, and all earlier changes.
    fs.sync_dir(p("b")).unwrap();
    assert_eq!(crashes(&fs, UnsyncedPolicy::Random, look), [(false, true)].into());
}

#[test]
fn a_file_removed_may_come_back() {
    let fs = MemFs::new();
    write(&fs, "f", b"content");
    fs.sync_dir(p("/")).unwrap();
    fs.remove(p("f")).unwrap();
    let seen = crashes(&fs, UnsyncedPolicy::Random, |fs| {
        fs.exists(p("f")).unwrap().then(|| read(fs, "f"))
    });
    assert_eq!(seen, [None, Some(b"content".to_vec())].into());
    assert_eq!(crashes(&fs, UnsyncedPolicy::Lose, |fs| fs.used()), [7].into());
    assert_eq!(fs.used(), 0);
}

#[test]
fn a_directory_not_synced_takes_what_is_in_it_along() {
    let fs = MemFs::new();
    fs.create_dir_all(p("db/sub")).unwrap();
    write(&fs, "db/sub/f", b"x");
    fs.sync_dir(p("db/sub")).unwrap();
    fs.sync_dir(p("db")).unwrap();
    let lost = fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose);
    assert!(!lost.exists(p("db")).unwrap());
    assert_eq!(lost.used(), 0);
    fs.sync_dir(p("/")).unwrap();
    assert_eq!(
        read(
            &fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose),
            "db/sub/f"
        ),
        b"x"
    );
}

#[test]
fn a_reused_file_is_new_then_old() {
    let fs = MemFs::new();
    write(&fs, "old", &[1; 10_000]);
    fs.sync_dir(p("/")).unwrap();
    let mut file = fs.reuse(p("old"), p("new"), &LOG).unwrap();
    fs.sync_dir(p("/")).unwrap();
    file.append(&[2; 3000]).unwrap();
    file.sync().unwrap();
    file.append(&[2; 3000]).unwrap();
    let ends = crashes(&fs, UnsyncedPolicy::Random, |fs| {
        let bytes = read(fs, "new");
        assert_eq!(bytes.len(), 10_000);
        let end = bytes.iter().position(|&byte| byte == 1).unwrap();
        assert!(bytes[..end].iter().all(|&byte| byte == 2));
        assert!(bytes[end..].iter().all(|&byte| byte == 1));
        end
    });
    assert!(
        ends.contains(&3000) && ends.contains(&6000) && ends.iter().all(|end| (3000..=6000).contains(end))
    );
    file.close().unwrap();
    let lens = crashes(&fs, UnsyncedPolicy::Random, |fs| fs.size(p("new")).unwrap());
    assert!(lens.contains(&6000) && lens.contains(&10_000));
    file.syncer().unwrap().sync().unwrap();
    assert_eq!(
        crashes(&fs, UnsyncedPolicy::Random, |fs| fs.size(p("new")).unwrap()),
        [6000].into()
    );
}

#[test]
fn a_cut_is_durable_when_synced() {
    let fs = MemFs::new();
    let old: Vec<u8> = (1..=100).collect();
    write(&fs, "f", &old);
    fs.sync_dir(p("/")).unwrap();
    fs.truncate(p("f"), 50).unwrap();
    let seen = crashes(&fs, UnsyncedPolicy::Random, |fs| read(fs, "f"));
    assert_eq!(seen, [old[..50].to_vec(), old.clone()].into());
    // A new writer truncates the file, too: after a crash, new bytes are never followed by old ones.
    let mut file = fs.create(p("f"), &CreateOptions::default()).unwrap();
    file.append(&[200; 10]).unwrap();
    file.flush().unwrap();
    let seen = crashes(&fs, UnsyncedPolicy::Random, |fs| read(fs, "f"));
    assert!(seen.contains(&old) && seen.contains(&vec![200; 10]) && seen.contains(&vec![]));
    assert!(
        seen.iter()
            .all(|bytes| *bytes == old || bytes.iter().all(|byte| [0, 200].contains(byte)))
    );
    file.sync().unwrap();
    assert_eq!(
        crashes(&fs, UnsyncedPolicy::Random, |fs| read(fs, "f")),
        [vec![200; 10]].into()
    );
}

#[test]
fn what_a_sync_replaced_does_not_come_back() {
    // The first file is a log that replaces an older file, which the creation truncates to 0.
    let fs = MemFs::new();
    write(&fs, "f", &[1; 100]);
    fs.sync_dir(p("/")).unwrap();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    file.append(&[2; 10]).unwrap();
    file.sync().unwrap();
    let bytes = read(&fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose), "f");
    assert!(bytes[..10] == [2; 10] && bytes[10..].iter().all(|&byte| byte == 0));

    // The second file is a log that reuses a file whose last bytes were not synced.
    let mut file = fs.create(p("g"), &LOG).unwrap();
    file.append(&[3; 100]).unwrap();
    file.close().unwrap();
    let mut file = fs.reuse(p("g"), p("h"), &LOG).unwrap();
    fs.sync_dir(p("/")).unwrap();
    file.append(&[4; 10]).unwrap();
    file.sync().unwrap();
    let bytes = read(&fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose), "h");
    assert!(bytes[..10] == [4; 10] && bytes[10..] == [3; 90]);
}

#[test]
fn names_of_one_file_stay_one_file() {
    let fs = MemFs::new();
    write(&fs, "a", b"12345");
    fs.link(p("a"), p("b")).unwrap();
    for after in [
        fs.process_death_clone(),
        fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Keep),
    ] {
        after.truncate(p("a"), 2).unwrap();
        assert_eq!(read(&after, "b"), b"12");
        after.remove(p("a")).unwrap();
        assert_eq!(after.used(), 2);
        after.remove(p("b")).unwrap();
        assert_eq!(after.used(), 0);
    }
    assert_eq!((read(&fs, "a"), fs.used()), (b"12345".to_vec(), 5));
}

#[test]
fn process_death_takes_buffers_and_locks_and_nothing_else() {
    let fs = MemFs::new();
    let _lock = fs.lock(p("LOCK")).unwrap();
    let mut log = fs.create(p("log"), &LOG).unwrap();
    log.append(b"appended").unwrap();
    let mut table = fs.create(p("table"), &CreateOptions::default()).unwrap();
    table.append(b"flushed").unwrap();
    table.flush().unwrap();
    table.append(b"buffered").unwrap();

    let after = fs.process_death_clone();
    let _lock_of_the_next = after.lock(p("LOCK")).unwrap();
    assert!(read(&after, "log").starts_with(b"appended\0"));
    assert_eq!(read(&after, "table"), b"flushed");
    // The old writers do not affect the clone, and unsynced data stays unsynced.
    log.append(b" more").unwrap();
    assert!(read(&after, "log").starts_with(b"appended\0"));
    after.sync_dir(p("/")).unwrap();
    let lost = after.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose);
    assert_eq!(read(&lost, "table"), b"");
}

#[test]
fn a_seed_gives_the_same_crash_again() {
    let fs = MemFs::new();
    for i in 0..20 {
        let mut file = fs.create(&PathBuf::from(format!("f{i}")), &LOG).unwrap();
        file.append(&vec![i + 1; 1000 * usize::from(i)]).unwrap();
    }
    let look = |seed| {
        let after = fs.crash_clone(&mut Rng::with_seed(seed), UnsyncedPolicy::Random);
        let names = after.list(p("/")).unwrap();
        names
            .into_iter()
            .map(|name| (read(&after, &name), name))
            .collect::<Vec<_>>()
    };
    for seed in 0..20 {
        assert_eq!(look(seed), look(seed));
    }
}

#[test]
fn a_full_disk_is_an_error_and_removing_helps() {
    for options in [LOG, CreateOptions::default()] {
        let fs = MemFs::new();
        write(&fs, "other", &[1; 50_000]);
        fs.set_budget(150_000);
        assert_eq!(fs.free_space(p("/")).unwrap(), 100_000);
        let mut file = fs.create(p("f"), &options).unwrap();
        let mut appended = 0u64;
        let error = loop {
            match file.append(&[2; 150]).and_then(|()| file.flush()) {
                Ok(()) => appended += 150,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert_eq!(error.file(), Some(p("f")));
        assert_eq!(appended, 100_000 / 150 * 150);
        assert_eq!(read(&fs, "f")[..appended as usize], vec![2; appended as usize]);
        assert!(fs.used() <= 150_000);
        fs.remove(p("other")).unwrap();
        if options.log {
            assert_eq!(file.len(), appended);
            file.append(&[3; 150]).unwrap();
            file.close().unwrap();
            assert_eq!(
                (fs.size(p("f")).unwrap(), fs.used()),
                (appended + 150, appended + 150)
            );
        }
    }
}

/// After random histories nothing has panicked, and the space accounting is right.
#[test]
fn random_histories_keep_the_books() {
    let mut rng = testkit::rng();
    for _ in 0..60 {
        let fs = MemFs::new();
        let dirs = ["/", "/d", "/e"];
        for dir in &dirs[1..] {
            fs.create_dir_all(p(dir)).unwrap();
        }
        let path = |rng: &mut Rng| p(dirs[rng.usize(..3)]).join(format!("f{}", rng.u8(..4)));
        let mut writers = Vec::new();
        for _ in 0..200 {
            let (a, b) = (path(&mut rng), path(&mut rng));
            let options = if rng.bool() { LOG } else { CreateOptions::default() };
            // Errors are expected.
            let _outcome = match rng.u8(..12) {
                0 => fs.rename(&a, &b),
                1 => fs.remove(&a),
                2 => fs.link(&a, &b),
                3 => fs.sync_dir(p(dirs[rng.usize(..3)])),
                4 if writers.is_empty() => fs.truncate(&a, rng.u64(..5000)),
                5 | 6 if writers.is_empty() => fs.create(&a, &options).map(|file| writers.push(file)),
                7 if writers.is_empty() => fs.reuse(&a, &b, &options).map(|file| writers.push(file)),
                8 => writers.pop().map_or(Ok(()), |mut file| file.close()),
                9 => writers.last_mut().map_or(Ok(()), |file| file.sync()),
                _ => writers
                    .last_mut()
                    .map_or(Ok(()), |file| file.append(&vec![7; rng.usize(..70_000)])),
            };
        }
        let policy = *rng.pick(&POLICIES);
        for fs in [fs.process_death_clone(), fs.crash_clone(&mut rng, policy)] {
            let sizes = |fs: &MemFs| -> u64 {
                let mut names = Vec::new();
                for dir in dirs {
                    for name in fs.list(p(dir)).unwrap_or_default() {
                        let path = p(dir).join(name);
                        if fs.open_random(&path, &OpenOptions::default()).is_ok() {
                            names.push(path);
                        }
                    }
                }
                // Hard links count once: each file is truncated to 0 as it is counted.
                names
                    .iter()
                    .map(|path| {
                        let size = fs.size(path).unwrap();
                        fs.truncate(path, 0).unwrap();
                        size
                    })
                    .sum()
            };
            let used = fs.used();
            assert_eq!(sizes(&fs), used);
            assert_eq!(fs.used(), 0);
        }
    }
}

#[test]
fn what_a_dead_process_left_can_be_synced() {
    let fs = MemFs::new();
    let mut log = fs.create(p("log"), &LOG).unwrap();
    log.append(b"acknowledged").unwrap();
    fs.sync_dir(p("/")).unwrap();
    let next = fs.process_death_clone();
    let lost = next.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose);
    assert!(read(&lost, "log").iter().all(|&byte| byte == 0));
    next.sync_file(p("log")).unwrap();
    let kept = next.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose);
    assert!(read(&kept, "log").starts_with(b"acknowledged"));
    assert_eq!(
        next.sync_file(p("other")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_crash_is_one_moment_for_all_files() {
    let fs = MemFs::new();
    let mut files: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|name| fs.create(p(name), &LOG).unwrap())
        .collect();
    fs.sync_dir(p("/")).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            // Each line was synced to all earlier files before it was written to the next one.
            for _ in 0..5_000 {
                for file in &mut files {
                    file.append(&[1]).unwrap();
                    file.sync().unwrap();
                }
            }
        });
        let mut rng = testkit::rng();
        while !writer.is_finished() {
            let fs = fs.crash_clone(&mut rng, UnsyncedPolicy::Random);
            let len = |name| read(&fs, name).iter().filter(|&&byte| byte == 1).count();
            let (a, b, c) = (len("a"), len("b"), len("c"));
            assert!(a >= b && b >= c, "{a}, {b}, {c} bytes");
        }
    });
}

#[test]
fn a_file_without_a_name_is_counted_until_it_is_closed() {
    let fs = MemFs::new();
    write(&fs, "read", b"content");
    let reader = fs.open_random(p("read"), &OpenOptions::default()).unwrap();
    let log = fs.create(p("log"), &LOG).unwrap();
    let syncer = log.syncer().unwrap();
    write(&fs, "replaced", b"content");
    let replaced = fs.open_random(p("replaced"), &OpenOptions::default()).unwrap();
    assert_eq!(fs.open_without_name(), 0);
    fs.remove(p("read")).unwrap();
    fs.rename(p("log"), p("replaced")).unwrap();
    assert_eq!(fs.open_without_name(), 2);
    fs.remove(p("replaced")).unwrap();
    assert_eq!(fs.open_without_name(), 3);
    drop((reader, replaced, log));
    assert_eq!(fs.open_without_name(), 1);
    drop(syncer);
    assert_eq!(fs.open_without_name(), 0);
}

#[test]
fn a_log_without_room_is_cut_back_and_a_part_may_be_on_the_disk() {
    let fs = MemFs::new();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    fs.sync_dir(p("/")).unwrap();
    file.append(&[1; 1000]).unwrap();
    file.sync().unwrap();
    fs.set_budget(fs.used());
    let error = file.append(&[2; 20_000]).unwrap_err();
    assert_eq!((error.kind(), file.len()), (ErrorKind::NoSpace, 1000));
    assert_eq!(read(&fs, "f"), [1; 1000]);
    assert_eq!(fs.used(), 1000);
    let twos = |fs: &MemFs| read(fs, "f").iter().filter(|&&byte| byte == 2).count();
    for policy in [UnsyncedPolicy::Random, UnsyncedPolicy::RandomPages] {
        let found = crashes(&fs, policy, twos);
        assert!(found.contains(&0) && found.len() > 10, "{found:?}");
        assert!(found.iter().all(|&count| count <= 15_384), "{found:?}");
    }
    assert_eq!(crashes(&fs, UnsyncedPolicy::Lose, twos), [0].into());
    file.sync().unwrap();
    assert_eq!(crashes(&fs, UnsyncedPolicy::Random, twos), [0].into());
    // After a failed append, bytes that fit are appended at the previous end.
    file.append(&[3; 10]).unwrap();
    file.close().unwrap();
    assert_eq!(read(&fs, "f")[1000..], [3; 10]);
}
