//! Secondaries and followers: they always show a prefix of the primary's writes, and never go back.
//!
//! In memory, a catch-up is tried at every file operation of the primary, on any thread, at the same points
//! at which crash tests crash.

mod families;
mod rocksdb;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use base::SeqNo;
use dbtest::settings;
use esker::{
    ColumnFamily, ColumnFamilyOptions, Db, DbIterator, ErrorKind, Options, ReadOptions, Snapshot, WriteBatch,
    WriteOptions,
};
use tempfile::TempDir;
use testkit::TestRng;
use testkit::model::{Model, Op, Row};
use vfs::fault::Action;
use vfs::{FaultFs, MemFs, PosixFs, Rule};

const PRIMARY: &str = "/primary";

const SECONDARY: &str = "/secondary";

/// A state of the primary: the last sequence number, and the existing families.
type PrimaryState = (SeqNo, BTreeSet<u32>);

/// A secondary, the model that it is compared with, and its progress.
struct Follow {
    secondary: Option<Db>,
    model: Model,
    /// The states of the primary so far; the last one is about to be entered.
    history: Vec<PrimaryState>,
    /// The index in `history` of the state that the secondary showed last.
    shown: usize,
    held: Vec<HeldReads>,
    rng: TestRng,
    catch_ups: u64,
    advances: u64,
    refused: u64,
    failure: Option<String>,
}

/// A snapshot and an iterator that are held while the secondary advances.
struct HeldReads {
    state: PrimaryState,
    snapshot: Option<Snapshot>,
    iterators: Vec<(u32, DbIterator)>,
}

fn rows(mut iter: DbIterator) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().map_err(|error| error.to_string())?;
    Ok(rows)
}

fn show(rows: &[Row]) -> String {
    let row = |(key, value): &Row| {
        let value = &value[..value.len().min(12)];
        format!("{}={}", key.escape_ascii(), value.escape_ascii())
    };
    rows.iter().map(row).collect::<Vec<_>>().join(" ")
}

impl Follow {
    /// Catches up, and checks that the secondary shows a state of the primary, not older than the previous
    /// one.
    fn look(&mut self) {
        if self.failure.is_some() {
            return;
        }
        let Some(secondary) = self.secondary.clone() else {
            return;
        };
        self.catch_ups += 1;
        match secondary.try_catch_up_with_primary() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TryAgain => self.refused += 1,
            Err(error) => {
                self.failure = Some(format!("catch-up: {error}"));
                return;
            }
        }
        self.compare(&secondary);
    }

    fn compare(&mut self, secondary: &Db) {
        let checked = self.check(secondary).and_then(|()| self.check_held(secondary));
        if let Err(failure) = checked {
            let from = self.history.len().saturating_sub(8);
            self.failure = Some(format!(
                "{failure}\nshown {} of {}: {:?}\nhistory ends {:?}",
                self.shown,
                self.history.len(),
                self.history.get(self.shown),
                &self.history[from..]
            ));
        }
    }

    fn check(&mut self, secondary: &Db) -> Result<(), String> {
        let families = secondary.column_families();
        let state: PrimaryState = (
            secondary.latest_sequence_number(),
            families.iter().map(ColumnFamily::id).collect(),
        );
        let from = self.history.iter().skip(self.shown);
        let at = from.clone().position(|known| *known == state);
        let Some(at) = at else {
            return Err(format!("{state:?} is no state of the primary's"));
        };
        self.advances += u64::from(at > 0);
        self.shown += at;
        for family in &families {
            self.check_rows(&state, family, rows(secondary.iter_cf(family))?)?;
            let expected = self
                .model
                .rows(family.id(), state.0)
                .map_err(|error| error.to_string())?;
            if let Some((key, value)) = expected.first() {
                let got = secondary.get_cf(family, key);
                if got.as_ref().ok().and_then(Option::as_ref) != Some(value) {
                    return Err(format!("Get of {} at {state:?}: {got:?}", key.escape_ascii()));
                }
            }
        }
        Ok(())
    }

    fn check_rows(&self, state: &PrimaryState, family: &ColumnFamily, got: Vec<Row>) -> Result<(), String> {
        let expected = self
            .model
            .rows(family.id(), state.0)
            .map_err(|error| error.to_string())?;
        if got == expected {
            return Ok(());
        }
        Err(format!(
            "family {} at {state:?}:\n     got {}\nexpected {}",
            family.name(),
            show(&got),
            show(&expected)
        ))
    }

    /// Checks that earlier snapshots and iterators still show their state.
    fn check_held(&mut self, secondary: &Db) -> Result<(), String> {
        if self.rng.one_in(20) {
            let snapshot = self.rng.bool().then(|| secondary.snapshot());
            let families = secondary.column_families();
            let iterators = families.iter().map(|family| {
                let iter = secondary.iter_cf(family);
                (family.id(), iter)
            });
            self.held.push(HeldReads {
                state: self.history[self.shown].clone(),
                snapshot,
                iterators: iterators.collect(),
            });
        }
        if self.held.is_empty() || !self.rng.one_in(8) {
            return Ok(());
        }
        let held = self.held.swap_remove(self.rng.usize(..self.held.len()));
        let families = secondary.column_families();
        let of = |id: u32| families.iter().find(|family| family.id() == id);
        if let Some(snapshot) = &held.snapshot {
            for family in &families {
                let options = ReadOptions {
                    snapshot: Some(snapshot.clone()),
                    ..ReadOptions::default()
                };
                let got = rows(secondary.iter_cf_opt(family, &options))?;
                if !held.state.1.contains(&family.id()) {
                    if !got.is_empty() {
                        return Err("rows of a family that a snapshot does not know".to_owned());
                    }
                    continue;
                }
                self.check_rows(&held.state, family, got)
                    .map_err(|error| format!("snapshot: {error}"))?;
            }
        }
        for (id, iter) in held.iterators {
            if let Some(family) = of(id) {
                self.check_rows(&held.state, family, rows(iter)?)
                    .map_err(|error| format!("iterator: {error}"))?;
            }
        }
        Ok(())
    }
}

