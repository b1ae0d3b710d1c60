//! Collectors, of users or of the engine, that see a table as it is written: they add properties to it, and
//! decide whether it should be compacted soon.

use std::collections::VecDeque;
use std::sync::Arc;

use base::SeqNo;
use base::entry_type::EntryType;

/// The destination of the table that a collector sees.
///
/// See the example of [`TablePropertiesCollectorFactory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorContext {
    /// The id of the column family.
    pub column_family_id: u32,
    /// The level that the table is written to.
    pub level_at_creation: usize,
    /// The number of levels of the family.
    pub num_levels: usize,
}

/// Sees the entries of one table as it is written, on one thread.
///
/// See the example of [`TablePropertiesCollectorFactory`].
pub trait TablePropertiesCollector: Send {
    /// Receives an entry, in key order, and the size of the table so far in bytes. For a value in a blob file
    /// ([`EntryType::BlobIndex`]), `value` is the encoded reference to it, a [`BlobIndex`](crate::BlobIndex).
    /// Range tombstones are not passed.
    fn add_user_key(&mut self, key: &[u8], value: &[u8], entry: EntryType, seqno: SeqNo, file_size: u64);

    /// Returns the properties to add to the table, by name. Called once, after the last entry. Default: none.
    fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        Vec::new()
    }

    /// True if the table is to be compacted soon: it is marked so in the MANIFEST. Called after `finish`.
    /// Default: false.
    fn need_compact(&self) -> bool {
        false
    }
}

/// Makes a collector for each table.
///
/// ```
/// use esker::{CollectorContext, EntryType, SeqNo, TablePropertiesCollector, TablePropertiesCollectorFactory};
///
/// /// Stores the length of a table's longest value as the property `example.longest`.
/// #[derive(Default)]
/// struct Longest(u64);
///
/// impl TablePropertiesCollector for Longest {
///     fn add_user_key(&mut self, _key: &[u8], value: &[u8], _entry: EntryType, _seqno: SeqNo, _file_size: u64) {
///         self.0 = self.0.max(value.len() as u64);
///     }
///
///     fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
///         vec![(b"example.longest".to_vec(), self.0.to_string().into())]
///     }
/// }
///
/// struct Factory;
///
/// impl TablePropertiesCollectorFactory for Factory {
///     fn name(&self) -> &str {
///         "example.Longest"
///     }
///
///     fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
///         Some(Box::new(Longest::default()))
///     }
/// }
/// ```
pub trait TablePropertiesCollectorFactory: Send + Sync + 'static {
    /// The name of the factory, recorded among the table's properties.
    fn name(&self) -> &str;

    /// The text of the factory in the info log. Default: its name.
    fn text(&self) -> String {
        self.name().to_owned()
    }

    /// Makes the collector of one table; `None` if it needs none.
    fn create(&self, context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>>;
}

/// Marks tables for compaction that have many deletions close together, or a large fraction of deletions:
/// RocksDB's `CompactOnDeletionCollector`.
///
/// ```
/// use esker::{ColumnFamilyOptions, CompactOnDeletionCollectorFactory};
///
/// // Compacts tables in which 100 of some 128 entries in a row are deletions.
/// let options = ColumnFamilyOptions {
///     table_properties_collector_factories: vec![CompactOnDeletionCollectorFactory::new(128, 100)],
///     ..Default::default()
/// };
/// # assert!(options.comparator.is_bytewise());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactOnDeletionCollectorFactory {
    /// The number of adjacent entries that are considered together; 0: the proximity of deletions is ignored.
    pub sliding_window_size: usize,
    /// The number of deletions among these adjacent entries at which the table is marked.
    pub deletion_trigger: usize,
    /// The fraction of deletions among all entries, above 0 and up to 1, at which the table is marked; any
    /// other value: it is ignored.
    pub deletion_ratio: f64,
    /// The minimum size of a marked table in bytes.
    pub min_file_size: u64,
}

impl CompactOnDeletionCollectorFactory {
    /// A factory with windows of `sliding_window_size` entries, of which `deletion_trigger` deletions mark a
    /// table of any size.
    pub fn new(
        sliding_window_size: usize,
        deletion_trigger: usize,
    ) -> Arc<CompactOnDeletionCollectorFactory> {
        Arc::new(CompactOnDeletionCollectorFactory {
            sliding_window_size,
            deletion_trigger,
            deletion_ratio: 0.0,
            min_file_size: 0,
        })
    }
}

impl TablePropertiesCollectorFactory for CompactOnDeletionCollectorFactory {
    fn name(&self) -> &str {
        "CompactOnDeletionCollector"
    }

