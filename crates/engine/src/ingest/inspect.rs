//! Inspection of external files: their contents, and whether they may be ingested.

use std::path::Path;
use std::sync::Arc;

use base::{
    Error, InternalComparator, MAX_SEQNO, ParsedInternalKey, Result, RowLimit, SeqNo, UserComparator,
    internal_key,
};
use codec::compression::CompressionType;
use manifest::RANGE_TOMBSTONE_SENTINEL;
use sst::properties::UNKNOWN_COLUMN_FAMILY;
use sst::{BlockReadOptions, Table, TableProperties, TableReadOptions, TableReaderCaller};
use vfs::{Access, OpenOptions};

use super::export::LiveFileMetaData;
use super::{IngestExternalFileOptions, PreparedFileInfo};
use crate::events::shown_key;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

/// An external file that may be ingested.
pub(crate) struct ExternalFile {
    /// The number that the file will have in the database.
    pub number: u64,
    /// The size in bytes.
    pub size: u64,
    /// The smallest internal key as stored in the file, range deletions included.
    pub smallest: Vec<u8>,
    /// The largest internal key; see [`manifest::FileMetadata::largest`].
    pub largest: Vec<u8>,
    /// The lowest and highest sequence number, if the file keeps its own.
    pub seqnos: Option<(SeqNo, SeqNo)>,
    pub properties: TableProperties,
    /// The offset of the global sequence number in the file, if the number must be written there.
    pub global_seqno_at: Option<u64>,
}

impl ExternalFile {
    /// The first user key of the file's range.
    pub fn start(&self) -> &[u8] {
        internal_key::user_key(&self.smallest)
    }

    /// The last user key of the file's range.
    pub fn limit(&self) -> &[u8] {
        internal_key::user_key(&self.largest)
    }

    /// True if the ranges of the two files overlap.
    pub fn meets(&self, other: &ExternalFile, cmp: &UserComparator) -> bool {
        let ends_before = |a: &ExternalFile, b: &ExternalFile| {
            let sentinel = internal_key::trailer(&a.largest) == RANGE_TOMBSTONE_SENTINEL;
            match cmp.compare_without_timestamp(a.limit(), b.start()) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => sentinel,
                std::cmp::Ordering::Greater => false,
            }
        };
        !ends_before(self, other) && !ends_before(other, self)
    }
}

/// Inspects the file at `path`, which is to be ingested into `family`.
pub(super) fn inspect(
    db: &DbInner,
    family: &Family,
    options: &IngestExternalFileOptions,
    path: &Path,
) -> Result<ExternalFile> {
    let access = OpenOptions {
        access: Access::Normal,
        ..OpenOptions::default()
    };
    let file = db.options.fs.open_random(path, &access)?;
    let properties = Table::read_properties(file.clone())?;
    check_properties(&properties, family, options).map_err(|error| error.in_file(path))?;
    let number = db.versions.new_file_number();
    let table = Table::open(
        file,
        TableReadOptions {
            file_number: number,
            prefix_extractor: family.prefix_extractor.clone(),
            auto_readahead: family.options.table.auto_readahead(),
            ..TableReadOptions::new(family.cmp.clone())
        },
    )?;
    if options.verify_checksums_before_ingest {
        table.verify(options.verify_checksums_readahead_size, &mut |_| {})?;
    }
    let mut entries = Entries::new(family, options.allow_db_generated_files);
    let walk = options.verify_checksums_before_ingest || options.allow_db_generated_files;
    read_entries(&table, options, walk, &mut entries).map_err(|error| error.in_file(path))?;
    let Some((smallest, largest)) = entries.bounds else {
        return Err(Error::invalid_argument("File contain no entries").in_file(path));
    };
    if walk && entries.count + properties.num_range_deletions != properties.num_entries {
        return Err(Error::corruption(format!(
            "{} entries and {} range deletions in it, its properties say {} together",
            entries.count, properties.num_range_deletions, properties.num_entries
        ))
        .in_file(path));
    }
    let global_seqno_at = match options.write_global_seqno {
        true => Some(table.global_seqno_offset()?.ok_or_else(|| {
            Error::corruption("Was not able to find file global seqno field").in_file(path)
        })?),
        false => None,
    };
    Ok(ExternalFile {
        number,
        size: table.file_size(),
        smallest,
        largest,
        seqnos: options.allow_db_generated_files.then_some(entries.seqnos),
        properties,
        global_seqno_at,
    })
}

