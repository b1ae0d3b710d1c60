//! User code that panics on demand: comparator, merge operator, prefix extractor, compaction filter,
//! partitioner, collectors, listener.

use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::{fmt, panic};

use esker::{
    BlockPropertyCollector, BlockPropertyCollectorFactory, CollectorContext, ColumnFamilyOptions,
    CompactionFilter, CompactionFilterFactory, Comparator, Decision, EntryType, Event, EventListener,
    FileOperation, FilterContext, MergeOperator, PartitionerContext, PrefixExtractor, SeqNo, SstPartitioner,
    SstPartitionerFactory, TableFileCreationReason, TablePropertiesCollector,
    TablePropertiesCollectorFactory, UserComparator, ValueType,
};

/// A place of user code that may panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The comparator.
    Compare,
    /// The prefix extractor.
    Prefix,
    /// The merge operator.
    Merge,
    /// The factory of compaction filters.
    FilterFactory,
    /// A compaction filter.
    Filter,
    /// The factory of partitioners.
    PartitionerFactory,
    /// A partitioner.
    Partition,
    /// The factory of table properties collectors.
    CollectorFactory,
    /// A table properties collector.
    Collect,
    /// A block property collector.
    CollectBlocks,
    /// A listener that receives an event.
    Event,
    /// A listener that receives an operation on a file.
    FileOperation,
}

impl Site {
    /// All places of user code that may panic.
    pub const ALL: [Site; 12] = [
        Site::Compare,
        Site::Prefix,
        Site::Merge,
        Site::FilterFactory,
        Site::Filter,
        Site::PartitionerFactory,
        Site::Partition,
        Site::CollectorFactory,
        Site::Collect,
        Site::CollectBlocks,
        Site::Event,
        Site::FileOperation,
    ];

    /// The name of the component in error texts.
    pub fn named(self) -> &'static str {
        match self {
            Site::Compare => "comparator",
            Site::Prefix => "prefix extractor",
            Site::Merge => "merge operator",
            Site::FilterFactory => "compaction filter factory",
            Site::Filter => "compaction filter",
            Site::PartitionerFactory | Site::Partition => "partitioner",
            Site::CollectorFactory | Site::Collect => "table properties collector",
            Site::CollectBlocks => "block property collector",
            Site::Event | Site::FileOperation => "event listener",
        }
    }
}

/// The beginning of the message of every panic caused by a fuse.
pub const MESSAGE: &str = "a panic for a test";

/// A fuse: decides which call of user code panics. It is shared by the user code of a test.
#[derive(Default)]
pub struct Fuse {
    /// True if the fuse is lit: some call will panic.
    lit: AtomicBool,
    what: Mutex<Option<Lit>>,
    panics: AtomicU64,
}

struct Lit {
    when: When,
    /// The thread on which user code panics; `None` for any thread.
    thread: Option<ThreadId>,
    /// The prefix of the names of the threads on which user code panics.
    name: &'static str,
}

enum When {
    /// One call of a site panics: the call after this number of other calls.
    Once(Site, u64),
    /// Every call of the site panics.
    Always(Site),
    /// A random call panics, one in this number of calls, at any site.
    OneIn(u64, fastrand::Rng),
}

impl fmt::Debug for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fuse({} panics)", self.panics())
    }
}

