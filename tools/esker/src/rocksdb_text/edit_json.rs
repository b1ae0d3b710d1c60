//! Version edits as JSON: RocksDB's `VersionEdit::DebugJSON`, which escapes nothing.

use manifest::{FileMetadata, VersionEdit};

use crate::rocksdb_text::edit::file_checksum;
use crate::rocksdb_text::{hex_if, key};
use crate::text::Form;

/// An object being written.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Object {
        Object(b"{".to_vec())
    }

    fn key(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.extend_from_slice(b", ");
        }
        self.0.extend_from_slice(format!("\"{name}\": ").as_bytes());
    }

    fn text(&mut self, name: &str, value: &[u8]) {
        self.key(name);
        self.0.push(b'"');
        self.0.extend_from_slice(value);
        self.0.push(b'"');
    }

    fn number(&mut self, name: &str, value: u64) {
        self.key(name);
        self.0.extend_from_slice(value.to_string().as_bytes());
    }

    fn array(&mut self, name: &str, objects: Vec<Object>) {
        if objects.is_empty() {
            return;
        }
        self.key(name);
        self.0.push(b'[');
        for (at, object) in objects.into_iter().enumerate() {
            if at > 0 {
                self.0.extend_from_slice(b", ");
            }
            self.0.extend(object.end());
        }
        self.0.push(b']');
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Edit number `number` of a MANIFEST, counted from 0, as one object.
pub fn debug_json(edit: &VersionEdit, number: u64, hex: bool) -> Vec<u8> {
    let mut object = Object::new();
    object.number("EditNumber", number);
    if let Some(id) = &edit.db_id {
        object.text("DB ID", id.as_bytes());
    }
    if let Some(comparator) = &edit.comparator {
        object.text("Comparator", comparator.as_bytes());
    }
    for (name, value) in [
        ("LogNumber", edit.log_number),
        ("PrevLogNumber", edit.prev_log_number),
        ("NextFileNumber", edit.next_file_number),
        ("MaxColumnFamily", edit.max_column_family.map(u64::from)),
        ("MinLogNumberToKeep", edit.min_log_number_to_keep),
        ("LastSeq", edit.last_sequence),
    ] {
        if let Some(value) = value {
            object.number(name, value);
        }
    }
    object.array("DeletedFiles", edit.deleted_files.iter().map(deleted).collect());
    let added = edit.new_files.iter();
    object.array(
        "AddedFiles",
        added.map(|(level, file)| added_file(*level, file, hex)).collect(),
    );
    blobs_and_wals(edit, &mut object);
    object.number("ColumnFamily", edit.column_family.into());
    if let Some(name) = &edit.column_family_add {
        object.text("ColumnFamilyAdd", name.as_bytes());
    }
    if edit.column_family_drop {
        object.text("ColumnFamilyDrop", b"");
    }
    if let Some(remaining) = edit.atomic_group_remaining {
        object.number("AtomicGroup", remaining.into());
    }
    if let Some(low) = &edit.full_history_ts_low {
        object.text("FullHistoryTsLow", &hex_if(hex, low));
    }
    if let Some(size) = edit.last_compacted_manifest_file_size {
        object.number("LastCompactedManifestFileSize", size);
    }
    object.end()
}

fn blobs_and_wals(edit: &VersionEdit, object: &mut Object) {
    let additions = edit.blob_file_additions.iter().map(|blob| {
        let mut object = Object::new();
        object.number("BlobFileNumber", blob.number);
        object.number("TotalBlobCount", blob.total_blob_count);
        object.number("TotalBlobBytes", blob.total_blob_bytes);
        object.text("ChecksumMethod", blob.checksum_method.as_bytes());
        object.text("ChecksumValue", &hex_if(true, &blob.checksum_value));
        object
    });
    object.array("BlobFileAdditions", additions.collect());
    let garbages = edit.blob_file_garbages.iter().map(|garbage| {
        let mut object = Object::new();
        object.number("BlobFileNumber", garbage.number);
        object.number("GarbageBlobCount", garbage.garbage_blob_count);
        object.number("GarbageBlobBytes", garbage.garbage_blob_bytes);
        object
    });
    object.array("BlobFileGarbages", garbages.collect());
    let wals = edit.wal_additions.iter().map(|wal| {
        let mut object = Object::new();
        object.number("LogNumber", wal.number);
        object.number("SyncedSizeInBytes", wal.synced_size.unwrap_or(u64::MAX));
        object
    });
    object.array("WalAdditions", wals.collect());
    if let Some(number) = edit.wal_deletion {
        let mut deletion = Object::new();
        deletion.number("LogNumber", number);
        object.key("WalDeletion");
        object.0.extend(deletion.end());
    }
}

fn deleted(&(level, number): &(u32, u64)) -> Object {
    let mut object = Object::new();
    object.number("Level", level.into());
    object.number("FileNumber", number);
    object
}

fn added_file(level: u32, file: &FileMetadata, hex: bool) -> Object {
    let mut object = Object::new();
    object.number("Level", level.into());
    object.number("FileNumber", file.number);
    object.number("FileSize", file.size);
    object.text("SmallestIKey", &key::internal_key(&file.smallest, hex, None));
    object.text("LargestIKey", &key::internal_key(&file.largest, hex, None));
    object.number("OldestAncesterTime", file.oldest_ancestor_time);
    object.number("FileCreationTime", file.file_creation_time);
    object.number("EpochNumber", file.epoch_number.unwrap_or(0));
    let (checksum, function) = file_checksum(file);
    object.text("FileChecksum", Form::Hex.show(checksum).to_string().as_bytes());
    object.text("FileChecksumFuncName", function.as_bytes());
    let temperature = u64::from(file.temperature.0);
    if temperature != 0 {
        object.text("temperature", temperature.to_string().as_bytes());
    }
    if let Some(blob) = file.oldest_blob_file_number {
        object.number("OldestBlobFile", blob);
    }
    if temperature != 0 {
        object.number("Temperature", temperature);
    }
    object.number("TailSize", file.tail_size);
    object.number(
        "UserDefinedTimestampsPersisted",
        file.user_defined_timestamps_persisted.into(),
    );
    if !file.file_open_metadata.is_empty() {
        object.number("FileOpenMetadataSize", file.file_open_metadata.len() as u64);
    }
    object
}
