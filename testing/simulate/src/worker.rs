//! One thread of a life: does its steps and compares the results with the model.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dbtest::crash::dump;
use esker::{
    CheckpointOptions, ColumnFamily, CompactFilesOptions, Db, DbIterator, Error, ErrorKind, ReadOptions,
    Snapshot, WriteBatch, WriteOptions,
};

use crate::history::{Change, ChangeKind, Step, What};
use crate::log::Log;
use crate::model::{Effect, Effects, Model, Row, UNLOGGED, Versions, Walk};
use crate::trouble::Trouble;

/// The state that the threads of a history share.
pub(crate) struct Shared {
    pub model: Mutex<Model>,
    pub log: Log,
    pub failure: Mutex<Option<String>>,
}

impl Shared {
    /// Locks the model. The lock is never held at a point where another thread may run.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a failure. The first one is the history's.
    pub fn fail(&self, why: String) {
        self.log.line(|| format!("FAILED {why}"));
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(why);
    }

    pub fn has_failed(&self) -> bool {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }
}

/// A write that its thread is executing.
struct InFlight {
    step: u64,
    effects: Effects,
    no_wal: bool,
}

thread_local! {
    static IN_FLIGHT: RefCell<Option<InFlight>> = const { RefCell::new(None) };
}

/// The simulation calls this function at named points of the engine.
pub(crate) fn observe(shared: &Shared, point: &'static str) {
    match point {
        "logged" => IN_FLIGHT.with_borrow(|in_flight| match in_flight {
            Some(write) => shared.model().order(write.step, &write.effects, write.no_wal),
            None => shared.model().order_unknown(),
        }),
        // The write may be another thread's.
        "published" => shared.model().publish(),
        _ => {}
    }
}

/// The number of failed steps after which a thread ends at the earliest.
const ERRORS_BORNE: usize = 4;

struct HeldIterator {
    iterator: DbIterator,
    family: usize,
    seen: Versions,
}

pub(crate) struct Worker<'a> {
    pub shared: &'a Shared,
    pub db: &'a Db,
    pub trouble: &'a Trouble,
    pub snapshots: BTreeMap<String, (Snapshot, Versions)>,
    iterators: BTreeMap<String, HeldIterator>,
}

