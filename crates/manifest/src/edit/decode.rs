//! Decodes version edits from untrusted bytes.

use std::sync::Arc;

use base::coding::{Reader, u64_at};
use base::internal_key::TRAILER_LEN;
use base::{Error, MAX_SEQNO, Result, Temperature};

use super::{
    BLOB_TERMINATE, MUST_UNDERSTAND_MASK, VersionEdit, WAL_SYNCED_SIZE, WAL_TERMINATE, WalAddition, file_tag,
    tag,
};
use crate::blob_file::{BlobFileAddition, BlobFileGarbage};
use crate::file::{FileChecksum, FileMetadata, MAX_FILE_NUMBER, MAX_PATH_ID, UNKNOWN_CHECKSUM_FUNC_NAME};

/// A tag that this release does not know, with its bytes.
type UnknownField = (u32, Box<[u8]>);

impl VersionEdit {
    /// The edit in `record`, which may be empty. `Corruption` with the offset within the record if it is
    /// malformed, or has an unknown field that must be understood.
    pub fn decode(record: &[u8]) -> Result<VersionEdit> {
        let mut edit = VersionEdit::default();
        let mut reader = Reader::new(record);
        while !reader.is_empty() {
            edit.decode_field(&mut reader)
                .map_err(|error| error.context("VersionEdit"))?;
        }
        Ok(edit)
    }

    fn decode_field(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let start = reader.position();
        match reader.varint32("tag")? {
            tag::COMPARATOR => self.comparator = Some(text(reader, "comparator name")?),
            tag::LOG_NUMBER => self.log_number = Some(file_number(reader, "log number")?),
            tag::PREV_LOG_NUMBER => self.prev_log_number = Some(file_number(reader, "previous log number")?),
            tag::NEXT_FILE_NUMBER => self.next_file_number = Some(file_number(reader, "next file number")?),
            tag::LAST_SEQUENCE => self.last_sequence = Some(seqno(reader, "last sequence number")?),
            tag::MAX_COLUMN_FAMILY => self.max_column_family = Some(reader.varint32("max column family")?),
            tag::MIN_LOG_NUMBER_TO_KEEP => {
                self.min_log_number_to_keep = Some(file_number(reader, "min log number to keep")?);
            }
            tag::COMPACT_CURSOR => {
                let level = reader.varint32("compaction cursor level")?;
                self.compact_cursors
                    .push((level, internal_key(reader, "compaction cursor")?));
            }
            tag::DELETED_FILE => {
                let level = reader.varint32("deleted file level")?;
                self.deleted_files
                    .insert((level, file_number(reader, "deleted file")?));
            }
            known @ (tag::NEW_FILE | tag::NEW_FILE2 | tag::NEW_FILE3) => {
                let (level, file) = legacy_new_file(reader, known)?;
                self.new_files.push((level, Arc::new(file)));
            }
            tag::NEW_FILE4 => {
                let level = reader.varint32("new-file4 level")?;
                let file = new_file4(reader, &mut self.min_log_number_to_keep)?;
                self.new_files.push((level, Arc::new(file)));
            }
            tag::BLOB_FILE_ADDITION | tag::BLOB_FILE_ADDITION_DEPRECATED => {
                self.blob_file_additions.push(blob_file_addition(reader)?);
            }
            tag::BLOB_FILE_GARBAGE | tag::BLOB_FILE_GARBAGE_DEPRECATED => {
                self.blob_file_garbages.push(blob_file_garbage(reader)?);
            }
            tag::WAL_ADDITION => self.wal_additions.push(wal_addition(reader)?),
            tag::WAL_ADDITION2 => {
                let addition = nested(reader, "WalAddition", wal_addition)?;
                self.wal_additions.push(addition);
            }
            tag::WAL_DELETION => self.wal_deletion = Some(file_number(reader, "WalDeletion")?),
            tag::WAL_DELETION2 => {
                let number = nested(reader, "WalDeletion", |reader| file_number(reader, "WalDeletion"))?;
                self.wal_deletion = Some(number);
            }
            tag::COLUMN_FAMILY => self.column_family = reader.varint32("column family id")?,
            tag::COLUMN_FAMILY_ADD => self.column_family_add = Some(text(reader, "column family add")?),
            tag::COLUMN_FAMILY_DROP => self.column_family_drop = true,
            tag::IN_ATOMIC_GROUP => self.atomic_group_remaining = Some(reader.varint32("remaining entries")?),
            tag::DB_ID => self.db_id = Some(text(reader, "db id")?),
            tag::FULL_HISTORY_TS_LOW => {
                let timestamp = reader.length_prefixed("full_history_ts_low")?;
                if timestamp.is_empty() {
                    return Err(Error::corruption("full_history_ts_low: empty").at(start as u64));
                }
                self.full_history_ts_low = Some(timestamp.into());
            }
            tag::PERSIST_USER_DEFINED_TIMESTAMPS => {
                let persist = one_byte(reader, "persist_user_defined_timestamps")?;
                self.persist_user_defined_timestamps = Some(persist == 1);
            }
            tag::SUBCOMPACTION_PROGRESS => {
                self.subcompaction_progress = Some(reader.length_prefixed("SubcompactionProgress")?.into());
            }
            tag::LAST_COMPACTED_MANIFEST_FILE_SIZE => {
                let size = nested(reader, "last compacted manifest file size", |reader| {
                    reader.varint64("last compacted manifest file size")
                })?;
                self.last_compacted_manifest_file_size = Some(size);
            }
            unknown if unknown & tag::SAFE_IGNORE_MASK != 0 => {
                let bytes = reader.length_prefixed("safely ignorable tag")?;
                self.unknown_fields.push((unknown, bytes.into()));
            }
            unknown => {
                return Err(Error::corruption(format!("unknown tag {unknown}")).at(start as u64));
            }
        }
        Ok(())
    }
}

