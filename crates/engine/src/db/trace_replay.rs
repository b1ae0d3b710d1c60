//! A trace of queries run again over a database.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base::env::Clock;
use base::sync::{Condvar, Mutex, thread};
use base::{Error, ErrorKind, Result};

use crate::batch::write_batch::WriteBatch;
use crate::files::pinned_value::PinnedValue;
use crate::options::WriteOptions;
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::trace::file::FileTraceReader;
use crate::trace::query_reader::QueryTraceReader;
use crate::trace::record::{TraceRecord, TracedQuery};

/// Queries that wait for a thread, of each thread: reading runs so far ahead.
const AHEAD: usize = 16;

/// How a trace is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayOptions {
    /// Threads that run queries. With more than one their order is not that of the trace. Default: 1; 0
    /// means the same.
    pub num_threads: u32,
    /// How many times as fast as they were made queries are run. Must be above 0. Default: 1.0, as fast.
    pub fast_forward: f64,
}

impl Default for ReplayOptions {
    fn default() -> ReplayOptions {
        ReplayOptions {
            num_threads: 1,
            fast_forward: 1.0,
        }
    }
}

/// The result of a query that was run again.
#[derive(Clone, Debug)]
pub enum Replayed {
    /// A write was done.
    Written,
    /// The value that a Get found.
    Value(Option<Vec<u8>>),
    /// The values that a MultiGet found.
    Values(Vec<Option<Vec<u8>>>),
    /// The key and the value that a seek came to.
    Stands(Option<(Vec<u8>, Vec<u8>)>),
}

/// A callback that takes the result of each query.
type Each<'a> = &'a (dyn Fn(Result<Replayed>) + Sync);

/// Replays a trace of queries over a database: RocksDB's `Replayer`. Keeps the database open.
///
/// ```
/// # use esker::{Db, FileTraceReader, FileTraceWriter, Options, ReplayOptions, Replayer, TraceOptions};
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = Options { create_if_missing: true, ..Default::default() };
/// # let db = Db::open(&options, dir.path().join("db")).unwrap();
/// let path = dir.path().join("trace");
/// let writer = FileTraceWriter::create(&*options.fs, &path).unwrap();
/// db.start_trace(&TraceOptions::default(), Box::new(writer)).unwrap();
/// db.put(b"key", b"value").unwrap();
/// db.end_trace().unwrap();
///
/// let other = Db::open(&options, dir.path().join("other")).unwrap();
/// let reader = FileTraceReader::open(&*options.fs, &path).unwrap();
/// let mut replayer = Replayer::new(&other, &[other.default_column_family()], reader);
/// replayer.prepare().unwrap();
/// replayer.replay(&ReplayOptions { fast_forward: 1e6, ..Default::default() }, None).unwrap();
/// assert_eq!(other.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
/// ```
#[derive(Debug)]
pub struct Replayer {
    db: Db,
    families: HashMap<u32, ColumnFamily>,
    queries: QueryTraceReader,
}

impl Replayer {
    /// Runs over `db` what `reader` has. Queries find families by their id among `families`; writes reach
    /// all families of the database.
    pub fn new(db: &Db, families: &[ColumnFamily], reader: FileTraceReader) -> Replayer {
        Replayer {
            db: db.clone(),
            families: families
                .iter()
                .map(|family| (family.id(), family.clone()))
                .collect(),
            queries: QueryTraceReader::new(reader),
        }
    }

    /// Reads the header. Must come first, and once more before the trace is replayed from its beginning
    /// again.
    ///
    /// # Errors
    /// `Corruption` with the offset if it is none, or of no version; `Incomplete` for an empty file.
    pub fn prepare(&mut self) -> Result<()> {
        self.queries.prepare()
    }

    /// When the trace was begun, in microseconds since 1970; 0 before it is [prepared](Self::prepare).
    pub fn header_timestamp(&self) -> u64 {
        self.queries.header_timestamp()
    }

    /// The next query, or `None` at the end of the trace.
    ///
    /// # Errors
    /// `Incomplete` before it is prepared; `Corruption` with the offset for a damaged record;
    /// `NotSupported` for a record that is no query. After the latter, and after one that is damaged within
    /// its bounds, the next call goes on behind it.
    pub fn next_record(&mut self) -> Result<Option<TraceRecord>> {
        self.queries.next_record()
    }

    /// Runs one query.
    ///
    /// # Errors
    /// Those of the query; `Corruption` for a family that was not given, or a batch that is damaged.
    pub fn execute(&self, query: &TracedQuery) -> Result<Replayed> {
        execute(&self.db, &self.families, query)
    }

    /// Runs the rest of the trace. Records that are no queries are passed over. The result of each query,
    /// and `NotSupported` for each record passed over, goes to `each`, from the threads that run them. A
    /// trace that ends without its last record has ended all the same.
    ///
    /// # Errors
    /// `InvalidArgument` for a speed that is not above 0; `Incomplete` before it is prepared, and once the
    /// trace has ended; those of [`next_record`](Self::next_record); that of a query, after which nothing
    /// more is run: with several threads that of the query first made among those that failed.
    pub fn replay(
        &mut self,
        options: &ReplayOptions,
        each: Option<&(dyn Fn(Result<Replayed>) + Sync)>,
    ) -> Result<()> {
        if options.fast_forward.is_nan() || options.fast_forward <= 0.0 {
            return Err(Error::invalid_argument("Wrong fast forward speed!"));
        }
        if self.queries.has_ended()? {
            return Err(Error::new(ErrorKind::Incomplete, "Trace end."));
        }
        if options.num_threads <= 1 {
            let (db, families) = (self.db.clone(), self.families.clone());
            return self.feed(options.fast_forward, each, &mut |record| {
                tell(each, execute(&db, &families, &record.query))
            });
        }
        self.replay_by_threads(options, each)
    }

