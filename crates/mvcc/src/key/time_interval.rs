//! The times of the versions of a table and of each run of its blocks, as a table property.

use std::sync::Arc;

use esker::{BlockPropertyCollector, BlockPropertyCollectorFactory, BlockPropertyFilter, EntryType, SeqNo};

use crate::key::mvcc_key::{SENTINEL, decode_suffix, split};
use crate::key::timestamp::Timestamp;

/// The name of the property.
const NAME: &str = "esker.mvcc.time";

/// The byte that ends a property where there are inline values.
const INLINE: u8 = 1;

/// Records the interval of the versions' times for tables and runs of their blocks, both ends included: two
/// times of an i64 and an i32, big-endian, or nothing where there are no versions; and a byte 1 where there
/// are inline values. [`configure`](crate::configure) adds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeInterval;

impl BlockPropertyCollectorFactory for TimeInterval {
    fn name(&self) -> &str {
        NAME
    }

    fn create(&self) -> Box<dyn BlockPropertyCollector> {
        Box::new(Collector {
            blocks: Times::NONE,
            table: Times::NONE,
        })
    }
}

/// The times from the first to the last, both included; none if the first is later than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    first: Timestamp,
    last: Timestamp,
    /// True if there are also inline values, which have no time.
    has_inline: bool,
}

impl Times {
    const NONE: Times = Times {
        first: Timestamp::MAX,
        last: Timestamp::ZERO,
        has_inline: false,
    };
    const INLINE: Times = Times {
        has_inline: true,
        ..Times::NONE
    };
    const ALL: Times = Times {
        first: Timestamp::ZERO,
        last: Timestamp::MAX,
        has_inline: true,
    };

    fn add(&mut self, other: Times) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.has_inline |= other.has_inline;
    }

    fn encode(self, property: &mut Vec<u8>) {
        if self.first <= self.last {
            for time in [self.first, self.last] {
                property.extend_from_slice(&time.wall.to_be_bytes());
                property.extend_from_slice(&time.logical.to_be_bytes());
            }
        }
        if self.has_inline {
            property.push(INLINE);
        }
    }

    /// A malformed property counts as all times.
    fn decode(property: &[u8]) -> Times {
        let (property, has_inline) = match property.split_last() {
            Some((&INLINE, times)) if times.len() % 2 == 0 => (times, true),
            _ => (property, false),
        };
        if property.is_empty() {
            return if has_inline { Times::INLINE } else { Times::NONE };
        }
        let time = |bytes: &[u8]| {
            let (wall, rest) = bytes.split_first_chunk()?;
            let (logical, rest) = rest.split_first_chunk()?;
            let time = Timestamp {
                wall: i64::from_be_bytes(*wall),
                logical: i32::from_be_bytes(*logical),
            };
            rest.is_empty().then_some(time)
        };
        let both = property.split_at_checked(property.len() / 2);
        both.and_then(|(first, last)| {
            Some(Times {
                first: time(first)?,
                last: time(last)?,
                has_inline,
            })
        })
        .unwrap_or(Times::ALL)
    }
}

struct Collector {
    blocks: Times,
    table: Times,
}

impl BlockPropertyCollector for Collector {
    fn add(&mut self, key: &[u8], _value: &[u8], _entry: EntryType, _seqno: SeqNo) {
        match decode_suffix(split(key).1) {
            // A store's record does not belong to a user key.
            Some(Timestamp::ZERO) if key == [SENTINEL] => {}
            Some(Timestamp::ZERO) => self.blocks.add(Times::INLINE),
            Some(time) => self.blocks.add(Times {
                first: time,
                last: time,
                has_inline: false,
            }),
            // A read of a malformed key reports the corruption, so a table with such a key must not be
            // skipped.
            None => self.blocks.add(Times::ALL),
        }
    }

    fn finish_blocks(&mut self, property: &mut Vec<u8>) {
        self.blocks.encode(property);
        self.table.add(std::mem::replace(&mut self.blocks, Times::NONE));
    }