/// Decodes the inside of a length-prefixed field. Trailing bytes belong to later releases and are ignored.
fn nested<T>(
    reader: &mut Reader<'_>,
    what: &str,
    decode: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let body = reader.length_prefixed(what)?;
    let start = (reader.position() - body.len()) as u64;
    decode(&mut Reader::new(body)).map_err(|error| error.offset_by(start))
}

fn text(reader: &mut Reader<'_>, what: &str) -> Result<String> {
    let start = reader.position();
    let bytes = reader.length_prefixed(what)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Error::corruption(format!("{what} is not UTF-8")).at(start as u64)),
    }
}

fn file_number(reader: &mut Reader<'_>, what: &str) -> Result<u64> {
    bounded(reader, what, MAX_FILE_NUMBER)
}

fn seqno(reader: &mut Reader<'_>, what: &str) -> Result<u64> {
    bounded(reader, what, MAX_SEQNO)
}

fn bounded(reader: &mut Reader<'_>, what: &str, highest: u64) -> Result<u64> {
    let start = reader.position();
    let value = reader.varint64(what)?;
    if value > highest {
        return Err(Error::corruption(format!("{what} {value} is out of range")).at(start as u64));
    }
    Ok(value)
}

/// A bound. Its kind may be any byte: where a range tombstone was truncated, RocksDB writes one above all
/// kinds it knows, which differs from release to release. Bounds are only ever compared.
fn internal_key(reader: &mut Reader<'_>, what: &str) -> Result<Box<[u8]>> {
    let start = reader.position();
    let key = reader.length_prefixed(what)?;
    if key.len() < TRAILER_LEN {
        return Err(
            Error::corruption(format!("{what}: internal key of {} bytes", key.len())).at(start as u64),
        );
    }
    Ok(key.into())
}

fn one_byte(reader: &mut Reader<'_>, what: &str) -> Result<u8> {
    let start = reader.position();
    match reader.length_prefixed(what)? {
        &[byte] => Ok(byte),
        _ => Err(Error::corruption(format!("{what} field wrong size")).at(start as u64)),
    }
}

