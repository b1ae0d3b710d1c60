//! A database in a build with any part of the codecs: `cargo xtask features` runs this without LZ4.

use esker::{CompressionType, Db, ErrorKind, Options};

fn options(compression: CompressionType) -> Options {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.compression = compression;
    options
}

#[test]
fn a_codec_works_or_is_refused_by_its_feature() {
    for compression in CompressionType::ALL {
        let dir = tempfile::tempdir().unwrap();
        let opened = Db::open(&options(compression), dir.path());
        if !compression.is_supported() {
            let error = opened.expect_err("a codec that is not built in is refused");
            assert_eq!(error.kind(), ErrorKind::NotSupported, "{compression:?}");
            assert!(error.message().contains(compression.feature()), "{error}");
            continue;
        }
        let db = opened.unwrap();
        for number in 0..100 {
            db.put(format!("{number:03}").as_bytes(), [b'v'; 200]).unwrap();
        }
        db.flush().unwrap();
        db.close().unwrap();
        let db = Db::open(&options(compression), dir.path()).unwrap();
        assert_eq!(db.get(b"050").unwrap().as_deref(), Some(&[b'v'; 200][..]));
    }
}

#[test]
fn the_default_compression_is_built_in() {
    let default = Options::default().column_family.compression;
    assert!(default.is_supported());
    let mut compressed_wals = options(default);
    compressed_wals.wal_compression = CompressionType::Zstd;
    let dir = tempfile::tempdir().unwrap();
    let opened = Db::open(&compressed_wals, dir.path());
    match CompressionType::Zstd.is_supported() {
        true => opened.unwrap().close().unwrap(),
        false => assert_eq!(opened.err().unwrap().kind(), ErrorKind::NotSupported),
    }
}
