//! Wide-column entities: the values of [`Kind::WideColumnEntity`](crate::Kind), columns sorted by name.
//!
//! ```text
//! version 1: v32 1, v32 n, n x (v32 length, name, v32 value size), the n values
//! version 2: v32 2, v32 n, v32 bytes of name sizes, v32 bytes of value sizes, v32 bytes of names,
//!            n x u8 type (1 inline, 0x11 blob index), n x v32 name size, n x v32 value size, the names, the values
//! ```
//!
//! The default column has the empty name and so comes first. A plain read of the key returns it.

use std::ops::Range;

use crate::coding::{Reader, put_length_prefixed, put_varint32};
use crate::error::{Error, Result};
use crate::internal_key::Kind;

/// Version 1: names and value sizes alternate, then the values.
const VERSION_INLINE: u32 = 1;
/// Version 2: columns may be blob references; sizes are grouped.
const VERSION_WITH_BLOBS: u32 = 2;

const OUT_OF_ORDER: &str = "Wide columns out of order";

/// The place of a column's value within the bytes of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValue {
    /// The value of the column.
    Inline(Range<usize>),
    /// The index of a value in a blob file.
    Blob(Range<usize>),
}

/// A decoded entity: the name of each column and its place within the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entity {
    columns: Vec<(Range<usize>, ColumnValue)>,
}

impl Entity {
    /// Decodes `bytes`. `Corruption`, with the offset within `bytes`, if they are not an entity.
    pub fn decode(bytes: &[u8]) -> Result<Entity> {
        let mut reader = Reader::new(bytes);
        let columns = match reader.varint32("entity version")? {
            VERSION_INLINE => inline_columns(&mut reader)?,
            VERSION_WITH_BLOBS => columns_with_blobs(&mut reader)?,
            version => {
                return Err(Error::corruption(format!(
                    "wide-column entity of version {version}"
                )));
            }
        };
        let names = columns.iter().map(|(name, _)| &bytes[name.clone()]);
        if !names.is_sorted_by(|a, b| a < b) {
            return Err(Error::corruption(OUT_OF_ORDER));
        }
        Ok(Entity { columns })
    }

    /// Names and values' places of the columns, in the order of their names. `bytes` must be those that the
    /// entity was decoded from.
    pub fn columns<'e, 'b>(&'e self, bytes: &'b [u8]) -> impl Iterator<Item = (&'b [u8], &'e ColumnValue)> {
        self.columns
            .iter()
            .map(|(name, value)| (&bytes[name.clone()], value))
    }

    /// The column without a name, which comes first.
    pub fn default_column(&self) -> Option<&ColumnValue> {
        self.columns
            .first()
            .filter(|(name, _)| name.is_empty())
            .map(|(_, value)| value)
    }
}

/// False if no column of the entity is in a blob file, according to its first byte; true if some may be.
#[inline]
pub fn may_have_blobs(entity: &[u8]) -> bool {
    entity
        .first()
        .is_none_or(|&version| u32::from(version) != VERSION_INLINE)
}

/// The range, within the whole buffer, of the next `len` bytes.
fn range(reader: &mut Reader<'_>, len: usize, what: &str) -> Result<Range<usize>> {
    let start = reader.position();
    reader.bytes(len, what)?;
    Ok(start..start + len)
}

fn inline_columns(reader: &mut Reader<'_>) -> Result<Vec<(Range<usize>, ColumnValue)>> {
    let count = reader.varint32("number of columns")?;
    let mut index = Vec::new();
    for _ in 0..count {
        let name = reader.length_prefixed("column name")?;
        let name = reader.position() - name.len()..reader.position();
        index.push((name, reader.varint32("size of a column's value")? as usize));
    }
    let column = |(name, size)| Ok((name, ColumnValue::Inline(range(reader, size, "column value")?)));
    index.into_iter().map(column).collect()
}

fn columns_with_blobs(reader: &mut Reader<'_>) -> Result<Vec<(Range<usize>, ColumnValue)>> {
    let count = reader.varint32("number of columns")? as usize;
    for what in ["size of name sizes", "size of value sizes", "size of names"] {
        reader.varint32(what)?;
    }
    // `count` bytes exist in the buffer, so from here on it is safe to reserve memory for `count` columns.
    let kinds = reader.bytes(count, "column types")?;
    let mut sizes = |what| {
        (0..count)
            .map(|_| reader.varint32(what))
            .collect::<Result<Vec<u32>>>()
    };
    let name_sizes = sizes("name size")?;
    let value_sizes = sizes("value size")?;
    let mut ranges = |sizes: Vec<u32>, what| {
        let range = |size| range(reader, size as usize, what);
        sizes.into_iter().map(range).collect::<Result<Vec<_>>>()
    };
    let names = ranges(name_sizes, "column name")?;
    let values = ranges(value_sizes, "column value")?;
    let column = |((name, value), &kind): ((Range<usize>, Range<usize>), &u8)| match Kind::from_byte(kind) {
        Some(Kind::Value) => Ok((name, ColumnValue::Inline(value))),
        Some(Kind::BlobIndex) => Ok((name, ColumnValue::Blob(value))),
        _ => Err(Error::corruption(format!("column of unknown type {kind:#04x}")).at(value.start as u64)),
    };
    names.into_iter().zip(values).zip(kinds).map(column).collect()
}