/// Number, size and bounds, which every form of a new file has; in one form the path id stands between the
/// first two.
fn file_basics(reader: &mut Reader<'_>, with_path_id: bool) -> Result<FileMetadata> {
    let number = file_number(reader, "new file number")?;
    let path_start = reader.position();
    let path_id = if with_path_id {
        reader.varint32("new file path_id")?
    } else {
        0
    };
    if path_id > MAX_PATH_ID {
        return Err(wrong_path_id(path_id).at(path_start as u64));
    }
    Ok(FileMetadata {
        number,
        path_id,
        size: reader.varint64("new file size")?,
        smallest: internal_key(reader, "new file smallest key")?,
        largest: internal_key(reader, "new file largest key")?,
        ..FileMetadata::default()
    })
}

fn wrong_path_id(path_id: u32) -> Error {
    Error::corruption(format!("path_id wrong value {path_id}"))
}

fn legacy_new_file(reader: &mut Reader<'_>, form: u32) -> Result<(u32, FileMetadata)> {
    let level = reader.varint32("new file level")?;
    let mut file = file_basics(reader, form == tag::NEW_FILE3)?;
    if form == tag::NEW_FILE {
        // LevelDB's form has no sequence numbers: the range that RocksDB assigns excludes none.
        (file.smallest_seqno, file.largest_seqno) = (MAX_SEQNO, 0);
    } else {
        file.smallest_seqno = seqno(reader, "new file smallest sequence number")?;
        file.largest_seqno = seqno(reader, "new file largest sequence number")?;
    }
    Ok((level, file))
}

fn new_file4(reader: &mut Reader<'_>, min_log_number_to_keep: &mut Option<u64>) -> Result<FileMetadata> {
    let mut file = file_basics(reader, false)?;
    file.smallest_seqno = seqno(reader, "new file smallest sequence number")?;
    file.largest_seqno = seqno(reader, "new file largest sequence number")?;
    loop {
        let start = reader.position() as u64;
        let field = reader.varint32("new-file4 custom field")?;
        if field == file_tag::TERMINATE {
            return Ok(file);
        }
        let body = reader.length_prefixed("new-file4 custom field")?;
        let number = |what: &str| {
            Reader::new(body)
                .varint64(what)
                .map_err(|_| Error::corruption(format!("invalid {what}")).at(start))
        };
        let byte = |what: &str| match body {
            &[byte] => Ok(byte),
            _ => Err(Error::corruption(format!("{what} field wrong size")).at(start)),
        };
        match field {
            file_tag::NEED_COMPACTION => file.marked_for_compaction = byte("need_compaction")? == 1,
            file_tag::MIN_LOG_NUMBER_TO_KEEP => {
                if body.len() < 8 {
                    return Err(Error::corruption("malformed min log number to keep").at(start));
                }
                *min_log_number_to_keep = Some(u64_at(body, 0).min(MAX_FILE_NUMBER));
            }
            file_tag::OLDEST_BLOB_FILE_NUMBER => {
                // RocksDB encodes "none" as 0.
                file.oldest_blob_file_number =
                    Some(number("oldest blob file number")?).filter(|&number| number != 0);
            }
            file_tag::OLDEST_ANCESTOR_TIME => file.oldest_ancestor_time = number("oldest ancestor time")?,
            file_tag::FILE_CREATION_TIME => file.file_creation_time = number("file creation time")?,
            file_tag::FILE_CHECKSUM => checksum(&mut file).value = body.into(),
            file_tag::FILE_CHECKSUM_FUNC_NAME => match std::str::from_utf8(body) {
                Ok(name) => checksum(&mut file).func_name = name.to_owned(),
                Err(_) => {
                    return Err(Error::corruption("checksum function name is not UTF-8").at(start));
                }
            },
            file_tag::TEMPERATURE => file.temperature = Temperature(byte("temperature")?),
            file_tag::MIN_TIMESTAMP => file.min_timestamp = body.into(),
            file_tag::MAX_TIMESTAMP => file.max_timestamp = body.into(),
            file_tag::UNIQUE_ID => match body.try_into() {
                // RocksDB encodes "none" as zeros.
                Ok(id) => file.unique_id = Some(id).filter(|id| id != &[0; 16]),
                Err(_) => return Err(Error::corruption("invalid unique id").at(start)),
            },
            file_tag::EPOCH_NUMBER => {
                // RocksDB encodes "unknown" as 0.
                file.epoch_number = Some(number("epoch number")?).filter(|&epoch| epoch != 0);
            }
            file_tag::COMPENSATED_RANGE_DELETION_SIZE => {
                file.compensated_range_deletion_size = number("compensated range deletion size")?;
            }
            file_tag::TAIL_SIZE => file.tail_size = number("tail size")?,
            file_tag::USER_DEFINED_TIMESTAMPS_PERSISTED => {
                file.user_defined_timestamps_persisted = byte("user-defined timestamps persisted")? == 1;
            }
            file_tag::FILE_OPEN_METADATA => file.file_open_metadata = body.into(),
            file_tag::PATH_ID => {
                file.path_id = u32::from(byte("path_id")?);
                if file.path_id > MAX_PATH_ID {
                    return Err(wrong_path_id(file.path_id).at(start));
                }
            }
            unknown if unknown & MUST_UNDERSTAND_MASK != 0 => {
                return Err(
                    Error::corruption(format!("new-file4 custom field {unknown} not supported")).at(start),
                );
            }
            unknown => file.unknown_fields.push((unknown, body.into())),
        }
    }
}