/// A primary whose file operations are all observed by a secondary.
struct ObservedPrimary {
    rng: TestRng,
    mem: MemFs,
    options: Options,
    db: Option<Db>,
    fault: FaultFs,
    follow: Arc<Mutex<Follow>>,
    families: Vec<ColumnFamily>,
    next_family: u32,
    steps: Vec<String>,
    interruptions: Interruptions,
    /// True while steps of the primary interrupt a catch-up.
    interrupting: bool,
}

/// Interrupts the secondary's file operations by steps of the primary, if set.
type Interruptions = Arc<Mutex<Option<(mpsc::Sender<mpsc::Sender<()>>, TestRng)>>>;

impl Drop for ObservedPrimary {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", settings::differing(&self.options));
            let from = self.steps.len().saturating_sub(30);
            self.steps[from..].iter().for_each(|step| eprintln!("  {step}"));
        }
    }
}

fn family_options(rng: &mut TestRng) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions {
        write_buffer_size: 8 << 10,
        target_file_size_base: 4 << 10,
        max_bytes_for_level_base: 8 << 10,
        ..ColumnFamilyOptions::default()
    };
    settings::draw(rng, &mut options.table);
    settings::set_family(&mut options, "merge_operator", "stringappend").unwrap();
    options
}

/// A file system over `mem` that runs a check at every operation, on a thread of its own, because a thread
/// that reads a block must not read another one meanwhile.
fn watched(mem: &MemFs, follow: &Arc<Mutex<Follow>>) -> FaultFs {
    let fault = FaultFs::new(Arc::new(mem.clone()));
    let (ask, asked) = mpsc::channel::<mpsc::Sender<()>>();
    let follow = follow.clone();
    // The thread ends with the file system.
    std::thread::spawn(move || {
        while let Ok(done) = asked.recv() {
            if let Ok(mut follow) = follow.lock() {
                follow.look();
            }
            let _ = done.send(());
        }
    });
    let ask = Mutex::new(ask);
    fault.add(Rule::new(Action::Call(Arc::new(move |_, _| {
        // If a check of the secondary is already running, it covers this operation too.
        let Ok(ask) = ask.try_lock() else { return };
        let (done, is_done) = mpsc::channel();
        if ask.send(done).is_ok() {
            let _ = is_done.recv();
        }
    }))));
    fault
}

