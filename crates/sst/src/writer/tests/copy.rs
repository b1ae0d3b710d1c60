//! Blocks copied from other tables.

use codec::CompressionOptions;
use testkit::oracle;

use super::oracle::{by_table, sst_dump};
use super::*;
use crate::cursor::TableCursor;
use crate::dump;
use crate::fetch::BlockKind;

/// One version of each key, all of about the same size; half of the values compress.
fn rows(rng: &mut TestRng, count: usize) -> Entries {
    let row = |i: usize| {
        let key = internal_key::encode(format!("key{:07}", i * 10).as_bytes(), i as u64 + 1, Kind::Value);
        let value = match i % 2 {
            0 => rng.bytes(40),
            _ => vec![b'v'; 40],
        };
        (key, value)
    };
    (0..count).map(row).collect()
}

/// Adds the entries of `cursor`, by whole blocks if possible. Returns the number of entries in copied blocks.
fn add_all(writer: &mut TableWriter, cursor: &mut TableCursor) -> usize {
    let mut copied = 0;
    cursor.seek_to_first();
    while cursor.valid() {
        copied += add_block_or_entry(writer, cursor);
    }
    cursor.status().unwrap();
    copied
}

fn add_block_or_entry(writer: &mut TableWriter, cursor: &mut TableCursor) -> usize {
    let mut copied = 0;
    if cursor.at_block_start() && writer.stores_as(cursor.table()) && writer.can_copy_block(cursor) {
        let bytes = writer.copy_block(cursor, |_, _| copied += 1).unwrap();
        assert!(bytes.is_some_and(|bytes| bytes > 5));
        cursor.leave_block();
    } else {
        writer.add(cursor.key(), cursor.value()).unwrap();
        cursor.next();
    }
    copied
}

/// Bytes of each data block, uncompressed.
fn block_sizes(table: &Table) -> Vec<usize> {
    let blocks = dump::index(table).unwrap();
    let size = |handle| {
        table
            .fetcher
            .contents(handle, BlockKind::Data, true)
            .unwrap()
            .len()
    };
    blocks.iter().map(|line| size(line.handle)).collect()
}

#[test]
fn a_table_copied_block_by_block_is_the_same_to_the_byte() {
    let mut rng = testkit::rng();
    for round in 0..60 {
        let mut written = options(bytewise());
        written.format_version = 2 + round % 6;
        written.checksum = *rng.pick(&ChecksumType::ALL);
        written.compression = *rng.pick(&supported_compressions().collect::<Vec<_>>());
        written.compression_opts.parallel_threads = *rng.pick(&[1, 1, 3]);
        written.block_restart_interval = *rng.pick(&[1, 2, 16, 1000]);
        written.use_delta_encoding = !rng.one_in(4);
        written.index_type = *rng.pick(&[
            IndexType::BinarySearch,
            IndexType::TwoLevel,
            IndexType::BinarySearchWithFirstKey,
        ]);
        written.metadata_block_size = 256;
        written.partition_filters = rng.one_in(2);
        written.decouple_partitioned_filters = rng.one_in(2);
        if written.format_version >= 5 {
            written.separate_key_value_in_data_block = rng.one_in(4);
        }
        let entries = rows(&mut rng, 300);
        let from = Scratch::new();
        from.write(written.clone(), &entries);
        let table = from.open(bytewise());

        let to = Scratch::new();
        let mut writer = to.writer(written.clone());
        let copied = add_all(&mut writer, &mut table.cursor(BlockReadOptions::default()));
        assert!(copied > 250, "{copied}");
        writer.finish().unwrap();
        let [expected, found] = [&from, &to].map(|scratch| std::fs::read(scratch.path()).unwrap());
        assert!(expected == found, "round {round}");

        // In a table with another identity every checksum differs from format version 6 on.
        let elsewhere = Scratch::new();
        let checksum = *rng.pick(&ChecksumType::ALL);
        let mut writer = elsewhere.writer(TableWriterOptions {
            file_number: 8,
            checksum,
            ..written
        });
        assert_eq!(
            add_all(&mut writer, &mut table.cursor(BlockReadOptions::default())),
            copied
        );
        writer.finish().unwrap();
        let moved = elsewhere.open(bytewise());
        verify(&moved);
        assert_eq!(scan(&moved), entries);
        let same = table.footer.base_context_checksum == moved.footer.base_context_checksum;
        assert_eq!(same, moved.format_version() < 6);
    }
}

