//! The entries of a table: RocksDB's `SstFileDumper::ReadSequential`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base::internal_key::{self, ParsedInternalKey};
use base::{Error, Kind, MAX_SEQNO, Result};
use blob::BlobIndex;
use sst::{BlockReadOptions, Table};

use crate::output::Failure;
use crate::rocksdb_text::{columns, hex_if, key};

/// The entries of a table that are read, and their form.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The entries are printed, and not only read.
    pub print: bool,
    /// Keys and values in hexadecimal.
    pub hex: bool,
    /// Indexes of values in blob files are decoded.
    pub decode_blob_index: bool,
    /// Checksums of blocks are verified.
    pub verify_checksum: bool,
    /// The dump begins at this user key.
    pub from: Option<Vec<u8>>,
    /// The dump ends before this user key.
    pub to: Option<Vec<u8>>,
    /// Ends after the keys with this prefix, which is also the first key.
    pub prefix: Option<Vec<u8>>,
    /// Ends after this many entries; 0: no limit.
    pub limit: u64,
}

/// Opens the table at `path` with the comparator that its properties name. `Process` and the format are
/// printed first, as RocksDB does.
///
/// Errors: those of opening it; `InvalidArgument` for a comparator that is not built in.
pub fn open(path: &Path, out: &mut dyn Write) -> Result<Arc<Table>, Failure> {
    writeln!(out, "Process {}", path.display())?;
    let table = crate::dump::sst::open(path)?;
    writeln!(out, "Sst file format: block-based")?;
    Ok(table)
}

/// Reads entries of `table`, and prints them if asked to. Returns the number read, including the one at which
/// reading ended.
///
/// Errors: those of reading; `Corruption` if the table has another number of entries than its properties say.
pub fn read(table: &Arc<Table>, entries: &Entries, out: &mut dyn Write) -> Result<u64, Failure> {
    let order = table.comparator().user().clone();
    let mut cursor = table.cursor(BlockReadOptions {
        verify_checksums: entries.verify_checksum,
        ..BlockReadOptions::default()
    });
    match entries.from.as_ref().or(entries.prefix.as_ref()) {
        Some(from) => {
            // The seek is at the newest timestamp, if keys have timestamps, and so before all versions of the
            // key.
            let newest = vec![0xff; order.timestamp_size()];
            let mut target = Vec::new();
            internal_key::set_seek_target(&mut target, &[from, &newest[..]].concat(), MAX_SEQNO);
            cursor.seek(&target);
        }
        None => cursor.seek_to_first(),
    }
    let mut count = 0;
    let mut read = 0;
    while cursor.valid() {
        count += 1;
        read += 1;
        if entries.limit > 0 && count > entries.limit {
            break;
        }
        let parsed = ParsedInternalKey::parse(cursor.key()).map_err(|error| error.in_file(table.path()))?;
        let bare = order.strip_timestamp(parsed.user_key);
        if entries
            .prefix
            .as_ref()
            .is_some_and(|prefix| !bare.starts_with(prefix))
        {
            break;
        }
        let is_behind = |to: &Vec<u8>| order.compare_without_timestamp(bare, to).is_ge();
        if entries.to.as_ref().is_some_and(is_behind) {
            break;
        }
        if entries.print {
            out.write_all(&key::internal_key(cursor.key(), entries.hex, Some(&order)))?;
            out.write_all(b" => ")?;
            out.write_all(&value(parsed.kind, cursor.value(), entries)?)?;
            out.write_all(b"\n")?;
        }
        cursor.next();
    }
    cursor.status()?;
    let whole = matches!(entries.limit, 0 | u64::MAX) && entries.from.is_none() && entries.to.is_none();
    match whole && entries.prefix.is_none() {
        true => check_count(table, count).map(|()| read).map_err(Failure::from),
        false => Ok(read),
    }
}

fn check_count(table: &Table, count: u64) -> Result<()> {
    let properties = table.properties();
    let expected = properties
        .num_entries
        .saturating_sub(properties.num_range_deletions);
    match count == expected {
        true => Ok(()),
        false => Err(Error::corruption(format!(
            "Table property expects {expected} entries when excluding range deletions, but scanning the table \
             returned {count} entries"
        ))),
    }
}

/// The value of an entry as text.
pub fn value(kind: Kind, value: &[u8], entries: &Entries) -> Result<Vec<u8>> {
    match kind {
        Kind::BlobIndex if entries.decode_blob_index => blob_index(value, entries.hex),
        Kind::WideColumnEntity => columns::of_entity(value, entries.hex),
        _ => Ok(hex_if(entries.hex, value)),
    }
}

/// The index of a value in a blob file, as RocksDB's `BlobIndex::DebugString` shows it.
pub fn blob_index(bytes: &[u8], hex: bool) -> Result<Vec<u8>> {
    let (mut text, expiration) = match BlobIndex::decode(bytes)? {
        BlobIndex::InlinedTtl { expiration, value } => {
            let mut text = b"[inlined blob] value:".to_vec();
            text.extend(hex_if(hex, value));
            (text, Some(expiration))
        }
        BlobIndex::Blob { location, expiration } => {
            let text = format!(
                "[blob ref] file:{} offset:{} size:{} compression: {}",
                location.file_number,
                location.offset,
                location.size,
                location.compression.property_name()
            );
            (text.into_bytes(), expiration)
        }
    };
    if let Some(expiration) = expiration {
        text.extend_from_slice(format!(" exp:{expiration}").as_bytes());
    }
    Ok(text)
}

/// The entries of the table at `path` and, after them, its properties, as `ldb` dumps a table. An error is
/// printed on standard error and does not fail the command.
pub fn dump(path: &Path, entries: &Entries, out: &mut dyn Write) -> Result<(), Failure> {
    let entries = Entries {
        print: true,
        ..entries.clone()
    };
    let read = open(path, out).and_then(|table| read(&table, &entries, out).map(|_| table));
    let table = match read {
        Ok(table) => table,
        Err(Failure::Error(error)) => {
            eprintln!("Error in reading SST file {}{error}", path.display());
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    out.write_all(b"\nTable Properties:\n")?;
    out.write_all(&crate::rocksdb_text::properties::text(
        table.properties(),
        "=",
        "\n",
    ))?;
    Ok(out.write_all(b"\n")?)
}
