//! External files that must be refused: the error has the reason, and the directory stays unchanged.

use std::path::{Path, PathBuf};

use dbtest::by_hand::flush;
use dbtest::crash::dump;
use esker::{
    Db, ErrorKind, FileChecksumGenFactory, IngestExternalFileArg, IngestExternalFileOptions, Options,
    SstFileWriter, UserComparator,
};
use vfs::{FileSystem, MemFs};

use crate::ingest::{DIR, OUTSIDE, fresh, live_names, tables_in, write_file};

/// A database, and the check that an ingestion is refused without effect.
struct Refused {
    db: Db,
    mem: MemFs,
    options: Options,
}

impl Refused {
    fn new() -> Refused {
        let (mem, mut options) = fresh();
        options.column_family.disable_auto_compactions = true;
        let db = Db::open(&options, DIR).unwrap();
        db.put(b"b", b"in a table").unwrap();
        flush(&db);
        db.put(b"d", b"in memory").unwrap();
        Refused { db, mem, options }
    }

    fn with(
        &self,
        what: &str,
        ingestion: &IngestExternalFileOptions,
        files: &[PathBuf],
        kind: ErrorKind,
        text: &str,
    ) {
        let arg = IngestExternalFileArg::new(&self.db.default_column_family(), files, ingestion.clone());
        self.arg(what, &[arg], kind, text);
    }

    fn arg(&self, what: &str, args: &[IngestExternalFileArg], kind: ErrorKind, text: &str) {
        let outside = || self.mem.list(Path::new(OUTSIDE)).unwrap();
        let files = outside();
        let found = dump(&self.db).unwrap();
        let error = self.db.ingest_external_files(args).unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(text), "{what}: {error}");
        // A flush before the ingestion is not part of the ingestion, so the flushed tables are not counted.
        let mut tables = tables_in(&self.mem);
        tables.retain(|name| !live_names(&self.db).contains(name));
        assert_eq!((tables, outside()), (Vec::new(), files), "{what}");
        assert_eq!(dump(&self.db).unwrap(), found, "{what}");
        self.db.put(b"after", what.as_bytes()).unwrap();
    }

    /// A file in which the bytes `from` are replaced once by the bytes `to`, which have the same length.
    fn edited(&self, name: &str, from: &[u8], to: &[u8]) -> PathBuf {
        let path = write_file(&self.options, name, &["p:old", "q:new"]);
        let mut bytes = self.mem.read_file(&path).unwrap();
        let at = bytes
            .windows(from.len())
            .position(|window| window == from)
            .unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        self.mem.write_file(&path, &bytes).unwrap();
        path
    }
}

