//! The filter of a table: its location in the file, and its form in memory.

use super::{FilterReader, PartitionedFilter};
use crate::format::BlockHandle;

/// The filter of a table, loaded.
#[derive(Debug)]
pub(crate) enum TableFilter {
    Full(FilterReader),
    Partitioned(PartitionedFilter),
}

impl TableFilter {
    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            TableFilter::Full(filter) => filter.memory_usage(),
            TableFilter::Partitioned(filter) => filter.memory_usage(),
        }
    }
}

/// The location of a table's filter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilterHandle {
    None,
    Full(BlockHandle),
    Partitioned(BlockHandle),
}
