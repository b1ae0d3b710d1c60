//! Version edits: RocksDB's `VersionEdit::DebugString`.

use manifest::{FileMetadata, VersionEdit};

use crate::rocksdb_text::{hex_if, key, unique_id};
use crate::text::Form;

/// The checksum function of a file without a checksum.
pub const UNKNOWN_CHECKSUM: &str = "Unknown";

/// An edit as text, with keys in hexadecimal or as they are.
pub fn debug_string(edit: &VersionEdit, hex: bool) -> Vec<u8> {
    let mut text = b"VersionEdit {".to_vec();
    let mut line = |name: &str, value: &[u8]| {
        text.extend_from_slice(b"\n  ");
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(value);
    };
    if let Some(id) = &edit.db_id {
        line("DB ID: ", id.as_bytes());
    }
    if let Some(comparator) = &edit.comparator {
        line("Comparator: ", comparator.as_bytes());
    }
    if let Some(persist) = edit.persist_user_defined_timestamps {
        line("PersistUserDefinedTimestamps: ", persist.to_string().as_bytes());
    }
    for (name, number) in [
        ("LogNumber: ", edit.log_number),
        ("PrevLogNumber: ", edit.prev_log_number),
        ("NextFileNumber: ", edit.next_file_number),
        ("MaxColumnFamily: ", edit.max_column_family.map(u64::from)),
        ("MinLogNumberToKeep: ", edit.min_log_number_to_keep),
        ("LastSeq: ", edit.last_sequence),
    ] {
        if let Some(number) = number {
            line(name, number.to_string().as_bytes());
        }
    }
    for (level, cursor) in &edit.compact_cursors {
        let mut value = format!("{level} ").into_bytes();
        value.extend(key::internal_key(cursor, hex, None));
        line("CompactCursor: ", &value);
    }
    for (level, number) in &edit.deleted_files {
        line("DeleteFile: ", format!("{level} {number}").as_bytes());
    }
    for (level, file) in &edit.new_files {
        line("AddFile: ", &added_file(*level, file, hex));
    }
    for blob in &edit.blob_file_additions {
        line("BlobFileAddition: ", blob_addition(blob).as_bytes());
    }
    for garbage in &edit.blob_file_garbages {
        let value = format!(
            "blob_file_number: {} garbage_blob_count: {} garbage_blob_bytes: {}",
            garbage.number, garbage.garbage_blob_count, garbage.garbage_blob_bytes
        );
        line("BlobFileGarbage: ", value.as_bytes());
    }
    for wal in &edit.wal_additions {
        let synced = wal.synced_size.unwrap_or(u64::MAX);
        let value = format!("log_number: {} synced_size_in_bytes: {synced}", wal.number);
        line("WalAddition: ", value.as_bytes());
    }
    if let Some(number) = edit.wal_deletion {
        line("WalDeletion: ", format!("log_number: {number}").as_bytes());
    }
    line("ColumnFamily: ", edit.column_family.to_string().as_bytes());
    if let Some(name) = &edit.column_family_add {
        line("ColumnFamilyAdd: ", name.as_bytes());
    }
    if edit.column_family_drop {
        line("ColumnFamilyDrop", b"");
    }
    if let Some(remaining) = edit.atomic_group_remaining {
        line("AtomicGroup: ", format!("{remaining} entries remains").as_bytes());
    }
    if let Some(low) = &edit.full_history_ts_low {
        // RocksDB indents this line by one column.
        text.extend_from_slice(b"\n FullHistoryTsLow: ");
        text.extend(hex_if(hex, low));
    }
    if let Some(size) = edit.last_compacted_manifest_file_size {
        text.extend_from_slice(format!("\n  LastCompactedManifestFileSize: {size}").as_bytes());
    }
    text.extend_from_slice(b"\n}\n");
    text
}

fn added_file(level: u32, file: &FileMetadata, hex: bool) -> Vec<u8> {
    let mut text = format!("{level} {} {} ", file.number, file.size).into_bytes();
    text.extend(key::internal_key(&file.smallest, hex, None));
    text.extend_from_slice(b" .. ");
    text.extend(key::internal_key(&file.largest, hex, None));
    let mut add = |part: String| text.extend_from_slice(part.as_bytes());
    if let Some(blob) = file.oldest_blob_file_number {
        add(format!(" blob_file:{blob}"));
    }
    let (checksum, function) = file_checksum(file);
    add(format!(
        " oldest_ancester_time:{} file_creation_time:{} epoch_number:{} file_checksum:{} \
         file_checksum_func_name: {function}",
        file.oldest_ancestor_time,
        file.file_creation_time,
        file.epoch_number.unwrap_or(0),
        Form::Hex.show(checksum),
    ));
    if file.temperature.0 != 0 {
        add(format!(" temperature: {}", file.temperature.0));
    }
    if let Some(id) = &file.unique_id {
        add(format!(
            " unique_id(internal): {} public_unique_id: {}",
            unique_id::internal(id),
            unique_id::public(id)
        ));
    }
    add(format!(
        " tail size: {} User-defined timestamps persisted: {}",
        file.tail_size, file.user_defined_timestamps_persisted
    ));
    if !file.file_open_metadata.is_empty() {
        add(format!(
            " file_open_metadata_size: {}",
            file.file_open_metadata.len()
        ));
    }
    text
}

/// The checksum of a whole table and the name of its function.
pub fn file_checksum(file: &FileMetadata) -> (&[u8], &str) {
    file.file_checksum
        .as_ref()
        .map_or((&[], UNKNOWN_CHECKSUM), |checksum| {
            (&*checksum.value, &*checksum.func_name)
        })
}

/// A new blob file.
pub fn blob_addition(blob: &manifest::BlobFileAddition) -> String {
    format!(
        "blob_file_number: {} total_blob_count: {} total_blob_bytes: {} checksum_method: {} checksum_value: {}",
        blob.number,
        blob.total_blob_count,
        blob.total_blob_bytes,
        blob.checksum_method,
        Form::Hex.show(&blob.checksum_value)
    )
}