impl Fuse {
    /// Creates a fuse that is not lit. Panics caused by fuses are not printed from now on.
    pub fn new() -> Arc<Fuse> {
        static QUIET: Once = Once::new();
        QUIET.call_once(|| {
            let print = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                let message = info.payload().downcast_ref::<String>();
                if !message.is_some_and(|message| message.starts_with(MESSAGE)) {
                    print(info);
                }
            }));
        });
        Arc::default()
    }

    fn set(&self, what: Option<Lit>) {
        let mut guard = self.what.lock().unwrap_or_else(PoisonError::into_inner);
        self.lit.store(what.is_some(), Ordering::Relaxed);
        *guard = what;
    }

    /// Makes the call of `site` after `before` others panic, on any thread.
    pub fn light(&self, site: Site, before: u64) {
        self.set(Some(Lit {
            when: When::Once(site, before),
            thread: None,
            name: "",
        }));
    }

    /// Same as [`light`](Fuse::light), for calls on threads whose names begin with `name`.
    pub fn light_on(&self, site: Site, before: u64, name: &'static str) {
        self.set(Some(Lit {
            when: When::Once(site, before),
            thread: None,
            name,
        }));
    }

    /// Arms the fuse as [`light`](Fuse::light) does, but only for calls on this thread.
    pub fn light_here(&self, site: Site, before: u64) {
        self.set(Some(Lit {
            when: When::Once(site, before),
            thread: Some(thread::current().id()),
            name: "",
        }));
    }

    /// Makes every call of `site` panic.
    pub fn light_for_good(&self, site: Site) {
        self.set(Some(Lit {
            when: When::Always(site),
            thread: None,
            name: "",
        }));
    }

    /// Makes one call in `n` panic, on threads whose names begin with `name`.
    pub fn light_one_in(&self, n: u64, seed: u64, name: &'static str) {
        self.set(Some(Lit {
            when: When::OneIn(n, fastrand::Rng::with_seed(seed)),
            thread: None,
            name,
        }));
    }

    /// Disarms the fuse: no call panics.
    pub fn cut(&self) {
        self.set(None);
    }

    /// The number of panics that the fuse has caused so far.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// The user code at `site` calls this function, which panics if a panic is due.
    pub fn pass(&self, site: Site) {
        if self.lit.load(Ordering::Relaxed) && self.burns_down(site) {
            self.panics.fetch_add(1, Ordering::Relaxed);
            panic!("{MESSAGE} in {site:?}");
        }
    }

    fn burns_down(&self, site: Site) -> bool {
        let mut what = self.what.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lit) = &mut *what else { return false };
        let current = thread::current();
        let is_other = lit.thread.is_some_and(|thread| thread != current.id());
        if is_other || !current.name().unwrap_or_default().starts_with(lit.name) {
            return false;
        }
        match &mut lit.when {
            When::Once(at, before) if *at == site => {
                if let Some(left) = before.checked_sub(1) {
                    *before = left;
                    return false;
                }
                *what = None;
                self.lit.store(false, Ordering::Relaxed);
                true
            }
            When::Once(..) => false,
            When::Always(at) => *at == site,
            When::OneIn(n, rng) => rng.u64(..*n) == 0,
        }
    }

    /// Wraps the user code in `options`, and adds the components that are missing.
    pub fn put_into(self: &Arc<Self>, options: &mut ColumnFamilyOptions) {
        let fuse = || self.clone();
        options.comparator = UserComparator::Custom(Arc::new(Ordered(fuse(), options.comparator.clone())));
        self.put_into_jobs(options);
        if let Some(extractor) = options.prefix_extractor.take() {
            options.prefix_extractor = Some(Arc::new(Prefixed(fuse(), extractor)));
        }
    }

    /// Same as [`put_into`](Fuse::put_into), without the components that lookups call: the comparator and the
    /// prefix extractor.
    pub fn put_into_jobs(self: &Arc<Self>, options: &mut ColumnFamilyOptions) {
        let fuse = || self.clone();
        if let Some(operator) = options.merge_operator.take() {
            options.merge_operator = Some(Arc::new(Merges(fuse(), operator)));
        }
        let filters = options.compaction_filter_factory.take();
        options.compaction_filter_factory = Some(Arc::new(Filters(fuse(), filters)));
        let partitions = options.sst_partitioner_factory.take();
        options.sst_partitioner_factory = Some(Arc::new(Partitions(fuse(), partitions)));
        options
            .table_properties_collector_factories
            .push(Arc::new(Collects(fuse())));
        options
            .block_property_collector_factories
            .push(Arc::new(Collects(fuse())));
    }

    /// Creates a listener that may panic. With `files`, it also receives operations on files.
    pub fn listener(self: &Arc<Self>, files: bool) -> Arc<dyn EventListener> {
        Arc::new(Listens(self.clone(), files))
    }
}

struct Ordered(Arc<Fuse>, UserComparator);

impl Comparator for Ordered {
    fn name(&self) -> &str {
        self.1.name()
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        self.0.pass(Site::Compare);
        self.1.compare(a, b)
    }

    fn timestamp_size(&self) -> usize {
        self.1.timestamp_size()
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Order {
        self.0.pass(Site::Compare);
        self.1.compare_without_timestamp(a, b)
    }

    fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        self.0.pass(Site::Compare);
        self.1.shorten_separator(start, limit);
    }

    fn shorten_successor(&self, key: &mut Vec<u8>) {
        self.0.pass(Site::Compare);
        self.1.shorten_successor(key);
    }
}

struct Prefixed(Arc<Fuse>, Arc<dyn PrefixExtractor>);

impl PrefixExtractor for Prefixed {
    fn name(&self) -> &str {
        self.1.name()
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        self.0.pass(Site::Prefix);
        self.1.prefix(key)
    }
}

struct Merges(Arc<Fuse>, Arc<dyn MergeOperator>);

impl MergeOperator for Merges {
    fn name(&self) -> &str {
        self.1.name()
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.0.pass(Site::Merge);
        self.1.full_merge(key, existing, operands)
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        self.0.pass(Site::Merge);
        self.1.partial_merge(key, older, newer)
    }
}

