use std::sync::Arc;

use testkit::rng::{TestRng, rng};

use super::*;

const SUPPORTED: [CompressionType; 8] = [
    CompressionType::None,
    CompressionType::Snappy,
    CompressionType::Zlib,
    CompressionType::Bzip2,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zstd,
    CompressionType::ZstdNotFinal,
];

/// Bytes that compress about as well as real blocks: words from a small vocabulary, numbers, some noise.
fn block(rng: &mut TestRng, len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 32);
    while out.len() < len {
        match rng.u8(0..3) {
            0 => out.extend_from_slice(format!("user{:06}", rng.u32(0..500)).as_bytes()),
            1 => out.extend_from_slice(b" some words that come again and again "),
            _ => out.extend((0..8).map(|_| rng.u8(..))),
        }
    }
    out.truncate(len);
    out
}

fn compressor(ty: CompressionType, level: i32, dictionary: Option<&[u8]>) -> Compressor {
    let options = CompressionOptions {
        level,
        ..CompressionOptions::default()
    };
    Compressor::new(ty, &options, dictionary).unwrap()
}

#[test]
fn every_type_goes_round_at_every_size_with_and_without_a_dictionary() {
    let mut rng = rng();
    let sample = block(&mut rng, 70_000);
    for dictionary in [None, Some(&sample[..500]), Some(&sample[..])] {
        let decompressor = Decompressor::new(dictionary.map(Arc::from));
        for ty in SUPPORTED {
            let mut compressor = compressor(ty, CompressionOptions::DEFAULT_LEVEL, dictionary);
            assert_eq!(compressor.compression_type(), ty);
            let (mut stored, mut again) = (b"old".to_vec(), b"older".to_vec());
            for len in [0, 1, 2, 11, 12, 13, 100, 4096, 70_000, 5000, 0, 300_000, 4096] {
                let raw = block(&mut rng, len);
                compressor.compress(&raw, &mut stored).unwrap();
                decompressor.decompress(ty, &stored, &mut again).unwrap();
                assert!(again == raw, "{ty:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn a_dictionary_pays_where_one_is_used() {
    let mut rng = TestRng::with_seed(7);
    let dictionary = block(&mut rng, 16 << 10);
    let raw = [&dictionary[3000..3400], &dictionary[9000..9600]].concat();
    for ty in SUPPORTED {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        let level = CompressionOptions::DEFAULT_LEVEL;
        compressor(ty, level, None).compress(&raw, &mut without).unwrap();
        // The second block of a compressor must use the dictionary as the first did.
        let mut compressor = compressor(ty, level, Some(&dictionary));
        compressor.compress(&raw, &mut with).unwrap();
        let first = with.clone();
        compressor.compress(&raw, &mut with).unwrap();
        assert_eq!(with, first, "{ty:?}");
        if ty.uses_dictionary() {
            assert!(
                with.len() * 4 < without.len(),
                "{ty:?}: {} of {}",
                with.len(),
                without.len()
            );
        } else {
            assert_eq!(with, without, "{ty:?}");
        }
    }
}

#[test]
fn every_level_is_accepted() {
    let mut rng = rng();
    let raw = block(&mut rng, 3000);
    let decompressor = Decompressor::new(None);
    for ty in SUPPORTED {
        for level in [i32::MIN, -100, -1, 0, 1, 6, 9, 12, 19, 22, 1000, i32::MAX] {
            let (mut stored, mut again) = (Vec::new(), Vec::new());
            compressor(ty, level, None).compress(&raw, &mut stored).unwrap();
            decompressor.decompress(ty, &stored, &mut again).unwrap();
            assert_eq!(again, raw, "{ty:?} at level {level}");
        }
    }
    for window_bits in [i32::MIN, -15, -14, -8, 0, 9, 15, 31] {
        let options = CompressionOptions {
            window_bits,
            ..CompressionOptions::default()
        };
        let raw = block(&mut rng, 100_000);
        let (mut stored, mut again) = (Vec::new(), Vec::new());
        let mut compressor = Compressor::new(CompressionType::Zlib, &options, None).unwrap();
        compressor.compress(&raw, &mut stored).unwrap();
        // RocksDB inflates with a window of 14 bits.
        let mut narrow = flate2::Decompress::new_with_window_bits(false, 14);
        again.resize(raw.len() + 1, 0);
        let status = narrow
            .decompress(&stored[3..], &mut again, flate2::FlushDecompress::Finish)
            .unwrap();
        assert_eq!(status, flate2::Status::StreamEnd);
        again.truncate(narrow.total_out() as usize);
        assert!(again == raw, "window {window_bits}");
    }
}

#[test]
fn incompressible_blocks_grow_a_little_and_are_not_kept() {
    let mut rng = rng();
    let raw: Vec<u8> = (0..4096).map(|_| rng.u8(..)).collect();
    let options = CompressionOptions::default();
    for ty in SUPPORTED {
        let mut stored = Vec::new();
        compressor(ty, CompressionOptions::DEFAULT_LEVEL, None)
            .compress(&raw, &mut stored)
            .unwrap();
        assert!(!options.keeps(raw.len(), stored.len()), "{ty:?}");
        assert!(stored.len() < raw.len() + 600, "{ty:?}: {}", stored.len());
    }
}

#[test]
fn the_compressed_form_is_kept_up_to_seven_eighths() {
    let options = CompressionOptions::default();
    assert!(options.keeps(4096, 3584));
    assert!(!options.keeps(4096, 3585));
    assert!(options.keeps(0, 0));
    assert!(!options.keeps(1, 1));
    let always = CompressionOptions {
        max_compressed_bytes_per_kb: 5000,
        ..CompressionOptions::default()
    };
    assert!(always.keeps(4096, 4092) && !always.keeps(4096, 4096));
    let never = CompressionOptions {
        max_compressed_bytes_per_kb: -5,
        ..CompressionOptions::default()
    };
    assert!(!never.keeps(4096, 1));
}

#[test]
fn garbage_is_corruption_and_allocates_no_more_than_it_could_become() {
    let mut rng = rng();
    let dictionary = block(&mut rng, 900);
    for dictionary in [None, Some(&dictionary[..])] {
        let decompressor = Decompressor::new(dictionary.map(Arc::from));
        for ty in SUPPORTED {
            if ty == CompressionType::None {
                continue;
            }
            let raw = block(&mut rng, 5000);
            let mut good = Vec::new();
            compressor(ty, CompressionOptions::DEFAULT_LEVEL, dictionary)
                .compress(&raw, &mut good)
                .unwrap();
            for round in 0..400 {
                let mut bad = good.clone();
                match round % 4 {
                    0 => bad.truncate(rng.usize(..bad.len())),
                    1 => {
                        let at = rng.usize(..bad.len());
                        bad[at] ^= 1 << rng.u32(..8);
                    }
                    2 => bad = (0..rng.usize(..200)).map(|_| rng.u8(..)).collect(),
                    _ => bad.splice(..2, [0xff, 0xff, 0xff, 0x7f]).for_each(drop),
                }
                let mut out = Vec::new();
                match decompressor.decompress(ty, &bad, &mut out) {
                    // A flipped literal is detected by the block's checksum. Decompression alone guarantees
                    // only the length.
                    Ok(()) => assert!(out.len() < 6000 || round % 4 == 2),
                    Err(error) => {
                        assert!(error.is_corruption(), "{error}");
                        assert!(out.is_empty());
                    }
                }
                let most = match ty {
                    CompressionType::Zlib => bad.len() * 1032,
                    CompressionType::Zstd | CompressionType::ZstdNotFinal => (256 << 10).max(bad.len() << 15),
                    _ => bad.len() * 255,
                };
                assert!(
                    out.capacity() <= most.max(256 << 10) * 2,
                    "{ty:?}: {} bytes for {}",
                    out.capacity(),
                    bad.len()
                );
            }
        }
    }
}

#[test]
fn claims_beyond_the_ratio_are_refused_before_anything_is_allocated() {
    for ty in SUPPORTED {
        if ty == CompressionType::None {
            continue;
        }
        for body in [
            &b""[..],
            b"\0",
            b"BZh1",
            b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00",
            &[0x55; 40],
        ] {
            let mut bad = vec![0xff, 0xff, 0xff, 0xff, 0x0f];
            bad.extend_from_slice(body);
            let mut out = Vec::new();
            let error = Decompressor::new(None)
                .decompress(ty, &bad, &mut out)
                .unwrap_err();
            assert!(error.is_corruption(), "{error}");
            assert!(out.capacity() <= 256 << 10, "{ty:?}: {}", out.capacity());
        }
    }
}

#[test]
fn extreme_but_honest_ratios_are_restored() {
    let decompressor = Decompressor::new(None);
    for ty in SUPPORTED {
        for len in [1 << 17, (1 << 17) + 1, 3 << 20] {
            let raw = vec![0x61; len];
            let (mut stored, mut again) = (Vec::new(), Vec::new());
            compressor(ty, CompressionOptions::DEFAULT_LEVEL, None)
                .compress(&raw, &mut stored)
                .unwrap();
            decompressor.decompress(ty, &stored, &mut again).unwrap();
            assert!(again == raw, "{ty:?}, {len} bytes as {}", stored.len());
        }
    }
}

#[test]
fn a_length_that_is_off_by_one_is_corruption() {
    let mut rng = rng();
    let raw = block(&mut rng, 100);
    for ty in SUPPORTED {
        if matches!(ty, CompressionType::None | CompressionType::Snappy) {
            continue;
        }
        let mut stored = Vec::new();
        compressor(ty, CompressionOptions::DEFAULT_LEVEL, None)
            .compress(&raw, &mut stored)
            .unwrap();
        for claim in [99, 101] {
            assert_eq!(stored[0], 100);
            let mut bad = stored.clone();
            bad[0] = claim;
            let mut out = Vec::new();
            let error = Decompressor::new(None)
                .decompress(ty, &bad, &mut out)
                .unwrap_err();
            assert!(error.is_corruption(), "{ty:?}: {error}");
        }
    }
}

#[test]
fn xpress_is_known_and_not_supported() {
    let options = CompressionOptions::default();
    let error = Compressor::new(CompressionType::Xpress, &options, None).unwrap_err();
    assert_eq!(error.kind(), base::ErrorKind::NotSupported);
    let error = Decompressor::new(None)
        .decompress(CompressionType::Xpress, b"\x05abc", &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.kind(), base::ErrorKind::NotSupported);
}

#[test]
fn a_malformed_trained_dictionary_is_an_error() {
    // The magic number of a trained dictionary, without its contents.
    let dictionary = [0x37, 0xa4, 0x30, 0xec, 9, 9, 9, 9, 9, 9, 9, 9];
    let options = CompressionOptions::default();
    assert!(Compressor::new(CompressionType::Zstd, &options, Some(&dictionary)).is_err());
    let mut stored = Vec::new();
    compressor(CompressionType::Zstd, 3, None)
        .compress(b"abc", &mut stored)
        .unwrap();
    let error = Decompressor::new(Some(Arc::from(&dictionary[..])))
        .decompress(CompressionType::Zstd, &stored, &mut Vec::new())
        .unwrap_err();
    assert!(error.is_corruption());
}

#[test]
fn trained_dictionaries_serve_every_type_that_takes_one() {
    let mut rng = TestRng::with_seed(11);
    let mut samples = Vec::new();
    let mut lens = Vec::new();
    for _ in 0..200 {
        let len = rng.usize(200..900);
        samples.extend(block(&mut rng, len));
        lens.push(len);
    }
    let dictionary = train_dictionary(&samples, &lens, 4096).unwrap();
    assert!(dictionary.len() <= 4096);
    let decompressor = Decompressor::new(Some(Arc::from(&dictionary[..])));
    let raw = block(&mut rng, 700);
    for ty in SUPPORTED {
        let (mut stored, mut again) = (Vec::new(), Vec::new());
        compressor(ty, CompressionOptions::DEFAULT_LEVEL, Some(&dictionary))
            .compress(&raw, &mut stored)
            .unwrap();
        decompressor.decompress(ty, &stored, &mut again).unwrap();
        assert_eq!(again, raw, "{ty:?}");
    }
    assert!(train_dictionary(&samples, &lens[1..], 4096).is_err());
    assert!(train_dictionary(&[], &[], 4096).is_err());
    assert!(train_dictionary(&samples[..10], &[5, 5], 4096).is_err());
}

#[test]
fn one_decompressor_serves_many_threads() {
    let mut rng = rng();
    let dictionary = block(&mut rng, 3000);
    let decompressor = Decompressor::new(Some(Arc::from(&dictionary[..])));
    let raw = block(&mut rng, 6000);
    std::thread::scope(|scope| {
        for ty in SUPPORTED {
            let (decompressor, dictionary, raw) = (&decompressor, &dictionary, &raw);
            scope.spawn(move || {
                let (mut stored, mut again) = (Vec::new(), Vec::new());
                compressor(ty, 1, Some(dictionary))
                    .compress(raw, &mut stored)
                    .unwrap();
                for _ in 0..50 {
                    decompressor.decompress(ty, &stored, &mut again).unwrap();
                    assert!(again == *raw);
                }
            });
        }
    });
}

#[test]
fn names_and_numbers_go_both_ways() {
    for ty in CompressionType::ALL {
        assert_eq!(CompressionType::from_byte(ty as u8), Some(ty));
        assert_eq!(CompressionType::from_property_name(ty.property_name()), Some(ty));
        assert_eq!(CompressionType::from_options_name(ty.options_name()), Some(ty));
    }
    assert_eq!(CompressionType::from_byte(8), None);
    assert_eq!(CompressionType::from_byte(0x80), None);
    assert_eq!(CompressionType::from_property_name("lz4"), None);
    assert_eq!(
        CompressionType::from_options_name("kDisableCompressionOption"),
        None
    );
}
