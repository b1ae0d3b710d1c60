//! Files that are ingested behind all existing rows: existing rows of their keys stay, including deletions.

use std::path::Path;

use dbtest::by_hand::rewrite;
use dbtest::crash::dump;
use dbtest::files;
use esker::{CompactionStyle, Db, IngestExternalFileOptions, Options, SstFileWriter};
use vfs::FileSystem;

use crate::ingest::{DIR, OUTSIDE, Rows, fresh};

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
