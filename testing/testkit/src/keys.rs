//! Internal keys, entries and range tombstones in a readable form for tests.
//!
//! | text | meaning |
//! |---|---|
//! | `a@5:value` | put of `a` at sequence number 5 |
//! | `a@5` | the same with an empty value; as a key alone, its internal key |
//! | `b@6#del`, `b@6#sdel` | deletion, single deletion |
//! | `c@7#merge:x` | merge operand `x` |
//! | `d@8#blob:…`, `d@8#wide:…`, `d@8#ts-del`, `d@8#preferred:…` | the other kinds |
//! | `[a,d)@9` | range tombstone over `a` up to but not including `d` |
//!
//! `@max` is [`MAX_SEQNO`]. Bytes that are not printable ASCII, and the characters the syntax uses, are
//! written `\xNN`; parsing takes `\xNN` anywhere in a key or a value. Items are separated by blanks or
//! newlines, so keys and values contain no blank (write `\x20`).

use std::fmt;

use base::internal_key::{self, TRAILER_LEN};
use base::{Kind, MAX_SEQNO, ParsedInternalKey, SeqNo};

/// One point entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The user key.
    pub user_key: Vec<u8>,
    /// The sequence number.
    pub seqno: SeqNo,
    /// The kind of the entry.
    pub kind: Kind,
    /// The value, the merge operand, or nothing.
    pub value: Vec<u8>,
}

/// One range tombstone: deletes the versions older than `seqno` of the keys from `start` up to `end`,
/// exclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The first user key covered.
    pub start: Vec<u8>,
    /// The first user key no longer covered.
    pub end: Vec<u8>,
    /// The sequence number.
    pub seqno: SeqNo,
}

/// A point entry or a range tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `a@5:value`
    Point(Entry),
    /// `[a,d)@9`
    Range(Tombstone),
}

/// The reason why a text is not a key, entry or tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Value => "put",
        Kind::Deletion => "del",
        Kind::SingleDeletion => "sdel",
        Kind::Merge => "merge",
        Kind::RangeDeletion => "rangedel",
        Kind::BlobIndex => "blob",
        Kind::DeletionWithTimestamp => "ts-del",
        Kind::WideColumnEntity => "wide",
        Kind::ValuePreferredSeqno => "preferred",
    }
}

/// Every kind of entry, in the order of their bytes.
pub const KINDS: [Kind; 9] = [
    Kind::Deletion,
    Kind::Value,
    Kind::Merge,
    Kind::SingleDeletion,
    Kind::RangeDeletion,
    Kind::BlobIndex,
    Kind::DeletionWithTimestamp,
    Kind::WideColumnEntity,
    Kind::ValuePreferredSeqno,
];

/// Bytes as text: `\xNN` for bytes that are not printable or have a meaning in the syntax.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && !b"@#:[],)\\".contains(&byte) {
            text.push(byte as char);
        } else {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The bytes of an escaped text.
pub fn unescape(text: &str) -> Result<Vec<u8>, ParseError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let byte = rest
            .get(at..at + 4)
            .and_then(|code| code.strip_prefix("\\x"))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .ok_or_else(|| ParseError(format!("bad escape in {text}")))?;
        bytes.push(byte);
        rest = &rest[at + 4..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

fn parse_seqno(text: &str, whole: &str) -> Result<SeqNo, ParseError> {
    if text == "max" {
        return Ok(MAX_SEQNO);
    }
    match text.parse() {
        Ok(seqno) if seqno <= MAX_SEQNO => Ok(seqno),
        _ => Err(ParseError(format!("bad sequence number in {whole}"))),
    }
}

fn seqno_text(seqno: SeqNo) -> String {
    if seqno == MAX_SEQNO {
        "max".to_owned()
    } else {
        seqno.to_string()
    }
}

impl Entry {
    /// Creates an entry with these fields.
    pub fn new(user_key: impl Into<Vec<u8>>, seqno: SeqNo, kind: Kind, value: impl Into<Vec<u8>>) -> Entry {
        Entry {
            user_key: user_key.into(),
            seqno,
            kind,
            value: value.into(),
        }
    }

    /// Parses `a@5:value`, `a@5#del`, `a@5#merge:x`.
    pub fn parse(text: &str) -> Result<Entry, ParseError> {
        let (key, rest) = text
            .split_once('@')
            .ok_or_else(|| ParseError(format!("no @ in entry {text}")))?;
        let (head, value) = rest.split_once(':').unwrap_or((rest, ""));
        let (seqno, word) = head.split_once('#').unwrap_or((head, "put"));
        let kind = KINDS
            .into_iter()
            .find(|&kind| kind_word(kind) == word)
            .ok_or_else(|| ParseError(format!("unknown kind {word} in {text}")))?;
        Ok(Entry::new(
            unescape(key)?,
            parse_seqno(seqno, text)?,
            kind,
            unescape(value)?,
        ))
    }

    /// The internal key.
    pub fn internal_key(&self) -> Vec<u8> {
        internal_key::encode(&self.user_key, self.seqno, self.kind)
    }

    /// The internal key and the value, as cursors have them.
    pub fn into_pair(self) -> (Vec<u8>, Vec<u8>) {
        (self.internal_key(), self.value)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", escape(&self.user_key), seqno_text(self.seqno))?;
        if self.kind != Kind::Value {
            write!(f, "#{}", kind_word(self.kind))?;
        }
        if !self.value.is_empty() {
            write!(f, ":{}", escape(&self.value))?;
        }
        Ok(())
    }
}

impl Tombstone {
    /// Creates a range tombstone with these fields.
    pub fn new(start: impl Into<Vec<u8>>, end: impl Into<Vec<u8>>, seqno: SeqNo) -> Tombstone {
        Tombstone {
            start: start.into(),
            end: end.into(),
            seqno,
        }
    }

    /// Parses `[a,d)@9`.
    pub fn parse(text: &str) -> Result<Tombstone, ParseError> {
        let bad = || ParseError(format!("bad range tombstone {text}"));
        let (span, seqno) = text.split_once('@').ok_or_else(bad)?;
        let inner = span
            .strip_prefix('[')
            .and_then(|span| span.strip_suffix(')'))
            .ok_or_else(bad)?;
        let (start, end) = inner.split_once(',').ok_or_else(bad)?;
        Ok(Tombstone::new(
            unescape(start)?,
            unescape(end)?,
            parse_seqno(seqno, text)?,
        ))
    }
}

impl fmt::Display for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{},{})@{}",
            escape(&self.start),
            escape(&self.end),
            seqno_text(self.seqno)
        )
    }
}