    fn text(&self) -> String {
        format!(
            "{} (Sliding window size = {} Deletion trigger = {} Deletion ratio = {})",
            self.name(),
            self.sliding_window_size,
            self.deletion_trigger,
            self.deletion_ratio
        )
    }

    fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        let by_ratio = self.deletion_ratio > 0.0 && self.deletion_ratio <= 1.0;
        (self.sliding_window_size > 0 || by_ratio).then(|| {
            Box::new(CompactOnDeletionCollector {
                factory: *self,
                by_ratio,
                buckets: VecDeque::from([0]),
                in_bucket: 0,
                in_window: 0,
                entries: 0,
                deletions: 0,
                file_size: 0,
                dense: false,
            }) as Box<dyn TablePropertiesCollector>
        })
    }
}

/// The number of buckets of the window, which advances by one bucket at a time, as in RocksDB.
const BUCKETS: usize = 128;

struct CompactOnDeletionCollector {
    factory: CompactOnDeletionCollectorFactory,
    by_ratio: bool,
    /// The deletions in the last buckets, the oldest first.
    buckets: VecDeque<usize>,
    /// The number of entries in the newest bucket.
    in_bucket: usize,
    /// The number of deletions in all buckets.
    in_window: usize,
    entries: u64,
    deletions: u64,
    file_size: u64,
    /// True once a window had enough deletions.
    dense: bool,
}

impl TablePropertiesCollector for CompactOnDeletionCollector {
    fn add_user_key(&mut self, _key: &[u8], _value: &[u8], entry: EntryType, _seqno: SeqNo, file_size: u64) {
        let deletes = matches!(entry, EntryType::Delete | EntryType::SingleDelete);
        self.file_size = file_size;
        self.entries += 1;
        self.deletions += u64::from(deletes);
        let size = self.factory.sliding_window_size.div_ceil(BUCKETS);
        if size == 0 || self.dense {
            return;
        }
        if self.in_bucket == size {
            self.in_bucket = 0;
            self.buckets.push_back(0);
            if self.buckets.len() > BUCKETS {
                self.in_window -= self.buckets.pop_front().unwrap_or(0);
            }
        }
        self.in_bucket += 1;
        if deletes {
            self.in_window += 1;
            if let Some(newest) = self.buckets.back_mut() {
                *newest += 1;
            }
            self.dense = self.in_window >= self.factory.deletion_trigger;
        }
    }

    fn need_compact(&self) -> bool {
        let many = self.by_ratio
            && self.entries > 0
            && self.deletions as f64 / self.entries as f64 >= self.factory.deletion_ratio;
        (self.dense || many) && self.file_size >= self.factory.min_file_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(factory: CompactOnDeletionCollectorFactory, entries: &str) -> bool {
        let context = CollectorContext {
            column_family_id: 0,
            level_at_creation: 0,
            num_levels: 7,
        };
        let Some(mut collector) = factory.create(&context) else {
            return false;
        };
        for (at, entry) in entries.chars().enumerate() {
            let entry = match entry {
                'd' => EntryType::Delete,
                's' => EntryType::SingleDelete,
                _ => EntryType::Put,
            };
            collector.add_user_key(b"k", b"v", entry, 1, at as u64 * 10);
        }
        assert!(collector.finish().is_empty());
        collector.need_compact()
    }

    #[test]
    fn deletions_close_together_mark_a_table() {
        let factory = *CompactOnDeletionCollectorFactory::new(4, 3);
        assert!(needs(factory, "ppppddsppp"));
        assert!(!needs(factory, "ppppddpppp"));
        // Each bucket has one entry, and a window has 128 buckets, as in RocksDB.
        let far = |apart: usize| format!("d{}d{}d", "p".repeat(apart), "p".repeat(apart));
        assert!(needs(factory, &far(62)));
        assert!(!needs(factory, &far(64)));
        let large = CompactOnDeletionCollectorFactory {
            min_file_size: 1000,
            ..factory
        };
        assert!(!needs(large, "ppppddsppp"));
        assert!(needs(large, &format!("ddd{}", "p".repeat(200))));
    }

    #[test]
    fn a_large_part_of_deletions_marks_a_table() {
        let factory = CompactOnDeletionCollectorFactory {
            sliding_window_size: 0,
            deletion_trigger: 0,
            deletion_ratio: 0.5,
            min_file_size: 0,
        };
        assert!(needs(factory, "dpdp"));
        assert!(!needs(factory, "dpdpp"));
        assert!(!needs(
            CompactOnDeletionCollectorFactory {
                deletion_ratio: 0.0,
                ..factory
            },
            "dddd"
        ));
    }
}
