//! Bytes as text, and text as bytes.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use base::Kind;
use base::internal_key::{self, TRAILER_LEN};

/// The textual form of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// UTF-8 unchanged; backslash, control characters and bytes that are not UTF-8 as `\\`, `\t`, `\n`, `\r`,
    /// `\xNN`.
    Escaped,
    /// Two hexadecimal digits per byte.
    Hex,
}

/// The maximum number of bytes of a key that are shown.
const MAX_KEY: usize = 64;

/// Returns a key as text, truncated if it is long.
pub(crate) fn shown(key: &[u8]) -> String {
    let dots = if key.len() > MAX_KEY { "…" } else { "" };
    format!("{}{dots}", Form::Escaped.show(&key[..key.len().min(MAX_KEY)]))
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl Form {
    /// Returns the hexadecimal form if `hex` is true.
    pub fn new(hex: bool) -> Form {
        if hex { Form::Hex } else { Form::Escaped }
    }

    /// Appends `bytes` as text.
    pub fn append(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Hex => {
                out.extend(
                    bytes
                        .iter()
                        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
                );
            }
            Form::Escaped => {
                for chunk in bytes.utf8_chunks() {
                    chunk.valid().chars().for_each(|c| append_char(c, out));
                    chunk.invalid().iter().for_each(|&byte| append_byte(byte, out));
                }
            }
        }
    }

    /// Returns `bytes` in a form that can be formatted.
    pub fn show(self, bytes: &[u8]) -> Shown<'_> {
        Shown { bytes, form: self }
    }

    /// Returns the bytes of `text`; the inverse of [`append`](Form::append).
    pub fn parse(self, text: &OsStr) -> Result<Vec<u8>, String> {
        match self {
            Form::Hex => parse_hex(text.as_bytes()),
            Form::Escaped => parse_escaped(text.as_bytes()),
        }
    }
}

fn append_char(c: char, out: &mut Vec<u8>) {
    match c {
        '\\' => out.extend_from_slice(b"\\\\"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        _ => {
            let mut utf8 = [0; 4];
            let utf8 = c.encode_utf8(&mut utf8).as_bytes();
            if c.is_control() {
                utf8.iter().for_each(|&byte| append_byte(byte, out));
            } else {
                out.extend_from_slice(utf8);
            }
        }
    }
}

fn append_byte(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\x");
    Form::Hex.append(&[byte], out);
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn parse_hex(text: &[u8]) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if !digits.len().is_multiple_of(2) {
        return Err(format!(
            "{}: an odd number of hexadecimal digits",
            String::from_utf8_lossy(text)
        ));
    }
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    digits
        .chunks_exact(2)
        .map(byte)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{}: not hexadecimal", String::from_utf8_lossy(text)))
}

fn parse_escaped(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (unescaped, len) = match rest {
            [b'\\', ..] => (b'\\', 1),
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b'x', high, low, ..] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => return Err(bad_escape(text)),
            },
            _ => return Err(bad_escape(text)),
        };
        bytes.push(unescaped);
        rest = &rest[len..];
    }
    Ok(bytes)
}

fn bad_escape(text: &[u8]) -> String {
    format!(
        "{}: a backslash must precede another, t, n, r, or x and two hexadecimal digits (--hex takes all bytes)",
        String::from_utf8_lossy(text)
    )
}

/// The result of [`Form::show`].
#[derive(Debug)]
pub struct Shown<'a> {
    bytes: &'a [u8],
    form: Form,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.form.append(self.bytes, &mut text);
        f.pad(&String::from_utf8_lossy(&text))
    }
}

/// Returns an internal key in readable form: `key @ 12 Value`. A malformed key is shown as bytes.
pub fn show_internal_key(form: Form, key: &[u8]) -> String {
    if key.len() < TRAILER_LEN {
        return format!("{} (no internal key)", form.show(key));
    }
    let kind = internal_key::kind_byte(key);
    let kind = Kind::from_byte(kind).map_or_else(|| format!("kind {kind:#04x}"), |kind| format!("{kind:?}"));
    format!(
        "{} @ {} {kind}",
        form.show(internal_key::user_key(key)),
        internal_key::seqno(key)
    )
}

/// Returns a number of bytes in readable form.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 999.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Returns `1 file`, `2 files`, `3 batches`, `4 entries`.
pub fn count(number: u64, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if number == 1 => format!("{number} {what}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if what.ends_with("ch") => format!("{number} {what}es"),
        None => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_go_both_ways() {
        let mut rng = testkit::rng();
        let mut samples: Vec<Vec<u8>> = vec![
            b"".to_vec(),
            "plain text, größer".into(),
            b"a\\b\t\n\r\x00\xff\xc3".to_vec(),
            "\u{85}".into(),
        ];
        samples.extend((0..200).map(|len| rng.bytes(len % 40)));
        for bytes in samples {
            for form in [Form::Escaped, Form::Hex] {
                let text = form.show(&bytes).to_string();
                assert!(!text.contains(char::is_control), "{text:?}");
                assert_eq!(form.parse(OsStr::new(&text)).unwrap(), bytes, "{text}");
            }
        }
        assert_eq!(Form::Escaped.show(b"a\\\t\x01\xff").to_string(), r"a\\\t\x01\xFF");
        assert_eq!(Form::Hex.show(b"\x0a\xff").to_string(), "0AFF");
        assert_eq!(Form::Hex.parse(OsStr::new("0x0aFf")).unwrap(), b"\x0a\xff");
    }

    #[test]
    fn what_is_no_text_of_bytes_is_refused() {
        for text in ["\\", "\\q", "\\x1", "\\xzz", "a\\"] {
            assert!(Form::Escaped.parse(OsStr::new(text)).is_err(), "{text}");
        }
        for text in ["0", "zz", "0x123", "+1"] {
            assert!(Form::Hex.parse(OsStr::new(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_four_digits_at_most() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1023 * 1024, "1.0 MiB"),
            (999 * 1024, "999.0 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(show_size(bytes), text);
        }
    }

    #[test]
    fn internal_keys_show_their_parts() {
        let key = internal_key::encode(b"k\x00", 7, Kind::Merge);
        assert_eq!(show_internal_key(Form::Escaped, &key), r"k\x00 @ 7 Merge");
        assert_eq!(
            show_internal_key(Form::Escaped, b"short"),
            "short (no internal key)"
        );
    }
}