fn checksum(file: &mut FileMetadata) -> &mut FileChecksum {
    file.file_checksum.get_or_insert_with(|| FileChecksum {
        func_name: UNKNOWN_CHECKSUM_FUNC_NAME.to_owned(),
        value: Box::default(),
    })
}

fn blob_file_addition(reader: &mut Reader<'_>) -> Result<BlobFileAddition> {
    Ok(BlobFileAddition {
        number: file_number(reader, "blob file number")?,
        total_blob_count: reader.varint64("total blob count")?,
        total_blob_bytes: reader.varint64("total blob bytes")?,
        checksum_method: text(reader, "blob file checksum method")?,
        checksum_value: reader.length_prefixed("blob file checksum value")?.into(),
        unknown_fields: blob_custom_fields(reader)?,
    })
}

fn blob_file_garbage(reader: &mut Reader<'_>) -> Result<BlobFileGarbage> {
    Ok(BlobFileGarbage {
        number: file_number(reader, "blob file number")?,
        garbage_blob_count: reader.varint64("garbage blob count")?,
        garbage_blob_bytes: reader.varint64("garbage blob bytes")?,
        unknown_fields: blob_custom_fields(reader)?,
    })
}

fn blob_custom_fields(reader: &mut Reader<'_>) -> Result<Vec<UnknownField>> {
    let mut fields = Vec::new();
    loop {
        let start = reader.position() as u64;
        match reader.varint32("blob file custom field tag")? {
            BLOB_TERMINATE => return Ok(fields),
            tag if tag & MUST_UNDERSTAND_MASK != 0 => {
                let message = format!("forward incompatible blob file custom field {tag}");
                return Err(Error::corruption(message).at(start));
            }
            tag => fields.push((tag, reader.length_prefixed("blob file custom field")?.into())),
        }
    }
}

fn wal_addition(reader: &mut Reader<'_>) -> Result<WalAddition> {
    let number = file_number(reader, "WalAddition log number")?;
    let mut synced_size = None;
    loop {
        let start = reader.position() as u64;
        match reader.varint32("WalAddition tag")? {
            WAL_TERMINATE => return Ok(WalAddition { number, synced_size }),
            WAL_SYNCED_SIZE => synced_size = Some(reader.varint64("WalAddition synced size")?),
            tag => return Err(Error::corruption(format!("WalAddition unknown tag {tag}")).at(start)),
        }
    }
}
