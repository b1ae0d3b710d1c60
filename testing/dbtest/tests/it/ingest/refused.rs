//! External files that must be refused: the error has the reason, and the directory stays unchanged.

use esker::{
    Db, ErrorKind, FileChecksumGenFactory, IngestExternalFileArg, IngestExternalFileOptions, SstFileWriter,
};

use crate::ingest::{DIR, fresh, tables_in};

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