    fn finish_table(&mut self, property: &mut Vec<u8>) {
        self.table.add(self.blocks);
        self.table.encode(property);
    }
}

/// Skips data without a version above `after` and at or below `until`.
pub(crate) struct Meets {
    pub(crate) after: Timestamp,
    pub(crate) until: Timestamp,
    /// True if blocks with inline values are not skipped either.
    pub(crate) wants_inline: bool,
}

impl BlockPropertyFilter for Meets {
    fn name(&self) -> &str {
        NAME
    }

    fn may_match(&self, property: &[u8]) -> bool {
        let times = Times::decode(property);
        let meets = times.first <= self.until && times.last > self.after;
        meets || self.wants_inline && times.has_inline
    }
}

/// Skips data that has neither an inline value nor a version above `time`.
pub(crate) fn above(time: Timestamp) -> Arc<dyn BlockPropertyFilter> {
    Arc::new(Above(time))
}

struct Above(Timestamp);

impl BlockPropertyFilter for Above {
    fn name(&self) -> &str {
        NAME
    }

    fn may_match(&self, property: &[u8]) -> bool {
        let times = Times::decode(property);
        times.has_inline || times.last > self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_both_their_ends() {
        let mut collector = TimeInterval.create();
        let at = |wall, logical| Timestamp { wall, logical };
        let add = |collector: &mut Box<dyn BlockPropertyCollector>, timestamp| {
            let key = crate::MvccKey {
                user_key: b"k",
                timestamp,
            };
            collector.add(&key.encode(), b"", EntryType::Put, 0);
        };
        let (mut none, mut some, mut table) = (Vec::new(), Vec::new(), Vec::new());
        let mut inline = Vec::new();
        collector.add(b"\0", b"", EntryType::Put, 0);
        collector.finish_blocks(&mut none);
        add(&mut collector, Timestamp::ZERO);
        collector.finish_blocks(&mut inline);
        add(&mut collector, at(7, 3));
        add(&mut collector, at(5, 0));
        collector.finish_blocks(&mut some);
        add(&mut collector, at(9, 0));
        collector.finish_table(&mut table);
        let meets_or_inline = |after, until, wants_inline, property: &[u8]| {
            let meets = Meets {
                after,
                until,
                wants_inline,
            };
            meets.may_match(property)
        };
        let meets = |after, until, property: &[u8]| meets_or_inline(after, until, false, property);
        let all = (Timestamp::ZERO, Timestamp::MAX);
        assert!(meets_or_inline(all.0, all.1, true, &inline) && !meets_or_inline(all.0, all.1, true, &none));
        assert!(!meets(Timestamp::ZERO, Timestamp::MAX, &none));
        assert!(!meets(Timestamp::ZERO, Timestamp::MAX, &inline));
        let is_above = |time, property: &[u8]| above(time).may_match(property);
        assert!(!is_above(at(1, 0), &none) && is_above(at(1, 0), &inline) && is_above(at(9, 9), &table));
        assert!(is_above(at(7, 2), &some) && !is_above(at(7, 3), &some));
        assert!(is_above(at(7, 3), b"damaged"));
        assert!(meets(at(7, 2), at(9, 0), &some) && !meets(at(7, 3), at(9, 0), &some));
        assert!(meets(at(1, 0), at(5, 0), &some) && !meets(at(1, 0), at(4, i32::MAX), &some));
        assert!(meets(at(8, 0), at(9, 0), &table) && meets(at(5, 9), at(6, 0), &table));
        assert!(!meets(at(9, 0), at(11, 0), &table));
        assert!(meets(at(1, 0), at(2, 0), b"damaged") && meets(at(1, 0), at(2, 0), &[0; 25]));
        collector = TimeInterval.create();
        collector.add(b"k\0\xff\xff\xff\xff\xff\xff\xff\xff\x09", b"", EntryType::Put, 0);
        let mut all = Vec::new();
        collector.finish_blocks(&mut all);
        assert!(meets(at(1, 0), at(2, 0), &all), "a malformed key is not skipped");
    }
}
