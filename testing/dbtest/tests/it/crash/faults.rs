//! One file operation fails, or the disk is full: no promise is broken, no further write is promised, and the
//! errors contain the reason.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::env::Rng;
use dbtest::crash::{
    Contents, DIR, Depth, Flavour, Ledger, Loss, Session, Step, Verdict, Watchdog, any_loss, dump, quietly,
    script, survive,
};
use esker::{Db, Error, ErrorKind};
use testkit::TestRng;
use vfs::{Action, FaultFs, MemFs, Op, Rule};

use crate::crash::{rounds, rounds_of};

/// Operations that change files.
const CHANGES: [Op; 11] = [
    Op::Create,
    Op::Rename,
    Op::Remove,
    Op::CreateDir,
    Op::SyncDir,
    Op::Append,
    Op::Flush,
    Op::Sync,
    Op::SyncAll,
    Op::Close,
    Op::Lock,
];

/// Operations that do not change files.
const READS: [Op; 5] = [Op::Open, Op::Read, Op::List, Op::Size, Op::Exists];

/// A database on a disk with an injected fault.
struct Bench {
    flavour: Flavour,
    steps: Vec<Step>,
    mem: MemFs,
    fs: FaultFs,
    ledger: Arc<Mutex<Ledger>>,
    /// The text that every error must contain.
    reason: &'static str,
}

impl Bench {
    fn new(flavour: &Flavour, steps: &[Step], reason: &'static str) -> Bench {
        let mem = MemFs::new();
        Bench {
            flavour: flavour.clone(),
            steps: steps.to_vec(),
            fs: FaultFs::new(Arc::new(mem.clone())),
            mem,
            ledger: Arc::new(Mutex::new(Ledger::new())),
            reason,
        }
    }

    fn open(&self) -> Result<Db, Error> {
        Db::open(&self.flavour.options(Arc::new(self.fs.clone())), DIR)
    }

    fn explained(&self, error: &Error) -> Verdict {
        if error.to_string().contains(self.reason) {
            return Ok(());
        }
        Err(format!("an error that does not tell the reason: {error}"))
    }

    /// Runs the script, continues after errors, and checks the database. `heal` repairs the disk.
    fn run(&self, heal: impl Fn(), rng: &mut Rng) -> Verdict {
        let mut session = match self.open() {
            Ok(db) => Session::adopt(db, self.ledger.clone()),
            Err(error) => {
                self.explained(&error)?;
                heal();
                let db = self
                    .open()
                    .map_err(|error| format!("it does not open on a good disk: {error}"))?;
                Session::adopt(db, self.ledger.clone())
            }
        };
        let mut after_error = 0;
        for step in &self.steps {
            if let Err(error) = session.step(step) {
                self.explained(&error)?;
                after_error += 1;
            }
            if !session.is_open() {
                heal();
                let db = self
                    .open()
                    .map_err(|error| format!("it does not open again on a good disk: {error}"))?;
                session = Session::adopt(db, self.ledger.clone());
                session
                    .settle()
                    .map_err(|error| format!("it cannot be read on a good disk: {error}"))?;
            }
            if after_error > 8 {
                break;
            }
        }
        let db = session.db().clone();
        self.check_open(&db)?;
        heal();
        // The close may return the earlier failure.
        if let Err(error) = db.close() {
            self.explained(&error)?;
        }
        drop((session, db));
        let ledger = self.ledger.lock().unwrap().clone();
        let marks = ledger.marks();
        let image = any_loss(&self.mem, rng);
        survive(
            &self.flavour,
            &image,
            &ledger,
            (&marks, &marks),
            Loss::Power,
            Depth::Life,
            rng,
        )?;
        survive(
            &self.flavour,
            &self.mem,
            &ledger,
            (&marks, &marks),
            Loss::Process,
            Depth::Life,
            rng,
        )
    }

