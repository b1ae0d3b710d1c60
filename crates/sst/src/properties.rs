//! The properties block: the metadata of a table.
//!
//! It is an ordinary block of `name -> value`, with names strictly ascending bytewise. Every name that
//! RocksDB knows is a field here. It is declared once, in the table below, with the form of its value. Every
//! other name is a user property and is kept as it is, so that reading and writing properties loses nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base::coding::{self, Reader};
use base::{Error, Result};

use crate::format::IndexType;

/// The `rocksdb.column.family.id` of a table that belongs to no column family yet.
pub const UNKNOWN_COLUMN_FAMILY: u64 = 0x7fff_ffff;

/// The property that holds the global sequence number. Old-style ingestion patches it in place.
pub const GLOBAL_SEQNO: &str = "rocksdb.external_sst_file.global_seqno";

/// The text that RocksDB writes if there is no merge operator or prefix extractor.
pub const NONE: &str = "nullptr";

/// The form of a property's value: its coding, the values that are not written, and its text.
trait Form: Sized {
    type Value;
    fn decode(value: &[u8]) -> Result<Self::Value>;
    fn encode(value: &Self::Value) -> Option<Vec<u8>>;
    fn show(value: &Self::Value) -> String;
}

/// A varint, always written.
struct Varint;
/// A varint, left out when 0.
struct NonZero;
/// A varint, left out when not known.
struct Known;
/// Raw bytes, left out when empty.
struct Text;
/// `1` or `0`, left out when not known.
struct Flag;
/// A varint 0 or 1, always written.
struct Bool;
/// A varint 0 when false, left out when true.
struct UnlessFalse;
/// Four bytes, left out when not known.
struct Fixed32;
/// Eight bytes, left out when not known.
struct Fixed64;
/// Four bytes that name an index type.
struct Index;

fn varint(value: &[u8]) -> Result<u64> {
    let mut reader = Reader::new(value);
    let number = reader.varint64("number")?;
    match reader.is_empty() {
        true => Ok(number),
        false => Err(Error::corruption("bytes after the number")),
    }
}

fn varint_bytes(number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(coding::MAX_VARINT64);
    coding::put_varint64(&mut out, number);
    out
}

fn fixed<const N: usize>(value: &[u8]) -> Result<[u8; N]> {
    value
        .try_into()
        .map_err(|_| Error::corruption(format!("{} bytes instead of {N}", value.len())))
}

impl Form for Varint {
    type Value = u64;
    fn decode(value: &[u8]) -> Result<u64> {
        varint(value)
    }
    fn encode(value: &u64) -> Option<Vec<u8>> {
        Some(varint_bytes(*value))
    }
    fn show(value: &u64) -> String {
        value.to_string()
    }
}

impl Form for NonZero {
    type Value = u64;
    fn decode(value: &[u8]) -> Result<u64> {
        varint(value)
    }
    fn encode(value: &u64) -> Option<Vec<u8>> {
        (*value != 0).then(|| varint_bytes(*value))
    }
    fn show(value: &u64) -> String {
        value.to_string()
    }
}

