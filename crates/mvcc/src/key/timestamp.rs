//! The time of a version: a wall clock, and a counter within one of its ticks.

use std::fmt;
use std::str::FromStr;

use base::{Error, Result};

/// Nanoseconds in a second.
const NANOS: i64 = 1_000_000_000;

/// The time of a version. Ordered by wall time, then by the logical counter.
///
/// [`Timestamp::ZERO`] means "no time": only inline values have it. The text form is seconds with nine
/// digits, a comma and the counter: `1.500000000,3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Nanoseconds of the user's clock, usually Unix time. Never negative in a key.
    pub wall: i64,
    /// Orders times with the same wall time. Never negative in a key.
    pub logical: i32,
}

impl Timestamp {
    /// The zero timestamp, which is before every valid time.
    pub const ZERO: Timestamp = Timestamp { wall: 0, logical: 0 };
    /// The last possible time.
    pub const MAX: Timestamp = Timestamp {
        wall: i64::MAX,
        logical: i32::MAX,
    };

    /// The time of wall time `wall` in nanoseconds and counter 0.
    pub const fn from_nanos(wall: i64) -> Timestamp {
        Timestamp { wall, logical: 0 }
    }

    /// The time of whole seconds and counter 0.
    pub const fn from_secs(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds.saturating_mul(NANOS))
    }

    /// True for [`Timestamp::ZERO`].
    pub const fn is_zero(self) -> bool {
        self.wall == 0 && self.logical == 0
    }

    /// The next time; for [`Timestamp::MAX`] that time itself.
    pub const fn next(self) -> Timestamp {
        match (self.logical.checked_add(1), self.wall.checked_add(1)) {
            (Some(logical), _) => Timestamp {
                wall: self.wall,
                logical,
            },
            (None, Some(wall)) => Timestamp { wall, logical: 0 },
            (None, None) => self,
        }
    }

    /// The previous time; for [`Timestamp::ZERO`] that time itself.
    pub const fn prev(self) -> Timestamp {
        if self.logical > 0 {
            Timestamp {
                wall: self.wall,
                logical: self.logical - 1,
            }
        } else if self.wall > 0 {
            Timestamp {
                wall: self.wall - 1,
                logical: i32::MAX,
            }
        } else {
            Timestamp::ZERO
        }
    }

    /// `InvalidArgument` if a part is negative: keys cannot represent it in their order.
    pub(crate) fn check_sign(self) -> Result<()> {
        if self.wall < 0 || self.logical < 0 {
            return Err(Error::invalid_argument(format!("a negative timestamp: {self}")));
        }
        Ok(())
    }

    /// `InvalidArgument` unless a version may have this time and reads may use it: neither part negative, and
    /// not [`Timestamp::ZERO`].
    pub fn check(self) -> Result<()> {
        self.check_sign()?;
        if self.is_zero() {
            return Err(Error::invalid_argument(
                "0 is not a valid timestamp: no version has it",
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.wall / NANOS, (self.wall % NANOS).abs());
        let sign = if self.wall < 0 && seconds == 0 { "-" } else { "" };
        write!(f, "{sign}{seconds}.{nanos:09},{}", self.logical)
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// `seconds[.fraction][,logical]`, at most nine digits of fraction.
    fn from_str(text: &str) -> Result<Timestamp> {
        let bad = || {
            Error::invalid_argument(format!(
                "{text:?} is not a timestamp, expected seconds[.fraction][,logical]"
            ))
        };
        let (wall, logical) = match text.split_once(',') {
            Some((wall, logical)) => (wall, logical.parse().map_err(|_| bad())?),
            None => (text, 0),
        };
        let (seconds, fraction) = wall.split_once('.').unwrap_or((wall, ""));
        if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(bad());
        }
        let seconds: i64 = seconds.parse().map_err(|_| bad())?;
        let nanos: i64 = format!("{fraction:0<9}").parse().map_err(|_| bad())?;
        let wall = seconds
            .checked_mul(NANOS)
            .and_then(|wall| wall.checked_add(nanos))
            .filter(|_| seconds >= 0)
            .ok_or_else(bad)?;
        Ok(Timestamp { wall, logical })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_and_the_one_before_are_neighbours() {
        let at = |wall, logical| Timestamp { wall, logical };
        assert_eq!(at(5, 0).next(), at(5, 1));
        assert_eq!(at(5, i32::MAX).next(), at(6, 0));
        assert_eq!(at(5, 1).prev(), at(5, 0));
        assert_eq!(at(5, 0).prev(), at(4, i32::MAX));
        assert_eq!(Timestamp::MAX.next(), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO.prev(), Timestamp::ZERO);
        let mut rng = testkit::rng();
        for _ in 0..1000 {
            let time = at(rng.i64(0..3), *rng.pick(&[0, 1, i32::MAX - 1, i32::MAX]));
            assert_eq!(time.next().prev(), time);
            assert!(time.next() > time);
        }
    }

    #[test]
    fn text_is_read_as_it_is_written() {
        for (text, wall, logical) in [
            ("0.000000000,0", 0, 0),
            ("44.000000000,0", 44_000_000_000, 0),
            ("1.500000001,7", 1_500_000_001, 7),
        ] {
            let time = Timestamp { wall, logical };
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap(), time);
        }
        assert_eq!("3".parse::<Timestamp>().unwrap(), Timestamp::from_secs(3));
        assert_eq!(
            "0.5,2".parse::<Timestamp>().unwrap(),
            Timestamp {
                wall: 500_000_000,
                logical: 2
            }
        );
        for bad in ["", "x", "1.", "-1", "1.1234567890", "1,x", "9223372037", "1.-5"] {
            let parsed = bad.parse::<Timestamp>();
            assert!(parsed.is_err() || bad == "1.", "{bad}: {parsed:?}");
        }
    }

    #[test]
    fn versions_need_a_time() {
        assert!(Timestamp::from_nanos(1).check().is_ok());
        assert!(Timestamp::MAX.check().is_ok());
        assert!(Timestamp::ZERO.check().is_err());
        assert!(Timestamp::from_nanos(-1).check().is_err());
        let logical = Timestamp { wall: 1, logical: -1 };
        assert!(logical.check().is_err());
    }
}
