//! Power is lost, or the process is killed, at every file operation of a script, and recovery is checked
//! against the promises.
//!
//! Background threads make the number of operations vary from run to run. A failure prints the seed
//! (`ESKER_SEED` runs the same script with the same choices), the operation, and the steps up to it.
//! `ESKER_CRASH_ROUNDS` (default 1) multiplies the work.

mod faults;
mod group;
mod kill;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::env::Rng;
use dbtest::crash::{
    Contents, DIR, Depth, Flavour, Ledger, Loss, Session, Verdict, Watchdog, any_loss, dump, quietly, script,
    survive,
};
use esker::Db;
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

/// The multiple of the usual work, from `ESKER_CRASH_ROUNDS`.
pub fn rounds() -> u64 {
    testkit::rng::runs("ESKER_CRASH_ROUNDS", 1)
}

/// The rounds of a test: the usual number times [`rounds`].
pub fn rounds_of(usual: u64) -> std::ops::Range<u64> {
    0..usual * rounds()
}

/// The ledger of the running test, which the watchdog prints if the test hangs.
type Shared = Arc<Mutex<Ledger>>;

fn watchdog(name: &'static str, ledger: &Shared) -> Watchdog {
    let ledger = ledger.clone();
    Watchdog::new(name, Duration::from_secs(600), move || {
        ledger
            .try_lock()
            .map_or_else(|_| "the ledger is held".to_owned(), |ledger| ledger.story())
    })
}

