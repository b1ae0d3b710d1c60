//! A database in use, and the ledger of its promises.

use std::sync::{Arc, Mutex};

use base::env::Rng;
use esker::{
    CheckpointOptions, ColumnFamily, Db, IngestExternalFileOptions, Result, SstFileWriter, WriteBatch,
    WriteOptions,
};

use super::copies::{self, Copy};
use super::flavour::Flavour;
use super::ledger::{Change, Found, Ledger, Loss, UNLOGGED, Write};

/// One step of a script for a crash test.
#[derive(Clone, Debug)]
pub enum Step {
    /// Write a batch to the named families.
    Write {
        /// The name of a family and a change of it, for each change of the batch.
        changes: Vec<(String, Change)>,
        /// The write option `sync`.
        sync: bool,
    },
    /// Write a row without a WAL.
    Unlogged {
        /// The name of the family.
        family: String,
        /// The row's key.
        key: Vec<u8>,
    },
    /// Sync the WAL.
    SyncWal,
    /// Flush these families and wait for the end of the flush.
    Flush(Vec<String>),
    /// Compact all keys of a family.
    Compact(String),
    /// Wait until there is no background work left.
    Wait,
    /// Create a family.
    Create(String),
    /// Drop a family.
    Drop(String),
    /// Write these rows, in the order of their keys, to a table outside the database, and ingest it into a
    /// family.
    Ingest {
        /// The name of the family.
        family: String,
        /// The keys and values of the rows.
        rows: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// Make a checkpoint.
    Checkpoint,
    /// Make a backup.
    Backup,
    /// Close the database and open it again.
    Reopen,
}

/// The numbers of the operations that every script contains, whatever is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The number of dropped families.
    pub drops: usize,
    /// The number of ingested tables.
    pub ingestions: usize,
    /// The number of checkpoints.
    pub checkpoints: usize,
    /// The number of backups.
    pub backups: usize,
}

impl Contents {
    /// Counts the steps of a script, by kind.
    pub fn of(steps: &[Step]) -> Contents {
        let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
        Contents {
            drops: count(|step| matches!(step, Step::Drop(_))),
            ingestions: count(|step| matches!(step, Step::Ingest { .. })),
            checkpoints: count(|step| matches!(step, Step::Checkpoint)),
            backups: count(|step| matches!(step, Step::Backup)),
        }
    }

    /// True if a script contains each of these operations at least once.
    pub fn are_complete(self) -> bool {
        [self.drops, self.ingestions, self.checkpoints, self.backups]
            .iter()
            .all(|&count| count > 0)
    }
}

/// A database in use, with the ledger of its promises.
#[derive(Debug)]
pub struct Session {
    db: Option<Db>,
    ledger: Arc<Mutex<Ledger>>,
}

const NAMES: [&str; 3] = ["warm", "cold", "third"];

/// The number of different keys in one family.
const KEYS: usize = 24;

/// A script of about `length` steps with all kinds of operations: its [`Contents`] are complete.
pub fn script(rng: &mut Rng, flavour: &Flavour, length: usize) -> Vec<Step> {
    let mut names: Vec<String> = vec!["default".to_owned()];
    let mut steps = Vec::new();
    for name in &NAMES[..flavour.families.min(NAMES.len())] {
        steps.push(Step::Create((*name).to_owned()));
        names.push((*name).to_owned());
    }
    let temporary = "temporary".to_owned();
    while steps.len() < length {
        let any = names[rng.usize(..names.len())].clone();
        match rng.u32(..100) {
            0..62 => {
                let sync = rng.u8(..5) == 0;
                steps.push(random_write(rng, flavour, &names, sync));
            }
            62..67 if flavour.unlogged => {
                let key = vec![UNLOGGED, rng.u8(b'0'..b'4')];
                steps.push(Step::Unlogged { family: any, key });
            }
            62..70 => steps.push(Step::SyncWal),
            70..80 => {
                let wait = rng.bool();
                steps.push(Step::Flush(if rng.u8(..3) == 0 {
                    names.clone()
                } else {
                    vec![any]
                }));
                if wait {
                    steps.push(Step::Wait);
                }
            }
            80..84 => steps.push(Step::Compact(any)),
            84..90 => steps.push(Step::Wait),
            90..94 if flavour.families > 0 => {
                if names.contains(&temporary) {
                    names.retain(|name| *name != temporary);
                    steps.push(Step::Drop(temporary.clone()));
                } else {
                    names.push(temporary.clone());
                    steps.push(Step::Create(temporary.clone()));
                }
            }
            94..97 => steps.push(Step::Reopen),
            _ => steps.push(random_ingestion(rng, any)),
        }
    }
    complete(&mut steps, rng, flavour);
    steps.push(Step::Flush(names));
    steps.push(Step::Compact("default".to_owned()));
    steps.push(Step::Wait);
    steps
}

