//! Spans of user keys.

use crate::key::mvcc_key::MvccKey;
use crate::key::timestamp::Timestamp;

/// The user keys from `start` up to `end`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The first key; empty for the first key there is.
    pub start: &'a [u8],
    /// The first key after the span; `None` for no end.
    pub end: Option<&'a [u8]>,
}

impl<'a> Span<'a> {
    /// Every user key.
    pub const ALL: Span<'static> = Span {
        start: &[],
        end: None,
    };

    /// The span from `start` up to `end`, exclusive.
    pub fn new(start: &'a [u8], end: &'a [u8]) -> Span<'a> {
        Span {
            start,
            end: Some(end),
        }
    }

    /// True if the span contains no key.
    pub fn is_empty(&self) -> bool {
        self.end.is_some_and(|end| end <= self.start)
    }

    /// The engine keys that bound the span. The empty user key is not available to users:
    /// [`MvccStore`](crate::MvccStore) keeps its record there.
    pub(crate) fn bounds(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let first: &[u8] = if self.start.is_empty() { b"\0" } else { self.start };
        let bare = |user_key: &[u8]| {
            MvccKey {
                user_key,
                timestamp: Timestamp::ZERO,
            }
            .encode()
        };
        (bare(first), self.end.map(bare))
    }
}
