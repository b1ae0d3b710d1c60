//! Factories that create a compaction filter for each compaction.

use std::ffi::CStr;

use base::sync::Mutex;

use crate::compaction_filter::{CompactionFilter, decided};

/// Creates a filter for each compaction, which one thread uses.
pub trait CompactionFilterFactory {
    /// The type of the filters.
    type Filter: CompactionFilter;

    /// Creates the filter of one compaction.
    fn create(&mut self, context: CompactionFilterContext) -> Self::Filter;

    /// The name, for the OPTIONS file.
    fn name(&self) -> &CStr;
}

/// Facts about a compaction.
pub struct CompactionFilterContext {
    /// True if every file takes part.
    pub is_full_compaction: bool,
    /// True if a user requested the compaction.
    pub is_manual_compaction: bool,
}

/// A factory in the engine's form.
pub(crate) struct Factory<F> {
    name: String,
    factory: Mutex<F>,
}

impl<F: CompactionFilterFactory> Factory<F> {
    pub(crate) fn new(factory: F) -> Factory<F> {
        Factory {
            name: factory.name().to_string_lossy().into_owned(),
            factory: Mutex::new(factory),
        }
    }
}

impl<F> esker::CompactionFilterFactory for Factory<F>
where
    F: CompactionFilterFactory + Send + 'static,
    F::Filter: Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &esker::FilterContext) -> Option<Box<dyn esker::CompactionFilter>> {
        let context = CompactionFilterContext {
            is_full_compaction: context.is_full_compaction,
            is_manual_compaction: context.is_manual_compaction,
        };
        Some(Box::new(Made(self.factory.lock().create(context))))
    }
}

struct Made<T>(T);

impl<T: CompactionFilter + Send> esker::CompactionFilter for Made<T> {
    fn filter(
        &mut self,
        level: usize,
        key: &[u8],
        value_type: esker::ValueType,
        value: &[u8],
    ) -> esker::Decision {
        decided(value_type, || self.0.filter(level as u32, key, value))
    }
}
