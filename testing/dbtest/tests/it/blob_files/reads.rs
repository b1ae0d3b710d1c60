//! Reads of values in blob files, from disk and from the blob cache.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use esker::{
    BlockCache, Cache, CacheOptions, Db, EntryRole, ErrorKind, PrepopulateBlobCache, ReadOptions, ReadTier,
};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

use super::{DIR, check, in_memory, key, options, put, rows, value};

/// With `allow_unprepared_value` an iterator reads only the blobs whose values are requested.
#[test]
fn values_are_read_when_they_are_asked_for() {
    use base::statistics::{Statistics, Ticker};
    let (_, mut options) = in_memory();
    let statistics = Statistics::new();
    options.statistics = Some(statistics.clone());
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..50, 0, 150);
    put(&db, 50..60, 0, 20);
    put(&db, 10..20, 1, 150);
    flush(&db);
    put(&db, 15..20, 2, 150);
    flush(&db);
    let family = db.default_column_family();
    let write = esker::WriteOptions::default();
    db.merge_cf_opt(&family, key(5), b"more", &write).unwrap();
    let expected = rows(&db);
    let lazy = ReadOptions {
        allow_unprepared_value: true,
        ..ReadOptions::default()
    };
    let blobs = |walk: &mut dyn FnMut()| {
        let before = statistics.get_ticker_count(Ticker::BlobDbBlobFileBytesRead);
        walk();
        let bytes = statistics.get_ticker_count(Ticker::BlobDbBlobFileBytesRead) - before;
        assert_eq!(bytes % 150, 0);
        bytes / 150
    };
    for backwards in [false, true] {
        let start = |iter: &mut esker::DbIterator| match backwards {
            false => iter.seek_to_first(),
            true => iter.seek_to_last(),
        };
        let go_on = |iter: &mut esker::DbIterator| match backwards {
            false => iter.next(),
            true => iter.prev(),
        };
        // The scan requests no value: only a merge reads its base value from a blob file.
        let mut keys = Vec::new();
        let read = blobs(&mut || {
            let mut iter = db.iter_opt(&lazy);
            start(&mut iter);
            while iter.valid() {
                let value = &expected[iter.key()];
                match iter.unprepared_value().unwrap() {
                    Some(known) => {
                        assert!(iter.value().is_empty() && iter.value_pinned().is_empty());
                        assert!(!iter.is_value_prepared() && !known.is_compressed);
                        assert_eq!(known.stored_size, value.len() as u64);
                    }
                    None => assert_eq!(iter.value(), value),
                }
                keys.push(iter.key().to_vec());
                go_on(&mut iter);
            }
            iter.status().unwrap();
        });
        assert_eq!(read, 1);
        keys.sort();
        assert!(keys.iter().eq(expected.keys()));
        // The scan requests every other value, twice, and then changes direction.
        let read = blobs(&mut || {
            let mut iter = db.iter_opt(&lazy);
            start(&mut iter);
            let mut asked = false;
            while iter.valid() {
                let at = iter.key().to_vec();
                if asked {
                    assert!(iter.prepare_value() && iter.prepare_value());
                    assert!(iter.is_value_prepared() && iter.unprepared_value().unwrap().is_none());
                    assert_eq!(iter.value(), expected[&at]);
                    assert_eq!(iter.value_pinned(), expected[&at]);
                }
                asked = !asked;
                go_on(&mut iter);
                if iter.valid() && at == key(30) {
                    match backwards {
                        false => iter.prev(),
                        true => iter.next(),
                    }
                    assert_eq!(iter.key(), at);
                    assert_eq!(
                        iter.prepare_value().then(|| iter.value()),
                        Some(&expected[&at][..])
                    );
                    go_on(&mut iter);
                }
            }
            iter.status().unwrap();
        });
        // At most half of the 49 blobs are read, one for the change of direction, and one for the merge.
        assert!(read <= 27, "{read}");
    }
    // An iterator without the option has no unprepared values.
    assert!(db.iter().unprepared_value().unwrap().is_none());
}

