//! Tables at the bottom that hold much garbage, and that no other compaction would rewrite.
//!
//! When a table is written, it records how many of its bytes can be dropped once compactions may drop the
//! versions that a version of a given time hides ([`HiddenVersions`]). A version counts only if the version
//! that hides it comes directly before it in the same table: only then is it certain to be dropped when the
//! table alone is rewritten, and gone afterwards. So no table is rewritten twice for the same garbage,
//! whatever other tables hold and whatever delays the removal. If the versions of a key are in two tables,
//! one version is not counted, and may stay.
//!
//! ```text
//! property: up to 32 groups of versions by the time of what hides them, in order of it
//! group:    first wall u64 | first logical u32 | last wall u64 | last logical u32 | bytes u64     little-endian
//! ```
//!
//! A group counts when all of it can be dropped: the count is a lower bound.
//!
//! A version whose value is in a blob file counts with the bytes there, which become garbage when the table
//! is rewritten. Another property, a u64, records the sum of these bytes over all groups: they are not part
//! of the table, and are not rewritten with it.

use base::coding::{self, Reader as Bytes};
use esker::{
    BlobIndex, CollectorContext, EntryType, SeqNo, TableProperties, TablePropertiesCollector,
    TablePropertiesCollectorFactory,
};

use crate::key::mvcc_key::{SENTINEL, decode_suffix, split};
use crate::key::timestamp::Timestamp;

/// The name of the table property.
const NAME: &str = "esker.mvcc.hidden";
/// The name of the property that counts bytes in blob files; absent if there are none.
const BLOBS_NAME: &str = "esker.mvcc.hidden.blobs";
/// The maximum number of groups of a table.
const MAX_GROUPS: usize = 32;
/// Bytes that the engine adds to each key.
const TRAILER: u64 = 8;

/// Versions of a table, grouped by the time of the version that hides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: Timestamp,
    last: Timestamp,
    bytes: u64,
}

/// Groups ordered by time, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Groups(Vec<Group>);

impl Groups {
    /// Adds a version of `bytes` bytes, which a version at `time` hides. If there are too many groups, the
    /// two neighbours with the fewest bytes together are joined.
    fn add(&mut self, time: Timestamp, bytes: u64) {
        let groups = &mut self.0;
        let at = groups.partition_point(|group| group.last < time);
        if let Some(group) = groups.get_mut(at)
            && group.first <= time
        {
            group.bytes += bytes;
            return;
        }
        groups.insert(
            at,
            Group {
                first: time,
                last: time,
                bytes,
            },
        );
        if groups.len() > MAX_GROUPS {
            let together = |at: usize| groups[at].bytes + groups[at + 1].bytes;
            let least = (0..MAX_GROUPS).min_by_key(|&at| together(at)).unwrap_or(0);
            let next = groups.remove(least + 1);
            groups[least].last = next.last;
            groups[least].bytes += next.bytes;
        }
    }

    /// A lower bound of the bytes that versions above `after` and at or below `until` hide.
    fn between(&self, after: Timestamp, until: Timestamp) -> u64 {
        let meant = self
            .0
            .iter()
            .filter(|group| group.first > after && group.last <= until);
        meant.fold(0, |sum: u64, group| sum.saturating_add(group.bytes))
    }

    fn encode(&self) -> Vec<u8> {
        let mut property = Vec::new();
        for group in &self.0 {
            for time in [group.first, group.last] {
                coding::put_u64(&mut property, time.wall as u64);
                coding::put_u32(&mut property, time.logical as u32);
            }
            coding::put_u64(&mut property, group.bytes);
        }
        property
    }

    /// Decodes the property. A malformed property counts as no hidden bytes.
    fn decode(property: &[u8]) -> Groups {
        let mut bytes = Bytes::new(property);
        let time = |bytes: &mut Bytes<'_>| -> base::Result<Timestamp> {
            Ok(Timestamp {
                wall: bytes.u64("time")? as i64,
                logical: bytes.u32("time")? as i32,
            })
        };
        let mut groups = Vec::new();
        while !bytes.is_empty() && groups.len() < MAX_GROUPS {
            let (Ok(first), Ok(last), Ok(size)) = (time(&mut bytes), time(&mut bytes), bytes.u64("bytes"))
            else {
                return Groups::default();
            };
            groups.push(Group {
                first,
                last,
                bytes: size,
            });
        }
        Groups(groups)
    }
}

/// The collector factory of the table property that records hidden bytes by the time of the version that
/// hides them. [`CompactionGc::configure`](crate::CompactionGc::configure) adds it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HiddenVersions;

