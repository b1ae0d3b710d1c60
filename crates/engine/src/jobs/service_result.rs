//! The result of a compaction in another process: RocksDB's `CompactionServiceResult`.

use base::{Error, ErrorKind, Result, SeqNo, Temperature};
use manifest::{FileChecksum, UNKNOWN_CHECKSUM_FUNC_NAME};
use sst::TableProperties;

use super::service_text::{TextReader, TextWriter, list};
use crate::options::table::OptionValue;

/// The result of a compaction in another process, whose tables are in a directory of their own.
#[derive(Clone, Debug)]
pub(crate) struct CompactionServiceResult {
    /// The error that ended the compaction, if one did.
    pub status: Result<()>,
    /// The tables in key order.
    pub output_files: Vec<OutputTable>,
    /// The level for which the tables were written.
    pub output_level: usize,
    /// The directory of the tables.
    pub output_path: String,
    /// The bytes of the input tables.
    pub bytes_read: u64,
    /// The bytes of the written tables.
    pub bytes_written: u64,
    /// The counts of the compaction.
    pub stats: JobStats,
}

/// The counts of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobStats {
    pub elapsed_micros: u64,
    pub cpu_micros: u64,
    pub num_input_records: u64,
    pub num_input_files: u64,
    pub num_input_files_at_output_level: u64,
    pub num_output_records: u64,
    /// The bytes of the inputs at the output level.
    pub output_level_bytes: u64,
    pub is_full_compaction: bool,
}

/// A table that another process has written.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputTable {
    pub file_name: String,
    /// The size in bytes; 0: not recorded.
    pub file_size: u64,
    pub smallest_seqno: SeqNo,
    pub largest_seqno: SeqNo,
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    /// The time of the oldest data, in Unix seconds; 0 if not known.
    pub oldest_ancestor_time: u64,
    /// The time of the creation, in Unix seconds; 0 if not known.
    pub file_creation_time: u64,
    pub epoch_number: u64,
    pub file_checksum: Option<FileChecksum>,
    /// True if a collector asks for a compaction.
    pub marked_for_compaction: bool,
    /// The unique id of the table; `None`: it has none.
    pub unique_id: Option<[u8; 16]>,
    /// True if the table belongs to the level above the output level.
    pub is_proximal_level_output: bool,
    pub temperature: Temperature,
    /// The properties, for the statistics of RocksDB's process. Not read: the table has them too.
    pub properties: TableProperties,
}

/// RocksDB's numbers of the codes and subcodes of a status. The first kind of a code is its general one.
const CODES: &[(ErrorKind, u8, u8)] = &[
    (ErrorKind::NotFound, 1, 0),
    (ErrorKind::Corruption, 2, 0),
    (ErrorKind::MergeFailed, 2, 15),
    (ErrorKind::NotSupported, 3, 0),
    (ErrorKind::InvalidArgument, 4, 0),
    (ErrorKind::NoDatabase, 4, 0),
    (ErrorKind::ComparatorMismatch, 4, 0),
    (ErrorKind::Io, 5, 0),
    (ErrorKind::NoSpace, 5, 4),
    (ErrorKind::SpaceLimit, 5, 8),
    (ErrorKind::LockHeld, 5, 0),
    (ErrorKind::ReadOnly, 5, 0),
    (ErrorKind::Incomplete, 7, 0),
    (ErrorKind::ShutdownInProgress, 8, 0),
    (ErrorKind::TimedOut, 9, 0),
    (ErrorKind::Aborted, 10, 0),
    (ErrorKind::Panicked, 10, 0),
    (ErrorKind::Busy, 11, 0),
    (ErrorKind::Expired, 12, 0),
    (ErrorKind::TryAgain, 13, 0),
    (ErrorKind::CompactionTooLarge, 14, 0),
    (ErrorKind::ColumnFamilyDropped, 15, 0),
];

/// RocksDB's status code of success.
const OK: u8 = 0;

fn write_status(text: &mut TextWriter, status: &Result<()>) {
    let (code, subcode, message) = match status {
        Ok(()) => (OK, 0, ""),
        Err(error) => {
            let known = CODES.iter().find(|(kind, ..)| *kind == error.kind());
            let (_, code, subcode) = known.copied().unwrap_or((error.kind(), 10, 0));
            (code, subcode, error.message())
        }
    };
    text.write_field("code", code);
    text.write_field("subcode", subcode);
    text.write_field("severity", 0);
    text.bytes("message", message.as_bytes());
}

