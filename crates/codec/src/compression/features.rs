//! Tests of builds with a part of the codecs. `cargo xtask features` runs them with each feature alone, and
//! with none.

use base::ErrorKind;

use super::{CompressionOptions, CompressionType, Compressor, Decompressor};

#[test]
fn a_type_works_or_is_refused_by_name() {
    let raw = b"the same bytes, the same bytes, the same bytes".repeat(20);
    for ty in CompressionType::ALL {
        let made = Compressor::new(ty, &CompressionOptions::default(), None);
        assert_eq!(made.is_ok(), ty.is_supported(), "{ty:?}");
        let decompressor = Decompressor::new(None);
        let mut out = Vec::new();
        match made {
            Ok(mut compressor) => {
                let mut stored = Vec::new();
                compressor.compress(&raw, &mut stored).unwrap();
                decompressor.decompress(ty, &stored, &mut out).unwrap();
                assert_eq!(out, raw, "{ty:?}");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotSupported, "{ty:?}");
                assert!(error.message().contains(ty.feature()), "{error}");
                let refused = decompressor.decompress(ty, &[3, 0, 0], &mut out).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::NotSupported, "{ty:?}");
                assert!(out.is_empty());
            }
        }
    }
}

#[test]
fn the_default_is_built_in() {
    assert!(CompressionType::cheapest().is_supported());
    if CompressionType::Lz4.is_supported() {
        assert_eq!(CompressionType::cheapest(), CompressionType::Lz4);
    }
}
