//! Version edits of RocksDB 7.8 and 11.9, checked byte by byte and field by field.

use manifest::{FileMetadata, VersionEdit};
use serde_json::{Value, json};

use crate::support::{base64, hex, vectors};

fn to_hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn varint(value: u64) -> String {
    let mut bytes = Vec::new();
    base::coding::put_varint64(&mut bytes, value);
    to_hex(&bytes)
}

/// The custom fields of a file in the form of the vectors, unordered.
fn custom_fields(file: &FileMetadata) -> Vec<(u32, String)> {
    let mut fields = vec![
        (5, varint(file.oldest_ancestor_time)),
        (6, varint(file.file_creation_time)),
    ];
    fields.extend(file.epoch_number.map(|epoch| (13, varint(epoch))));
    if let Some(checksum) = &file.file_checksum {
        fields.push((7, to_hex(&checksum.value)));
        fields.push((8, to_hex(checksum.func_name.as_bytes())));
    }
    fields.extend(file.oldest_blob_file_number.map(|number| (4, varint(number))));
    fields.extend(file.unique_id.map(|id| (12, to_hex(&id))));
    if file.compensated_range_deletion_size > 0 {
        fields.push((14, varint(file.compensated_range_deletion_size)));
    }
    if file.tail_size > 0 {
        fields.push((15, varint(file.tail_size)));
    }
    if !file.user_defined_timestamps_persisted {
        fields.push((16, "0x00".to_owned()));
    }
    fields.sort();
    fields
}

/// An edit in the form of the vectors, one value per field, unordered.
fn tell(edit: &VersionEdit) -> Vec<Value> {
    let mut told: Vec<Value> = [
        edit.db_id.as_ref().map(|id| json!(["DbId", id])),
        edit.comparator.as_ref().map(|name| json!(["Comparator", name])),
        edit.log_number.map(|n| json!(["LogNumber", n])),
        edit.prev_log_number.map(|n| json!(["PrevLog", n])),
        edit.next_file_number.map(|n| json!(["NextFile", n])),
        edit.max_column_family.map(|n| json!(["MaxCF", n])),
        edit.min_log_number_to_keep.map(|n| json!(["MinLogToKeep", n])),
        edit.last_sequence.map(|n| json!(["LastSeq", n])),
        edit.wal_deletion.map(|n| json!(["WalDel2", varint(n)])),
        (edit.column_family > 0).then(|| json!(["CF", edit.column_family])),
        edit.column_family_add.as_ref().map(|name| json!(["CFAdd", name])),
        edit.atomic_group_remaining.map(|n| json!(["AtomicGroup", n])),
        edit.full_history_ts_low
            .as_ref()
            .map(|ts| json!(["FullHistTsLow", to_hex(ts)])),
        edit.persist_user_defined_timestamps
            .map(|yes| json!(["PersistUDT", to_hex(&[yes.into()])])),
        edit.last_compacted_manifest_file_size
            .map(|n| json!(["LastCompactedManifestSize", varint(n)])),
    ]
    .into_iter()
    .flatten()
    .collect();
    told.extend(
        edit.deleted_files
            .iter()
            .map(|(level, number)| json!(["DeletedFile", level, number])),
    );
    told.extend(edit.new_files.iter().map(|(level, file)| {
        json!(["NewFile103", {
            "level": level, "num": file.number, "size": file.size,
            "smallest": to_hex(&file.smallest), "largest": to_hex(&file.largest),
            "sseq": file.smallest_seqno, "lseq": file.largest_seqno, "custom": custom_fields(file),
        }])
    }));
    told.extend(edit.blob_file_additions.iter().map(|blob| {
        json!([
            "BlobAdd",
            blob.number,
            blob.total_blob_count,
            blob.total_blob_bytes,
            to_hex(blob.checksum_method.as_bytes()),
            to_hex(&blob.checksum_value),
            blob.unknown_fields
        ])
    }));
    told.extend(edit.wal_additions.iter().map(|wal| {
        let size = wal.synced_size.expect("the vectors have sizes");
        let bytes = [&hex(&varint(wal.number))[..], &[2], &hex(&varint(size)), &[1]].concat();
        json!(["WalAdd2", to_hex(&bytes)])
    }));
    told
}

/// The vectors' fields in one order, without the copy of MinLogNumberToKeep that RocksDB hides in the first
/// new file.
fn normal(fields: &mut [Value]) -> Vec<String> {
    for field in fields.iter_mut() {
        if let Some(custom) = field.get_mut(1).and_then(|file| file.get_mut("custom")) {
            let custom = custom.as_array_mut().unwrap();
            custom.retain(|pair| pair[0] != 3);
            custom.sort_by_key(|pair| pair[0].as_u64());
        }
    }
    let mut text: Vec<String> = fields.iter().map(Value::to_string).collect();
    text.sort();
    text
}

#[test]
fn every_vector_decodes_to_its_fields_and_encodes_to_its_bytes() {
    let vectors = vectors();
    let edits = vectors["version_edit"].as_array().unwrap();
    assert_eq!(edits.len(), 35);
    for vector in edits {
        let bytes = hex(vector["hex"].as_str().unwrap());
        let edit = VersionEdit::decode(&bytes).unwrap();
        let mut want = vector["decoded"].as_array().unwrap().clone();
        assert_eq!(normal(&mut tell(&edit)), normal(&mut want), "{vector}");
        let mut again = Vec::new();
        edit.encode(&mut again);
        assert_eq!(again, bytes, "{vector}");
        assert_eq!(VersionEdit::decode(&again).unwrap(), edit);
    }
}

#[test]
fn manifests_among_the_vectors_replay() {
    let mut seen = 0;
    for file in vectors()["whole_file"].as_array().unwrap() {
        if !file["name"].as_str().unwrap().starts_with("MANIFEST") {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("MANIFEST");
        std::fs::write(&path, base64(file["b64"].as_str().unwrap())).unwrap();
        let state = crate::support::replay(&path).unwrap();
        assert_eq!(
            state.families.values().map(|f| &*f.name).collect::<Vec<_>>(),
            ["default", "meta"]
        );
        assert_eq!(state.max_column_family, 1);
        assert!(state.families[&0].version.num_files() > 0);
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn the_smallest_database_needs_no_epochs_and_no_ids() {
    let vectors = vectors();
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in vectors["minimal_db"]["files_b64"].as_object().unwrap() {
        std::fs::write(dir.path().join(name), base64(bytes.as_str().unwrap())).unwrap();
    }
    let state = crate::support::replay(&crate::support::current_manifest(dir.path())).unwrap();
    let version = &state.families[&0].version;
    assert_eq!(version.files(6).len(), 1);
    assert_eq!(version.next_epoch_number(), None);
    assert_eq!(state.last_sequence, 40);
    assert!(state.next_file_number > 10);
}
