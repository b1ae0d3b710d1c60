//! Streams of keys: the keys that a sequential fill of several streams writes, and their order.
//!
//! A stream is a sequence of keys with their own prefix that only ascends or only descends. In every order,
//! the keys are those of the numbers below `--num`: number `n` belongs to stream `n mod N`, and the prefix of
//! its key is the number of its stream. A workload that reads after the fill thus finds every key.

use base::{Error, Result};

use crate::flags::Flags;
use crate::keys::KeyFormat;

/// The numbers of all keys, in the order in which they are to be written.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The number of keys.
    num: u64,
    streams: u64,
    descending: bool,
    /// The order of streams that follow one another; empty if they take turns.
    order: Vec<u64>,
    /// The count of numbers returned so far.
    done: u64,
    /// The index of the current stream in `order`, and the position in that stream.
    at: (usize, u64),
}

impl Streams {
    /// The streams that `flags` ask for; `None`: no streams, and keys are written as in RocksDB's db_bench.
    pub fn from_flags(flags: &Flags) -> Result<Option<Streams>> {
        let refuse = |message: String| Err(Error::invalid_argument(message));
        let streams = match u64::try_from(flags.streams) {
            Ok(0) => {
                if flags.streams_descending || !flags.streams_concurrent || !flags.streams_order.is_empty() {
                    return refuse("the flags of streams need --streams=N".to_owned());
                }
                return Ok(None);
            }
            Ok(streams) if streams <= flags.num.max(1) as u64 => streams,
            _ => return refuse(format!("--streams={}: not between 0 and --num", flags.streams)),
        };
        if flags.keys_per_prefix != 0 {
            return refuse("--streams and --keys_per_prefix both choose the prefixes of keys".to_owned());
        }
        let prefix = prefix_size(flags);
        if prefix < 8 && streams > 1 << (8 * prefix) || prefix >= flags.key_size as usize && streams > 1 {
            return refuse(format!(
                "--streams={streams}: keys of {} bytes with prefixes of {prefix} cannot distinguish so many",
                flags.key_size
            ));
        }
        let order = match (flags.streams_concurrent, flags.streams_order.as_str()) {
            (true, "") => Vec::new(),
            (true, _) => return refuse("--streams_order needs --nostreams_concurrent".to_owned()),
            (false, "") => (0..streams).collect(),
            (false, text) => {
                let order: Option<Vec<u64>> = text.split(',').map(|stream| stream.parse().ok()).collect();
                let mut sorted = order.clone().unwrap_or_default();
                sorted.sort_unstable();
                match order {
                    Some(order) if sorted.iter().copied().eq(0..streams) => order,
                    _ => {
                        return refuse(format!(
                            "--streams_order={text}: not the numbers from 0 to {}, each once",
                            streams - 1
                        ));
                    }
                }
            }
        };
        Ok(Some(Streams {
            num: flags.num.max(0) as u64,
            streams,
            descending: flags.streams_descending,
            order,
            done: 0,
            at: (0, 0),
        }))
    }

    /// The next number; after the last one the sequence begins again.
    #[inline]
    pub fn next_number(&mut self) -> u64 {
        if self.done == self.num {
            (self.done, self.at) = (0, (0, 0));
        }
        self.done += 1;
        if self.order.is_empty() {
            return match self.descending {
                false => self.done - 1,
                true => self.num - self.done,
            };
        }
        if self.at.1 == self.len(self.order[self.at.0]) {
            self.at = (self.at.0 + 1, 0);
        }
        let stream = self.order[self.at.0];
        let position = match self.descending {
            false => self.at.1,
            true => self.len(stream) - 1 - self.at.1,
        };
        self.at.1 += 1;
        position * self.streams + stream
    }

    /// True if one stream has ended and another is to follow it.
    #[inline]
    pub fn switches(&self) -> bool {
        !self.order.is_empty()
            && self.at.0 + 1 < self.order.len()
            && self.at.1 == self.len(self.order[self.at.0])
    }

    /// The number of keys of a stream.
    fn len(&self, stream: u64) -> u64 {
        (self.num - stream).div_ceil(self.streams)
    }

    /// The description of the streams, for people.
    pub fn text(&self) -> String {
        let direction = if self.descending {
            "descending"
        } else {
            "ascending"
        };
        match (self.streams, self.order.is_empty()) {
            (1, _) => format!("1 stream, {direction}"),
            (streams, true) => format!("{streams} concurrent streams, {direction}"),
            (_, false) => {
                let order: Vec<String> = self.order.iter().map(u64::to_string).collect();
                format!(
                    "{} streams, {direction}, one after the other ({})",
                    self.streams,
                    order.join(", ")
                )
            }
        }
    }
}

/// The size of the prefix that distinguishes streams: `--prefix_size`, or as few bytes as needed.
fn prefix_size(flags: &Flags) -> usize {
    match flags.prefix_size {
        0 if flags.streams > 1 => (1..8)
            .find(|bytes| (flags.streams as u64 - 1) >> (8 * bytes) == 0)
            .unwrap_or(8),
        size => size.max(0) as usize,
    }
}

