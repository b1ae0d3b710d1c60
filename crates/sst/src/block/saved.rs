//! The secondary cache's form of blocks, and their placeholder in the primary cache.

use std::borrow::Cow;

use base::coding;
use cache::{Buffer, Demote};

use super::{Block, Bytes, Data, Shape, WORD};

impl Demote for Block {
    /// The block in a form that can be parsed again, without the bytes that a file has between its restart
    /// points and its end; for another part of a table, our own encoding. `None` for a block of a mapped
    /// file, which is in memory or read at no more cost; for a value of a blob file; and for an unverified
    /// block, because its mark would be lost.
    fn saved(&self) -> Option<Cow<'_, [u8]>> {
        if self.unverified {
            return None;
        }
        if let Data::Apart(apart) = &self.data {
            match &apart.bytes {
                Bytes::Metadata(part) => return Some(Cow::Owned(part.save())),
                Bytes::Mapped { .. } | Bytes::Blob(_) => return None,
                Bytes::Owned(_) => {}
            }
        }
        let data = self.data();
        let end = self.entries_end as usize + self.num_restarts() * WORD;
        let word = self.num_restarts;
        let ends_there = data.len() >= end + WORD && coding::u32_at(data, end) == word;
        Some(match ends_there {
            true => Cow::Borrowed(&data[..end + WORD]),
            false => {
                let mut block = data[..end].to_vec();
                coding::put_u32(&mut block, word);
                Cow::Owned(block)
            }
        })
    }

    /// A placeholder: a block without a single byte, which no block of a file is.
    fn placeholder() -> Block {
        let shape = Shape {
            entries_end: 0,
            num_restarts: 0,
            values: None,
        };
        Block::new(Data::Owned(Buffer::from(&[][..])), &shape)
    }

    fn is_placeholder(&self) -> bool {
        matches!(&self.data, Data::Owned(bytes) if bytes.is_empty())
    }
}
