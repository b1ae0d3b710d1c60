//! The meta file of a backup: the text in `meta/<id>`.
//!
//! ```text
//! schema_version 2.1                  absent: 1
//! 1700000000                          when it was made, in seconds since 1970
//! 4711                                the sequence number of its last row
//! metadata 68656C6C6F                 the user's, in hexadecimal; absent: none
//! 2                                   how many files
//! private/1/CURRENT crc32 12345       CRC-32C in spite of the name
//! shared_checksum/000009_sS_7.sst crc32 678 size 7
//! // FOOTER                           2.x: fields of later releases follow
//! ```
//!
//! Schema 1 has no `size`. A reader must not ignore unknown fields that begin with `ni::`.

use base::{Error, Result};

use crate::names;
use crate::{BackupId, MAX_APP_METADATA};

/// A meta file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub timestamp: u64,
    pub sequence_number: u64,
    pub app_metadata: Vec<u8>,
    pub files: Vec<MetaFile>,
    /// Files that the backup needs and that are elsewhere.
    pub excluded: Vec<String>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetaFile {
    /// The path relative to the backup directory.
    pub relative: String,
    /// The CRC-32C, if the meta file has it.
    pub crc32c: Option<u32>,
    /// The size in bytes, if the meta file has it.
    pub size: Option<u64>,
}

const SCHEMA: &str = "schema_version ";
const FOOTER: &str = "// FOOTER";
const NOT_IGNORABLE: &str = "ni::";
const EXCLUDED: &str = "ni::excluded";

impl Meta {
    /// Encodes the text. `schema_version` is 1 or 2; schema 1 has no excluded files.
    pub fn encode(&self, schema_version: u32) -> Vec<u8> {
        let mut text = String::new();
        if schema_version >= 2 {
            text.push_str("schema_version 2.1\n");
        }
        text.push_str(&format!("{}\n{}\n", self.timestamp, self.sequence_number));
        if !self.app_metadata.is_empty() {
            text.push_str("metadata ");
            self.app_metadata
                .iter()
                .for_each(|byte| text.push_str(&format!("{byte:02X}")));
            text.push('\n');
        }
        // Excluded files are not counted.
        text.push_str(&format!("{}\n", self.files.len()));
        for file in &self.files {
            text.push_str(&file.relative);
            if let Some(crc) = file.crc32c {
                text.push_str(&format!(" crc32 {crc}"));
            }
            if let Some(size) = file.size.filter(|_| schema_version >= 2) {
                text.push_str(&format!(" size {size}"));
            }
            text.push('\n');
        }
        for relative in &self.excluded {
            text.push_str(&format!("{relative} {EXCLUDED} true\n"));
        }
        text.into_bytes()
    }

    /// Decodes the meta file of backup `id`. `Corruption` with the offset of the faulty line, `NotSupported`
    /// for a schema of a later release.
    pub fn decode(bytes: &[u8], id: BackupId) -> Result<Meta> {
        let mut lines = Lines {
            bytes,
            at: 0,
            next: 0,
        };
        let meta = decode(&mut lines, id);
        meta.map_err(|error| error.at(lines.at as u64))
    }
}

struct Lines<'a> {
    bytes: &'a [u8],
    /// The start of the last line.
    at: usize,
    next: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<Option<&'a str>> {
        self.at = self.next;
        let rest = &self.bytes[self.next..];
        if rest.is_empty() {
            return Ok(None);
        }
        let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.next += (len + 1).min(rest.len());
        let line = std::str::from_utf8(&rest[..len]).map_err(|_| Error::corruption("not text"))?;
        match line {
            "" => Err(Error::corruption("Unexpected empty line")),
            line => Ok(Some(line)),
        }
    }

    fn some(&mut self, what: &str) -> Result<&'a str> {
        self.next()?
            .ok_or_else(|| Error::corruption(format!("the file ends before {what}")))
    }
}

fn decode(lines: &mut Lines<'_>, id: BackupId) -> Result<Meta> {
    let mut line = lines.some("the time")?;
    let mut schema = 1;
    if let Some(version) = line.strip_prefix(SCHEMA) {
        if version != "2" && !version.starts_with("2.") {
            let message = format!("Unsupported/unrecognized schema version: {version}");
            return Err(Error::not_supported(message));
        }
        schema = 2;
        line = lines.some("the time")?;
    }
    let mut meta = Meta {
        timestamp: number(line)?,
        sequence_number: number(lines.some("the sequence number")?)?,
        ..Meta::default()
    };
    let files: u32 = loop {
        let line = lines.some("the number of files")?;
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            break number(line)?;
        }
        let (name, value) = line
            .split_once(' ')
            .ok_or_else(|| Error::corruption("Expected number of files or meta field"))?;
        match name {
            "metadata" => meta.app_metadata = from_hex(value)?,
            _ if schema < 2 => {
                return Err(Error::corruption(
                    "Expected number of files or \"metadata\" field",
                ));
            }
            _ => may_be_ignored(name)?,
        }
    };
    let mut footer = false;
    while let Some(line) = lines.next()? {
        if schema >= 2 && line == FOOTER {
            footer = true;
            break;
        }
        file(line, schema, id, &mut meta)?;
    }
    while footer && let Some(line) = lines.next()? {
        let (name, _) = line
            .split_once(' ')
            .ok_or_else(|| Error::corruption("Expected footer field"))?;
        may_be_ignored(name)?;
    }
    // Excluded files are not counted.
    if meta.files.len() as u64 != u64::from(files) {
        return Err(Error::corruption(format!(
            "Inconsistent number of files or missing/incomplete header: {files} announced, {} named",
            meta.files.len()
        )));
    }
    Ok(meta)
}

