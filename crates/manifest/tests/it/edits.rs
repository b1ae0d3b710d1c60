//! Fields that the vectors lack: old forms, future forms, and fields that must be understood.

use std::sync::Arc;

use base::internal_key::encode;
use base::{Kind, MAX_SEQNO, Temperature};
use manifest::{BlobFileAddition, BlobFileGarbage, FileChecksum, FileMetadata, VersionEdit, WalAddition};

use crate::support::hex;

fn decode(bytes: &str) -> VersionEdit {
    VersionEdit::decode(&hex(&bytes.replace(' ', ""))).unwrap()
}

fn error(bytes: &str) -> String {
    VersionEdit::decode(&hex(&bytes.replace(' ', "")))
        .unwrap_err()
        .to_string()
}

fn bytes(edit: &VersionEdit) -> Vec<u8> {
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    bytes
}

#[test]
fn nothing_is_an_edit() {
    assert_eq!(decode(""), VersionEdit::default());
    assert!(bytes(&VersionEdit::default()).is_empty());
}

#[test]
fn leveldbs_and_old_new_files_are_read_and_written_as_new_ones() {
    // level 2, file 5, 300 bytes, keys a@1 and b@2
    let keys = "09 61 0101000000000000 09 62 0102000000000000";
    for (old, path_id, seqnos) in [
        (format!("07 02 05 ac02 {keys}"), 0, (MAX_SEQNO, 0)),
        (format!("64 02 05 ac02 {keys} 01 02"), 0, (1, 2)),
        (format!("66 02 05 03 ac02 {keys} 01 02"), 3, (1, 2)),
    ] {
        let edit = decode(&old);
        let (level, file) = &edit.new_files[0];
        assert_eq!((*level, file.number, file.size), (2, 5, 300));
        assert_eq!(
            (file.path_id, (file.smallest_seqno, file.largest_seqno)),
            (path_id, seqnos)
        );
        assert_eq!(*file.largest, *encode(b"b", 2, Kind::Value));
        let again = bytes(&edit);
        assert_eq!(again[0], 103);
        assert_eq!(VersionEdit::decode(&again).unwrap(), edit);
    }
    assert!(error(&format!("66 02 05 04 ac02 {keys} 01 02")).contains("path_id"));
}

#[test]
fn every_field_survives() {
    let file = FileMetadata {
        number: 77,
        path_id: 2,
        size: 1 << 40,
        smallest: encode(b"a", 3, Kind::Value).into(),
        largest: encode(b"z", MAX_SEQNO, Kind::RangeDeletion).into(),
        smallest_seqno: 3,
        largest_seqno: 9,
        marked_for_compaction: true,
        oldest_blob_file_number: Some(12),
        oldest_ancestor_time: 1_700_000_000,
        file_creation_time: 1_700_000_001,
        file_checksum: Some(FileChecksum {
            func_name: "FileChecksumCrc32c".to_owned(),
            value: Box::new([1, 2, 3, 4]),
        }),
        temperature: Temperature::COOL,
        unique_id: Some([7; 16]),
        epoch_number: Some(4),
        compensated_range_deletion_size: 5,
        tail_size: 6,
        user_defined_timestamps_persisted: false,
        min_timestamp: Box::new([1; 8]),
        max_timestamp: Box::new([2; 8]),
        file_open_metadata: Box::new([3; 5]),
        unknown_fields: vec![(18, Box::new([9])), (200 & !64, Box::new([]))],
        ..FileMetadata::default()
    };
    let edit = VersionEdit {
        db_id: Some("id".to_owned()),
        comparator: Some("cmp".to_owned()),
        log_number: Some(1),
        prev_log_number: Some(2),
        next_file_number: Some(3),
        max_column_family: Some(u32::MAX),
        min_log_number_to_keep: Some(5),
        last_sequence: Some(MAX_SEQNO),
        compact_cursors: vec![(1, encode(b"k", 1, Kind::Value).into())],
        deleted_files: [(0, 9), (0, 10), (6, 1)].into(),
        new_files: vec![(6, Arc::new(file)), (0, Arc::new(other_file()))],
        blob_file_additions: vec![BlobFileAddition {
            number: 12,
            total_blob_count: 13,
            total_blob_bytes: 14,
            checksum_method: "sum".to_owned(),
            checksum_value: Box::new([5]),
            unknown_fields: vec![(1, Box::new([1, 2]))],
        }],
        blob_file_garbages: vec![BlobFileGarbage {
            number: 12,
            garbage_blob_count: 1,
            garbage_blob_bytes: 2,
            unknown_fields: vec![(63, Box::new([]))],
        }],
        wal_additions: vec![
            WalAddition {
                number: 4,
                synced_size: None,
            },
            WalAddition {
                number: 4,
                synced_size: Some(0),
            },
        ],
        wal_deletion: Some(3),
        column_family: 8,
        column_family_add: Some("eight".to_owned()),
        column_family_drop: true,
        atomic_group_remaining: Some(0),
        full_history_ts_low: Some(Box::new([0; 8])),
        persist_user_defined_timestamps: Some(false),
        subcompaction_progress: Some(Box::new([1])),
        last_compacted_manifest_file_size: Some(u64::MAX),
        unknown_fields: vec![(8192, Box::new([])), (9000, Box::new([1, 2, 3]))],
    };
    assert_eq!(VersionEdit::decode(&bytes(&edit)).unwrap(), edit);
}

fn other_file() -> FileMetadata {
    FileMetadata {
        number: 78,
        smallest: encode(b"", 0, Kind::Deletion).into(),
        largest: encode(b"", 0, Kind::Deletion).into(),
        ..FileMetadata::default()
    }
}

