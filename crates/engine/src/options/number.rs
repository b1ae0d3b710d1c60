//! Options as numbers, and their ranges: an integer stays an integer, so that every `u64` and `i64` is exact.

use std::fmt;

/// The value of a numeric option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionNumber {
    /// The value of an integer of any type, or of a boolean: 0 or 1.
    Integer(i128),
    /// The value of a floating-point option.
    Float(f64),
}

impl fmt::Display for OptionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionNumber::Integer(number) => number.fmt(f),
            OptionNumber::Float(number) => number.fmt(f),
        }
    }
}

/// The least and the greatest allowed value of an option, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionRange {
    /// The range of an integer.
    Integer(i128, i128),
    /// The range of a floating-point option.
    Float(f64, f64),
}

impl OptionRange {
    /// True if `number` is within the range. NaN is in no range, and neither is an integer in a range of
    /// floating-point numbers, or the reverse.
    pub fn contains(self, number: OptionNumber) -> bool {
        self.nearest(number) == number
    }

    /// Returns the allowed value that is nearest to `number`, as an integer or a float, as the range has. NaN
    /// stays NaN in a range of floating-point numbers, and counts as 0 in one of integers.
    pub fn nearest(self, number: OptionNumber) -> OptionNumber {
        match (self, number) {
            (OptionRange::Integer(low, high), OptionNumber::Integer(number)) => {
                OptionNumber::Integer(number.clamp(low, high))
            }
            (OptionRange::Integer(low, high), OptionNumber::Float(number)) => {
                OptionNumber::Integer((number as i128).clamp(low, high))
            }
            (OptionRange::Float(low, high), OptionNumber::Integer(number)) => {
                OptionNumber::Float((number as f64).clamp(low, high))
            }
            (OptionRange::Float(low, high), OptionNumber::Float(number)) => {
                OptionNumber::Float(number.clamp(low, high))
            }
        }
    }
}

impl fmt::Display for OptionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionRange::Integer(low, high) => write!(f, "{low}..={high}"),
            OptionRange::Float(low, high) => write!(f, "{low}..={high}"),
        }
    }
}

/// The least and the greatest value of a range, in the type of its option: the compiler refuses a bound that
/// the type cannot hold.
pub(crate) struct Bounds<T>(pub T, pub T);

macro_rules! integers {
    ($($type:ty),+) => { $(
        impl From<$type> for OptionNumber {
            fn from(number: $type) -> OptionNumber {
                OptionNumber::Integer(number as i128)
            }
        }
    )+ };
}
integers!(u8, i8, i32, u32, i64, u64, usize);

impl From<f64> for OptionNumber {
    fn from(number: f64) -> OptionNumber {
        OptionNumber::Float(number)
    }
}

/// Makes the functions that return the range of an option, one for each type. They are no methods of a trait,
/// because these cannot initialise the statics of the option rows.
macro_rules! ranges {
    ($($type:ty),+) => { $(
        impl Bounds<$type> {
            pub(crate) const fn range(self) -> OptionRange {
                OptionRange::Integer(self.0 as i128, self.1 as i128)
            }
        }
    )+ };
}
ranges!(i32, u32, u64, usize);

impl Bounds<f64> {
    pub(crate) const fn range(self) -> OptionRange {
        OptionRange::Float(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table::{OptionTable, option_table};

    option_table! {
        /// Options whose ranges end where a float cannot distinguish two integers.
        pub struct Edges {
            /// A number of 54 bits.
            wide: u64 = 0, range(1, 1 << 53);
            /// A number with the range from 0 to `u64::MAX - 1`.
            most: u64 = 0, range(0, u64::MAX - 1);
            /// A fraction with the range from 0 to 0.25.
            share: f64 = 0.0, range(0.0, 0.25);
        }
        components {}
    }

    #[test]
    fn the_range_of_an_integer_is_exact() {
        let mut edges = Edges::default();
        edges.set("wide", "9007199254740992").unwrap();
        let refused = |name: &str, text: &str| {
            let error = Edges::default().set(name, text).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            refused("wide", "9007199254740993"),
            "Invalid argument: wide=9007199254740993 is outside 1..=9007199254740992"
        );
        edges.set("most", "18446744073709551614").unwrap();
        assert_eq!(
            refused("most", "18446744073709551615"),
            "Invalid argument: most=18446744073709551615 is outside 0..=18446744073709551614"
        );
        assert_eq!(
            refused("share", "0.5"),
            "Invalid argument: share=0.5 is outside 0..=0.25"
        );
    }

    #[test]
    fn the_nearest_value_is_of_the_kind_of_the_range() {
        let integers = Bounds(4096u64, u64::MAX).range();
        let most = OptionNumber::Integer(u64::MAX.into());
        assert_eq!(integers.nearest(u64::MAX.into()), most);
        assert_eq!(integers.nearest(f64::INFINITY.into()), most);
        assert_eq!(integers.nearest((-1i64).into()), OptionNumber::Integer(4096));
        assert_eq!(integers.nearest(f64::NAN.into()), OptionNumber::Integer(4096));
        assert_eq!(integers.to_string(), "4096..=18446744073709551615");

        let floats = Bounds(0.0, 0.25).range();
        assert_eq!(floats.nearest(1i32.into()), OptionNumber::Float(0.25));
        assert!(floats.contains(0.25.into()) && !floats.contains(f64::NAN.into()));
        assert_eq!(floats.to_string(), "0..=0.25");
    }
}
