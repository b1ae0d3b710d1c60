//! Files of traces for tests: written bytes, and bytes in hexadecimal.

use std::path::PathBuf;

use vfs::FileSystem;

/// Writes a file, and returns its path.
pub fn written(fs: &dyn FileSystem, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from("written");
    fs.write_file(&path, bytes).unwrap();
    path
}

/// The bytes that the digits of `hex` encode; all other characters are skipped.
pub fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