#[test]
fn fields_come_in_any_order_and_the_last_counts() {
    assert_eq!(
        decode("0407 0305 0208"),
        VersionEdit {
            log_number: Some(8),
            next_file_number: Some(5),
            last_sequence: Some(7),
            ..VersionEdit::default()
        }
    );
    assert_eq!(decode("0407 0409").last_sequence, Some(9));
}

#[test]
fn deprecated_forms_are_not_length_wrapped() {
    // 8194 and 8195: blob addition and garbage; 8196 and 8197: WAL addition and deletion.
    let edit = decode("8240 0a 05 64 00 00 00  8340 0a 01 14 00  8440 04 02 2a 01  8540 03  0405");
    assert_eq!(
        (
            edit.blob_file_additions[0].number,
            edit.blob_file_additions[0].total_blob_bytes
        ),
        (10, 100)
    );
    assert_eq!(edit.blob_file_garbages[0].garbage_blob_bytes, 20);
    assert_eq!(
        edit.wal_additions,
        [WalAddition {
            number: 4,
            synced_size: Some(42)
        }]
    );
    assert_eq!((edit.wal_deletion, edit.last_sequence), (Some(3), Some(5)));
    // The edit is encoded again in the current forms of its records.
    assert_eq!(
        bytes(&edit),
        hex("04059003 0a0564000000 9103 0a011400 8740 04 04022a01 8840 01 03"
            .replace(' ', "")
            .as_str())
    );
}

#[test]
fn what_may_be_ignored_is_kept_and_what_may_not_is_refused() {
    let edit = decode("cc40 03 010203  0405");
    assert_eq!(*edit.unknown_fields[0].1, [1, 2, 3]);
    assert_eq!(edit.last_sequence, Some(5));
    assert_eq!(bytes(&edit), hex("0405cc4003010203"));

    assert_eq!(
        error("0405 0b"),
        "Corruption: VersionEdit: unknown tag 11, offset 2"
    );
    let file = "67 00 05 64 09 61 0101000000000000 09 62 0102000000000000 01 02";
    let kept = decode(&format!("{file} 12 02 aabb 01"));
    assert_eq!(
        kept.new_files[0].1.unknown_fields,
        [(18, Box::from([0xaa, 0xbb]))]
    );
    assert_eq!(
        error(&format!("{file} 42 02 aabb 01")),
        "Corruption: VersionEdit: new-file4 custom field 66 not supported, offset 26"
    );
    assert!(error("9003 0a 05 64 00 00 40 00 00").contains("forward incompatible"));
    assert!(error("8740 04 04 05 01 01").contains("WalAddition unknown tag 5"));
    // Unknown temperatures are kept; a temperature of another width is corruption.
    assert_eq!(
        decode(&format!("{file} 09 01 77 01")).new_files[0].1.temperature,
        Temperature(0x77)
    );
    assert!(error(&format!("{file} 09 02 0404 01")).contains("wrong size"));
    // RocksDB encodes no epoch, no blob file and no id as zeros.
    let zeros = decode(&format!("{file} 0d 01 00 04 01 00 0c 10 {} 01", "00".repeat(16)));
    let file_of_zeros = &zeros.new_files[0].1;
    assert_eq!(
        (
            file_of_zeros.epoch_number,
            file_of_zeros.oldest_blob_file_number,
            file_of_zeros.unique_id
        ),
        (None, None, None)
    );
    assert!(error(&format!("{file} 41 01 04 01")).contains("path_id"));
    assert!(error(&format!("{file} 0c 02 0000 01")).contains("invalid unique id"));
    assert!(error(&format!("{file} 0d 00 01")).contains("invalid epoch number"));
    assert!(error(&format!("{file} 0d 01")).contains("custom field"));
}

#[test]
fn the_lowest_wal_to_keep_hides_in_the_first_new_file() {
    let file = "67 00 05 64 09 61 0101000000000000 09 62 0102000000000000 01 02";
    let edit = decode(&format!("{file} 03 08 0900000000000000 01"));
    assert_eq!(edit.min_log_number_to_keep, Some(9));
    let two = VersionEdit {
        min_log_number_to_keep: Some(9),
        new_files: vec![(0, Arc::new(other_file())), (1, Arc::new(other_file()))],
        ..VersionEdit::default()
    };
    let hidden = hex("03080900000000000000");
    let found = bytes(&two)
        .windows(hidden.len())
        .filter(|at| *at == hidden)
        .count();
    assert_eq!(found, 1);
}

#[test]
fn timestamps_left_out_of_files_are_left_out_of_bounds() {
    let mut file = other_file();
    file.pad_timestamps(8);
    assert_eq!(file.smallest.len(), 16);
    let edit = VersionEdit {
        new_files: vec![(0, Arc::new(file))],
        ..VersionEdit::default()
    };
    let read = VersionEdit::decode(&bytes(&edit)).unwrap();
    let file = &read.new_files[0].1;
    assert_eq!(file.smallest.len(), 8);
    assert!(!file.user_defined_timestamps_persisted);
}

#[test]
fn bounds_may_be_of_kinds_unknown() {
    // RocksDB 11.9 writes 0x1a where a file begins within a range tombstone.
    let edit = decode("67 00 05 64 09 61 1a01000000000000 09 62 0102000000000000 01 02 01");
    assert_eq!(edit.new_files[0].1.smallest[1], 0x1a);
    assert!(error("67 00 05 64 07 01000000000000 09 62 0102000000000000 01 02 01").contains("7 bytes"));
}

#[test]
fn numbers_out_of_range_are_refused() {
    // File number 2^62, sequence number 2^56.
    assert!(error("06 00 80808080808080804 0".replace(' ', "").as_str()).contains("deleted file"));
    assert!(error("06 00 808080808080808040").contains("out of range"));
    assert!(error("04 808080808080808001").contains("out of range"));
}