/// Accepts `info` about the file at `path`, which is to be ingested into `family`, without reading the file,
/// if the file has the size in `info`.
pub(super) fn believe(
    db: &DbInner,
    family: &Family,
    options: &IngestExternalFileOptions,
    path: &Path,
    info: &PreparedFileInfo,
) -> Result<ExternalFile> {
    let size = db.options.fs.size(path)?;
    if size != info.size {
        return Err(
            Error::corruption(format!("{size} bytes, its file_infos entry says {}", info.size)).in_file(path),
        );
    }
    check_properties(&info.properties, family, options).map_err(|error| error.in_file(path))?;
    Ok(ExternalFile {
        number: db.versions.new_file_number(),
        size,
        smallest: info.smallest.clone(),
        largest: info.largest.clone(),
        seqnos: options.allow_db_generated_files.then_some((0, 0)),
        properties: info.properties.clone(),
        global_seqno_at: None,
    })
}

/// Inspects the file at `path`, described by an export, which is to be imported into `family`.
pub(super) fn inspect_exported(
    db: &DbInner,
    family: &Family,
    told: &LiveFileMetaData,
    path: &Path,
) -> Result<ExternalFile> {
    let wrong = |message: String| Err(Error::corruption(message).in_file(path));
    let file = db.options.fs.open_random(path, &OpenOptions::default())?;
    if told.size > 0 && file.len() != told.size {
        return wrong(format!(
            "Sst file size mismatch: {} bytes, the export says {}",
            file.len(),
            told.size
        ));
    }
    let properties = Table::read_properties(file.clone())?;
    check_order(&properties, family).map_err(|error| error.in_file(path))?;
    let number = db.versions.new_file_number();
    let table = Table::open(
        file,
        TableReadOptions {
            file_number: number,
            largest_seqno: Some(told.largest_seqno),
            ..TableReadOptions::new(family.cmp.clone())
        },
    )?;
    let mut entries = Entries::new(family, true);
    read_entries(&table, &IngestExternalFileOptions::default(), false, &mut entries)
        .map_err(|error| error.in_file(path))?;
    let Some(found) = entries.bounds else {
        return Err(Error::invalid_argument("File contain no entries").in_file(path));
    };
    let (smallest, largest) = match told_bounds(family, told).map_err(|error| error.in_file(path))? {
        None => found,
        // Range deletions are cut to the bounds; entries outside them are an error.
        Some((smallest, largest)) => {
            let outside = |(first, last): &(Vec<u8>, Vec<u8>)| {
                family.cmp.compare(first, &smallest).is_lt() || family.cmp.compare(last, &largest).is_gt()
            };
            if entries.points.as_ref().is_some_and(outside) {
                return wrong("it holds keys beyond those that the export says".to_owned());
            }
            (smallest, largest)
        }
    };
    let highest = properties
        .key_largest_seqno
        .filter(|&highest| highest != u64::MAX);
    if told.smallest_seqno > told.largest_seqno
        || told.largest_seqno > MAX_SEQNO
        || highest.is_some_and(|highest| highest > told.largest_seqno)
    {
        return wrong(format!(
            "the export says that its sequence numbers go from {} to {}, its properties {highest:?}",
            told.smallest_seqno, told.largest_seqno
        ));
    }
    Ok(ExternalFile {
        number,
        size: table.file_size(),
        smallest,
        largest,
        seqnos: Some((told.smallest_seqno, told.largest_seqno)),
        properties,
        global_seqno_at: None,
    })
}

/// An error unless the file was written for a family with these options.
fn check_properties(
    properties: &TableProperties,
    family: &Family,
    options: &IngestExternalFileOptions,
) -> Result<()> {
    let own = options.allow_db_generated_files;
    match properties.external_sst_file_version {
        None if own => {}
        None => return Err(Error::corruption("External file version not found")),
        Some(1) if options.allow_blocking_flush || options.allow_global_seqno => {
            return Err(Error::invalid_argument(
                "External SST file V1 does not support global seqno",
            ));
        }
        Some(1) => {}
        Some(2) if properties.external_sst_file_global_seqno.is_none() => {
            return Err(Error::corruption(
                "External file global sequence number not found",
            ));
        }
        Some(2) => {}
        Some(version) => {
            return Err(Error::invalid_argument(format!(
                "External file version {version} is not supported"
            )));
        }
    }
    check_order(properties, family)?;
    let id = properties.column_family_id;
    if id != UNKNOWN_COLUMN_FAMILY && id != u64::from(family.id) && !own {
        return Err(Error::invalid_argument(
            "External file column family id don't match",
        ));
    }
    if !own
        && let Some(largest) = properties.key_largest_seqno
        && largest != 0
        && largest != u64::MAX
    {
        return Err(Error::corruption(format!(
            "External file has non zero largest sequence number {largest}"
        )));
    }
    Ok(())
}

