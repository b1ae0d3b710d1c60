//! The database that the benchmarks of this crate fill.

use std::path::Path;
use std::sync::Arc;

use esker::{Cache, CacheOptions, ColumnFamily, ColumnFamilyOptions, Db, Options, WriteOptions};
use vfs::MemFs;

/// In memory, for versions, with a block cache of a GiB and what `more` says of its family.
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

/// How it is filled.
pub fn unlogged() -> WriteOptions {
    WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    }
}
