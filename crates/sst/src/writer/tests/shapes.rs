//! Tables of unusual shape, and input that cannot be written.

use std::sync::Arc;

use base::{Error, ErrorKind, MAX_SEQNO, Result};
use vfs::{FileSync, WritableFile};

use super::*;
use crate::dump;

fn value(key: &str, seqno: u64) -> Vec<u8> {
    internal_key::encode(key.as_bytes(), seqno, Kind::Value)
}

#[test]
fn an_empty_table_is_a_table() {
    let scratch = Scratch::new();
    let summary = scratch.write(options(bytewise()), &Vec::new());
    assert_eq!(summary.properties.num_entries, 0);
    assert!(summary.smallest.is_empty() && summary.largest.is_empty());
    assert_eq!((summary.smallest_seqno, summary.largest_seqno), (0, 0));
    let table = scratch.open(bytewise());
    assert!(scan(&table).is_empty());
    verify(&table);
}

#[test]
fn keys_out_of_order_are_refused() {
    let scratch = Scratch::new();
    let mut writer = scratch.writer(options(bytewise()));
    writer.add(&value("b", 5), b"").unwrap();
    for key in [value("b", 5), value("b", 6), value("a", 1)] {
        assert!(writer.add(&key, b"").unwrap_err().is_corruption());
    }
    writer.add(&value("b", 4), b"").unwrap();
    assert_eq!(writer.finish().unwrap().properties.num_entries, 2);
}

#[test]
fn a_table_of_range_tombstones_alone_has_an_empty_index() {
    for format_version in 2..=7 {
        let scratch = Scratch::new();
        let mut writer = scratch.writer(TableWriterOptions {
            format_version,
            ..options(bytewise())
        });
        writer.add_range_tombstone(b"c", b"f", 9).unwrap();
        writer.add_range_tombstone(b"a", b"d", 4).unwrap();
        writer.add_range_tombstone(b"x", b"x", 77).unwrap();
        assert_eq!(writer.num_entries(), 3);
        let summary = writer.finish().unwrap();
        // The fragments, cut at overlaps, are: [a,c)@4 [c,d)@9 [c,d)@4 [d,f)@9.
        let properties = &summary.properties;
        assert_eq!(properties.num_entries, 4);
        assert_eq!(properties.num_deletions, 4);
        assert_eq!(properties.num_range_deletions, 4);
        assert_eq!(properties.raw_key_size, 4 * 9);
        assert_eq!(properties.raw_value_size, 4);
        assert_eq!(properties.num_data_blocks, 0);
        assert_eq!(properties.filter_size, 0);
        assert_eq!(properties.index_size, 8 + 5);
        assert_eq!(properties.data_size, 0);
        assert_eq!(
            summary.smallest,
            internal_key::encode(b"a", 4, Kind::RangeDeletion)
        );
        assert_eq!(
            summary.largest,
            internal_key::encode(b"f", MAX_SEQNO, Kind::RangeDeletion)
        );
        assert_eq!((summary.smallest_seqno, summary.largest_seqno), (4, 9));

        let table = scratch.open(bytewise());
        assert!(scan(&table).is_empty());
        assert_eq!(table.range_tombstones().tombstones().count(), 4);
        assert_eq!(
            table
                .range_tombstones()
                .covering_seqno(&UserComparator::Bytewise, b"c", MAX_SEQNO),
            9
        );
        verify(&table);
    }
}