#[test]
fn blocks_and_entries_mix_and_no_block_gets_small() {
    let mut rng = testkit::rng();
    let dir = TempDir::new().unwrap();
    let mut expected = Vec::new();
    for round in 0..20 {
        let written = TableWriterOptions {
            compression: *rng.pick(&supported_compressions().collect::<Vec<_>>()),
            ..options(bytewise())
        };
        let below = rows(&mut rng, 2000);
        let from = Scratch::new();
        from.write(written.clone(), &below);
        let table = from.open(bytewise());
        // Other keys are added between some of the copied keys, at various distances.
        let rarely = rng.u32(5..200);
        let mut above = Entries::new();
        for i in 0..below.len() {
            if rng.one_in(rarely) {
                let key = format!("key{:07}", i * 10 + 5);
                above.push((
                    internal_key::encode(key.as_bytes(), 9, Kind::Value),
                    rng.bytes(40),
                ));
            }
        }

        let name = format!("{round:06}.sst");
        let mut writer = writer_at(&dir.path().join(&name), written);
        let mut cursor = table.cursor(BlockReadOptions::default());
        let (mut copied, mut blocks) = (0, 0);
        let mut others = above.iter().peekable();
        cursor.seek_to_first();
        while cursor.valid() {
            while let Some((key, value)) =
                others.next_if(|other| bytewise().compare(&other.0, cursor.key()).is_lt())
            {
                writer.add(key, value).unwrap();
            }
            let next = others.peek().map(|other| internal_key::user_key(&other.0));
            let alone = cursor
                .block_bound()
                .is_some_and(|bound| next.is_none_or(|next| bound < next));
            if alone {
                let entries = add_block_or_entry(&mut writer, &mut cursor);
                copied += entries;
                blocks += usize::from(entries > 0);
            } else {
                writer.add(cursor.key(), cursor.value()).unwrap();
                cursor.next();
            }
        }
        for (key, value) in others {
            writer.add(key, value).unwrap();
        }
        writer.finish().unwrap();
        let merged = open(&dir.path().join(&name), TableReadOptions::new(bytewise()));
        verify(&merged);
        let mut all = [below, above].concat();
        all.sort_by(|a, b| bytewise().compare(&a.0, &b.0));
        assert!(scan(&merged) == all);
        for (key, value) in &all {
            let user_key = internal_key::user_key(key);
            assert_eq!(get(&merged, user_key), Some((key.clone(), value.clone())));
        }
        assert_eq!(merged.properties().num_entries, all.len() as u64);
        let sizes = block_sizes(&merged);
        let (_, whole) = sizes.split_last().unwrap();
        assert!(
            blocks > 3 || rarely < 20,
            "{blocks} blocks, {copied} entries copied"
        );
        assert!(
            whole.iter().all(|&size| (512 / 2 - 70..=512).contains(&size)),
            "{sizes:?}"
        );
        expected.push((name, all.len()));
    }

    let (Some(verifies), Some(scans)) = (oracle::sst_dump(), oracle::sst_dump()) else {
        return;
    };
    let output = sst_dump(verifies, dir.path(), &["--command=verify", "--verify_checksum"]);
    let verified = by_table(&output);
    let output = sst_dump(scans, dir.path(), &["--command=scan", "--verify_checksum"]);
    let scanned = by_table(&output);
    for (name, entries) in expected {
        assert!(verified[name.as_str()].contains(&"The file is ok"), "{name}");
        let rows = scanned[name.as_str()].iter().filter(|line| line.contains(" => "));
        assert_eq!(rows.count(), entries, "{name}");
    }
}

