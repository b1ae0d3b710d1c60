//! Before images: the values that the rows of a batch replace, as log data in the batch itself.
//!
//! | bytes | what |
//! |---|---|
//! | 14 | `esker.before.1` |
//! | varint | the number of rows before this log data, since the batch's last before images, that it is for |
//! | | for each of them a byte, and after [`VALUE`] and [`ENTITY`] the length as a varint and the bytes |
//!
//! RocksDB ignores log data, and so does every reader but a change feed.

use base::coding::{Reader, put_varint64};
use base::{Error, Result};

use crate::batch::operation::Operation;
use crate::batch::write_batch::WriteBatch;

const MAGIC: &[u8] = b"esker.before.1";

/// The image of a row was not recorded.
const UNKNOWN: u8 = 0;
/// The key did not exist.
const ABSENT: u8 = 1;
/// A plain value.
const VALUE: u8 = 2;
/// An entity, encoded, with no column in a blob file.
const ENTITY: u8 = 3;

/// The value that a key had before a row of a change feed, if it was recorded: see
/// [`WriteOptions::before_images`](crate::WriteOptions::before_images).
///
/// See the example of [`Db::feed`](crate::Db::feed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BeforeImage<'a> {
    /// The image was not recorded: the write did not ask for it, or it deletes a range.
    #[default]
    Unknown,
    /// The key did not exist.
    Absent,
    /// The key had this value.
    Value(&'a [u8]),
    /// The key had columns, in the encoding of [`Operation::Entity`](crate::Operation::Entity).
    Entity(&'a [u8]),
}

/// The before images of the rows of a batch, while they are collected.
#[derive(Default)]
pub(crate) struct BeforeImages {
    count: u64,
    images: Vec<u8>,
}

impl BeforeImages {
    /// Adds the image of the next row.
    pub fn add(&mut self, image: BeforeImage<'_>) {
        self.count += 1;
        let (kind, bytes) = match image {
            BeforeImage::Unknown => (UNKNOWN, None),
            BeforeImage::Absent => (ABSENT, None),
            BeforeImage::Value(value) => (VALUE, Some(value)),
            BeforeImage::Entity(entity) => (ENTITY, Some(entity)),
        };
        self.images.push(kind);
        if let Some(bytes) = bytes {
            put_varint64(&mut self.images, bytes.len() as u64);
            self.images.extend_from_slice(bytes);
        }
    }

    /// The log data that follows the rows in the batch.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_varint64(&mut out, self.count);
        out.extend_from_slice(&self.images);
        out
    }
}

/// The before image of each row of `batch`, in order.
///
/// # Errors
/// `Corruption` for log data that begins as before images do and is malformed.
pub(crate) fn images_of(batch: &WriteBatch) -> Result<Vec<BeforeImage<'_>>> {
    let mut images = Vec::new();
    // The number of rows whose before images are recorded.
    let mut done = 0;
    for operation in batch.operations() {
        match operation? {
            Operation::LogData(blob) => {
                if let Some(encoded) = blob.strip_prefix(MAGIC) {
                    decode(encoded, &mut images[done..])?;
                    done = images.len();
                }
            }
            operation if operation.family().is_some() => images.push(BeforeImage::Unknown),
            _ => {}
        }
    }
    Ok(images)
}

/// Decodes `encoded`, a count and that many images, into the last elements of `rows`.
fn decode<'a>(encoded: &'a [u8], rows: &mut [BeforeImage<'a>]) -> Result<()> {
    let mut reader = Reader::new(encoded);
    let count = reader.varint64("before images")?;
    let first = usize::try_from(count)
        .ok()
        .and_then(|count| rows.len().checked_sub(count));
    let Some(first) = first else {
        return Err(Error::corruption(format!(
            "{count} before images for {} rows",
            rows.len()
        )));
    };
    for row in &mut rows[first..] {
        *row = match reader.u8("before image")? {
            UNKNOWN => BeforeImage::Unknown,
            ABSENT => BeforeImage::Absent,
            VALUE => BeforeImage::Value(reader.long_length_prefixed("before image")?),
            ENTITY => BeforeImage::Entity(reader.long_length_prefixed("before image")?),
            kind => {
                return Err(Error::corruption(format!(
                    "unknown kind of a before image: {kind}"
                )));
            }
        };
    }
    match reader.is_empty() {
        true => Ok(()),
        false => Err(Error::corruption("bytes after the last before image")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(of: &[BeforeImage<'_>]) -> Vec<u8> {
        let mut images = BeforeImages::default();
        of.iter().for_each(|image| images.add(*image));
        images.encode()
    }

    #[test]
    fn images_belong_to_the_rows_before_them() {
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1");
        batch.put_log_data(b"of the user");
        batch.put(b"b", b"2");
        batch.delete(b"c");
        batch.put_log_data(&images(&[BeforeImage::Value(b"old"), BeforeImage::Absent]));
        batch.put(b"d", b"3");
        batch.put_log_data(&images(&[BeforeImage::Entity(b"columns")]));
        batch.put(b"e", b"4");
        assert_eq!(
            images_of(&batch).unwrap(),
            [
                BeforeImage::Unknown,
                BeforeImage::Value(b"old"),
                BeforeImage::Absent,
                BeforeImage::Entity(b"columns"),
                BeforeImage::Unknown,
            ]
        );
    }

    #[test]
    fn malformed_images_are_corruption() {
        let good = images(&[BeforeImage::Value(b"old")]);
        let mut bad: Vec<Vec<u8>> = (MAGIC.len()..good.len())
            .map(|len| good[..len].to_vec())
            .collect();
        bad.push([&good[..], b"x"].concat());
        bad.push(images(&[BeforeImage::Absent; 3]));
        bad.push([MAGIC, b"\x01\x09"].concat());
        for log_data in bad {
            let mut batch = WriteBatch::new();
            batch.put(b"a", b"1");
            batch.put(b"b", b"1");
            batch.put_log_data(&log_data);
            assert!(images_of(&batch).unwrap_err().is_corruption(), "{log_data:?}");
        }
    }
}