#[test]
fn bounds_reach_as_far_as_points_and_tombstones() {
    let bounds = |tombstone: (&str, &str)| {
        let scratch = Scratch::new();
        let mut writer = scratch.writer(options(bytewise()));
        writer.add(&value("d", 5), b"").unwrap();
        writer.add(&value("m", 6), b"").unwrap();
        writer
            .add_range_tombstone(tombstone.0.as_bytes(), tombstone.1.as_bytes(), 7)
            .unwrap();
        let summary = writer.finish().unwrap();
        assert_eq!((summary.smallest_seqno, summary.largest_seqno), (5, 7));
        (summary.smallest, summary.largest)
    };
    let tombstone = |key: &str, seqno| internal_key::encode(key.as_bytes(), seqno, Kind::RangeDeletion);
    assert_eq!(bounds(("e", "f")), (value("d", 5), value("m", 6)));
    assert_eq!(bounds(("d", "f")), (tombstone("d", 7), value("m", 6)));
    // A tombstone that ends at the last key does not cover it, and its sentinel sorts before it.
    assert_eq!(bounds(("e", "m")), (value("d", 5), value("m", 6)));
    assert_eq!(bounds(("e", "m\0")), (value("d", 5), tombstone("m\0", MAX_SEQNO)));
}

#[test]
fn versions_of_a_key_across_blocks_force_internal_keys_into_the_index() {
    let entries: Entries = (0..200u64)
        .map(|i| (value("a key", 1000 - i), vec![i as u8; 50]))
        .chain([(value("b", 1), b"b".to_vec())])
        .collect();
    for format_version in [3, 5, 7] {
        let scratch = Scratch::new();
        let summary = scratch.write(
            TableWriterOptions {
                format_version,
                ..options(bytewise())
            },
            &entries,
        );
        assert!(!summary.properties.index_key_is_user_key);
        assert!(summary.properties.num_data_blocks > 10);
        assert_eq!(summary.properties.num_filter_entries, 2, "each user key once");
        let table = scratch.open(bytewise());
        assert_eq!(scan(&table), entries);
        for seqno in [801, 850, 999] {
            let key = LookupKey::new(b"a key", seqno, &UserComparator::Bytewise);
            let mut newest = None;
            table
                .get(&key, &BlockReadOptions::default(), &mut |found, _| {
                    newest = Some(internal_key::seqno(found));
                    std::ops::ControlFlow::Break(())
                })
                .unwrap();
            assert_eq!(newest, Some(seqno));
        }
    }
}

#[test]
fn timestamps_stay_out_of_the_filter_and_in_the_index() {
    let cmp = InternalComparator::new(UserComparator::BytewiseU64Ts);
    let key = |i: u64, ts: u64| [format!("key{i:05}").as_bytes(), &ts.to_le_bytes()].concat();
    let mut entries = Entries::new();
    for i in 0..300u64 {
        for ts in [700, 300, 2] {
            let kind = if i % 7 == 0 {
                Kind::DeletionWithTimestamp
            } else {
                Kind::Value
            };
            entries.push((
                internal_key::encode(&key(i, ts), 10_000 - i * 3 + ts % 3, kind),
                vec![b'v'; 20],
            ));
        }
    }
    let scratch = Scratch::new();
    let mut writer = scratch.writer(options(cmp.clone()));
    for (key, value) in &entries {
        writer.add(key, value).unwrap();
    }
    writer
        .add_range_tombstone(&key(100, 500), &key(400, 500), 20_000)
        .unwrap();
    let summary = writer.finish().unwrap();
    let properties = &summary.properties;
    assert_eq!(properties.num_filter_entries, 300);
    assert_eq!(properties.num_deletions, 43 * 3 + 1);
    assert_eq!(properties.timestamp_min, 2u64.to_le_bytes());
    assert_eq!(properties.timestamp_max, 700u64.to_le_bytes());
    assert_eq!(
        summary.largest,
        internal_key::encode(&key(400, u64::MAX), MAX_SEQNO, Kind::RangeDeletion),
        "the sentinel sorts before every version of the end"
    );

    let table = scratch.open(cmp.clone());
    assert_eq!(scan(&table), entries);
    verify(&table);
    for line in dump::index(&table).unwrap() {
        let last = entries
            .iter()
            .any(|entry| user_key(&entry.0) == line.separator.as_slice() || entry.0 == line.separator);
        assert!(last, "a separator is the last key of its block, not shortened");
    }
}

