//! Complete reads of tables and blob files, to determine their contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::internal_key;
use base::{Error, InternalComparator, Kind, MAX_SEQNO, ParsedInternalKey, Result, SeqNo, UserComparator};
use blob::BlobFile;
use manifest::{BlobFileAddition, FileMetadata};
use rangedel::FragmentedTombstones;
use sst::properties::UNKNOWN_COLUMN_FAMILY;
use sst::{BlockReadOptions, Table, TableReadOptions};
use vfs::{Access, OpenOptions};

use crate::files::file_checksum;
use crate::options::Options;
use crate::options::names::DEFAULT_COLUMN_FAMILY;

/// The names of the comparators that RocksDB and Esker have built in.
const BUILTIN: [&str; 4] = [
    "leveldb.BytewiseComparator",
    "rocksdb.ReverseBytewiseComparator",
    "leveldb.BytewiseComparator.u64ts",
    "rocksdb.ReverseBytewiseComparator.u64ts",
];

/// A table that is intact from end to end.
pub(super) struct ScannedTable {
    pub path: PathBuf,
    pub family: u32,
    pub family_name: String,
    pub cmp: InternalComparator,
    /// The id of the session that wrote the table.
    pub session_id: Vec<u8>,
    /// The metadata of the file: number, size, bounds and sequence numbers.
    pub file: FileMetadata,
    /// The blob files that the table's entries refer to.
    pub blobs: BTreeSet<u64>,
    pub tombstones: Arc<FragmentedTombstones>,
    /// The first and last entry of the table, without range deletions.
    pub points: Option<(Vec<u8>, Vec<u8>)>,
    /// The lowest sequence number of a plain value, 0 excluded.
    pub lowest_numbered: Option<SeqNo>,
    /// True if the table was ingested and does not hold the sequence number of its entries.
    pub lacks_seqno: bool,
}

impl ScannedTable {
    /// Opens a scanned table again.
    pub fn open(&self, options: &Options) -> Result<Arc<Table>> {
        let largest_seqno = self.lacks_seqno.then_some(self.file.largest_seqno);
        open(
            options,
            &self.path,
            self.file.number,
            self.cmp.clone(),
            largest_seqno,
        )
    }
}

fn open(
    options: &Options,
    path: &Path,
    number: u64,
    cmp: InternalComparator,
    largest_seqno: Option<SeqNo>,
) -> Result<Arc<Table>> {
    let access = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    let file = options.fs.open_random(path, &access)?;
    let read = TableReadOptions {
        file_number: number,
        largest_seqno,
        ..TableReadOptions::new(cmp)
    };
    Table::open(file, read)
}

/// Opens a table with the comparator it names. A wrong comparator shows only in its range deletions, if at
/// all.
fn open_in_its_order(
    options: &Options,
    path: &Path,
    number: u64,
    largest_seqno: Option<SeqNo>,
) -> Result<Arc<Table>> {
    let builtin = BUILTIN.iter().filter_map(|name| UserComparator::builtin(name));
    let given = options.column_families.values().map(|family| &family.comparator);
    let given = std::iter::once(&options.column_family.comparator)
        .chain(given)
        .cloned();
    let candidates: Vec<UserComparator> = given.chain(builtin).collect();
    let mut first_error = None;
    for candidate in &candidates {
        let opened = open(
            options,
            path,
            number,
            InternalComparator::new(candidate.clone()),
            largest_seqno,
        );
        let table = match opened {
            Ok(table) => table,
            Err(error) if error.is_corruption() => {
                first_error.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let name = table.properties().comparator_name().into_owned();
        // Tables of old versions have no comparator name.
        if name.is_empty() || name == candidate.name() {
            return Ok(table);
        }
        if !candidates.iter().any(|candidate| candidate.name() == name) {
            return Err(Error::invalid_argument(format!(
                "its comparator is {name}, which is not built in: name the column family and its comparator in the options"
            ))
            .in_file(path));
        }
    }
    Err(first_error
        .unwrap_or_else(|| Error::corruption("it opens with no built-in comparator").in_file(path)))
}

/// Reads a table completely. `Corruption` with the position of the damage. `largest_seqno` is the sequence
/// number of an ingested table, if it is known.
pub(super) fn scan(
    options: &Options,
    path: &Path,
    number: u64,
    largest_seqno: Option<SeqNo>,
) -> Result<ScannedTable> {
    let table = open_in_its_order(options, path, number, largest_seqno)?;
    table.verify(0, &mut |_| {})?;
    let properties = table.properties();
    let (family, family_name) = match properties.column_family_id {
        UNKNOWN_COLUMN_FAMILY => (0, DEFAULT_COLUMN_FAMILY.to_owned()),
        id => {
            let id = u32::try_from(id).map_err(|_| {
                Error::corruption(format!("column family id {id} is too large")).in_file(path)
            })?;
            (
                id,
                String::from_utf8_lossy(&properties.column_family_name).into_owned(),
            )
        }
    };
    let cmp = table.comparator().clone();
    let tombstones = table.range_tombstones().clone();
    let mut walk = Walk::new(&cmp);
    let mut cursor = table.cursor(BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    });
    cursor.seek_to_first();
    while cursor.valid() {
        walk.entry(cursor.key(), cursor.value())
            .map_err(|error| error.in_file(path))?;
        cursor.next();
    }
    cursor.status()?;
    let points = walk.seqnos.map(|_| (walk.smallest.clone(), walk.largest.clone()));
    for tombstone in tombstones.tombstones() {
        let start = internal_key::encode(&tombstone.start, tombstone.seqno, Kind::RangeDeletion);
        let end = internal_key::encode(&tombstone.end, MAX_SEQNO, Kind::RangeDeletion);
        walk.extend(&start, tombstone.seqno);
        walk.extend(&end, tombstone.seqno);
    }
    let Some((smallest_seqno, largest_seqno)) = walk.seqnos else {
        return Err(Error::corruption("no entry in it").in_file(path));
    };
    let timestamp_size = cmp.user().timestamp_size();
    let persisted = timestamp_size == 0 || properties.user_defined_timestamps_persisted;
    let file = FileMetadata {
        number,
        size: table.file_size(),
        smallest: walk.smallest.into(),
        largest: walk.largest.into(),
        smallest_seqno,
        largest_seqno,
        unique_id: properties.unique_id(),
        oldest_ancestor_time: properties.creation_time,
        file_creation_time: properties.file_creation_time,
        file_checksum: file_checksum::of_file(options.file_checksum_gen_factory, &**table.file())?,
        user_defined_timestamps_persisted: persisted,
        padded_timestamp_size: if persisted { 0 } else { timestamp_size },
        ..FileMetadata::default()
    };
    Ok(ScannedTable {
        path: path.to_path_buf(),
        family,
        family_name,
        session_id: properties.db_session_id.clone(),
        file,
        blobs: walk.blobs,
        tombstones,
        points,
        lowest_numbered: walk.lowest_numbered,
        lacks_seqno: properties.external_sst_file_version == Some(2)
            && properties.external_sst_file_global_seqno.unwrap_or(0) == 0,
        cmp,
    })
}

/// Opens a table that this repair has written.
pub(super) fn open_written(
    options: &Options,
    path: &Path,
    file: &FileMetadata,
    cmp: &UserComparator,
) -> Result<ScannedTable> {
    let scanned = scan(options, path, file.number, None)?;
    base::invariant!(scanned.cmp.user().name() == cmp.name());
    Ok(ScannedTable {
        file: file.clone(),
        ..scanned
    })
}

/// The totals of the entries of a table read so far.
struct Walk<'a> {
    cmp: &'a InternalComparator,
    last: Vec<u8>,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    /// The lowest and the highest sequence number so far.
    seqnos: Option<(SeqNo, SeqNo)>,
    lowest_numbered: Option<SeqNo>,
    blobs: BTreeSet<u64>,
}