    /// Hands over each query when its time has come, until one fails.
    fn feed(
        &mut self,
        fast_forward: f64,
        each: Option<Each<'_>>,
        run: &mut dyn FnMut(TraceRecord) -> Result<()>,
    ) -> Result<()> {
        let clock: Arc<dyn Clock> = self.db.options().clock.clone();
        let (began, first) = (clock.now(), self.header_timestamp());
        loop {
            let record = match self.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::NotSupported => {
                    if let Some(each) = each {
                        each(Err(error));
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let due = record.timestamp.saturating_sub(first) as f64 / fast_forward;
            // A damaged time may lie beyond all times.
            let due = Duration::try_from_secs_f64(due / 1e6).unwrap_or(Duration::MAX);
            let early = due.saturating_sub(clock.now().saturating_sub(began));
            if !early.is_zero() {
                // Nothing notifies: it is the time that is waited for.
                Condvar::new().wait_for(&mut Mutex::new(()).lock(), early);
            }
            run(record)?;
        }
    }

    fn replay_by_threads(&mut self, options: &ReplayOptions, each: Option<Each<'_>>) -> Result<()> {
        let shared = Queue::default();
        let most = AHEAD * options.num_threads as usize;
        let (db, families) = (self.db.clone(), self.families.clone());
        let fed = thread::scope(|scope| {
            for started in 0..options.num_threads {
                let thread = thread::Builder::new().name("esker-replay".to_owned());
                let spawned = thread.spawn_scoped(scope, || shared.work(&db, &families, each));
                match spawned {
                    // Fewer threads run the same queries.
                    Err(_) if started > 0 => break,
                    Err(error) => {
                        let message = format!("No thread for the replay could be started: {error}");
                        return Err(Error::new(ErrorKind::Io, message));
                    }
                    Ok(_) => {}
                }
            }
            let fed = self.feed(options.fast_forward, each, &mut |record| {
                shared.push(record, most)
            });
            shared.close();
            fed
        });
        match shared.state.into_inner().failed {
            Some((_, error)) => Err(error),
            None => fed,
        }
    }
}

/// Hands over the result of a query, and returns its error.
fn tell(each: Option<Each<'_>>, result: Result<Replayed>) -> Result<()> {
    let failed = result.as_ref().err().cloned();
    if let Some(each) = each {
        each(result);
    }
    failed.map_or(Ok(()), Err)
}

/// Queries on their way to the threads that run them.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// A query came or went, or one has failed.
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<TraceRecord>,
    closed: bool,
    /// The failure of the query that was made first, and when that was.
    failed: Option<(u64, Error)>,
}

impl Queue {
    /// Adds a query once fewer than `most` wait. An error if one has failed.
    fn push(&self, record: TraceRecord, most: usize) -> Result<()> {
        let mut state = self.state.lock();
        while state.waiting.len() >= most && state.failed.is_none() {
            self.changed.wait(&mut state);
        }
        if let Some((_, error)) = &state.failed {
            return Err(error.clone());
        }
        state.waiting.push_back(record);
        self.changed.notify_all();
        Ok(())
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Runs queries until there are no more, or one has failed.
    fn work(&self, db: &Db, families: &HashMap<u32, ColumnFamily>, each: Option<Each<'_>>) {
        while let Some(record) = self.take() {
            if let Err(error) = tell(each, execute(db, families, &record.query)) {
                let mut state = self.state.lock();
                let earlier = state.failed.as_ref().is_none_or(|(at, _)| record.timestamp < *at);
                if earlier {
                    state.failed = Some((record.timestamp, error));
                }
                self.changed.notify_all();
            }
        }
    }

    fn take(&self) -> Option<TraceRecord> {
        let mut state = self.state.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if let Some(record) = state.waiting.pop_front() {
                self.changed.notify_all();
                return Some(record);
            }
            if state.closed {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

fn execute(db: &Db, families: &HashMap<u32, ColumnFamily>, query: &TracedQuery) -> Result<Replayed> {
    let family_of = |id: &u32| {
        let family = families.get(id);
        family.ok_or_else(|| Error::corruption("Invalid Column Family ID."))
    };
    let options = ReadOptions::default();
    match query {
        TracedQuery::Write(batch) => {
            let batch = WriteBatch::from_data(batch)?;
            db.write(&WriteOptions::default(), batch)?;
            Ok(Replayed::Written)
        }
        TracedQuery::Get { family, key } => {
            db.get_opt(&options, family_of(family)?, key).map(Replayed::Value)
        }
        TracedQuery::MultiGet(keys) => {
            let families = keys.iter().map(|(family, _)| family_of(family));
            let families = families.collect::<Result<Vec<_>>>()?;
            let pairs: Vec<(&ColumnFamily, &[u8])> = families
                .into_iter()
                .zip(keys.iter().map(|(_, key)| &key[..]))
                .collect();
            let found = db.multi_get_families(&options, &pairs);
            let values = found
                .into_iter()
                .map(|value| Ok(value?.map(PinnedValue::into_vec)));
            values.collect::<Result<_>>().map(Replayed::Values)
        }
        TracedQuery::Seek {
            for_prev,
            family,
            key,
            lower,
            upper,
        } => {
            let bound = |bound: &[u8]| (!bound.is_empty()).then(|| bound.to_vec());
            let options = ReadOptions {
                iterate_lower_bound: bound(lower),
                iterate_upper_bound: bound(upper),
                ..options
            };
            let mut iter = db.iter_cf(&options, family_of(family)?);
            match for_prev {
                true => iter.seek_for_prev(key),
                false => iter.seek(key),
            }
            iter.status()?;
            let stands = iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()));
            Ok(Replayed::Stands(stands))
        }
    }
}