impl Form for Known {
    type Value = Option<u64>;
    fn decode(value: &[u8]) -> Result<Option<u64>> {
        varint(value).map(Some)
    }
    fn encode(value: &Option<u64>) -> Option<Vec<u8>> {
        value.map(varint_bytes)
    }
    fn show(value: &Option<u64>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
}

impl Form for Text {
    type Value = Vec<u8>;
    fn decode(value: &[u8]) -> Result<Vec<u8>> {
        Ok(value.to_vec())
    }
    fn encode(value: &Vec<u8>) -> Option<Vec<u8>> {
        (!value.is_empty()).then(|| value.clone())
    }
    fn show(value: &Vec<u8>) -> String {
        value.escape_ascii().to_string()
    }
}

impl Form for Flag {
    type Value = Option<bool>;
    fn decode(value: &[u8]) -> Result<Option<bool>> {
        match value {
            b"1" => Ok(Some(true)),
            b"0" => Ok(Some(false)),
            _ => Err(Error::corruption(format!("neither 1 nor 0: {value:02x?}"))),
        }
    }
    fn encode(value: &Option<bool>) -> Option<Vec<u8>> {
        value.map(|flag| vec![b'0' + u8::from(flag)])
    }
    fn show(value: &Option<bool>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
}

impl Form for Bool {
    type Value = bool;
    fn decode(value: &[u8]) -> Result<bool> {
        Ok(varint(value)? != 0)
    }
    fn encode(value: &bool) -> Option<Vec<u8>> {
        Some(vec![u8::from(*value)])
    }
    fn show(value: &bool) -> String {
        value.to_string()
    }
}

impl Form for UnlessFalse {
    type Value = bool;
    fn decode(value: &[u8]) -> Result<bool> {
        Ok(varint(value)? != 0)
    }
    fn encode(value: &bool) -> Option<Vec<u8>> {
        (!value).then(|| vec![0])
    }
    fn show(value: &bool) -> String {
        value.to_string()
    }
}

impl Form for Fixed32 {
    type Value = Option<u32>;
    fn decode(value: &[u8]) -> Result<Option<u32>> {
        Ok(Some(u32::from_le_bytes(fixed(value)?)))
    }
    fn encode(value: &Option<u32>) -> Option<Vec<u8>> {
        value.map(|number| number.to_le_bytes().to_vec())
    }
    fn show(value: &Option<u32>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
}

impl Form for Fixed64 {
    type Value = Option<u64>;
    fn decode(value: &[u8]) -> Result<Option<u64>> {
        Ok(Some(u64::from_le_bytes(fixed(value)?)))
    }
    fn encode(value: &Option<u64>) -> Option<Vec<u8>> {
        value.map(|number| number.to_le_bytes().to_vec())
    }
    fn show(value: &Option<u64>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
}

impl Form for Index {
    type Value = IndexType;
    fn decode(value: &[u8]) -> Result<IndexType> {
        let number = u32::from_le_bytes(fixed(value)?);
        IndexType::from_u32(number)
            .ok_or_else(|| Error::not_supported(format!("Unrecognized index type: {number}")))
    }
    fn encode(value: &IndexType) -> Option<Vec<u8>> {
        Some((*value as u32).to_le_bytes().to_vec())
    }
    fn show(value: &IndexType) -> String {
        value.name().to_owned()
    }
}

/// The type of the field that holds a value of this form.
macro_rules! field_type {
    (Varint) => { u64 };
    (NonZero) => { u64 };
    (Known) => { Option<u64> };
    (Text) => { Vec<u8> };
    (Flag) => { Option<bool> };
    (Bool) => { bool };
    (UnlessFalse) => { bool };
    (Fixed32) => { Option<u32> };
    (Fixed64) => { Option<u64> };
    (Index) => { IndexType };
}

/// Declares the properties: field, form, default, name.
macro_rules! properties {
    ($($(#[$doc:meta])* $field:ident: $form:ident = $default:expr, $name:literal;)*) => {
        /// The properties of a table.
        ///
        /// Texts are bytes: column family names need not be UTF-8.
        ///
        /// ```
        /// # use esker_sst::properties as esker;
        /// use esker::TableProperties;
        ///
        /// /// The part of a table's entries that are deletions.
        /// fn deleted(properties: &TableProperties) -> f64 {
        ///     properties.num_deletions as f64 / properties.num_entries.max(1) as f64
        /// }
        ///
        /// let entries = [(&b"rocksdb.deleted.keys"[..], &[1][..]), (b"rocksdb.num.entries", &[4])];
        /// assert_eq!(deleted(&TableProperties::from_entries(entries)?), 0.25);
        /// # Ok::<(), base::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct TableProperties {
            $($(#[$doc])* #[doc = concat!("`", $name, "`.")] pub $field: field_type!($form),)*
            /// The properties that are not RocksDB's own, by name.
            pub user_collected: BTreeMap<Vec<u8>, Vec<u8>>,
        }

        impl Default for TableProperties {
            /// Properties whose counts and sizes are 0, texts empty, and optional values unknown.
            fn default() -> TableProperties {
                TableProperties { $($field: $default,)* user_collected: BTreeMap::new() }
            }
        }

        impl TableProperties {
            /// Sets the property of one entry of a properties block.
            ///
            /// Errors: `Corruption` for a value that does not have its property's form, `NotSupported` for an
            /// unknown index type.
            pub fn set(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
                let in_property = |error: Error| {
                    error.context(&format!("property {}", String::from_utf8_lossy(name)))
                };
                $(if name == $name.as_bytes() {
                    self.$field = $form::decode(value).map_err(in_property)?;
                    return Ok(());
                })*
                self.user_collected.insert(name.to_vec(), value.to_vec());
                Ok(())
            }

            /// The value of the entry `name` as text: numbers in decimal, bytes that are not printable ASCII
            /// escaped.
            pub fn show(name: &[u8], value: &[u8]) -> String {
                $(if name == $name.as_bytes() && let Ok(value) = $form::decode(value) {
                    return $form::show(&value);
                })*
                value.escape_ascii().to_string()
            }

            /// The entries of a properties block, ascending by name.
            pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
                let mut entries = self.user_collected.clone();
                $(if let Some(value) = $form::encode(&self.$field) {
                    entries.insert($name.as_bytes().to_vec(), value);
                })*
                entries.into_iter().collect()
            }
        }
    };
}

properties! {
    /// The form of the index.
    index_type: Index = IndexType::BinarySearch, "rocksdb.block.based.table.index.type";
    /// True if the filter holds whole keys. `None`: the table does not say, and a reader assumes that it may.
    whole_key_filtering: Flag = None, "rocksdb.block.based.table.whole.key.filtering";
    /// True if the filter holds prefixes. `None`: the table does not say, and a reader assumes that it may.
    prefix_filtering: Flag = None, "rocksdb.block.based.table.prefix.filtering";
    /// Filter partitions end independently of index partitions.
    decoupled_partitioned_filters: Flag = None, "rocksdb.block.based.table.decoupled.partitioned.filters";
    /// Id of the column family; [`UNKNOWN_COLUMN_FAMILY`] for external files.
    column_family_id: Varint = UNKNOWN_COLUMN_FAMILY, "rocksdb.column.family.id";
    /// Name of the column family.
    column_family_name: Text = Vec::new(), "rocksdb.column.family.name";
    /// Name of the order of user keys. Empty if the name is in `untold_comparator`; see
    /// [`comparator_name`](TableProperties::comparator_name).
    comparator: Text = Vec::new(), "rocksdb.comparator";
    /// Name of the order of user keys, for orders whose name is withheld from RocksDB's programs.
    untold_comparator: Text = Vec::new(), "esker.comparator";
    /// The compression types in use.
    compression: Text = Vec::new(), "rocksdb.compression";
    /// The compressor's options, for people.
    compression_options: Text = Vec::new(), "rocksdb.compression_options";
    /// Id of the database that wrote the file.
    db_id: Text = Vec::new(), "rocksdb.creating.db.identity";
    /// Id of the session that wrote the file: 20 characters.
    db_session_id: Text = Vec::new(), "rocksdb.creating.session.identity";
    /// The machine that wrote the file.
    db_host_id: Text = Vec::new(), "rocksdb.creating.host.identity";
    /// The time in Unix seconds at which the oldest data was first written to a file; 0 if unknown.
    creation_time: Varint = 0, "rocksdb.creation.time";
    /// The time of the oldest key, in Unix seconds; 0 if unknown.
    oldest_key_time: Varint = 0, "rocksdb.oldest.key.time";
    /// The time of the newest key, in Unix seconds; 0 if unknown.
    newest_key_time: Known = None, "rocksdb.newest.key.time";
    /// The time at which this file was written, in Unix seconds; 0 if unknown.
    file_creation_time: NonZero = 0, "rocksdb.file.creation.time";
    /// Bytes from the start of the file to the end of the last data block, trailers and padding included.
    data_size: Varint = 0, "rocksdb.data.size";
    /// Keys between restart points of data blocks.
    data_block_restart_interval: Known = None, "rocksdb.data.block.restart.interval";
    /// Keys between restart points of index blocks.
    index_block_restart_interval: Known = None, "rocksdb.index.block.restart.interval";
    /// Deletions of every kind, range deletions included.
    num_deletions: Varint = 0, "rocksdb.deleted.keys";
    /// 2 if the file has a global sequence number, 1 if it is external and has none.
    external_sst_file_version: Fixed32 = None, "rocksdb.external_sst_file.version";
    /// The global sequence number, 0 until old-style ingestion writes it here.
    external_sst_file_global_seqno: Fixed64 = None, "rocksdb.external_sst_file.global_seqno";
    /// The statistics of blobs that are embedded in the table.
    embedded_blob_stats: Text = Vec::new(), "rocksdb.embedded.blob.stats";
    /// Name of the filter policy, for people. The metaindex has the kind of the filter.
    filter_policy: Text = Vec::new(), "rocksdb.filter.policy";
    /// Bytes of the filter's contents, its top-level index included.
    filter_size: Varint = 0, "rocksdb.filter.size";
    /// The length of every key if all keys have the same length; 0 otherwise.
    fixed_key_len: Varint = 0, "rocksdb.fixed.key.length";
    /// The format version, 0 before RocksDB 9.8.
    format_version: Varint = 0, "rocksdb.format.version";
    /// Bytes of the index uncompressed: all partitions and one trailer.
    index_size: Varint = 0, "rocksdb.index.size";
    /// Keys of the index are user keys.
    index_key_is_user_key: Bool = false, "rocksdb.index.key.is.user.key";
    /// Values of the index are delta-coded.
    index_value_is_delta_encoded: Bool = false, "rocksdb.index.value.is.delta.encoded";
    /// Index partitions.
    index_partitions: Known = None, "rocksdb.index.partitions";
    /// Bytes of the index over index partitions.
    top_level_index_size: Known = None, "rocksdb.top-level.index.size";
    /// Highest sequence number of a key.
    key_largest_seqno: Known = None, "rocksdb.key.largest.seqno";
    /// Highest sequence number of an entry that is no range tombstone, in tables that have range tombstones.
    /// RocksDB has no such property.
    entry_largest_seqno: Known = None, "esker.entry.largest.seqno";
    /// Lowest sequence number of a key.
    key_smallest_seqno: Known = None, "rocksdb.key.smallest.seqno";
    /// Merge operands.
    num_merge_operands: Varint = 0, "rocksdb.merge.operands";
    /// Name of the merge operator, [`NONE`] without one.
    merge_operator: Text = Vec::new(), "rocksdb.merge.operator";
    /// Data blocks. RocksDB 11 writes 0 when it built a compression dictionary.
    num_data_blocks: Varint = 0, "rocksdb.num.data.blocks";
    /// Data blocks stored raw because compression did not pay.
    num_data_blocks_compression_rejected: Known = None, "rocksdb.num.data.blocks.compression.rejected";
    /// Data blocks stored raw without an attempt to compress them.
    num_data_blocks_compression_bypassed: Known = None, "rocksdb.num.data.blocks.compression.bypassed";
    /// Index blocks with evenly spread keys.
    num_uniform_blocks: Known = None, "rocksdb.num.uniform.blocks";
    /// Entries, range deletions included.
    num_entries: Varint = 0, "rocksdb.num.entries";
    /// Entries added to the filter.
    num_filter_entries: Varint = 0, "rocksdb.num.filter_entries";
    /// Range deletions.
    num_range_deletions: Varint = 0, "rocksdb.num.range-deletions";
    /// The number the file had in the database that wrote it.
    orig_file_number: Varint = 0, "rocksdb.original.file.number";
    /// Name of the prefix extractor, [`NONE`] without one.
    prefix_extractor_name: Text = Vec::new(), "rocksdb.prefix.extractor.name";
    /// Names of the property collectors, `[]` without any.
    property_collectors: Text = Vec::new(), "rocksdb.property.collectors";
    /// Sum of the lengths of all internal keys, range deletions included.
    raw_key_size: Varint = 0, "rocksdb.raw.key.size";
    /// Sum of the lengths of all values, range deletions included.
    raw_value_size: Varint = 0, "rocksdb.raw.value.size";
    /// Estimated bytes under a slow compression.
    slow_compression_estimated_data_size: NonZero = 0, "rocksdb.sample_for_compression.slow.data.size";
    /// Estimated bytes under a fast compression.
    fast_compression_estimated_data_size: NonZero = 0, "rocksdb.sample_for_compression.fast.data.size";
    /// Data blocks keep keys and values in separate sections.
    separate_key_value_in_data_block: NonZero = 0, "rocksdb.separate.key.value.in.data.block";
    /// Pairs of sequence number and time, delta-coded.
    seqno_to_time_mapping: Text = Vec::new(), "rocksdb.seqno.time.map";
    /// The end of the data blocks and the start of the meta blocks.
    tail_start_offset: Known = None, "rocksdb.tail.start.offset";
    /// Oldest timestamp of a key.
    timestamp_min: Text = Vec::new(), "rocksdb.timestamp_min";
    /// Newest timestamp of a key.
    timestamp_max: Text = Vec::new(), "rocksdb.timestamp_max";
    /// A user-defined index replaces the standard one.
    udi_is_primary_index: NonZero = 0, "rocksdb.udi.is.primary.index";
    /// False if the timestamps were cut off the keys when the file was written.
    user_defined_timestamps_persisted: UnlessFalse = true, "rocksdb.user.defined.timestamps.persisted";
}

impl TableProperties {
    /// The name of the order of user keys; empty in old tables.
    pub fn comparator_name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(match self.untold_comparator.is_empty() {
            true => &self.comparator,
            false => &self.untold_comparator,
        })
    }

    /// Reads the entries of a properties block, in the order of the block.
    ///
    /// Errors: as [`TableProperties::set`], and `Corruption` if names do not ascend strictly.
    pub fn from_entries<'a>(
        entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<TableProperties> {
        let mut properties = TableProperties::default();
        let mut last: Option<Vec<u8>> = None;
        for (name, value) in entries {
            if last.as_deref().is_some_and(|last| last >= name) {
                return Err(Error::corruption("properties unsorted"));
            }
            properties.set(name, value)?;
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(name);
        }
        Ok(properties)
    }

    /// The name of the prefix extractor, if the table was written with one.
    pub fn prefix_extractor(&self) -> Option<&[u8]> {
        (!self.prefix_extractor_name.is_empty() && self.prefix_extractor_name != NONE.as_bytes())
            .then_some(&self.prefix_extractor_name[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[(Vec<u8>, Vec<u8>)]) -> Result<TableProperties> {
        TableProperties::from_entries(
            entries
                .iter()
                .map(|(name, value)| (name.as_slice(), value.as_slice())),
        )
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut properties = TableProperties {
            index_type: IndexType::TwoLevel,
            whole_key_filtering: Some(true),
            column_family_name: b"default\xff".to_vec(),
            num_entries: 1 << 40,
            index_key_is_user_key: true,
            external_sst_file_version: Some(2),
            external_sst_file_global_seqno: Some(77),
            user_defined_timestamps_persisted: false,
            ..TableProperties::default()
        };
        properties
            .user_collected
            .insert(b"a.collector".to_vec(), b"x".to_vec());
        let entries = properties.entries();
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(read(&entries).unwrap(), properties);
        assert_eq!(
            read(&TableProperties::default().entries()).unwrap(),
            TableProperties::default()
        );
    }

    #[test]
    fn values_are_shown_by_their_form() {
        let show = |name: &str, value: &[u8]| TableProperties::show(name.as_bytes(), value);
        assert_eq!(show("rocksdb.num.entries", b"\xac\x02"), "300");
        assert_eq!(show("rocksdb.num.entries", b"\xac"), "\\xac");
        assert_eq!(
            show("rocksdb.block.based.table.whole.key.filtering", b"1"),
            "true"
        );
        assert_eq!(
            show("rocksdb.block.based.table.index.type", &[2, 0, 0, 0]),
            "kTwoLevelIndexSearch"
        );
        assert_eq!(
            show(
                "rocksdb.external_sst_file.global_seqno",
                &[7, 0, 0, 0, 0, 0, 0, 0]
            ),
            "7"
        );
        assert_eq!(show("rocksdb.comparator", b"x\n"), "x\\n");
        assert_eq!(show("mine", b"\x01"), "\\x01");
    }

    #[test]
    fn disorder_and_bad_forms_are_corruption() {
        let entry = |name: &str, value: &[u8]| (name.as_bytes().to_vec(), value.to_vec());
        for bad in [
            vec![entry("b", b""), entry("a", b"")],
            vec![entry("a", b""), entry("a", b"")],
            vec![entry("rocksdb.num.entries", b"")],
            vec![entry("rocksdb.num.entries", b"\x01\x01")],
            vec![entry("rocksdb.block.based.table.whole.key.filtering", b"yes")],
            vec![entry("rocksdb.block.based.table.index.type", b"\0")],
        ] {
            assert!(read(&bad).unwrap_err().is_corruption(), "{bad:?}");
        }
    }
}
