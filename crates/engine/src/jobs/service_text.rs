//! The text form in which RocksDB passes compactions to other processes, and their results back: a version
//! number, and `name=value;` for each field. Strings are in hexadecimal digits, lists are separated by
//! colons, and a struct is in braces.

use std::fmt::{Display, Write};
use std::str::FromStr;

use base::{Error, Result};

use crate::options::fields::split_outside_braces;
use crate::options::text::pairs;

/// RocksDB's version number of the text form, which precedes the text.
const OPTIONS_STRING: u32 = 1;

/// The length of the version number in bytes.
const VERSION_LEN: usize = size_of::<u32>();

/// The number of braces around a value: those of a list, of its element and of the element's struct.
const MAX_BRACES: usize = 4;

/// Writes fields one after the other.
#[derive(Default)]
pub(super) struct TextWriter(String);

impl TextWriter {
    /// Adds a field whose value is written as it is displayed.
    pub fn write_field(&mut self, name: &str, value: impl Display) {
        // A string takes any text.
        let _ = write!(self.0, "{name}={value};");
    }

    /// Adds a string.
    pub fn bytes(&mut self, name: &str, bytes: &[u8]) {
        self.write_field(name, hexadecimal(bytes));
    }

    /// Adds a struct, with the fields that `fill` adds.
    pub fn group(&mut self, name: &str, fill: impl FnOnce(&mut TextWriter)) {
        let mut inner = TextWriter::default();
        fill(&mut inner);
        self.write_field(name, format_args!("{{{}}}", inner.0));
    }

    /// Adds a list of structs. `fill` adds the fields of each.
    pub fn groups<T>(&mut self, name: &str, elements: &[T], fill: impl Fn(&mut TextWriter, &T)) {
        let elements: Vec<String> = elements
            .iter()
            .map(|element| {
                let mut inner = TextWriter::default();
                fill(&mut inner, element);
                format!("{{{{{}}}}}", inner.0)
            })
            .collect();
        match elements.is_empty() {
            true => self.write_field(name, ""),
            false => self.write_field(name, format_args!("{{{}}}", elements.join(":"))),
        }
    }

    /// The version number and the text.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoded = OPTIONS_STRING.to_le_bytes().to_vec();
        encoded.extend_from_slice(self.0.as_bytes());
        encoded
    }
}

/// Returns a list of displayed values.
pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(":")
}

/// Returns the text of a string.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// The fields of a text, or of a struct in it.
pub(super) struct TextReader<'a> {
    /// RocksDB's name of the struct, for errors.
    of: &'static str,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> TextReader<'a> {
    /// Splits `data`, which is a struct `of` in RocksDB's words, into its fields.
    ///
    /// # Errors
    /// `InvalidArgument` if it is no such text or was cut off, `NotSupported` for another version.
    pub fn decode(of: &'static str, data: &'a [u8]) -> Result<TextReader<'a>> {
        let invalid = || Error::invalid_argument(format!("Invalid CompactionService{of} string"));
        let (version, text) = data.split_first_chunk::<VERSION_LEN>().ok_or_else(invalid)?;
        let version = u32::from_le_bytes(*version);
        if text.is_empty() {
            return Err(invalid());
        }
        if version != OPTIONS_STRING {
            return Err(Error::not_supported(format!(
                "Compaction Service {of} data version not supported: {version}"
            )));
        }
        let text = std::str::from_utf8(text).map_err(|_| invalid())?;
        if !text.ends_with(';') || !is_balanced(text) {
            return Err(invalid());
        }
        TextReader::of(of, text)
    }

    fn of(of: &'static str, text: &'a str) -> Result<TextReader<'a>> {
        Ok(TextReader {
            of,
            fields: pairs(text)?,
        })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.fields.iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| *value)
    }

    fn required(&self, name: &str) -> Result<&'a str> {
        self.get(name).ok_or_else(|| {
            let message = format!("CompactionService{}: there is no {name}", self.of);
            Error::invalid_argument(message)
        })
    }

    fn wrong(&self, name: &str) -> Error {
        let value = self.get(name).unwrap_or_default();
        Error::invalid_argument(format!("CompactionService{}: {name}={value}", self.of))
    }

    /// The number in a field that must exist.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<T> {
        self.required(name)?.parse().map_err(|_| self.wrong(name))
    }

    /// The number in a field that older releases do not write; 0 if it does not exist.
    pub fn number_or_0<T: FromStr + Default>(&self, name: &str) -> Result<T> {
        match self.get(name) {
            None => Ok(T::default()),
            Some(_) => self.number(name),
        }
    }

    /// True if a field exists and says so.
    pub fn flag(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            Some("true" | "1") => Ok(true),
            None | Some("false" | "0") => Ok(false),
            Some(_) => Err(self.wrong(name)),
        }
    }

    /// The string in a field that must exist.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        decoded(self.required(name)?).ok_or_else(|| self.wrong(name))
    }

    /// The string in a field, as text.
    pub fn text(&self, name: &str) -> Result<String> {
        String::from_utf8(self.bytes(name)?).map_err(|_| self.wrong(name))
    }

    /// The elements of a list.
    fn elements(&self, name: &str) -> Result<impl Iterator<Item = &'a str>> {
        let elements = split_outside_braces(inside(self.required(name)?), ':');
        Ok(elements.filter(|element| !element.is_empty()))
    }

    /// The numbers in a list.
    pub fn numbers(&self, name: &str) -> Result<Vec<u64>> {
        let numbers = self.elements(name)?.map(str::parse);
        numbers.collect::<Result<_, _>>().map_err(|_| self.wrong(name))
    }

    /// The strings in a list, as text.
    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        let text = |element| String::from_utf8(decoded(element)?).ok();
        let texts = self.elements(name)?.map(text).collect::<Option<_>>();
        texts.ok_or_else(|| self.wrong(name))
    }

    /// The word in a field; `None` if the field does not exist.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        self.get(name)
    }

    /// The struct in a field that must exist.
    pub fn group(&self, name: &str) -> Result<TextReader<'a>> {
        TextReader::of(self.of, inside(self.required(name)?))
    }

    /// The structs in a list.
    pub fn groups(&self, name: &str) -> Result<Vec<TextReader<'a>>> {
        let all = inside(self.required(name)?);
        if all.is_empty() {
            return Ok(Vec::new());
        }
        // A list of one struct has no braces of its own: the braces around it belong to the struct.
        if !all.starts_with('{') {
            return Ok(vec![TextReader::of(self.of, all)?]);
        }
        let structs = split_outside_braces(all, ':');
        structs
            .map(|text| TextReader::of(self.of, inside(text)))
            .collect()
    }
}

