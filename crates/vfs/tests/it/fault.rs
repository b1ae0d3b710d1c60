//! Failures by rule, and crashes at every step.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::ErrorKind;
use esker_vfs::{Action, CreateOptions, FaultFs, FileSystem, MemFs, Op, OpenOptions, Rule, UnsyncedPolicy};

use crate::subjects::{Subject, on_each};

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
    strict_bytes_per_sync: false,
    temperature: base::Temperature::UNKNOWN,
};

fn p(path: &str) -> &Path {
    Path::new(path)
}

fn fault() -> (MemFs, FaultFs) {
    let mem = MemFs::new();
    let fs = FaultFs::new(Arc::new(mem.clone()));
    (mem, fs)
}

#[test]
fn a_rule_bears_upon_the_operations_it_names() {
    let (_, fs) = fault();
    let id = fs.add(
        Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Sync, Op::SyncAll])
            .path_contains("db/")
            .path_ends_with(".log"),
    );
    fs.create_dir_all(p("db")).unwrap();
    fs.write_file(p("db/1.sst"), b"x").unwrap();
    fs.write_file(p("1.log"), b"x").unwrap();
    assert_eq!(fs.fired(id), 0);
    let error = fs.write_file(p("db/1.log"), b"x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "IO error: While sync: injected fault, file db/1.log"
    );
    assert_eq!(fs.fired(id), 1);
    fs.remove_rule(id);
    fs.write_file(p("db/1.log"), b"x").unwrap();
}

#[test]
fn rules_bear_upon_files_already_open() {
    let (_, fs) = fault();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    let syncer = file.syncer().unwrap();
    file.append(b"0123456789").unwrap();
    let reader = fs
        .open_random(
            p("f"),
            &OpenOptions {
                mmap: true,
                ..Default::default()
            },
        )
        .unwrap();
    assert!(reader.mapped().is_none());
    fs.add(Rule::new(Action::Fail(ErrorKind::NoSpace)).on([Op::Append]));
    fs.add(Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Read, Op::Sync]));
    assert_eq!(file.append(b"x").unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(reader.read_at(0, &mut [0; 4]).unwrap_err().kind(), ErrorKind::Io);
    assert!(syncer.sync().is_err() && file.sync().is_err());
    fs.clear_rules();
    assert_eq!(file.len(), 10);
    syncer.sync().unwrap();
}

#[test]
fn reads_can_be_short_or_wrong() {
    let (mem, fs) = fault();
    let data: Vec<u8> = (0..=255).collect();
    mem.write_file(p("f"), &data).unwrap();
    let file = fs.open_random(p("f"), &OpenOptions::default()).unwrap();
    let mut buf = vec![0; 256];

    fs.add(Rule::new(Action::ShortRead).on([Op::Read]).nth(1));
    file.read_exact_at(0, &mut buf).unwrap();
    assert_eq!(
        file.read_exact_at(0, &mut buf).unwrap_err().kind(),
        ErrorKind::Corruption
    );
    file.read_exact_at(0, &mut buf).unwrap();
    assert_eq!(buf, data);

    fs.add(
        Rule::new(Action::BitFlip)
            .on([Op::Read])
            .with_seed(testkit::rng::seed()),
    );
    for _ in 0..20 {
        file.read_exact_at(0, &mut buf).unwrap();
        let turned: u32 = buf.iter().zip(&data).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(turned, 1);
    }
}

#[test]
fn an_append_can_be_torn_and_a_rename_done_though_it_failed() {
    let (mem, fs) = fault();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    fs.add(
        Rule::new(Action::FailAfter(ErrorKind::Io))
            .with_seed(3)
            .on([Op::Append, Op::Rename]),
    );
    assert!(file.append(&[7; 1000]).is_err());
    assert!((1..1000).contains(&file.len()), "{}", file.len());
    assert!(fs.rename(p("f"), p("g")).is_err());
    assert!(mem.exists(p("g")).unwrap() && !mem.exists(p("f")).unwrap());
}

#[test]
fn chance_comes_from_the_seed() {
    let run = |seed| {
        let (_, fs) = fault();
        fs.add(
            Rule::new(Action::Fail(ErrorKind::Io))
                .with_probability(0.3, seed)
                .on([Op::Exists]),
        );
        (0..200).map(|_| fs.exists(p("f")).is_err()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let failures = run(1).iter().filter(|failed| **failed).count();
    assert!((30..90).contains(&failures), "{failures}");
}

#[test]
fn skip_and_times_count_matches() {
    let (_, fs) = fault();
    fs.add(
        Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Exists])
            .path_ends_with("f")
            .skip(2)
            .times(3),
    );
    let outcome: Vec<bool> = (0..8)
        .map(|_| {
            fs.exists(p("g")).unwrap();
            fs.exists(p("f")).is_err()
        })
        .collect();
    assert_eq!(outcome, [false, false, true, true, true, false, false, false]);
}