impl ObservedPrimary {
    fn new(mut rng: TestRng) -> ObservedPrimary {
        let mem = MemFs::new();
        let mut options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        settings::draw_of_database(&mut rng, &mut options);
        options.max_open_files = -1;
        options.column_family = family_options(&mut rng);
        let mut model = Model::new();
        model.create_family(
            0,
            base::UserComparator::Bytewise,
            options.column_family.merge_operator.clone(),
        );
        let follow = Arc::new(Mutex::new(Follow {
            secondary: None,
            model,
            history: vec![(0, BTreeSet::from([0]))],
            shown: 0,
            held: Vec::new(),
            rng: TestRng::with_seed(rng.u64(..)),
            catch_ups: 0,
            advances: 0,
            refused: 0,
            failure: None,
        }));
        let fault = watched(&mem, &follow);
        options.fs = Arc::new(fault.clone());
        let db = Db::open(&options, PRIMARY).unwrap();
        // The secondary must not change any file of the primary.
        let only_read = FaultFs::new(Arc::new(mem.clone()));
        let changes = [
            vfs::Op::Create,
            vfs::Op::Reuse,
            vfs::Op::Rename,
            vfs::Op::Remove,
            vfs::Op::Link,
            vfs::Op::Truncate,
            vfs::Op::CreateDir,
            vfs::Op::RemoveDir,
            vfs::Op::SyncDir,
            vfs::Op::Append,
            vfs::Op::Sync,
            vfs::Op::Lock,
        ];
        only_read.add(
            Rule::new(Action::Fail(ErrorKind::Io))
                .on(changes)
                .path_contains(PRIMARY),
        );
        let interruptions = Interruptions::default();
        let interrupted = interruptions.clone();
        only_read.add(Rule::new(Action::Call(Arc::new(move |_, _| {
            let mut interrupted = interrupted.lock().unwrap();
            let Some((ask, rng)) = &mut *interrupted else {
                return;
            };
            if !rng.one_in(4) {
                return;
            }
            let (done, is_done) = mpsc::channel();
            if ask.send(done).is_ok() {
                let _ = is_done.recv();
            }
        }))));
        let secondary_options = Options {
            fs: Arc::new(only_read),
            ..options.clone()
        };
        let secondary = Db::open_as_secondary(&secondary_options, PRIMARY, SECONDARY).unwrap();
        follow.lock().unwrap().secondary = Some(secondary);
        ObservedPrimary {
            rng,
            mem,
            options,
            families: vec![db.default_column_family()],
            db: Some(db),
            fault,
            follow,
            next_family: 1,
            steps: Vec::new(),
            interruptions,
            interrupting: false,
        }
    }

    /// Runs a catch-up, with steps of the primary between its file operations.
    fn interrupted_catch_up(&mut self) {
        // No other check may run meanwhile.
        let secondary = self.follow.lock().unwrap().secondary.take().unwrap();
        let (ask, asked) = mpsc::channel();
        let seed = self.rng.u64(..);
        *self.interruptions.lock().unwrap() = Some((ask, TestRng::with_seed(seed)));
        let (catching_up, interruptions) = (secondary.clone(), self.interruptions.clone());
        let thread = std::thread::spawn(move || {
            let result = catching_up.try_catch_up_with_primary();
            *interruptions.lock().unwrap() = None;
            result
        });
        self.interrupting = true;
        let mut steps = self.rng.usize(..20);
        while let Ok(done) = asked.recv() {
            for _ in 0..self.rng.usize(1..6).min(steps) {
                self.step();
                steps -= 1;
            }
            let _ = done.send(());
        }
        self.interrupting = false;
        let result = thread.join().unwrap();
        let mut follow = self.follow.lock().unwrap();
        follow.catch_ups += 1;
        match result {
            Err(error) if error.kind() == ErrorKind::TryAgain => follow.refused += 1,
            result => result.unwrap(),
        }
        follow.compare(&secondary);
        follow.secondary = Some(secondary);
    }

    fn db(&self) -> Db {
        self.db.clone().unwrap()
    }

    fn key(&mut self) -> Vec<u8> {
        format!("k{:02}", self.rng.usize(..20)).into_bytes()
    }

