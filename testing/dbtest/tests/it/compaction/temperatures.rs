//! Temperatures of tables: chosen by level and by age, recorded, passed to the file system, and counted.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use esker::{Db, Options, Temperature};
use vfs::MemFs;

use crate::ingest::DIR;

fn temperatures(db: &Db) -> Vec<(usize, Temperature)> {
    let mut files: Vec<_> = db.live_files();
    files.sort_by_key(|file| (file.level, file.number));
    files.iter().map(|file| (file.level, file.temperature)).collect()
}

#[test]
fn rocksdb_knows_the_temperatures() {
    let Some(mut ldb) = testkit::oracle::ldb() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.last_level_temperature = Temperature::COLD;
    let db = Db::open(&options, &path).unwrap();
    db.put(b"a", b"1").unwrap();
    rewrite(&db);
    assert_eq!(temperatures(&db), [(6, Temperature::COLD)]);
    drop(db);
    let manifest = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.display().to_string().contains("MANIFEST"))
        .unwrap();
    let dump = ldb
        .arg("manifest_dump")
        .arg(format!("--path={}", manifest.display()))
        .args(["--verbose", "--json"])
        .output()
        .unwrap();
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned() + &String::from_utf8_lossy(&dump.stderr);
    assert!(dump.contains("emperature"), "{dump}");
    assert!(Path::new(&path).exists());
}

#[test]
fn what_writes_cost_is_told_in_one_table() {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.streams_bypass_level0 = false;
    options.column_family.compression_per_level = vec![
        esker::CompressionType::None,
        esker::CompressionType::Lz4,
        esker::CompressionType::Zstd,
    ];
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    for round in 0..2u8 {
        for key in 0..2000 {
            db.put(format!("k{key:05}").as_bytes(), [round; 100]).unwrap();
        }
        flush(&db);
        rewrite(&db);
    }
    let text = db.property(&family, "esker.write-cost").unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["**", "Cost", "of", "Writes", "[default]", "**"]);
    assert_eq!(rows[2].len(), rows[3].len(), "{text}");
    let cell = |name: &str| -> f64 {
        let at = rows[2].iter().position(|head| *head == name).unwrap();
        rows[3][at].parse().unwrap()
    };
    assert!(
        cell("wps") > 0.0 && cell("cpu/w(us)") >= 0.0 && cell("stall%") < 100.0,
        "{text}"
    );
    // Each round of rows was flushed, and compacted with all earlier rows.
    assert!((1.0..4.0).contains(&cell("w-amp")), "{text}");
    let level = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).cloned();
    assert_eq!(level("L0").unwrap()[1..3], ["kNoCompression", "2"], "{text}");
    let below = rows.last().unwrap();
    assert!(
        below[0].starts_with('L') && below[1] != "kNoCompression",
        "{text}"
    );
    assert_eq!(below.len(), 6);
    db.reset_stats();
    let text = db.property(&family, "esker.write-cost").unwrap();
    assert!(!text.contains("\nL0"), "{text}");
}
