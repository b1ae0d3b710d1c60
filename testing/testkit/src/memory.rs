//! Flips bits in this process's memory, as a faulty memory module does, without the owner's knowledge.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};

/// Replaces the byte at `address` by the result of `change`, through the operating system. False, with
/// nothing changed, if the system offers no such way or the address is not mapped.
///
/// Code that reads the byte later must not do so through a reference that existed before, which the compiler
/// may have cached: ask the database again.
pub fn change(address: usize, change: impl FnOnce(u8) -> u8) -> bool {
    let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem");
    let Ok(mut memory) = memory else {
        return false;
    };
    let mut byte = [0];
    let at = SeekFrom::Start(address as u64);
    let read = memory.seek(at).and_then(|_| memory.read_exact(&mut byte));
    let byte = [change(byte[0])];
    read.and_then(|()| memory.seek(at))
        .and_then(|_| memory.write_all(&byte))
        .is_ok()
}

/// A bit that stays flipped while this value lives.
#[derive(Debug)]
pub struct TurnedBit {
    address: usize,
    bit: u8,
}

impl TurnedBit {
    /// Flips bit `bit`, 0 to 7, of the byte at `address`. `None` if the system offers no way to do that; the
    /// test is then [skipped](fn@crate::skip).
    pub fn new(address: usize, bit: u8) -> Option<TurnedBit> {
        if !change(address, |byte| byte ^ 1 << bit) {
            crate::skip("memory that can be changed through /proc/self/mem");
            return None;
        }
        Some(TurnedBit { address, bit })
    }
}

impl Drop for TurnedBit {
    fn drop(&mut self) {
        change(self.address, |byte| byte ^ 1 << self.bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_turned_and_turned_back() {
        let bytes: Vec<u8> = std::hint::black_box(vec![1, 2, 3]);
        let Some(turned) = TurnedBit::new(bytes.as_ptr().addr() + 1, 7) else {
            return;
        };
        assert_eq!(std::hint::black_box(&bytes)[..], [1, 130, 3]);
        drop(turned);
        assert_eq!(std::hint::black_box(&bytes)[..], [1, 2, 3]);
    }
}
