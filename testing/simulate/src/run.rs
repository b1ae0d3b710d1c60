//! Runs a history in a world of its own.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::ErrorKind;
use base::env::{Clock, Rng};
use base::filename::{self, FileKind};
use base::merge::StringAppend;
use base::simulation::{Settings, Strategy, Turn};
use dbtest::crash::dump;
use esker::{Db, Event, EventListener, NullLogger, Options, StallCondition};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

use crate::history::{End, Fault, History, Life};
use crate::log::Log;
use crate::model::{Loss, Model};
use crate::trouble::Trouble;
use crate::worker::{Shared, Worker, observe};

/// The directory of the database.
const DIR: &str = "/db";

/// A history that takes more points is in an endless loop.
const MOST_POINTS: u64 = 3_000_000;

/// The result of running a history.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The failure; its first word names its kind.
    pub failure: Option<String>,
    /// The number of steps done.
    pub operations: u64,
    /// The faults that happened, by kind, as `docs/lab/soak.md` names them, including `process_deaths` and
    /// `power_losses`.
    pub faults: BTreeMap<&'static str, u64>,
    /// The number of points at which another thread could run.
    pub points: u64,
    /// Microseconds of the world's clock.
    pub micros: u64,
    /// The turns that replay this run.
    pub turns: Vec<Turn>,
    /// The turns that could have been taken instead, if asked for.
    pub choices: Vec<Vec<Turn>>,
    /// A hash of all events of the disk and the threads, in order.
    pub hash: u64,
    /// The events of the disk and the threads as text, if asked for.
    pub log: String,
}

impl Report {
    /// The kind of the failure.
    pub fn kind(&self) -> Option<&str> {
        let failure = self.failure.as_deref()?;
        if failure.contains(" panicked") {
            return Some("panic");
        }
        Some(failure.split_once(':').map_or(failure, |(kind, _)| kind))
    }
}

/// The world's clock.
#[derive(Debug)]
pub(crate) struct SimulatedClock;

/// The time at which histories begin, in seconds since 1970.
const EPOCH: u64 = 1_700_000_000;

impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        base::simulation::now().unwrap_or_default()
    }

    fn unix_seconds(&self) -> u64 {
        EPOCH + self.now().as_secs()
    }

    fn unix_micros(&self) -> u64 {
        EPOCH * 1_000_000 + self.now().as_micros() as u64
    }
}

struct Listener {
    log: Log,
    mem: MemFs,
    /// Compactions wait for free space, and writes go on.
    lacks_room: AtomicBool,
    /// Writes are stalled until jobs end.
    stopped: AtomicBool,
}

impl EventListener for Listener {
    fn on_event(&self, event: &Event) {
        self.log.line(|| format!("event: {event}"));
        match event {
            Event::BackgroundError {
                stops_writes: false, ..
            } => self.lacks_room.store(true, Ordering::Relaxed),
            Event::Stall { condition, .. } => {
                let stopped = matches!(condition, StallCondition::Stopped { .. });
                self.stopped.store(stopped, Ordering::Relaxed);
            }
            _ => {}
        }
        // Writes that wait for compactions, which wait for free space, would wait without end on a disk that
        // stays full.
        if self.lacks_room.load(Ordering::Relaxed) && self.stopped.load(Ordering::Relaxed) {
            self.mem.set_budget(u64::MAX);
        }
    }
}

/// Runs `history`. `keep_log` keeps all events as text.
///
/// # Panics
///
/// Unless built under `--cfg simulate`: the seed would decide nothing.
pub fn run(history: &History, keep_log: bool) -> Report {
    run_with(history, keep_log, false)
}

