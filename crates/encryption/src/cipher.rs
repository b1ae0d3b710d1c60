//! The keystream of a file, at any offset.

use std::fmt;
use std::sync::Arc;

use aes::Aes256;
use base::{Error, Result};
use ctr::Ctr128BE;
use ctr::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};

use crate::master_keys::FileKey;

/// The bytes that one value of the counter encrypts.
pub(crate) const BLOCK: usize = 16;

/// The cipher of a file. The byte at an offset is always encrypted with the same byte of the keystream, so each
/// offset of a file is written once.
#[derive(Clone)]
pub(crate) struct Cipher {
    /// The key, expanded once for the file.
    aes: Arc<Aes256>,
    nonce: [u8; BLOCK],
}

/// Shows no byte of the key.
impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

impl Cipher {
    pub fn new(key: &FileKey) -> Result<Cipher> {
        let (key, nonce) = key.parts();
        let wrong = |_| Error::corruption("the key of the file must have 32 bytes");
        Ok(Cipher {
            aes: Arc::new(Aes256::new_from_slice(key).map_err(wrong)?),
            nonce: nonce
                .try_into()
                .map_err(|_| Error::corruption("the nonce of the file must have 16 bytes"))?,
        })
    }

    /// Encrypts or decrypts the bytes from `offset` of the file on.
    pub fn apply(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let core = ctr::CtrCore::inner_iv_init(&*self.aes, &self.nonce.into());
        let mut cipher: Ctr128BE<&Aes256> = StreamCipherCoreWrapper::from_core(core);
        cipher
            .try_seek(offset)
            .and_then(|()| cipher.try_apply_keystream(bytes))
            .map_err(|_| Error::corruption("the offset is beyond the end of the keystream").at(offset))
    }

    /// Decrypts as [`apply`](Self::apply) does, and leaves blocks of zeros as they are: a loss of power may
    /// leave zeros in place of what was written, and readers recognize them. The chance that an encrypted
    /// block is zero is 1 in 2^128. For a block of which `bytes` has a part, `is_hole` says whether all of
    /// it, at this offset, is zeros.
    pub fn decrypt(
        &self,
        offset: u64,
        bytes: &mut [u8],
        mut is_hole: impl FnMut(u64) -> Result<bool>,
    ) -> Result<()> {
        let mut at = 0;
        while at < bytes.len() {
            let block_start = (offset + at as u64) / BLOCK as u64 * BLOCK as u64;
            let within = (offset + at as u64 - block_start) as usize;
            let len = (BLOCK - within).min(bytes.len() - at);
            if bytes[at..at + len].iter().all(|&byte| byte == 0) && (len == BLOCK || is_hole(block_start)?) {
                at += len;
                continue;
            }
            // Blocks that cannot be holes are decrypted at once, up to the next block that may be one.
            let rest = &mut bytes[at..];
            let (first, following) = rest.split_at(len);
            let blocks = following
                .chunks(BLOCK)
                .take_while(|block| block.iter().any(|&byte| byte != 0));
            let data = first.len() + blocks.map(<[u8]>::len).sum::<usize>();
            self.apply(offset + at as u64, &mut rest[..data])?;
            at += data;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_decrypted_in_any_pieces() {
        let cipher = Cipher::new(&FileKey::new([9; FileKey::LEN])).unwrap();
        let text: Vec<u8> = (0..1000u32).map(|at| at as u8).collect();
        let mut whole = text.clone();
        cipher.apply(0, &mut whole).unwrap();
        assert!(whole != text);
        for (start, end) in [(0, 1000), (1, 999), (15, 17), (16, 32), (999, 1000), (500, 500)] {
            let mut piece = whole[start..end].to_vec();
            cipher.apply(start as u64, &mut piece).unwrap();
            assert_eq!(piece, text[start..end]);
        }
        // The first value of the counter is the last one before it wraps around.
        let mut key = [9; FileKey::LEN];
        key[32..].fill(0xff);
        let mut wrapped = text.clone();
        let cipher = Cipher::new(&FileKey::new(key)).unwrap();
        cipher.apply(0, &mut wrapped[..500]).unwrap();
        cipher.apply(500, &mut wrapped[500..]).unwrap();
        cipher.apply(0, &mut wrapped).unwrap();
        assert_eq!(wrapped, text);
    }

    #[test]
    fn holes_stay_zeros() {
        let cipher = Cipher::new(&FileKey::new([3; FileKey::LEN])).unwrap();
        for (from, to) in [(0, 0), (0, 100), (16, 32), (40, 100), (64, 100), (50, 70)] {
            let mut bytes = vec![7; 100];
            cipher.apply(0, &mut bytes).unwrap();
            bytes[from..to].fill(0);
            cipher.decrypt(0, &mut bytes, |_| Ok(false)).unwrap();
            for (block, at) in bytes.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
                let end = at + block.len();
                if from <= at && end <= to && block.len() == BLOCK {
                    assert_eq!(block, [0; BLOCK], "{from}..{to}");
                } else if to <= at || end <= from {
                    assert!(block.iter().all(|&byte| byte == 7), "{from}..{to} at {at}");
                }
            }
        }
    }
}
