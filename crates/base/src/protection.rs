//! Per-key protection: a hash of a row's fields that accompanies the row from the batch to the memtable and
//! is stored with it there, so that the next stage or reader notices a bit flip in memory.
//!
//! Every field has a hash of its own, and a [`Protection`] is the exclusive or of the hashes of the fields
//! that it covers. A stage that passes a row on removes the fields that end with it (the column family, which
//! a memtable does not store) and adds the fields that begin with it (the sequence number). The row is
//! covered at every moment: removing a field that has changed leaves a difference that the next check finds.
//!
//! ```text
//! batch      kind ^ key ^ value ^ family
//! memtable   kind ^ key ^ value ^ sequence number
//! block      internal key ^ value
//! ```
//!
//! No file holds any of this, so none of it is a format.

use twox_hash::XxHash3_64;

use crate::{Error, Result, SeqNo};

/// The hash seeds of the fields. They differ, so that an exchange of the contents of two fields is noticed.
mod seed {
    pub const KEY: u64 = 0x8c5f_3a61_d20e_947b;
    pub const VALUE: u64 = 0x3d91_e4b7_5a28_c06f;
    pub const KIND: u64 = 0xe02b_79c4_16f3_8d5a;
    pub const SEQNO: u64 = 0x57a6_0d18_b94c_e3f2;
    pub const FAMILY: u64 = 0xb1d4_62fe_03c7_5896;
}

/// The sizes in bytes in which a [`Protection`] can be stored. 0 means no protection.
pub const WIDTHS: [u32; 5] = [0, 1, 2, 4, 8];

/// `NotSupported` unless `bytes` is one of [`WIDTHS`]. `what` is the beginning of the message.
pub fn check_width(what: &str, bytes: u32) -> Result<()> {
    if WIDTHS.contains(&bytes) {
        return Ok(());
    }
    Err(Error::not_supported(format!(
        "{what} per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key, not {bytes}."
    )))
}

/// The exclusive or of the hashes of a row's fields; see the module's documentation. Costs two hashes of the
/// key and value and three multiplications for each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Protection(u64);