    fn write(&mut self) {
        let mut batch = WriteBatch::new();
        let count = if self.rng.bool() { 1 } else { self.rng.usize(2..6) };
        let mut operations = Vec::new();
        for _ in 0..count {
            let family = self.families[self.rng.usize(..self.families.len())].clone();
            let operation = match self.rng.u32(..10) {
                0..6 => {
                    let len = self.rng.usize(..400);
                    Op::Put(self.key(), self.rng.bytes(len))
                }
                6..8 => Op::Delete(self.key()),
                8 => {
                    let mut bounds = [self.key(), self.key()];
                    bounds.sort();
                    let [begin, end] = bounds;
                    Op::DeleteRange(begin, end)
                }
                _ => Op::Merge(self.key(), vec![self.rng.u8(b'a'..=b'z')]),
            };
            match &operation {
                Op::Put(key, value) => batch.put_cf(&family, key, value),
                Op::Delete(key) | Op::SingleDelete(key) => batch.delete_cf(&family, key),
                Op::Merge(key, operand) => batch.merge_cf(&family, key, operand),
                Op::DeleteRange(begin, end) => batch.delete_range_cf(&family, begin, end),
            }
            operations.push((family.id(), operation));
        }
        {
            let mut follow = self.follow.lock().unwrap();
            let last = follow.model.write(&operations);
            let families = follow.history.last().unwrap().1.clone();
            follow.history.push((last, families));
        }
        let options = WriteOptions {
            sync: self.rng.one_in(10),
            ..WriteOptions::default()
        };
        self.db().write_opt(batch, &options).unwrap();
    }

    /// Records the families of the next state.
    fn expect_families(&self, change: impl FnOnce(&mut BTreeSet<u32>)) {
        let mut follow = self.follow.lock().unwrap();
        let mut next = follow.history.last().unwrap().clone();
        change(&mut next.1);
        follow.history.push(next);
    }

    fn create_family(&mut self) {
        let id = self.next_family;
        self.next_family += 1;
        let options = self.options.column_family.clone();
        self.expect_families(|families| {
            families.insert(id);
        });
        let operator = options.merge_operator.clone();
        self.follow
            .lock()
            .unwrap()
            .model
            .create_family(id, base::UserComparator::Bytewise, operator);
        let family = self
            .db()
            .create_column_family(&format!("family{}", id % 3), &options)
            .unwrap();
        assert_eq!(family.id(), id);
        self.families.push(family);
    }

    fn drop_family(&mut self) {
        let family = self.families.remove(self.rng.usize(1..self.families.len()));
        self.expect_families(|families| {
            families.remove(&family.id());
        });
        self.db().drop_column_family(&family).unwrap();
    }

    fn reopen(&mut self, kill: bool) {
        let names: Vec<String> = self
            .families
            .iter()
            .map(|family| family.name().to_owned())
            .collect();
        self.families.clear();
        let db = self.db.take().unwrap();
        if kill {
            self.fault.crash();
            drop(db);
        } else {
            db.close().unwrap();
            drop(db);
        }
        self.fault = watched(&self.mem, &self.follow);
        self.options.fs = Arc::new(self.fault.clone());
        let db = Db::open(&self.options, PRIMARY).unwrap();
        self.families = names.iter().map(|name| db.column_family(name).unwrap()).collect();
        self.db = Some(db);
    }

    fn step(&mut self) {
        // A catch-up is most likely to miss families that are created during it, and their rows.
        let what = match self.interrupting && self.rng.one_in(3) {
            true => self.rng.u32(88..94),
            false => self.rng.u32(..100),
        };
        self.steps
            .push(format!("{what} of {} families", self.families.len()));
        let all = |run: &ObservedPrimary| run.families.clone();
        match what {
            0..75 => self.write(),
            75..83 => {
                let families = if self.rng.bool() {
                    all(self)
                } else {
                    vec![self.families[self.rng.usize(..self.families.len())].clone()]
                };
                self.db().flush_cf(&families).unwrap();
            }
            83..86 => {
                let family = self.families[self.rng.usize(..self.families.len())].clone();
                self.db().compact_range_cf(&family, None, None).unwrap();
            }
            86..88 => self.db().wait_for_compact().unwrap(),
            88..91 if self.families.len() < 4 => {
                let taken = |run: &ObservedPrimary, id: u32| {
                    let name = format!("family{}", id % 3);
                    run.families.iter().any(|family| family.name() == name)
                };
                if !taken(self, self.next_family) {
                    self.create_family();
                }
            }
            91..93 if self.families.len() > 1 => self.drop_family(),
            93..95 => self.reopen(false),
            95..97 => self.reopen(true),
            97.. if !self.interrupting => self.interrupted_catch_up(),
            _ => self.follow.lock().unwrap().look(),
        }
        if let Some(failure) = &self.follow.lock().unwrap().failure {
            panic!("{failure}");
        }
    }