struct Filters(Arc<Fuse>, Option<Arc<dyn CompactionFilterFactory>>);

impl CompactionFilterFactory for Filters {
    fn name(&self) -> &str {
        self.1.as_ref().map_or("Filters", |factory| factory.name())
    }

    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.0.pass(Site::FilterFactory);
        let factory = self.1.as_ref();
        factory.is_none_or(|factory| factory.should_filter_table_file_creation(reason))
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.0.pass(Site::FilterFactory);
        let filter = match &self.1 {
            Some(factory) => Some(factory.create(context)?),
            None => None,
        };
        Some(Box::new(Filter(self.0.clone(), filter)))
    }
}

struct Filter(Arc<Fuse>, Option<Box<dyn CompactionFilter>>);

impl CompactionFilter for Filter {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        self.0.pass(Site::Filter);
        match &mut self.1 {
            Some(filter) => filter.filter(level, key, value_type, value),
            None => Decision::Keep,
        }
    }

    fn filter_blob_by_key(&mut self, level: usize, key: &[u8]) -> Option<Decision> {
        self.0.pass(Site::Filter);
        match &mut self.1 {
            Some(filter) => filter.filter_blob_by_key(level, key),
            None => Some(Decision::Keep),
        }
    }
}

struct Partitions(Arc<Fuse>, Option<Arc<dyn SstPartitionerFactory>>);

impl SstPartitionerFactory for Partitions {
    fn text(&self) -> String {
        self.1
            .as_ref()
            .map_or("Partitions".to_owned(), |factory| factory.text())
    }

    fn create_partitioner(&self, context: &PartitionerContext<'_>) -> Option<Box<dyn SstPartitioner>> {
        self.0.pass(Site::PartitionerFactory);
        let partitioner = match &self.1 {
            Some(factory) => Some(factory.create_partitioner(context)?),
            None => None,
        };
        Some(Box::new(Partition(self.0.clone(), partitioner)))
    }
}

struct Partition(Arc<Fuse>, Option<Box<dyn SstPartitioner>>);

impl SstPartitioner for Partition {
    fn should_partition(&mut self, before: &[u8], key: &[u8], size: u64) -> bool {
        self.0.pass(Site::Partition);
        let partitioner = self.1.as_mut();
        partitioner.is_some_and(|partitioner| partitioner.should_partition(before, key, size))
    }

    fn can_do_trivial_move(&mut self, smallest: &[u8], largest: &[u8]) -> bool {
        self.0.pass(Site::Partition);
        let partitioner = self.1.as_mut();
        partitioner.is_none_or(|partitioner| partitioner.can_do_trivial_move(smallest, largest))
    }
}

struct Collects(Arc<Fuse>);

impl TablePropertiesCollectorFactory for Collects {
    fn name(&self) -> &str {
        "Collects"
    }

    fn create(&self, _context: &CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        self.0.pass(Site::CollectorFactory);
        Some(Box::new(Collects(self.0.clone())))
    }
}

impl TablePropertiesCollector for Collects {
    fn add_user_key(&mut self, _key: &[u8], _value: &[u8], _entry: EntryType, _seqno: SeqNo, _size: u64) {
        self.0.pass(Site::Collect);
    }

    fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.0.pass(Site::Collect);
        Vec::new()
    }

    fn need_compact(&self) -> bool {
        self.0.pass(Site::Collect);
        false
    }
}

impl BlockPropertyCollectorFactory for Collects {
    fn name(&self) -> &str {
        "CollectsBlocks"
    }

    fn create(&self) -> Box<dyn BlockPropertyCollector> {
        self.0.pass(Site::CollectBlocks);
        Box::new(Collects(self.0.clone()))
    }
}

impl BlockPropertyCollector for Collects {
    fn add(&mut self, _key: &[u8], _value: &[u8], _entry: EntryType, _seqno: SeqNo) {
        self.0.pass(Site::CollectBlocks);
    }

    fn finish_blocks(&mut self, _property: &mut Vec<u8>) {
        self.0.pass(Site::CollectBlocks);
    }

    fn finish_table(&mut self, _property: &mut Vec<u8>) {
        self.0.pass(Site::CollectBlocks);
    }
}

struct Listens(Arc<Fuse>, bool);

impl EventListener for Listens {
    fn on_event(&self, _event: &Event) {
        self.0.pass(Site::Event);
    }

    fn should_be_notified_on_file_io(&self) -> bool {
        self.1
    }

    fn on_file_operation(&self, _operation: &FileOperation<'_>) {
        self.0.pass(Site::FileOperation);
    }
}