/// A fault of a step: an error of the database's, or a broken promise.
enum Fault {
    Error(Error),
    Broken(String),
    /// The family of the step does not exist, which the model allows.
    NoFamily,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

type Done = Result<String, Fault>;

impl<'a> Worker<'a> {
    pub fn new(shared: &'a Shared, db: &'a Db, trouble: &'a Trouble) -> Worker<'a> {
        Worker {
            shared,
            db,
            trouble,
            snapshots: BTreeMap::new(),
            iterators: BTreeMap::new(),
        }
    }

    /// Executes the steps in order. Returns the number of executed steps.
    pub fn run(&mut self, steps: &[Step]) -> u64 {
        let mut errors = 0;
        let mut done = 0;
        for step in steps {
            if self.shared.has_failed() || errors > ERRORS_BORNE {
                break;
            }
            base::simulation::mark(step.id);
            done += 1;
            match self.step(step) {
                Ok(told) => self
                    .shared
                    .log
                    .line(|| format!("{} {}: {told}", step.id, step.what)),
                Err(Fault::NoFamily) => self
                    .shared
                    .log
                    .line(|| format!("{} {}: no such family", step.id, step.what)),
                Err(Fault::Error(error)) => {
                    errors += 1;
                    self.shared
                        .log
                        .line(|| format!("{} {}: {error}", step.id, step.what));
                    if !self.trouble.explains(&error) {
                        self.shared
                            .fail(format!("error: step {}, {}: {error}", step.id, step.what));
                    }
                }
                Err(Fault::Broken(why)) => {
                    let (kind, what) = why.split_once(": ").unwrap_or(("broken", &why));
                    self.shared
                        .fail(format!("{kind}: step {}, {}: {what}", step.id, step.what));
                }
            }
        }
        done
    }

    fn family(&self, name: &str) -> Result<(usize, ColumnFamily), Fault> {
        // The step that created the family may have been shrunk away.
        let number = self.shared.model().family(name).ok_or(Fault::NoFamily)?;
        match self.db.column_family(name) {
            Some(family) => Ok((number, family)),
            None if self.shared.model().may_be_gone(number) => Err(Fault::NoFamily),
            None => Err(Fault::Broken(format!("families: {name} is not there"))),
        }
    }

    fn step(&mut self, step: &Step) -> Done {
        match &step.what {
            What::Write {
                sync,
                no_wal,
                no_slowdown,
                low_pri,
                changes,
            } => {
                let options = WriteOptions {
                    sync: *sync,
                    disable_wal: *no_wal,
                    no_slowdown: *no_slowdown,
                    low_pri: *low_pri,
                    ..WriteOptions::default()
                };
                self.write(step.id, &options, changes)
            }
            What::Get {
                family,
                key,
                snapshot,
            } => self.get(family, std::slice::from_ref(key), snapshot.as_deref(), false),
            What::MultiGet { family, keys } => self.get(family, keys, None, true),
            What::Scan {
                family,
                back,
                snapshot,
            } => self.scan(family, *back, snapshot.as_deref()),
            What::Snapshot(name) => self.take_snapshot(name),
            What::Release(name) => {
                self.snapshots.remove(name);
                self.iterators.remove(name);
                Ok(String::new())
            }
            What::Iter {
                name,
                family,
                snapshot,
            } => self.open_iterator(name, family, snapshot.as_deref()),
            What::Refresh(name) => self.refresh(name),
            What::Move { name, to, count } => self.move_iterator(name, to, *count),
            What::Flush(names) => self.flush(names),
            What::Compact(name) => self.compact(name),
            What::CompactFiles(name) => self.compact_files(step.id, name),
            What::Create(name) => self.create(name),
            What::Drop(name) => self.drop_family(name),
            What::Checkpoint { logged } => self.checkpoint(step.id, *logged),
            What::SyncWal => {
                let promised = self.shared.model().promised();
                self.db.sync_wal()?;
                self.shared.model().synced(&promised);
                Ok(String::new())
            }
            What::Wait => {
                self.db.wait_for_compact()?;
                Ok(String::new())
            }
            What::Resume => {
                self.db.resume()?;
                Ok(String::new())
            }
            What::Room(bytes) => {
                self.trouble.limit(*bytes);
                Ok(String::new())
            }
            What::Pause(micros) => {
                base::simulation::sleep(Duration::from_micros(*micros));
                Ok(String::new())
            }
        }
    }

    fn take_snapshot(&mut self, name: &str) -> Done {
        let from = self.shared.model().version();
        let snapshot = self.db.snapshot();
        let to = self.shared.model().version();
        self.snapshots
            .insert(name.to_owned(), (snapshot, (from..=to).collect()));
        Ok(String::new())
    }

    fn flush(&self, names: &[String]) -> Done {
        let others = self.shared.model().flushed_with(names);
        let families: Vec<(usize, ColumnFamily)> = { names.iter().chain(&others) }
            .map(|name| self.family(name))
            .collect::<Result<_, _>>()?;
        let promised = self.shared.model().promised();
        let handles: Vec<ColumnFamily> = families.iter().map(|(_, family)| family.clone()).collect();
        self.db.flush_cf(&handles)?;
        let mut model = self.shared.model();
        families
            .iter()
            .for_each(|(number, _)| model.flushed(*number, &promised));
        Ok(String::new())
    }

    fn compact(&self, name: &str) -> Done {
        let (number, family) = self.family(name)?;
        let promised = self.shared.model().promised();
        self.db.compact_range_cf(&family, None, None)?;
        self.shared.model().flushed(number, &promised);
        Ok(String::new())
    }

    fn create(&self, name: &str) -> Done {
        if self.shared.model().family(name).is_some() {
            return Ok("there was one of that name".to_owned());
        }
        let number = self.shared.model().begin_create(name);
        let options = self.db.options().column_family.clone();
        self.db.create_column_family(name, &options)?;
        self.shared.model().created(number);
        Ok(String::new())
    }

    fn drop_family(&self, name: &str) -> Done {
        let (number, family) = self.family(name)?;
        self.shared.model().begin_drop(number);
        self.db.drop_column_family(&family)?;
        self.shared.model().dropped(number);
        Ok(String::new())
    }

    fn compact_files(&self, step: u64, name: &str) -> Done {
        let (_, family) = self.family(name)?;
        let mut files = self.db.live_files();
        files.retain(|file| file.column_family == name);
        if files.is_empty() {
            return Ok("no files".to_owned());
        }
        let from = step as usize % files.len();
        let chosen = &files[from..(from + 3).min(files.len())];
        let numbers: Vec<u64> = chosen.iter().map(|file| file.number).collect();
        let lowest = chosen.iter().map(|file| file.level).max().unwrap_or(0);
        let levels = family.options().num_levels as usize;
        let output = (lowest + 1).min(levels - 1);
        let options = CompactFilesOptions::default();
        match self.db.compact_files(&family, &numbers, output, &options) {
            // Other threads and jobs compact as well.
            Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument) => {
                Ok(error.to_string())
            }
            result => Ok(result.map(|_| format!("{numbers:?} to level {output}"))?),
        }
    }

