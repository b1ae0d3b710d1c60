//! User-defined properties of runs of data blocks, stored in the table's properties, with which an iterator
//! skips irrelevant runs.
//!
//! RocksDB's format has no place for them besides the blocks, and its readers ignore unknown properties.
//! `docs/format/block_based_table.md` shows the value.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use base::entry_type::EntryType;
use base::user_code::call;
use base::{Error, Result, SeqNo, coding};

use crate::properties::TableProperties;

/// The prefix of the names of block properties among the table's properties; the collector's name follows.
pub const PREFIX: &str = "esker.block.properties.";

/// The bytes of adjacent data blocks, before compression, that share one property.
const SPAN_BYTES: usize = 64 << 10;

/// The name of a panicking collector in errors.
const COLLECTOR: &str = "block property collector";

/// Sees the entries of one table while it is written, on one thread, and summarises them: every 64 KiB or so,
/// and at the end.
///
/// ```
/// # mod esker {
/// #     pub use base::entry_type::EntryType;
/// #     pub use base::SeqNo;
/// #     pub use esker_sst::*;
/// # }
///
/// use esker::{BlockPropertyCollector, BlockPropertyCollectorFactory, EntryType, SeqNo};
///
/// /// Stores the newest sequence number of each run of blocks, and of the table.
/// #[derive(Default)]
/// struct Newest {
///     of_run: SeqNo,
///     of_table: SeqNo,
/// }
///
/// impl BlockPropertyCollector for Newest {
///     fn add(&mut self, _key: &[u8], _value: &[u8], _entry: EntryType, seqno: SeqNo) {
///         self.of_run = self.of_run.max(seqno);
///     }
///
///     fn finish_blocks(&mut self, property: &mut Vec<u8>) {
///         property.extend_from_slice(&self.of_run.to_be_bytes());
///         self.of_table = self.of_table.max(std::mem::take(&mut self.of_run));
///     }
///
///     fn finish_table(&mut self, property: &mut Vec<u8>) {
///         property.extend_from_slice(&self.of_table.to_be_bytes());
///     }
/// }
///
/// struct Factory;
///
/// impl BlockPropertyCollectorFactory for Factory {
///     fn name(&self) -> &str {
///         "example.newest"
///     }
///
///     fn create(&self) -> Box<dyn BlockPropertyCollector> {
///         Box::new(Newest::default())
///     }
/// }
/// ```
pub trait BlockPropertyCollector: Send {
    /// Adds an entry, in the order of keys: the user key, with its timestamp if it has one. For a value in a
    /// blob file ([`EntryType::BlobIndex`]) `value` is its index. Range tombstones are not passed.
    fn add(&mut self, key: &[u8], value: &[u8], entry: EntryType, seqno: SeqNo);

    /// Appends the property of the entries since the last call, and begins a new run.
    fn finish_blocks(&mut self, property: &mut Vec<u8>);

    /// Appends the property of all entries of the table. This is the last call.
    fn finish_table(&mut self, property: &mut Vec<u8>);
}

/// Creates a collector for each table.
///
/// See the example of [`BlockPropertyCollector`].
pub trait BlockPropertyCollectorFactory: Send + Sync + 'static {
    /// The name of the collectors, by which a [`BlockPropertyFilter`] finds their properties.
    fn name(&self) -> &str;

    /// The collector of one table.
    fn create(&self) -> Box<dyn BlockPropertyCollector>;
}

/// Decides which tables, and which runs of data blocks, an iterator can skip.
///
/// A skipped entry hides nothing: if the newest version of a key is in a skipped run, an older one may be
/// visible, even if the key was deleted. So a filter suits keys that are written once, or an iterator whose
/// keys are then read again without the filter. Memtables, range tombstones, and tables without the property
/// are never skipped.
///
/// ```
/// # mod esker {
/// #     pub use base::entry_type::EntryType;
/// #     pub use base::SeqNo;
/// #     pub use esker_sst::*;
/// # }
///
/// use esker::BlockPropertyFilter;
///
/// /// Skips runs of blocks whose newest row is older than `since`.
/// struct WrittenSince {
///     since: u64,
/// }
///
/// impl BlockPropertyFilter for WrittenSince {
///     fn name(&self) -> &str {
///         "example.newest"
///     }
///
///     fn may_match(&self, property: &[u8]) -> bool {
///         property.try_into().map_or(true, |newest| u64::from_be_bytes(newest) >= self.since)
///     }
/// }
///
/// assert!(!WrittenSince { since: 8 }.may_match(&7_u64.to_be_bytes()));
/// ```
pub trait BlockPropertyFilter: Send + Sync {
    /// The name of the collector.
    fn name(&self) -> &str;

