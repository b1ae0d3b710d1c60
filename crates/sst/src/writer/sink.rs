//! Where blocks go: compressed if that pays, with their trailer, by one append each.

use base::Result;
use codec::{ChecksumType, CompressionOptions, CompressionType, Compressor};
use vfs::WritableFile;

use crate::format::{BLOCK_TRAILER_LEN, BlockHandle, block_trailer};

/// Larger blocks are stored as they are, as in RocksDB.
const MAX_COMPRESSED: usize = i32::MAX as usize;

/// Whether a block was worth compressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// The compressed form is in the file.
    Compressed,
    /// It was tried, and saved too little.
    Rejected,
    /// Nobody tried.
    Raw,
}

/// The file being written and what every block of it goes through.
pub(super) struct BlockSink {
    file: Box<dyn WritableFile>,
    offset: u64,
    checksum: ChecksumType,
    base_context_checksum: u32,
    compression_opts: CompressionOptions,
    compressed: Vec<u8>,
    /// One bit for each type byte that stands in the file.
    types_used: u128,
}

impl BlockSink {
    pub fn new(
        file: Box<dyn WritableFile>,
        checksum: ChecksumType,
        base_context_checksum: u32,
        compression_opts: CompressionOptions,
    ) -> BlockSink {
        BlockSink {
            offset: file.len(),
            file,
            checksum,
            base_context_checksum,
            compression_opts,
            compressed: Vec::new(),
            types_used: 0,
        }
    }

    /// Bytes written.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The compression types that stand in the file, ascending, without the type of raw blocks.
    pub fn types_used(&self) -> impl Iterator<Item = CompressionType> {
        let used = self.types_used;
        CompressionType::ALL
            .into_iter()
            .filter(move |&ty| ty != CompressionType::None && used >> ty as u8 & 1 != 0)
    }

    /// Writes a block. `contents` is a buffer to work in: it holds the contents when this is called, and anything after.
    pub fn write(
        &mut self,
        contents: &mut Vec<u8>,
        compressor: Option<&mut Compressor>,
    ) -> Result<(BlockHandle, Stored)> {
        let (mut ty, mut stored) = (CompressionType::None, Stored::Raw);
        if let Some(compressor) = compressor
            && contents.len() < MAX_COMPRESSED
        {
            compressor.compress(contents, &mut self.compressed)?;
            stored = Stored::Rejected;
            if self.compression_opts.keeps(contents.len(), self.compressed.len()) {
                (ty, stored) = (compressor.compression_type(), Stored::Compressed);
            }
        }
        let bytes = match stored {
            Stored::Compressed => &mut self.compressed,
            Stored::Rejected | Stored::Raw => contents,
        };
        let handle = BlockHandle::new(self.offset, bytes.len() as u64);
        let trailer = block_trailer(
            self.checksum,
            bytes,
            ty as u8,
            self.base_context_checksum,
            self.offset,
        );
        bytes.extend_from_slice(&trailer);
        self.file.append(bytes)?;
        self.offset += handle.size + BLOCK_TRAILER_LEN as u64;
        self.types_used |= 1 << ty as u8;
        Ok((handle, stored))
    }

    /// Adds zeros up to the next multiple of `alignment`, a power of two.
    pub fn pad(&mut self, alignment: u64) -> Result<()> {
        let padding = self.offset.next_multiple_of(alignment) - self.offset;
        self.compressed.clear();
        self.compressed.resize(padding as usize, 0);
        self.file.append(&self.compressed)?;
        self.offset += padding;
        Ok(())
    }

    /// Writes the last bytes of the file, syncs and closes it. Gives its size.
    pub fn finish(mut self, footer: &[u8]) -> Result<u64> {
        self.file.append(footer)?;
        self.file.sync()?;
        self.file.close()?;
        Ok(self.offset + footer.len() as u64)
    }
}