/// Runs a history as [`run`] does; `keep_choices` keeps the turns that were possible while threads did their
/// steps.
pub(crate) fn run_with(history: &History, keep_log: bool, keep_choices: bool) -> Report {
    if !base::sync::SIMULATED {
        panic!("built without --cfg simulate: use cargo xtask simulate");
    }
    let settings = Settings {
        seed: history.seed,
        strategy: history.schedule.clone().unwrap_or(Strategy::Turns(Vec::new())),
        most_points: MOST_POINTS,
        keep_choices,
    };
    let names = std::iter::once("default".to_owned()).chain(history.families.iter().cloned());
    let mut model = Model::new(names);
    if { history.options.iter() }.any(|(name, value)| name == "atomic_flush" && value == "true") {
        model.flush_together();
    }
    let shared = Arc::new(Shared {
        model: Mutex::new(model),
        log: Log(Arc::default(), keep_log),
        failure: Mutex::new(None),
    });
    let told: Arc<Mutex<Report>> = Arc::default();
    let body = {
        let (history, shared, told) = (history.clone(), shared.clone(), told.clone());
        move || {
            let observed = shared.clone();
            base::simulation::observe(Some(Arc::new(move |point| observe(&observed, point))));
            let mut lives = Lives::new(&history, &shared, &told);
            if let Err(why) = lives.run() {
                shared.fail(why);
            }
            // The observer shares the state of the history, so it is removed.
            base::simulation::observe(None);
        }
    };
    let outcome = base::simulation::run(settings, body);
    let mut report = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let failure = shared
        .failure
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    report.failure = failure.or(outcome.failure);
    report.points = outcome.points;
    report.micros = outcome.time.as_micros() as u64;
    report.turns = outcome.turns;
    report.choices = outcome.choices;
    let log = shared.log.0.lock().unwrap_or_else(PoisonError::into_inner);
    report.hash = log.0.finish();
    report.log = log.1.clone();
    report
}

struct Lives<'a> {
    history: &'a History,
    shared: &'a Arc<Shared>,
    told: &'a Mutex<Report>,
    mem: MemFs,
    chance: Rng,
    latency: Arc<Mutex<Rng>>,
    /// The kind of crash that ended the life before.
    loss: Loss,
    /// The crashes before the last one whose losses were not checked, because the database did not open in
    /// between.
    unseen: Loss,
}

