//! The replay of a trace of queries over a database.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base::env::Clock;
use base::sync::{Condvar, Mutex, thread};
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result};

use crate::batch::write_batch::WriteBatch;
use crate::files::pinned_value::PinnedValue;
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::trace::file::FileTraceReader;
use crate::trace::query_reader::QueryTraceReader;
use crate::trace::record::{TraceRecord, TracedQuery};

/// The maximum number of queries per thread that are read from the trace and wait to be run.
const AHEAD: usize = 16;

/// The options of a replay of a trace of queries.
///
/// See the example of [`Replayer`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayOptions {
    /// The number of threads that run queries. With several threads, queries may run in another order than in
    /// the trace. 0 means 1. Default: 1.
    pub num_threads: u32,
    /// The factor by which the replay is faster than the recorded queries were; it must be above 0. Default:
    /// 1.0.
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

/// The result of a replayed query.
///
/// See the example of [`Replayer`].
#[derive(Clone, Debug)]
pub enum Replayed {
    /// The write succeeded.
    Written,
    /// The value that a Get found; `None` if the key does not exist.
    Value(Option<Vec<u8>>),
    /// The value that a MultiGet found for each key; `None` for a key that does not exist.
    Values(Vec<Option<Vec<u8>>>),
    /// The key and value of the iterator after a seek; `None` if the iterator is not valid.
    Stands(Option<(Vec<u8>, Vec<u8>)>),
}

/// A callback that gets the result of each query.
type Each<'a> = &'a (dyn Fn(Result<Replayed>) + Sync);

/// Replays a trace of queries over a database: RocksDB's `Replayer`. It keeps the database open.
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
    /// Creates a replay of the trace in `reader` over `db`. Gets, MultiGets and seeks find their families by
    /// id among `families`; writes may go to any family of the database.
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

    /// Reads the header of the trace. It must be called before the first query is read, and again before the
    /// trace is replayed once more from its start.
    ///
    /// # Errors
    /// `Corruption` with the offset if the file has no valid header or names no version; `Incomplete` if the
    /// file is empty.
    pub fn prepare(&mut self) -> Result<()> {
        self.queries.prepare()
    }

    /// The start of the trace in microseconds since 1970; 0 before [`prepare`](Self::prepare) was called.
    pub fn header_timestamp(&self) -> u64 {
        self.queries.header_timestamp()
    }

    /// Returns the next query, or `None` at the end of the trace.
    ///
    /// # Errors
    /// `Incomplete` before [`prepare`](Self::prepare) was called; `Corruption` with the offset for a corrupt
    /// record; `NotSupported` for a record that is not a query. After `NotSupported`, and after a record with
    /// a corrupt payload and an intact length, the next call continues with the next record.
    pub fn next_record(&mut self) -> Result<Option<TraceRecord>> {
        self.queries.next_record()
    }

    /// Runs one query.
    ///
    /// # Errors
    /// The errors of the query; `Corruption` for a family that was not passed to [`new`](Self::new), and for
    /// a corrupt batch.
    pub fn execute(&self, query: &TracedQuery) -> Result<Replayed> {
        execute(&self.db, &self.families, query)
    }

    /// Runs the remaining queries of the trace. `each` gets the result of each query, on the thread that ran
    /// it, and `NotSupported` for each record that is not a query and is skipped. If the last record of the
    /// trace is missing, the trace ends with the file.
    ///
    /// # Errors
    /// `InvalidArgument` if `fast_forward` is not above 0; `Incomplete` before [`prepare`](Self::prepare) was
    /// called, and if the trace has ended already; the errors of [`next_record`](Self::next_record); the
    /// error of a failed query, after which no further query begins. If queries fail on several threads, the
    /// error is that of the query with the earliest time in the trace.
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

    /// Passes each query to `run` when it is due, until one fails.
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
            // A corrupt timestamp may exceed every `Duration`.
            let due = Duration::try_from_secs_f64(due / 1e6).unwrap_or(Duration::MAX);
            let early = due.saturating_sub(clock.now().saturating_sub(began));
            if !early.is_zero() {
                // No thread notifies this condition variable: the wait ends when its time is over.
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
                    // If a further thread cannot be started, the threads that were started run all queries.
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

/// Passes the result of a query to `each`, and returns its error.
fn tell(each: Option<Each<'_>>, result: Result<Replayed>) -> Result<()> {
    let failed = result.as_ref().err().cloned();
    if let Some(each) = each {
        each(result);
    }
    failed.map_or(Ok(()), Err)
}

/// The queue of queries for the threads that run them.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Notified when a query was added or taken, when a query has failed, and when the queue is closed.
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<TraceRecord>,
    closed: bool,
    /// The error of the failed query with the earliest time in the trace, and that time in microseconds since
    /// 1970.
    failed: Option<(u64, Error)>,
}

impl Queue {
    /// Adds a query when fewer than `most` queries wait. Returns the error if a query has failed.
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

    /// Runs queries until none is left or one has failed.
    fn work(&self, db: &Db, families: &HashMap<u32, ColumnFamily>, each: Option<Each<'_>>) {
        while let Some(record) = self.take() {
            let ended = catch_or_fail(|| tell(each, execute(db, families, &record.query)));
            if let Err(error) = ended {
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
            db.write(batch)?;
            Ok(Replayed::Written)
        }
        TracedQuery::Get { family, key } => db
            .get_cf_opt(family_of(family)?, key, &options)
            .map(Replayed::Value),
        TracedQuery::MultiGet(keys) => {
            let families = keys.iter().map(|(family, _)| family_of(family));
            let families = families.collect::<Result<Vec<_>>>()?;
            let pairs: Vec<(&ColumnFamily, &[u8])> = families
                .into_iter()
                .zip(keys.iter().map(|(_, key)| &key[..]))
                .collect();
            let found = db.multi_get_families(&pairs, &options);
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
            let mut iter = db.iter_cf_opt(family_of(family)?, &options);
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
