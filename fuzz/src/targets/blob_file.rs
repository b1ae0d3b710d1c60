//! Blob files and blob indexes.

use blob::{BlobFile, BlobIndex, BlobLocation};
use codec::compression::CompressionType;

use super::{MOST_STEPS, file_of};

/// A blob file; its first bytes are also decoded as a blob index.
pub fn blob_file(data: &[u8]) {
    if let Ok(index) = BlobIndex::decode(data) {
        let mut encoded = Vec::new();
        index.encode(&mut encoded);
        assert_eq!(
            BlobIndex::decode(&encoded).expect("what was encoded decodes"),
            index
        );
    }
    let Ok(file) = BlobFile::open(file_of(data)) else {
        return;
    };
    let mut places = Vec::new();
    let mut records = file.records();
    for _ in 0..MOST_STEPS {
        let Ok(Some(record)) = records.next() else { break };
        let _ = record.value();
        places.push((record.value_offset(), record.key.to_vec()));
    }
    let _ = file.verify();
    for (offset, key) in places.iter().chain(&[(u64::MAX, Vec::new()), (0, b"k".to_vec())]) {
        for size in [0, 6, u64::MAX] {
            let location = BlobLocation {
                file_number: 1,
                offset: *offset,
                size,
                compression: CompressionType::None,
            };
            let _ = (file.get(&location, key, true), file.get(&location, key, false));
        }
    }
}