#[test]
fn short_timestamped_keys_are_refused() {
    let cmp = InternalComparator::new(UserComparator::BytewiseU64Ts);
    let mut writer = Scratch::new().writer(options(cmp));
    assert!(
        writer
            .add(&internal_key::encode(b"7 bytes", 1, Kind::Value), b"")
            .is_err()
    );
    assert!(writer.add_range_tombstone(b"7 bytes", b"8 bytes!", 1).is_err());
}

#[test]
fn aligned_blocks_begin_at_multiples() {
    let entries: Entries = (0..500u64)
        .map(|i| {
            (
                value(&format!("key{i:05}"), i + 1),
                vec![i as u8; (i % 90) as usize],
            )
        })
        .collect();
    for format_version in [2, 5, 7] {
        let scratch = Scratch::new();
        let summary = scratch.write(
            TableWriterOptions {
                format_version,
                block_align: true,
                compression: CompressionType::None,
                index_block_restart_interval: 4,
                ..options(bytewise())
            },
            &entries,
        );
        assert!(!summary.properties.index_value_is_delta_encoded);
        assert!(summary.properties.data_size.is_multiple_of(512));
        let table = scratch.open(bytewise());
        let lines = dump::index(&table).unwrap();
        assert!(lines.len() > 20);
        assert!(lines.iter().all(|line| line.handle.offset.is_multiple_of(512)));
        assert!(lines.iter().all(|line| line.handle.size + 5 <= 512));
        assert_eq!(scan(&table), entries);
        verify(&table);
    }
}

#[test]
fn dictionaries_are_made_stored_and_used() {
    // The rows share nothing with other rows of their block, but much with rows of other blocks.
    let mut rng = testkit::rng();
    let words: Vec<Vec<u8>> = (0..200).map(|_| rng.bytes(40)).collect();
    let entries: Entries = (0..3000u64)
        .map(|i| (value(&format!("key{i:06}"), i + 1), rng.pick(&words).clone()))
        .collect();
    let size_with = |compression, max_dict_bytes, zstd_max_train_bytes| {
        let scratch = Scratch::new();
        let mut written = options(bytewise());
        written.compression = compression;
        written.compression_opts.max_dict_bytes = max_dict_bytes;
        written.compression_opts.zstd_max_train_bytes = zstd_max_train_bytes;
        let mut writer = scratch.writer(written);
        for (key, value) in &entries {
            writer.add(key, value).unwrap();
        }
        assert!(writer.file_size() > 10_000, "held blocks count");
        let summary = writer.finish().unwrap();
        let table = scratch.open(bytewise());
        let has_dictionary = dump::metaindex(&table)
            .iter()
            .any(|entry| entry.0 == crate::format::meta::COMPRESSION_DICT.as_bytes());
        assert_eq!(
            has_dictionary,
            max_dict_bytes > 0 && compression.uses_dictionary()
        );
        assert_eq!(scan(&table), entries);
        verify(&table);
        assert_eq!(
            summary.properties.num_data_blocks,
            table.index().unwrap().len() as u64
        );
        summary.properties.data_size
    };
    for compression in supported_compressions().filter(|ty| *ty != CompressionType::None) {
        let without = size_with(compression, 0, 0);
        let with = size_with(compression, 8 << 10, 0);
        if compression.uses_dictionary() {
            assert!(with < without, "{compression:?}: {with} of {without}");
        } else {
            assert_eq!(with, without);
        }
    }
    let untrained = size_with(CompressionType::Zstd, 0, 0);
    let trained = size_with(CompressionType::Zstd, 8 << 10, 64 << 10);
    assert!(trained < untrained, "{trained} of {untrained}");
}

#[test]
fn a_dictionary_too_small_to_train_is_left_out() {
    let scratch = Scratch::new();
    let mut written = options(bytewise());
    written.compression = CompressionType::Zstd;
    written.compression_opts.max_dict_bytes = 4096;
    written.compression_opts.zstd_max_train_bytes = 4096;
    let entries: Entries = vec![(value("key", 1), vec![b'v'; 300])];
    scratch.write(written.clone(), &entries);
    assert_eq!(scan(&scratch.open(bytewise())), entries);
    scratch.write(written, &Vec::new());
    assert!(scan(&scratch.open(bytewise())).is_empty());
}

