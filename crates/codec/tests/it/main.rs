//! Vectors from RocksDB's files. Each is tested in both directions, if it can be encoded and decoded.

use std::sync::Arc;

use esker_codec::checksum::{ChecksumType, context_modifier, crc32c, crc32c_extend, mask, unmask};
use esker_codec::hash::{BLOOM_SEED, DATA_BLOCK_INDEX_SEED, hash32, xxph3_64};
use esker_codec::{CompressionOptions, CompressionType, Compressor, Decompressor};
use serde_json::Value;

fn vectors(section: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/format_vectors.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    all[section].take()
}

fn list(value: &Value) -> &[Value] {
    let list = value.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} of {value}"))
}

fn hex(value: &Value, field: &str) -> Vec<u8> {
    let text = value[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {value}"));
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn crc32c_raw_and_masked() {
    let section = vectors("crc32c");
    for vector in list(&section["vectors"]) {
        let data = hex(vector, "data_hex");
        let crc = number(vector, "crc32c") as u32;
        let masked = number(vector, "masked") as u32;
        assert_eq!(crc32c(&data), crc, "{vector}");
        assert_eq!(mask(crc), masked);
        assert_eq!(unmask(masked), crc);
        for at in 0..=data.len() {
            assert_eq!(crc32c_extend(crc32c(&data[..at]), &data[at..]), crc);
        }
    }
}

#[test]
fn xxph3_64_of_every_length_and_pattern() {
    let section = vectors("xxph3_64");
    let pattern: Vec<u8> = b"RocksDB".iter().copied().cycle().take(4096).collect();
    for vector in list(&section["by_length"]) {
        let len = number(vector, "len") as usize;
        let hash = u64::from_str_radix(vector["hash"].as_str().unwrap(), 16).unwrap();
        assert_eq!(xxph3_64(&pattern[..len]), hash, "{len} bytes");
    }
}

#[test]
fn hash32_by_both_seeds() {
    let section = vectors("hash32");
    for vector in list(&section["vectors"]) {
        let data = hex(vector, "data_hex");
        assert_eq!(u64::from(hash32(&data, BLOOM_SEED)), number(vector, "bloom_seed"));
        assert_eq!(
            u64::from(hash32(&data, DATA_BLOCK_INDEX_SEED)),
            number(vector, "slice_seed")
        );
    }
}

#[test]
fn block_checksums_of_every_type_and_format_version() {
    let section = vectors("block_checksum");
    for vector in list(&section["vectors"]) {
        let ty = ChecksumType::from_byte(number(vector, "checksum_type") as u8).unwrap();
        let mut block = hex(vector, "block_hex");
        let type_byte = number(vector, "compression_type_byte") as u8;
        let modifier = context_modifier(
            number(vector, "base_context_checksum") as u32,
            number(vector, "block_offset"),
        );
        assert_eq!(
            u64::from(modifier),
            number(vector, "context_modifier"),
            "{vector}"
        );
        let stored = number(vector, "stored_checksum") as u32;
        assert_eq!(
            ty.block(&block, type_byte).wrapping_add(modifier),
            stored,
            "{vector}"
        );
        block.push(type_byte);
        assert_eq!(ty.whole(&block).wrapping_add(modifier), stored, "{vector}");
    }
}

#[test]
fn footers_check_as_whole_buffers() {
    let section = vectors("footer");
    let mut checked = 0;
    for vector in list(&section) {
        if number(vector, "format_version") < 6 {
            continue;
        }
        let mut footer = hex(vector, "footer_hex");
        let ty = ChecksumType::from_byte(footer[0]).unwrap();
        let stored = u32::from_le_bytes(footer[5..9].try_into().unwrap());
        let base = u32::from_le_bytes(footer[9..13].try_into().unwrap());
        footer[5..9].fill(0);
        let sum = ty
            .whole(&footer)
            .wrapping_add(context_modifier(base, number(vector, "footer_offset")));
        assert_eq!(sum, stored, "{vector}");
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn compressed_blocks_restore_and_go_round() {
    let section = vectors("compressed_block");
    for vector in list(&section) {
        let ty = CompressionType::from_byte(number(vector, "type_byte") as u8).unwrap();
        let dictionary = vector.get("dict_hex").map(|_| hex(vector, "dict_hex"));
        let stored = hex(vector, "stored_hex");

        let decompressor = Decompressor::new(dictionary.clone().map(Arc::from));
        let mut raw = Vec::new();
        decompressor.decompress(ty, &stored, &mut raw).unwrap();
        assert_eq!(raw.len() as u64, number(vector, "uncompressed_len"), "{vector}");
        assert_eq!(u64::from(crc32c(&raw)), number(vector, "uncompressed_crc32c"));
        assert!(raw.starts_with(&hex(vector, "uncompressed_prefix_hex")));

        let options = CompressionOptions::default();
        let mut compressor = Compressor::new(ty, &options, dictionary.as_deref()).unwrap();
        let (mut ours, mut again) = (Vec::new(), Vec::new());
        for round in 0..3 {
            compressor.compress(&raw, &mut ours).unwrap();
            decompressor.decompress(ty, &ours, &mut again).unwrap();
            assert_eq!(again, raw, "round {round} of {}", vector["name"]);
        }
        // Another library version may compress slightly better or worse, never much.
        assert!(
            ours.len() <= stored.len() + stored.len() / 8,
            "{}: {} bytes where RocksDB had {}",
            vector["name"],
            ours.len(),
            stored.len()
        );
        // Without a required dictionary, decompression must not silently return other bytes.
        if dictionary.is_some() {
            let without = Decompressor::new(None);
            assert!(
                without
                    .decompress(ty, &stored, &mut again)
                    .is_err_and(|error| error.is_corruption()),
                "{}",
                vector["name"]
            );
            assert!(again.is_empty());
        }
    }
}