/// The format of keys that `flags` ask for.
pub fn key_format(flags: &Flags) -> KeyFormat {
    let key_size = flags.key_size as usize;
    if flags.streams > 1 {
        return KeyFormat {
            key_size,
            prefix_size: prefix_size(flags),
            prefixes: flags.streams as u64,
            existing: None,
        };
    }
    KeyFormat::new(
        key_size,
        flags.prefix_size.max(0) as usize,
        flags.num as u64,
        flags.keys_per_prefix.max(0) as u64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(streams: i64, descending: bool, order: Option<&str>) -> Flags {
        Flags {
            num: 7,
            key_size: 4,
            streams,
            streams_descending: descending,
            streams_concurrent: order.is_none(),
            streams_order: order.unwrap_or_default().to_owned(),
            ..Flags::default()
        }
    }

    /// The keys of a whole fill: prefix and number.
    fn keys(flags: &Flags) -> Vec<(u8, u8)> {
        let mut streams = Streams::from_flags(flags).unwrap().unwrap();
        let format = key_format(flags);
        let mut key = format.allocate();
        (0..flags.num)
            .map(|_| {
                format.write(streams.next_number(), &mut key);
                (key[0], key[3])
            })
            .collect()
    }

    #[test]
    fn one_stream_ascends_or_descends() {
        assert_eq!(
            keys(&flags(1, false, None)),
            [0, 1, 2, 3, 4, 5, 6].map(|n| (0, n))
        );
        assert_eq!(keys(&flags(1, true, None)), [6, 5, 4, 3, 2, 1, 0].map(|n| (0, n)));
    }

    #[test]
    fn concurrent_streams_take_turns_each_under_its_prefix() {
        let expected = [(0, 0), (1, 1), (2, 2), (0, 3), (1, 4), (2, 5), (0, 6)];
        assert_eq!(keys(&flags(3, false, None)), expected);
        assert_eq!(keys(&flags(3, true, None)), {
            let mut backwards = expected;
            backwards.reverse();
            backwards
        });
        // The format of keys with --keys_per_prefix.
        let rocksdb = Flags {
            num: 6,
            key_size: 4,
            prefix_size: 1,
            keys_per_prefix: 2,
            ..Flags::default()
        };
        let ours = Flags {
            num: 6,
            ..flags(3, false, None)
        };
        let made = |flags: &Flags| {
            let format = key_format(flags);
            let mut key = format.allocate();
            (0..6)
                .map(|number| {
                    format.write(number, &mut key);
                    key.clone()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(made(&rocksdb), made(&ours));
    }

    #[test]
    fn streams_come_one_after_the_other_in_the_order_asked_for() {
        assert_eq!(
            keys(&flags(3, false, Some(""))),
            [(0, 0), (0, 3), (0, 6), (1, 1), (1, 4), (2, 2), (2, 5)]
        );
        assert_eq!(
            keys(&flags(2, false, Some("1,0"))),
            [(1, 1), (1, 3), (1, 5), (0, 0), (0, 2), (0, 4), (0, 6)]
        );
        assert_eq!(
            keys(&flags(2, true, Some("1,0"))),
            [(1, 5), (1, 3), (1, 1), (0, 6), (0, 4), (0, 2), (0, 0)]
        );
    }

    #[test]
    fn a_stream_that_follows_another_is_told() {
        let mut streams = Streams::from_flags(&flags(3, false, Some(""))).unwrap().unwrap();
        let told: Vec<bool> = (0..7)
            .map(|_| {
                let told = streams.switches();
                streams.next_number();
                told
            })
            .collect();
        assert_eq!(told, [false, false, false, true, false, true, false]);
        assert!(!streams.switches(), "after the last one nothing follows");
    }

    #[test]
    fn every_key_comes_once_whatever_the_order() {
        for flags in [
            flags(2, true, None),
            flags(7, false, Some("")),
            flags(3, true, Some("2,0,1")),
        ] {
            let mut streams = Streams::from_flags(&flags).unwrap().unwrap();
            for _ in 0..2 {
                let mut numbers: Vec<u64> = (0..7).map(|_| streams.next_number()).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Streams::from_flags(&Flags::default()).unwrap().is_none());
        for bad in [
            flags(-1, false, None),
            flags(8, false, None),
            flags(0, true, None),
            flags(0, false, Some("")),
            flags(2, false, Some("0")),
            flags(2, false, Some("0,0")),
            flags(2, false, Some("a,b")),
            Flags {
                keys_per_prefix: 2,
                ..flags(2, false, None)
            },
            Flags {
                streams_order: "1,0".to_owned(),
                ..flags(2, false, None)
            },
            Flags {
                num: 1_000,
                prefix_size: 1,
                ..flags(257, false, None)
            },
        ] {
            assert!(Streams::from_flags(&bad).is_err(), "{bad:?}");
        }
    }
}
