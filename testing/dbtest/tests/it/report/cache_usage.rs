//! Memory besides blocks that is charged to the block cache, by role.

use std::sync::Arc;

use dbtest::by_hand::rewrite;
use esker::{
    BlockCache, Cache, CacheEntryRole, CacheOptions, CacheUsageOptions, Charged, ColumnFamilyOptions, Db,
    EntryRole, ErrorKind, Options, SstFileWriter,
};
use vfs::MemFs;

/// The memory of one dummy entry in bytes.
const ENTRY: usize = 256 << 10;

fn cache(capacity: usize, strict_capacity_limit: bool) -> Arc<BlockCache> {
    Cache::lru(CacheOptions {
        capacity,
        strict_capacity_limit,
        num_shard_bits: 0,
        ..CacheOptions::default()
    })
}

/// The number of entries of a role.
fn entries(cache: &BlockCache, role: CacheEntryRole) -> usize {
    let role = EntryRole::from(role);
    let usage = cache.usage_by_role(None);
    let usage = usage.iter().find(|usage| usage.role == role).unwrap();
    assert!(usage.usage >= usage.entries * ENTRY, "{usage:?}");
    usage.entries
}

fn options(blocks: &Arc<BlockCache>, role: CacheEntryRole) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    options.column_family.table.block_cache = Some(blocks.clone());
    options.column_family.table.cache_usage_options = CacheUsageOptions::charging(role);
    options
}

#[test]
fn records_of_tables_are_charged() {
    let role = CacheEntryRole::FileMetadata;
    let roomy = cache(8 << 20, true);
    let mut options = options(&roomy, role);
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(entries(&roomy, role), 0);
    // The bounds of each table are long: a record takes more than 100,000 bytes.
    let put = |db: &Db, table: u8| {
        for key in [0, 1] {
            db.put([vec![table; 50_000], vec![key]].concat(), b"value")
                .unwrap();
        }
        db.flush()
    };
    for table in 0..6 {
        put(&db, table).unwrap();
    }
    let charged = entries(&roomy, role);
    assert_eq!(charged, 600_000usize.div_ceil(ENTRY));
    let mut writer = SstFileWriter::new(&options);
    writer.open("/ext.sst").unwrap();
    for key in 0..4 {
        writer
            .put([vec![100; 70_000], vec![key]].concat(), b"value")
            .unwrap();
    }
    writer.finish().unwrap();
    db.ingest_external_file(&["/ext.sst"], &Default::default())
        .unwrap();
    assert_eq!(entries(&roomy, role), 740_000usize.div_ceil(ENTRY));
    // A compaction leaves one record, with the bounds of two.
    rewrite(&db);
    db.wait_for_purge().unwrap();
    testkit::wait_until("records of obsolete tables are charged no more", || {
        entries(&roomy, role) == 1
    });
    db.close().unwrap();
    drop(db);
    testkit::wait_until("records of a closed database are charged no more", || {
        entries(&roomy, role) == 0
    });
    let db = Db::open(&options, "/db").unwrap();
    assert_eq!(entries(&roomy, role), 1);
    db.close().unwrap();
    drop(db);

    // A strict cache refuses the database, and a flush, if it has no room for their records.
    options.column_family.table.block_cache = Some(cache(ENTRY / 2, true));
    let refused = |error: esker::Error, kind| {
        assert_eq!(error.kind(), kind);
        let reason = "Can't allocate FileMetadata due to exceeding the memory limit based on cache capacity";
        assert!(error.to_string().contains(reason), "{error}");
    };
    refused(Db::open(&options, "/db").err().unwrap(), ErrorKind::Aborted);
    let db = Db::open(&options, "/new").unwrap();
    refused(put(&db, 0).unwrap_err(), ErrorKind::ReadOnly);
    drop(db);
    options.column_family.table.block_cache = Some(cache(ENTRY / 2, false));
    let db = Db::open(&options, "/new").unwrap();
    assert_eq!(
        db.get([vec![0; 50_000], vec![1]].concat()).unwrap().as_deref(),
        Some(&b"value"[..])
    );
}

#[test]
fn a_blob_cache_is_charged_once() {
    let role = CacheEntryRole::BlobCache;
    let (blocks, blobs) = (cache(8 << 20, false), cache(1 << 20, false));
    let mut options = options(&blocks, role);
    let table = options.column_family.table.clone();
    options.column_family = ColumnFamilyOptions {
        enable_blob_files: true,
        blob_cache: Some(blobs.clone()),
        table,
        ..ColumnFamilyOptions::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let other = db.create_column_family("other", &options.column_family).unwrap();
    for (number, family) in [db.default_column_family(), other].iter().enumerate() {
        for key in 0..50u8 {
            db.put_cf(family, [key], vec![key; 10_000]).unwrap();
        }
        db.flush_cf(std::slice::from_ref(family)).unwrap();
        for key in 0..50u8 {
            assert_eq!(db.get_cf(family, [key]).unwrap().unwrap(), vec![key; 10_000]);
            // The charge of both families is that of the cache.
            assert_eq!(entries(&blocks, role), blobs.usage().div_ceil(ENTRY), "{number}");
        }
    }
    assert_eq!(entries(&blocks, role), 4, "the blob cache is full");
    db.close().unwrap();
    drop((db, options));
    testkit::wait_until("a blob cache without families is charged no more", || {
        entries(&blocks, role) == 0
    });
}

#[test]
fn wrong_charges_are_refused_as_in_rocksdb() {
    let blocks = cache(1 << 20, false);
    let refused = |options: &Options, kind, text: &str| {
        let error = Db::open(options, "/db").err().unwrap();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(text), "{error}");
    };
    let said = |reason: &str| {
        format!("Enable CacheEntryRoleOptions::charged for CacheEntryRole BlobCache but {reason}")
    };
    let mut options = options(&blocks, CacheEntryRole::BlobCache);
    let invalid = ErrorKind::InvalidArgument;
    refused(&options, invalid, &said("blob cache is not configured"));
    options.column_family.blob_cache = Some(blocks.clone());
    refused(&options, invalid, &said("blob cache is the same as block cache"));
    options.column_family.blob_cache = Some(cache(2 << 20, false));
    let larger = said("blob cache capacity is larger than block cache capacity");
    refused(&options, invalid, &larger);
    options.column_family.table.no_block_cache = true;
    refused(&options, invalid, &said("block cache is disabled"));
    options.column_family.table.no_block_cache = false;
    for charged in [Charged::Enabled, Charged::Disabled] {
        options.column_family.table.cache_usage_options = CacheUsageOptions {
            options: charged,
            ..CacheUsageOptions::default()
        };
        let text =
            "Enable/Disable CacheEntryRoleOptions::charged for CacheEntryRole DataBlock is not supported";
        refused(&options, ErrorKind::NotSupported, text);
    }
}
