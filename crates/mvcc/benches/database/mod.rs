//! The database that the benchmarks of this crate fill.

use std::path::Path;
use std::sync::Arc;

use esker::{Cache, CacheOptions, ColumnFamily, ColumnFamilyOptions, Db, Options, WriteOptions};
use vfs::MemFs;

/// An in-memory database for versions, with a block cache of 1 GiB. `more` adds family options.
pub fn open(more: impl FnOnce(&mut ColumnFamilyOptions)) -> (Db, ColumnFamily) {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let family = &mut options.column_family;
    esker_mvcc::configure(family);
    family.table.block_cache = Some(Cache::lru(CacheOptions {
        capacity: 1 << 30,
        ..CacheOptions::default()
    }));
    more(family);
    let db = Db::open(&options, Path::new("/db")).expect("a database");
    let family = db.default_column_family();
    (db, family)
}

/// The write options that fill the database.
pub fn unlogged() -> WriteOptions {
    WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    }
}
