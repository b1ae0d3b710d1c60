//! Where blocks go: compressed if that pays, with their trailer, by one append each.

use base::Result;
use codec::{ChecksumType, CompressionOptions, CompressionType, Compressor};
use vfs::WritableFile;

use super::options::CompressionTally;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle, block_trailer, moved_trailer};

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

/// Compresses a block, and says how it is to be stored.
pub(super) fn compress(
    compressor: &mut Compressor,
    options: &CompressionOptions,
    contents: &[u8],
    compressed: &mut Vec<u8>,
) -> Result<Stored> {
    if contents.len() >= MAX_COMPRESSED {
        return Ok(Stored::Raw);
    }
    compressor.compress(contents, compressed)?;
    Ok(match options.keeps(contents.len(), compressed.len()) {
        true => Stored::Compressed,
        false => Stored::Rejected,
    })
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
    tally: CompressionTally,
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
            tally: CompressionTally::default(),
        }
    }

    /// What it has compressed.
    pub fn tally(&self) -> CompressionTally {
        self.tally
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
        let Some(compressor) = compressor else {
            return Ok((self.append(contents, CompressionType::None)?, Stored::Raw));
        };
        let mut compressed = std::mem::take(&mut self.compressed);
        let stored = compress(compressor, &self.compression_opts, contents, &mut compressed)?;
        let handle = self.write_finished(contents, &mut compressed, stored, compressor.compression_type());
        self.compressed = compressed;
        Ok((handle?, stored))
    }

    /// Writes a block of which it is known how: `compressed`, by compression `ty`, or as it is. Both are buffers to work in.
    pub fn write_finished(
        &mut self,
        contents: &mut Vec<u8>,
        compressed: &mut Vec<u8>,
        stored: Stored,
        ty: CompressionType,
    ) -> Result<BlockHandle> {
        match stored {
            Stored::Compressed => {
                self.tally.blocks += 1;
                self.tally.bytes_from += contents.len() as u64;
                self.tally.bytes_to += compressed.len() as u64;
                self.append(compressed, ty)
            }
            Stored::Rejected | Stored::Raw => self.append(contents, CompressionType::None),
        }
    }

    /// Appends the bytes of a block and its trailer, which is made in the same buffer.
    fn append(&mut self, bytes: &mut Vec<u8>, ty: CompressionType) -> Result<BlockHandle> {
        let trailer = block_trailer(
            self.checksum,
            bytes,
            ty as u8,
            self.base_context_checksum,
            self.offset,
        );
        self.append_with(bytes, trailer)
    }

    fn append_with(&mut self, bytes: &mut Vec<u8>, trailer: [u8; BLOCK_TRAILER_LEN]) -> Result<BlockHandle> {
        let handle = BlockHandle::new(self.offset, bytes.len() as u64);
        bytes.extend_from_slice(&trailer);
        self.file.append(bytes)?;
        self.offset += handle.size + BLOCK_TRAILER_LEN as u64;
        self.types_used |= 1 << trailer[0];
        Ok(handle)
    }

    /// Appends a block that another table had: its bytes and, behind them, what makes up its trailer here.
    pub fn append_copied(
        &mut self,
        bytes: &mut Vec<u8>,
        type_byte: u8,
        placeless: u32,
    ) -> Result<BlockHandle> {
        let trailer = moved_trailer(type_byte, placeless, self.base_context_checksum, self.offset);
        self.append_with(bytes, trailer)
    }

    /// How checksums are made.
    pub fn checksum(&self) -> ChecksumType {
        self.checksum
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