#[test]
fn blocks_held_for_a_dictionary_are_released_when_there_are_enough() {
    let mut rng = testkit::rng();
    let entries: Entries = (0..6000u64)
        .map(|i| (value(&format!("key{i:06}"), i + 1), rng.bytes(1000)))
        .collect();
    let scratch = Scratch::new();
    let mut written = options(bytewise());
    written.compression = CompressionType::Zstd;
    written.block_size = 16 << 10;
    written.compression_opts.max_dict_bytes = 1024;
    let mut writer = scratch.writer(written);
    for (key, value) in &entries {
        writer.add(key, value).unwrap();
    }
    assert!(
        writer.data.sink.offset() > 4 << 20,
        "most of the table is in the file"
    );
    writer.finish().unwrap();
    let table = scratch.open(bytewise());
    assert_eq!(scan(&table), entries);
    verify(&table);
}

#[test]
fn blocks_held_for_a_dictionary_are_released_when_a_cache_has_no_room_for_more() {
    let cache = cache::Cache::lru(cache::CacheOptions {
        capacity: 600 << 10,
        strict_capacity_limit: true,
        num_shard_bits: 0,
        ..cache::CacheOptions::default()
    });
    let mut rng = testkit::rng();
    let scratch = Scratch::new();
    let mut written = options(bytewise());
    written.compression = CompressionType::Zstd;
    written.compression_opts.max_dict_bytes = 1024;
    written.dictionary_buffer_cache = Some(cache.clone());
    let mut writer = scratch.writer(written);
    let (mut held, mut most, mut entries) = (0, 0, Entries::new());
    for i in 0..1000u64 {
        let entry = (value(&format!("key{i:06}"), i + 1), rng.bytes(1000));
        writer.add(&entry.0, &entry.1).unwrap();
        entries.push(entry);
        if writer.data.sink.offset() == 0 {
            held += 1000;
        }
        most = most.max(cache.usage());
    }
    // Two dummy entries fit into the cache. The third is needed for more than 512 KiB.
    assert!((500_000..530_000).contains(&held), "{held}");
    assert!((512 << 10..600 << 10).contains(&most), "{most}");
    assert_eq!(cache.usage(), 0, "blocks that are written are not charged");
    writer.finish().unwrap();
    let table = scratch.open(bytewise());
    assert_eq!(scan(&table), entries);
    verify(&table);
}

#[test]
fn large_values_have_blocks_of_their_own() {
    let entries: Entries = (0..5u64)
        .map(|i| (value(&format!("key{i}"), i + 1), vec![i as u8; 300_000]))
        .collect();
    let scratch = Scratch::new();
    let summary = scratch.write(options(bytewise()), &entries);
    assert_eq!(summary.properties.num_data_blocks, 5);
    assert_eq!(summary.properties.raw_value_size, 1_500_000);
    assert_eq!(scan(&scratch.open(bytewise())), entries);
}

#[test]
fn compression_that_does_not_pay_is_counted_and_not_kept() {
    let mut rng = testkit::rng();
    let noise: Entries = (0..100u64)
        .map(|i| {
            (
                internal_key::encode(&rng.bytes(30), i + 1, Kind::Value),
                rng.bytes(60),
            )
        })
        .collect();
    let mut noise = noise;
    noise.sort_by(|a, b| bytewise().compare(&a.0, &b.0));
    for (format_version, name) in [(5, "LZ4"), (7, "BuiltinV2;;")] {
        let scratch = Scratch::new();
        let written = TableWriterOptions {
            format_version,
            enable_index_compression: false,
            ..options(bytewise())
        };
        let properties = scratch.write(written, &noise).properties;
        assert_eq!(properties.compression, name.as_bytes());
        assert_eq!(
            properties.num_data_blocks_compression_rejected,
            Some(properties.num_data_blocks)
        );
        assert_eq!(scan(&scratch.open(bytewise())), noise);
    }
}