fn read_status(text: &TextReader<'_>) -> Result<Result<()>> {
    let (code, subcode): (u8, u8) = (text.number("code")?, text.number_or_0("subcode")?);
    if code == OK {
        return Ok(Ok(()));
    }
    let of_code = || CODES.iter().filter(|known| known.1 == code);
    let exact = of_code().find(|known| known.2 == subcode);
    let kind = exact
        .or_else(|| of_code().next())
        .map_or(ErrorKind::Aborted, |known| known.0);
    let message = text.bytes("message")?;
    Ok(Err(Error::new(
        kind,
        String::from_utf8_lossy(&message).into_owned(),
    )))
}

impl CompactionServiceResult {
    /// The result in RocksDB's form.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = TextWriter::default();
        text.group("status", |text| write_status(text, &self.status));
        text.groups("output_files", &self.output_files, write_file);
        text.write_field("output_level", self.output_level);
        text.bytes("output_path", self.output_path.as_bytes());
        text.write_field("bytes_read", self.bytes_read);
        text.write_field("bytes_written", self.bytes_written);
        text.group("stats", |text| self.write_stats(text));
        text.group("internal_stats", |text| {
            text.group("output_level_stats", |text| self.write_level_stats(text));
            text.write_field("has_proximal_level_output", false);
        });
        text.encode()
    }

    fn write_stats(&self, text: &mut TextWriter) {
        let stats = &self.stats;
        text.write_field("elapsed_micros", stats.elapsed_micros);
        text.write_field("cpu_micros", stats.cpu_micros);
        // The number of records is that of the whole files, of which the compaction may read only a part.
        text.write_field("has_accurate_num_input_records", false);
        text.write_field("num_input_records", stats.num_input_records);
        text.write_field("num_input_files", stats.num_input_files);
        text.write_field(
            "num_input_files_at_output_level",
            stats.num_input_files_at_output_level,
        );
        text.write_field("num_output_records", stats.num_output_records);
        text.write_field("num_output_files", self.output_files.len());
        text.write_field("is_full_compaction", stats.is_full_compaction);
        text.write_field("is_manual_compaction", true);
        text.write_field("is_remote_compaction", true);
        text.write_field("total_input_bytes", self.bytes_read);
        text.write_field("total_output_bytes", self.bytes_written);
    }

    fn write_level_stats(&self, text: &mut TextWriter) {
        let stats = &self.stats;
        let above = self.bytes_read.saturating_sub(stats.output_level_bytes);
        let files_above = stats
            .num_input_files
            .saturating_sub(stats.num_input_files_at_output_level);
        text.write_field("micros", stats.elapsed_micros);
        text.write_field("cpu_micros", stats.cpu_micros);
        text.write_field("bytes_read_non_output_levels", above);
        text.write_field("bytes_read_output_level", stats.output_level_bytes);
        text.write_field("bytes_written", self.bytes_written);
        text.write_field("num_input_files_in_non_output_levels", files_above);
        text.write_field(
            "num_input_files_in_output_level",
            stats.num_input_files_at_output_level,
        );
        text.write_field("num_output_files", self.output_files.len());
        text.write_field("num_input_records", stats.num_input_records);
        text.write_field("num_output_records", stats.num_output_records);
        text.write_field("count", 1);
    }

    /// Reads a result from RocksDB's form.
    ///
    /// # Errors
    /// `InvalidArgument` names the field that is missing or wrong; `NotSupported` for another version.
    pub fn decode(data: &[u8]) -> Result<CompactionServiceResult> {
        let text = TextReader::decode("Result", data)?;
        let stats = text.group("stats")?;
        let files = text.groups("output_files")?;
        Ok(CompactionServiceResult {
            status: read_status(&text.group("status")?)?,
            output_files: files.iter().map(read_file).collect::<Result<_>>()?,
            output_level: text.number("output_level")?,
            output_path: text.text("output_path")?,
            bytes_read: text.number("bytes_read")?,
            bytes_written: text.number("bytes_written")?,
            stats: JobStats {
                elapsed_micros: stats.number_or_0("elapsed_micros")?,
                cpu_micros: stats.number_or_0("cpu_micros")?,
                num_input_records: stats.number_or_0("num_input_records")?,
                num_input_files: stats.number_or_0("num_input_files")?,
                num_input_files_at_output_level: stats.number_or_0("num_input_files_at_output_level")?,
                num_output_records: stats.number_or_0("num_output_records")?,
                output_level_bytes: 0,
                is_full_compaction: stats.flag("is_full_compaction")?,
            },
        })
    }
}