    /// Runs the steps, and returns the number of catch-ups and of those that found new rows.
    fn run(mut self, steps: usize) -> [u64; 3] {
        for _ in 0..steps {
            self.step();
        }
        self.db().wait_for_compact().unwrap();
        let mut follow = self.follow.lock().unwrap();
        follow.look();
        if let Some(failure) = &follow.failure {
            panic!("{failure}");
        }
        let end = follow.history.last();
        assert_eq!(
            follow.history.get(follow.shown),
            end,
            "the secondary is at the end"
        );
        [follow.catch_ups, follow.advances, follow.refused]
    }
}

#[test]
fn a_secondary_shows_a_prefix_at_every_operation_of_its_primary() {
    let mut done = [0; 3];
    for seed in testkit::rng::seeds(6 * crate::crash::rounds()) {
        let run = ObservedPrimary::new(TestRng::with_seed(seed));
        let counts = run.run(200);
        done.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    let [catch_ups, advances, refused] = done;
    eprintln!("{catch_ups} catch-ups, {advances} found something new, {refused} were to be tried again");
    assert!(advances > 100);
}

/// Writes to both families in one batch, repeatedly, until stopped.
fn write_pairs(db: &Db, other: &ColumnFamily, stop: &AtomicBool, written: &AtomicU64) {
    let default = db.default_column_family();
    let mut round = 0u64;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let mut batch = WriteBatch::new();
        for key in 0..8u8 {
            let value = [round.to_string().into_bytes(), vec![b'.'; (round % 700) as usize]].concat();
            batch.put_cf(&default, &[key], &value);
            batch.put_cf(other, &[key], &value);
        }
        db.write(batch).unwrap();
        written.store(round, Ordering::Release);
    }
}

fn round_of(value: &[u8]) -> u64 {
    let digits = value.split(|&byte| byte == b'.').next().unwrap();
    std::str::from_utf8(digits).unwrap().parse().unwrap()
}

#[test]
fn on_a_disk_no_batch_is_seen_in_part_and_none_is_missed() {
    let dir = TempDir::new().unwrap();
    let (path, own) = (dir.path().join("db"), dir.path().join("own"));
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.write_buffer_size = 64 << 10;
    let db = Db::open(&options, &path).unwrap();
    let other = db.create_column_family("other", &options.column_family).unwrap();
    let secondary = Db::open_as_secondary(&options, &path, &own).unwrap();
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| write_pairs(&db, &other, &stop, &written));
        let mut last = 0;
        for _ in 0..400 {
            let acknowledged = written.load(Ordering::Acquire);
            match secondary.try_catch_up_with_primary() {
                Err(error) if error.kind() == ErrorKind::TryAgain => continue,
                result => result.unwrap(),
            }
            let snapshot = ReadOptions {
                snapshot: Some(secondary.snapshot()),
                ..ReadOptions::default()
            };
            let mut rounds = BTreeSet::new();
            for family in secondary.column_families() {
                for key in 0..8u8 {
                    let value = secondary.get_cf_opt(&family, [key], &snapshot).unwrap();
                    rounds.insert(value.map_or(0, |value| round_of(&value)));
                }
            }
            assert_eq!(rounds.len(), 1, "one batch is seen in part: {rounds:?}");
            let round = rounds.pop_first().unwrap();
            assert!(round >= last, "{round} after {last}");
            assert!(
                round >= acknowledged,
                "{round}, and {acknowledged} was there before"
            );
            last = round;
        }
        stop.store(true, Ordering::Relaxed);
    });
    // Flushes and compactions may still be running.
    while let Err(error) = secondary.try_catch_up_with_primary() {
        assert_eq!(error.kind(), ErrorKind::TryAgain, "{error}");
    }
    assert_eq!(secondary.latest_sequence_number(), db.latest_sequence_number());
}

#[test]
fn what_the_primary_deletes_stays_readable() {
    for name in [
        "blob_files",
        "cfs_fv7_lz4",
        "range_deletes",
        "wal_only",
        "wal_recycled_zstd",
    ] {
        let dir = crate::fixtures::copy(name);
        let own = TempDir::new().unwrap();
        let db = Db::open_as_secondary(&Options::default(), dir.path(), own.path()).unwrap();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|kind| kind == "sst" || kind == "blob")
            {
                std::fs::remove_file(path).unwrap();
            }
        }
        let got = crate::fixtures::rows(&db, &ReadOptions::default(), false);
        crate::fixtures::assert_same(name, &got, &crate::fixtures::expected(name));
    }
}