#[test]
fn options_that_cannot_be_written_are_refused() {
    type Change = fn(&mut TableWriterOptions);
    let bad: [(Change, ErrorKind); 7] = [
        (|options| options.format_version = 1, ErrorKind::InvalidArgument),
        (|options| options.format_version = 8, ErrorKind::InvalidArgument),
        (|options| options.block_align = true, ErrorKind::InvalidArgument),
        (
            |options| {
                options.block_align = true;
                options.compression = CompressionType::None;
                options.block_size = 1000;
            },
            ErrorKind::InvalidArgument,
        ),
        (|options| options.block_size = 1 << 32, ErrorKind::InvalidArgument),
        (
            |options| options.block_size_deviation = 101,
            ErrorKind::InvalidArgument,
        ),
        (
            |options| options.compression = CompressionType::Xpress,
            ErrorKind::NotSupported,
        ),
    ];
    for (change, kind) in bad {
        let mut options = options(bytewise());
        change(&mut options);
        let file = Box::new(FullDisk::default());
        let error = TableWriter::new(file, options)
            .err()
            .expect("options that contradict each other");
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn what_is_no_entry_is_refused_and_leaves_no_trace() {
    let scratch = Scratch::new();
    let mut writer = scratch.writer(options(bytewise()));
    writer.add(&value("a", 1), b"1").unwrap();
    for bad in [
        b"short".to_vec(),
        internal_key::encode(b"b", 2, Kind::RangeDeletion),
    ] {
        let error = writer.add(&bad, b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    writer.add(&value("b", 2), b"2").unwrap();
    assert_eq!(writer.num_entries(), 2);
    writer.finish().unwrap();
    assert_eq!(scan(&scratch.open(bytewise())).len(), 2);
}

/// A disk that is full after a number of bytes.
#[derive(Debug, Default)]
struct FullDisk {
    free: usize,
    len: u64,
}

impl WritableFile for FullDisk {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.free = self
            .free
            .checked_sub(data.len())
            .ok_or_else(|| Error::new(ErrorKind::NoSpace, "full"))?;
        self.len += data.len() as u64;
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync_all(&mut self) -> Result<()> {
        Ok(())
    }
    fn len(&self) -> u64 {
        self.len
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
    fn path(&self) -> &Path {
        Path::new("full disk")
    }
    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        None
    }
}

#[test]
fn a_full_disk_is_reported_wherever_it_fills() {
    let entries: Entries = (0..300u64)
        .map(|i| (value(&format!("key{i:05}"), i + 1), vec![b'v'; 20]))
        .collect();
    let write = |free: usize| -> Result<u64> {
        let file = Box::new(FullDisk { free, len: 0 });
        let mut writer = TableWriter::new(file, options(bytewise()))?;
        writer.add_range_tombstone(b"a", b"b", 1)?;
        let mut failed = None;
        for (key, value) in &entries {
            if let Err(error) = writer.add(key, value) {
                failed.get_or_insert(error);
            }
        }
        let finished = writer.finish();
        match failed {
            None => finished.map(|summary| summary.file_size),
            Some(error) => {
                assert_eq!(
                    finished.unwrap_err().kind(),
                    ErrorKind::Aborted,
                    "a hole in the table"
                );
                Err(error)
            }
        }
    };
    let size = write(usize::MAX).unwrap() as usize;
    assert_eq!(write(size).unwrap() as usize, size);
    for free in (0..size).step_by(37).chain([size - 1]) {
        assert_eq!(
            write(free).unwrap_err().kind(),
            ErrorKind::NoSpace,
            "{free} of {size}"
        );
    }
}

#[test]
fn writers_move_between_threads() {
    fn moves<T: Send>() {}
    moves::<TableWriter>();
}