impl<'a> Walk<'a> {
    fn new(cmp: &'a InternalComparator) -> Walk<'a> {
        Walk {
            cmp,
            last: Vec::new(),
            smallest: Vec::new(),
            largest: Vec::new(),
            seqnos: None,
            lowest_numbered: None,
            blobs: BTreeSet::new(),
        }
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let parsed = ParsedInternalKey::parse(key)?;
        if !self.last.is_empty() && self.cmp.compare(&self.last, key).is_ge() {
            return Err(Error::corruption(format!(
                "entries out of order at key {}",
                key.escape_ascii()
            )));
        }
        blob::for_each_location(parsed.kind, value, |location| {
            self.blobs.insert(location.file_number);
            Ok(())
        })?;
        if parsed.kind == Kind::Value && parsed.seqno > 0 {
            let lowest = self.lowest_numbered.unwrap_or(parsed.seqno);
            self.lowest_numbered = Some(lowest.min(parsed.seqno));
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.extend(key, parsed.seqno);
        Ok(())
    }

    fn extend(&mut self, key: &[u8], seqno: SeqNo) {
        if self.seqnos.is_none() || self.cmp.compare(key, &self.smallest).is_lt() {
            self.smallest = key.to_vec();
        }
        if self.seqnos.is_none() || self.cmp.compare(key, &self.largest).is_gt() {
            self.largest = key.to_vec();
        }
        let (low, high) = self.seqnos.unwrap_or((seqno, seqno));
        self.seqnos = Some((low.min(seqno), high.max(seqno)));
    }
}

/// An intact blob file.
pub(super) struct ScannedBlob {
    pub family: u32,
    pub addition: BlobFileAddition,
}

/// Reads the header and the footer of a blob file; its values are checked when they are read. `Corruption`
/// without a footer: then no table refers to the file.
pub(super) fn scan_blob(options: &Options, path: &Path, number: u64) -> Result<ScannedBlob> {
    let file = options.fs.open_random(path, &OpenOptions::default())?;
    let len = file.len();
    let checksum = file_checksum::of_file(options.file_checksum_gen_factory, &*file)?;
    let (checksum_method, checksum_value) =
        checksum.map_or_else(Default::default, |checksum| (checksum.func_name, checksum.value));
    let opened = BlobFile::open(file)?;
    let footer = opened
        .footer()
        .ok_or_else(|| Error::corruption("no footer").at(len).in_file(path))?;
    let frame = (blob::format::HEADER_LEN + blob::format::FOOTER_LEN) as u64;
    Ok(ScannedBlob {
        family: opened.header().column_family_id,
        addition: BlobFileAddition {
            number,
            total_blob_count: footer.blob_count,
            total_blob_bytes: len.saturating_sub(frame),
            checksum_method,
            checksum_value,
            ..BlobFileAddition::default()
        },
    })
}
