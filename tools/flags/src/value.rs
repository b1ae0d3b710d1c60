//! The types of flags' values, and their texts.

/// A type of flags' values.
pub trait FlagValue: Sized {
    /// True if the flag can be used without a value.
    const IS_BOOL: bool = false;
    /// The name of the type in the help.
    const TYPE: &'static str;
    /// Parses the text after `=`.
    fn parse(text: &str) -> Option<Self>;
    /// The value in the text form that `parse` accepts.
    fn text(&self) -> String;
}

impl FlagValue for bool {
    const IS_BOOL: bool = true;
    const TYPE: &'static str = "bool";
    fn parse(text: &str) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for String {
    const TYPE: &'static str = "text";
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl FlagValue for f64 {
    const TYPE: &'static str = "number";
    fn parse(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! integer_flags {
    ($($type:ty),+) => { $(
        impl FlagValue for $type {
            const TYPE: &'static str = "integer";
            fn parse(text: &str) -> Option<$type> {
                if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                    return <$type>::from_str_radix(digits, 16).ok();
                }
                let (digits, shift) = match text.char_indices().next_back()? {
                    (at, 'k' | 'K') => (&text[..at], 10),
                    (at, 'm' | 'M') => (&text[..at], 20),
                    (at, 'g' | 'G') => (&text[..at], 30),
                    (at, 't' | 'T') => (&text[..at], 40),
                    _ => (text, 0),
                };
                let number: i128 = digits.parse().ok()?;
                <$type>::try_from(number.checked_mul(1 << shift)?).ok()
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}
integer_flags!(i32, u32, i64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_gflags_reads_them() {
        assert_eq!(i32::parse("0x10"), Some(16));
        assert_eq!(u64::parse("0XFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        assert_eq!((i32::parse("0x"), i32::parse("0x100000000")), (None, None));
        assert_eq!((i64::parse("-1"), i64::parse("2k")), (Some(-1), Some(2_048)));
    }
}
