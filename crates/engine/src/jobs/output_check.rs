//! Verifies that a table holds the entries that were written to it, before a version refers to it and while
//! its inputs still exist.

use std::sync::Arc;

use base::{Error, Result, UserComparator};
use codec::hash::xxh3_64;
use rangedel::{FragmentedTombstones, RangeTombstone};
use sst::{BlockReadOptions, Table, TableProperties, TableReaderCaller};

/// A summary of the entries added to a table, if `paranoid_file_checks` is set.
#[derive(Default)]
pub(crate) struct OutputCheck {
    paranoid: bool,
    hash: u64,
    tombstones: Vec<RangeTombstone>,
}

/// The readahead in bytes.
const READAHEAD: usize = 256 << 10;

fn mix(hash: u64, bytes: &[u8]) -> u64 {
    (hash.rotate_left(31) ^ xxh3_64(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl OutputCheck {
    /// The check of a table without entries so far.
    pub fn new(paranoid: bool) -> OutputCheck {
        OutputCheck {
            paranoid,
            ..OutputCheck::default()
        }
    }

    /// Adds an entry to the summary.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        if self.paranoid {
            self.hash = mix(mix(self.hash, key), value);
        }
    }

    /// Adds a range tombstone to the summary.
    pub fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) {
        if self.paranoid {
            self.tombstones.push(tombstone.clone());
        }
    }

    /// `Corruption` unless the table that was just opened is intact and, with `paranoid`, holds the added
    /// entries. `written` are the properties that its writer wrote.
    pub fn compare(&self, table: &Arc<Table>, written: &TableProperties) -> Result<()> {
        let wrong = |what: &str| Err(Error::corruption(what).in_file(table.path()));
        if table.properties() != written {
            return wrong("the table just written has other properties than were written");
        }
        // The index opens only if every handle in it is within the file, and in order.
        table.index()?;
        if !self.paranoid {
            return Ok(());
        }
        let mut found = OutputCheck::new(true);
        let mut entries = 0;
        let mut last: Vec<u8> = Vec::new();
        let mut cursor = table.cursor(BlockReadOptions {
            fill_cache: false,
            caller: TableReaderCaller::CompactionRefill,
            readahead_size: READAHEAD,
            ..BlockReadOptions::default()
        });
        cursor.seek_to_first();
        while cursor.valid() {
            if entries > 0 && table.comparator().compare(&last, cursor.key()).is_ge() {
                return wrong("the table just written has keys out of order");
            }
            last.clear();
            last.extend_from_slice(cursor.key());
            found.add(cursor.key(), cursor.value());
            entries += 1;
            cursor.next();
        }
        cursor.status()?;
        if found.hash != self.hash {
            return wrong(
                "Paranoid checksums do not match: the table just written holds other entries than were written",
            );
        }
        if !self.has_tombstones_of(table, table.comparator().user()) {
            return wrong("the table just written holds other range tombstones than were written");
        }
        Ok(())
    }

    fn has_tombstones_of(&self, table: &Table, user: &UserComparator) -> bool {
        let written = FragmentedTombstones::build(self.tombstones.iter().cloned(), user);
        let mut found = table.range_tombstones().tombstones();
        written
            .tombstones()
            .all(|tombstone| found.next() == Some(tombstone))
            && found.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use base::{InternalComparator, Kind, internal_key};
    use sst::{TableReadOptions, TableWriter, TableWriterOptions};
    use vfs::{FileSystem, MemFs};

    use super::*;

    fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
        let entry = |i: u8| {
            let key = internal_key::encode(&[b'k', i], u64::from(i) + 1, Kind::Value);
            (key, vec![i; 20])
        };
        (0..200).map(entry).collect()
    }

    fn tombstone(end: &[u8]) -> RangeTombstone {
        RangeTombstone {
            start: b"a".to_vec(),
            end: end.to_vec(),
            seqno: 7,
        }
    }

    /// The result of the check of a table that holds `stored` while `meant` was added to the check.
    fn check(
        paranoid: bool,
        stored: &[(Vec<u8>, Vec<u8>)],
        stored_end: &[u8],
        meant: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<()> {
        let fs = MemFs::new();
        let path = Path::new("/1.sst");
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let file = fs.create(path, &Default::default()).unwrap();
        let mut writer = TableWriter::new(file, TableWriterOptions::new(cmp.clone())).unwrap();
        let mut check = OutputCheck::new(paranoid);
        for (key, value) in stored {
            writer.add(key, value).unwrap();
        }
        for (key, value) in meant {
            check.add(key, value);
        }
        let stored_tombstone = tombstone(stored_end);
        writer
            .add_range_tombstone(&stored_tombstone.start, &stored_tombstone.end, 7)
            .unwrap();
        check.add_range_tombstone(&tombstone(b"c"));
        let written = writer.finish().unwrap().properties;
        let file = fs.open_random(path, &Default::default()).unwrap();
        let table = Table::open(file, TableReadOptions::new(cmp)).unwrap();
        check.compare(&table, &written)
    }

    #[test]
    fn any_bit_that_turned_on_the_way_is_found() {
        let good = entries();
        check(true, &good, b"c", &good).unwrap();
        for (at, bit) in [(0, 0), (100, 3), (199, 7)] {
            for in_value in [false, true] {
                let mut bad = good.clone();
                let piece = if in_value { &mut bad[at].1 } else { &mut bad[at].0 };
                // The flipped bit is in the sequence number of the key, so that the order of keys stays
                // valid.
                let place = if in_value { 5 } else { piece.len() - 7 };
                piece[place] ^= 1 << bit;
                let error = check(true, &bad, b"c", &good).unwrap_err();
                assert!(error.is_corruption(), "{error}");
                check(false, &bad, b"c", &good).unwrap();
            }
        }
        assert!(check(true, &good[1..], b"c", &good).unwrap_err().is_corruption());
        assert!(check(true, &good, b"c", &good[1..]).unwrap_err().is_corruption());
        assert!(check(true, &good, b"b", &good).unwrap_err().is_corruption());
    }
}
