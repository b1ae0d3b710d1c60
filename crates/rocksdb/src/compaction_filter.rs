//! Compaction filters: user code that decides about rows during their compaction.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use base::sync::Mutex;

/// The decision about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Keeps the row.
    Keep,
    /// Removes the row.
    Remove,
    /// Replaces the value.
    Change(&'static [u8]),
}

/// Decides about rows during their compaction.
pub trait CompactionFilter {
    /// Decides about a row that is compacted from `level`.
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision;

    /// The name, for the info log.
    fn name(&self) -> &CStr;
}

/// A function that decides about rows, by level, key and value.
pub trait CompactionFilterFn: FnMut(u32, &[u8], &[u8]) -> Decision {}

impl<F> CompactionFilterFn for F where F: FnMut(u32, &[u8], &[u8]) -> Decision + Send + 'static {}

/// A [`CompactionFilter`] from a function.
pub struct CompactionFilterCallback<F: CompactionFilterFn> {
    /// The name of the filter.
    pub name: CString,
    /// The function that decides about a row.
    pub filter_fn: F,
}

impl<F: CompactionFilterFn> CompactionFilter for CompactionFilterCallback<F> {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision {
        (self.filter_fn)(level, key, value)
    }

    fn name(&self) -> &CStr {
        &self.name
    }
}

/// The engine's decision for `decision`. As in RocksDB, a plain filter gets no merge operands.
pub(crate) fn decided(value_type: esker::ValueType, decide: impl FnOnce() -> Decision) -> esker::Decision {
    if value_type == esker::ValueType::MergeOperand {
        return esker::Decision::Keep;
    }
    match decide() {
        Decision::Keep => esker::Decision::Keep,
        Decision::Remove => esker::Decision::Remove,
        Decision::Change(value) => esker::Decision::ChangeValue(value.to_vec()),
    }
}

/// One function for all compactions, which call it one at a time: it may have mutable state.
pub(crate) struct FunctionFilter<F> {
    name: String,
    function: Arc<Mutex<F>>,
}

impl<F> FunctionFilter<F> {
    pub(crate) fn new(name: String, function: F) -> FunctionFilter<F> {
        FunctionFilter {
            name,
            function: Arc::new(Mutex::new(function)),
        }
    }
}

impl<F: CompactionFilterFn + Send + 'static> esker::CompactionFilterFactory for FunctionFilter<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, _context: &esker::FilterContext) -> Option<Box<dyn esker::CompactionFilter>> {
        Some(Box::new(SharedFunction(self.function.clone())))
    }
}

struct SharedFunction<F>(Arc<Mutex<F>>);

impl<F: CompactionFilterFn + Send> esker::CompactionFilter for SharedFunction<F> {
    fn filter(
        &mut self,
        level: usize,
        key: &[u8],
        value_type: esker::ValueType,
        value: &[u8],
    ) -> esker::Decision {
        decided(value_type, || (self.0.lock())(level as u32, key, value))
    }
}
