//! The code that `cargo xtask gen` writes, and the helpers that it calls.

pub mod fields;
pub mod structs;

use esker::option_table::{OptionNumber, OptionTable};
use esker::Result;

/// Passes a field to the engine's row `name`. A value outside of the row's range is clamped, as in RocksDB.
fn apply<S: OptionTable>(options: &mut S, name: &str, number: impl Into<OptionNumber>) -> Result<()> {
    let Some(row) = S::row(name) else {
        return Err(esker::Error::not_supported(format!("option {name}")));
    };
    let number = number.into();
    let number = row.range.map_or(number, |range| range.nearest(number));
    options.set(name, &number.to_string())
}

/// The type of a field, parsed from the text of an option.
trait FieldValue: Sized {
    fn of(text: &str) -> Option<Self>;
}

macro_rules! number_fields {
    ($($type:ty),+) => { $(
        impl FieldValue for $type {
            fn of(text: &str) -> Option<$type> {
                match text {
                    "true" => Some(1),
                    "false" => Some(0),
                    _ => text.parse().ok().or_else(|| scaled(text)?.try_into().ok()),
                }
            }
        }
    )+ };
}
number_fields!(u8, i8, i32, u32, i64, u64, usize);

/// An integer with a binary suffix.
fn scaled(text: &str) -> Option<i128> {
    let (digits, suffix) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let shift = match suffix.to_ascii_lowercase().as_str() {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.trim().parse::<i64>().ok().map(|number| i128::from(number) << shift)
}

impl FieldValue for f64 {
    fn of(text: &str) -> Option<f64> {
        text.parse().ok()
    }
}

impl FieldValue for bool {
    fn of(text: &str) -> Option<bool> {
        u8::of(text).map(|number| number != 0)
    }
}

/// Parses a field from the text of an option.
fn parse<T: FieldValue>(text: &str) -> Option<T> {
    T::of(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker::{ColumnFamilyOptions, ErrorKind};

    #[test]
    fn a_value_outside_of_its_range_is_clamped_exactly() {
        let mut options = ColumnFamilyOptions::default();
        apply(&mut options, "write_buffer_size", 1usize).unwrap();
        assert_eq!(options.write_buffer_size, 4096);
        apply(&mut options, "write_buffer_size", usize::MAX).unwrap();
        assert_eq!(options.write_buffer_size, u64::MAX);
        apply(&mut options, "num_levels", -1i32).unwrap();
        assert_eq!(options.num_levels, 1);
        apply(&mut options, "blob_garbage_collection_age_cutoff", 1.5).unwrap();
        assert_eq!(options.blob_garbage_collection_age_cutoff, 1.0);
        let nan = apply(&mut options, "blob_garbage_collection_age_cutoff", f64::NAN).unwrap_err();
        assert_eq!(nan.kind(), ErrorKind::InvalidArgument);
        let unknown = apply(&mut options, "no_such_option", 1i32).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotSupported);
    }
}
