//! Wide-column entities: the values of [`Kind::WideColumnEntity`](crate::Kind), columns sorted by name.
//!
//! ```text
//! version 1: v32 1, v32 n, n x (v32 length, name, v32 value size), the n values
//! version 2: v32 2, v32 n, v32 bytes of name sizes, v32 bytes of value sizes, v32 bytes of names,
//!            n x u8 type (1 inline, 0x11 blob index), n x v32 name size, n x v32 value size, the names, the values
//! ```
//!
//! The default column has the empty name and so comes first. A plain read of the key returns it.

use crate::coding::{Reader, put_length_prefixed, put_varint32};
use crate::error::{Error, Result};
use crate::internal_key::Kind;

/// The value under the empty column name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultColumn<'a> {
    /// The entity has no such column; a plain read returns the empty value.
    Absent,
    /// The value.
    Value(&'a [u8]),
    /// The value lies in a blob file; this is its index.
    Blob(&'a [u8]),
}

/// The default column of a serialized entity. `Corruption` for bytes that are none.
pub fn default_column(entity: &[u8]) -> Result<DefaultColumn<'_>> {
    let mut reader = Reader::new(entity);
    match reader.varint32("entity version")? {
        1 => {
            let columns = reader.varint32("number of columns")?;
            if columns == 0 {
                return Ok(DefaultColumn::Absent);
            }
            let name = reader.length_prefixed("column name")?;
            let size = reader.varint32("size of a column's value")? as usize;
            for _ in 1..columns {
                reader.length_prefixed("column name")?;
                reader.varint32("size of a column's value")?;
            }
            if !name.is_empty() {
                return Ok(DefaultColumn::Absent);
            }
            Ok(DefaultColumn::Value(reader.bytes(size, "column value")?))
        }
        2 => {
            let columns = reader.varint32("number of columns")? as usize;
            let name_sizes = reader.varint32("size of name sizes")? as usize;
            let value_sizes = reader.varint32("size of value sizes")? as usize;
            let names = reader.varint32("size of names")? as usize;
            if columns == 0 {
                return Ok(DefaultColumn::Absent);
            }
            let kind = reader.bytes(columns, "column types")?[0];
            let name_size = Reader::new(reader.bytes(name_sizes, "name sizes")?).varint32("name size")?;
            let size =
                Reader::new(reader.bytes(value_sizes, "value sizes")?).varint32("value size")? as usize;
            reader.bytes(names, "column names")?;
            if name_size != 0 {
                return Ok(DefaultColumn::Absent);
            }
            let value = reader.bytes(size, "column value")?;
            if kind == Kind::BlobIndex as u8 {
                Ok(DefaultColumn::Blob(value))
            } else {
                Ok(DefaultColumn::Value(value))
            }
        }
        version => Err(Error::corruption(format!(
            "wide-column entity of version {version}"
        ))),
    }
}

/// Writes `entity` with `value` as its default column to `out`, which is cleared. False, and nothing written, for an
/// entity of version 2, some of whose columns lie in blob files.
pub fn with_default_column(entity: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<bool> {
    out.clear();
    let mut reader = Reader::new(entity);
    match reader.varint32("entity version")? {
        1 => {}
        2 => return Ok(false),
        version => {
            return Err(Error::corruption(format!(
                "wide-column entity of version {version}"
            )));
        }
    }
    let columns = reader.varint32("number of columns")?;
    let index_start = reader.position();
    // The first column's part of the index and of the values goes if it is the default column.
    let (mut rest_start, mut replaced) = (index_start, 0);
    for i in 0..columns {
        let name = reader.length_prefixed("column name")?;
        let size = reader.varint32("size of a column's value")? as usize;
        if i == 0 && name.is_empty() {
            (rest_start, replaced) = (reader.position(), size);
        }
    }
    let index = &entity[rest_start..reader.position()];
    let had_default = rest_start != index_start;
    reader.bytes(replaced, "column value")?;
    put_varint32(out, 1);
    let columns = columns.checked_add(u32::from(!had_default));
    put_varint32(out, columns.ok_or_else(|| Error::corruption("too many columns"))?);
    put_length_prefixed(out, b"");
    let size = u32::try_from(value.len())
        .map_err(|_| Error::not_supported(format!("column value of {} bytes", value.len())))?;
    put_varint32(out, size);
    out.extend_from_slice(index);
    out.extend_from_slice(value);
    out.extend_from_slice(reader.rest());
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(columns: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint32(&mut out, 1);
        put_varint32(&mut out, columns.len() as u32);
        for (name, value) in columns {
            put_length_prefixed(&mut out, name.as_bytes());
            put_varint32(&mut out, value.len() as u32);
        }
        for (_, value) in columns {
            out.extend_from_slice(value.as_bytes());
        }
        out
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
        assert!(!with_default_column(&[2, 0, 0, 0, 0], b"v", &mut out).unwrap());
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