    /// False if no entry with this property is wanted.
    fn may_match(&self, property: &[u8]) -> bool;
}

/// The blocks of a table that can be skipped: disjoint ranges of file offsets, in order.
#[derive(Debug)]
pub(crate) struct SkippedBlocks(Vec<Range<u64>>);

impl SkippedBlocks {
    /// The blocks of a table that the filter excludes. `None`: everything must be read.
    pub fn of(
        properties: &TableProperties,
        filter: &dyn BlockPropertyFilter,
    ) -> Result<Option<Arc<SkippedBlocks>>> {
        let name = [PREFIX, filter.name()].concat();
        let Some(value) = properties.user_collected.get(name.as_bytes()) else {
            return Ok(None);
        };
        let skipped = SkippedBlocks::decode(value, filter)
            .map_err(|error| Error::corruption(format!("property {name}: {}", error.message())))?;
        Ok((!skipped.0.is_empty()).then(|| Arc::new(skipped)))
    }

    /// Skips every block.
    pub fn all() -> SkippedBlocks {
        SkippedBlocks(std::iter::once(0..u64::MAX).collect())
    }

    fn decode(value: &[u8], filter: &dyn BlockPropertyFilter) -> Result<SkippedBlocks> {
        let mut reader = coding::Reader::new(value);
        if !filter.may_match(reader.length_prefixed("a property of blocks")?) {
            return Ok(SkippedBlocks::all());
        }
        let mut skipped: Vec<Range<u64>> = Vec::new();
        let mut start = 0u64;
        while !reader.is_empty() {
            let len = reader.varint64("bytes of blocks")?;
            let end = start
                .checked_add(len)
                .ok_or_else(|| Error::corruption("blocks beyond the end of any file"))?;
            if !filter.may_match(reader.length_prefixed("a property of blocks")?) {
                match skipped.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => skipped.push(start..end),
                }
            }
            start = end;
        }
        Ok(SkippedBlocks(skipped))
    }

    /// The range that contains a block at `offset`, if the block can be skipped.
    pub fn range_of(&self, offset: u64) -> Option<&Range<u64>> {
        let at = self.0.partition_point(|range| range.end <= offset);
        self.0.get(at).filter(|range| range.start <= offset)
    }
}

/// The collectors of a table that is being written.
pub(crate) struct BlockProperties {
    collectors: Vec<Collected>,
    blocks: u64,
    /// Bytes of the blocks of the current span.
    span_bytes: usize,
    /// The number of data blocks up to the end of each span.
    ends: Vec<u64>,
}

struct Collected {
    name: String,
    collector: Box<dyn BlockPropertyCollector>,
    /// The collector's properties of the spans, length-prefixed.
    spans: Vec<Vec<u8>>,
}

impl BlockProperties {
    /// Returns `None` if there are no collectors.
    pub fn new(factories: &[Arc<dyn BlockPropertyCollectorFactory>]) -> Option<Box<BlockProperties>> {
        if factories.is_empty() {
            return None;
        }
        let collected = factories.iter().map(|factory| Collected {
            name: [PREFIX, factory.name()].concat(),
            collector: call(COLLECTOR, || factory.name(), || factory.create()),
            spans: Vec::new(),
        });
        Some(Box::new(BlockProperties {
            collectors: collected.collect(),
            blocks: 0,
            span_bytes: 0,
            ends: Vec::new(),
        }))
    }