    /// Checks an open database after errors: it can be read, and accepts either all writes or none.
    fn check_open(&self, db: &Db) -> Verdict {
        // The injected fault may strike this read, so it is repeated once.
        let found = dump(db).or_else(|_| dump(db));
        let found = found.map_err(|error| format!("it does not read any more: {error}"))?;
        self.ledger.lock().unwrap().check_all(&found)?;
        let latched = db.property_int(&db.default_column_family(), "rocksdb.background-errors") == Some(1);
        if !latched {
            return Ok(());
        }
        let refused = [
            db.put(b"after", b"the failure"),
            db.sync_wal(),
            db.flush(),
            db.wait_for_compact(),
            db.create_column_family("after", &db.options().column_family)
                .map(drop),
        ];
        for result in refused {
            match result {
                Err(error) if error.kind() == ErrorKind::ReadOnly => self.explained(&error)?,
                Err(error) => return Err(format!("latched, but the error is {error}")),
                // A call with nothing to do, such as a sync without unsynced rows, may succeed.
                Ok(()) => {}
            }
        }
        match db.put(b"after", b"the failure") {
            Ok(()) => Err("a write was acknowledged after a failure".to_owned()),
            Err(_) => Ok(()),
        }
    }
}

fn watchdog(name: &'static str, ledger: &Arc<Mutex<Ledger>>) -> Watchdog {
    let ledger = ledger.clone();
    Watchdog::new(name, Duration::from_secs(600), move || {
        ledger
            .try_lock()
            .map_or_else(|_| "the ledger is held".to_owned(), |ledger| ledger.story())
    })
}

/// Makes the `index`th of `ops` fail, for every few indexes up to the end of the script, under flavour number
/// `round`. Returns the number of failures.
fn each_fails_once(
    rng: &mut TestRng,
    round: u64,
    ops: &'static [Op],
    actions: &[Action],
    stride: u64,
    name: &str,
) -> u64 {
    let flavour = Flavour {
        jobs: 2,
        ..Flavour::nth(round, rng)
    };
    let steps = script(rng, &flavour, 20);
    assert!(Contents::of(&steps).are_complete(), "{steps:?}");
    let mut index = rng.u64(..stride);
    let mut faults = 0;
    loop {
        let bench = Bench::new(&flavour, &steps, "injected fault");
        let _watchdog = watchdog("each_fails_once", &bench.ledger);
        let action = rng.pick(actions).clone();
        let what = format!("operation {index} of {ops:?}: {action:?}, {flavour:?}");
        let rule = bench.fs.add(
            Rule::new(action)
                .on(ops.iter().copied())
                .nth(index)
                .with_seed(index),
        );
        let verdict = quietly(|| bench.run(|| (), rng)).and_then(|verdict| verdict);
        if let Err(found) = verdict {
            panic!("{what}: {found}\n{}", bench.ledger.lock().unwrap().story());
        }
        if bench.fs.fired(rule) == 0 {
            break;
        }
        faults += 1;
        index += stride;
    }
    testkit::record("crash_tests", &[(name, faults), ("seeds", 1)]);
    faults
}

#[test]
fn a_change_that_fails() {
    let actions = [
        Action::Fail(ErrorKind::Io),
        Action::FailAfter(ErrorKind::Io),
        Action::Fail(ErrorKind::NoSpace),
        Action::FailAfter(ErrorKind::NoSpace),
    ];
    let (mut rng, mut faults) = (testkit::rng(), 0);
    for round in rounds_of(3) {
        faults += each_fails_once(&mut rng, round, &CHANGES, &actions, 8, "failed_changes");
    }
    assert!(faults >= 100 * rounds(), "{faults} changes failed");
}

#[test]
fn a_read_that_fails() {
    let actions = [Action::Fail(ErrorKind::Io)];
    let (mut rng, mut faults) = (testkit::rng(), 0);
    for round in rounds_of(3) {
        faults += each_fails_once(&mut rng, round, &READS, &actions, 3, "failed_reads");
    }
    assert!(faults >= 120 * rounds(), "{faults} reads failed");
}

/// The database does not depend on the info log: if the log fails, no step of a script fails.
#[test]
fn an_info_log_that_fails() {
    let mut rng = testkit::rng();
    for round in rounds_of(12) {
        let flavour = Flavour {
            info_log: true,
            ..Flavour::random(&mut rng)
        };
        let steps = script(&mut rng, &flavour, 25);
        let bench = Bench::new(&flavour, &steps, "no step fails");
        let _watchdog = watchdog("an_info_log_that_fails", &bench.ledger);
        let kind = *rng.pick(&[ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::NotFound]);
        let action = if rng.bool() {
            Action::Fail(kind)
        } else {
            Action::FailAfter(kind)
        };
        let rule = Rule::new(action).path_contains("/LOG");
        let rule = match round {
            0 => rule,
            _ => rule.with_probability(rng.f64(), rng.u64(..)),
        };
        let rule = bench.fs.add(rule);
        let verdict = quietly(|| bench.run(|| (), &mut rng)).and_then(|verdict| verdict);
        if let Err(found) = verdict {
            panic!("{flavour:?}: {found}\n{}", bench.ledger.lock().unwrap().story());
        }
        assert!(round > 0 || bench.fs.fired(rule) > 0);
    }
}

