//! The MANIFEST's record of an SST.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{self, AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, OnceLock};

use base::internal_key::{self, TRAILER_LEN, pack_trailer};
use base::read_sample::{self, READ_SAMPLE_RATE};
use base::{Kind, MAX_SEQNO, SeqNo, Temperature, UserComparator};

/// The highest file number: RocksDB keeps the path id in the two bits above.
pub const MAX_FILE_NUMBER: u64 = (1 << 62) - 1;

/// The highest path id.
pub const MAX_PATH_ID: u32 = 3;

/// The trailer of a largest key that is the end of a range tombstone: the key itself is not in the file.
pub const RANGE_TOMBSTONE_SENTINEL: u64 = pack_trailer(MAX_SEQNO, Kind::RangeDeletion as u8);

/// A checksum over a whole file, from the user's checksum generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChecksum {
    /// The name of the function, `Unknown` for none.
    pub func_name: String,
    /// The checksum's bytes, empty for none.
    pub value: Box<[u8]>,
}

/// The name that means no checksum function. RocksDB 7.8 writes it for every file.
pub const UNKNOWN_CHECKSUM_FUNC_NAME: &str = "Unknown";

/// Statistics of an SST's entries that pickers use, from its properties. They are not in the MANIFEST: the
/// code that opens the table fills them in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// The number of entries, including deletions and range deletions.
    pub num_entries: u64,
    /// The number of deletions, including range deletions.
    pub num_deletions: u64,
    /// The number of range deletions.
    pub num_range_deletions: u64,
    /// Bytes of all keys, uncompressed.
    pub raw_key_size: u64,
    /// Bytes of all values, uncompressed.
    pub raw_value_size: u64,
    /// The compression of the table's blocks, according to their trailers; `None` if the table does not
    /// record it.
    pub compression: Option<u8>,
}

/// An SST: its record in the MANIFEST, and the engine's state for it while it is live. Shared in an `Arc` by
/// versions and jobs.
///
/// The default is a file without number, size and bounds, to be filled in.
pub struct FileMetadata {
    /// The file number.
    pub number: u64,
    /// The index of the configured path of the file; at most [`MAX_PATH_ID`].
    pub path_id: u32,
    /// The exact size in bytes.
    pub size: u64,
    /// The smallest internal key: of a point or of a range tombstone's start.
    pub smallest: Box<[u8]>,
    /// The largest internal key; if it has the trailer [`RANGE_TOMBSTONE_SENTINEL`], its user key is not in
    /// the file.
    pub largest: Box<[u8]>,
    /// The lowest sequence number in the file.
    pub smallest_seqno: SeqNo,
    /// The highest sequence number in the file.
    pub largest_seqno: SeqNo,
    /// True if a table property collector asked for the compaction of the file.
    pub marked_for_compaction: bool,
    /// The lowest number of a blob file that the file's entries refer to.
    pub oldest_blob_file_number: Option<u64>,
    /// The time of the oldest data in the file, in Unix seconds; 0: unknown.
    pub oldest_ancestor_time: u64,
    /// The creation time of the file in Unix seconds; 0: unknown.
    pub file_creation_time: u64,
    /// The checksum over the whole file.
    pub file_checksum: Option<FileChecksum>,
    /// The storage temperature.
    pub temperature: Temperature,
    /// RocksDB's unique id of the table, from its properties.
    pub unique_id: Option<[u8; 16]>,
    /// The order of flushes and ingestions: in L0 a larger number is newer.
    pub epoch_number: Option<u64>,
    /// The estimated bytes in the next level that the file's range tombstones cover; 0: none or unknown.
    pub compensated_range_deletion_size: u64,
    /// Bytes from the end of the data blocks to the end of the file; 0: unknown. A hint.
    pub tail_size: u64,
    /// False if timestamps were left out of the file's keys and of the bounds in the MANIFEST.
    pub user_defined_timestamps_persisted: bool,
    /// Bytes of timestamp that [`smallest`](Self::smallest) and [`largest`](Self::largest) have here but not
    /// in the MANIFEST.
    pub padded_timestamp_size: usize,
    /// The smallest timestamp in the file; empty: unknown.
    pub min_timestamp: Box<[u8]>,
    /// The largest timestamp in the file; empty: unknown.
    pub max_timestamp: Box<[u8]>,
    /// Opaque data that a file system needs when the file is opened.
    pub file_open_metadata: Box<[u8]>,
    /// Ignorable fields of later RocksDB releases, which are written back unchanged.
    pub unknown_fields: Vec<(u32, Box<[u8]>)>,