    /// Adds an entry of the current block.
    pub fn add(&mut self, key: &[u8], value: &[u8], entry: EntryType, seqno: SeqNo) {
        for collected in &mut self.collectors {
            let Collected { name, collector, .. } = collected;
            call(COLLECTOR, || name, || collector.add(key, value, entry, seqno));
        }
    }

    /// Ends the current block, which has `bytes` bytes.
    pub fn end_block(&mut self, bytes: usize) {
        self.blocks += 1;
        self.span_bytes += bytes;
        if self.span_bytes >= SPAN_BYTES {
            self.end_span();
        }
    }

    fn end_span(&mut self) {
        self.span_bytes = 0;
        self.ends.push(self.blocks);
        for collected in &mut self.collectors {
            let mut property = Vec::new();
            let Collected { name, collector, .. } = collected;
            call(COLLECTOR, || name, || collector.finish_blocks(&mut property));
            collected.spans.push(property);
        }
    }

    /// The properties, by name. `block_ends` are the offsets at which the data blocks end.
    pub fn finish(mut self, block_ends: &[u64]) -> Vec<(Vec<u8>, Vec<u8>)> {
        if self.span_bytes > 0 {
            self.end_span();
        }
        let offset = |blocks: &u64| block_ends[*blocks as usize - 1];
        let ends: Vec<u64> = self.ends.iter().map(offset).collect();
        let finish = |mut collected: Collected| {
            let mut of_table = Vec::new();
            let Collected { name, collector, .. } = &mut collected;
            call(COLLECTOR, || name, || collector.finish_table(&mut of_table));
            let mut value = Vec::new();
            coding::put_length_prefixed(&mut value, &of_table);
            let mut start = 0;
            for (&end, property) in ends.iter().zip(&collected.spans) {
                coding::put_varint64(&mut value, end - start);
                coding::put_length_prefixed(&mut value, property);
                start = end;
            }
            (collected.name.into_bytes(), value)
        };
        self.collectors.into_iter().map(finish).collect()
    }
}

impl fmt::Debug for dyn BlockPropertyCollectorFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for dyn BlockPropertyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that wants the runs of blocks whose property begins with a byte that is not 0.
    struct NotZero;

    impl BlockPropertyFilter for NotZero {
        fn name(&self) -> &str {
            "n"
        }

        fn may_match(&self, property: &[u8]) -> bool {
            property.first() != Some(&0)
        }
    }

    fn skipped(value: &[u8]) -> Result<String> {
        let mut properties = TableProperties::default();
        properties
            .user_collected
            .insert(b"esker.block.properties.n".to_vec(), value.to_vec());
        let skipped = SkippedBlocks::of(&properties, &NotZero)?;
        Ok(skipped.map_or_else(String::new, |skipped| format!("{:?}", skipped.0)))
    }

    #[test]
    fn runs_that_follow_each_other_are_one() {
        assert_eq!(skipped(&[0]).unwrap(), "", "no runs at all");
        assert_eq!(skipped(&[1, 0]).unwrap(), format!("[0..{}]", u64::MAX));
        let runs = [0, 100, 1, 0, 10, 1, 0, 5, 1, 7, 20, 0, 30, 1, 0];
        assert_eq!(skipped(&runs).unwrap(), "[0..110, 135..165]");
        let skipped = SkippedBlocks(vec![0..110, 135..165]);
        let at = |offset: u64| skipped.range_of(offset).cloned();
        assert_eq!((at(109), at(110), at(134)), (Some(0..110), None, None));
        assert_eq!((at(135), at(165)), (Some(135..165), None));
    }

    #[test]
    fn a_property_that_makes_no_sense_is_an_error() {
        for value in [&[][..], &[2, 0], &[0, 100], &[0, 100, 3, 0], &[0, 0x80]] {
            let error = skipped(value).unwrap_err().to_string();
            assert!(
                error.contains("Corruption: property esker.block.properties.n"),
                "{error}"
            );
        }
        let far = [&[0][..], &[0xff; 9], &[1, 0], &[0xff; 9], &[1, 0]].concat();
        assert!(skipped(&far).unwrap_err().to_string().contains("beyond the end"));
    }
}
