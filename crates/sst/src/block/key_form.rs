//! The difference between the keys of a table and the bytes in its blocks.

use base::UserComparator;
use base::internal_key::{self, TRAILER_LEN};

/// Two changes that a table may leave to its reader: an ingested table has one sequence number for all its
/// keys, and a table written without timestamps has the minimum timestamp in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyForm {
    /// A mask of the bits of a stored trailer that are used.
    mask: u64,
    /// The bits that are set in every trailer.
    set: u64,
    /// The number of zero bytes between the stored user key and the trailer.
    timestamp_size: usize,
}

/// The target of a search, in terms of the stored user keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The user key as blocks store it.
    pub user_key: &'a [u8],
    /// Entries of that user key are at or after the target if their trailer, computed by
    /// [`KeyForm::trailer`], is at most this.
    pub trailer: u64,
}

impl KeyForm {
    /// Keys equal the stored bytes.
    pub const PLAIN: KeyForm = KeyForm {
        mask: u64::MAX,
        set: 0,
        timestamp_size: 0,
    };

    /// A form with a sequence number that replaces all others, and with `timestamp_size` bytes of timestamp
    /// to insert.
    pub fn new(global_seqno: Option<u64>, timestamp_size: usize) -> KeyForm {
        match global_seqno {
            None => KeyForm {
                timestamp_size,
                ..KeyForm::PLAIN
            },
            Some(seqno) => KeyForm {
                mask: 0xff,
                set: internal_key::pack_trailer(seqno, 0),
                timestamp_size,
            },
        }
    }

    /// True if keys equal the stored bytes.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        *self == KeyForm::PLAIN
    }

    /// The number of timestamp bytes that the stored keys lack.
    #[inline(always)]
    pub fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }

    /// The trailer of a key whose stored trailer is `stored`.
    #[inline(always)]
    pub fn trailer(&self, stored: u64) -> u64 {
        (stored & self.mask) | self.set
    }

    /// Sets `out` to the key of the stored internal key `stored`, which has at least [`TRAILER_LEN`] bytes.
    pub fn rewrite(&self, stored: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(internal_key::user_key(stored));
        out.resize(out.len() + self.timestamp_size, 0);
        out.extend_from_slice(&self.trailer(internal_key::trailer(stored)).to_le_bytes());
    }

    /// The search target of an internal key, which has at least [`TRAILER_LEN`] bytes.
    #[inline(always)]
    pub fn target<'a>(&self, internal_key: &'a [u8], order: &UserComparator) -> Target<'a> {
        let (user_key, trailer) = internal_key.split_at(internal_key.len() - TRAILER_LEN);
        let trailer = u64::from_le_bytes(trailer.try_into().expect("a slice of eight"));
        if self.timestamp_size == 0 {
            return Target { user_key, trailer };
        }
        // Newer timestamps sort first, and stored keys have the oldest possible one.
        let is_oldest = order.timestamp(user_key).iter().all(|&byte| byte == 0);
        Target {
            user_key: order.strip_timestamp(user_key),
            trailer: if is_oldest { trailer } else { u64::MAX },
        }
    }
}
