//! User code that panics in a read: the caller gets the panic, and nothing stays locked or pinned.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use dbtest::by_hand::{everything, flush, rewrite};
use dbtest::panicking::{Fuse, Site};
use esker::{
    BlockBasedOptions, Cache, CacheOptions, ColumnFamilyOptions, Db, DbIterator, ErrorKind, Options,
    ReadOptions,
};
use vfs::MemFs;

fn open(fuse: &Arc<Fuse>) -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        column_family: ColumnFamilyOptions {
            merge_operator: base::merge::builtin("stringappend"),
            prefix_extractor: base::prefix::builtin("fixed:2"),
            disable_auto_compactions: true,
            table: BlockBasedOptions {
                block_cache: Some(Cache::lru(CacheOptions {
                    capacity: 1 << 20,
                    ..CacheOptions::default()
                })),
                block_size: 512,
                cache_index_and_filter_blocks: true,
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    fuse.put_into(&mut options.column_family);
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for file in 0..4 {
        for number in 0..100 {
            let key = format!("k{:03}", (number * 7 + file) % 120);
            db.put(key.as_bytes(), [b'v'; 50]).unwrap();
            let key = format!("m{:03}", number % 30);
            db.merge_cf(&family, key.as_bytes(), b"x").unwrap();
        }
        db.delete_range_cf(&family, b"k050", b"k055").unwrap();
        if file < 3 {
            flush(&db);
        }
    }
    db
}

fn walk(db: &Db, go: impl Fn(&mut DbIterator)) {
    let mut iter = db.iter();
    go(&mut iter);
    iter.status().unwrap();
}

/// A read, with its name.
type Read = (&'static str, fn(&Db));

const READS: &[Read] = &[
    ("get", |db| drop(db.get(b"k060").unwrap())),
    ("get of a merge", |db| drop(db.get(b"m010").unwrap())),
    ("get_pinned", |db| drop(db.get_pinned(b"k061"))),
    ("multi_get", |db| {
        let keys: Vec<String> = (0..130).map(|number| format!("k{number:03}")).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let family = db.default_column_family();
        for value in db.multi_get_cf(&family, &keys) {
            value.unwrap();
        }
    }),
    ("forwards", |db| {
        walk(db, |iter| {
            iter.seek_to_first();
            while iter.valid() {
                iter.next();
            }
        });
    }),
    ("backwards", |db| {
        walk(db, |iter| {
            iter.seek_to_last();
            while iter.valid() {
                iter.prev();
            }
        });
    }),
    ("seeks and turns", |db| {
        walk(db, |iter| {
            iter.seek(b"k040");
            iter.next();
            iter.prev();
            iter.seek_for_prev(b"m005");
            iter.prev();
            iter.next();
        });
    }),
    ("snapshot", |db| {
        let options = ReadOptions {
            snapshot: Some(db.snapshot()),
            ..ReadOptions::default()
        };
        drop(
            db.get_cf_opt(&db.default_column_family(), b"k060", &options)
                .unwrap(),
        );
    }),
];

/// The pins and locks that may remain when no read is running.
fn held(db: &Db) -> (Option<u64>, Option<u64>, usize, usize) {
    let family = db.default_column_family();
    let pins = db.pins();
    (
        db.property_int(&family, "rocksdb.block-cache-pinned-usage"),
        db.property_int(&family, "rocksdb.num-snapshots"),
        pins.iterators.len(),
        pins.super_versions.len(),
    )
}

#[test]
fn a_read_that_panics_leaves_no_lock_and_no_pin() {
    let fuse = Fuse::new();
    let db = open(&fuse);
    for (what, read) in READS {
        for site in [Site::Compare, Site::Merge, Site::Prefix] {
            read(&db);
            let before = held(&db);
            let mut calls = 0;
            loop {
                fuse.light_here(site, calls);
                let panics = fuse.panics();
                let done = catch_unwind(AssertUnwindSafe(|| read(&db)));
                fuse.cut();
                assert_eq!(held(&db), before, "{what}, {site:?} {calls}");
                if fuse.panics() == panics {
                    done.unwrap();
                    break;
                }
                assert!(done.is_err(), "{what}, {site:?} {calls}");
                calls += 1 + calls / 4;
            }
        }
    }
    // The read that panicked holds no lock, memory or file, so the following calls succeed.
    db.put(b"k000", b"").unwrap();
    flush(&db);
    rewrite(&db);
    assert_eq!(held(&db).3, 0);
    assert_eq!(db.pins().file_bytes, 0);
    db.close().unwrap();
}

/// An iterator whose call has panicked can be positioned again by a seek.
#[test]
fn an_iterator_that_panicked_can_be_sought_again() {
    let fuse = Fuse::new();
    let db = open(&fuse);
    let all = |iter: &mut DbIterator| {
        iter.seek_to_first();
        let mut rows = Vec::new();
        while iter.valid() {
            rows.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next();
        }
        iter.status().unwrap();
        rows
    };
    let expected = all(&mut db.iter());
    let mut iter = db.iter();
    for site in [Site::Compare, Site::Merge] {
        for calls in (0..400).step_by(3) {
            fuse.light_here(site, calls);
            let moved = catch_unwind(AssertUnwindSafe(|| {
                iter.seek(b"k030");
                iter.prev();
                iter.next();
                iter.seek_for_prev(b"m020");
                for _ in 0..20 {
                    iter.prev();
                }
                for _ in 0..20 {
                    iter.next();
                }
            }));
            fuse.cut();
            if moved.is_err() {
                assert!(!iter.valid());
                assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Panicked);
            }
            assert!(all(&mut iter) == expected, "{site:?} {calls}");
        }
    }
    drop(iter);
    db.compact_range_cf_opt(&db.default_column_family(), None, None, &everything())
        .unwrap();
    assert!(all(&mut db.iter()) == expected);
}