impl TablePropertiesCollectorFactory for HiddenVersions {
    fn name(&self) -> &str {
        NAME
    }

    fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::<Collector>::default())
    }
}

/// Counts the bytes that the compaction filter would drop if every version hid the older ones.
#[derive(Default)]
struct Collector {
    groups: Groups,
    /// The bytes of all groups that are in blob files.
    blobs: u64,
    /// The key of the last entry.
    key: Vec<u8>,
    /// The time of the last version of the current user key that the filter would see.
    hider: Option<Timestamp>,
}

impl TablePropertiesCollector for Collector {
    fn add_user_key(&mut self, key: &[u8], value: &[u8], entry: EntryType, _seqno: SeqNo, _file_size: u64) {
        // If snapshots keep several entries of one key, the filter sees the first.
        if key == self.key {
            return;
        }
        let (prefix, suffix) = split(key);
        if prefix != split(&self.key).0 {
            self.hider = None;
        }
        // Corruption is reported when the entry is read. Range tombstones, which are versions of the empty
        // user key, stay.
        if let Some(time) = decode_suffix(suffix)
            && matches!(entry, EntryType::Put | EntryType::BlobIndex)
            && !time.is_zero()
            && prefix != [SENTINEL]
        {
            if let Some(hider) = self.hider {
                let blob = match entry {
                    EntryType::BlobIndex => blob_size(value),
                    _ => 0,
                };
                let bytes = key.len() as u64 + TRAILER + value.len() as u64;
                self.groups.add(hider, bytes.saturating_add(blob));
                self.blobs = self.blobs.saturating_add(blob);
            }
            self.hider = Some(time);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut properties = vec![(NAME.into(), self.groups.encode())];
        if self.blobs > 0 {
            properties.push((BLOBS_NAME.into(), self.blobs.to_le_bytes().into()));
        }
        properties
    }
}

/// Bytes in a blob file of the value that `index` refers to. Corruption is reported when the value is read.
fn blob_size(index: &[u8]) -> u64 {
    match BlobIndex::decode(index) {
        Ok(BlobIndex::Blob { location, .. }) => location.size,
        _ => 0,
    }
}

/// True if a rewrite of the table now would drop at least the fraction `fraction` of its bytes and of the
/// blob bytes freed with them, and more than nothing.
pub(super) fn is_worth_it(
    properties: &TableProperties,
    after: Timestamp,
    until: Timestamp,
    fraction: f64,
) -> bool {
    let Some(property) = properties.user_collected.get(NAME.as_bytes()) else {
        return false;
    };
    let hidden = Groups::decode(property).between(after, until);
    let blobs = properties.user_collected.get(BLOBS_NAME.as_bytes());
    let blobs = blobs.and_then(|bytes| Bytes::new(bytes).u64("bytes").ok());
    let all = properties.raw_key_size.saturating_add(properties.raw_value_size);
    let all = all.saturating_add(blobs.unwrap_or(0));
    hidden > 0 && hidden as f64 >= fraction * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mvcc_key::MvccKey;

    fn at(wall: i64) -> Timestamp {
        Timestamp::from_nanos(wall)
    }

    #[test]
    fn groups_tell_too_little_and_not_much_too_little() {
        let mut rng = testkit::rng();
        for _ in 0..50 {
            let (mut groups, mut exact) = (Groups::default(), Vec::new());
            let (most, count) = (*rng.pick(&[3, 1000, 1 << 40]), rng.usize(1..2000));
            for _ in 0..count {
                let (time, bytes) = (at(rng.i64(1..most)), rng.u64(1..100));
                groups.add(time, bytes);
                exact.push((time, bytes));
            }
            let all: u64 = exact.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(groups.between(Timestamp::ZERO, Timestamp::MAX), all);
            assert_eq!(Groups::decode(&groups.encode()), groups);
            for _ in 0..20 {
                let (a, b) = (at(rng.i64(0..most)), at(rng.i64(0..most)));
                let (after, until) = (a.min(b), a.max(b));
                let within = exact.iter().filter(|(time, _)| *time > after && *time <= until);
                let hidden: u64 = within.map(|(_, bytes)| bytes).sum();
                let told = groups.between(after, until);
                assert!(
                    told <= hidden && hidden - told <= all / 2 + 200,
                    "{told} of {hidden} of {all}"
                );
                if most == 3 {
                    assert_eq!(told, hidden, "few times are recorded exactly");
                }
            }
        }
    }

    #[test]
    fn damaged_properties_tell_of_nothing() {
        let mut groups = Groups::default();
        (1..100).for_each(|wall| groups.add(at(wall), 10));
        let property = groups.encode();
        assert_eq!(property.len(), MAX_GROUPS * 32);
        for len in 1..property.len() {
            let whole = Groups::decode(&property[..len]);
            assert!(whole == Groups::default() || len % 32 == 0, "{len}");
        }
        let mut full = [0xff; 32 * 40];
        full[..24].fill(0);
        assert!(Groups::decode(&full).0.len() <= MAX_GROUPS);
        assert_eq!(Groups::decode(&[0xff; 64]).between(at(0), at(9)), 0);
    }

    #[test]
    fn what_is_counted_is_what_the_filter_removes() {
        let mut collector = Collector::default();
        let mut add = |user_key: &str, wall: i64, entry| {
            let key = MvccKey {
                user_key: user_key.as_bytes(),
                timestamp: at(wall),
            };
            collector.add_user_key(&key.encode(), b"val", entry, 0, 0);
        };
        add("", 9, EntryType::Put);
        add("", 8, EntryType::Put);
        add("a", 9, EntryType::Put);
        // The table also has an older entry of one versioned key, and a versioned key that the engine has
        // deleted.
        add("a", 9, EntryType::Put);
        add("a", 7, EntryType::Delete);
        add("a", 5, EntryType::Put);
        add("a", 4, EntryType::Put);
        add("b", 3, EntryType::Put);
        add("c", 0, EntryType::Put);
        add("c", 2, EntryType::Put);
        add("d", 8, EntryType::Delete);
        add("d", 8, EntryType::Put);
        add("d", 1, EntryType::Put);
        let each = 1 + 1 + 9 + 8 + 3;
        assert_eq!(
            collector.groups.0,
            [(5, each), (9, each)].map(|(wall, bytes)| Group {
                first: at(wall),
                last: at(wall),
                bytes
            })
        );
        collector.add_user_key(b"damaged", b"", EntryType::Put, 0, 0);
        let properties = collector.finish();
        assert_eq!(properties[0].0, NAME.as_bytes());
        let table = TableProperties {
            raw_key_size: 4 * each - 12,
            raw_value_size: 12,
            user_collected: properties.into_iter().collect(),
            ..TableProperties::default()
        };
        assert!(is_worth_it(&table, at(0), at(9), 0.5) && !is_worth_it(&table, at(0), at(9), 0.6));
        assert!(is_worth_it(&table, at(0), at(8), 0.25) && !is_worth_it(&table, at(5), at(8), 0.0));
        assert!(!is_worth_it(&TableProperties::default(), at(0), at(9), 0.0));
    }

    /// A value in a blob file is freed with its version, and costs nothing while it stays.
    #[test]
    fn values_in_blob_files_count_where_they_lie() {
        let mut collector = Collector::default();
        let mut index = Vec::new();
        let location = esker::BlobLocation {
            file_number: 7,
            offset: 40,
            size: 1000,
            compression: esker::CompressionType::None,
        };
        BlobIndex::Blob {
            location,
            expiration: None,
        }
        .encode(&mut index);
        let mut raw = (0, 0);
        for (wall, value, entry) in [
            (9, &[b'v'; 400][..], EntryType::Put),
            (8, &index[..], EntryType::BlobIndex),
            (7, b"damaged", EntryType::BlobIndex),
        ] {
            let key = MvccKey {
                user_key: b"k",
                timestamp: at(wall),
            }
            .encode();
            collector.add_user_key(&key, value, entry, 0, 0);
            raw.0 += key.len() as u64 + TRAILER;
            raw.1 += value.len() as u64;
        }
        let each = raw.0 / 3;
        let hidden = 1000 + 2 * each + index.len() as u64 + 7;
        assert_eq!(collector.groups.between(at(0), at(9)), hidden);
        let mut table = TableProperties {
            raw_key_size: raw.0,
            raw_value_size: raw.1,
            user_collected: collector.finish().into_iter().collect(),
            ..TableProperties::default()
        };
        let part = hidden as f64 / (1000 + raw.0 + raw.1) as f64;
        assert!(part > 0.5 && part < 1.0);
        assert!(is_worth_it(&table, at(0), at(9), part - 0.01));
        assert!(!is_worth_it(&table, at(0), at(9), part + 0.01));
        table.user_collected.insert(BLOBS_NAME.into(), vec![1]);
        assert!(
            is_worth_it(&table, at(0), at(9), 1.0),
            "a malformed property counts as absent"
        );
    }
}