/// Appends the entity of `columns`, which are sorted by name, in version 1.
pub fn encode(columns: &[(&[u8], &[u8])], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    let size = |bytes: &[u8]| {
        u32::try_from(bytes.len())
            .map_err(|_| Error::not_supported(format!("column of {} bytes", bytes.len())))
    };
    put_varint32(out, VERSION_INLINE);
    put_varint32(out, columns.len() as u32);
    for (name, value) in columns {
        put_length_prefixed(out, name);
        put_varint32(out, size(value)?);
    }
    columns.iter().for_each(|(_, value)| out.extend_from_slice(value));
    Ok(())
}

/// Encodes an entity whose columns are in any order; see [`encode`]. Two columns of one name are
/// `Corruption`, as in RocksDB.
pub fn encode_unsorted(columns: &[(&[u8], &[u8])], out: &mut Vec<u8>) -> Result<()> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable_by_key(|&(name, _)| name);
    if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::corruption(OUT_OF_ORDER));
    }
    encode(&sorted, out)
}

/// The value of the column with the empty name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultColumn<'a> {
    /// The entity has no such column; a plain read returns the empty value.
    Absent,
    /// The value of the column.
    Value(&'a [u8]),
    /// The index of the value, which is in a blob file.
    Blob(&'a [u8]),
}

/// The default column of a serialized entity. `Corruption` if the bytes are not an entity.
pub fn default_column(entity: &[u8]) -> Result<DefaultColumn<'_>> {
    Ok(match Entity::decode(entity)?.default_column() {
        None => DefaultColumn::Absent,
        Some(ColumnValue::Inline(range)) => DefaultColumn::Value(&entity[range.clone()]),
        Some(ColumnValue::Blob(range)) => DefaultColumn::Blob(&entity[range.clone()]),
    })
}

/// Clears `out` and writes to it `entity` with `value` as its default column. If some columns of `entity` are
/// in blob files, writes nothing and returns false.
pub fn with_default_column(entity: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<bool> {
    out.clear();
    let decoded = Entity::decode(entity)?;
    let mut columns: Vec<(&[u8], &[u8])> = vec![(b"", value)];
    for (name, column) in decoded.columns(entity) {
        match column {
            ColumnValue::Blob(_) => return Ok(false),
            ColumnValue::Inline(range) if !name.is_empty() => columns.push((name, &entity[range.clone()])),
            ColumnValue::Inline(_) => {}
        }
    }
    encode(&columns, out)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(columns: &[(&str, &str)]) -> Vec<u8> {
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let mut out = Vec::new();
        encode(&columns, &mut out).unwrap();
        out
    }

    #[test]
    fn columns_come_back_by_name() {
        let bytes = entity(&[("", "default"), ("a", ""), ("col", "value")]);
        let entity = Entity::decode(&bytes).unwrap();
        let columns: Vec<_> = entity
            .columns(&bytes)
            .map(|(name, value)| (name, value.clone()))
            .collect();
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [&b""[..], b"a", b"col"]);
        assert!(matches!(&columns[2].1, ColumnValue::Inline(range) if &bytes[range.clone()] == b"value"));
    }

    #[test]
    fn unsorted_columns_and_claims_nobody_backs_are_corruption() {
        assert!(
            Entity::decode(&entity(&[("b", "1"), ("a", "22")]))
                .unwrap_err()
                .is_corruption()
        );
        assert!(
            Entity::decode(&[2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0])
                .unwrap_err()
                .is_corruption()
        );
    }

    #[test]
    fn the_default_column_is_found() {
        assert_eq!(
            default_column(&entity(&[("", "v"), ("a", "x")])).unwrap(),
            DefaultColumn::Value(b"v")
        );
        assert_eq!(
            default_column(&entity(&[("a", "x")])).unwrap(),
            DefaultColumn::Absent
        );
        assert_eq!(default_column(&entity(&[])).unwrap(), DefaultColumn::Absent);
        let second = [
            2, 2, 2, 2, 1, 0x11, 1, 0, 1, 2, 3, b'n', b'i', b'x', b'v', b'a', b'l',
        ];
        assert_eq!(default_column(&second).unwrap(), DefaultColumn::Blob(b"ix"));
    }

    #[test]
    fn the_default_column_is_replaced_or_added() {
        let mut out = Vec::new();
        assert!(with_default_column(&entity(&[("", "old"), ("a", "x")]), b"new", &mut out).unwrap());
        assert_eq!(out, entity(&[("", "new"), ("a", "x")]));
        assert!(with_default_column(&entity(&[("a", "x"), ("b", "yy")]), b"new", &mut out).unwrap());
        assert_eq!(out, entity(&[("", "new"), ("a", "x"), ("b", "yy")]));
        assert!(with_default_column(&entity(&[]), b"", &mut out).unwrap());
        assert_eq!(out, entity(&[("", "")]));
        let with_blob = [2, 1, 1, 1, 1, 0x11, 1, 2, b'n', b'i', b'x'];
        assert!(!with_default_column(&with_blob, b"v", &mut out).unwrap());
    }

    #[test]
    fn damaged_entities_are_corruption() {
        let good = entity(&[("", "value"), ("a", "x")]);
        for len in 0..good.len() - 1 {
            assert!(
                default_column(&good[..len]).is_err() || len >= good.len() - 1,
                "{len}"
            );
        }
        assert!(default_column(&[3]).unwrap_err().is_corruption());
        assert!(
            default_column(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f])
                .unwrap_err()
                .is_corruption()
        );
        assert!(
            with_default_column(&good[..4], b"", &mut Vec::new())
                .unwrap_err()
                .is_corruption()
        );
    }
}
