//! `ldb`'s command line: `--name=value` and `--name` anywhere, a command, its parameters.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::ldb::outcome::Failed;
use crate::rocksdb_text::prefixed_hex_if;

/// A command line, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The values of `--name=value`.
    options: BTreeMap<String, Vec<u8>>,
    /// The names of `--name`, and of `--name=`, which `ldb` takes for the same.
    flags: Vec<String>,
    /// The command, then its parameters.
    words: Vec<Vec<u8>>,
}

impl Line {
    /// Takes the arguments after the program's name apart.
    pub fn new(args: &[OsString]) -> Line {
        let mut line = Line::default();
        args.iter().for_each(|arg| line.add(arg));
        line
    }

    /// Adds one argument.
    pub fn add(&mut self, arg: &OsStr) {
        let bytes = arg.as_bytes();
        let Some(named) = bytes.strip_prefix(b"--") else {
            self.words.push(bytes.to_vec());
            return;
        };
        let at = named.iter().position(|&byte| byte == b'=').unwrap_or(named.len());
        let name = String::from_utf8_lossy(&named[..at]).into_owned();
        match named.get(at + 1..) {
            Some(value) if !value.is_empty() => {
                self.options.insert(name, value.to_vec());
            }
            _ => self.flags.push(name),
        }
    }

    /// The command and its parameters.
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// The parameters of the command.
    pub fn params(&self) -> &[Vec<u8>] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The values by name.
    pub fn options(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.options
    }

    /// The first name that is in neither `common` nor `own`, with the word that RocksDB has for its kind.
    pub fn first_invalid(&self, known: impl Fn(&str) -> bool) -> Option<(&'static str, &str)> {
        let option = self.options.keys().find(|name| !known(name));
        let flag = || self.flags.iter().find(|name| !known(name));
        option
            .map(|name| ("option", name.as_str()))
            .or_else(|| flag().map(|name| ("flag", name.as_str())))
    }

    /// True if `--name` is given, without a value.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    /// True if any `--name` without a value is given.
    pub fn has_flags(&self) -> bool {
        !self.flags.is_empty()
    }

    /// The value of `--name=value`.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.options.get(name).map(Vec::as_slice)
    }

    /// The value as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name)
            .map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// The value as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name)
            .map(|value| PathBuf::from(OsString::from_vec(value.to_vec())))
    }

    /// `--name=true` or `--name=false`.
    ///
    /// Errors: RocksDB's text for another value.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Failed> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        match text.to_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(Failed::said("Invalid value for boolean argument")),
        }
    }

    /// True with `--name` or `--name=true`; `otherwise` without any.
    pub fn is_set(&self, name: &str, otherwise: bool) -> Result<bool, Failed> {
        Ok(self.flag(name) || self.boolean(name)?.unwrap_or(otherwise))
    }

    /// A number of 32 bits; like C++'s `stoi`, text after the digits is ignored.
    ///
    /// Errors: RocksDB's texts for other values.
    pub fn int(&self, name: &str) -> Result<Option<i32>, Failed> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let digits = leading_number(&text);
        match digits.parse::<i128>() {
            Err(_) => Err(Failed::said(format!("{name} has an invalid value."))),
            Ok(number) => i32::try_from(number)
                .map(Some)
                .map_err(|_| Failed::said(format!("{name} has a value out-of-range."))),
        }
    }

    /// A floating-point number.
    pub fn double(&self, name: &str) -> Result<Option<f64>, Failed> {
        let parse = |text: String| {
            let invalid = |_| Failed::said(format!("{name} has an invalid value."));
            text.trim().parse().map_err(invalid)
        };
        self.text(name).map(parse).transpose()
    }

    /// Whether keys are in hexadecimal.
    pub fn key_hex(&self) -> Result<bool, Failed> {
        Ok(self.is_set("hex", false)? || self.is_set("key_hex", false)?)
    }

    /// Whether values are in hexadecimal.
    pub fn value_hex(&self) -> Result<bool, Failed> {
        Ok(self.is_set("hex", false)? || self.is_set("value_hex", false)?)
    }

    /// The bytes of a key.
    pub fn key(&self, text: &[u8]) -> Result<Vec<u8>, Failed> {
        unhex_if(self.key_hex()?, text)
    }

    /// The key that option `name` has.
    pub fn key_option(&self, name: &str) -> Result<Option<Vec<u8>>, Failed> {
        self.value(name).map(|text| self.key(text)).transpose()
    }

    /// A key as it is printed.
    pub fn show_key(&self, key: &[u8]) -> Result<Vec<u8>, Failed> {
        Ok(prefixed_hex_if(self.key_hex()?, key))
    }

    /// The family to work on.
    pub fn column_family(&self) -> String {
        self.text("column_family")
            .unwrap_or_else(|| esker::DEFAULT_COLUMN_FAMILY.to_owned())
    }

    /// The directory of the database; empty if none is given.
    pub fn db(&self) -> PathBuf {
        self.path("db").unwrap_or_default()
    }
}