#[test]
fn blocks_of_another_kind_are_not_copied() {
    let mut rng = testkit::rng();
    let entries = rows(&mut rng, 200);
    let plain = options(bytewise());
    let copies = |from: &TableWriterOptions, to: &TableWriterOptions| {
        let [source, target] = [Scratch::new(), Scratch::new()];
        source.write(from.clone(), &entries);
        let table = source.open(bytewise());
        let mut writer = target.writer(to.clone());
        let copied = add_all(&mut writer, &mut table.cursor(BlockReadOptions::default()));
        writer.finish().unwrap();
        let written = target.open(bytewise());
        verify(&written);
        assert_eq!(scan(&written), entries);
        // The last block ends early, and may look like one of another size.
        copied > 10
    };
    assert!(copies(&plain, &plain));
    let zstd = TableWriterOptions {
        compression: CompressionType::Zstd,
        ..plain.clone()
    };
    assert!(copies(&zstd, &zstd));
    let dictionary = TableWriterOptions {
        compression_opts: CompressionOptions {
            max_dict_bytes: 1000,
            ..CompressionOptions::default()
        },
        ..zstd.clone()
    };
    assert!(!copies(&dictionary, &dictionary));
    let aligned = TableWriterOptions {
        compression: CompressionType::None,
        block_align: true,
        ..plain.clone()
    };
    assert!(!copies(&aligned, &aligned));
    let other = [
        zstd.clone(),
        dictionary,
        TableWriterOptions {
            compression: CompressionType::None,
            ..plain.clone()
        },
        TableWriterOptions {
            compression_opts: CompressionOptions {
                level: 9,
                ..CompressionOptions::default()
            },
            ..plain.clone()
        },
        TableWriterOptions {
            block_size: 200,
            ..plain.clone()
        },
        TableWriterOptions {
            block_size: 2000,
            ..plain.clone()
        },
        TableWriterOptions {
            block_restart_interval: 4,
            ..plain.clone()
        },
        TableWriterOptions {
            use_delta_encoding: false,
            ..plain.clone()
        },
        TableWriterOptions {
            separate_key_value_in_data_block: true,
            ..plain.clone()
        },
        TableWriterOptions {
            data_block_hash_table_util_ratio: Some(0.75),
            ..plain.clone()
        },
    ];
    for (i, other) in other.iter().enumerate() {
        assert!(!copies(other, &plain), "{i}");
        assert!(!copies(&plain, other), "{i}");
    }
}

#[test]
fn a_damaged_block_is_not_copied() {
    let mut rng = testkit::rng();
    for compression in [CompressionType::None, CompressionType::Lz4] {
        let scratch = Scratch::new();
        let written = TableWriterOptions {
            compression,
            ..options(bytewise())
        };
        scratch.write(written.clone(), &rows(&mut rng, 100));
        let handle = dump::index(&scratch.open(bytewise())).unwrap()[1].handle;
        let mut bytes = std::fs::read(scratch.path()).unwrap();
        // Damage in the last value of a block changes no key, so only the checksum detects it.
        let at = match compression {
            CompressionType::None => handle.offset + handle.size - 20,
            _ => handle.offset + handle.size + 2,
        };
        bytes[at as usize] ^= 1;
        std::fs::write(scratch.path(), bytes).unwrap();

        let table = scratch.open(bytewise());
        let mut cursor = table.cursor(BlockReadOptions {
            verify_checksums: false,
            ..BlockReadOptions::default()
        });
        let to = Scratch::new();
        let mut writer = to.writer(written);
        cursor.seek_to_first();
        assert!(writer.can_copy_block(&cursor));
        writer.copy_block(&mut cursor, |_, _| ()).unwrap();
        cursor.leave_block();
        assert!(writer.can_copy_block(&cursor));
        let error = writer.copy_block(&mut cursor, |_, _| ()).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert_eq!(error.offset(), Some(handle.offset));
        assert_eq!(error.file(), Some(scratch.path().as_path()));
    }
}
