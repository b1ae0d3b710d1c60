//! Verifies every checksum of a table.

use base::internal_key::user_key;
use base::{Error, Result};

use crate::fetch::Span;
use crate::format::{BlockHandle, FOOTER_LEN, IndexType, meta};
use crate::index::Index;
use crate::reader::{Table, bytes_of};

/// The result of the check of one block.
#[derive(Debug)]
pub struct BlockCheck<'a> {
    /// The offset of the block in the file.
    pub offset: u64,
    /// The size as stored, in bytes, without the trailer.
    pub size: u64,
    /// The kind of the block: a name in the metaindex, `data block`, `index partition`, ...
    pub what: &'a str,
    /// `Ok` if the checksum is right.
    pub result: Result<()>,
}

impl Table {
    /// Reads every block from the file and verifies its checksum: the meta blocks in the metaindex, the
    /// partitions of index and filter, and all data blocks. `on_block` receives each block with its result,
    /// and may count or print. The cache is neither searched nor filled. Data blocks are read
    /// `readahead_size` bytes at a time; 0 stands for the largest window of the table's cursors. The footer
    /// has no checksum below format version 6. It must be byte for byte what a writer would write; otherwise
    /// `on_block` receives it too.
    ///
    /// Errors: the first error found. Blocks after it that can still be located are verified too.
    pub fn verify(&self, readahead_size: usize, on_block: &mut dyn FnMut(BlockCheck<'_>)) -> Result<()> {
        let mut first_error = None;
        if let Err(error) = self.verify_footer() {
            on_block(BlockCheck {
                offset: self.footer_offset(),
                size: FOOTER_LEN as u64,
                what: "footer",
                result: Err(error.clone()),
            });
            first_error = Some(error);
        }
        let nowhere = Span::default();
        let mut check = |handle: BlockHandle, what: &str, near: &Span| {
            // Old-style ingestion changed the properties and not their checksum. Opening the table handles
            // that.
            let result = match what {
                meta::PROPERTIES => self.verify_properties(handle),
                _ => self.fetcher.verify_near(handle, near),
            };
            if let Err(error) = &result {
                first_error.get_or_insert_with(|| error.clone());
            }
            let good = result.is_ok();
            on_block(BlockCheck {
                offset: handle.offset,
                size: handle.size,
                what,
                result,
            });
            good
        };
        check(self.footer.metaindex, "metaindex", &nowhere);
        for (name, handle) in &self.metaindex {
            let good = check(*handle, &String::from_utf8_lossy(name), &nowhere);
            if good && name.starts_with(meta::PARTITIONED_FILTER_PREFIX.as_bytes()) {
                for partition in self.partitions(*handle)? {
                    check(partition, "filter partition", &nowhere);
                }
            }
        }
        if self.footer.index.is_some() {
            check(self.index_handle, meta::INDEX, &nowhere);
        }
        if self.properties().index_type == IndexType::TwoLevel {
            for partition in self.partitions(self.index_handle)? {
                check(partition, "index partition", &nowhere);
            }
        }
        match self.index() {
            Ok(index) => {
                let mut window = Span::default();
                for i in 0..index.len() {
                    self.fill_to_verify(&index, i, readahead_size as u64, &mut window);
                    check(index.handle(i), "data block", &window);
                }
            }
            Err(error) => return Err(first_error.unwrap_or(error)),
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Makes `window` hold data block `i` and the following blocks, if it does not hold block `i` yet and
    /// they can be read. If they cannot, each block is read by itself, and that read reports the error.
    fn fill_to_verify(&self, index: &Index, i: usize, readahead_size: u64, window: &mut Span) {
        let handle = index.handle(i);
        let file = &**self.fetcher.file();
        if file.mapped().is_some() || window.holds(handle) {
            return;
        }
        let most = match readahead_size {
            0 => self.auto_readahead.max,
            size => size,
        };
        let most = handle.offset.saturating_add(most);
        let following = (i + 1..index.len())
            .take_while(|&next| index.handle(next).end().is_some_and(|end| end <= most))
            .count();
        let bytes = bytes_of(index, &(i..i + 1 + following));
        if following > 0 {
            let len = bytes.end.saturating_sub(bytes.start);
            let _ = self.fetcher.fill(file, window, bytes.start, len);
        }
    }

    /// The bounds of the entries of the data block at `offset`: after the first user key, `None` for the
    /// first block, and up to the second. `None` if no data block begins there or the index cannot be read.
    pub fn keys_of_block(&self, offset: u64) -> Option<(Option<Vec<u8>>, Vec<u8>)> {
        let index = self.index().ok()?;
        let block = (0..index.len()).find(|&block| index.handle(block).offset == offset)?;
        let separator = |block: usize| match index.has_user_keys() {
            true => index.separator(block).to_vec(),
            false => user_key(index.separator(block)).to_vec(),
        };
        Some((block.checked_sub(1).map(separator), separator(block)))
    }

    fn footer_offset(&self) -> u64 {
        self.file_size() - FOOTER_LEN as u64
    }

    /// Checks the bytes that no checksum covers: handles are followed by zeros and use the fewest bytes
    /// possible. A footer that differs was damaged.
    fn verify_footer(&self) -> Result<()> {
        let offset = self.footer_offset();
        let mut found = [0; FOOTER_LEN];
        self.fetcher.file().read_exact_at(offset, &mut found)?;
        let written = self.footer.encode(offset);
        match found
            .iter()
            .zip(&written)
            .position(|(found, written)| found != written)
        {
            None => Ok(()),
            Some(at) => Err(Error::corruption("the footer differs from what a writer writes")
                .at(offset + at as u64)
                .in_file(self.path())),
        }
    }

    /// Verifies the properties by reading them: only their contents show which eight bytes the checksum
    /// excludes.
    fn verify_properties(&self, handle: BlockHandle) -> Result<()> {
        crate::reader::read_properties(&self.fetcher, handle, true)
            .map(|_| ())
            .map_err(|error| self.fetcher.in_block(error, handle))
    }
}