fn file(line: &str, schema: u32, id: BackupId, meta: &mut Meta) -> Result<()> {
    let mut words = line.split(' ');
    let relative = words.next().unwrap_or_default().to_owned();
    if names::db_file_name(&relative, id).is_none() {
        return Err(Error::corruption(format!(
            "{relative:?} is not a file of a backup"
        )));
    }
    let mut file = MetaFile {
        relative,
        crc32c: None,
        size: None,
    };
    let mut excluded = false;
    while let Some(name) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| Error::corruption("Bad number of line components for file entry."))?;
        match name {
            "crc32" => file.crc32c = Some(number(value)?),
            _ if schema < 2 => return Err(Error::corruption("Unknown checksum type, or extra data")),
            "size" => file.size = Some(number(value)?),
            EXCLUDED => {
                excluded = match value {
                    "true" => true,
                    "false" => false,
                    _ => {
                        return Err(Error::not_supported(format!(
                            "Unrecognized value {value:?} for field {name}"
                        )));
                    }
                }
            }
            _ => may_be_ignored(name)?,
        }
    }
    if schema < 2 && file.crc32c.is_none() {
        return Err(Error::corruption("File checksum is missing"));
    }
    match excluded {
        true => meta.excluded.push(file.relative),
        false => meta.files.push(file),
    }
    Ok(())
}

fn may_be_ignored(field: &str) -> Result<()> {
    match field.starts_with(NOT_IGNORABLE) {
        true => Err(Error::not_supported(format!(
            "Unrecognized non-ignorable field {field} (from future version?)"
        ))),
        false => Ok(()),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = digits.then(|| text.parse().ok()).flatten();
    parsed.ok_or_else(|| Error::corruption(format!("{text:?} is not a number, or is too large")))
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let bad = || Error::corruption("Failed to decode stored hex encoded app metadata");
    if text.len() > 2 * MAX_APP_METADATA {
        return Err(bad());
    }
    let digits = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(bad)?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return Err(bad());
    };
    Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Meta {
        let file = |relative: &str, crc32c, size| MetaFile {
            relative: relative.to_owned(),
            crc32c: Some(crc32c),
            size: Some(size),
        };
        Meta {
            timestamp: 1_700_000_000,
            sequence_number: 4711,
            app_metadata: b"hello\n".to_vec(),
            files: vec![
                file("private/3/CURRENT", 12345, 16),
                file("shared_checksum/000009_sS_7.sst", 678, 7),
            ],
            excluded: Vec::new(),
        }
    }

    #[test]
    fn text_and_back() {
        let meta = sample();
        let text = "schema_version 2.1\n1700000000\n4711\nmetadata 68656C6C6F0A\n2\n\
                    private/3/CURRENT crc32 12345 size 16\nshared_checksum/000009_sS_7.sst crc32 678 size 7\n";
        assert_eq!(String::from_utf8(meta.encode(2)).unwrap(), text);
        assert_eq!(Meta::decode(text.as_bytes(), 3).unwrap(), meta);
        let first = String::from_utf8(meta.encode(1)).unwrap();
        assert!(!first.contains("size") && !first.contains("schema"), "{first}");
        let read = Meta::decode(first.as_bytes(), 3).unwrap();
        assert_eq!(read.files[1].size, None);
        assert_eq!(Meta::decode(&meta.encode(2), 4).unwrap_err().offset(), Some(59));
    }

    #[test]
    fn later_releases_may_add_fields_that_can_be_ignored() {
        let text = "schema_version 2.9\n1\n2\nowner me\n1\nprivate/1/CURRENT temp kWarm crc32 5\n\
                    shared_checksum/000009_sS_7.sst ni::excluded true\n// FOOTER\nchecksum 5\n";
        let meta = Meta::decode(text.as_bytes(), 1).unwrap();
        assert_eq!(meta.files.len(), 1);
        assert_eq!(meta.excluded, ["shared_checksum/000009_sS_7.sst"]);
        for (from, to) in [
            ("owner", "ni::owner"),
            ("temp", "ni::temp"),
            ("checksum 5", "ni::checksum 5"),
            ("2.9", "3.0"),
        ] {
            let error = Meta::decode(text.replace(from, to).as_bytes(), 1).unwrap_err();
            assert_eq!(error.kind(), base::ErrorKind::NotSupported, "{to}");
        }
    }

    #[test]
    fn damage_is_refused() {
        let good = String::from_utf8(sample().encode(1)).unwrap();
        for (from, to) in [
            ("1700000000", "x"),
            ("4711\n", "4711\n\n"),
            ("68656C", "68656"),
            ("68656C", "6865xx"),
            ("68656C", "6865é"),
            ("\n2\n", "\n3\n"),
            ("\n2\n", "\n99999999999\n"),
            ("crc32", "crc64"),
            (" crc32 678", ""),
            ("12345", "12345 size 16"),
            ("12345", "12345 "),
            ("12345", "4294967296"),
            ("private/3", "private/4"),
            ("000009_", "../000009_"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            let error = Meta::decode(bad.as_bytes(), 3).unwrap_err();
            assert!(error.is_corruption(), "{to}: {error}");
        }
        for len in 0..good.len() - 1 {
            // A truncated number is another number.
            if let Ok(meta) = Meta::decode(&good.as_bytes()[..len], 3) {
                assert_eq!(meta.files.len(), 2, "{len}");
            }
        }
    }
}
