//! The distribution of a table's bytes over its keys, according to the index.

use base::Result;

use super::table::Table;
use crate::block_trace::TableReaderCaller;
use crate::read_options::BlockReadOptions;

impl Table {
    /// Up to `most` user keys, without timestamps, that cut the table into parts of about the same size. Each
    /// comes with the bytes of data blocks since the previous one. All but the last are between two blocks;
    /// the last is after all blocks.
    ///
    /// Errors: those of reading the index, on the first call.
    pub fn anchors(&self, most: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let index = self.index()?;
        let step = index.len().div_ceil(most.max(1)).max(1);
        let mut anchors = Vec::with_capacity(index.len().div_ceil(step));
        let mut from = 0;
        while from < index.len() {
            let last = (from + step).min(index.len()) - 1;
            let separator = index.separator(last);
            let user_key = match index.has_user_keys() {
                true => separator,
                false => base::internal_key::user_key(separator),
            };
            let bare = match self.form.timestamp_size() {
                0 => self.cmp.user().strip_timestamp(user_key),
                _ => user_key,
            };
            let bytes = (from..=last).map(|block| index.handle(block).size);
            anchors.push((bare.to_vec(), bytes.fold(0, u64::saturating_add)));
            from = last + 1;
        }
        Ok(anchors)
    }

    /// The approximate offset in the file at which the entries from `internal_key` on begin, to the precision
    /// of a block.
    ///
    /// Errors: those of reading the index, on the first call.
    pub fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let target = self.target(internal_key);
        if self.caches_parts() {
            let options = BlockReadOptions {
                caller: TableReaderCaller::UserApproximateSize,
                ..BlockReadOptions::default()
            };
            let place = self.seek_parts(&target, &options)?;
            let handle = match &place {
                Some(place) if place.number < place.part.index()?.len() => {
                    Some(place.part.index()?.handle(place.number))
                }
                _ => None,
            };
            let end_of_data = self.properties.data_size.min(self.file_size());
            return Ok(handle.map_or(end_of_data, |handle| handle.offset));
        }
        let index = self.owned_index()?;
        let i = self.seek_index(index, &target);
        if i < index.len() {
            return Ok(index.handle(i).offset);
        }
        let end_of_data = match index.len() {
            0 => 0,
            len => index.handle(len - 1).end().unwrap_or(0),
        };
        Ok(end_of_data.max(self.properties.data_size).min(self.file_size()))
    }
}
