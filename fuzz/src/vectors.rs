//! The test data that targets and seeds take their bytes from.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The files of a small database that RocksDB accepts.
pub(crate) fn minimal_database() -> Vec<(String, Vec<u8>)> {
    let vectors = vectors();
    let files = vectors["minimal_db"]["files_b64"]
        .as_object()
        .expect("the files of a database");
    files
        .iter()
        .map(|(name, bytes)| (name.clone(), base64(bytes)))
        .collect()
}

/// The root of the test data.
pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

pub(crate) fn vectors() -> Value {
    let path = testdata().join("format_vectors.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("vectors in JSON")
}

pub(crate) fn base64(value: &Value) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = value.as_str().expect("base64 digits");
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS
            .iter()
            .position(|digit| *digit == byte)
            .expect("a base64 digit");
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