/// Opens a secondary. At its operation `nth` on files, if it has so many, the primary is closed and opened
/// again, which flushes its rows and deletes their WAL. Returns whether there was such an operation.
fn opened_beside_a_reopening(nth: u64) -> bool {
    let mem = Arc::new(MemFs::new());
    let mut options = Options {
        create_if_missing: true,
        fs: mem.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, PRIMARY).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"1").unwrap();
    }
    // The new family's edit of the MANIFEST has the rows' sequence numbers; only the WAL has the rows.
    db.create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    let (primary, reopened) = (Mutex::new(Some(db)), options.clone());
    let fault = FaultFs::new(mem);
    // Another thread reopens the primary: the thread of the secondary may hold a block of a file.
    let reopens = Action::Call(Arc::new(move |_, _| {
        let reopen = || {
            let mut primary = primary.lock().unwrap();
            primary.take().unwrap().close().unwrap();
            *primary = Some(Db::open(&reopened, PRIMARY).unwrap());
        };
        std::thread::scope(|scope| scope.spawn(reopen).join().unwrap());
    }));
    let rule = fault.add(Rule::new(reopens).nth(nth));
    options.fs = Arc::new(fault.clone());
    let secondary = Db::open_as_secondary(&options, PRIMARY, SECONDARY).unwrap();
    for key in [b"a", b"b", b"c"] {
        let value = secondary.get(key).unwrap();
        assert_eq!(value.as_deref(), Some(&b"1"[..]), "reopened at operation {nth}");
    }
    fault.fired(rule) > 0
}

#[test]
fn a_reopening_at_any_operation_of_an_open_hides_no_row() {
    let operations = (0..).find(|&nth| !opened_beside_a_reopening(nth));
    assert!(operations > Some(10), "an open has {operations:?} operations");
}

#[test]
fn a_follower_follows_by_itself() {
    let mem = Arc::new(MemFs::new());
    let options = Options {
        create_if_missing: true,
        fs: mem,
        follower_refresh_catchup_period_ms: 1,
        ..Options::default()
    };
    let db = Db::open(&options, PRIMARY).unwrap();
    let follower = Db::open_as_follower(&options, SECONDARY, PRIMARY).unwrap();
    for round in 0..20u32 {
        db.put(b"key", round.to_string().as_bytes()).unwrap();
        // There is no timeout here: a follower that never catches up makes the test hang, which is a failure.
        while follower.latest_sequence_number() < db.latest_sequence_number() {
            std::thread::yield_now();
        }
        assert_eq!(follower.get(b"key").unwrap(), db.get(b"key").unwrap());
    }
    follower.close().unwrap();
    db.put(b"key", b"after").unwrap();
    assert!(follower.try_catch_up_with_primary().is_err());
}

/// Opens for reading while another process writes: each open sees one state, or fails.
#[test]
fn an_open_for_reading_is_a_prefix_while_the_primary_writes() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(PosixFs::new()),
        ..Options::default()
    };
    options.column_family.write_buffer_size = 64 << 10;
    let db = Db::open(&options, &path).unwrap();
    let other = db.create_column_family("other", &options.column_family).unwrap();
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| write_pairs(&db, &other, &stop, &written));
        for mode in ["kPointInTimeRecovery", "kTolerateCorruptedTailRecords"].repeat(20) {
            let mut options = options.clone();
            settings::set(&mut options, "wal_recovery_mode", mode).unwrap();
            let acknowledged = written.load(Ordering::Acquire);
            let reader = match Db::open_read_only(&options, &path) {
                Err(_) => continue,
                Ok(reader) => reader,
            };
            let mut rounds = BTreeSet::new();
            for family in reader.column_families() {
                for key in 0..8u8 {
                    let value = reader.get_cf(&family, [key]).unwrap();
                    rounds.insert(value.map_or(0, |value| round_of(&value)));
                }
            }
            assert_eq!(rounds.len(), 1, "one batch is seen in part: {rounds:?}");
            assert!(rounds.pop_first().unwrap() >= acknowledged);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