/// An error for files whose keys have another order or encoding than those of the family.
fn check_order(properties: &TableProperties, family: &Family) -> Result<()> {
    check_comparator(properties, family)?;
    match properties.user_defined_timestamps_persisted {
        _ if family.cmp.user().timestamp_size() == 0 => Ok(()),
        true if family.cuts_timestamps() => Err(Error::invalid_argument(
            "the file has the timestamps of its keys, and the column family does not persist them",
        )),
        false if !family.cuts_timestamps() => Err(Error::invalid_argument(
            "the file was written without the timestamps of its keys",
        )),
        _ => Ok(()),
    }
}

/// An error for files whose keys have another order than those of the family.
pub(super) fn check_comparator(properties: &TableProperties, family: &Family) -> Result<()> {
    let cmp = family.cmp.user();
    let name = properties.comparator_name();
    if name != UserComparator::name(cmp) {
        return Err(Error::invalid_argument(format!(
            "Comparator name mismatch: the file is ordered by {name}, the column family by {}",
            cmp.name()
        )));
    }
    Ok(())
}

/// Passes all entries of the table to `entries` or, unless the file must be read completely, its first and
/// last entries and its range deletions.
fn read_entries(
    table: &Arc<Table>,
    options: &IngestExternalFileOptions,
    walk: bool,
    entries: &mut Entries<'_>,
) -> Result<()> {
    let index = table.index()?;
    let cmp = table.comparator();
    // Index separators are between the keys of adjacent blocks: if they are out of order, the blocks are too.
    for block in 1..index.len() {
        let (left, right) = (index.separator(block - 1), index.separator(block));
        let order = match index.has_user_keys() {
            true => cmp.user().compare_without_timestamp(left, right),
            false => cmp.compare(left, right),
        };
        if order.is_gt() {
            return Err(Error::corruption(format!(
                "index out of order at block {block}: {} after {}",
                right.escape_ascii(),
                left.escape_ascii()
            )));
        }
    }
    let blocks = (0..index.len()).map(|block| index.handle(block).size);
    let walk = walk || may_hold_large_rows(table.properties(), entries.limit, blocks);
    let mut cursor = table.cursor(BlockReadOptions {
        fill_cache: false,
        caller: TableReaderCaller::ExternalSstIngestion,
        readahead_size: options.verify_checksums_readahead_size,
        ..BlockReadOptions::default()
    });
    cursor.seek_to_first();
    if walk {
        while cursor.valid() {
            entries.entry(cursor.key(), cursor.value())?;
            cursor.next();
        }
    } else if cursor.valid() {
        entries.entry(cursor.key(), cursor.value())?;
        cursor.seek_to_last();
        if cursor.valid() && cursor.key() != entries.last {
            entries.entry(cursor.key(), cursor.value())?;
        }
    }
    cursor.status()?;
    entries.points = entries.bounds.clone();
    for tombstone in table.range_tombstones().tombstones() {
        entries.tombstone(&tombstone)?;
    }
    Ok(())
}

/// True if a table with these properties and data blocks of these sizes may have a row that is too large: the
/// rows of such a table must be read.
fn may_hold_large_rows(
    properties: &TableProperties,
    limit: RowLimit,
    mut blocks: impl Iterator<Item = u64>,
) -> bool {
    let limit = limit.bytes() as u64;
    if properties.raw_key_size.max(properties.raw_value_size) <= limit {
        return false;
    }
    let compression = String::from_utf8_lossy(&properties.compression);
    // The maximum decompressed size per byte of a block: that of a run of equal bytes in these formats.
    let most = match CompressionType::from_property_name(&compression) {
        Some(CompressionType::None) => 1,
        Some(CompressionType::Snappy) => 22,
        Some(CompressionType::Lz4 | CompressionType::Lz4Hc) => 256,
        Some(CompressionType::Zlib) => 1032,
        Some(CompressionType::Zstd | CompressionType::ZstdNotFinal) => 1 << 15,
        _ => u64::MAX,
    };
    blocks.any(|size| size.saturating_mul(most) > limit)
}

