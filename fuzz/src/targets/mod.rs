//! The bodies of the targets. The first byte of an input often chooses a variant; the rest is decoded.

mod backup_meta;
mod blob_file;
mod database;
mod directory;
mod log;
mod table;
mod trace;
mod versions;

use std::path::Path;
use std::sync::Arc;

use base::Cursor;
use base::coding::Reader;
use codec::compression::{CompressionType, Decompressor};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions, RandomAccessFile};

pub use backup_meta::{BACKUP_META, backup_meta};
pub use blob_file::blob_file;
pub use database::{DATABASE_FILES, database, options_file, write_batch};
pub use directory::{STEPS, directory, number_of_files};
pub use log::{log, manifest, version_edit};
pub use table::{data_block, filter, footer, index_block, properties, table};
pub use trace::trace;
pub use versions::{mvcc_key, mvcc_ranges, mvcc_record, mvcc_value};

/// The steps after which a walk over damaged entries is given up: they may lead in circles.
const MOST_STEPS: usize = 20_000;

/// Writes `bytes` as the file `path` of `fs`.
fn put_file(fs: &MemFs, path: &Path, bytes: &[u8]) {
    let mut file = fs
        .create(path, &CreateOptions::default())
        .expect("a file in memory");
    file.append(bytes).expect("memory does not run full");
    file.close().expect("a file in memory");
}

/// Returns a file with the contents `bytes`.
fn file_of(bytes: &[u8]) -> Arc<dyn RandomAccessFile> {
    let fs = MemFs::new();
    let path = Path::new("/input");
    put_file(&fs, path, bytes);
    fs.open_random(path, &OpenOptions::default())
        .expect("a file in memory")
}

/// Walks in the two directions, changes direction, and seeks keys that it has seen.
fn exercise(cursor: &mut impl Cursor) {
    cursor.seek_to_first();
    let mut keys = Vec::new();
    for step in 0..MOST_STEPS {
        if !cursor.valid() {
            break;
        }
        if step % 7 == 0 && keys.len() < 32 {
            keys.push(cursor.key().to_vec());
        }
        let _ = cursor.value().len();
        if step % 5 == 4 {
            cursor.prev();
        } else {
            cursor.next();
        }
    }
    cursor.seek_to_last();
    for _ in 0..MOST_STEPS {
        if !cursor.valid() {
            break;
        }
        cursor.prev();
    }
    for key in &keys {
        cursor.seek(key);
        if cursor.valid() {
            cursor.next();
        }
        cursor.seek_for_prev(key);
        if cursor.valid() {
            cursor.prev();
        }
    }
    let _ = cursor.status();
}

/// Varints, fixed-width integers and length-prefixed strings. Decoding must consume the number of bytes that
/// it reports, and encode to the same bytes.
pub fn coding(data: &[u8]) {
    let mut reader = Reader::new(data);
    let mut steps = 0usize;
    while let Ok(tag) = reader.u8("tag") {
        let before = reader.position();
        let read = match tag % 8 {
            0 => reader.varint32("varint32").is_ok(),
            1 => reader.zigzag64("zigzag64").is_ok(),
            2 => reader.u16("u16").is_ok(),
            3 => reader.u32("u32").is_ok(),
            4 => reader.u64("u64").is_ok(),
            5 => reader.length_prefixed("string").is_ok(),
            6 => {
                // Reading the rest does not advance the reader; reading the tag before it did.
                if let Ok(key) = base::ParsedInternalKey::parse(reader.rest()) {
                    let again = base::internal_key::encode(key.user_key, key.seqno, key.kind);
                    assert_eq!(again, reader.rest(), "a key that parses is the one that encodes");
                }
                true
            }
            _ => match reader.varint64("varint64") {
                Ok(value) => {
                    let mut again = Vec::new();
                    base::coding::put_varint64(&mut again, value);
                    assert!(
                        again.len() <= reader.position() - before,
                        "the shortest form is the shortest"
                    );
                    true
                }
                Err(_) => false,
            },
        };
        if !read {
            break;
        }
        assert!(reader.position() >= before && reader.position() <= data.len());
        steps += 1;
    }
    assert!(steps <= data.len());
}

/// A stored block of any compression type, with and without a dictionary.
pub fn decompress(data: &[u8]) {
    let Some((&ty, stored)) = data.split_first() else {
        return;
    };
    let Some(ty) = CompressionType::from_byte(ty) else {
        return;
    };
    let mut out = Vec::new();
    let plain = Decompressor::new(None).decompress(ty, stored, &mut out);
    if plain.is_ok() {
        assert!(
            out.len() <= (stored.len() + 1) * MOST_EXPANSION,
            "{} bytes became {}",
            stored.len(),
            out.len()
        );
    }
    let dictionary = &stored[..stored.len() / 3];
    let with_dictionary = Decompressor::new(Some(dictionary.into()));
    let _ = with_dictionary.decompress(ty, &stored[dictionary.len()..], &mut out);
}

/// The largest expansion of one byte in any of the formats: a block of repeated bytes under ZSTD.
const MOST_EXPANSION: usize = 256 << 10;

/// A target's name and body.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, each with a binary of its name.
pub const TARGETS: &[Target] = &[
    ("coding", coding),
    ("decompress", decompress),
    ("footer", footer),
    ("properties", properties),
    ("index_block", index_block),
    ("data_block", data_block),
    ("filter", filter),
    ("table", table),
    ("log", log),
    ("version_edit", version_edit),
    ("manifest", manifest),
    ("blob_file", blob_file),
    ("write_batch", write_batch),
    ("trace", trace),
    ("options_file", options_file),
    ("backup_meta", backup_meta),
    ("mvcc_key", mvcc_key),
    ("mvcc_value", mvcc_value),
    ("mvcc_record", mvcc_record),
    ("mvcc_ranges", mvcc_ranges),
    ("database", database),
    ("directory", directory),
];
