//! The lengths that stored blocks claim, trusted only as far as their algorithm could reach from the
//! existing bytes.

use std::fmt;

use base::{Error, Result};

use super::CompressionType;

/// Claimed lengths below this are not checked.
pub(super) const SMALL_CLAIM: u64 = 128 << 10;

#[cold]
pub(super) fn bad(ty: CompressionType, what: impl fmt::Display) -> Error {
    Error::corruption(format!("bad {} block: {what}", ty.property_name()))
}

#[cold]
pub(super) fn excessive(ty: CompressionType, claimed: u32, stored: usize) -> Error {
    bad(
        ty,
        format_args!("{stored} bytes cannot decompress to the claimed {claimed}"),
    )
}

/// The sizes of a stored block.
pub(super) struct Sizes {
    /// The length that the block claims to decompress to.
    pub claimed: u32,
    /// The length of the block's compressed bytes.
    pub stored: usize,
    /// The maximum number of bytes that one compressed byte expands to.
    pub ratio: u64,
}

/// Sets the length of `out` to the claimed one, and fills it by `decompress`, which returns how many bytes it
/// has written. `Corruption` if the stored bytes cannot expand to so many, or have not.
#[inline]
pub(super) fn fill(
    ty: CompressionType,
    sizes: &Sizes,
    out: &mut Vec<u8>,
    decompress: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<()> {
    if u64::from(sizes.claimed) > sizes.stored as u64 * sizes.ratio {
        return Err(excessive(ty, sizes.claimed, sizes.stored));
    }
    let len = sizes.claimed as usize;
    // Only new bytes are zeroed, and a reallocation copies no old bytes.
    if out.capacity() < len {
        out.clear();
    }
    out.resize(len, 0);
    let written = decompress(out)?;
    expect(ty, sizes.claimed, written)
}

/// `Corruption` unless a block decompressed to as many bytes as it claims.
#[inline]
pub(super) fn expect(ty: CompressionType, claimed: u32, written: usize) -> Result<()> {
    if written != claimed as usize {
        return Err(bad(ty, format_args!("{written} bytes where it claims {claimed}")));
    }
    Ok(())
}
