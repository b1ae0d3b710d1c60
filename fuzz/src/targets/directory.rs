//! A whole database directory with every kind of contents, damaged by a script.
//!
//! No damage may cause a panic. Unless a checksum was adjusted, results that are returned as good must be
//! right.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use base::coding;
use base::filename::{self, FileKind};
use base::{InternalComparator, UserComparator};
use codec::checksum::{crc32c, mask};
use dbtest::small::{self, DIR, OTHER, Rows, SmallDatabase};
use esker::{Db, FileChecksumGenFactory, Options};
use sst::format::{BLOCK_TRAILER_LEN, block_trailer};
use sst::{Table, TableReadOptions};
use vfs::{FileSystem, MemFs};
use wal::dump::PhysicalRecords;

use super::{MOST_STEPS, file_of, put_file};

/// The bytes of a step: the kind, the file, the position (two), the amount, the value.
const STEP_LEN: usize = 6;

/// The most steps of a script.
const MOST_SCRIPT: usize = 8;

/// The kinds of damage to a file.
pub const STEPS: [&str; 8] = [
    "flip a bit",
    "overwrite bytes",
    "cut",
    "remove",
    "copy to another number",
    "exchange two pieces",
    "change a block and make its checksum fit",
    "change a record of a log and make its checksum fit",
];

/// The allowed outcome of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The script must return an error or the right rows.
    Right,
    /// An error, or the rows with some of the last writes of the WAL missing.
    Prefix,
    /// Any outcome is allowed: checksums were adjusted, or files were replaced by others.
    Anything,
}

fn whole() -> &'static SmallDatabase {
    static WHOLE: OnceLock<SmallDatabase> = OnceLock::new();
    WHOLE.get_or_init(|| SmallDatabase::make(FileChecksumGenFactory::None).expect("a database in memory"))
}

/// The number of files that a script chooses from.
pub fn number_of_files() -> usize {
    whole().files.len()
}

/// Damages a directory and opens it. The first byte decides whether the open is read-only; steps follow.
pub fn directory(data: &[u8]) {
    let Some((&how, script)) = data.split_first() else {
        return;
    };
    let mut files: BTreeMap<String, Vec<u8>> = whole().files.iter().cloned().collect();
    let mut outcome = Outcome::Right;
    for step in script.chunks_exact(STEP_LEN).take(MOST_SCRIPT) {
        outcome = outcome.max(take_apart(&mut files, step));
    }
    let fs = MemFs::new();
    let dir = Path::new(DIR);
    fs.create_dir_all(dir).expect("a directory in memory");
    for (name, bytes) in &files {
        put_file(&fs, &dir.join(name), bytes);
    }
    let options = small::options(Arc::new(fs), FileChecksumGenFactory::None);
    if how & 1 != 0 {
        if let Ok(db) = Db::open_read_only(&options, dir) {
            look(&db, outcome);
        }
        return;
    }
    let Ok(db) = Db::open(&options, dir) else { return };
    let found = look(&db, outcome);
    let written = change(&db);
    let closed = db.close();
    drop(db);
    if let (Some(mut found), Ok(()), Ok(())) = (found, written, closed) {
        check_again(&options, dir, outcome, &mut found);
    }
}

/// Reads everything and returns the rows, if there was no error. Panics if the rows are wrong.
fn look(db: &Db, outcome: Outcome) -> Option<Rows> {
    let _ = db.verify_checksum();
    if outcome == Outcome::Anything {
        read_loosely(db);
        return None;
    }
    let rows = small::rows(db).ok()?;
    let right = match outcome {
        Outcome::Prefix => whole().states.contains(&rows),
        _ => rows == *whole().rows(),
    };
    assert!(right, "wrong rows given as good");
    Some(rows)
}

/// Reads damaged entries with adjusted checksums: they may lead anywhere, but not into a panic or an endless
/// loop.
fn read_loosely(db: &Db) {
    for family in db.column_families() {
        let mut iter = db.iter_cf(&family);
        for backwards in [false, true] {
            if backwards {
                iter.seek_to_last();
            } else {
                iter.seek_to_first();
            }
            for _ in 0..MOST_STEPS {
                if !iter.valid() {
                    break;
                }
                if backwards {
                    iter.prev();
                } else {
                    iter.next();
                }
            }
            let _ = iter.status();
        }
        let _ = db.get_cf(&family, b"key008");
    }
}

/// Writes, flushes and compacts.
fn change(db: &Db) -> esker::Result<()> {
    db.put(b"new", b"row")?;
    db.flush()?;
    for name in ["default", OTHER] {
        if let Some(family) = db.column_family(name) {
            db.put_cf(&family, b"new", b"row")?;
            db.compact_range_cf(&family, None, None)?;
        }
    }
    Ok(())
}

/// Checks that rows which were compacted without an error exist afterwards.
fn check_again(options: &Options, dir: &Path, outcome: Outcome, found: &mut Rows) {
    for rows in found.values_mut() {
        rows.insert(b"new".to_vec(), b"row".to_vec());
    }
    let again = Db::open(options, dir).and_then(|db| small::rows(&db));
    // An error is allowed here: this read may meet a corrupt file that was not read before.
    if let Ok(rows) = again {
        assert!(
            outcome == Outcome::Anything || rows == *found,
            "rows are lost by a compaction"
        );
    }
}

