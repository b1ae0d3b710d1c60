//! The row cache: the entries that a table has for a key, so that the next Get of the key reads no block.
//!
//! A row is found by the table cache's id, the number of the file, the reader's sequence number and the user
//! key. For a reader that sees the whole file this number is 0, for every other reader its sequence number
//! plus 1. The cache's key is a hash of them, so a row holds them too, and a row found for another key counts
//! as absent.
//!
//! A row is the key's length and the key, both as they are hashed, and then the entries that a search of the
//! table visits, newest first: trailer, length of the value, value. Tables with range deletions have no rows
//! here: an entry would depend on the tombstones above it.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::coding::{Reader, put_u64, put_varint64};
use base::internal_key;
use base::{Kind, Result, SeqNo};
use cache::{CacheKey, EntryRole, Handle, Priority};
use codec::hash::xxh3_64;
use manifest::FileMetadata;
use sst::{Block, BlockCache};

/// The row cache of the tables of one column family.
pub(crate) struct RowCache {
    cache: Arc<BlockCache>,
    /// Distinguishes the family's rows from those of other families in the cache.
    id: u64,
}

impl RowCache {
    /// Stores rows in `cache`.
    pub fn new(cache: Arc<BlockCache>) -> RowCache {
        let id = cache.new_id();
        RowCache { cache, id }
    }

    /// The place of the entries of `user_key` in `file`, for a reader as of `seqno`.
    pub fn place(&self, file: &FileMetadata, user_key: &[u8], seqno: SeqNo) -> RowPlace<'_> {
        // All readers that see the whole file see the same entries, so they share a row.
        let reader = match seqno >= file.largest_seqno {
            true => 0,
            false => seqno + 1,
        };
        let mut key = Vec::with_capacity(user_key.len() + 12);
        put_varint64(&mut key, file.number);
        put_varint64(&mut key, reader);
        key.extend_from_slice(user_key);
        RowPlace {
            rows: self,
            at: CacheKey {
                id: self.id,
                offset: xxh3_64(&key),
            },
            key,
        }
    }
}

/// The place of a row in the cache.
pub(crate) struct RowPlace<'a> {
    rows: &'a RowCache,
    at: CacheKey,
    key: Vec<u8>,
}

impl RowPlace<'_> {
    /// The row, if the cache has it.
    pub fn find(&self) -> Option<Row> {
        let block = self.rows.cache.lookup(self.at)?;
        let mut reader = Reader::new(block.data());
        let same = reader.long_length_prefixed("row key").ok()? == self.key;
        let entries = reader.position();
        same.then_some(Row { block, entries })
    }

    /// Begins to collect the row.
    pub fn collect(&self) -> RowEntries {
        let mut bytes = Vec::with_capacity(self.key.len() + 64);
        put_varint64(&mut bytes, self.key.len() as u64);
        bytes.extend_from_slice(&self.key);
        RowEntries { bytes, count: 0 }
    }

    /// Inserts the row, if it has an entry. If the cache has no room, nothing is inserted.
    pub fn insert(&self, entries: RowEntries) {
        if entries.count == 0 {
            return;
        }
        let block = Block::of_blob(entries.bytes);
        let charge = block.charge();
        let inserted = self
            .rows
            .cache
            .insert_as(self.at, block, charge, Priority::Low, EntryRole::Misc);
        drop(inserted);
    }
}

/// A row that is being collected.
pub(crate) struct RowEntries {
    bytes: Vec<u8>,
    count: usize,
}

impl RowEntries {
    /// Adds an entry.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) {
        put_u64(&mut self.bytes, internal_key::trailer(internal_key));
        put_varint64(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
        self.count += 1;
    }
}

/// A row found in the cache.
pub(crate) struct Row {
    block: Handle<Block>,
    /// The offset of the entries.
    entries: usize,
}

impl Row {
    /// Calls `visit` with each entry, newest first, until it breaks.
    pub fn replay(&self, mut visit: impl FnMut(SeqNo, Kind, &[u8]) -> ControlFlow<()>) -> Result<()> {
        let mut reader = Reader::new(&self.block.data()[self.entries..]);
        while !reader.is_empty() {
            let trailer = reader.u64("trailer in a row of the row cache")?;
            let value = reader.long_length_prefixed("value in a row of the row cache")?;
            let kind = Kind::from_byte(trailer as u8)
                .ok_or_else(|| base::Error::corruption("a row of the row cache has an unknown kind"))?;
            if visit(trailer >> 8, kind, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}