fn write_file(text: &mut TextWriter, file: &OutputTable) {
    text.bytes("file_name", file.file_name.as_bytes());
    text.write_field("file_size", file.file_size);
    text.write_field("smallest_seqno", file.smallest_seqno);
    text.write_field("largest_seqno", file.largest_seqno);
    text.bytes("smallest_internal_key", &file.smallest);
    text.bytes("largest_internal_key", &file.largest);
    text.write_field("oldest_ancester_time", file.oldest_ancestor_time);
    text.write_field("file_creation_time", file.file_creation_time);
    text.write_field("epoch_number", file.epoch_number);
    let (value, name) = match &file.file_checksum {
        Some(checksum) => (&checksum.value[..], &*checksum.func_name),
        None => (&[][..], UNKNOWN_CHECKSUM_FUNC_NAME),
    };
    text.bytes("file_checksum", value);
    text.bytes("file_checksum_func_name", name.as_bytes());
    text.write_field("paranoid_hash", 0);
    text.write_field("marked_for_compaction", file.marked_for_compaction);
    let id = file.unique_id.unwrap_or_default();
    let halves = id.as_chunks::<8>().0.iter().map(|half| u64::from_le_bytes(*half));
    text.write_field("unique_id", list(halves));
    text.group("table_properties", |text| {
        write_properties(text, &file.properties)
    });
    text.write_field("is_proximal_level_output", file.is_proximal_level_output);
    text.write_field("file_temperature", file.temperature.text());
}

fn write_properties(text: &mut TextWriter, properties: &TableProperties) {
    let numbers = [
        ("orig_file_number", properties.orig_file_number),
        ("data_size", properties.data_size),
        ("index_size", properties.index_size),
        ("filter_size", properties.filter_size),
        ("raw_key_size", properties.raw_key_size),
        ("raw_value_size", properties.raw_value_size),
        ("num_data_blocks", properties.num_data_blocks),
        ("num_entries", properties.num_entries),
        ("num_filter_entries", properties.num_filter_entries),
        ("num_deletions", properties.num_deletions),
        ("num_merge_operands", properties.num_merge_operands),
        ("num_range_deletions", properties.num_range_deletions),
        ("format_version", properties.format_version),
        ("column_family_id", properties.column_family_id),
        ("creation_time", properties.creation_time),
        ("oldest_key_time", properties.oldest_key_time),
        ("file_creation_time", properties.file_creation_time),
        ("tail_start_offset", properties.tail_start_offset.unwrap_or(0)),
    ];
    for (name, number) in numbers {
        text.write_field(name, number);
    }
    let strings = [
        ("db_id", &properties.db_id),
        ("db_session_id", &properties.db_session_id),
        ("db_host_id", &properties.db_host_id),
        ("column_family_name", &properties.column_family_name),
        ("filter_policy_name", &properties.filter_policy),
        ("comparator_name", &properties.comparator),
        ("merge_operator_name", &properties.merge_operator),
        ("prefix_extractor_name", &properties.prefix_extractor_name),
        ("property_collectors_names", &properties.property_collectors),
        ("compression_name", &properties.compression),
        ("compression_options", &properties.compression_options),
        ("seqno_to_time_mapping", &properties.seqno_to_time_mapping),
    ];
    for (name, string) in strings {
        text.bytes(name, string);
    }
}