/// Does one step of the script, and returns the allowed outcome.
fn take_apart(files: &mut BTreeMap<String, Vec<u8>>, step: &[u8]) -> Outcome {
    let [what, which, high, low, amount, with] = *step else {
        return Outcome::Right;
    };
    let names: Vec<String> = files.keys().cloned().collect();
    let Some(name) = names.get(usize::from(which) % names.len().max(1)) else {
        return Outcome::Right;
    };
    let kind = filename::parse(name);
    let Some(bytes) = files.get_mut(name) else {
        return Outcome::Right;
    };
    if bytes.is_empty() {
        return Outcome::Anything;
    }
    // Damage in the middle of a table or blob file must be detected; a log may appear shorter than it was.
    let damaged = match kind {
        Some(FileKind::Table(_) | FileKind::Blob(_) | FileKind::Identity | FileKind::Options(_)) => {
            Outcome::Right
        }
        Some(FileKind::Wal(_)) => Outcome::Prefix,
        _ => Outcome::Anything,
    };
    let at = usize::from(u16::from_be_bytes([high, low])) % bytes.len();
    let len = (usize::from(amount) + 1).min(bytes.len() - at);
    match usize::from(what) % STEPS.len() {
        0 => {
            bytes[at] ^= 1 << (amount & 7);
            damaged
        }
        1 => {
            bytes[at..at + len].fill(with);
            damaged
        }
        2 => {
            bytes.truncate(at);
            damaged
        }
        3 => {
            files.remove(name);
            damaged
        }
        4 => {
            let copy = bytes.clone();
            let number = u64::from(amount);
            let to = match kind {
                Some(FileKind::Table(_)) => format!("{number:06}.sst"),
                Some(FileKind::Blob(_)) => format!("{number:06}.blob"),
                Some(FileKind::Wal(_)) => format!("{number:06}.log"),
                Some(FileKind::Manifest(_)) => format!("MANIFEST-{number:06}"),
                _ => format!("OPTIONS-{number:06}"),
            };
            files.insert(to, copy);
            Outcome::Anything
        }
        5 => {
            let other = usize::from(with) * 7 % bytes.len();
            let (first, second) = (at.min(other), at.max(other));
            let len = len.min(second - first).min(bytes.len() - second);
            let (head, tail) = bytes.split_at_mut(second);
            head[first..first + len].swap_with_slice(&mut tail[..len]);
            Outcome::Anything
        }
        6 => {
            change_block(bytes, at, usize::from(amount), with);
            Outcome::Anything
        }
        _ => {
            change_record(bytes, at, usize::from(amount), with);
            Outcome::Anything
        }
    }
}

/// Changes a byte of the next block after `at`, and adjusts its checksum.
fn change_block(bytes: &mut [u8], at: usize, place: usize, with: u8) {
    let options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
    let Ok(table) = Table::open(file_of(bytes), options) else {
        return;
    };
    let footer = sst::dump::footer(&table);
    let mut blocks = Vec::new();
    let _ = table.verify(0, &mut |block| {
        blocks.push((block.offset as usize, block.size as usize))
    });
    blocks.sort_unstable();
    let found = blocks.iter().find(|block| block.0 >= at).or(blocks.first());
    let Some(&(offset, size)) =
        found.filter(|block| block.1 > 0 && block.0 + block.1 + BLOCK_TRAILER_LEN <= bytes.len())
    else {
        return;
    };
    bytes[offset + place % size] ^= with;
    let (contents, trailer) = bytes[offset..offset + size + BLOCK_TRAILER_LEN].split_at_mut(size);
    trailer.copy_from_slice(&block_trailer(
        footer.checksum,
        contents,
        trailer[0],
        footer.base_context_checksum,
        offset as u64,
    ));
}

/// Changes a byte of the next record after `at`, and adjusts its checksum.
fn change_record(bytes: &mut [u8], at: usize, place: usize, with: u8) {
    let records: Vec<(usize, usize)> = PhysicalRecords::new(file_of(bytes))
        .take(MOST_STEPS)
        .map_while(Result::ok)
        .filter(|record| record.header_len > 0 && record.payload_len > 0)
        .map(|record| {
            (
                record.offset as usize,
                record.header_len + record.payload_len as usize,
            )
        })
        .filter(|(offset, len)| offset + len <= bytes.len())
        .collect();
    let Some(&(offset, len)) = records.iter().find(|record| record.0 >= at).or(records.first()) else {
        return;
    };
    let record = &mut bytes[offset..offset + len];
    // The checksum covers the type byte and not the length.
    record[6 + place % (len - 6)] ^= with;
    let crc = mask(crc32c(&record[6..]));
    let mut masked = Vec::new();
    coding::put_u32(&mut masked, crc);
    record[..4].copy_from_slice(&masked);
}
