//! Checksums of whole files in the MANIFEST: written, kept, verified, and exchanged with RocksDB.

use std::path::Path;
use std::sync::Arc;

use codec::file_checksum::FileCrc32c;
use dbtest::by_hand::{compact, flush};
use dbtest::small::{self, DIR, OTHER, SmallDatabase};
use esker::{
    BottommostLevelCompaction, CheckpointOptions, CompactRangeOptions, Db, FileChecksumGenFactory, Options,
};
use tempfile::TempDir;
use testkit::oracle;
use vfs::{FileSystem, MemFs};

const CRC32C: FileChecksumGenFactory = FileChecksumGenFactory::Crc32c;

/// Checks that every live table has the checksum of its bytes. Returns the number of tables.
fn check(db: &Db, fs: &dyn FileSystem) -> usize {
    let files = db.live_files();
    for file in &files {
        let mut sum = FileCrc32c::new();
        sum.update(&fs.read_file(&file.path).unwrap());
        assert_eq!(file.file_checksum_func_name, "FileChecksumCrc32c", "{file:?}");
        assert_eq!(file.file_checksum, sum.value(), "{file:?}");
    }
    db.verify_checksum().unwrap();
    db.verify_file_checksums().unwrap();
    files.len()
}

#[test]
fn checksums_are_made_and_kept() {
    let whole = SmallDatabase::make(CRC32C).unwrap();
    let fs = MemFs::new();
    whole.put(&fs, Path::new(DIR)).unwrap();
    let options = small::options(Arc::new(fs.clone()), CRC32C);
    {
        let db = Db::open(&options, DIR).unwrap();
        assert!(check(&db, &fs) > 4);
        // Compactions move some of the files, and rewrite others.
        let other = db.column_family(OTHER).unwrap();
        db.put_cf(&other, b"zzz", b"alone").unwrap();
        db.flush_cf(std::slice::from_ref(&other)).unwrap();
        let moved = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Skip,
            ..CompactRangeOptions::default()
        };
        db.compact_range_cf_opt(&other, Some(b"zzz"), None, &moved)
            .unwrap();
        check(&db, &fs);
        compact(&db);
        check(&db, &fs);
        db.create_checkpoint("/checkpoint", &CheckpointOptions::default())
            .unwrap();
        db.close().unwrap();
    }
    let reopened = Db::open(&options, DIR).unwrap();
    let rows = small::rows(&reopened).unwrap();
    assert!(check(&reopened, &fs) > 1);
    reopened.close().unwrap();
    let checkpoint = Db::open(&options, "/checkpoint").unwrap();
    assert!(check(&checkpoint, &fs) > 1);
    assert_eq!(small::rows(&checkpoint).unwrap(), rows);
    checkpoint.close().unwrap();
    // A repair computes the checksums again.
    fs.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    Db::repair(&options, DIR).unwrap();
    let repaired = Db::open(&options, DIR).unwrap();
    assert!(check(&repaired, &fs) > 1);
    assert_eq!(small::rows(&repaired).unwrap(), rows);
}

/// RocksDB reads Esker's checksums from the MANIFEST, and keeps them.
#[test]
fn rocksdb_reads_them() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("db");
    let options = Options {
        create_if_missing: true,
        file_checksum_gen_factory: CRC32C,
        ..Options::default()
    };
    let db = Db::open(&options, &place).unwrap();
    for round in 0..3u32 {
        for i in 0..50u32 {
            db.put(format!("key{i:03}").as_bytes(), round.to_be_bytes())
                .unwrap();
        }
        flush(&db);
        // RocksDB's full compaction does not rewrite files in the last level.
        let whole = CompactRangeOptions::default();
        db.compact_range_cf_opt(&db.default_column_family(), None, None, &whole)
            .unwrap();
    }
    let files = db.live_files();
    assert!(!files.is_empty());
    db.close().unwrap();
    if let Some(mut ldb) = oracle::ldb() {
        ldb.arg("file_checksum_dump")
            .arg(format!("--db={}", place.display()))
            .arg("--hex");
        let out = ldb.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        for file in &files {
            let hex: String = file
                .file_checksum
                .iter()
                .map(|byte| format!("{byte:02X}"))
                .collect();
            let line = format!("{}, FileChecksumCrc32c, 0x{hex}", file.number);
            assert!(
                text.contains(&line),
                "{line} is not in {text}{}",
                String::from_utf8_lossy(&out.stderr)
            );
        }
    }
    if let Some(mut python) = oracle::rocksdict() {
        let script = "import sys, rocksdict\n\
             db = rocksdict.Rdict(sys.argv[1], rocksdict.Options(raw_mode=True))\n\
             assert len(list(db.items())) == 50\n\
             db[b'new'] = b'row'\n\
             db.flush()\n\
             db.close()\n";
        let out = python.args(["-c", script]).arg(&place).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let db = Db::open(&options, &place).unwrap();
        assert_eq!(db.get(b"new").unwrap().as_deref(), Some(&b"row"[..]));
        // RocksDB runs without checksums of files: the file that it writes has none, and Esker's files keep
        // theirs.
        let files = db.live_files();
        let kept = files.iter().filter(|file| !file.file_checksum.is_empty()).count();
        assert!(0 < kept && kept < files.len(), "{kept} of {}", files.len());
        db.verify_file_checksums().unwrap();
    }
    if let Some(mut ldb) = oracle::ldb() {
        testkit::judges::forget_options(&place);
        ldb.args(["checkconsistency"])
            .arg(format!("--db={}", place.display()));
        let out = ldb.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}
