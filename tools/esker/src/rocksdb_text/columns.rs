//! Wide columns: `name:value`, separated by spaces; the default column has no name.

use base::Result;
use base::entity::{ColumnValue, Entity};

use crate::rocksdb_text::prefixed_hex;

/// The columns as text. In hexadecimal, names and values that are not empty begin with `0x`.
pub fn columns<'a>(columns: impl IntoIterator<Item = (&'a [u8], &'a [u8])>, hex: bool) -> Vec<u8> {
    let mut text = Vec::new();
    let append = |bytes: &[u8], text: &mut Vec<u8>| match hex && !bytes.is_empty() {
        true => text.extend_from_slice(prefixed_hex(bytes).as_bytes()),
        false => text.extend_from_slice(bytes),
    };
    for (number, (name, value)) in columns.into_iter().enumerate() {
        if number > 0 {
            text.push(b' ');
        }
        append(name, &mut text);
        text.push(b':');
        append(value, &mut text);
    }
    text
}

/// The columns of the stored form of an entity. The value of a column in a blob file is its index.
///
/// Errors: `Corruption` if `bytes` are not an entity.
pub fn of_entity(bytes: &[u8], hex: bool) -> Result<Vec<u8>> {
    let entity = Entity::decode(bytes)?;
    let parts = entity.columns(bytes).map(|(name, value)| match value {
        ColumnValue::Inline(range) | ColumnValue::Blob(range) => (name, &bytes[range.clone()]),
    });
    Ok(columns(parts, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_names_and_values() {
        let list: [(&[u8], &[u8]); 2] = [(b"", b"foo"), (b"a", b"")];
        assert_eq!(columns(list, false), b":foo a:");
        assert_eq!(columns(list, true), b":0x666F6F 0x61:");
        let mut bytes = Vec::new();
        base::entity::encode(&list, &mut bytes).unwrap();
        assert_eq!(of_entity(&bytes, false).unwrap(), b":foo a:");
        assert!(of_entity(b"\xff", false).is_err());
    }
}
