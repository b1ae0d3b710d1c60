//! The tables of twenty databases written by RocksDB: all its format versions, indexes, filters and
//! compression types.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, MAX_SEQNO};
use sst::{BlockReadOptions, LookupKey, Table, TableReadOptions};
use testkit::conformance::check_cursor;
use testkit::rng;

use crate::common::{Entries, Fixture, backwards, fixtures, forwards, mapped_file, new_cache};

const UNCACHED: BlockReadOptions = BlockReadOptions {
    cache_only: false,
    verify_checksums: true,
    fill_cache: false,
    caches_first_reads: false,
    readahead_size: 0,
    adaptive_readahead: false,
    auto_readahead_size: true,
    async_io: false,
    caller: sst::TableReaderCaller::Uncategorized,
};

/// The counts in the properties must be those of the entries.
fn check_counts(fixture: &Fixture, table: &Table, entries: &Entries) {
    let properties = table.properties();
    let tombstones = table.range_tombstones();
    let num_range_deletions = properties.num_range_deletions as usize;
    assert_eq!(
        properties.num_entries as usize,
        entries.len() + num_range_deletions,
        "{}",
        fixture.name
    );
    assert_eq!(
        tombstones.is_empty(),
        num_range_deletions == 0,
        "{}",
        fixture.name
    );
    if num_range_deletions == 0 {
        let sum = |size: fn(&(Vec<u8>, Vec<u8>)) -> usize| entries.iter().map(size).sum::<usize>() as u64;
        assert_eq!(
            properties.raw_key_size,
            sum(|entry| entry.0.len()),
            "{}",
            fixture.name
        );
        assert_eq!(
            properties.raw_value_size,
            sum(|entry| entry.1.len()),
            "{}",
            fixture.name
        );
    }
}

