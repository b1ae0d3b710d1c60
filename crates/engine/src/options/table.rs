//! Each option is declared once, as a row: name, type, default, range, whether it may change while the
//! database runs, documentation, values that random tests draw from, and whether RocksDB has it. The struct,
//! its default, the OPTIONS file, the flags of the tools and `options.md` all come from that row.

use base::{Error, Result, Temperature};
use codec::checksum::ChecksumType;
use codec::compression::CompressionType;
use wal::RecoveryMode;

pub use super::number::{OptionNumber, OptionRange};
use super::option_errors::OptionErrors;

/// A type that an option can have: it has one text form, which is RocksDB's.
pub trait OptionValue: Sized {
    /// The name of the type in the documentation.
    const TYPE: &'static str;

    /// Parses the text of an OPTIONS file or a flag.
    fn parse(text: &str) -> Option<Self>;

    /// Parses a text that may name only some fields: the other fields keep their value in `self`.
    fn parse_onto(&self, text: &str) -> Option<Self> {
        Self::parse(text)
    }

    /// The text form of the option's value.
    fn text(&self) -> String;

    /// The value as a number; `None` if the type of the option has no numeric range.
    fn number(&self) -> Option<OptionNumber> {
        None
    }
}

/// One option, of the options struct `S`.
pub struct OptionRow<S> {
    /// RocksDB's name.
    pub name: &'static str,
    /// The name of the type, for people.
    pub type_name: &'static str,
    /// The documentation: effect, unit and default.
    pub doc: &'static str,
    /// True if the option may change while the database runs.
    pub mutable: bool,
    /// The least and greatest allowed value: integers for an integer option. `None`: every value of the type.
    pub range: Option<OptionRange>,
    /// Values that random tests draw from, as text.
    pub domain: &'static [&'static str],
    /// The first release of RocksDB with the option, if OPTIONS files name an older one by default: older
    /// releases refuse a file with the option. A file with the option at another value than its default names
    /// a release that has it, so that older releases may ignore it.
    pub since: Option<&'static str>,
    /// True if no RocksDB has the option: OPTIONS files are written without it.
    pub esker: bool,
    /// The option's value as text.
    pub get: fn(&S) -> String,
    /// Sets the option from text; `None` if the text is not a value of the option's type.
    pub set: fn(&mut S, &str) -> Option<()>,
    /// The option's value as a number, if it is one.
    pub number: fn(&S) -> Option<OptionNumber>,
}

/// A struct made of option rows.
pub trait OptionTable: Default + Sized + 'static {
    /// Every row, in the order of declaration.
    fn rows() -> &'static [OptionRow<Self>];

    /// The row of that name.
    fn row(name: &str) -> Option<&'static OptionRow<Self>> {
        Self::rows().iter().find(|row| row.name == name)
    }

    /// Sets option `name` from `text`. `InvalidArgument` if there is no such option, or if the text does not
    /// fit its type or range.
    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let row = Self::row(name).ok_or_else(|| Error::invalid_argument(format!("unknown option {name}")))?;
        (row.set)(self, text)
            .ok_or_else(|| Error::invalid_argument(format!("{name}={text}: expected {}", row.type_name)))?;
        row.check(self)
    }

    /// Checks the range of every option. `InvalidArgument` names all that are out of range.
    fn check(&self) -> Result<()> {
        let mut wrong = OptionErrors::default();
        Self::rows().iter().for_each(|row| wrong.take(row.check(self)));
        wrong.result()
    }
}

impl<S> OptionRow<S> {
    pub(crate) fn check(&self, options: &S) -> Result<()> {
        let (Some(range), Some(value)) = (self.range, (self.number)(options)) else {
            return Ok(());
        };
        if range.contains(value) {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "{}={} is outside {range}",
            self.name,
            (self.get)(options)
        )))
    }
}

/// Declares an options struct from its rows. A row reads `name: Type = default, [mutable,] [range(low,
/// high),] [domain["a", "b"],] [since("9.4.0"),] [esker,];` under its doc comment; `components` are fields
/// that are objects rather than settings and never appear in a file.
macro_rules! option_table {
    (
        $(#[$struct_meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr
                    $(, mutable = $mutable:literal)?
                    $(, range($low:expr, $high:expr))?
                    $(, domain[$($value:literal),+])?
                    $(, since($since:literal))?
                    $(, esker = $esker:literal)?
                ;
            )+
        }
        components {
            $(
                $(#[$component_meta:meta])+
                $component:ident: $component_type:ty = $component_default:expr;
            )*
        }
    ) => {
        $(#[$struct_meta])*
        #[derive(Clone)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
            $( $(#[$component_meta])+ pub $component: $component_type, )*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $( $field: $default, )+ $( $component: $component_default, )* }
            }
        }

        impl $crate::options::table::OptionTable for $name {
            fn rows() -> &'static [$crate::options::table::OptionRow<$name>] {
                use $crate::options::table::{OptionRow, OptionValue};
                static ROWS: &[OptionRow<$name>] = &[
                    $( OptionRow {
                        name: stringify!($field),
                        type_name: <$type as OptionValue>::TYPE,
                        doc: concat!($($doc, "\n"),+),
                        mutable: false $( || $mutable )?,
                        range: $crate::options::table::option_table!(@range $type $(, $low, $high)?),
                        domain: &[ $( $($value),+ )? ],
                        since: $crate::options::table::option_table!(@since $($since)?),
                        esker: false $( || $esker )?,
                        get: |options| options.$field.text(),
                        set: |options, text| {
                            options.$field = options.$field.parse_onto(text)?;
                            Some(())
                        },
                        number: |options| options.$field.number(),
                    }, )+
                ];
                ROWS
            }
        }
    };
    (@since) => { None };
    (@since $since:literal) => { Some($since) };
    (@range $type:ty) => { None };
    (@range $type:ty, $low:expr, $high:expr) => {
        Some($crate::options::number::Bounds::<$type>($low, $high).range())
    };
}
pub(crate) use option_table;