/// Returns the text inside the braces that enclose all of `text`.
fn inside(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..MAX_BRACES {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        match inner {
            Some(inner) if is_balanced(inner) => text = inner.trim(),
            _ => break,
        }
    }
    text
}

/// True if all braces are balanced.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0u32;
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return false,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Returns the string of hexadecimal digits; `None` if there are others.
fn decoded(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> Vec<u8> {
        [&[1, 0, 0, 0], text.as_bytes()].concat()
    }

    #[test]
    fn lists_of_structs_have_rocksdb_s_braces() {
        let written = |names: &[&str]| {
            let mut writer = TextWriter::default();
            writer.groups("files", names, |file, name| file.bytes("name", name.as_bytes()));
            writer.encode()
        };
        assert_eq!(written(&[]), encoded("files=;"));
        assert_eq!(written(&["a"]), encoded("files={{{name=61;}}};"));
        assert_eq!(
            written(&["a", "b"]),
            encoded("files={{{name=61;}}:{{name=62;}}};")
        );
        for names in [&[][..], &["a"], &["a", "b"], &["a", "b", "c"]] {
            let text = written(names);
            let reader = TextReader::decode("Result", &text).unwrap();
            let read = reader.groups("files").unwrap();
            let read: Vec<String> = read.iter().map(|file| file.text("name").unwrap()).collect();
            assert_eq!(read, names);
        }
    }

    #[test]
    fn what_was_cut_off_is_refused() {
        let whole = encoded("a=1;files={{{name=61;id=1:2;}}:{{name=62;id=3:4;}}};b={c=6;};");
        assert!(TextReader::decode("Result", &whole).is_ok());
        for len in 0..whole.len() {
            let refused = TextReader::decode("Result", &whole[..len]).is_err();
            let ends_a_field = [8, 56].contains(&len);
            assert_eq!(refused, !ends_a_field, "{len} bytes");
        }
        let later = [&[2, 0, 0, 0], &b"a=1;"[..]].concat();
        let error = TextReader::decode("Input", &later).err().unwrap();
        assert_eq!(
            error.to_string(),
            "Not implemented: Compaction Service Input data version not supported: 2"
        );
    }

    #[test]
    fn fields_of_another_form_are_refused_by_name() {
        let text = encoded("digits=6;number=-1;flag=perhaps;list=1:x;");
        let reader = TextReader::decode("Input", &text).unwrap();
        let said = |error: Error| error.message().to_owned();
        let of = |field: &str| format!("CompactionServiceInput: {field}");
        assert_eq!(said(reader.bytes("digits").unwrap_err()), of("digits=6"));
        assert_eq!(said(reader.number::<u64>("number").unwrap_err()), of("number=-1"));
        assert_eq!(said(reader.flag("flag").unwrap_err()), of("flag=perhaps"));
        assert_eq!(said(reader.numbers("list").unwrap_err()), of("list=1:x"));
        assert_eq!(said(reader.bytes("none").unwrap_err()), of("there is no none"));
    }
}
