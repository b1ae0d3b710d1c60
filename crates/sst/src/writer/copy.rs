//! Data blocks of other tables that are copied as they are stored.
//!
//! Copying saves rebuilding and compressing the block. The writer still reads its entries, because the
//! filter, the index and the properties depend on its keys. A block is copied if this table could contain it:
//! it is laid out and compressed as the options require, and neither it nor the block that it cuts short is
//! smaller than half a block.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base::entry_type::EntryType;
use base::internal_key::{TRAILER_LEN, kind_byte, trailer, user_key};
use base::{Error, Kind, Result};

use super::{TableWriter, out_of_order};
use crate::cursor::TableCursor;
use crate::format::BLOCK_TRAILER_LEN;
use crate::reader::Table;

impl TableWriter {
    /// True if this table may store the blocks of `table` unchanged: as far as its properties show, they are
    /// compressed and laid out as this table's own.
    pub fn stores_as(&self, table: &Table) -> bool {
        let (options, properties) = (&self.options, table.properties());
        !options.block_align
            && options.hash_table_util_ratio().is_none()
            && !self.data.has_dictionary()
            && !table.has_dictionary()
            && options.separate_key_value_in_data_block == (properties.separate_key_value_in_data_block != 0)
            && properties.compression_options == self.compression_options
    }

    /// True if the block at whose first entry `cursor` stands can be [copied](TableWriter::copy_block), in a
    /// table that this one [`stores_as`](TableWriter::stores_as). If the current block is too small to end
    /// here, the caller must add the entries one by one; the current block then ends so that the next block
    /// can be copied.
    pub fn can_copy_block(&mut self, cursor: &TableCursor) -> bool {
        let options = &self.options;
        let Some(block) = cursor.block() else { return false };
        let len = block.entries().len();
        let shares = options.use_delta_encoding;
        // Only a block of at least that length can hold a row that is too large. Rows that are added one by
        // one are checked.
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
            // The current block and the next block become larger than half the block size. No entry of the
            // candidate block is left after them.
            self.end_block_at((open + len) / 2);
        }
        false
    }

    /// Adds all entries of the block at whose first entry `cursor` stands, as they are stored. The block must
    /// be one that [can be copied](TableWriter::can_copy_block). `each` receives the entries in order. The
    /// cursor does not move. Returns the bytes of the block in the file. `None`, and nothing is added, if the
    /// block is compressed otherwise than its table's properties have it.
    ///
    /// Errors: `Corruption` with file and offset if the block's checksum does not verify, and those of
    /// [`add`](TableWriter::add).
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
            // The checksum of the copied bytes is kept from here on: any later change of them makes it fail.
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
        // The next entry ends the copied block.
        self.never_full_up_to = 0;

        let mut last = std::mem::take(&mut self.copied_key);
        last.clear();
        last.extend_from_slice(self.block.last_key());
        let mut failed = None;
        let whole = cursor.walk_block(|key, value| {
            if let Err(error) = self.record_copied(&last, key, value) {
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
                Err(Error::corruption("bad entry in a copied block").in_file(cursor.table().path()))
            }
            None => Ok(Some((self.copied.bytes.len() + BLOCK_TRAILER_LEN) as u64)),
        }
    }

    /// Accounts for an entry of a copied block. `last` is the key before it, empty for the first key of the
    /// table.
    fn record_copied(&mut self, last: &[u8], key: &[u8], value: &[u8]) -> Result<()> {
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
        self.record_entry(key, value, trailer, !is_same);
        Ok(())
    }
}