    /// Checks that a checkpoint shows all families as they were at one moment while it was made.
    fn checkpoint(&self, step: u64, logged: bool) -> Done {
        let dir = format!("/checkpoint-{step}");
        let options = CheckpointOptions {
            log_size_for_flush: if logged { u64::MAX } else { 0 },
        };
        let (from, before) = {
            let model = self.shared.model();
            (model.version(), model.presence().to_vec())
        };
        self.db.create_checkpoint(&dir, &options)?;
        let seen: Versions = (from..=self.shared.model().version()).collect();
        let checkpoint = Db::open_read_only(self.db.options(), &dir)?;
        let found = dump(&checkpoint)?;
        drop(checkpoint);
        let left = self.shared.model().check_all(&found, &seen, &before);
        let left = left.map_err(|why| Fault::Broken(format!("{why} (in a checkpoint)")))?;
        Db::destroy(self.db.options(), &dir)?;
        Ok(format!("versions {left:?}"))
    }

    fn write(&mut self, step: u64, options: &WriteOptions, changes: &[Change]) -> Done {
        let mut batch = WriteBatch::new();
        let mut effects = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let (number, family) = self.family(&change.family)?;
            let key = change.key.as_bytes().to_vec();
            let effect = match &change.kind {
                ChangeKind::Put(len) => {
                    let value = value(step, at, *len);
                    batch.put_cf(&family, &key, &value);
                    Effect::Put { key, value }
                }
                ChangeKind::Delete => {
                    batch.delete_cf(&family, &key);
                    Effect::Delete { key }
                }
                ChangeKind::DeleteRange(end) => {
                    let end = end.as_bytes().to_vec();
                    batch.delete_range_cf(&family, &key, &end);
                    Effect::DeleteRange { begin: key, end }
                }
                ChangeKind::Merge => {
                    let operand = format!("{step}.{at}").into_bytes();
                    batch.merge_cf(&family, &key, &operand);
                    Effect::Merge { key, operand }
                }
            };
            effects.push((number, effect));
        }
        let unlogged = changes
            .first()
            .filter(|_| options.disable_wal)
            .map(|change| change.key.as_bytes().to_vec());
        let family = effects.first().map_or(0, |(family, _)| *family);
        let effects: Effects = Arc::new(effects);
        {
            let mut model = self.shared.model();
            match &unlogged {
                Some(key) => model.begin_unlogged(family, key, step),
                None => model.begin(step, &effects),
            }
        }
        IN_FLIGHT.set(Some(InFlight {
            step,
            effects,
            no_wal: options.disable_wal,
        }));
        let result = self.db.write_opt(batch, options);
        IN_FLIGHT.take();
        let mut model = self.shared.model();
        let published = model.take_published(step);
        match (result, published) {
            (Ok(()), Some(number)) => {
                match &unlogged {
                    Some(key) => model.acknowledge_unlogged(family, key, step),
                    None => model.acknowledge(number, options.sync),
                }
                Ok(format!("version {}", model.version()))
            }
            (Ok(()), None) => Err(Fault::Broken("write: acknowledged and never visible".to_owned())),
            // The write would have been stalled, so it was refused as a whole.
            (Err(error), None) if options.no_slowdown && error.kind() == ErrorKind::Incomplete => {
                model.refused(step);
                Ok("refused".to_owned())
            }
            (Err(error), published) => {
                // The write was refused because of an earlier failure: no part of it can be on the disk.
                if published.is_none() && error.kind() == ErrorKind::ReadOnly {
                    model.refused(step);
                }
                Err(error.into())
            }
        }
    }

    fn read_options(&self, snapshot: Option<&str>) -> Result<ReadOptions, Fault> {
        let mut options = ReadOptions::default();
        if let Some(name) = snapshot {
            // The step that took the snapshot may have been shrunk away.
            options.snapshot = self.snapshots.get(name).map(|(snapshot, _)| snapshot.clone());
        }
        Ok(options)
    }

    /// The versions that a read which began at version `from` may show.
    fn seen(&self, snapshot: Option<&str>, from: usize) -> Versions {
        match snapshot.and_then(|name| self.snapshots.get(name)) {
            Some((_, seen)) => seen.clone(),
            None => (from..=self.shared.model().version()).collect(),
        }
    }

    fn narrow(&mut self, snapshot: Option<&str>, left: Versions) {
        if let Some((_, seen)) = snapshot.and_then(|name| self.snapshots.get_mut(name)) {
            *seen = left;
        }
    }

