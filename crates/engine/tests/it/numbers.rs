//! File numbers and family ids that must not be reused, and other facts that each new MANIFEST must repeat.

use std::path::Path;
use std::sync::Arc;

use base::filename;
use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, UserComparator, WriteBatch};
use manifest::{ManifestState, Replay, VersionEdit, builtin_comparator, snapshot_edits};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions};

const DIR: &str = "/db";

/// Options with which nearly every change begins a new MANIFEST.
fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        max_manifest_file_size: 1,
        ..Options::default()
    }
}

fn current(fs: &MemFs) -> String {
    let text = fs.read_file(&filename::current(Path::new(DIR))).unwrap();
    String::from_utf8(text).unwrap().trim_end().to_owned()
}

/// Reads the current MANIFEST.
pub fn recorded(fs: &MemFs) -> ManifestState {
    let path = Path::new(DIR).join(current(fs));
    let mut reader = wal::Reader::for_manifest(fs.open_random(&path, &OpenOptions::default()).unwrap());
    let mut replay = Replay::new();
    while let Some(record) = reader.read_record().unwrap() {
        replay.apply_record(record).unwrap();
    }
    replay.finish(&mut builtin_comparator).unwrap()
}

/// Replaces the current MANIFEST by one with `state`, whose edits are modified by `change`.
pub fn replace_manifest(fs: &MemFs, mut state: ManifestState, change: impl Fn(&mut VersionEdit)) {
    let number = state.next_file_number;
    state.next_file_number += 1;
    let path = filename::manifest(Path::new(DIR), number);
    let file = fs.create(&path, &CreateOptions::default()).unwrap();
    let mut writer = wal::Writer::new(file, wal::WriterOptions::default()).unwrap();
    for mut edit in snapshot_edits(&state) {
        change(&mut edit);
        let mut record = Vec::new();
        edit.encode(&mut record);
        writer.add_record(&record).unwrap();
    }
    writer.close().unwrap();
    write(
        fs,
        &filename::current(Path::new(DIR)),
        format!("MANIFEST-{number:06}\n").as_bytes(),
    );
}

fn write(fs: &MemFs, path: &Path, bytes: &[u8]) {
    let mut file = fs.create(path, &CreateOptions::default()).unwrap();
    file.append(bytes).unwrap();
    file.close().unwrap();
}

/// A flush or a compaction interrupted by a crash leaves tables and blob files that are in no MANIFEST. They
/// are deleted while new files are written: a new file with the same number would be deleted with them.
#[test]
fn numbers_of_orphans_are_not_used_again() {
    for place in [filename::table, filename::blob] {
        let fs = MemFs::new();
        let options = Options {
            max_manifest_file_size: 1 << 20,
            ..options(&fs)
        };
        let db = Db::open(&options, DIR).unwrap();
        db.put(b"old", b"row").unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        drop(db);
        let next = recorded(&fs).next_file_number;
        let orphans = next..next + 20;
        for number in orphans.clone() {
            write(&fs, &place(Path::new(DIR), number), b"what a crash left");
        }
        let db = Db::open(&options, DIR).unwrap();
        for i in 0..3u8 {
            db.put([i], b"row").unwrap();
            db.flush().unwrap();
        }
        let again: Vec<u64> = db
            .live_files()
            .iter()
            .map(|file| file.number)
            .filter(|number| orphans.contains(number))
            .collect();
        assert_eq!(again, [0; 0], "numbers of orphans that new files have");
        db.close().unwrap();
        drop(db);
        let db = Db::open(&options, DIR).unwrap();
        db.verify_checksum().unwrap();
        for key in [&b"old"[..], &[0], &[1], &[2]] {
            assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"row"[..]));
        }
    }
}

#[test]
fn a_new_manifest_knows_up_to_when_history_has_ended() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    let db = Db::open(&options, DIR).unwrap();
    db.close().unwrap();
    drop(db);
    let low = 7u64.to_le_bytes();
    let mut state = recorded(&fs);
    state.families.get_mut(&0).unwrap().full_history_ts_low = low.into();
    replace_manifest(&fs, state, |_| {});
    for round in 0..3u64 {
        let before = current(&fs);
        let db = Db::open(&options, DIR).unwrap();
        let mut batch = WriteBatch::new();
        let stamp = (10 + round).to_le_bytes();
        batch.put_at(&db.default_column_family(), b"key", &stamp, b"value");
        db.write(batch).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        assert_ne!(current(&fs), before, "another MANIFEST");
        assert_eq!(*recorded(&fs).families[&0].full_history_ts_low, low);
    }
}

/// A dropped family leaves rows in WALs under its id.
#[test]
fn a_new_manifest_knows_the_numbers_of_dropped_families() {
    let fs = MemFs::new();
    let options = options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    let family = ColumnFamilyOptions::default();
    db.create_column_family("one", &family).unwrap();
    let two = db.create_column_family("two", &family).unwrap();
    let dropped = two.id();
    db.put_cf(&two, b"key", b"of a dropped family").unwrap();
    db.drop_column_family(&two).unwrap();
    drop(two);
    let before = current(&fs);
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    // A flush returns when its table is installed; only the close waits for the MANIFEST that the job
    // begins after it.
    db.close().unwrap();
    drop(db);
    assert_ne!(current(&fs), before, "another MANIFEST");
    assert_eq!(recorded(&fs).max_column_family, dropped);
    let db = Db::open(&options, DIR).unwrap();
    let three = db.create_column_family("three", &family).unwrap();
    assert_eq!(three.id(), dropped + 1);
    assert_eq!(db.get_cf(&three, b"key").unwrap(), None);
}

/// A database written by RocksDB with `db_paths` is not damaged, and none of its files is deleted.
#[test]
fn a_database_with_files_in_other_directories_is_not_supported() {
    let fs = MemFs::new();
    let options = options(&fs);
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    let state = recorded(&fs);
    let table = state.families[&0].version.all_files().next().unwrap().1.number;
    replace_manifest(&fs, state, |edit| {
        for (_, file) in &mut edit.new_files {
            Arc::make_mut(file).path_id = 1;
        }
    });
    // If the options name too few directories, the last one is searched: a copy has all tables in one
    // directory.
    assert_eq!(
        Db::open_read_only(&options, DIR).unwrap().get(b"key").unwrap(),
        Some(b"value".to_vec())
    );
    let elsewhere = Path::new("/elsewhere.sst");
    let table_path = Path::new(DIR).join(format!("{table:06}.sst"));
    fs.rename(&table_path, elsewhere).unwrap();
    let mut files = fs.list(Path::new(DIR)).unwrap();
    files.sort();
    for opened in [
        Db::open(&options, DIR),
        Db::open_read_only(&options, DIR),
        Db::open_as_secondary(&options, DIR, "/secondary"),
    ] {
        let error = opened.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        let text = error.to_string();
        for word in [
            "db_paths",
            "cf_paths",
            &format!("{table:06}.sst"),
            "path 1",
            "MANIFEST-",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    let mut left = fs.list(Path::new(DIR)).unwrap();
    left.sort();
    left.retain(|name| !name.starts_with("LO"));
    files.retain(|name| !name.starts_with("LO"));
    assert_eq!(left, files);
}