/// Hashes a number: different numbers have different hashes.
#[inline]
fn of_number(seed: u64, number: u64) -> u64 {
    let mut hash = seed ^ number;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl Protection {
    /// The protection of an operation: its kind, key and value.
    #[inline]
    pub fn of_row(kind: u8, key: &[u8], value: &[u8]) -> Protection {
        Protection::of_entry(key, value).toggle_kind(kind)
    }

    /// The protection of a key and its value alone.
    #[inline]
    pub fn of_entry(key: &[u8], value: &[u8]) -> Protection {
        Protection(XxHash3_64::oneshot_with_seed(seed::KEY, key)).toggle_value(value)
    }

    /// The protection of the fields that exactly one of the two covers.
    #[inline]
    pub fn combine(self, other: Protection) -> Protection {
        Protection(self.0 ^ other.0)
    }

    /// Adds or removes the kind of the operation.
    #[inline]
    pub fn toggle_kind(self, kind: u8) -> Protection {
        Protection(self.0 ^ of_number(seed::KIND, u64::from(kind)))
    }

    /// Adds the value to the checksum, or removes it.
    #[inline]
    pub fn toggle_value(self, value: &[u8]) -> Protection {
        Protection(self.0 ^ XxHash3_64::oneshot_with_seed(seed::VALUE, value))
    }

    /// Adds or removes the sequence number.
    #[inline]
    pub fn toggle_seqno(self, seqno: SeqNo) -> Protection {
        Protection(self.0 ^ of_number(seed::SEQNO, seqno))
    }

    /// Adds or removes the id of the column family.
    #[inline]
    pub fn toggle_family(self, id: u32) -> Protection {
        Protection(self.0 ^ of_number(seed::FAMILY, u64::from(id)))
    }

    /// Stores as many bytes of the checksum as `out` has room for, at most eight.
    #[inline]
    pub fn store(self, out: &mut [u8]) {
        let len = out.len().min(8);
        out[..len].copy_from_slice(&self.0.to_le_bytes()[..len]);
    }

    /// True if `stored` is the result of [`store`](Self::store).
    #[inline]
    pub fn is_stored_as(self, stored: &[u8]) -> bool {
        let len = stored.len().min(8);
        self.0.to_le_bytes()[..len] == stored[..len]
    }
}

/// The error for a row that has changed: the place where it was found, and the row.
#[cold]
pub fn mismatch(place: &str, user_key: &[u8], seqno: SeqNo, kind: u8) -> Error {
    Error::corruption(format!(
        "per key-value checksum verification failed in {place}: user key {}, sequence number {seqno}, kind {kind}",
        hex(user_key)
    ))
}

/// The most bytes of a key that an error text shows.
const TOLD: usize = 64;

/// A key in upper-case hexadecimal digits, as RocksDB prints it; of a long key, its beginning.
pub fn hex(key: &[u8]) -> String {
    let mut text: String = key.iter().take(TOLD).map(|byte| format!("{byte:02X}")).collect();
    if key.len() > TOLD {
        text.push_str(&format!("... of {} bytes", key.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection(kind: u8, key: &[u8], value: &[u8], seqno: u64, family: u32) -> Protection {
        Protection::of_row(kind, key, value)
            .toggle_seqno(seqno)
            .toggle_family(family)
    }

    #[test]
    fn a_change_of_any_bit_of_any_field_changes_it() {
        let (key, value) = (&b"some key"[..], &[7u8; 300][..]);
        let good = protection(1, key, value, 99, 3);
        for bit in 0..8 {
            assert_ne!(protection(1 ^ (1 << bit), key, value, 99, 3), good);
        }
        for bit in 0..64 {
            assert_ne!(protection(1, key, value, 99 ^ (1 << bit), 3), good);
        }
        for bit in 0..32 {
            assert_ne!(protection(1, key, value, 99, 3 ^ (1 << bit)), good);
        }
        for bit in 0..key.len() * 8 {
            let mut changed = key.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(protection(1, &changed, value, 99, 3), good);
        }
        for bit in 0..value.len() * 8 {
            let mut changed = value.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(protection(1, key, &changed, 99, 3), good);
        }
    }

    #[test]
    fn fields_that_changed_places_or_borders_are_noticed() {
        assert_ne!(protection(1, b"a", b"b", 5, 6), protection(1, b"b", b"a", 5, 6));
        assert_ne!(protection(1, b"ab", b"c", 5, 6), protection(1, b"a", b"bc", 5, 6));
        assert_ne!(protection(1, b"a", b"b", 5, 6), protection(1, b"a", b"b", 6, 5));
        assert_ne!(protection(5, b"a", b"b", 1, 6), protection(1, b"a", b"b", 5, 6));
        assert_ne!(protection(1, b"x", b"x", 5, 5), protection(1, b"y", b"y", 5, 5));
    }

    #[test]
    fn what_is_added_can_be_taken_away_and_exchanged() {
        let row = Protection::of_row(7, b"key", b"value");
        assert_eq!(
            row.toggle_family(4).toggle_seqno(9).toggle_family(4),
            row.toggle_seqno(9)
        );
        assert_eq!(
            row.toggle_kind(7).toggle_kind(1),
            Protection::of_row(1, b"key", b"value")
        );
        assert_eq!(
            row.toggle_value(b"value").toggle_value(b"other"),
            Protection::of_row(7, b"key", b"other")
        );
        // If the family id changed in between, the checksums differ.
        assert_ne!(row.toggle_family(4).toggle_family(5), row);
    }

    #[test]
    fn it_is_stored_in_as_many_bytes_as_there_are() {
        let row = protection(1, b"key", b"value", 1, 0);
        for width in WIDTHS {
            check_width("Memtable", width).unwrap();
            let mut stored = vec![0; width as usize];
            row.store(&mut stored);
            assert!(row.is_stored_as(&stored));
            for bit in 0..stored.len() * 8 {
                let mut damaged = stored.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!row.is_stored_as(&damaged));
            }
        }
        for width in [3, 5, 6, 7, 9, 16] {
            let error = check_width("Memtable", width).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::NotSupported);
        }
    }

    #[test]
    fn a_mismatch_tells_which_row_and_where() {
        let error = mismatch("the memtable", b"\x01\xabk", 17, 1);
        assert!(error.is_corruption());
        let text = error.to_string();
        for part in ["01AB6B", "17", "the memtable"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(hex(&[0xff; 100]).ends_with("... of 100 bytes"));
    }
}