/// An unreadable blob fails the reads that request it, and no others.
#[test]
fn a_damaged_value_is_told_where_it_is_asked_for() {
    let (fs, options) = in_memory();
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..10, 0, 150);
    flush(&db);
    let path = db.blob_files(&db.default_column_family())[0].path.clone();
    db.close().unwrap();
    drop(db);
    let mut bytes = fs.read_file(&path).unwrap();
    let at = 30 + 5 * (32 + 7 + 150) + 32 + 7 + 70;
    bytes[at] ^= 1;
    fs.write_file(&path, &bytes).unwrap();
    let db = Db::open(&options, DIR).unwrap();
    let mut iter = db.iter_opt(&ReadOptions {
        allow_unprepared_value: true,
        ..ReadOptions::default()
    });
    for backwards in [false, true] {
        iter.seek(&key(4));
        iter.next();
        if backwards {
            iter.next();
            iter.prev();
        }
        assert!(iter.valid());
        iter.status().unwrap();
        assert!(!iter.prepare_value());
        assert!(!iter.valid());
        assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Corruption);
        iter.seek(&key(6));
        assert!(iter.prepare_value());
        assert_eq!(iter.value(), value(6, 0, 150));
    }
}

/// The number of blobs in a cache.
fn cached_blobs(cache: &BlockCache) -> usize {
    let roles = cache.usage_by_role(None);
    let blobs = roles.iter().find(|usage| usage.role == EntryRole::BlobValue);
    blobs.unwrap().entries
}

#[test]
fn values_are_kept_in_a_cache() {
    for shared in [false, true] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let mut options = options(Arc::new(faults.clone()));
        let cache: Arc<BlockCache> = Cache::lru(CacheOptions::default());
        options.column_family.blob_cache = Some(cache.clone());
        if shared {
            options.column_family.table.block_cache = Some(cache.clone());
        }
        let mut db = Db::open(&options, DIR).unwrap();
        put(&db, 0..20, 0, 200);
        flush(&db);
        assert_eq!(cached_blobs(&cache), 0, "no blob was read yet");
        let family = db.default_column_family();
        let memory_alone = ReadOptions {
            read_tier: ReadTier::BlockCache,
            ..ReadOptions::default()
        };
        let keys: Vec<_> = (0..20).map(key).collect();
        let passing = ReadOptions {
            fill_cache: false,
            ..ReadOptions::default()
        };
        assert!(db.get_cf_opt(&family, &keys[3], &passing).unwrap().is_some());
        assert_eq!(cached_blobs(&cache), 0, "fill_cache is false");
        assert_eq!(rows(&db).len(), 20);
        assert_eq!(cached_blobs(&cache), 20);
        // From now on an injected fault makes reads of blob files fail.
        faults.add(
            Rule::new(Action::Fail(ErrorKind::Io))
                .on([Op::Read])
                .path_ends_with(".blob"),
        );
        assert_eq!(rows(&db).len(), 20);
        for (i, found) in db
            .multi_get_cf_opt(&family, &keys, &memory_alone)
            .into_iter()
            .enumerate()
        {
            assert_eq!(found.unwrap().unwrap(), value(i as u32, 0, 200));
        }
        cache.erase_unreferenced();
        let error = db.get_cf_opt(&family, &keys[0], &memory_alone).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
        let error = db.get(&keys[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        faults.clear_rules();
        db.close().unwrap();
        drop((db, family));
        options.column_family.prepopulate_blob_cache = PrepopulateBlobCache::FlushOnly;
        db = Db::open(&options, DIR).unwrap();
        put(&db, 20..30, 0, 200);
        flush(&db);
        assert_eq!(cached_blobs(&cache), 10, "what the flush wrote");
        rewrite(&db);
        assert_eq!(cached_blobs(&cache), 10, "no compaction puts anything there");
        assert_eq!(rows(&db).len(), 30);
        check(&db, &mem, Path::new(DIR));
    }
}