    fn get(&mut self, name: &str, keys: &[String], snapshot: Option<&str>, many: bool) -> Done {
        let (number, family) = self.family(name)?;
        let options = self.read_options(snapshot)?;
        let from = self.shared.model().version();
        let values = if many {
            self.db
                .multi_get_cf_opt(&family, keys, &options)
                .into_iter()
                .collect::<Result<Vec<_>, Error>>()?
        } else {
            let mut values = Vec::new();
            for key in keys {
                values.push(self.db.get_cf_opt(&family, key.as_bytes(), &options)?);
            }
            values
        };
        let seen = self.seen(snapshot, from);
        let found: Vec<(Vec<u8>, Option<Vec<u8>>)> = keys
            .iter()
            .map(|key| key.as_bytes().to_vec())
            .zip(values)
            .collect();
        let left = self.shared.model().check_values(number, &found, &seen);
        self.narrow(snapshot, left.map_err(Fault::Broken)?);
        let told = |value: &Option<Vec<u8>>| match value {
            None => "nothing".to_owned(),
            Some(value) => String::from_utf8_lossy(&value[..value.len().min(12)]).into_owned(),
        };
        Ok(found
            .iter()
            .map(|(_, value)| told(value))
            .collect::<Vec<_>>()
            .join(" "))
    }

    fn scan(&mut self, name: &str, back: bool, snapshot: Option<&str>) -> Done {
        let (number, family) = self.family(name)?;
        let options = self.read_options(snapshot)?;
        let from = self.shared.model().version();
        let mut iterator = self.db.iter_cf_opt(&family, &options);
        let seen = self.seen(snapshot, from);
        let walk = Walk {
            back,
            ..Walk::default()
        };
        let found = walked(&mut iterator, &walk)?;
        let left = self.shared.model().check_walk(number, &walk, &found, &seen);
        self.narrow(snapshot, left.map_err(Fault::Broken)?);
        Ok(format!("{} rows", found.len()))
    }

    fn open_iterator(&mut self, name: &str, family: &str, snapshot: Option<&str>) -> Done {
        let (number, family) = self.family(family)?;
        let mut options = self.read_options(snapshot)?;
        options.auto_refresh_iterator_with_snapshot = snapshot.is_some();
        let from = self.shared.model().version();
        let iterator = self.db.iter_cf_opt(&family, &options);
        let seen = self.seen(snapshot, from);
        self.iterators.insert(
            name.to_owned(),
            HeldIterator {
                iterator,
                family: number,
                seen,
            },
        );
        Ok(String::new())
    }

    fn refresh(&mut self, name: &str) -> Done {
        let from = self.shared.model().version();
        let Some(held) = self.iterators.get_mut(name) else {
            return Ok("no such iterator".to_owned());
        };
        held.iterator.refresh(None)?;
        held.seen = (from..=self.shared.model().version()).collect();
        Ok(String::new())
    }

    fn move_iterator(&mut self, name: &str, to: &str, count: i64) -> Done {
        let Some(held) = self.iterators.get_mut(name) else {
            return Ok("no such iterator".to_owned());
        };
        let walk = Walk {
            from: (!matches!(to, "first" | "last")).then(|| to.as_bytes().to_vec()),
            back: count < 0 || to == "last",
            limit: Some(count.unsigned_abs() as usize),
        };
        let walk = if to == "first" {
            Walk { back: false, ..walk }
        } else {
            walk
        };
        let found = walked(&mut held.iterator, &walk)?;
        let left = self
            .shared
            .model()
            .check_walk(held.family, &walk, &found, &held.seen);
        held.seen = left.map_err(Fault::Broken)?;
        Ok(format!("{} rows", found.len()))
    }
}

fn walked(iterator: &mut DbIterator, walk: &Walk) -> Result<Vec<Row>, Error> {
    match (&walk.from, walk.back) {
        (None, false) => iterator.seek_to_first(),
        (None, true) => iterator.seek_to_last(),
        (Some(from), false) => iterator.seek(from),
        (Some(from), true) => iterator.seek_for_prev(from),
    }
    let mut rows = Vec::new();
    while iterator.valid() && walk.limit.is_none_or(|limit| rows.len() < limit) {
        rows.push((iterator.key().to_vec(), iterator.value().to_vec()));
        base::simulation::point("");
        if walk.back {
            iterator.prev();
        } else {
            iterator.next();
        }
    }
    iterator.status()?;
    Ok(rows)
}

/// The value that a step puts: it begins with the step's number, and half of it does not compress.
fn value(step: u64, at: usize, len: usize) -> Vec<u8> {
    let mut value = format!("v{step}.{at}").into_bytes();
    let mut state = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while value.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value.push(if value.len() % 2 == 0 {
            b'.'
        } else {
            b'a' + (state % 26) as u8
        });
    }
    value
}

/// True for keys that are written without WAL.
pub(crate) fn is_unlogged(key: &str) -> bool {
    key.as_bytes().first() == Some(&UNLOGGED)
}