fn read_file(text: &TextReader<'_>) -> Result<OutputTable> {
    let wrong = |name: &str| Error::invalid_argument(format!("CompactionServiceResult: {name}"));
    let func_name = text.text("file_checksum_func_name")?;
    let value = text.bytes("file_checksum")?;
    let is_known = func_name != UNKNOWN_CHECKSUM_FUNC_NAME && !func_name.is_empty();
    let halves = text.numbers("unique_id")?;
    let [low, high] = halves[..] else {
        return Err(wrong("unique_id"));
    };
    let mut unique_id = [0; 16];
    unique_id[..8].copy_from_slice(&low.to_le_bytes());
    unique_id[8..].copy_from_slice(&high.to_le_bytes());
    let temperature = match text.word("file_temperature") {
        None => Temperature::default(),
        Some(word) => Temperature::parse(word).ok_or_else(|| wrong("file_temperature"))?,
    };
    Ok(OutputTable {
        file_name: text.text("file_name")?,
        file_size: text.number_or_0("file_size")?,
        smallest_seqno: text.number("smallest_seqno")?,
        largest_seqno: text.number("largest_seqno")?,
        smallest: text.bytes("smallest_internal_key")?,
        largest: text.bytes("largest_internal_key")?,
        oldest_ancestor_time: text.number("oldest_ancester_time")?,
        file_creation_time: text.number("file_creation_time")?,
        epoch_number: text.number_or_0("epoch_number")?,
        file_checksum: is_known.then(|| FileChecksum {
            func_name,
            value: value.into(),
        }),
        marked_for_compaction: text.flag("marked_for_compaction")?,
        unique_id: Some(unique_id).filter(|id| *id != [0; 16]),
        is_proximal_level_output: text.flag("is_proximal_level_output")?,
        temperature,
        properties: TableProperties::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> OutputTable {
        OutputTable {
            file_name: name.to_owned(),
            file_size: 1234,
            smallest_seqno: 0,
            largest_seqno: 9,
            smallest: b"a\0\0\0\0\0\0\0\x01".to_vec(),
            largest: b"{;=:}\0\0\0\0\0\0\0\x01".to_vec(),
            oldest_ancestor_time: 5,
            file_creation_time: 6,
            epoch_number: 7,
            file_checksum: Some(FileChecksum {
                func_name: "FileChecksumCrc32c".to_owned(),
                value: [1, 2, 3, 4].into(),
            }),
            marked_for_compaction: true,
            unique_id: Some(*b"0123456789abcdef"),
            is_proximal_level_output: false,
            temperature: Temperature::WARM,
            properties: TableProperties::default(),
        }
    }

    fn result(tables: &[&str]) -> CompactionServiceResult {
        CompactionServiceResult {
            status: Ok(()),
            output_files: tables.iter().map(|name| table(name)).collect(),
            output_level: 6,
            output_path: "/out".to_owned(),
            bytes_read: 10,
            bytes_written: 20,
            stats: JobStats {
                cpu_micros: 30,
                num_output_records: 4,
                is_full_compaction: true,
                ..JobStats::default()
            },
        }
    }

    #[test]
    fn a_result_is_read_as_it_was_written() {
        for tables in [&[][..], &["000001.sst"], &["000001.sst", "000002.sst"]] {
            let result = result(tables);
            let read = CompactionServiceResult::decode(&result.encode()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{result:?}"));
        }
        let mut failed = result(&[]);
        for (kind, ..) in CODES {
            failed.status = Err(Error::new(*kind, "it was so"));
            let read = CompactionServiceResult::decode(&failed.encode()).unwrap();
            let error = read.status.unwrap_err();
            assert_eq!(error.message(), "it was so");
            let codes = |of: ErrorKind| {
                let known = CODES.iter().find(|(kind, ..)| *kind == of);
                known.map(|(_, code, subcode)| (*code, *subcode))
            };
            assert_eq!(codes(error.kind()), codes(*kind));
        }
    }

    /// The text that RocksDB 11.8's serializer makes, whose fields have any order.
    #[test]
    fn a_result_of_rocksdb_is_read() {
        let file = |name: &str| {
            format!(
                "{{{{file_temperature=kUnknown;is_proximal_level_output=false;table_properties={{num_entries=2;db_id=6964;\
                 user_collected_properties=;}};unique_id=1:2;marked_for_compaction=false;paranoid_hash=77;\
                 file_checksum_func_name=556E6B6E6F776E;file_checksum=;epoch_number=3;file_creation_time=8;oldest_ancester_time=7;\
                 largest_internal_key=620000000000000001;smallest_internal_key=610000000000000001;largest_seqno=5;smallest_seqno=4;\
                 file_size=1000;file_name={};}}}}",
                super::super::service_text::hexadecimal(name.as_bytes())
            )
        };
        let text = format!(
            "internal_stats={{has_proximal_level_output=false;output_level_stats={{counts=0:0:1;count=1;}};}};stats={{cpu_micros=9;\
             smallest_output_key_prefix=61;}};bytes_written=2000;bytes_read=4000;output_path=2F6F;output_level=6;\
             output_files={{{}:{}}};status={{message=;severity=0;subcode=0;code=0;}};",
            file("000010.sst"),
            file("000011.sst")
        );
        let read = CompactionServiceResult::decode(&[&[1, 0, 0, 0], text.as_bytes()].concat()).unwrap();
        let names: Vec<&str> = read.output_files.iter().map(|file| &*file.file_name).collect();
        assert_eq!(names, ["000010.sst", "000011.sst"]);
        let first = &read.output_files[0];
        assert_eq!((&first.smallest[..1], first.largest_seqno), (&b"a"[..], 5));
        assert_eq!(first.unique_id.unwrap()[0], 1);
        assert_eq!(first.file_checksum, None);
        assert_eq!((&*read.output_path, read.stats.cpu_micros), ("/o", 9));
    }
}
