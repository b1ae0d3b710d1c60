//! A MANIFEST whose end is lost: the database opens without the last edit, and keeps the files that the edit
//! may have named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{ErrorKind, filename};
use dbtest::crash::dump;
use dbtest::events::Recorder;
use esker::{ColumnFamilyOptions, Db, Event, Options};
use tempfile::TempDir;
use testkit::oracle;
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, PosixFs, Rule};

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            enable_blob_files: true,
            min_blob_size: 100,
            ..ColumnFamilyOptions::default()
        },
        fs,
        ..Options::default()
    }
}

fn named(fs: &dyn FileSystem, dir: &Path, is: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    let names = fs.list(dir).unwrap().into_iter().filter(|name| is(name));
    names
        .map(|name| {
            let bytes = fs.read_file(&dir.join(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

/// A closed database: row "a" is in a WAL that is deleted and in a table with a blob file, which the last
/// edit of its MANIFEST names; row "b" is in the next WAL. Returns the path of the MANIFEST.
fn closed(options: &Options, dir: &Path) -> PathBuf {
    let db = Db::open(options, dir).unwrap();
    db.put(b"a", [b'v'; 1000]).unwrap();
    db.flush().unwrap();
    db.put(b"b", b"value").unwrap();
    db.close().unwrap();
    let manifests = named(&*options.fs, dir, |name| name.starts_with("MANIFEST"));
    assert_eq!(manifests.len(), 1);
    dir.join(&manifests[0].0)
}

fn keys(db: &Db) -> String {
    let rows = dump(db).unwrap();
    let keys = rows.values().flat_map(|rows| rows.keys());
    keys.map(|key| String::from_utf8_lossy(key).into_owned())
        .collect()
}

#[test]
fn what_the_lost_edit_named_is_kept_and_the_log_says_so() {
    let dir = Path::new("/db");
    let whole = MemFs::new();
    let manifest = closed(&options(Arc::new(whole.clone())), dir);
    let len = whole.read_file(&manifest).unwrap().len() as u64;
    let is_data = |name: &str| name.ends_with(".sst") || name.ends_with(".blob") || name.ends_with(".log");
    let data = named(&whole, dir, is_data);
    assert_eq!(data.len(), 3, "a table, a blob file and a WAL");
    // The test opens the database with the complete MANIFEST, without its last byte, and so on through the
    // last edit. If a hard link fails, it may have been made all the same, so the open must not write to the
    // file under its new name.
    for (cut, links_fail) in [
        (0, false),
        (1, false),
        (2, false),
        (10, false),
        (30, false),
        (1, true),
    ] {
        let fs = whole.process_death_clone();
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        if links_fail {
            faulty.add(Rule::new(Action::FailAfter(ErrorKind::Io)).on([Op::Link]));
        }
        fs.truncate(&manifest, len - cut).unwrap();
        let torn = fs.read_file(&manifest).unwrap();
        let events = Recorder::events();
        let options = Options {
            listeners: vec![events.clone()],
            ..options(Arc::new(faulty))
        };
        let db = Db::open(&options, dir).unwrap();
        let expected = if cut == 0 { "ab" } else { "" };
        assert_eq!(keys(&db), expected, "{cut} bytes cut");
        db.close().unwrap();
        let lost = dir.join("lost");
        let told = events.all();
        let is_told = |what: fn(&Event) -> bool| told.iter().any(what);
        assert_eq!(
            is_told(|event| matches!(event, Event::ManifestTorn { .. })),
            cut > 0
        );
        assert_eq!(
            is_told(|event| matches!(event, Event::FilesSetAside { .. })),
            cut > 0
        );
        if cut == 0 {
            assert!(!fs.exists(&lost).unwrap());
            continue;
        }
        assert_eq!(named(&fs, &lost, is_data), data, "{cut} bytes cut");
        let name = manifest.file_name().unwrap().to_str().unwrap();
        assert_eq!(fs.read_file(&lost.join(name)).unwrap(), torn);
        let log = String::from_utf8(fs.read_file(&dir.join("LOG")).unwrap()).unwrap();
        for (name, _) in &data {
            assert!(log.contains(&format!("lost/{name}")), "{name} is not in LOG");
        }
        assert!(log.contains("is torn"), "{log}");
        // The database opens again, no file is kept twice, and a repair with the kept files has all rows.
        let db = Db::open(&options, dir).unwrap();
        db.put(b"c", b"value").unwrap();
        db.close().unwrap();
        assert_eq!(named(&fs, &lost, is_data), data);
        for (name, bytes) in &data {
            fs.write_file(&dir.join(name), bytes).unwrap();
        }
        fs.remove(&filename::current(dir)).unwrap();
        Db::repair(&options, dir).unwrap();
        assert_eq!(keys(&Db::open(&options, dir).unwrap()), "abc", "{cut} bytes cut");
    }
}

#[test]
fn rocksdb_passes_over_what_was_kept() {
    let Some(mut ldb) = oracle::ldb() else {
        return;
    };
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = place.path().join("db");
    let fs = PosixFs::new();
    let options = options(Arc::new(PosixFs::new()));
    let manifest = closed(&options, &dir);
    let len = fs.size(&manifest).unwrap();
    fs.truncate(&manifest, len - 1).unwrap();
    let db = Db::open(&options, &dir).unwrap();
    db.put(b"c", b"value").unwrap();
    db.close().unwrap();
    let kept = named(&fs, &dir.join("lost"), |_| true);
    assert_eq!(kept.len(), 4);
    let output = ldb
        .args([&format!("--db={}", dir.display()), "put", "d", "value"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(named(&fs, &dir.join("lost"), |_| true), kept);
    assert_eq!(keys(&Db::open(&options, &dir).unwrap()), "cd");
}
