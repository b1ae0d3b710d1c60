//! Text in the very form of RocksDB's `ldb` and `sst_dump`, 11.8: programs and runbooks parse it.

pub mod blob;
pub mod columns;
pub mod edit;
pub mod edit_json;
pub mod key;
pub mod manifest;
pub mod properties;
pub mod raw_table;
pub mod table;
pub mod unique_id;
pub mod wal;

use crate::text::Form;

/// `bytes` as two upper-case hexadecimal digits each, or unchanged.
pub fn hex_if(hex: bool, bytes: &[u8]) -> Vec<u8> {
    match hex {
        true => Form::Hex.show(bytes).to_string().into_bytes(),
        false => bytes.to_vec(),
    }
}

/// Same as [`hex_if`], with `0x` before hexadecimal digits: `ldb`'s form of keys and values.
pub fn prefixed_hex_if(hex: bool, bytes: &[u8]) -> Vec<u8> {
    match hex {
        true => prefixed_hex(bytes).into_bytes(),
        false => bytes.to_vec(),
    }
}

/// `0x` and two upper-case hexadecimal digits for each byte.
pub fn prefixed_hex(bytes: &[u8]) -> String {
    format!("0x{}", Form::Hex.show(bytes))
}