impl<'a> Lives<'a> {
    fn new(history: &'a History, shared: &'a Arc<Shared>, told: &'a Mutex<Report>) -> Lives<'a> {
        Lives {
            history,
            shared,
            told,
            mem: MemFs::with_clock(Arc::new(SimulatedClock)),
            chance: Rng::with_seed(history.seed ^ 0xd15c),
            latency: Arc::new(Mutex::new(Rng::with_seed(history.seed ^ 0x1a7e))),
            loss: Loss::Process,
            unseen: Loss::Process,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        for (number, life) in self.history.lives.iter().enumerate() {
            self.shared.log.line(|| format!("life {number}"));
            self.live(life)?;
            if self.shared.has_failed() {
                return Ok(());
            }
        }
        // The state that the last life left is checked on a disk without faults.
        self.shared.log.line(|| "the end".to_owned());
        let last = Life {
            faults: Vec::new(),
            full: None,
            threads: Vec::new(),
            end: End::Close,
        };
        self.live(&last)
    }

    fn options(&self, fs: Arc<dyn FileSystem>) -> Result<Options, String> {
        let mut options = Options {
            create_if_missing: true,
            create_missing_column_families: true,
            fs,
            clock: Arc::new(SimulatedClock),
            listeners: vec![Arc::new(Listener {
                log: self.shared.log.clone(),
                mem: self.mem.clone(),
                lacks_room: AtomicBool::new(false),
                stopped: AtomicBool::new(false),
            })],
            // Periodic work is off, so that no thread wakes up without work and a deadlock is found.
            stats_dump_period_sec: 0,
            ..Options::default()
        };
        // Without an info log there are fewer operations at which to crash or fail.
        if !self
            .history
            .options
            .iter()
            .any(|(name, _)| name == "info_log_level")
        {
            options.info_log = Some(Arc::new(NullLogger));
        }
        options.column_family.merge_operator = Some(Arc::new(StringAppend::new(",")));
        let own = [("block_cache", "65536")];
        let given = self
            .history
            .options
            .iter()
            .map(|(name, value)| (&name[..], &value[..]));
        for (name, value) in own.into_iter().chain(given) {
            dbtest::settings::set(&mut options, name, value).map_err(|error| format!("options: {error}"))?;
        }
        for name in &self.history.families {
            options
                .column_families
                .insert(name.clone(), options.column_family.clone());
        }
        Ok(options)
    }

    /// A disk over the files that the life before left. Another thread may run at each operation.
    fn disk(&self) -> FaultFs {
        let fs = FaultFs::new(Arc::new(self.mem.clone()));
        let (log, most) = (self.shared.log.clone(), self.history.latency);
        let latency = self.latency.clone();
        let hook = move |op: Op, path: &Path| {
            log.line(|| format!("{op} {}", path.display()));
            if most > 0 {
                let takes = latency
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .u64(..=most);
                base::simulation::sleep(Duration::from_micros(takes));
            } else {
                base::simulation::point("");
            }
        };
        fs.add(Rule::new(Action::Call(Arc::new(hook))));
        fs
    }

    fn add_faults(&self, life: &Life, open: bool, trouble: &Trouble) -> Result<(), String> {
        for (at, fault) in life
            .faults
            .iter()
            .enumerate()
            .filter(|(_, fault)| fault.open == open)
        {
            let rule = rule(fault, self.history.seed ^ at as u64)
                .ok_or_else(|| format!("options: no such fault: {fault:?}"))?;
            let id = trouble.fs.add(rule);
            trouble
                .rules
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((id, fault.clone()));
        }
        Ok(())
    }

    fn live(&mut self, life: &Life) -> Result<(), String> {
        let fs = self.disk();
        let trouble = Trouble {
            fs: fs.clone(),
            rules: Mutex::default(),
            mem: self.mem.clone(),
            full: AtomicBool::new(false),
        };
        if let End::Kill(Some(at)) | End::Power(_, Some(at)) = life.end {
            fs.crash_at(at);
        }
        self.add_faults(life, true, &trouble)?;
        let options = self.options(Arc::new(fs.clone()))?;
        let opened = self.open(&options, &trouble)?;
        if opened.is_none() {
            // The life ended during its open, so the losses of the crash before it have not been checked yet.
            self.unseen = self.loss;
        }
        if let Some(db) = opened {
            self.work(life, &db, &trouble)?;
            self.end(life, db, &trouble)?;
        }
        self.count(life, &trouble);
        self.leave(life);
        Ok(())
    }

    /// Opens the database and compares its contents with the promises. `None` if the life ended during the
    /// open.
    fn open(&mut self, options: &Options, trouble: &Trouble) -> Result<Option<Db>, String> {
        let mut attempt = Db::open(options, DIR);
        let mut explained = 0;
        while let Err(error) = &attempt {
            self.shared.log.line(|| format!("open: {error}"));
            // Each fault happens once.
            let fired = trouble.fired().len();
            if fired == explained || trouble.fs.is_crashed() {
                break;
            }
            explained = fired;
            attempt = Db::open(options, DIR);
        }
        let db = match attempt {
            Ok(db) => db,
            Err(_) if trouble.fs.is_crashed() => return Ok(None),
            Err(error) => return Err(format!("open: {error}")),
        };
        // A fault of the opening may only show in this read. Each fault causes one error.
        let mut found = dump(&db);
        for _ in 0..=trouble.fired().len() {
            match &found {
                Err(error) if trouble.explains(error) && !trouble.fs.is_crashed() => found = dump(&db),
                _ => break,
            }
        }
        match found {
            Ok(found) => {
                self.shared.model().survive(self.loss, &found)?;
                self.unseen = Loss::Process;
                Ok(Some(db))
            }
            Err(_) if trouble.fs.is_crashed() => Ok(None),
            Err(error) => Err(format!("open: it cannot be read: {error}")),
        }
    }

    /// Lets the threads do their steps.
    fn work(&self, life: &Life, db: &Db, trouble: &Trouble) -> Result<(), String> {
        self.add_faults(life, false, trouble)?;
        if let Some(bytes) = life.full {
            trouble.limit(bytes);
        }
        let done = AtomicU64::new(0);
        let shared: &Shared = self.shared;
        base::simulation::thread::scope(|scope| {
            // Threads without steps are not started: the text of a history does not contain them, and they
            // would use up a name.
            for (number, steps) in life
                .threads
                .iter()
                .enumerate()
                .filter(|(_, steps)| !steps.is_empty())
            {
                let done = &done;
                let work = move || {
                    done.fetch_add(Worker::new(shared, db, trouble).run(steps), Ordering::Relaxed);
                };
                let thread = base::simulation::thread::Builder::new().name(format!("w{number}"));
                if let Err(error) = thread.spawn_scoped(scope, work) {
                    shared.fail(format!("threads: {error}"));
                }
            }
        });
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .operations += done.into_inner();
        Ok(())
    }

    fn end(&self, life: &Life, db: Db, trouble: &Trouble) -> Result<(), String> {
        if !self.shared.has_failed()
            && !trouble.fs.is_crashed()
            && trouble.fired().is_empty()
            && life.full.is_none()
        {
            let problems = dbtest::files::check(&db);
            match problems {
                Ok(problems) if problems.is_empty() => {}
                Ok(problems) => return Err(format!("files: {problems}")),
                Err(error) if trouble.explains(&error) => drop(error),
                Err(error) => return Err(format!("files: {error}")),
            }
        }
        if life.end == End::Close {
            match db.close() {
                Ok(()) => {
                    self.shared.model().closed();
                    let read = db.get(b"k00").map(drop);
                    let kind = read.err().map(|error| error.kind());
                    if kind != Some(ErrorKind::ShutdownInProgress) {
                        return Err(format!("closed: a read is answered by {kind:?}"));
                    }
                }
                Err(error) if trouble.explains(&error) => {}
                Err(error) => return Err(format!("close: {error}")),
            }
        } else {
            trouble.fs.crash();
        }
        Ok(())
    }

    fn count(&self, life: &Life, trouble: &Trouble) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut happened = |kind| *told.faults.entry(kind).or_default() += 1;
        for fault in trouble.fired() {
            happened("faults");
            happened(match &fault.what[..] {
                "fail" => "failed_operations",
                "torn" => "torn_operations",
                "partial" => "partial_operations",
                "short" => "short_reads",
                _ => "flipped_bits",
            });
        }
        if life.full.is_some() {
            happened("full_disks");
        }
        match life.end {
            End::Close => {}
            End::Kill(_) => happened("process_deaths"),
            End::Power(..) => happened("power_losses"),
        }
    }

    /// Leaves the disk as the next life finds it.
    fn leave(&mut self, life: &Life) {
        let budget = u64::MAX;
        (self.mem, self.loss) = match life.end {
            End::Close => (self.mem.clone(), Loss::Process),
            End::Kill(_) => (self.mem.process_death_clone(), Loss::Process),
            End::Power(policy, _) => (self.mem.crash_clone(&mut self.chance, policy), Loss::Power),
        };
        if self.unseen == Loss::Power {
            self.loss = Loss::Power;
        }
        self.mem.set_budget(budget);
        self.shared.log.line(|| format!("left: {}", listing(&self.mem)));
    }
}

/// The names and lengths of the directory's files.
fn listing(fs: &MemFs) -> String {
    let mut names = fs.list(Path::new(DIR)).unwrap_or_default();
    names.sort();
    let sized = names
        .iter()
        .filter(|name| !matches!(filename::parse(name), Some(FileKind::Lock)))
        .map(|name| {
            let size = fs.size(&Path::new(DIR).join(name)).unwrap_or(0);
            format!("{name}:{size}")
        });
    sized.collect::<Vec<_>>().join(" ")
}

/// The operations that can have faults.
const OPS: [Op; 14] = [
    Op::Open,
    Op::Create,
    Op::Rename,
    Op::Remove,
    Op::List,
    Op::SyncDir,
    Op::Exists,
    Op::Size,
    Op::Read,
    Op::Append,
    Op::Flush,
    Op::Sync,
    Op::SyncAll,
    Op::Close,
];

fn rule(fault: &Fault, seed: u64) -> Option<Rule> {
    let action = match &fault.what[..] {
        "fail" => Action::Fail(ErrorKind::Io),
        "torn" => Action::FailAfter(ErrorKind::Io),
        "partial" => Action::FailAfter(ErrorKind::NoSpace),
        "short" => Action::ShortRead,
        "flip" => Action::BitFlip,
        _ => return None,
    };
    let op = OPS.into_iter().find(|op| op.name() == fault.op)?;
    let rule = Rule::new(action).on([op]).nth(fault.nth).with_seed(seed);
    Some(if fault.path == "." {
        rule
    } else {
        rule.path_contains(&fault.path)
    })
}