impl OptionValue for bool {
    const TYPE: &'static str = "boolean";
    fn parse(text: &str) -> Option<bool> {
        match text {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        }
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

/// Parses an integer with an optional binary suffix, as RocksDB's options and flags take it: `64M`, `1k`.
fn parse_scaled(text: &str) -> Option<i128> {
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&text[..text.len() - 1], 10),
        b'm' => (&text[..text.len() - 1], 20),
        b'g' => (&text[..text.len() - 1], 30),
        b't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits
        .trim()
        .parse::<i64>()
        .ok()
        .map(|number| i128::from(number) << shift)
        .or_else(|| {
            digits
                .trim()
                .parse::<u64>()
                .ok()
                .map(|number| i128::from(number) << shift)
        })
}

macro_rules! integer_option {
    ($($type:ty),+) => { $(
        impl OptionValue for $type {
            const TYPE: &'static str = "integer";
            fn parse(text: &str) -> Option<$type> {
                <$type>::try_from(parse_scaled(text)?).ok()
            }
            fn text(&self) -> String {
                self.to_string()
            }
            fn number(&self) -> Option<OptionNumber> {
                Some((*self).into())
            }
        }
    )+ };
}
integer_option!(i32, u32, i64, u64, usize);

impl OptionValue for f64 {
    const TYPE: &'static str = "number";
    fn parse(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
    fn text(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<OptionNumber> {
        Some((*self).into())
    }
}

impl OptionValue for String {
    const TYPE: &'static str = "string";
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl OptionValue for CompressionType {
    const TYPE: &'static str = "compression type";
    fn parse(text: &str) -> Option<CompressionType> {
        CompressionType::from_options_name(text)
    }
    fn text(&self) -> String {
        self.options_name().to_owned()
    }
}

impl OptionValue for Option<CompressionType> {
    const TYPE: &'static str = "compression type, or kDisableCompressionOption for none of its own";
    fn parse(text: &str) -> Option<Option<CompressionType>> {
        match text {
            "kDisableCompressionOption" | "disable" => Some(None),
            _ => CompressionType::from_options_name(text).map(Some),
        }
    }
    fn text(&self) -> String {
        self.map_or("kDisableCompressionOption".to_owned(), |compression| {
            compression.text()
        })
    }
}

impl OptionValue for Vec<CompressionType> {
    const TYPE: &'static str = "compression types, separated by colons";
    fn parse(text: &str) -> Option<Vec<CompressionType>> {
        text.split(':')
            .filter(|part| !part.is_empty())
            .map(CompressionType::from_options_name)
            .collect()
    }
    fn text(&self) -> String {
        self.iter().map(OptionValue::text).collect::<Vec<_>>().join(":")
    }
}

impl OptionValue for ChecksumType {
    const TYPE: &'static str = "checksum type";
    fn parse(text: &str) -> Option<ChecksumType> {
        ChecksumType::parse(text)
    }
    fn text(&self) -> String {
        self.name().to_owned()
    }
}

/// Declares the text forms of an enum in OPTIONS files.
macro_rules! enum_option {
    ($type:ty, $what:literal, $($text:literal => $value:expr),+ $(,)?) => {
        impl OptionValue for $type {
            const TYPE: &'static str = $what;
            fn parse(text: &str) -> Option<$type> {
                match text {
                    $( $text => Some($value), )+
                    _ => None,
                }
            }
            fn text(&self) -> String {
                $( if *self == $value { return $text.to_owned(); } )+
                String::new()
            }
        }
    };
}
pub(crate) use enum_option;

enum_option!(Temperature, "temperature",
    "kUnknown" => Temperature::UNKNOWN,
    "kHot" => Temperature::HOT,
    "kWarm" => Temperature::WARM,
    "kCool" => Temperature::COOL,
    "kCold" => Temperature::COLD,
    "kIce" => Temperature::ICE,
);

enum_option!(RecoveryMode, "recovery mode",
    "kTolerateCorruptedTailRecords" => RecoveryMode::TolerateCorruptedTailRecords,
    "kAbsoluteConsistency" => RecoveryMode::AbsoluteConsistency,
    "kPointInTimeRecovery" => RecoveryMode::PointInTime,
    "kSkipAnyCorruptedRecords" => RecoveryMode::SkipAnyCorruptedRecords,
);