#[test]
fn a_disk_that_is_full() {
    let mut rng = testkit::rng();
    for round in rounds_of(100) {
        let flavour = Flavour::nth(round, &mut rng);
        let steps = script(&mut rng, &flavour, 30);
        let bench = Bench::new(&flavour, &steps, "no storage space");
        let _watchdog = watchdog("a_disk_that_is_full", &bench.ledger);
        let budget = rng.u64(0..150_000);
        bench.mem.set_budget(budget);
        let heal = || bench.mem.set_budget(u64::MAX);
        let verdict = quietly(|| bench.run(heal, &mut rng)).and_then(|verdict| verdict);
        if let Err(found) = verdict {
            panic!(
                "{budget} bytes of disk, {flavour:?}: {found}\n{}",
                bench.ledger.lock().unwrap().story()
            );
        }
        testkit::record("crash_tests", &[("full_disks", 1), ("seeds", 1)]);
    }
}

#[test]
fn life_after_life() {
    let mut rng = testkit::rng();
    for _ in rounds_of(10) {
        let wal_dir = rng.bool();
        let families = rng.usize(1..=3);
        let mut mem = MemFs::new();
        let shared = Arc::new(Mutex::new(Ledger::new()));
        let _watchdog = watchdog("life_after_life", &shared);
        for life in 0..8 {
            let flavour = Flavour {
                wal_dir,
                families,
                ..Flavour::random(&mut rng)
            };
            let next = one_life(&flavour, &mem, &shared, &mut rng);
            mem = next.unwrap_or_else(|found| {
                let ledger = shared.lock().unwrap();
                panic!("in life {life}, {flavour:?}: {found}\n{}", ledger.story())
            });
        }
    }
}

/// The file system after a crash at some operation of a script, after it was checked.
fn one_life(flavour: &Flavour, mem: &MemFs, shared: &Arc<Mutex<Ledger>>, rng: &mut Rng) -> Verdict<MemFs> {
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let loss = if rng.bool() { Loss::Power } else { Loss::Process };
    let at = rng.u64(..300);
    let taken = Arc::new(Mutex::new(None));
    let hook = {
        let (mem, ledger, taken, seed) = (mem.clone(), shared.clone(), taken.clone(), rng.u64(..));
        move |_: Op, _: &std::path::Path| {
            let before = ledger.lock().unwrap().marks();
            let image = match loss {
                Loss::Power => any_loss(&mem, &mut Rng::with_seed(seed)),
                Loss::Process => mem.process_death_clone(),
            };
            let ledger = ledger.lock().unwrap().clone();
            taken.lock().unwrap().get_or_insert((before, image, ledger));
        }
    };
    fs.add(
        Rule::new(Action::Call(Arc::new(hook.clone())))
            .on(CHANGES)
            .nth(at),
    );
    let options = flavour.options(Arc::new(fs.clone()));
    let db = Db::open(&options, DIR).map_err(|error| error.to_string())?;
    let mut session = Session::adopt(db, shared.clone());
    for step in script(rng, flavour, 40) {
        session.step(&step).map_err(|error| error.to_string())?;
        if taken.lock().unwrap().is_some() {
            break;
        }
    }
    hook(Op::Sync, std::path::Path::new(DIR));
    drop(session);
    let (before, image, ledger) = taken.lock().unwrap().take().ok_or("nothing was taken")?;
    let after = ledger.marks();
    // The check of the crash image opens a copy, so that the next session of the database does its own
    // recovery.
    let seen = image.process_death_clone();
    let db =
        Db::open(&flavour.options(Arc::new(seen)), DIR).map_err(|error| format!("reopening: {error}"))?;
    let found = dump(&db).map_err(|error| error.to_string())?;
    let kept = ledger.check(&before, &after, loss, &found)?;
    *shared.lock().unwrap() = ledger.survivor(kept, loss, &after, &found);
    Ok(image)
}