    /// The level that the file is in, or was in last: set whenever a version is built that has the file in
    /// that level. 255 before that. Reads of the file are counted by this level.
    pub level: Arc<AtomicU8>,
    /// True while the file is an input of a compaction. Set and cleared under the database mutex; read
    /// without the mutex for display.
    pub being_compacted: AtomicBool,
    /// True once a compaction found a row in the file that our tables cannot hold. Set under the database
    /// mutex, never cleared.
    pub left_alone: AtomicBool,
    /// The estimated number of reads of the file by Get, MultiGet and iterators, of which one in
    /// [`READ_SAMPLE_RATE`] is counted. Readers only add to it.
    pub num_reads_sampled: AtomicU64,
    /// The statistics of the file's entries, once the properties have been read.
    pub stats: OnceLock<FileStats>,
    /// The open table. Owner: the engine's table cache.
    pub handle: OnceLock<Box<dyn Any + Send + Sync>>,
    /// The charge of this record to a block cache, if records are charged. Owner: the engine's table cache.
    pub charge: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Default for FileMetadata {
    fn default() -> FileMetadata {
        FileMetadata {
            number: 0,
            path_id: 0,
            size: 0,
            smallest: Box::default(),
            largest: Box::default(),
            smallest_seqno: 0,
            largest_seqno: 0,
            marked_for_compaction: false,
            oldest_blob_file_number: None,
            oldest_ancestor_time: 0,
            file_creation_time: 0,
            file_checksum: None,
            temperature: Temperature::UNKNOWN,
            unique_id: None,
            epoch_number: None,
            compensated_range_deletion_size: 0,
            tail_size: 0,
            user_defined_timestamps_persisted: true,
            padded_timestamp_size: 0,
            min_timestamp: Box::default(),
            max_timestamp: Box::default(),
            file_open_metadata: Box::default(),
            unknown_fields: Vec::new(),
            level: Arc::new(AtomicU8::new(u8::MAX)),
            being_compacted: AtomicBool::new(false),
            left_alone: AtomicBool::new(false),
            num_reads_sampled: AtomicU64::new(0),
            stats: OnceLock::new(),
            handle: OnceLock::new(),
            charge: OnceLock::new(),
        }
    }
}

impl Clone for FileMetadata {
    /// Clones the facts of the MANIFEST without the engine's state: the clone has no open table, and is in no
    /// compaction.
    fn clone(&self) -> FileMetadata {
        FileMetadata {
            number: self.number,
            path_id: self.path_id,
            size: self.size,
            smallest: self.smallest.clone(),
            largest: self.largest.clone(),
            smallest_seqno: self.smallest_seqno,
            largest_seqno: self.largest_seqno,
            marked_for_compaction: self.marked_for_compaction,
            oldest_blob_file_number: self.oldest_blob_file_number,
            oldest_ancestor_time: self.oldest_ancestor_time,
            file_creation_time: self.file_creation_time,
            file_checksum: self.file_checksum.clone(),
            temperature: self.temperature,
            unique_id: self.unique_id,
            epoch_number: self.epoch_number,
            compensated_range_deletion_size: self.compensated_range_deletion_size,
            tail_size: self.tail_size,
            user_defined_timestamps_persisted: self.user_defined_timestamps_persisted,
            padded_timestamp_size: self.padded_timestamp_size,
            min_timestamp: self.min_timestamp.clone(),
            max_timestamp: self.max_timestamp.clone(),
            file_open_metadata: self.file_open_metadata.clone(),
            unknown_fields: self.unknown_fields.clone(),
            stats: self.stats.clone(),
            num_reads_sampled: AtomicU64::new(self.num_reads_sampled.load(atomic::Ordering::Relaxed)),
            ..FileMetadata::default()
        }
    }
}

impl PartialEq for FileMetadata {
    /// Compares the MANIFEST's facts, not the engine's state.
    fn eq(&self, other: &FileMetadata) -> bool {
        let words = |file: &FileMetadata| {
            [
                file.number,
                u64::from(file.path_id),
                file.size,
                file.smallest_seqno,
                file.largest_seqno,
                file.oldest_ancestor_time,
                file.file_creation_time,
                file.compensated_range_deletion_size,
                file.tail_size,
                file.padded_timestamp_size as u64,
                u64::from(file.temperature.0),
                u64::from(file.marked_for_compaction),
                u64::from(file.user_defined_timestamps_persisted),
            ]
        };
        words(self) == words(other)
            && self.smallest == other.smallest
            && self.largest == other.largest
            && self.oldest_blob_file_number == other.oldest_blob_file_number
            && self.file_checksum == other.file_checksum
            && self.unique_id == other.unique_id
            && self.epoch_number == other.epoch_number
            && self.min_timestamp == other.min_timestamp
            && self.max_timestamp == other.max_timestamp
            && self.file_open_metadata == other.file_open_metadata
            && self.unknown_fields == other.unknown_fields
    }
}

impl Eq for FileMetadata {}

impl fmt::Debug for FileMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "#{} size={} [{} .. {}] seqno={}..{}",
            self.number,
            self.size,
            self.smallest.escape_ascii(),
            self.largest.escape_ascii(),
            self.smallest_seqno,
            self.largest_seqno
        )?;
        if let Some(epoch) = self.epoch_number {
            write!(f, " epoch={epoch}")?;
        }
        if let Some(blob) = self.oldest_blob_file_number {
            write!(f, " oldest_blob={blob}")?;
        }
        Ok(())
    }
}

