//! Bytes that RocksDB writes, for tests: `testdata/format_vectors.json`.

use serde_json::Value;

/// The list of vectors under a name.
pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/format_vectors.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all[name].as_array().unwrap().clone()
}

/// The bytes of a field in hexadecimal.
pub(crate) fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The bytes of a field that is encoded in base 64.
pub(crate) fn unbase64(text: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut pending) = (0u32, 0);
    for byte in text.as_str().unwrap().bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        pending += 6;
        if pending >= 8 {
            pending -= 8;
            out.push((bits >> pending) as u8);
        }
    }
    out
}
