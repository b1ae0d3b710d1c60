//! The bodies. The first bytes of an input often choose a variant, the rest is what gets decoded.

use base::coding::Reader;
use codec::compression::{CompressionType, Decompressor};

/// Varints, fixed-width integers and length-prefixed strings. Decoding must consume what it says and encode back.
pub fn coding(data: &[u8]) {
    let mut reader = Reader::new(data);
    let mut steps = 0usize;
    while let Ok(tag) = reader.u8("tag") {
        let before = reader.position();
        let read = match tag % 8 {
            0 => reader.varint32("varint32").is_ok(),
            1 => reader.zigzag64("zigzag64").is_ok(),
            2 => reader.u16("u16").is_ok(),
            3 => reader.u32("u32").is_ok(),
            4 => reader.u64("u64").is_ok(),
            5 => reader.length_prefixed("string").is_ok(),
            6 => {
                // Does not advance the reader; the tag did.
                if let Ok(key) = base::ParsedInternalKey::parse(reader.rest()) {
                    let again = base::internal_key::encode(key.user_key, key.seqno, key.kind);
                    assert_eq!(again, reader.rest(), "a key that parses is the one that encodes");
                }
                true
            }
            _ => match reader.varint64("varint64") {
                Ok(value) => {
                    let mut again = Vec::new();
                    base::coding::put_varint64(&mut again, value);
                    assert!(
                        again.len() <= reader.position() - before,
                        "the shortest form is the shortest"
                    );
                    true
                }
                Err(_) => false,
            },
        };
        if !read {
            break;
        }
        assert!(reader.position() >= before && reader.position() <= data.len());
        steps += 1;
    }
    assert!(steps <= data.len());
}

/// A stored block of any compression type, with and without a dictionary.
pub fn decompress(data: &[u8]) {
    let Some((&ty, stored)) = data.split_first() else {
        return;
    };
    let Some(ty) = CompressionType::from_byte(ty) else {
        return;
    };
    let mut out = Vec::new();
    let plain = Decompressor::new(None).decompress(ty, stored, &mut out);
    if plain.is_ok() {
        assert!(
            out.len() <= (stored.len() + 1) * MOST_EXPANSION,
            "{} bytes became {}",
            stored.len(),
            out.len()
        );
    }
    let dictionary = &stored[..stored.len() / 3];
    let with_dictionary = Decompressor::new(Some(dictionary.into()));
    let _ = with_dictionary.decompress(ty, &stored[dictionary.len()..], &mut out);
}

/// No format of ours makes more bytes of one: a block of repeated bytes under ZSTD.
const MOST_EXPANSION: usize = 256 << 10;
