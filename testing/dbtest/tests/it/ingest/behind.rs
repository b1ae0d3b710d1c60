//! Files that are ingested behind all existing rows: existing rows of their keys stay, including deletions.

use std::path::{Path, PathBuf};

use dbtest::by_hand::rewrite;
use dbtest::crash::dump;
use dbtest::files;
use esker::{CompactionStyle, Db, ErrorKind, IngestExternalFileOptions, Options, SstFileWriter};
use vfs::FileSystem;

use crate::ingest::{DIR, OUTSIDE, Rows, fresh, rows_of, shape, tables_in, write_file};

fn reserving() -> (vfs::MemFs, Options) {
    let (mem, mut options) = fresh();
    options.column_family.compaction_style = CompactionStyle::Universal;
    options.column_family.cf_allow_ingest_behind = true;
    options.column_families.clear();
    (mem, options)
}

fn behind() -> IngestExternalFileOptions {
    IngestExternalFileOptions {
        ingest_behind: true,
        ..IngestExternalFileOptions::default()
    }
}

#[test]
fn what_comes_behind_shows_where_there_was_nothing() {
    let (_mem, mut options) = reserving();
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"b", b"own").unwrap();
    db.put(b"c", b"own").unwrap();
    db.delete(b"c").unwrap();
    db.delete_range(b"e", b"g").unwrap();
    rewrite(&db);
    // The row stays in the memtable: an ingestion behind existing rows does not flush it.
    db.put(b"d", b"own").unwrap();
    let file = write_file(&options, "1", &["a:1", "b:1", "c:1", "d:1", "e:1", "g:1"]);
    db.ingest_external_file(&[file], &behind()).unwrap();
    let expected = ["a=1", "b=own", "d=own", "g=1"];
    assert!(
        shape(&db, "default").ends_with("L6 a..g@0"),
        "{}",
        shape(&db, "default")
    );
    assert_eq!(db.live_files().len(), 2);
    assert_eq!(rows_of(&db), expected);
    rewrite(&db);
    assert_eq!(rows_of(&db), expected);
    // A full compaction does not touch the file that was ingested behind, and keeps the rows that hide its
    // rows.
    assert!(
        shape(&db, "default").ends_with("L6 a..g@0"),
        "{}",
        shape(&db, "default")
    );
    assert_eq!(files::check(&db).unwrap(), "");
    db.ingest_external_file(&[write_file(&options, "2", &["x:2"])], &behind())
        .unwrap();
    drop(db);
    // After the ingestions, the family can be used like any other.
    options.column_family.cf_allow_ingest_behind = false;
    let db = Db::open(&options, DIR).unwrap();
    rewrite(&db);
    assert_eq!(rows_of(&db), ["a=1", "b=own", "d=own", "g=1", "x=2"]);
    assert!(
        shape(&db, "default").starts_with("L6"),
        "{}",
        shape(&db, "default")
    );
    assert_eq!(db.live_files()[0].num_deletions, 0);
}

