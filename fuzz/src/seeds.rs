//! Seeds: pieces of real RocksDB files, from the test data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Seeds of each target, by its name.
pub type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// Reads the test data. Panics where it is not as it should be: it is part of the tree.
pub fn all() -> Seeds {
    let mut seeds = Seeds::new();
    let vectors = vectors();
    let mut add = |target, seed: Vec<u8>| seeds.entry(target).or_default().push(seed);
    for varint in list(&vectors, "varint") {
        add("coding", hex(&varint["hex"]));
    }
    for batch in list(&vectors, "write_batch") {
        add("coding", hex(&batch["hex"]));
    }
    for block in list(&vectors, "compressed_block") {
        let ty = block["type_byte"].as_u64().expect("a type byte") as u8;
        add("decompress", [&[ty], &hex(&block["stored_hex"])[..]].concat());
    }
    seeds
}

/// Root of the test data.
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

fn vectors() -> Value {
    let path = testdata().join("format_vectors.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("vectors in JSON")
}

fn list<'a>(vectors: &'a Value, name: &str) -> &'a [Value] {
    vectors[name]
        .as_array()
        .unwrap_or_else(|| panic!("no vectors {name}"))
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hexadecimal digits");
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("a hexadecimal digit");
    (0..text.len()).step_by(2).map(digit).collect()
}
