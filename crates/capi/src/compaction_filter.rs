//! `rocksdb_compactionfilter_t` and its factory. A filter that is set in options stays the caller's, and all
//! compactions share it. Options take over a factory, which creates a filter for each compaction.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};

use crate::comparator::name_of;
use crate::ffi::*;
use crate::generated::fields::CompactionfiltercontextFields;
use crate::options::rocksdb_options_t;

type FilterFn = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut u8,
) -> u8;
type CreateFn = unsafe extern "C" fn(
    *mut c_void,
    *mut rocksdb_compactionfiltercontext_t,
) -> *mut rocksdb_compactionfilter_t;
type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a filter.
pub struct Filter {
    state: CallbackState,
    name: String,
    filter: Option<FilterFn>,
}

/// The C object `rocksdb_compactionfilter_t`.
pub struct rocksdb_compactionfilter_t(pub Arc<Filter>);

/// The C object `rocksdb_compactionfiltercontext_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compactionfiltercontext_t {
    pub fields: CompactionfiltercontextFields,
}

/// A factory of filters.
pub enum FilterFactory {
    /// One filter that all compactions use.
    Shared(Arc<Filter>),
    /// Calls the C function of the user.
    Callback {
        state: CallbackState,
        name: String,
        create: CreateFn,
    },
}

impl FilterFactory {
    /// Passes every compaction the same filter.
    pub fn of_filter(filter: Arc<Filter>) -> FilterFactory {
        FilterFactory::Shared(filter)
    }
}

impl CompactionFilterFactory for FilterFactory {
    fn name(&self) -> &str {
        match self {
            FilterFactory::Shared(filter) => &filter.name,
            FilterFactory::Callback { name, .. } => name,
        }
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        match self {
            FilterFactory::Shared(filter) => Some(Box::new(Applied(filter.clone()))),
            FilterFactory::Callback { state, create, .. } => {
                let mut context = rocksdb_compactionfiltercontext_t {
                    fields: CompactionfiltercontextFields {
                        is_full_compaction: u8::from(context.is_full_compaction),
                        is_manual_compaction: u8::from(context.is_manual_compaction),
                    },
                };
                // SAFETY: the caller passed the function for this state; it returns a filter that it gives
                // up.
                unsafe {
                    let filter = taken(create(state.pointer, &mut context))?;
                    Some(Box::new(Applied(filter.0)))
                }
            }
        }
    }
}

/// A filter of a running compaction.
struct Applied(Arc<Filter>);

impl CompactionFilter for Applied {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let (ValueType::Value, Some(filter)) = (value_type, self.0.filter) else {
            return Decision::Keep;
        };
        let (mut new_value, mut new_length, mut changed) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: the caller passed the function for this state; a changed value stays the function's and is
        // copied.
        unsafe {
            let removes = filter(
                self.0.state.pointer,
                level as c_int,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &mut new_value,
                &mut new_length,
                &mut changed,
            );
            match (removes, changed) {
                (0, 0) => Decision::Keep,
                (0, _) => returned(new_value, new_length)
                    .map_or(Decision::Keep, |value| Decision::ChangeValue(value.to_vec())),
                _ => Decision::Remove,
            }
        }
    }
}

api!(
    fn rocksdb_compactionfilter_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        filter: Option<FilterFn>,
        name: Option<Name>,
    ) -> *mut rocksdb_compactionfilter_t {
        boxed(rocksdb_compactionfilter_t(Arc::new(Filter {
            name: name_of(name, state),
            state: CallbackState::new(state, destructor),
            filter,
        })))
    }
);

// RocksDB always ignores snapshots since 6.0.
api!(
    fn rocksdb_compactionfilter_set_ignore_snapshots(_filter: *mut rocksdb_compactionfilter_t, ignore: u8) {
        if ignore == 0 {
            complain("compaction filters see rows that snapshots need: ignore_snapshots stays 1");
        }
    }
);

api!(
    fn rocksdb_options_set_compaction_filter(
        options: *mut rocksdb_options_t,
        filter: *mut rocksdb_compactionfilter_t,
    ) {
        let shared = |filter: &rocksdb_compactionfilter_t| FilterFactory::of_filter(filter.0.clone());
        (*options).compaction_filter = filter
            .as_ref()
            .map(|filter| Arc::new(shared(filter)) as Arc<dyn CompactionFilterFactory>);
    }
);

/// The C object `rocksdb_compactionfilterfactory_t`.
pub struct rocksdb_compactionfilterfactory_t(Arc<FilterFactory>);

api!(
    fn rocksdb_compactionfilterfactory_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        create: Option<CreateFn>,
        name: Option<Name>,
    ) -> *mut rocksdb_compactionfilterfactory_t {
        let Some(create) = create else {
            return std::ptr::null_mut();
        };
        boxed(rocksdb_compactionfilterfactory_t(Arc::new(
            FilterFactory::Callback {
                name: name_of(name, state),
                state: CallbackState::new(state, destructor),
                create,
            },
        )))
    }
);

api!(
    fn rocksdb_options_set_compaction_filter_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_compactionfilterfactory_t,
    ) {
        (*options).compaction_filter_factory =
            taken(factory).map(|factory| factory.0 as Arc<dyn CompactionFilterFactory>);
    }
);

api!(
    fn rocksdb_compactionfilterfactory_destroy(factory: *mut rocksdb_compactionfilterfactory_t) {
        free_box(factory)
    }
);