impl FileMetadata {
    /// Counts a read of the file if the read is sampled.
    #[inline]
    pub fn sample_read(&self) {
        if read_sample::is_sampled() {
            self.num_reads_sampled
                .fetch_add(u64::from(READ_SAMPLE_RATE), atomic::Ordering::Relaxed);
        }
    }

    /// True if both describe the same table: number, size, bounds, sequence numbers and unique id are equal.
    pub fn is_same_table(&self, other: &FileMetadata) -> bool {
        self.number == other.number
            && self.path_id == other.path_id
            && self.size == other.size
            && self.smallest == other.smallest
            && self.largest == other.largest
            && (self.smallest_seqno, self.largest_seqno) == (other.smallest_seqno, other.largest_seqno)
            && self.unique_id == other.unique_id
    }

    /// The user key of [`smallest`](Self::smallest).
    #[inline]
    pub fn smallest_user_key(&self) -> &[u8] {
        internal_key::user_key(&self.smallest)
    }

    /// The user key of [`largest`](Self::largest); see [`largest_is_sentinel`](Self::largest_is_sentinel).
    #[inline]
    pub fn largest_user_key(&self) -> &[u8] {
        internal_key::user_key(&self.largest)
    }

    /// True if the largest key is a range tombstone's end, so that its user key is not in the file.
    #[inline]
    pub fn largest_is_sentinel(&self) -> bool {
        internal_key::trailer(&self.largest) == RANGE_TOMBSTONE_SENTINEL
    }

    /// True if all of the file is before `user_key`, timestamps ignored.
    #[inline]
    pub fn is_before(&self, cmp: &UserComparator, user_key: &[u8]) -> bool {
        match cmp.compare_without_timestamp(self.largest_user_key(), user_key) {
            Ordering::Less => true,
            Ordering::Equal => self.largest_is_sentinel(),
            Ordering::Greater => false,
        }
    }

    /// True if all of the file is after `user_key`, timestamps ignored.
    #[inline]
    pub fn is_after(&self, cmp: &UserComparator, user_key: &[u8]) -> bool {
        cmp.compare_without_timestamp(self.smallest_user_key(), user_key)
            .is_gt()
    }

    /// True if the file's range overlaps the user keys from `begin` to `end`, both inclusive, `None`:
    /// unbounded; timestamps ignored.
    pub fn overlaps(&self, cmp: &UserComparator, begin: Option<&[u8]>, end: Option<&[u8]>) -> bool {
        !begin.is_some_and(|begin| self.is_before(cmp, begin))
            && !end.is_some_and(|end| self.is_after(cmp, end))
    }

