//! Blocks of other tables that are taken over as they are stored.
//!
//! What is spared is making them anew and compressing them. Their entries are looked at all the same: the filter, the index and the
//! properties are made of keys. A block is copied where it could be one of this table's own: laid out and compressed as the options say,
//! and neither it nor the block it cuts short less than half a block.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base::entry_type::EntryType;
use base::internal_key::{TRAILER_LEN, kind_byte, trailer, user_key};
use base::{Error, Kind, Result};

use super::{TableWriter, out_of_order};
use crate::cursor::TableCursor;
use crate::format::BLOCK_TRAILER_LEN;
use crate::reader::Table;

/// A block as another table stores it, until it is known what comes behind it.
#[derive(Default)]
pub(super) struct CopiedBlock {
    /// True while it waits to be written.
    pub waits: bool,
    /// As stored, without trailer.
    pub bytes: Vec<u8>,
    pub type_byte: u8,
    /// Its checksum, as it would be wherever it stood.
    pub placeless: u32,
    /// Bytes uncompressed.
    pub contents_len: usize,
}

impl TableWriter {
    /// True if blocks of `table` may be stored as this table's own would be: how they are compressed and laid out is the same, as far as the
    /// table tells.
    pub fn stores_as(&self, table: &Table) -> bool {
        let (options, properties) = (&self.options, table.properties());
        !options.block_align
            && options.hash_table_util_ratio().is_none()
            && !self.data.has_dictionary()
            && !table.has_dictionary()
            && options.separate_key_value_in_data_block == (properties.separate_key_value_in_data_block != 0)
            && properties.compression_options == self.compression_options
    }

    /// True if the block that `cursor` stands at the beginning of can be [copied](TableWriter::copy_block), its table being one that
    /// [`stores_as`](TableWriter::stores_as) this one does. Where the block being made is too small to be ended here its entries are to be
    /// added one by one; that block then ends so that the next can be copied.
    pub fn can_copy_block(&mut self, cursor: &TableCursor) -> bool {
        let options = &self.options;
        let Some(block) = cursor.block() else { return false };
        let len = block.entries().len();
        let shares = options.use_delta_encoding;
        // Only a block that is as long may hold a row that is too large. Rows that are added one by one are looked at.
        if len < options.block_size / 2
            || len > options.row_limit.bytes()
            || !block.is_laid_out(options.block_restart_interval.max(1), shares, options.block_size)
        {
            return false;
        }
        let open = self.block.size();
        if self.copied.waits || self.block.is_empty() || open >= options.block_size / 2 {
            return true;
        }
        if open + len > options.block_size {
            // Two of more than half the size, and nothing of what comes next in them.
            self.end_block_at((open + len) / 2);
        }
        false
    }

    /// Adds all entries of the block that `cursor` stands at the beginning of, and which [can be copied](TableWriter::can_copy_block), as they
    /// are stored. `each` hears of them in order. The cursor stays where it is. Gives the bytes of the block in the file; `None`, and nothing
    /// added, if it is compressed otherwise than its table says.
    ///
    /// Errors: `Corruption` with file and offset if the block's checksum does not verify, and those of [`add`](TableWriter::add).
    pub fn copy_block(
        &mut self,
        cursor: &mut TableCursor,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<Option<u64>> {
        let checksum = self.data.sink.checksum();
        let compression = self.options.compression as u8;
        if self.properties.num_entries > 0
            && self.options.cmp.compare(self.block.last_key(), cursor.key()) != Ordering::Less
        {
            return Err(out_of_order(self.block.last_key(), cursor.key()));
        }
        if self.copied.waits || !self.block.is_empty() {
            self.close_block(Some(cursor.key()))?;
        }
        let copied = &mut self.copied;
        let known = cursor.with_stored_block(|stored| {
            copied.bytes.clear();
            copied.bytes.extend_from_slice(stored.contents);
            copied.type_byte = stored.type_byte;
            // Whatever happens to the bytes from here on, they no longer verify.
            copied.placeless = match stored.checksum == checksum {
                true => stored.placeless,
                false => checksum.block(stored.contents, stored.type_byte),
            };
            stored.type_byte == 0 || stored.type_byte == compression
        })?;
        if !known {
            return Ok(None);
        }
        copied.contents_len = cursor.block().map_or(0, |block| block.data().len());
        copied.waits = true;
        // Whatever is added next ends it.
        self.never_full_up_to = 0;

        let mut last = std::mem::take(&mut self.copied_key);
        last.clear();
        last.extend_from_slice(self.block.last_key());
        let mut failed = None;
        let whole = cursor.walk_block(|key, value| {
            if let Err(error) = self.note_copied(&last, key, value) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            each(key, value);
            last.clear();
            last.extend_from_slice(key);
            ControlFlow::Continue(())
        });
        self.block.set_last_key(&last);
        self.copied_key = last;
        match failed {
            Some(error) => Err(error.in_file(cursor.table().path())),
            None if !whole => {
                Err(Error::corruption("bad entry in a block that is copied").in_file(cursor.table().path()))
            }
            None => Ok(Some((self.copied.bytes.len() + BLOCK_TRAILER_LEN) as u64)),
        }
    }

    /// An entry of a copied block, behind `last`, which is empty in front of the first of all.
    fn note_copied(&mut self, last: &[u8], key: &[u8], value: &[u8]) -> Result<()> {
        let suffix = TRAILER_LEN + self.timestamp_size;
        let kind = kind_byte(key);
        if key.len() < suffix || kind == Kind::RangeDeletion as u8 {
            return Err(super::bad_entry(key, value));
        }
        if self.properties.num_entries > 0 && self.options.cmp.compare(last, key) != Ordering::Less {
            return Err(out_of_order(last, key));
        }
        let trailer = trailer(key);
        if let Some(properties) = &mut self.block_properties {
            properties.add(user_key(key), value, EntryType::of(kind), trailer >> 8);
        }
        let key_len = key.len() - suffix;
        let is_same = last.len() == key.len() && last[..key_len] == key[..key_len];
        self.note_entry(key, value, trailer, !is_same);
        Ok(())
    }
}
