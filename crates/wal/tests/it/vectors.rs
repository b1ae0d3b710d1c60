//! Records from files of real RocksDB, read and written.

use std::sync::Arc;

use codec::CompressionType;
use esker_wal::dump::{PhysicalRecords, RecordState};
use esker_wal::{PredecessorWal, Reader, ReaderOptions, RecordType, RecoveryMode, WriterOptions};
use serde_json::Value;

use crate::{Bytes, batch_header, testdata, written};

fn vectors() -> Vec<Value> {
    let text = std::fs::read_to_string(testdata("format_vectors.json")).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    match all["log_record"].take() {
        Value::Array(vectors) => vectors,
        other => panic!("log_record is {other}"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn number(vector: &Value, field: &str) -> u64 {
    vector[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} of {vector}"))
}

#[test]
fn log_records_read_and_write() {
    let vectors = vectors();
    let mut seen = Vec::new();
    let compression_record = written(
        WriterOptions {
            compression: CompressionType::Zstd,
            ..WriterOptions::default()
        },
        |_| {},
    );
    for vector in &vectors {
        let text = vector["record_hex"].as_str().unwrap();
        let ty = RecordType::from_byte(number(vector, "type") as u8).unwrap();
        let payload_len = number(vector, "payload_len");
        seen.push(ty);

        // The test vector of a long record has only its header.
        if let Some(header) = text.strip_suffix("...") {
            let mut bytes = unhex(header);
            bytes.resize(7 + payload_len as usize, 0);
            let mut records = PhysicalRecords::new(Arc::new(Bytes(bytes)));
            let record = records.next().unwrap().unwrap();
            assert_eq!(record.record_type(), Some(ty));
            assert_eq!((record.header_len, record.payload_len), (7, payload_len));
            let RecordState::BadChecksum { stored, .. } = record.state else {
                panic!("{record:?}");
            };
            assert_eq!(u64::from(stored), number(vector, "masked_crc"));
            continue;
        }

        let bytes = unhex(text);
        let mut records = PhysicalRecords::new(Arc::new(Bytes(bytes.clone())));
        let record = records.next().unwrap().unwrap();
        assert_eq!(record.state, RecordState::Good, "{vector}");
        assert_eq!(record.record_type(), Some(ty));
        assert_eq!(record.payload_len, payload_len);
        assert!(records.next().is_none());

        let log_number = vector.get("log_number").map(|_| number(vector, "log_number"));
        let compressed = vector["desc"].as_str().unwrap().contains("compressed");
        let file = match compressed {
            true => [&compression_record[..], &bytes].concat(),
            false => bytes.clone(),
        };
        let mut reader = Reader::new(
            Arc::new(Bytes(file)),
            ReaderOptions {
                log_number,
                mode: RecoveryMode::AbsoluteConsistency,
            },
        );
        let payload = reader.read_record().unwrap().map(<[u8]>::to_vec);
        if payload.is_some() {
            assert!(reader.read_record().unwrap().is_none());
        }

        let options = WriterOptions {
            log_number: log_number.unwrap_or(0),
            recyclable: log_number.is_some(),
            ..WriterOptions::default()
        };
        match ty {
            RecordType::SetCompressionType => {
                assert_eq!(payload, None);
                assert_eq!(compression_record, bytes);
            }
            RecordType::UserDefinedTimestampSize => {
                assert_eq!(payload, None);
                let sizes: Vec<(u32, u16)> = reader.timestamp_sizes().iter().map(|(&f, &s)| (f, s)).collect();
                assert_eq!(sizes, [(0, 8)]);
                let ours = written(options, |writer| writer.add_timestamp_sizes(&sizes).unwrap());
                assert_eq!(ours, bytes);
            }
            RecordType::PredecessorWalInfo => {
                assert_eq!(payload, None);
                let expected = PredecessorWal {
                    log_number: number(vector, "log_number_recorded"),
                    size: number(vector, "size_bytes"),
                    last_seqno: number(vector, "last_seqno"),
                };
                assert_eq!(reader.predecessor(), Some(&expected));
                let ours = written(options, |writer| writer.add_predecessor(&expected).unwrap());
                assert_eq!(ours, bytes);
            }
            _ if compressed => {
                // A batch of one operation; its zstd encoding may differ.
                let (_, count) = batch_header(&payload.unwrap());
                assert_eq!(count, 1);
            }
            _ => {
                let ours = written(options, |writer| writer.add_record(&payload.unwrap()).unwrap());
                assert_eq!(ours, bytes, "{vector}");
            }
        }
    }
    for ty in [RecordType::Full, RecordType::First, RecordType::RecyclableFull] {
        assert!(seen.contains(&ty));
    }
}