    /// True while the file is an input of a compaction.
    pub fn is_being_compacted(&self) -> bool {
        self.being_compacted.load(atomic::Ordering::Relaxed)
    }

    /// True if automatic compactions must not use the file.
    pub fn is_left_alone(&self) -> bool {
        self.left_alone.load(atomic::Ordering::Relaxed)
    }

    /// Excludes the file from automatic compactions. The caller holds the database mutex.
    pub fn leave_alone(&self) {
        self.left_alone.store(true, atomic::Ordering::Relaxed);
    }

    /// True if an automatic compaction may pick the file.
    pub fn is_idle(&self) -> bool {
        !self.is_being_compacted() && !self.is_left_alone()
    }

    /// Marks the file as an input of a compaction, or unmarks it. The caller holds the database mutex.
    pub fn set_being_compacted(&self, being_compacted: bool) {
        self.being_compacted
            .store(being_compacted, atomic::Ordering::Relaxed);
    }

    /// Records that neither the file's keys nor its bounds in the MANIFEST have timestamps, which have
    /// `timestamp_size` bytes. Pads bounds that lack them: with the smallest timestamp (zeros), and a
    /// [sentinel](Self::largest_is_sentinel) with the largest.
    pub fn pad_timestamps(&mut self, timestamp_size: usize) {
        let pad = |key: &[u8], byte: u8| -> Box<[u8]> {
            let (user_key, trailer) = key.split_at(key.len() - TRAILER_LEN);
            [user_key, &vec![byte; timestamp_size], trailer].concat().into()
        };
        self.user_defined_timestamps_persisted = false;
        if self.padded_timestamp_size == 0 {
            let fill = if self.largest_is_sentinel() { 0xff } else { 0 };
            self.smallest = pad(&self.smallest, 0);
            self.largest = pad(&self.largest, fill);
            self.padded_timestamp_size = timestamp_size;
        }
    }

    /// The memory of this record in bytes, without the open table.
    pub fn memory_usage(&self) -> usize {
        size_of::<FileMetadata>()
            + self.smallest.len()
            + self.largest.len()
            + self.file_open_metadata.len()
            + self
                .unknown_fields
                .iter()
                .map(|field| field.1.len())
                .sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(smallest: &[u8], largest: &[u8], sentinel: bool) -> FileMetadata {
        let largest = if sentinel {
            internal_key::encode(largest, MAX_SEQNO, Kind::RangeDeletion)
        } else {
            internal_key::encode(largest, 3, Kind::Value)
        };
        FileMetadata {
            smallest: internal_key::encode(smallest, 7, Kind::Value).into(),
            largest: largest.into(),
            ..FileMetadata::default()
        }
    }

    #[test]
    fn a_sentinel_leaves_its_key_out() {
        let cmp = UserComparator::Bytewise;
        let plain = file(b"b", b"d", false);
        let cut = file(b"b", b"d", true);
        assert!(plain.overlaps(&cmp, Some(b"d"), None) && !cut.overlaps(&cmp, Some(b"d"), None));
        assert!(cut.overlaps(&cmp, Some(b"c"), Some(b"c")));
        assert!(plain.overlaps(&cmp, None, Some(b"b")) && !plain.overlaps(&cmp, None, Some(b"a")));
        assert!(plain.overlaps(&cmp, None, None));
    }

    #[test]
    fn bounds_without_timestamps_are_padded() {
        let mut plain = file(b"b", b"d", false);
        plain.pad_timestamps(8);
        assert_eq!(plain.smallest_user_key(), [b"b", &[0; 8][..]].concat());
        assert_eq!(plain.largest_user_key(), [b"d", &[0; 8][..]].concat());
        let mut cut = file(b"b", b"d", true);
        cut.pad_timestamps(8);
        cut.pad_timestamps(8);
        assert_eq!(cut.largest_user_key(), [b"d", &[0xff; 8][..]].concat());
        assert!(cut.largest_is_sentinel());
    }
}