#[test]
fn a_call_sees_the_state_before_the_operation() {
    let (mem, fs) = fault();
    let seen = Arc::new(AtomicU64::new(u64::MAX));
    let look = {
        let (mem, seen) = (mem.clone(), seen.clone());
        move |op: Op, path: &Path| {
            assert_eq!((op, path), (Op::Close, p("f")));
            seen.store(mem.size(path).unwrap(), Ordering::SeqCst);
        }
    };
    fs.add(Rule::new(Action::Call(Arc::new(look))).on([Op::Close]));
    let mut file = fs.create(p("f"), &CreateOptions::default()).unwrap();
    file.append(b"buffered").unwrap();
    file.close().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 0);
    assert_eq!(mem.size(p("f")).unwrap(), 8);
}

#[test]
fn after_a_crash_nothing_works() {
    let (mem, fs) = fault();
    let mut file = fs.create(p("f"), &LOG).unwrap();
    let reader = fs.open_random(p("f"), &OpenOptions::default()).unwrap();
    fs.add(Rule::new(Action::Crash).on([Op::Append]).nth(1));
    file.append(b"one").unwrap();
    assert!(!fs.is_crashed());
    assert_eq!(file.append(b"two").unwrap_err().kind(), ErrorKind::Io);
    assert!(fs.is_crashed());
    fs.clear_rules();
    assert!(file.append(b"three").is_err() && file.sync().is_err() && file.close().is_err());
    assert!(reader.read_at(0, &mut [0; 3]).is_err());
    assert!(fs.list(p("/")).is_err() && fs.remove(p("f")).is_err());
    assert!(mem.read_file(p("f")).unwrap().starts_with(b"one\0"));
}

/// CURRENT is replaced, with a crash at every change: afterwards it has either the old or the new content,
/// and the new one once the replacement was acknowledged.
#[test]
fn replacing_a_file_survives_a_crash_anywhere() {
    let scenario = |fs: &dyn FileSystem| fs.replace_file(p("/db/CURRENT"), p("/db/1.dbtmp"), b"new");
    let prepared = || {
        let (mem, fs) = fault();
        mem.create_dir_all(p("/db")).unwrap();
        mem.sync_dir(p("/")).unwrap();
        mem.write_file(p("/db/CURRENT"), b"old").unwrap();
        mem.sync_dir(p("/db")).unwrap();
        (mem, fs)
    };
    let (_, fs) = prepared();
    scenario(&fs).unwrap();
    let changes = fs.changes();
    assert!(changes >= 6 && fs.operations() >= changes);
    let mut rng = testkit::rng();
    for crash_at in 0..=changes {
        let (mem, fs) = prepared();
        fs.crash_at(crash_at);
        let acknowledged = scenario(&fs).is_ok();
        assert_eq!(acknowledged, crash_at == changes);
        for policy in [
            UnsyncedPolicy::Lose,
            UnsyncedPolicy::Keep,
            UnsyncedPolicy::Random,
            UnsyncedPolicy::RandomPages,
        ] {
            for _ in 0..20 {
                let after = mem.crash_clone(&mut rng, policy);
                let content = after.read_file(&PathBuf::from("/db/CURRENT")).unwrap();
                assert!(
                    content == b"new" || (content == b"old" && !acknowledged),
                    "{crash_at} {policy:?}"
                );
            }
        }
    }
}

/// After a failed append for lack of space a log is unchanged, whatever part of the data was in the file, and
/// appends continue.
#[test]
fn an_append_without_room_leaves_no_part_of_its_data() {
    on_each(|Subject { fs, dir, .. }| {
        let faults = FaultFs::new(fs.clone());
        for (reused, short) in [(false, true), (false, false), (true, true), (true, false)] {
            let path = dir.join("log");
            let mut file = match reused {
                false => faults.create(&path, &LOG).unwrap(),
                true => {
                    let old = dir.join("old");
                    fs.write_file(&old, &vec![0x55; 300_000]).unwrap();
                    faults.reuse(&old, &path, &LOG).unwrap()
                }
            };
            let len = if short { 700 } else { 100_000 };
            let mut expected = Vec::new();
            for seed in 0..20u8 {
                let data = vec![seed + 1; len];
                file.append(&data).unwrap();
                expected.extend_from_slice(&data);
                let rule = Rule::new(Action::FailAfter(ErrorKind::NoSpace)).with_seed(u64::from(seed));
                let rule = faults.add(rule.on([Op::Append]));
                let error = file.append(&vec![0xee; len]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                faults.remove_rule(rule);
                assert_eq!(file.len(), expected.len() as u64);
                let bytes = fs.read_file(&path).unwrap();
                assert!(bytes[..expected.len()] == expected);
                let behind = &bytes[expected.len()..];
                assert!(behind.iter().all(|&byte| byte == 0), "after {seed} failures");
                if seed % 5 == 0 {
                    file.sync().unwrap();
                }
            }
            file.close().unwrap();
            assert!(fs.read_file(&path).unwrap() == expected);
            fs.remove(&path).unwrap();
        }
    });
}