/// The summary of the entries read so far.
struct Entries<'a> {
    cmp: &'a InternalComparator,
    limit: RowLimit,
    /// True if entries may have any sequence number.
    any_seqno: bool,
    last: Vec<u8>,
    bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The smallest and largest key, without range deletions.
    points: Option<(Vec<u8>, Vec<u8>)>,
    seqnos: (SeqNo, SeqNo),
    count: u64,
}

impl<'a> Entries<'a> {
    fn new(family: &'a Family, any_seqno: bool) -> Entries<'a> {
        Entries {
            cmp: &family.cmp,
            limit: family.values.row_limit,
            any_seqno,
            last: Vec::new(),
            bounds: None,
            points: None,
            seqnos: (MAX_SEQNO, 0),
            count: 0,
        }
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let parsed = ParsedInternalKey::parse(key)?;
        if parsed.user_key.len() < self.cmp.user().timestamp_size() {
            return Err(Error::corruption("a key without its timestamp"));
        }
        if !self.last.is_empty() && self.cmp.compare(&self.last, key).is_ge() {
            return Err(Error::corruption(format!(
                "keys out of order: {} after {}",
                key.escape_ascii(),
                self.last.escape_ascii()
            )));
        }
        self.limit
            .check(parsed.user_key, value)
            .map_err(|error| of_row(parsed.user_key, error))?;
        blob::for_each_location(parsed.kind, value, |location| {
            Err(Error::not_supported(format!(
                "an entry of the file refers to blob file {:06}, which does not come along",
                location.file_number
            )))
        })?;
        self.check_seqno(parsed.seqno, "External file has non zero sequence number")?;
        self.last.clear();
        self.last.extend_from_slice(key);
        self.widen(key, key);
        self.count += 1;
        Ok(())
    }

    fn tombstone(&mut self, tombstone: &rangedel::RangeTombstone) -> Result<()> {
        self.check_seqno(
            tombstone.seqno,
            "External file has a range deletion with non zero sequence number.",
        )?;
        for key in [&tombstone.start, &tombstone.end] {
            self.limit.check_key(key).map_err(|error| of_row(key, error))?;
        }
        let [start, end] = sst::writer::tombstone_bounds(self.cmp, tombstone);
        self.widen(&start, &end);
        Ok(())
    }

    fn check_seqno(&mut self, seqno: SeqNo, complaint: &str) -> Result<()> {
        if seqno != 0 && !self.any_seqno {
            return Err(Error::corruption(complaint));
        }
        self.seqnos = (self.seqnos.0.min(seqno), self.seqnos.1.max(seqno));
        Ok(())
    }

    fn widen(&mut self, from: &[u8], to: &[u8]) {
        let Some((smallest, largest)) = &mut self.bounds else {
            self.bounds = Some((from.to_vec(), to.to_vec()));
            return;
        };
        if self.cmp.compare(from, smallest).is_lt() {
            *smallest = from.to_vec();
        }
        if self.cmp.compare(to, largest).is_gt() {
            *largest = to.to_vec();
        }
    }
}

/// Adds the row that the file may not have to the error.
#[cold]
fn of_row(user_key: &[u8], error: Error) -> Error {
    let key = shown_key(user_key);
    error.context(&format!("row '{}' of the file", key.escape_ascii()))
}

/// The bounds recorded in the export; `None` if it has none.
fn told_bounds(family: &Family, file: &LiveFileMetaData) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    if file.smallest.is_empty() && file.largest.is_empty() {
        return Ok(None);
    }
    for key in [&file.smallest, &file.largest] {
        let user_key = ParsedInternalKey::parse(key)?.user_key;
        if user_key.len() < family.cmp.user().timestamp_size() {
            return Err(Error::invalid_argument("a key without its timestamp"));
        }
    }
    if family.cmp.compare(&file.smallest, &file.largest).is_gt() {
        return Err(Error::invalid_argument(format!(
            "the smallest key {} comes after the largest {}",
            internal_key::user_key(&file.smallest).escape_ascii(),
            internal_key::user_key(&file.largest).escape_ascii()
        )));
    }
    Ok(Some((file.smallest.clone(), file.largest.clone())))
}
