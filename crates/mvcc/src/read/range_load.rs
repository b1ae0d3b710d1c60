//! Range tombstones read from the family.

use std::sync::Arc;

use crate::error::Result;
use crate::key::mvcc_key::SENTINEL;
use crate::key::ranges::{RangeTombstone, Ranges};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::range_rows::decode;
use crate::read::reader::Reader;

impl Ranges {
    /// Loads the range tombstones that `reader` sees. Costs one seek where there are none.
    pub fn load(reader: &Reader<'_>) -> Result<Option<Arc<Ranges>>> {
        let mut iter = reader.between(vec![SENTINEL], vec![SENTINEL, SENTINEL])?;
        let mut spans = Vec::new();
        iter.seek(&[], Timestamp::MAX);
        while iter.current()?.is_some() {
            let row = iter.version()?;
            decode(row.timestamp, row.stored, &mut spans)?;
            iter.next();
        }
        Ok((!spans.is_empty()).then(|| Arc::new(Ranges::of_spans(spans))))
    }
}

impl<'a> Reader<'a> {
    /// The reader with the range tombstones that are stored now, or at its snapshot, which must be set first.
    /// Costs one seek if there are none.
    ///
    /// # Errors
    /// `Corruption` if a range tombstone is malformed; errors of the engine.
    pub fn with_range_tombstones(self) -> Result<Reader<'a>> {
        let ranges = Ranges::load(&self)?;
        Ok(self.with_ranges(ranges))
    }
}

impl Reader<'_> {
    /// The range tombstones with times above `after` and at or below `until`, truncated to `span`: in order,
    /// without overlaps; adjoining ones differ in their times. Empty for a reader that knows of no range
    /// tombstones, see [`with_range_tombstones`](Self::with_range_tombstones).
    ///
    /// # Errors
    /// Those of [`incremental`](Self::incremental).
    pub fn range_tombstones(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<RangeTombstone>> {
        self.check_window(after, until)?;
        Ok(match self.ranges() {
            Some(ranges) => ranges.window(span, after, until).tombstones(),
            None => Vec::new(),
        })
    }
}