#[test]
fn what_does_not_fit_behind_is_refused() {
    let (mem, options) = reserving();
    let db = Db::open(&options, DIR).unwrap();
    db.ingest_external_file(&[write_file(&options, "1", &["b:1", "d:1"])], &behind())
        .unwrap();
    let refused = |db: &Db, files: &[PathBuf], kind: ErrorKind, text: &str| {
        let before = tables_in(&mem);
        let error = db.ingest_external_file(files, &behind()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(tables_in(&mem), before);
    };
    let between = write_file(&options, "2", &["c:2"]);
    refused(&db, &[between], ErrorKind::InvalidArgument, "doesn't fit");
    let both = [
        write_file(&options, "3", &["x:2"]),
        write_file(&options, "4", &["x:3"]),
    ];
    refused(&db, &both, ErrorKind::NotSupported, "overlapping ranges");
    // A file that was ingested normally without a sequence number occupies the last level, so that no file
    // can be ingested behind it.
    let usual = IngestExternalFileOptions::default();
    db.ingest_external_file(&[write_file(&options, "5", &["c:5"])], &usual)
        .unwrap();
    let file = write_file(&options, "6", &["y:6"]);
    if db
        .live_files()
        .iter()
        .any(|file| file.level < 6 && file.smallest_seqno == 0)
    {
        refused(
            &db,
            std::slice::from_ref(&file),
            ErrorKind::InvalidArgument,
            "0 seqno",
        );
    }
    drop(db);
    // With `cf_allow_ingest_behind` off, the family may have rows in its last level.
    let mut leveled = options.clone();
    leveled.column_family.cf_allow_ingest_behind = false;
    let db = Db::open(&leveled, DIR).unwrap();
    refused(
        &db,
        &[file],
        ErrorKind::InvalidArgument,
        "cf_allow_ingest_behind=false",
    );
    drop(db);
    let mut wrong = options.clone();
    wrong.column_family.compaction_style = CompactionStyle::Level;
    let error = Db::open(&wrong, DIR).unwrap_err();
    assert!(error.to_string().contains("cf_allow_ingest_behind"), "{error}");
    // The option for all families is ignored for those whose compaction style does not support it.
    wrong.column_family.cf_allow_ingest_behind = false;
    wrong.allow_ingest_behind = true;
    Db::open(&wrong, DIR).unwrap();
}

/// Random rows, deletions and compactions: rows that are ingested behind are the oldest version of their
/// keys.
#[test]
fn random_rows_hide_what_comes_behind_them() {
    let mut rng = testkit::rng();
    for _ in 0..8 {
        let (mem, mut options) = reserving();
        options.column_family.write_buffer_size = 4 << 10;
        let db = Db::open(&options, DIR).unwrap();
        let family = db.default_column_family();
        let mut rows = Rows::new();
        let mut hidden = std::collections::BTreeSet::new();
        let mut next = 0;
        for step in 0..120 {
            let key = format!("k{:03}", rng.u32(..300)).into_bytes();
            match rng.u32(..20) {
                0..8 => {
                    let value = rng.bytes(60);
                    db.put(&key, &value).unwrap();
                    rows.insert(key.clone(), value);
                    hidden.insert(key);
                }
                8..13 => {
                    db.delete(&key).unwrap();
                    rows.remove(&key);
                    hidden.insert(key);
                }
                13 => {
                    let end = format!("k{:03}", rng.u32(..300)).into_bytes();
                    if key < end {
                        db.delete_range_cf(&family, &key, &end).unwrap();
                        rows.retain(|row, _| *row < key || *row >= end);
                        let all = (0..300).map(|i| format!("k{i:03}").into_bytes());
                        hidden.extend(all.filter(|row| *row >= key && *row < end));
                    }
                }
                14 | 15 => db.flush().unwrap(),
                16 => rewrite(&db),
                _ if next < 300 => {
                    let path = Path::new(OUTSIDE).join(format!("{step}"));
                    let mut writer = SstFileWriter::new(&options);
                    writer.open(&path).unwrap();
                    let end = (next + rng.u32(1..40)).min(300);
                    for i in next..end {
                        let key = format!("k{i:03}").into_bytes();
                        writer.put(&key, b"behind").unwrap();
                        if !hidden.contains(&key) {
                            rows.insert(key, b"behind".to_vec());
                        }
                    }
                    next = end;
                    let file = writer.finish().unwrap().file_path;
                    db.ingest_external_file(&[&file], &behind()).unwrap();
                    mem.remove(&file).unwrap();
                }
                _ => {}
            }
            if rng.one_in(8) {
                assert_eq!(dump(&db).unwrap()["default"], rows, "step {step}");
            }
        }
        rewrite(&db);
        assert_eq!(dump(&db).unwrap()["default"], rows);
        assert_eq!(files::check(&db).unwrap(), "");
        drop((family, db));
        options.column_family.cf_allow_ingest_behind = false;
        let db = Db::open(&options, DIR).unwrap();
        rewrite(&db);
        assert_eq!(dump(&db).unwrap()["default"], rows);
    }
}
