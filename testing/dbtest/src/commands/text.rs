//! The arguments of a case, and keys, values and rows as text.

use std::str::FromStr;

use esker::{Columns, DbIterator, Error, Result};
use testkit::datadriven::TestCase;
use testkit::keys::{escape, unescape};

/// The length in bytes from which on a value is printed as its length.
pub const LONG: usize = 40;

/// The position of an iterator, as text: its row, or `.` for none.
pub fn place(iter: &DbIterator) -> Result<String> {
    if !iter.valid() {
        iter.status()?;
        return Ok(".".to_owned());
    }
    let timestamp = match iter.timestamp() {
        [] => String::new(),
        timestamp => format!("/{}", show_timestamp(timestamp)),
    };
    Ok(format!(
        "{}{timestamp} = {}",
        escape(iter.key()),
        show(iter.value())
    ))
}

/// Prints the result of a Get.
pub fn print_found(out: &mut String, key: &str, value: Result<Option<Vec<u8>>>) {
    out.push_str(&match value {
        Ok(Some(value)) => format!("{key} = {}\n", show(&value)),
        Ok(None) => format!("{key}: not found\n"),
        Err(error) => format!("{key}: {error}\n"),
    });
}

/// Prints the columns of a row.
pub fn print_columns(out: &mut String, key: &str, columns: Result<Option<Columns>>) {
    out.push_str(&match columns {
        Ok(Some(columns)) => {
            let column = |(name, value): &(Vec<u8>, Vec<u8>)| format!(" {}={}", escape(name), show(value));
            format!("{key}:{}\n", columns.iter().map(column).collect::<String>())
        }
        Ok(None) => format!("{key}: not found\n"),
        Err(error) => format!("{key}: {error}\n"),
    });
}

/// A value as text: a long one as its length.
pub fn show(value: &[u8]) -> String {
    if value.len() > LONG {
        format!("<{}>", value.len())
    } else {
        escape(value)
    }
}

/// The bytes of a key.
pub fn bytes(text: &str) -> Result<Vec<u8>> {
    if text == "\"\"" {
        return Ok(Vec::new());
    }
    unescape(text).map_err(|error| misuse(error.to_string()))
}

/// The bytes of a value: `<100>` is a value of 100 bytes, `<100*x>` is 100 times `x`.
pub fn value_of(word: &str) -> Result<Vec<u8>> {
    let length = |text: &str| text.parse().map_err(|_| misuse("a length is a number"));
    match word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) {
        Some(word) => match word.split_once('*') {
            Some((times, text)) => Ok(bytes(text)?.repeat(length(times)?)),
            None => Ok(filler(0, length(word)?)),
        },
        None => bytes(word),
    }
}

/// The bytes of a timestamp: those of a number, `none`, or a text that is no timestamp.
pub fn timestamp_of(word: &str) -> Result<Vec<u8>> {
    match word.parse::<u64>() {
        _ if word == "none" => Ok(Vec::new()),
        Ok(number) => Ok(number.to_le_bytes().to_vec()),
        Err(_) => bytes(word),
    }
}

/// The timestamp in an argument, if the case has it.
pub fn optional_timestamp(case: &mut TestCase, name: &str) -> Result<Option<Vec<u8>>> {
    optional::<String>(case, name)?
        .map(|text| timestamp_of(&text))
        .transpose()
}

/// A timestamp as text: its number.
pub fn show_timestamp(timestamp: &[u8]) -> String {
    match timestamp.try_into() {
        _ if timestamp.is_empty() => "none".to_owned(),
        Ok(timestamp) => u64::from_le_bytes(timestamp).to_string(),
        Err(_) => escape(timestamp),
    }
}

/// Bytes that do not compress, derived from `number`.
pub fn filler(number: usize, len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    (0..len).map(|_| rng.alphanumeric() as u8).collect()
}

/// `text` with `#` in place of each number.
pub fn masked(text: &str) -> String {
    let mut masked = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if masked.ends_with('#') => (),
            true => masked.push('#'),
            false => masked.push(c),
        }
    }
    masked
}

/// `text` without the identities of databases, which are random: UUIDs.
pub fn without_ids(text: &str) -> String {
    let is_id = |word: &str| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    let words = text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut clean = String::new();
    for word in words {
        let id = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        clean.push_str(&if is_id(id) {
            word.replace(id, "ID")
        } else {
            word.to_owned()
        });
    }
    clean
}

/// The error for a script that uses a command wrongly.
pub fn misuse(message: impl Into<String>) -> Error {
    Error::invalid_argument(format!("test: {}", message.into()))
}

/// True if the case has that argument without a value.
pub fn flag(case: &mut TestCase, name: &str) -> bool {
    // A flag that was given a value is not taken, so that the case fails with an argument that is not
    // understood.
    let is_flag = case.args.get(name).is_some_and(Vec::is_empty);
    is_flag && case.args.remove(name).is_some()
}

/// Sets a switch that the case mentions: `name`, `name=true` or `name=false`.
pub fn switch(case: &mut TestCase, name: &str, switch: &mut bool) -> Result<()> {
    if flag(case, name) {
        *switch = true;
    } else if let Some(on) = optional(case, name)? {
        *switch = on;
    }
    Ok(())
}

/// A type that an argument of a command can have.
pub trait Argument: FromStr<Err: std::error::Error + Send + Sync + 'static> {}

impl<T: FromStr<Err: std::error::Error + Send + Sync + 'static>> Argument for T {}

/// The value of an argument, if the case has it.
pub fn optional<T: Argument>(case: &mut TestCase, name: &str) -> Result<Option<T>> {
    case.try_take_arg(name).map_err(|error| misuse(error.to_string()))
}

/// The values of an argument, separated by commas in parentheses; none if the case does not have it.
pub fn list<T: Argument>(case: &mut TestCase, name: &str) -> Result<Vec<T>> {
    let values = case
        .try_take_args(name)
        .map_err(|error| misuse(error.to_string()))?;
    Ok(values.unwrap_or_default())
}

/// The bytes of an argument, if the case has it.
pub fn optional_bytes(case: &mut TestCase, name: &str) -> Result<Option<Vec<u8>>> {
    optional::<String>(case, name)?
        .map(|text| bytes(&text))
        .transpose()
}

/// The value of an argument that the command needs.
pub fn required<T: Argument>(case: &mut TestCase, name: &str) -> Result<T> {
    optional(case, name)?.ok_or_else(|| misuse(format!("{name}= is missing")))
}
