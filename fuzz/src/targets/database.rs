//! The engine's own decoders, and whole databases.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use esker::{Db, Options, OptionsFile, WriteBatch};
use vfs::{FileSystem, MemFs};

use super::{MOST_STEPS, put_file};
use crate::vectors;

/// The input is a write batch: it decodes completely or not at all, and a batch made from its operations is
/// the same.
pub fn write_batch(data: &[u8]) {
    let Ok(batch) = WriteBatch::from_data(data) else {
        return;
    };
    assert_eq!(batch.data(), data);
    let counted = batch
        .operations()
        .filter(|operation| operation.as_ref().is_ok_and(|found| found.is_counted()));
    assert_eq!(counted.count(), batch.count() as usize);
}

/// An OPTIONS file: options that were parsed are written in a form that parses again.
pub fn options_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(file) = OptionsFile::parse(text) else {
        return;
    };
    let _ = file.options();
    let written = file.text();
    let again = OptionsFile::parse(&written).expect("what was written is read");
    assert_eq!(again.text(), written);
}

/// The files of the database that [`database`] damages, in the order of its first byte.
pub const DATABASE_FILES: [&str; 4] = ["CURRENT", "MANIFEST-000001", "000010.sst", "000011.log"];

/// A whole database, one file of which is the input. The first byte chooses the file, and whether the open is
/// read-only; a database that opens is read and closed.
pub fn database(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    static WHOLE: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    let whole = WHOLE.get_or_init(vectors::minimal_database);
    let fs = MemFs::new();
    let dir = Path::new("/db");
    fs.create_dir_all(dir).expect("a directory in memory");
    for (name, bytes) in whole {
        put_file(&fs, &dir.join(name), bytes);
    }
    put_file(&fs, &dir.join(DATABASE_FILES[usize::from(how & 3)]), bytes);
    let options = Options {
        fs: Arc::new(fs),
        ..Options::default()
    };
    let opened = if how & 4 != 0 {
        Db::open_read_only(&options, dir)
    } else {
        Db::open(&options, dir)
    };
    let Ok(db) = opened else { return };
    for family in db.column_families() {
        let mut entries = db.iter_cf(&family);
        entries.seek_to_first();
        for _ in 0..MOST_STEPS {
            if !entries.valid() {
                break;
            }
            entries.next();
        }
        let _ = entries.status();
        let _ = db.get_cf(&family, b"key00007");
    }
    let _ = db.close();
}
