//! Encodes version edits, with the fields in RocksDB's order.

use base::Temperature;
use base::coding::{put_length_prefixed, put_u64, put_varint32, put_varint64, varint_len};
use base::internal_key::TRAILER_LEN;

use super::{BLOB_TERMINATE, VersionEdit, WAL_SYNCED_SIZE, WAL_TERMINATE, file_tag, tag};
use crate::file::FileMetadata;

impl VersionEdit {
    /// Appends the record's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Some(db_id) = &self.db_id {
            put_bytes(out, tag::DB_ID, db_id.as_bytes());
        }
        if let Some(comparator) = &self.comparator {
            put_bytes(out, tag::COMPARATOR, comparator.as_bytes());
        }
        put_number(out, tag::LOG_NUMBER, self.log_number);
        put_number(out, tag::PREV_LOG_NUMBER, self.prev_log_number);
        put_number(out, tag::NEXT_FILE_NUMBER, self.next_file_number);
        put_number(out, tag::MAX_COLUMN_FAMILY, self.max_column_family.map(u64::from));
        put_number(out, tag::MIN_LOG_NUMBER_TO_KEEP, self.min_log_number_to_keep);
        put_number(out, tag::LAST_SEQUENCE, self.last_sequence);
        for (level, key) in &self.compact_cursors {
            put_varint32(out, tag::COMPACT_CURSOR);
            put_varint32(out, *level);
            put_length_prefixed(out, key);
        }
        for &(level, number) in &self.deleted_files {
            put_varint32(out, tag::DELETED_FILE);
            put_varint32(out, level);
            put_varint64(out, number);
        }
        // RocksDB repeats `MinLogNumberToKeep` within the first new file, where its older releases looked for
        // it.
        let mut min_log_number_to_keep = self.min_log_number_to_keep;
        for (level, file) in &self.new_files {
            put_new_file(out, *level, file, min_log_number_to_keep.take());
        }
        for blob in &self.blob_file_additions {
            put_varint32(out, tag::BLOB_FILE_ADDITION);
            put_varint64(out, blob.number);
            put_varint64(out, blob.total_blob_count);
            put_varint64(out, blob.total_blob_bytes);
            put_length_prefixed(out, blob.checksum_method.as_bytes());
            put_length_prefixed(out, &blob.checksum_value);
            put_unknown(out, &blob.unknown_fields);
            put_varint32(out, BLOB_TERMINATE);
        }
        for garbage in &self.blob_file_garbages {
            put_varint32(out, tag::BLOB_FILE_GARBAGE);
            put_varint64(out, garbage.number);
            put_varint64(out, garbage.garbage_blob_count);
            put_varint64(out, garbage.garbage_blob_bytes);
            put_unknown(out, &garbage.unknown_fields);
            put_varint32(out, BLOB_TERMINATE);
        }
        for wal in &self.wal_additions {
            let mut body = Vec::with_capacity(24);
            put_varint64(&mut body, wal.number);
            put_number(&mut body, WAL_SYNCED_SIZE, wal.synced_size);
            put_varint32(&mut body, WAL_TERMINATE);
            put_bytes(out, tag::WAL_ADDITION2, &body);
        }
        if let Some(number) = self.wal_deletion {
            put_wrapped_number(out, tag::WAL_DELETION2, number);
        }
        if self.column_family != 0 {
            put_number(out, tag::COLUMN_FAMILY, Some(u64::from(self.column_family)));
        }
        if let Some(name) = &self.column_family_add {
            put_bytes(out, tag::COLUMN_FAMILY_ADD, name.as_bytes());
        }
        if self.column_family_drop {
            put_varint32(out, tag::COLUMN_FAMILY_DROP);
        }
        put_number(
            out,
            tag::IN_ATOMIC_GROUP,
            self.atomic_group_remaining.map(u64::from),
        );
        if let Some(timestamp) = &self.full_history_ts_low {
            put_bytes(out, tag::FULL_HISTORY_TS_LOW, timestamp);
        }
        if let Some(persist) = self.persist_user_defined_timestamps {
            put_bytes(out, tag::PERSIST_USER_DEFINED_TIMESTAMPS, &[u8::from(persist)]);
        }
        if let Some(progress) = &self.subcompaction_progress {
            put_bytes(out, tag::SUBCOMPACTION_PROGRESS, progress);
        }
        if let Some(size) = self.last_compacted_manifest_file_size {
            put_wrapped_number(out, tag::LAST_COMPACTED_MANIFEST_FILE_SIZE, size);
        }
        put_unknown(out, &self.unknown_fields);
    }
}

