//! `best_efforts_recovery`: databases whose files are missing open in the newest state that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use dbtest::crash::dump;
use dbtest::events::Recorder;
use esker::{ColumnFamily, Db, ErrorKind, Event, Options, WriteBatch, WriteOptions};
use testkit::TestRng;
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";
const FAMILIES: [&str; 2] = ["default", "other"];

fn options(fs: &MemFs) -> Options {
    let mut options = Options {
        create_if_missing: true,
        create_missing_column_families: true,
        best_efforts_recovery: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    let other = options.column_family.clone();
    options.column_families.insert("other".to_owned(), other);
    options
}

/// The family `other` has blob files.
fn blob_options(fs: &MemFs) -> Options {
    let mut options = options(fs);
    let family = options.column_families.get_mut("other").unwrap();
    family.enable_blob_files = true;
    family.min_blob_size = 10;
    options
}

fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

fn is_data(name: &str) -> bool {
    matches!(
        filename::parse(name),
        Some(FileKind::Table(_) | FileKind::Blob(_))
    )
}

/// Copies the tables and blob files that `kept` does not have, and the MANIFESTs as they are.
fn keep(db: &Db, fs: &MemFs, kept: &mut BTreeMap<String, Vec<u8>>) {
    // No file is deleted while it is read.
    db.wait_for_purge().unwrap();
    for name in fs.list(Path::new(DIR)).unwrap() {
        let is_manifest = matches!(filename::parse(&name), Some(FileKind::Manifest(_)));
        if is_manifest || is_data(&name) && !kept.contains_key(&name) {
            kept.insert(name.clone(), fs.read_file(&path(&name)).unwrap());
        }
    }
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A state of a family in the MANIFEST.
#[derive(Clone, Debug)]
struct FamilyState {
    /// The tables of L0 with the sequence number before the writes that they come from, the newest first.
    level0: Vec<(String, u64)>,
    others: BTreeSet<String>,
    /// The sequence number of the last row of the family's state.
    last: u64,
}

/// The writes of a family: a sequence number, a key and its value, or its deletion.
#[derive(Default)]
struct Family {
    writes: Vec<(u64, Vec<u8>, Option<Vec<u8>>)>,
    states: Vec<FamilyState>,
    /// For each table of L0, the sequence number before the first write in it.
    before: BTreeMap<u64, u64>,
}

impl Family {
    fn rows(&self, up_to: u64) -> Rows {
        let mut rows = Rows::new();
        for (seqno, key, value) in &self.writes {
            match value {
                _ if *seqno > up_to => break,
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        rows
    }

    fn note(&mut self, db: &Db, name: &str) {
        let files = db.live_files();
        let of_family = || files.iter().filter(|file| file.column_family == name);
        let flushed = self.states.last().map_or(0, |state| state.last);
        let mut level0 = Vec::new();
        for file in of_family().filter(|file| file.level == 0) {
            let before = *self.before.entry(file.number).or_insert(flushed);
            level0.push((format!("{:06}.sst", file.number), before));
        }
        level0.sort_by_key(|(_, before)| std::cmp::Reverse(*before));
        let others = of_family().filter(|file| file.level > 0);
        self.states.push(FamilyState {
            level0,
            others: others.map(|file| format!("{:06}.sst", file.number)).collect(),
            last: db.latest_sequence_number(),
        });
    }

    /// The rows of the newest state whose files exist, and whether it is the last one.
    fn expected(&self, there: &BTreeSet<String>) -> (Rows, bool) {
        for (back, state) in self.states.iter().rev().enumerate() {
            let missing = state.level0.iter().take_while(|(name, _)| !there.contains(name));
            let missing: Vec<_> = missing.collect();
            let rest = &state.level0[missing.len()..];
            if rest.iter().all(|(name, _)| there.contains(name)) && state.others.is_subset(there) {
                let last = missing.last().map_or(state.last, |(_, before)| *before);
                return (self.rows(last), back == 0 && missing.is_empty());
            }
        }
        (Rows::new(), self.states.is_empty())
    }
}

fn write(rng: &mut TestRng, db: &Db, which: usize, family: &mut Family) {
    let handle = db.column_family(FAMILIES[which]).unwrap();
    for _ in 0..rng.usize(1..6) {
        let key = vec![b'a' + rng.u8(..6)];
        let value = (!rng.one_in(4)).then(|| {
            let len = rng.usize(1..40);
            rng.bytes(len)
        });
        match &value {
            Some(value) => db.put_cf(&handle, &key, value).unwrap(),
            None => db.delete_cf(&handle, &key).unwrap(),
        }
        family.writes.push((db.latest_sequence_number(), key, value));
    }
}

fn numbers(db: &Db, name: &str) -> Vec<u64> {
    let files = db.live_files().into_iter();
    let of_family = files.filter(|file| file.column_family == name);
    of_family.map(|file| file.number).collect()
}

/// The rows of both families.
fn rows(db: &Db) -> Vec<Rows> {
    let mut all = dump(db).unwrap();
    FAMILIES.map(|name| all.remove(name).unwrap_or_default()).into()
}

#[test]
fn every_loss_of_tables_leaves_the_newest_state_that_is_there() {
    for seed in testkit::rng::seeds(50) {
        let rng = &mut TestRng::with_seed(seed);
        let fs = MemFs::new();
        let options = options(&fs);
        let db = Db::open(&options, DIR).unwrap();
        let handles: Vec<ColumnFamily> = FAMILIES
            .iter()
            .map(|name| db.column_family(name).unwrap())
            .collect();
        let mut families = [Family::default(), Family::default()];
        let mut kept = BTreeMap::new();
        for _ in 0..rng.usize(2..10) {
            let which = rng.usize(..2);
            match rng.u32(..3) {
                0 => db.compact_range_cf(&handles[which], None, None).unwrap(),
                _ => {
                    write(rng, &db, which, &mut families[which]);
                    db.flush_cf(std::slice::from_ref(&handles[which])).unwrap();
                }
            }
            keep(&db, &fs, &mut kept);
            families[which].note(&db, FAMILIES[which]);
        }
        let with_wal = rng.bool();
        let mut unflushed = WriteBatch::new();
        unflushed.put(b"in the WAL", b"value");
        if with_wal {
            db.write(unflushed).unwrap();
        }
        // The process dies. The directory has every file that the database ever had, except those that the
        // test removes.
        let fs = fs.process_death_clone();
        drop(db);
        let mut there = BTreeSet::new();
        let lossy = rng.u32(1..7);
        for (name, bytes) in kept.iter().filter(|(name, _)| is_data(name)) {
            match rng.u32(..lossy) {
                0 if lossy > 1 => {
                    // The test removes each file that is lost, or truncates it.
                    let _ = fs.remove(&path(name));
                    if rng.bool() {
                        fs.write_file(&path(name), &bytes[..bytes.len() - 1]).unwrap();
                    }
                }
                _ => {
                    fs.write_file(&path(name), bytes).unwrap();
                    there.insert(name.clone());
                }
            }
        }
        if rng.one_in(4) {
            fs.remove(&path("CURRENT")).unwrap();
        }
        let options = self::options(&fs);
        let expected: Vec<_> = families.iter().map(|family| family.expected(&there)).collect();
        let whole = expected.iter().all(|(_, whole)| *whole);
        let mut wanted: Vec<Rows> = expected.into_iter().map(|(rows, _)| rows).collect();
        if whole && with_wal {
            wanted[0].insert(b"in the WAL".to_vec(), b"value".to_vec());
        }
        if rng.one_in(3) {
            let db = Db::open_read_only(&options, DIR).unwrap();
            assert_eq!(rows(&db), wanted, "read only");
        }
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(rows(&db), wanted);
        assert_eq!(dbtest::files::check(&db).unwrap(), "");
        db.put(b"later", b"row").unwrap();
        wanted[0].insert(b"later".to_vec(), b"row".to_vec());
        drop(db);
        // After the best-efforts recovery the state on disk is complete, and an ordinary open finds it.
        let ordinary = Options {
            best_efforts_recovery: false,
            ..options
        };
        let db = Db::open(&ordinary, DIR).unwrap();
        assert_eq!(rows(&db), wanted);
    }
}

#[test]
fn families_of_one_atomic_flush_go_back_together() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.atomic_flush = true;
    let db = Db::open(&options, DIR).unwrap();
    let handles = FAMILIES.map(|name| db.column_family(name).unwrap());
    for round in 1..=2u8 {
        for handle in &handles {
            let unlogged = WriteOptions {
                disable_wal: true,
                ..WriteOptions::default()
            };
            db.put_cf_opt(handle, [round], b"value", &unlogged).unwrap();
        }
        db.flush_cf(&handles).unwrap();
    }
    let newest = numbers(&db, "other").into_iter().max().unwrap();
    db.close().unwrap();
    fs.remove(&path(&format!("{newest:06}.sst"))).unwrap();
    let db = Db::open(&options, DIR).unwrap();
    let first: Rows = BTreeMap::from([(vec![1], b"value".to_vec())]);
    assert_eq!(rows(&db), [first.clone(), first]);
}

#[test]
fn a_missing_blob_file_takes_its_table_along() {
    let fs = MemFs::new();
    let options = blob_options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    let other = db.column_family("other").unwrap();
    for round in 1..=3u8 {
        db.put_cf(&other, [round], [round; 100]).unwrap();
        db.flush_cf(std::slice::from_ref(&other)).unwrap();
    }
    db.close().unwrap();
    let names = fs.list(Path::new(DIR)).unwrap().into_iter();
    let blobs: Vec<_> = names.filter(|name| name.ends_with(".blob")).collect();
    assert_eq!(blobs.len(), 3);
    let newest = blobs.iter().max().unwrap();
    let len = fs.size(&path(newest)).unwrap();
    fs.truncate(&path(newest), len - 1).unwrap();
    let refused = Options {
        best_efforts_recovery: false,
        ..options.clone()
    };
    let error = Db::open(&refused, DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    let db = Db::open(&options, DIR).unwrap();
    let left: Vec<Vec<u8>> = rows(&db)[1].keys().cloned().collect();
    assert_eq!(left, [vec![1], vec![2]]);
}

/// A state of a family is not used if one of its tables may refer to a missing blob file, even if that file
/// belongs to an earlier state.
#[test]
fn a_table_that_may_refer_to_a_missing_blob_file_is_not_used() {
    let fs = MemFs::new();
    let options = blob_options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    let other = db.column_family("other").unwrap();
    let mut kept = BTreeMap::new();
    for round in 1..=2u8 {
        db.put_cf(&other, b"all", [round; 100]).unwrap();
        db.put_cf(&other, [round], [round; 100]).unwrap();
        db.flush_cf(std::slice::from_ref(&other)).unwrap();
        keep(&db, &fs, &mut kept);
    }
    db.compact_range_cf(&other, None, None).unwrap();
    db.close().unwrap();
    let newest = kept.keys().rfind(|name| name.ends_with(".blob")).unwrap();
    for (name, bytes) in kept.iter().filter(|(name, _)| is_data(name)) {
        fs.write_file(&path(name), bytes).unwrap();
    }
    fs.remove(&path(newest)).unwrap();
    let db = Db::open(&options, DIR).unwrap();
    let first = vec![1; 100];
    let wanted = Rows::from([(vec![1], first.clone()), (b"all".to_vec(), first)]);
    assert_eq!(rows(&db)[1], wanted);
}

#[test]
fn the_newest_manifest_that_can_be_read_is_used() {
    let fs = MemFs::new();
    let options = options(&fs);
    let mut kept = BTreeMap::new();
    for round in 1..=3u8 {
        let db = Db::open(&options, DIR).unwrap();
        db.put([round], b"value").unwrap();
        db.flush().unwrap();
        // The MANIFEST of the previous session was deleted.
        db.wait_for_purge().unwrap();
        keep(&db, &fs, &mut kept);
        db.close().unwrap();
    }
    let manifests: Vec<String> = kept.keys().filter(|name| !is_data(name)).cloned().collect();
    assert_eq!(manifests.len(), 3);
    for name in &manifests {
        fs.write_file(&path(name), &kept[name]).unwrap();
    }
    // The current MANIFEST is damaged at its beginning, and CURRENT names no file.
    let mut damaged = kept[&manifests[2]].clone();
    damaged[..40].fill(0x55);
    fs.write_file(&path(&manifests[2]), &damaged).unwrap();
    fs.write_file(&path("CURRENT"), b"nothing").unwrap();
    let whole = fs.process_death_clone();
    let events = Recorder::events();
    let heard = Options {
        listeners: vec![events.clone()],
        ..options
    };
    let db = Db::open(&heard, DIR).unwrap();
    let keys: Vec<Vec<u8>> = rows(&db)[0].keys().cloned().collect();
    assert_eq!(keys, [[1], [2]]);
    db.close().unwrap();
    let set_aside = events.all().into_iter().find_map(|event| match event {
        Event::FilesSetAside { files, .. } => Some(files),
        _ => None,
    });
    let set_aside = set_aside.unwrap();
    assert!(
        set_aside.iter().any(|file| file.ends_with(".sst")),
        "{set_aside:?}"
    );
    let lost = fs.list(&path("lost")).unwrap();
    assert!(manifests.iter().all(|name| lost.contains(name)), "{lost:?}");
    let log = String::from_utf8(fs.read_file(&path("LOG")).unwrap()).unwrap();
    assert!(log.contains("best_efforts_recovery: files are missing"), "{log}");

    // Without any MANIFEST there is no database.
    for name in &manifests {
        whole.remove(&path(name)).unwrap();
    }
    let none = Options {
        create_if_missing: false,
        fs: Arc::new(whole),
        ..heard
    };
    assert_eq!(Db::open(&none, DIR).unwrap_err().kind(), ErrorKind::NoDatabase);
}