/// A lookup of each version of each key at its own sequence number must find it, and nothing before it.
pub fn check_lookups(fixture: &Fixture, table: &Arc<Table>, entries: &Entries, options: &BlockReadOptions) {
    let order = &fixture.order;
    for (i, (key, value)) in entries.iter().enumerate() {
        let user_key = internal_key::user_key(key);
        let lookup = LookupKey::new(user_key, internal_key::seqno(key), order);
        assert!(table.may_contain(&lookup).unwrap(), "{} {key:02x?}", fixture.name);
        let mut found = Vec::new();
        let kept = table
            .get(&lookup, options, &mut |key, value| {
                value.keep();
                found.push((key.to_vec(), value.bytes().to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(kept.as_deref(), found.last().map(|(_, value)| &value[..]));
        let expected: Vec<_> = entries[i..]
            .iter()
            .take_while(|(other, _)| {
                order
                    .compare_without_timestamp(internal_key::user_key(other), user_key)
                    .is_eq()
            })
            .filter(|(other, _)| internal_key::seqno(other) <= internal_key::seqno(key))
            .collect();
        assert_eq!(found.len(), expected.len(), "{} {key:02x?}", fixture.name);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((&found.0[..], &found.1[..]), (&expected.0[..], &expected.1[..]));
        }
        assert_eq!((&expected[0].0, &expected[0].1), (key, value));

        // A lookup at the highest sequence number finds the first version alone.
        let newest = LookupKey::new(user_key, MAX_SEQNO, order);
        let mut first = None;
        table
            .get(&newest, options, &mut |key, _| {
                first = Some(key.to_vec());
                ControlFlow::Break(())
            })
            .unwrap();
        assert!(first.is_some());

        // A neighbouring key that may be absent.
        let mut absent = user_key[..user_key.len() - order.timestamp_size()].to_vec();
        absent.push(b'!');
        absent.extend_from_slice(order.timestamp(user_key));
        let there = entries.iter().any(|(other, _)| {
            order
                .compare_without_timestamp(internal_key::user_key(other), &absent)
                .is_eq()
        });
        let mut seen = false;
        let absent_key = LookupKey::new(&absent, MAX_SEQNO, order);
        if let Some(located) = table.locate_unfiltered(&absent_key).unwrap() {
            let mut visit = |_: &[u8], _: sst::Value<'_>| {
                seen = true;
                ControlFlow::Continue(())
            };
            table
                .get_located(&absent_key, located, options, &mut visit)
                .unwrap();
        }
        assert_eq!(seen, there, "{} {absent:02x?}", fixture.name);
    }
}

#[test]
fn every_table_reads_the_same_both_ways_and_every_key_is_found() {
    for fixture in fixtures() {
        let cache = new_cache(1 << 20);
        let table = fixture.open(Some(cache));
        let entries = forwards(&table, UNCACHED).unwrap();
        let cmp = fixture.cmp();
        assert!(
            entries.is_sorted_by(|a, b| cmp.compare(&a.0, &b.0).is_lt()),
            "{}",
            fixture.name
        );
        check_counts(&fixture, &table, &entries);
        for options in [UNCACHED, BlockReadOptions::default(), BlockReadOptions::default()] {
            let mut reversed = backwards(&table, options).unwrap();
            reversed.reverse();
            assert_eq!(reversed, entries, "{}", fixture.name);
            assert_eq!(forwards(&table, options).unwrap(), entries, "{}", fixture.name);
        }
        check_lookups(&fixture, &table, &entries, &UNCACHED);
        check_lookups(&fixture, &table, &entries, &BlockReadOptions::default());
        let mut last = 0;
        for (key, _) in &entries {
            let offset = table.approximate_offset_of(key).unwrap();
            assert!(offset >= last && offset < table.properties().data_size);
            last = offset;
        }
        assert!(table.memory_usage() > 0);
    }
}

#[test]
fn cursors_keep_their_contract() {
    let seed = rng::seed();
    for (i, fixture) in fixtures().into_iter().enumerate() {
        // The tables are read with a cache for only a few blocks, with a cache for all, without a cache, and
        // from a mapped file.
        let table = match i % 4 {
            0 => fixture.open(Some(new_cache(20 << 10))),
            1 => fixture.open(Some(new_cache(1 << 20))),
            2 => fixture.open(None),
            _ => Table::open(
                mapped_file(&fixture.name, fixture.bytes.clone()),
                fixture.options(Some(new_cache(1 << 20))),
            )
            .unwrap(),
        };
        let entries = forwards(&table, UNCACHED).unwrap();
        check_cursor(
            || Box::new(table.cursor(BlockReadOptions::default())) as Box<dyn Cursor>,
            &entries,
            &fixture.cmp(),
            seed,
        );
    }
}

#[test]
fn every_checksum_verifies_and_blocks_fill_the_file() {
    for fixture in fixtures() {
        let table = fixture.open(None);
        let mut bytes = 0;
        table
            .verify(0, &mut |check| {
                check.result.unwrap();
                bytes += check.size + 5;
            })
            .unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        assert_eq!(bytes + 53, table.file_size(), "{}", fixture.name);
    }
}

#[test]
fn properties_written_again_are_the_same_bytes() {
    for fixture in fixtures() {
        let table = fixture.open(None);
        let raw = sst::dump::properties(&table).unwrap();
        assert_eq!(table.properties().entries(), raw, "{}", fixture.name);
        assert!(table.properties().user_collected.is_empty(), "{}", fixture.name);
    }
}

#[test]
fn the_global_sequence_number_stands_for_all() {
    let mut patched = 0;
    for fixture in fixtures() {
        let table = fixture.open(None);
        if table.properties().external_sst_file_version.is_none() {
            continue;
        }
        let stored = table.properties().external_sst_file_global_seqno.unwrap();
        let expected = if stored == 0 { 4711 } else { stored };
        patched += usize::from(stored != 0);
        let open = |largest| {
            Table::open(
                crate::common::file(&fixture.name, fixture.bytes.clone()),
                TableReadOptions {
                    largest_seqno: Some(largest),
                    ..fixture.options(None)
                },
            )
        };
        let table = open(expected).unwrap();
        let entries = forwards(&table, UNCACHED).unwrap();
        assert!(
            entries
                .iter()
                .all(|entry| internal_key::seqno(&entry.0) == expected)
        );
        check_cursor(|| table.cursor(UNCACHED), &entries, &fixture.cmp(), rng::seed());
        check_lookups(&fixture, &table, &entries, &UNCACHED);
        if stored != 0 {
            assert!(open(stored + 1).unwrap_err().is_corruption());
        }
    }
    assert!(patched > 0);
}

#[test]
fn prefixes_are_looked_up_under_the_same_extractor_only() {
    let mut asked = 0;
    for fixture in fixtures() {
        if fixture.prefix_extractor.is_none() {
            continue;
        }
        let table = fixture.open(None);
        let other = Table::open(
            crate::common::file(&fixture.name, fixture.bytes.clone()),
            TableReadOptions {
                prefix_extractor: base::prefix::builtin("fixed:3"),
                ..fixture.options(None)
            },
        )
        .unwrap();
        for (key, _) in forwards(&table, UNCACHED).unwrap() {
            assert!(
                table
                    .may_contain_prefix_of(&key, &BlockReadOptions::default())
                    .unwrap()
            );
        }
        let mut refused = 0;
        for i in 0..200u64 {
            let target = [&i.to_be_bytes()[..], &[7; 4], &[0; TRAILER_LEN]].concat();
            refused += u32::from(
                !table
                    .may_contain_prefix_of(&target, &BlockReadOptions::default())
                    .unwrap(),
            );
            assert!(
                other
                    .may_contain_prefix_of(&target, &BlockReadOptions::default())
                    .unwrap()
            );
        }
        assert!(refused > 150, "{}: {refused}", fixture.name);
        asked += 1;
    }
    assert!(asked > 0);
}

#[test]
fn every_kind_of_filter_is_met() {
    let kinds: std::collections::BTreeSet<(&str, bool)> = fixtures()
        .iter()
        .filter_map(|fixture| sst::dump::filter(&fixture.open(None)).unwrap())
        .map(|filter| (filter.kind, filter.partitions > 0))
        .collect();
    let expected = [
        ("FastLocalBloom", false),
        ("LegacyBloom", false),
        ("Standard128Ribbon", true),
    ];
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}
