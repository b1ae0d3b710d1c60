//! Internal keys: `'key' seq:7, type:1`.

use base::UserComparator;
use base::internal_key::{TRAILER_LEN, kind_byte, seqno, user_key};

use crate::rocksdb_text::hex_if;
use crate::text::Form;

/// A timestamp of eight bytes as a number; others in hexadecimal.
pub fn timestamp(bytes: &[u8]) -> String {
    match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => u64::from_le_bytes(bytes).to_string(),
        Err(_) => Form::Hex.show(bytes).to_string(),
    }
}

/// An internal key as RocksDB's `InternalKey::DebugString` shows it. With `cmp`, the timestamps of its keys
/// are numbers.
pub fn internal_key(key: &[u8], hex: bool, cmp: Option<&UserComparator>) -> Vec<u8> {
    if key.len() < TRAILER_LEN {
        let mut text = b"(bad)".to_vec();
        Form::Escaped.append(key, &mut text);
        return text;
    }
    let user_key = user_key(key);
    let mut text = b"'".to_vec();
    match cmp.filter(|cmp| (1..=user_key.len()).contains(&cmp.timestamp_size())) {
        Some(cmp) => {
            text.extend(hex_if(hex, cmp.strip_timestamp(user_key)));
            text.extend_from_slice(b"|timestamp:");
            text.extend_from_slice(timestamp(cmp.timestamp(user_key)).as_bytes());
        }
        None => text.extend(hex_if(hex, user_key)),
    }
    text.extend_from_slice(format!("' seq:{}, type:{}", seqno(key), kind_byte(key)).as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use base::Kind;
    use base::internal_key::encode;

    use super::*;

    #[test]
    fn keys_are_shown_with_sequence_number_and_type() {
        let key = encode(b"a\xff", 7, Kind::Merge);
        assert_eq!(internal_key(&key, false, None), b"'a\xff' seq:7, type:2");
        assert_eq!(internal_key(&key, true, None), b"'61FF' seq:7, type:2");
        assert_eq!(internal_key(b"short", false, None), b"(bad)short");
        let cmp = UserComparator::builtin("leveldb.BytewiseComparator.u64ts").unwrap();
        let key = encode(b"k\x05\0\0\0\0\0\0\0", 1, Kind::Value);
        assert_eq!(
            internal_key(&key, false, Some(&cmp)),
            b"'k|timestamp:5' seq:1, type:1"
        );
    }
}
