//! Wide-column entities: a value made of named columns. The column without a name is what a plain read returns.

use std::ops::Range;

use base::coding::{self, Reader};
use base::{Error, Result};
use blob::{BlobIndex, BlobLocation};

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnValue {
    /// These bytes of the entity.
    Inline(Range<usize>),
    /// A value in a blob file.
    Blob(BlobLocation),
}

/// A decoded entity: where in its bytes the columns lie, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entity {
    columns: Vec<(Range<usize>, ColumnValue)>,
}

/// Version 1: names and value sizes alternate, then the values.
const VERSION_INLINE: u32 = 1;
/// Version 2: columns may be blob references; sizes are grouped.
const VERSION_WITH_BLOBS: u32 = 2;
const INLINE: u8 = 0x01;
const BLOB: u8 = 0x11;

impl Entity {
    /// Decodes `bytes`; `Corruption` with the offset within them if they are no entity.
    pub fn decode(bytes: &[u8]) -> Result<Entity> {
        let mut reader = Reader::new(bytes);
        match reader.varint32("version of an entity")? {
            VERSION_INLINE => Entity::decode_inline(bytes, reader),
            VERSION_WITH_BLOBS => Entity::decode_with_blobs(bytes, reader),
            version => Err(Error::not_supported(format!(
                "wide-column entity of version {version}"
            ))),
        }
    }

    fn decode_inline(bytes: &[u8], mut reader: Reader<'_>) -> Result<Entity> {
        let count = reader.varint32("number of columns")?;
        let mut columns: Vec<(Range<usize>, usize)> = Vec::new();
        for _ in 0..count {
            let name = reader.length_prefixed("name of a column")?;
            let name_end = reader.position();
            let size = reader.varint32("size of a column")? as usize;
            let name = name_end - name.len()..name_end;
            if columns
                .last()
                .is_some_and(|(previous, _)| bytes[previous.clone()] >= bytes[name.clone()])
            {
                return Err(Error::corruption("Wide columns out of order").at(name.start as u64));
            }
            columns.push((name, size));
        }
        let columns = columns.into_iter().map(|(name, size)| {
            let start = reader.position();
            reader.bytes(size, "value of a column")?;
            Ok((name, ColumnValue::Inline(start..start + size)))
        });
        Ok(Entity {
            columns: columns.collect::<Result<_>>()?,
        })
    }

    fn decode_with_blobs(bytes: &[u8], mut reader: Reader<'_>) -> Result<Entity> {
        let count = reader.varint32("number of columns")? as usize;
        for what in ["bytes of name sizes", "bytes of value sizes", "bytes of names"] {
            reader.varint32(what)?;
        }
        let kinds = reader.bytes(count, "kinds of columns")?;
        // `count` bytes were there, so reserving for as many sizes is within reason.
        let mut sizes = |what| {
            (0..count)
                .map(|_| Ok(reader.varint32(what)? as usize))
                .collect::<Result<Vec<_>>>()
        };
        let name_sizes = sizes("size of a column's name")?;
        let value_sizes = sizes("size of a column")?;
        let mut ranges = |sizes: Vec<usize>, what| {
            let range = |size| {
                let start = reader.position();
                reader.bytes(size, what)?;
                Ok(start..start + size)
            };
            sizes.into_iter().map(range).collect::<Result<Vec<_>>>()
        };
        let names = ranges(name_sizes, "name of a column")?;
        let values = ranges(value_sizes, "value of a column")?;
        let columns =
            names
                .into_iter()
                .zip(values)
                .zip(kinds)
                .map(|((name, value), &kind)| match kind {
                    INLINE => Ok((name, ColumnValue::Inline(value))),
                    BLOB => match BlobIndex::decode(&bytes[value.clone()])? {
                        BlobIndex::Blob { location, .. } => Ok((name, ColumnValue::Blob(location))),
                        BlobIndex::InlinedTtl { .. } => {
                            Err(Error::corruption("column of an inlined blob").at(value.start as u64))
                        }
                    },
                    _ => Err(Error::corruption(format!("column of unknown kind {kind:#04x}"))
                        .at(value.start as u64)),
                });
        Ok(Entity {
            columns: columns.collect::<Result<_>>()?,
        })
    }

    /// Names and places of the columns, in the order of their names. `bytes` are those it was decoded from.
    pub fn columns<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a ColumnValue)> {
        self.columns
            .iter()
            .map(|(name, value)| (&bytes[name.clone()], value))
    }

    /// The column without a name, which sorts first.
    pub fn default_column(&self) -> Option<&ColumnValue> {
        self.columns
            .first()
            .filter(|(name, _)| name.is_empty())
            .map(|(_, value)| value)
    }
}

/// The bytes of an entity of `columns`, which are sorted by name.
pub(crate) fn encode<'a>(columns: &[(&'a [u8], &'a [u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    coding::put_varint32(&mut out, VERSION_INLINE);
    coding::put_varint32(&mut out, columns.len() as u32);
    for (name, value) in columns {
        coding::put_length_prefixed(&mut out, name);
        coding::put_varint32(&mut out, value.len() as u32);
    }
    for (_, value) in columns {
        out.extend_from_slice(value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_round_trip() {
        let bytes = encode(&[(b"", b"default"), (b"a", b""), (b"col", b"value")]);
        let entity = Entity::decode(&bytes).unwrap();
        let columns: Vec<_> = entity
            .columns(&bytes)
            .map(|(name, value)| match value {
                ColumnValue::Inline(range) => (name, &bytes[range.clone()]),
                ColumnValue::Blob(_) => panic!("no blob was written"),
            })
            .collect();
        assert_eq!(
            columns,
            [(&b""[..], &b"default"[..]), (b"a", b""), (b"col", b"value")]
        );
        assert!(entity.default_column().is_some());
    }

    #[test]
    fn damaged_entities_are_errors() {
        let bytes = encode(&[(b"a", b"1"), (b"b", b"22")]);
        for len in 0..bytes.len() {
            assert!(Entity::decode(&bytes[..len]).is_err(), "cut at {len}");
        }
        let unsorted = encode(&[(b"b", b"1"), (b"a", b"22")]);
        assert!(Entity::decode(&unsorted).unwrap_err().is_corruption());
        assert!(
            Entity::decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err(),
            "a count nobody backs"
        );
    }
}