/// Runs a script and checks, at each operation that changes files, the state after a crash at that moment.
/// Returns the number of crashes.
fn crash_everywhere(seed: u64, flavour: &Flavour, length: usize, loss: Loss) -> u64 {
    let mem = MemFs::new();
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let ledger: Shared = Arc::new(Mutex::new(Ledger::new()));
    let _watchdog = watchdog("crash_everywhere", &ledger);
    let failure: Arc<Mutex<Option<String>>> = Arc::default();
    let crashes = Arc::new(AtomicU64::new(0));
    let hook = {
        let (mem, ledger, failure, flavour) = (mem.clone(), ledger.clone(), failure.clone(), flavour.clone());
        let crashes = crashes.clone();
        move |op: Op, path: &Path| {
            if !op.is_change() || failure.lock().unwrap().is_some() {
                return;
            }
            let at = crashes.fetch_add(1, Ordering::SeqCst);
            let mut rng = Rng::with_seed(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let before = ledger.lock().unwrap().marks();
            let image = match loss {
                Loss::Power => any_loss(&mem, &mut rng),
                Loss::Process => mem.process_death_clone(),
            };
            let now = ledger.lock().unwrap().clone();
            let after = now.marks();
            let depth = match at % 16 {
                3 => Depth::Recovery,
                5 | 9 | 13 => Depth::Life,
                _ => Depth::Rows,
            };
            let verdict = survive(&flavour, &image, &now, (&before, &after), loss, depth, &mut rng);
            if let Err(found) = verdict {
                let found = format!("at operation {at}, before {op} of {}: {found}", path.display());
                failure.lock().unwrap().get_or_insert(found);
            }
        }
    };
    fs.add(Rule::new(Action::Call(Arc::new(hook))));
    let mut rng = Rng::with_seed(seed);
    let steps = script(&mut rng, flavour, length);
    assert!(Contents::of(&steps).are_complete(), "{steps:?}");
    let outcome = quietly(|| -> Verdict {
        let db = Db::open(&flavour.options(Arc::new(fs.clone())), DIR).map_err(|error| error.to_string())?;
        let mut session = Session::adopt(db, ledger.clone());
        for step in &steps {
            session.step(step).map_err(|error| format!("{step:?}: {error}"))?;
            if failure.lock().unwrap().is_some() {
                return Ok(());
            }
        }
        let found = dump(session.db()).map_err(|error| error.to_string())?;
        ledger.lock().unwrap().check_all(&found)
    });
    let failure = failure.lock().unwrap().take();
    if let Some(failure) = failure.or(outcome.and_then(|outcome| outcome).err()) {
        panic!("seed {seed}, {flavour:?}\n{failure}");
    }
    let crashes = crashes.load(Ordering::SeqCst);
    let name = match loss {
        Loss::Power => "power_losses",
        Loss::Process => "process_deaths",
    };
    testkit::record("crash_tests", &[(name, crashes), ("seeds", 1)]);
    assert!(crashes > 100, "the script did next to nothing");
    crashes
}

/// Runs scripts under `flavours` times the usual number of flavours, with a crash at each operation: at least
/// `crashes` crashes in total.
fn crash_in_each_flavour(flavours: u64, crashes: u64, loss: Loss) {
    let mut rng = testkit::rng();
    let mut seen = Vec::new();
    let mut crashed = 0;
    for round in rounds_of(flavours) {
        let flavour = Flavour::nth(round, &mut rng);
        crashed += crash_everywhere(rng.u64(..), &flavour, 25, loss);
        seen.push(flavour);
    }
    assert_eq!(seen.len() as u64, flavours * rounds());
    let any = |has: fn(&Flavour) -> bool| seen.iter().any(has) && !seen.iter().all(has);
    assert!(any(|flavour| flavour.blobs) && any(|flavour| flavour.wal_dir));
    assert!(any(|flavour| flavour.unlogged) && any(|flavour| flavour.compressed_wal));
    assert!(any(|flavour| flavour.recycled_wals > 0) && any(|flavour| flavour.avoid_flush_during_recovery));
    assert!(crashed >= crashes * rounds(), "{crashed} crashes");
}

#[test]
fn power_lost_at_every_operation() {
    crash_in_each_flavour(4, 1200, Loss::Power);
}

#[test]
fn process_killed_at_every_operation() {
    crash_in_each_flavour(4, 1200, Loss::Process);
}

/// The second of three WALs has lost all its contents. The first one shows that no row is missing before the
/// third; after the first one is deleted, another recovery must still return the rows of the third.
#[test]
fn rows_behind_a_wal_that_lost_all_it_had_stay_when_the_wals_before_it_go() {
    let mem = MemFs::new();
    let options = |fs: &MemFs| esker::Options {
        create_if_missing: true,
        avoid_flush_during_recovery: true,
        avoid_flush_during_shutdown: true,
        fs: Arc::new(fs.clone()),
        ..esker::Options::default()
    };
    let unlogged = esker::WriteOptions {
        disable_wal: true,
        ..Default::default()
    };
    let wals = |fs: &MemFs| -> Vec<String> {
        let names = fs.list(Path::new(DIR)).unwrap();
        names.into_iter().filter(|name| name.ends_with(".log")).collect()
    };
    let db = Db::open(&options(&mem), DIR).unwrap();
    let other = db.create_column_family("other", &Default::default()).unwrap();
    // All WALs stay until the power is lost.
    db.disable_file_deletions();
    // A row that is in no table keeps the first WAL among those that recovery replays.
    db.put_cf(&other, b"b", b"1").unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    // Each checkpoint begins a WAL, so that a WAL without rows is followed by another one.
    let without_flush = esker::CheckpointOptions {
        log_size_for_flush: u64::MAX,
    };
    db.create_checkpoint("/checkpoint", &without_flush).unwrap();
    db.put(b"c", b"1").unwrap();
    let left = mem.process_death_clone();
    let [_, second, third] = &wals(&left)[..] else {
        panic!("{:?}", wals(&left));
    };
    assert!(second < third);
    let path = Path::new(DIR).join(second);
    let size = left.read_file(&path).unwrap().len();
    left.write_file(&path, &vec![0; size]).unwrap();

    let again = Db::open(&options(&left), DIR).unwrap();
    assert_eq!(again.get(b"c").unwrap().as_deref(), Some(&b"1"[..]));
    let other = again.column_family(other.name()).unwrap();
    again.put_cf_opt(&other, b"d", b"1", &unlogged).unwrap();
    again.flush_cf(&[other]).unwrap();
    again.close().unwrap();

    let left = left.process_death_clone();
    let last = Db::open(&options(&left), DIR).unwrap();
    assert_eq!(last.get(b"c").unwrap().as_deref(), Some(&b"1"[..]));
    let other = last.column_family("other").unwrap();
    let found = last.get_cf(&other, b"d").unwrap();
    assert_eq!(found.as_deref(), Some(&b"1"[..]));
}

/// A flush of rows without a WAL creates tables that are newer than the beginning of the WAL.
#[test]
fn a_wal_whose_beginning_is_torn_keeps_nobody_out() {
    let mut rng = testkit::rng();
    let mem = MemFs::new();
    let options = |fs: &MemFs| esker::Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..esker::Options::default()
    };
    let db = Db::open(&options(&mem), DIR).unwrap();
    let other = db.create_column_family("other", &Default::default()).unwrap();
    // As long as this row is in no table, a recovery reads the WALs that follow. The row is synced.
    let synced = esker::WriteOptions {
        sync: true,
        ..Default::default()
    };
    db.put_cf_opt(&other, b"row", b"1", &synced).unwrap();
    // Each checkpoint begins a WAL. The WAL that the first checkpoint begins has no rows.
    let keeps_wals = esker::CheckpointOptions {
        log_size_for_flush: 1 << 20,
    };
    for dir in ["/first", "/second"] {
        db.create_checkpoint(dir, &keeps_wals).unwrap();
    }
    let unlogged = esker::WriteOptions {
        disable_wal: true,
        ..Default::default()
    };
    db.put_cf_opt(&db.default_column_family(), b"key", b"1", &unlogged)
        .unwrap();
    db.flush().unwrap();
    for _ in 0..200 {
        let left = any_loss(&mem, &mut rng);
        let again = Db::open(&options(&left), DIR).unwrap();
        assert_eq!(again.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
        let other = again.column_family("other").unwrap();
        let row = again.get_cf(&other, b"row").unwrap();
        assert_eq!(row.as_deref(), Some(&b"1"[..]));
    }
}
