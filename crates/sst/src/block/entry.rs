//! One entry of a block: `v32 shared ‖ v32 non_shared ‖ v32 value_len ‖ key bytes ‖ value bytes`.
//!
//! A key is the first `shared` bytes of the previous key, then the entry's own bytes. At a restart point
//! `shared` is 0.

use base::coding;

/// The parts of an entry, as offsets within the block. An existing value is known to be within the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of bytes taken from the previous key.
    pub shared: usize,
    /// The first byte of the key's own part.
    pub key: usize,
    /// The first byte of the value, directly after the key's own part.
    pub value: usize,
    /// The byte after the value, where the next entry begins.
    pub end: usize,
}

impl Entry {
    /// Decodes the entry that begins at `at`. `entries` is the block up to its restart array.
    /// `None` if it does not fit.
    #[inline(always)]
    pub fn decode(entries: &[u8], at: usize) -> Option<Entry> {
        // Most entries have three lengths below 128, or only the value's above; the others take the slow
        // path.
        let (shared, non_shared, value_len, key) = match entries.get(at..).and_then(<[u8]>::first_chunk::<4>)
        {
            Some(&[shared, non_shared, low, high]) if (shared | non_shared) < 0x80 && (low & high) < 0x80 => {
                if low < 0x80 {
                    (shared as usize, non_shared as usize, low as usize, at + 3)
                } else {
                    let value_len = (low as usize & 0x7f) | (high as usize) << 7;
                    (shared as usize, non_shared as usize, value_len, at + 4)
                }
            }
            _ => Entry::lengths_slow(entries, at)?,
        };
        Entry::checked(entries, shared, non_shared, value_len, key)
    }

    #[inline(always)]
    fn checked(
        entries: &[u8],
        shared: usize,
        non_shared: usize,
        value_len: usize,
        key: usize,
    ) -> Option<Entry> {
        let value = key + non_shared;
        let end = value + value_len;
        (end <= entries.len()).then_some(Entry {
            shared,
            key,
            value,
            end,
        })
    }

    #[cold]
    #[inline(never)]
    fn lengths_slow(entries: &[u8], at: usize) -> Option<(usize, usize, usize, usize)> {
        let (shared, a) = coding::varint32(entries.get(at..)?)?;
        let (non_shared, b) = coding::varint32(&entries[at + a..])?;
        let (value_len, c) = coding::varint32(&entries[at + a + b..])?;
        Some((
            shared as usize,
            non_shared as usize,
            value_len as usize,
            at + a + b + c,
        ))
    }

    /// The key's own bytes.
    #[inline(always)]
    pub fn suffix(self, entries: &[u8]) -> &[u8] {
        &entries[self.key..self.value]
    }

    /// The value.
    #[inline(always)]
    pub fn value(self, entries: &[u8]) -> &[u8] {
        &entries[self.value..self.end]
    }

    /// The length of the whole key.
    #[inline(always)]
    pub fn key_len(self) -> usize {
        self.shared + (self.value - self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(shared: u32, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        coding::put_varint32(&mut out, shared);
        coding::put_varint32(&mut out, key.len() as u32);
        coding::put_varint32(&mut out, value.len() as u32);
        out.extend_from_slice(key);
        out.extend_from_slice(value);
        out
    }

    #[test]
    fn every_length_of_length_decodes_and_every_cut_is_refused() {
        for shared in [0, 1, 127, 128, 70_000] {
            for key_len in [0, 1, 127, 128, 300] {
                for value_len in [0, 1, 127, 128, 16_383, 16_384] {
                    let (key, value) = (vec![b'k'; key_len], vec![b'v'; value_len]);
                    let mut block = vec![0xff; 3];
                    block.extend(encode(shared, &key, &value));
                    let entry = Entry::decode(&block, 3).unwrap();
                    assert_eq!(entry.shared, shared as usize);
                    assert_eq!(entry.suffix(&block), key);
                    assert_eq!(entry.value(&block), value);
                    assert_eq!(entry.end, block.len());
                    for cut in [0, 1, 3, 4, 5, block.len() - 1] {
                        assert_eq!(Entry::decode(&block[..cut.min(block.len() - 1)], 3), None);
                    }
                }
            }
        }
        assert_eq!(Entry::decode(&[0xff; 20], 0), None);
        assert_eq!(Entry::decode(&[], 7), None);
    }
}