/// Adds a family that is dropped again, and the other required operations, at random places.
fn complete(steps: &mut Vec<Step>, rng: &mut Rng, flavour: &Flavour) {
    let short = "short".to_owned();
    let life = [
        Step::Create(short.clone()),
        random_write(rng, flavour, std::slice::from_ref(&short), false),
        Step::Flush(vec![short.clone()]),
        Step::Drop(short),
    ];
    let at = |steps: &[Step], rng: &mut Rng| rng.usize(steps.len() / 4..=steps.len());
    let place = at(steps, rng);
    steps.splice(place..place, life);
    let family = "default".to_owned();
    for step in [random_ingestion(rng, family), Step::Checkpoint, Step::Backup] {
        let place = at(steps, rng);
        steps.insert(place, step);
    }
}

fn random_ingestion(rng: &mut Rng, family: String) -> Step {
    let first = rng.usize(..KEYS / 2);
    let rows = (first..first + rng.usize(1..KEYS / 2)).map(|at| {
        let value = format!("ingested {:016x}", rng.u64(..)).into_bytes();
        (format!("k{at:02}").into_bytes(), value)
    });
    Step::Ingest {
        family,
        rows: rows.collect(),
    }
}

/// A batch of ascending keys, of one stream or two interleaved ones: enough for flushes to place tables below
/// L0.
fn streams_write(rng: &mut Rng, names: &[String], sync: bool) -> Step {
    let family = &names[rng.usize(..names.len())];
    let (streams, base, falls) = (rng.usize(1..3), 30 * rng.usize(..20), rng.bool());
    let changes = (0..70 * streams).map(|at| {
        let number = base + at / streams;
        let number = if falls { 9999 - number } else { number };
        let key = format!("s{}{number:04}", at % streams).into_bytes();
        let value = format!("{:016x}", rng.u64(..)).into_bytes();
        (family.clone(), Change::Put { key, value })
    });
    Step::Write {
        changes: changes.collect(),
        sync,
    }
}

fn random_write(rng: &mut Rng, flavour: &Flavour, names: &[String], sync: bool) -> Step {
    if rng.u8(..20) == 0 {
        return streams_write(rng, names, sync);
    }
    let count = if rng.bool() { 1 } else { rng.usize(2..6) };
    let changes = (0..count).map(|_| {
        let family = names[rng.usize(..names.len())].clone();
        let key = |rng: &mut Rng| format!("k{:02}", rng.usize(..KEYS)).into_bytes();
        let change = match rng.u32(..10) {
            0..6 => {
                let longest = if rng.u8(..4) == 0 { flavour.long_values } else { 40 };
                let tag = rng.u64(..);
                let mut value = format!("{tag:016x}").into_bytes();
                // Half of the value is hard to compress, so that files grow.
                let len = rng.usize(16..longest.max(17));
                while value.len() < len {
                    value.push(if value.len() % 2 == 0 {
                        b'-'
                    } else {
                        rng.alphanumeric() as u8
                    });
                }
                Change::Put { key: key(rng), value }
            }
            6..8 => Change::Delete { key: key(rng) },
            8 => {
                let (a, b) = (key(rng), key(rng));
                let (begin, end) = if a <= b { (a, b) } else { (b, a) };
                Change::DeleteRange { begin, end }
            }
            _ => Change::Merge {
                key: format!("m{}", rng.u8(..4)).into_bytes(),
                operand: format!("{}", rng.u16(..)).into_bytes(),
            },
        };
        (family, change)
    });
    Step::Write {
        changes: changes.collect(),
        sync,
    }
}