/// The sign and the digits at the start of `text`, after spaces.
fn leading_number(text: &str) -> &str {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    &text[..text.len() - unsigned.len() + digits]
}

/// The bytes of `text`: itself, or those of its hexadecimal digits after `0x`.
///
/// Errors: RocksDB's text for other digits. RocksDB ends by an uncaught exception.
pub fn unhex_if(hex: bool, text: &[u8]) -> Result<Vec<u8>, Failed> {
    if !hex {
        return Ok(text.to_vec());
    }
    let shown = String::from_utf8_lossy(text);
    if !text.starts_with(b"0x") {
        return Err(Failed::said(format!(
            "Invalid hex input {shown}.  Must start with 0x"
        )));
    }
    let parsed = crate::text::Form::Hex.parse(OsStr::from_bytes(text));
    parsed.map_err(|_| Failed::said(format!("Invalid hex input {shown}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(args: &[&str]) -> Line {
        Line::new(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_stand_anywhere() {
        let line = line(&["--db=d", "put", "--hex", "a", "--from=x=y", "b", "--to="]);
        assert_eq!(line.words(), [b"put".to_vec(), b"a".to_vec(), b"b".to_vec()]);
        assert_eq!(line.params().len(), 2);
        assert_eq!(line.value("from"), Some(&b"x=y"[..]));
        assert!(line.flag("hex") && line.flag("to") && line.value("to").is_none());
        assert_eq!(line.first_invalid(|name| name != "to"), Some(("flag", "to")));
        assert_eq!(line.first_invalid(|name| name != "db"), Some(("option", "db")));
        assert_eq!(line.first_invalid(|_| true), None);
    }

    #[test]
    fn numbers_are_those_of_stoi() {
        let line = line(&[
            "--a=12x",
            "--b=x",
            "--c=99999999999",
            "--d=-3",
            "--e=maybe",
            "--f=TRUE",
        ]);
        assert_eq!(line.int("a").unwrap(), Some(12));
        assert_eq!(line.int("d").unwrap(), Some(-3));
        assert_eq!(line.int("z").unwrap(), None);
        let text = |failed: Failed| failed.message();
        assert_eq!(text(line.int("b").unwrap_err()), "b has an invalid value.");
        assert_eq!(text(line.int("c").unwrap_err()), "c has a value out-of-range.");
        assert!(line.boolean("e").is_err());
        assert_eq!(line.boolean("f").unwrap(), Some(true));
    }

    #[test]
    fn hexadecimal_begins_with_0x() {
        assert_eq!(unhex_if(true, b"0x61ff").unwrap(), b"a\xff");
        assert_eq!(unhex_if(false, b"0x61").unwrap(), b"0x61");
        for bad in [&b"61"[..], b"0x6", b"0xzz"] {
            assert!(unhex_if(true, bad).is_err(), "{bad:?}");
        }
    }
}
