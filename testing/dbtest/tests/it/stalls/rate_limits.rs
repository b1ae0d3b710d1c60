//! Jobs, writes and reads that wait for a rate limiter.

use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    ColumnFamilyOptions, CompressionType, Db, Event, EventListener, IoPriority, Options, RateLimiter,
    RateLimiterMode, RateLimiterOptions, ReadOptions, SystemClock, WriteOptions,
};
use testkit::receive;
use vfs::MemFs;

use super::{gate, limited};

#[test]
fn jobs_ask_the_rate_limiter() {
    for mode in [RateLimiterMode::WritesOnly, RateLimiterMode::AllIo] {
        let (limiter, options) = limited(1 << 30, mode);
        let db = Db::open(&options, "/db").unwrap();
        let mut flushed = 0;
        for value in [1, 2] {
            for key in 0..1000u32 {
                db.put(key.to_be_bytes(), [value; 100]).unwrap();
            }
            flush(&db);
            flushed = db.live_files().iter().map(|file| file.size).sum();
        }
        let through = |priority| limiter.total_bytes_through(Some(priority));
        assert_eq!(
            (through(IoPriority::High), through(IoPriority::Low)),
            (flushed, 0)
        );
        let family = db.default_column_family();
        db.compact_range_cf(&family, None, None).unwrap();
        let written = db.statistics().get(esker::Ticker::CompactWriteBytes);
        assert!(written > 0);
        match mode {
            RateLimiterMode::AllIo => assert!(through(IoPriority::Low) > written + flushed / 2),
            _ => assert_eq!(through(IoPriority::Low), written),
        }
        assert_eq!(through(IoPriority::User), 0, "no user waited for them");
        db.close().unwrap();
    }
}

/// Flushes of two databases wait for the bytes of one limiter, and count against it together.
#[test]
fn two_databases_share_the_bytes_of_a_rate_limiter() {
    let (limiter, mut options) = limited(100 << 20, RateLimiterMode::WritesOnly);
    options.column_family.compression = CompressionType::None;
    let open = |path: &str| Db::open(&options, path).unwrap();
    let databases = [open("/one"), open("/two")];
    let fill = |value: u8| {
        for (db, key) in databases
            .iter()
            .flat_map(|db| (0..4000u32).map(move |key| (db, key)))
        {
            db.put(key.to_be_bytes(), [value; 100]).unwrap();
        }
    };
    let written = || -> u64 {
        let tables = databases.iter().flat_map(|db| db.live_files());
        tables.map(|file| file.size).sum()
    };
    let high = Some(IoPriority::High);
    fill(1);
    databases.iter().for_each(flush);
    assert_eq!(limiter.total_bytes_through(high), written());
    fill(2);
    // A flush needs more bytes than the period has, and the next period has one byte.
    limiter.set_bytes_per_second(1).unwrap();
    std::thread::scope(|scope| {
        let flushes = databases.each_ref().map(|db| scope.spawn(move || flush(db)));
        testkit::wait_until("both flushes wait", || limiter.total_pending_requests(high) == 2);
        limiter.set_bytes_per_second(1 << 30).unwrap();
        flushes.into_iter().for_each(|flush| flush.join().unwrap());
    });
    assert_eq!(limiter.total_bytes_through(high), written());
}

/// A listener that takes almost all bytes of the rate limiter's period when a compaction begins.
struct Starve(Arc<RateLimiter>);

impl EventListener for Starve {
    fn on_event(&self, event: &Event) {
        if let Event::CompactionBegun { .. } = event {
            self.0.set_bytes_per_second(1).unwrap();
        }
    }
}