#[test]
fn what_cannot_be_ingested_is_refused_and_the_directory_is_as_it_was() {
    let refused = Refused::new();
    let usual = IngestExternalFileOptions::default();
    let options = &refused.options;
    let good = || write_file(options, "good", &["x:1", "z:1"]);

    // The refused files are one that is not a table and one that is missing.
    let nothing = PathBuf::from("/outside/nothing");
    refused.with(
        "missing",
        &usual,
        &[good(), nothing],
        ErrorKind::NotFound,
        "nothing",
    );
    let noise = PathBuf::from("/outside/noise");
    refused.mem.write_file(&noise, &[7; 500]).unwrap();
    refused.with("noise", &usual, &[good(), noise], ErrorKind::Corruption, "");
    refused.with(
        "no file",
        &usual,
        &[],
        ErrorKind::InvalidArgument,
        "external_files[0] is empty",
    );

    // A table of a database is refused.
    flush(&refused.db);
    let table = refused.db.live_files()[0].path.clone();
    refused.with(
        "a table",
        &usual,
        std::slice::from_ref(&table),
        ErrorKind::Corruption,
        "External file version not found",
    );
    let moved = IngestExternalFileOptions {
        move_files: true,
        allow_db_generated_files: true,
        ..usual.clone()
    };
    refused.with(
        "its own table",
        &moved,
        std::slice::from_ref(&table),
        ErrorKind::InvalidArgument,
        "out of the database",
    );
    let kept = IngestExternalFileOptions {
        allow_db_generated_files: true,
        ..usual.clone()
    };
    refused.with(
        "over itself",
        &kept,
        &[table],
        ErrorKind::InvalidArgument,
        "allow_db_generated_files",
    );

    // Files with another comparator, or of another family, are refused.
    let mut reverse = options.clone();
    reverse.column_family.comparator = UserComparator::ReverseBytewise;
    let file = write_file(&reverse, "reverse", &["z:1", "x:1"]);
    refused.with(
        "comparator",
        &usual,
        &[good(), file],
        ErrorKind::InvalidArgument,
        "Comparator name mismatch",
    );
    let other = refused.db.column_family("other").unwrap();
    let mut writer = SstFileWriter::for_column_family(options, &other);
    writer.open("/outside/other").unwrap();
    writer.put(b"x", b"1").unwrap();
    let file = writer.finish().unwrap().file_path;
    refused.with(
        "family",
        &usual,
        &[file],
        ErrorKind::InvalidArgument,
        "column family id don't match",
    );

    // Corruption of a block is found if the options ask for verification.
    let verify = IngestExternalFileOptions {
        verify_checksums_before_ingest: true,
        ..usual.clone()
    };
    let file = refused.edited("damaged", b"old", b"odd");
    refused.with("checksum", &verify, &[good(), file], ErrorKind::Corruption, "");

    // The refused file has entries out of order, and no checksums that would show it.
    let mut unchecked = options.clone();
    unchecked.column_family.table.checksum = esker::ChecksumType::None;
    let file = write_file(&unchecked, "disorder", &["p1:a", "p2:b", "p3:c"]);
    let mut bytes = refused.mem.read_file(&file).unwrap();
    let at = bytes.windows(2).position(|window| window == b"2\x01").unwrap();
    bytes[at] = b'9';
    refused.mem.write_file(&file, &bytes).unwrap();
    refused.with("order", &verify, &[file], ErrorKind::Corruption, "out of order");

    // These combinations of options permit no way of ingesting the file.
    let overlapping = || write_file(options, "overlapping", &["b:2"]);
    let no_seqno = IngestExternalFileOptions {
        allow_global_seqno: false,
        ..usual.clone()
    };
    refused.with(
        "seqno",
        &no_seqno,
        &[overlapping()],
        ErrorKind::InvalidArgument,
        "Global seqno is required",
    );
    let both = [good(), write_file(options, "good2", &["y:1"])];
    refused.with(
        "seqno of two",
        &no_seqno,
        &both,
        ErrorKind::InvalidArgument,
        "Global seqno is required",
    );
    refused.db.put(b"d", b"in memory").unwrap();
    let no_flush = IngestExternalFileOptions {
        allow_blocking_flush: false,
        ..usual.clone()
    };
    let in_memory = write_file(options, "in-memory", &["c:2", "e:2"]);
    refused.with(
        "flush",
        &no_flush,
        &[in_memory],
        ErrorKind::InvalidArgument,
        "External file requires flush",
    );
    let bottom = IngestExternalFileOptions {
        fail_if_not_bottommost_level: true,
        ..usual.clone()
    };
    refused.with("bottom", &bottom, &[overlapping()], ErrorKind::TryAgain, "Lmax");
    let torn = IngestExternalFileOptions {
        move_files: true,
        link_files: true,
        ..usual.clone()
    };
    refused.with(
        "both",
        &torn,
        &[good()],
        ErrorKind::InvalidArgument,
        "can not both be true",
    );
    let arg = IngestExternalFileArg::new(&other, [good()], usual.clone());
    refused.arg(
        "twice",
        &[arg.clone(), arg],
        ErrorKind::InvalidArgument,
        "duplicate column families",
    );

    // The ingestion into one of two families fails: no file is ingested into either.
    let good_one = IngestExternalFileArg::new(&other, [good()], usual.clone());
    let default = refused.db.default_column_family();
    let bad_one = IngestExternalFileArg::new(&default, [overlapping()], no_seqno);
    refused.arg(
        "one of two",
        &[good_one, bad_one],
        ErrorKind::InvalidArgument,
        "Global seqno is required",
    );
}