/// Writes a tag and its number, if the number is set.
fn put_number(out: &mut Vec<u8>, tag: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_varint32(out, tag);
        put_varint64(out, value);
    }
}

/// Writes tag and length-prefixed bytes.
fn put_bytes(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_varint32(out, tag);
    put_length_prefixed(out, bytes);
}

/// Writes a tag and a number with its own length prefix.
fn put_wrapped_number(out: &mut Vec<u8>, tag: u32, value: u64) {
    put_varint32(out, tag);
    put_varint64(out, varint_len(value) as u64);
    put_varint64(out, value);
}

fn put_unknown(out: &mut Vec<u8>, fields: &[(u32, Box<[u8]>)]) {
    for (tag, bytes) in fields {
        put_bytes(out, *tag, bytes);
    }
}

/// Writes an internal key without the timestamp of `padding` bytes that only the key's copy in memory has.
fn put_bound(out: &mut Vec<u8>, key: &[u8], padding: usize) {
    let (user_key, trailer) = key.split_at(key.len().saturating_sub(TRAILER_LEN));
    let user_key = &user_key[..user_key.len().saturating_sub(padding)];
    put_varint64(out, (user_key.len() + trailer.len()) as u64);
    out.extend_from_slice(user_key);
    out.extend_from_slice(trailer);
}

fn put_new_file(out: &mut Vec<u8>, level: u32, file: &FileMetadata, min_log_number_to_keep: Option<u64>) {
    put_varint32(out, tag::NEW_FILE4);
    put_varint32(out, level);
    put_varint64(out, file.number);
    put_varint64(out, file.size);
    put_bound(out, &file.smallest, file.padded_timestamp_size);
    put_bound(out, &file.largest, file.padded_timestamp_size);
    put_varint64(out, file.smallest_seqno);
    put_varint64(out, file.largest_seqno);
    put_wrapped_number(out, file_tag::OLDEST_ANCESTOR_TIME, file.oldest_ancestor_time);
    put_wrapped_number(out, file_tag::FILE_CREATION_TIME, file.file_creation_time);
    if let Some(epoch) = file.epoch_number {
        put_wrapped_number(out, file_tag::EPOCH_NUMBER, epoch);
    }
    if let Some(checksum) = &file.file_checksum {
        put_bytes(out, file_tag::FILE_CHECKSUM, &checksum.value);
        put_bytes(
            out,
            file_tag::FILE_CHECKSUM_FUNC_NAME,
            checksum.func_name.as_bytes(),
        );
    }
    if file.path_id != 0 {
        put_bytes(out, file_tag::PATH_ID, &[file.path_id as u8]);
    }
    if file.temperature != Temperature::UNKNOWN {
        put_bytes(out, file_tag::TEMPERATURE, &[file.temperature.0]);
    }
    if file.marked_for_compaction {
        put_bytes(out, file_tag::NEED_COMPACTION, &[1]);
    }
    if let Some(number) = min_log_number_to_keep {
        let mut fixed = Vec::with_capacity(8);
        put_u64(&mut fixed, number);
        put_bytes(out, file_tag::MIN_LOG_NUMBER_TO_KEEP, &fixed);
    }
    if let Some(number) = file.oldest_blob_file_number {
        put_wrapped_number(out, file_tag::OLDEST_BLOB_FILE_NUMBER, number);
    }
    if let Some(id) = &file.unique_id {
        put_bytes(out, file_tag::UNIQUE_ID, id);
    }
    if file.compensated_range_deletion_size != 0 {
        put_wrapped_number(
            out,
            file_tag::COMPENSATED_RANGE_DELETION_SIZE,
            file.compensated_range_deletion_size,
        );
    }
    if file.tail_size != 0 {
        put_wrapped_number(out, file_tag::TAIL_SIZE, file.tail_size);
    }
    if !file.user_defined_timestamps_persisted {
        put_bytes(out, file_tag::USER_DEFINED_TIMESTAMPS_PERSISTED, &[0]);
    }
    for (tag, bytes) in [
        (file_tag::MIN_TIMESTAMP, &file.min_timestamp),
        (file_tag::MAX_TIMESTAMP, &file.max_timestamp),
        (file_tag::FILE_OPEN_METADATA, &file.file_open_metadata),
    ] {
        if !bytes.is_empty() {
            put_bytes(out, tag, bytes);
        }
    }
    put_unknown(out, &file.unknown_fields);
    put_varint32(out, file_tag::TERMINATE);
}