/// Reads every row of every family. Reads backwards and by Get must return the same.
pub fn dump(db: &Db) -> Result<Found> {
    let mut found = Found::new();
    for family in db.column_families() {
        let mut rows = super::Rows::new();
        let mut iter = db.iter_cf(&family);
        iter.seek_to_first();
        while iter.valid() {
            rows.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status()?;
        let mut backwards = super::Rows::new();
        iter.seek_to_last();
        while iter.valid() {
            backwards.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.prev();
        }
        iter.status()?;
        assert_eq!(
            rows,
            backwards,
            "forwards and backwards differ in {}",
            family.name()
        );
        for (key, value) in &rows {
            let got = db.get_cf(&family, key)?;
            assert_eq!(
                got.as_ref(),
                Some(value),
                "Get of {} in {}",
                String::from_utf8_lossy(key),
                family.name()
            );
        }
        found.insert(family.name().to_owned(), rows);
    }
    Ok(found)
}

impl Session {
    /// Creates a session over an open database.
    pub fn adopt(db: Db, ledger: Arc<Mutex<Ledger>>) -> Session {
        Session { db: Some(db), ledger }
    }

    /// If a write failed before the database was opened, finds out whether it took effect. Panics if a
    /// promise was broken.
    pub fn settle(&self) -> Result<()> {
        if !self.ledger().is_open_ended() {
            return Ok(());
        }
        let found = dump(self.db())?;
        let mut ledger = self.ledger();
        let marks = ledger.marks();
        let kept = ledger.check(&marks, &marks, Loss::Process, &found);
        let kept = kept.unwrap_or_else(|error| panic!("{error}"));
        *ledger = ledger.survivor(kept, Loss::Process, &marks, &found);
        Ok(())
    }

    /// The database. Panics if reopening it has failed.
    pub fn db(&self) -> &Db {
        self.db.as_ref().expect("the database is open")
    }

    /// True unless reopening the database failed.
    pub fn is_open(&self) -> bool {
        self.db.is_some()
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no thread panics with the ledger")
    }

    /// A random write to the families that exist now.
    pub fn random_write(&self, rng: &mut Rng, flavour: &Flavour, sync: bool) -> Step {
        let names: Vec<String> = self
            .db()
            .column_families()
            .iter()
            .map(|family| family.name().to_owned())
            .collect();
        random_write(rng, flavour, &names, sync)
    }

    /// Runs one step. A step on a family that does not exist does nothing. Panics if a promise is broken that
    /// can be checked without a crash.
    pub fn step(&mut self, step: &Step) -> Result<()> {
        self.ledger().note(describe(step));
        let result = self.perform(step);
        if let Err(error) = &result {
            self.ledger().note(format!("  failed: {error}"));
        }
        result
    }

    fn family(&self, name: &str) -> Option<(usize, ColumnFamily)> {
        let family = self.db().column_family(name)?;
        let number = self.ledger().family(name)?;
        Some((number, family))
    }

    fn perform(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write { changes, sync } => {
                let mut batch = WriteBatch::new();
                let mut write = Write {
                    changes: Vec::new(),
                    sync: *sync,
                };
                for (name, change) in changes {
                    let Some((number, family)) = self.family(name) else {
                        continue;
                    };
                    match change {
                        Change::Put { key, value } => batch.put_cf(&family, key, value),
                        Change::Delete { key } => batch.delete_cf(&family, key),
                        Change::DeleteRange { begin, end } => batch.delete_range_cf(&family, begin, end),
                        Change::Merge { key, operand } => batch.merge_cf(&family, key, operand),
                    }
                    write.changes.push((number, change.clone()));
                }
                if batch.is_empty() {
                    return Ok(());
                }
                let number = self.ledger().begin(write);
                let options = WriteOptions {
                    sync: *sync,
                    ..WriteOptions::default()
                };
                self.db().write_opt(batch, &options)?;
                let acknowledged = self.ledger().acknowledge(number, *sync);
                acknowledged.unwrap_or_else(|error| panic!("{error}"));
                Ok(())
            }
            Step::Unlogged { family, key } => {
                let Some((number, family)) = self.family(family) else {
                    return Ok(());
                };
                let value = self.ledger().begin_unlogged(number, key);
                let options = WriteOptions {
                    disable_wal: true,
                    ..WriteOptions::default()
                };
                self.db()
                    .put_cf_opt(&family, key, value.to_string().as_bytes(), &options)?;
                self.ledger().acknowledge_unlogged(number, key, value);
                Ok(())
            }
            Step::SyncWal => {
                let marks = self.ledger().marks();
                self.db().sync_wal()?;
                self.ledger().synced(&marks);
                Ok(())
            }
            Step::Flush(names) => {
                let families: Vec<(usize, ColumnFamily)> =
                    names.iter().filter_map(|name| self.family(name)).collect();
                let marks = self.ledger().marks();
                let handles: Vec<ColumnFamily> = families.iter().map(|(_, family)| family.clone()).collect();
                self.db().flush_cf(&handles)?;
                let mut ledger = self.ledger();
                families
                    .iter()
                    .for_each(|(number, _)| ledger.flushed(*number, &marks));
                Ok(())
            }
            Step::Compact(name) => {
                let Some((number, family)) = self.family(name) else {
                    return Ok(());
                };
                let marks = self.ledger().marks();
                self.db().compact_range_cf(&family, None, None)?;
                self.ledger().flushed(number, &marks);
                Ok(())
            }
            Step::Wait => self.db().wait_for_compact(),
            Step::Create(name) => {
                if self.db().column_family(name).is_some() {
                    return Ok(());
                }
                let number = self.ledger().begin_create(name);
                let options = self.db().options().column_family.clone();
                self.db().create_column_family(name, &options)?;
                self.ledger().created(number);
                Ok(())
            }
            Step::Drop(name) => {
                let Some((number, family)) = self.family(name) else {
                    return Ok(());
                };
                self.ledger().begin_drop(number);
                self.db().drop_column_family(&family)?;
                self.ledger().dropped(number);
                Ok(())
            }
            Step::Ingest { family, rows } => self.ingest(family, rows),
            Step::Checkpoint => {
                let number = self.ledger().begin_copy();
                self.db()
                    .create_checkpoint(copies::checkpoint_dir(number), &CheckpointOptions::default())?;
                self.copied(Copy::Checkpoint(number))
            }
            Step::Backup => {
                self.ledger().begin_copy();
                let id = copies::back_up(self.db())?;
                self.copied(Copy::Backup(id))
            }
            Step::Reopen => self.reopen(),
        }
    }

    /// Records that `copy` is complete, with the current rows of the database.
    fn copied(&self, copy: Copy) -> Result<()> {
        let found = dump(self.db())?;
        self.ledger().copied(copy, found);
        Ok(())
    }

    fn ingest(&self, family: &str, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let Some((number, family)) = self.family(family) else {
            return Ok(());
        };
        let path = format!("/outside-{}.sst", self.ledger().begin_copy());
        let mut writer = SstFileWriter::for_column_family(self.db().options(), &family);
        writer.open(&path)?;
        for (key, value) in rows {
            writer.put(key, value)?;
        }
        writer.finish()?;
        let put = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let (key, value) = (key.clone(), value.clone());
            (number, Change::Put { key, value })
        };
        let write = self.ledger().begin(Write {
            changes: rows.iter().map(put).collect(),
            sync: true,
        });
        let options = IngestExternalFileOptions::default();
        match self.db().ingest_external_file_cf(&family, &[&path], &options) {
            Ok(_) => {
                let acknowledged = self.ledger().acknowledge(write, true);
                acknowledged.unwrap_or_else(|error| panic!("{error}"));
                Ok(())
            }
            Err(error) => {
                // If the database still accepts writes, the failed write had no effect.
                if !self.is_latched() {
                    self.ledger().withdraw(write);
                }
                Err(error)
            }
        }
    }

    fn is_latched(&self) -> bool {
        let family = self.db().default_column_family();
        self.db().property_int(&family, "rocksdb.background-errors") == Some(1)
    }

    fn reopen(&mut self) -> Result<()> {
        let Some(db) = self.db.take() else { return Ok(()) };
        let (options, path) = (db.options().clone(), db.path().to_path_buf());
        let closed = db.close();
        drop(db);
        self.ledger().closed(closed.is_ok());
        let db = Db::open(&options, path)?;
        self.db = Some(db);
        self.settle()?;
        closed
    }
}

fn describe(step: &Step) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match step {
        Step::Write { changes, sync } => {
            let mut out = format!("write{}:", if *sync { " sync" } else { "" });
            for (family, change) in changes {
                let change = match change {
                    Change::Put { key, value } => {
                        format!(
                            "put {} {}..{}",
                            text(key),
                            text(&value[..value.len().min(6)]),
                            value.len()
                        )
                    }
                    Change::Delete { key } => format!("delete {}", text(key)),
                    Change::DeleteRange { begin, end } => format!("delete {}-{}", text(begin), text(end)),
                    Change::Merge { key, operand } => format!("merge {} {}", text(key), text(operand)),
                };
                out.push_str(&format!(" [{family}] {change}"));
            }
            out
        }
        Step::Unlogged { family, key } => format!("write without WAL: [{family}] {}", text(key)),
        Step::Ingest { family, rows } => {
            let [first, last] =
                [rows.first(), rows.last()].map(|row| row.map_or("nothing".to_owned(), |row| text(&row.0)));
            format!("ingest: [{family}] {first}..{last}")
        }
        other => format!("{other:?}"),
    }
}