#[test]
fn a_compaction_that_waits_for_the_rate_limiter_ends_with_the_database() {
    let (limiter, mut options) = limited(100 << 20, RateLimiterMode::WritesOnly);
    let (gate, heard, _go) = gate(|_| false);
    options.listeners = vec![Arc::new(Starve(limiter.clone())), gate];
    options.column_family = ColumnFamilyOptions {
        level0_file_num_compaction_trigger: 2,
        compression: esker::CompressionType::None,
        ..ColumnFamilyOptions::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    for round in 0..2 {
        for key in 0..4000u32 {
            // The keys are written in no order: a flush of keys in order would not go to L0.
            let key = key.wrapping_mul(0x9e37_79b1);
            db.put(key.to_be_bytes(), [round; 100]).unwrap();
        }
        flush(&db);
    }
    while !matches!(receive("an event", &heard), Event::CompactionBegun { .. }) {}
    // The compaction needs more bytes than the rate limiter's period has, and the next period has one byte.
    while limiter.total_pending_requests(Some(IoPriority::Low)) == 0 {
        std::thread::yield_now();
    }
    db.close().unwrap();
    assert_eq!(db.statistics().get(esker::Ticker::CompactWriteBytes), 0);
}

#[test]
fn the_wal_of_users_counts_against_the_rate_limiter() {
    let limiter = Arc::new(RateLimiter::new(1 << 30).unwrap());
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        rate_limiter: Some(limiter.clone()),
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let charged = |priority| WriteOptions {
        rate_limiter_priority: priority,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&family, b"a", [1; 5000], &charged(None)).unwrap();
    assert_eq!(limiter.total_bytes_through(None), 0);
    db.put_cf_opt(&family, b"a", [1; 5000], &charged(Some(IoPriority::User)))
        .unwrap();
    let mut batch = esker::WriteBatch::new();
    batch.put(b"b", &[2; 7000]);
    db.write_opt(batch, &charged(Some(IoPriority::User))).unwrap();
    let bytes = limiter.total_bytes_through(Some(IoPriority::User));
    assert!((12_000..12_100).contains(&bytes), "{bytes}");
    assert_eq!(limiter.total_bytes_through(None), bytes);
    for priority in [IoPriority::Low, IoPriority::Mid, IoPriority::High] {
        let error = db
            .put_cf_opt(&family, b"a", b"1", &charged(Some(priority)))
            .unwrap_err();
        assert_eq!(error.kind(), esker::ErrorKind::InvalidArgument);
    }
    let unlogged = WriteOptions {
        disable_wal: true,
        ..charged(Some(IoPriority::User))
    };
    let error = db.put_cf_opt(&family, b"a", b"1", &unlogged).unwrap_err();
    assert_eq!(error.kind(), esker::ErrorKind::InvalidArgument);
    drop(db);
    let manual = Options {
        manual_wal_flush: true,
        ..options
    };
    let db = Db::open(&manual, "/db").unwrap();
    let family = db.default_column_family();
    let error = db.put_cf_opt(&family, b"a", b"1", &charged(Some(IoPriority::User)));
    assert_eq!(error.unwrap_err().kind(), esker::ErrorKind::InvalidArgument);
}

#[test]
fn what_users_read_counts_against_the_rate_limiter_where_they_say_so() {
    for (mode, counts) in [
        (RateLimiterMode::WritesOnly, false),
        (RateLimiterMode::ReadsOnly, true),
        (RateLimiterMode::AllIo, true),
    ] {
        let fs = MemFs::new();
        let limits = RateLimiterOptions {
            rate_bytes_per_sec: 1 << 40,
            mode,
            ..RateLimiterOptions::default()
        };
        let limiter = RateLimiter::with_options(limits, Arc::new(SystemClock::new())).unwrap();
        let limiter = Arc::new(limiter);
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(fs),
            rate_limiter: Some(limiter.clone()),
            column_family: ColumnFamilyOptions {
                enable_blob_files: true,
                min_blob_size: 1000,
                compression: CompressionType::None,
                disable_auto_compactions: true,
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        options.column_family.table.no_block_cache = true;
        let db = Db::open(&options, "/db").unwrap();
        let family = db.default_column_family();
        let key = |number: u32| format!("key{number:04}").into_bytes();
        for number in 0..1000 {
            db.put(key(number), [7; 100]).unwrap();
        }
        db.put(b"blob", [8; 5000]).unwrap();
        flush(&db);
        let through = |priority| limiter.total_bytes_through(Some(priority));
        let charged = |priority| ReadOptions {
            rate_limiter_priority: priority,
            ..ReadOptions::default()
        };
        type Read<'a> = &'a dyn Fn(&ReadOptions);
        let reads: [(&str, u64, Read<'_>); 5] = [
            ("get", 1000, &|read| {
                db.get_cf_opt(&family, key(500), read).unwrap().unwrap();
            }),
            ("blob", 6000, &|read| {
                let blob = db.get_cf_opt(&family, b"blob", read).unwrap();
                assert_eq!(blob.unwrap().len(), 5000);
            }),
            ("multi_get", 5000, &|read| {
                let keys: Vec<_> = (0..10).map(|number| key(number * 100)).collect();
                for value in db.multi_get_cf_opt(&family, &keys, read) {
                    value.unwrap().unwrap();
                }
            }),
            ("iterator", 100_000, &|read| {
                let mut iter = db.iter_opt(read);
                iter.seek_to_first();
                while iter.valid() {
                    iter.next();
                }
                iter.status().unwrap();
            }),
            ("verify_checksum", 100_000, &|read| {
                db.verify_checksum_opt(read).unwrap()
            }),
        ];
        for (name, least, read) in reads {
            let before = limiter.total_bytes_through(None);
            read(&charged(None));
            assert_eq!(
                limiter.total_bytes_through(None),
                before,
                "{name}: the read is not charged"
            );
            for priority in [
                IoPriority::Low,
                IoPriority::Mid,
                IoPriority::High,
                IoPriority::User,
            ] {
                let before = through(priority);
                read(&charged(Some(priority)));
                let bytes = through(priority) - before;
                match counts {
                    true => assert!((least..1_000_000).contains(&bytes), "{name}: {bytes} bytes"),
                    false => assert_eq!(bytes, 0, "{name}"),
                }
            }
            // Reads without the option are not charged.
            let before = limiter.total_bytes_through(None);
            read(&charged(None));
            assert_eq!(
                limiter.total_bytes_through(None),
                before,
                "{name}: the read is not charged"
            );
        }
    }
}