#[test]
fn tables_that_refer_to_blob_files_are_refused() {
    let refused = Refused::new();
    let mut blobs = refused.options.clone();
    blobs.column_family.enable_blob_files = true;
    blobs.column_family.min_blob_size = 10;
    let source = Db::open(&blobs, "/source").unwrap();
    source.put(b"x", [b'v'; 100]).unwrap();
    flush(&source);
    let table = source.live_files()[0].path.clone();
    let keeps = IngestExternalFileOptions {
        allow_db_generated_files: true,
        ..IngestExternalFileOptions::default()
    };
    refused.with(
        "blobs",
        &keeps,
        &[table],
        ErrorKind::NotSupported,
        "refers to blob file",
    );
    let error = source
        .export_column_family(&source.default_column_family(), "/exported")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

#[test]
fn versions_that_nobody_knows_are_refused() {
    let refused = Refused::new();
    let usual = IngestExternalFileOptions::default();
    let mut unchecked = refused.options.clone();
    unchecked.column_family.table.checksum = esker::ChecksumType::None;
    for (version, kind, text) in [
        (
            1u32,
            ErrorKind::InvalidArgument,
            "V1 does not support global seqno",
        ),
        (3, ErrorKind::InvalidArgument, "version 3 is not supported"),
    ] {
        let file = write_file(&unchecked, "versioned", &["p:old"]);
        let mut bytes = refused.mem.read_file(&file).unwrap();
        // The name of the property is stored without the prefix that it shares with the previous name.
        let name = b"version\x02\0\0\0";
        let at = bytes
            .windows(name.len())
            .position(|window| window == name)
            .unwrap();
        bytes[at + 7..at + 11].copy_from_slice(&version.to_le_bytes());
        refused.mem.write_file(&file, &bytes).unwrap();
        refused.with("version", &usual, &[file], kind, text);
    }
}

#[test]
fn checksums_that_came_along_are_compared_or_believed() {
    let (mem, mut options) = fresh();
    options.file_checksum_gen_factory = FileChecksumGenFactory::Crc32c;
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let mut writer = SstFileWriter::new(&options);
    writer.open("/outside/1").unwrap();
    writer.put(b"a", b"1").unwrap();
    let info = writer.finish().unwrap();
    assert_eq!(info.file_checksum_func_name, "FileChecksumCrc32c");
    let arg = |sum: &[u8], name: &str, verify: bool| IngestExternalFileArg {
        files_checksums: vec![sum.to_vec()],
        files_checksum_func_names: vec![name.to_owned()],
        ..IngestExternalFileArg::new(
            &family,
            [&info.file_path],
            IngestExternalFileOptions {
                verify_file_checksum: verify,
                ..IngestExternalFileOptions::default()
            },
        )
    };
    let name = &info.file_checksum_func_name;
    let wrong = [&info.file_checksum[..3], b"?"].concat();
    let error = db.ingest_external_files(&[arg(&wrong, name, true)]).unwrap_err();
    assert!(
        error.is_corruption() && error.to_string().contains("Checksum verification mismatch"),
        "{error}"
    );
    for verify in [true, false] {
        let error = db
            .ingest_external_files(&[arg(&info.file_checksum, "md5", verify)])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    let mut odd = arg(&info.file_checksum, name, true);
    odd.files_checksum_func_names.clear();
    assert_eq!(
        db.ingest_external_files(&[odd]).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(tables_in(&mem), [""; 0]);
    db.ingest_external_files(&[arg(&info.file_checksum, name, true)])
        .unwrap();
    assert_eq!(db.live_files()[0].file_checksum, info.file_checksum);
    db.verify_file_checksums().unwrap();
    // A wrong checksum that is not verified at the ingestion is found by a verification of the files.
    db.ingest_external_files(&[arg(&wrong, name, false)]).unwrap();
    assert!(db.verify_file_checksums().unwrap_err().is_corruption());
}