impl Item {
    /// Parses either form.
    pub fn parse(text: &str) -> Result<Item, ParseError> {
        if text.starts_with('[') {
            Tombstone::parse(text).map(Item::Range)
        } else {
            Entry::parse(text).map(Item::Point)
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Point(entry) => entry.fmt(f),
            Item::Range(tombstone) => tombstone.fmt(f),
        }
    }
}

/// The items of a text, separated by blanks or newlines; text after `//` on a line is a comment.
pub fn parse_items(text: &str) -> Result<Vec<Item>, ParseError> {
    text.lines()
        .flat_map(|line| line.split("//").next().unwrap_or(line).split_whitespace())
        .map(Item::parse)
        .collect()
}

/// The internal keys and values of a text of point entries, in the given order. Panics on anything else: for
/// test constants.
pub fn entries(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    items(text)
        .into_iter()
        .map(|item| match item {
            Item::Point(entry) => entry.into_pair(),
            Item::Range(tombstone) => panic!("{tombstone} is not a point entry"),
        })
        .collect()
}

/// The range tombstones of a text, in the given order. Panics on anything else: for test constants.
pub fn tombstones(text: &str) -> Vec<Tombstone> {
    items(text)
        .into_iter()
        .map(|item| match item {
            Item::Range(tombstone) => tombstone,
            Item::Point(entry) => panic!("{entry} is not a range tombstone"),
        })
        .collect()
}

/// The internal key `a@5` or `a@5#del`. Panics on anything else: for test constants.
pub fn key(text: &str) -> Vec<u8> {
    match Entry::parse(text) {
        Ok(entry) if entry.value.is_empty() => entry.internal_key(),
        Ok(_) => panic!("{text} has a value, a key has none"),
        Err(error) => panic!("{error}"),
    }
}

fn items(text: &str) -> Vec<Item> {
    parse_items(text).unwrap_or_else(|error| panic!("{error}"))
}

/// An internal key as text; a malformed one (too short, unknown kind) in hexadecimal after `!`.
pub fn print_key(internal: &[u8]) -> String {
    print_entry(internal, b"")
}

/// An internal key and its value as text.
pub fn print_entry(internal: &[u8], value: &[u8]) -> String {
    match ParsedInternalKey::parse(internal) {
        Ok(key) => Entry::new(key.user_key, key.seqno, key.kind, value).to_string(),
        Err(_) => {
            let hex: String = internal.iter().map(|byte| format!("{byte:02x}")).collect();
            let note = if internal.len() < TRAILER_LEN {
                "short"
            } else {
                "kind"
            };
            format!("!{note}:{hex}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_and_print_the_same() {
        for text in [
            "a@5:val",
            "a@5",
            "b@6#del",
            "b@6#sdel",
            "c@7#merge:x",
            "d@8#blob:\\x00\\xff",
            "d@8#wide:w",
            "d@8#ts-del",
            "d@8#preferred:p",
            "@0",
            "a\\x40b\\x20c@max:v\\x3aw",
            "[a,d)@9",
            "[,\\xff)@max",
        ] {
            assert_eq!(Item::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in KINDS {
            let entry = Entry::new("k", 3, kind, "v");
            assert_eq!(Entry::parse(&entry.to_string()).unwrap(), entry);
            assert_eq!(print_entry(&entry.internal_key(), b"v"), entry.to_string());
        }
    }

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&bytes)).unwrap(), bytes);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "a",
            "a@",
            "a@x",
            "a@5#what",
            "a@72057594037927936",
            "[a,b@5",
            "[a)@5",
            "a\\x4@1",
            "a\\q00@1",
        ] {
            assert!(Item::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_holds_many() {
        let text = "a@5:val  b@6#del // the rest is a comment\n c@7#merge:x";
        assert_eq!(entries(text).len(), 3);
        assert_eq!(entries(text)[0], (key("a@5"), b"val".to_vec()));
        assert_eq!(tombstones("[a,d)@9\n[b,c)@3").len(), 2);
        assert_eq!(print_key(&key("b@6#del")), "b@6#del");
        assert_eq!(print_key(b"abc"), "!short:616263");
        assert_eq!(
            print_key(&[b'k', 0x55, 0, 0, 0, 0, 0, 0, 0]),
            "!kind:6b5500000000000000"
        );
    }
}
