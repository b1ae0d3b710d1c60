//! Crash tests: the losses in a crash, and the check of what must survive.
//!
//! A [`Session`] runs [`Step`]s on a database and records its promises in a [`Ledger`]. After a crash the
//! ledger checks the promises against the recovered database:
//!
//! 1. The rows are those after a prefix of the writes, without a hole or part of a batch, over all families.
//! 2. After a death of the process, every acknowledged write has survived; after a loss of power, every write
//!    that was synced, or precedes a synced or flushed one.
//! 3. A row written without a WAL has survived if it was flushed.
//! 4. A column family exists if its creation was acknowledged, and does not exist if its drop was
//!    acknowledged.
//! 5. An ingestion that returned has survived, with all writes before it. Any other is complete or absent.
//! 6. Completed checkpoints and backups have the rows that the database had when they were made.
//!
//! [`survive`] reopens the database after a crash, asks the ledger, and continues to use it; [`files_left`]
//! reports files in a directory that should not be there.

mod copies;
mod flavour;
mod ledger;
mod session;

pub use copies::Copy;
pub use flavour::Flavour;
pub use ledger::{Change, Ledger, Loss, Marks, Rows, Write};
pub use session::{Contents, Session, Step, dump, script};
pub use testkit::Watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base::env::Rng;
use base::filename::{self, FileKind};
use esker::{Db, RowLimit, WriteBatch};
use vfs::{Action, FaultFs, FileSystem, MemFs, Rule, UnsyncedPolicy};

/// The path of the databases of these tests.
pub const DIR: &str = "/db";

/// The lowest limit of a row under which a test opens a database with longer ones.
const LOWERED_LIMIT: usize = 1000;

/// The outcome of a check; an error is a report for the reader of the test's output.
pub type Verdict<T = ()> = Result<T, String>;

/// The thoroughness of [`survive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// `survive` checks the rows.
    Rows,
    /// `survive` checks the rows; then it writes, flushes, compacts, reopens, and checks for superfluous
    /// files.
    Life,
    /// A crash as in `Life`, and then an interruption of the first recovery at each of its operations.
    Recovery,
}

/// Opens the database that a crash left in `fs` and checks it against `ledger`. `before` are the promises
/// just before the crash, `after` those just after it: an operation acknowledged between them may have
/// survived or not.
pub fn survive(
    flavour: &Flavour,
    fs: &MemFs,
    ledger: &Ledger,
    (before, after): (&Marks, &Marks),
    loss: Loss,
    depth: Depth,
    rng: &mut Rng,
) -> Verdict {
    let explained = |found: String| {
        format!(
            "{found}\n{loss:?}, {flavour:?}\nfiles: {:?}",
            listing(fs, flavour)
        )
    };
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let cut_off: Arc<Mutex<Vec<MemFs>>> = Arc::default();
    if depth == Depth::Recovery {
        let (images, mem) = (cut_off.clone(), fs.clone());
        let seed = rng.u64(..);
        // After a loss of power and after a death of the process, the second recovery must find everything
        // that the first one found.
        let lose = move |rng: &mut Rng| match loss {
            Loss::Power => any_loss(&mem, rng),
            Loss::Process => mem.process_death_clone(),
        };
        let hook = move |op: vfs::Op, _: &Path| {
            if op.is_change() {
                let mut images = images.lock().unwrap();
                let mut rng = Rng::with_seed(seed.wrapping_add(images.len() as u64));
                let image = lose(&mut rng);
                images.push(image);
            }
        };
        faults.add(Rule::new(Action::Call(Arc::new(hook))));
    }
    let db = quietly(|| Db::open(&flavour.options(Arc::new(faults.clone())), DIR))?
        .map_err(|error| explained(format!("it does not open again: {error}")))?;
    faults.clear_rules();
    let found = quietly(|| dump(&db))?.map_err(|error| explained(format!("it cannot be read: {error}")))?;
    let kept = ledger.check(before, after, loss, &found).map_err(explained)?;
    for (at, image) in cut_off.lock().unwrap().drain(..).enumerate() {
        let again =
            quietly(|| Db::open(&flavour.options(Arc::new(image.clone())), DIR).and_then(|db| dump(&db)))?;
        let again = again.map_err(|error| {
            explained(format!(
                "recovery cut off at its operation {at} does not work again: {error}"
            ))
        })?;
        if again != found {
            return Err(explained(format!(
                "recovery cut off at its operation {at} leads elsewhere:\n{}",
                ledger::difference(&found, &again)
            )));
        }
    }
    if depth == Depth::Rows {
        return Ok(());
    }
    copies::check(flavour, fs, before).map_err(explained)?;
    let mut ledger = ledger.survivor(kept, loss, after, &found);
    let result = quietly(|| live_on(flavour, fs, db, &mut ledger, rng))?;
    result.map_err(|error| explained(format!("after {kept} writes had survived: {error}")))
}

/// Writes, loses power once more, flushes, compacts, reopens; all rows must survive, without superfluous
/// files.
fn live_on(flavour: &Flavour, fs: &MemFs, db: Db, ledger: &mut Ledger, rng: &mut Rng) -> Verdict {
    let say = |what: &'static str| move |error: esker::Error| format!("{what}: {error}");
    let shared = Arc::new(Mutex::new(std::mem::take(ledger)));
    let mut session = Session::adopt(db, shared.clone());
    for _ in 0..3 {
        let step = session.random_write(rng, flavour, false);
        session.step(&step).map_err(say("write"))?;
    }
    let step = session.random_write(rng, flavour, true);
    session.step(&step).map_err(say("write with sync"))?;
    let step = session.random_write(rng, flavour, false);
    session.step(&step).map_err(say("write"))?;

    // Unsynced rows of the previous process must not reappear.
    let image = any_loss(fs, rng);
    let now = shared.lock().unwrap().marks();
    let again =
        Db::open(&flavour.options(Arc::new(image)), DIR).map_err(say("open after power was lost again"))?;
    let found = dump(&again).map_err(say("read after power was lost again"))?;
    let check = shared.lock().unwrap().check(&now, &now, Loss::Power, &found);
    check.map_err(|error| format!("after power was lost again: {error}"))?;
    drop(again);

    let db = session.db().clone();
    let families = db.column_families();
    db.flush_cf(&families).map_err(say("flush"))?;
    for family in &families {
        db.compact_range_cf(family, None, None).map_err(say("compact"))?;
    }
    crate::files::come_to_rest(&db).map_err(say("wait"))?;
    if fs.open_without_name() > 0 {
        return Err(format!("{} deleted files are open", fs.open_without_name()));
    }
    let expected = |shared: &Arc<Mutex<Ledger>>, db: &Db| -> Verdict {
        let found = dump(db).map_err(say("read"))?;
        let ledger = shared.lock().unwrap();
        ledger.check_all(&found)
    };
    expected(&shared, &db)?;
    let problems = crate::files::check(&db).map_err(say("check the files"))?;
    if !problems.is_empty() {
        return Err(problems);
    }
    let live = live_numbers(&db);
    db.close().map_err(say("close"))?;
    drop((session, db, families));
    files_left(fs, flavour, &live, 1)?;

    let db = Db::open(&flavour.options(Arc::new(fs.clone())), DIR).map_err(say("open again"))?;
    expected(&shared, &db)?;
    let live = live_numbers(&db);
    db.close().map_err(say("close again"))?;
    drop(db);
    // With `avoid_flush_during_recovery` the WAL of the previous session is still needed.
    files_left(fs, flavour, &live, 2)?;
    repair(flavour, &fs.process_death_clone())?;
    match rng.u8(..4) {
        0 => lower_the_limit(flavour, &fs.process_death_clone()),
        _ => Ok(()),
    }
}

/// Repairs the closed database in `fs`, which has no damage: it keeps its families with their ids, and all
/// rows.
fn repair(flavour: &Flavour, fs: &MemFs) -> Verdict {
    let say = |what: &'static str| move |error: esker::Error| format!("{what}: {error}");
    let options = flavour.options(Arc::new(fs.clone()));
    let contents = || {
        let db = Db::open(&options, DIR)?;
        let families = db.column_families().into_iter();
        let families: BTreeMap<String, u32> = families
            .map(|family| (family.name().to_owned(), family.id()))
            .collect();
        let rows = dump(&db)?;
        db.close()?;
        Ok((families, rows))
    };
    let (families, rows) = contents().map_err(say("open before a repair"))?;
    Db::repair(&options, DIR).map_err(say("repair"))?;
    let (repaired, found) = contents().map_err(say("open after a repair"))?;
    if repaired != families {
        return Err(format!(
            "a repair makes {repaired:?} of the families {families:?}"
        ));
    }
    if found != rows {
        let difference = ledger::difference(&rows, &found);
        return Err(format!("a repair leads elsewhere:\n{difference}"));
    }
    Ok(())
}

/// Leaves rows in a WAL that are longer than the limit of the next open: the WAL is kept aside, and every other
/// row is there.
fn lower_the_limit(flavour: &Flavour, fs: &MemFs) -> Verdict {
    let say = |what: &'static str| move |error: esker::Error| format!("{what}: {error}");
    let limit = RowLimit::at_most(flavour.long_values.max(LOWERED_LIMIT));
    let options = |fs: &MemFs| {
        let mut options = flavour.options(Arc::new(fs.clone()));
        // The rows must stay in the WAL.
        options.column_family.write_buffer_size = 64 << 20;
        options.max_total_wal_size = 0;
        options
    };
    let db = Db::open(&options(fs), DIR).map_err(say("open with a higher limit"))?;
    let mut expected = dump(&db).map_err(say("read with a higher limit"))?;
    for family in db.column_families() {
        let mut batch = WriteBatch::new();
        batch.put_cf(&family, b"l", &vec![b'l'; limit.bytes() + 1]);
        batch.put_cf(&family, b"with it", b"short");
        db.write(batch).map_err(say("write a long row"))?;
        let rows = expected.entry(family.name().to_owned()).or_default();
        rows.insert(b"with it".to_vec(), b"short".to_vec());
    }
    let died = fs.process_death_clone();
    let home = flavour.directories().last().unwrap_or(&DIR);
    let set_aside = |fs: &MemFs| fs.list(&Path::new(home).join("lost")).unwrap_or_default();
    let mut lowered = options(&died);
    lowered.row_limit = limit;
    let before = set_aside(&died);
    for again in ["", " again"] {
        let db = Db::open(&lowered, DIR).map_err(say("open with a lower limit"))?;
        let found = dump(&db).map_err(say("read with a lower limit"))?;
        if found != expected {
            let difference = ledger::difference(&expected, &found);
            return Err(format!("a lower limit leads{again} elsewhere:\n{difference}"));
        }
        db.close().map_err(say("close with a lower limit"))?;
    }
    let after = set_aside(&died);
    if after.len() != before.len() + 1 {
        return Err(format!(
            "rows longer than the limit make {after:?} of {before:?} in lost"
        ));
    }
    Ok(())
}

/// The numbers of the live tables and blob files.
pub fn live_numbers(db: &Db) -> BTreeSet<u64> {
    let families = db.column_families();
    let blobs = families.iter().flat_map(|family| db.blob_files(family));
    let tables = db.live_files().into_iter().map(|file| file.number);
    tables.chain(blobs.map(|file| file.number)).collect()
}

/// Reports files that should not be in the directories of a closed database: tables and blob files other than
/// `live`, more than `wals` WALs, more than one MANIFEST or two OPTIONS files, temporary files, and unknown
/// ones.
pub fn files_left(fs: &dyn FileSystem, flavour: &Flavour, live: &BTreeSet<u64>, wals: usize) -> Verdict {
    let mut counts = [0usize; 3];
    let mut wrong = Vec::new();
    for dir in flavour.directories() {
        for name in fs.list(Path::new(dir)).map_err(|error| error.to_string())? {
            match filename::parse(&name) {
                Some(FileKind::Wal(_)) => counts[0] += 1,
                Some(FileKind::Manifest(_)) => counts[1] += 1,
                Some(FileKind::Options(_)) => counts[2] += 1,
                Some(FileKind::Table(number) | FileKind::Blob(number)) if live.contains(&number) => {}
                // CURRENT, IDENTITY, LOCK and LOG exist once each, and may be from an earlier session.
                Some(FileKind::Current | FileKind::Identity | FileKind::Lock | FileKind::InfoLog) => {}
                // If the MANIFEST was torn, or a WAL is missing, recovery keeps unusable files.
                _ if name == "wal" || name == "lost" => {}
                // A WAL is archived if the cursors of change feeds cannot be read.
                _ if name == "archive" => {}
                _ if name == "OWNER" && *dir != DIR => {}
                _ => wrong.push(name),
            }
        }
    }
    let [found_wals, manifests, options] = counts;
    if !wrong.is_empty() || found_wals > wals || manifests != 1 || !(1..=2).contains(&options) {
        return Err(format!(
            "files left over: {wrong:?}, {found_wals} WALs, {manifests} MANIFESTs, {options} OPTIONS files; live are {live:?} of {:?}",
            listing(fs, flavour)
        ));
    }
    Ok(())
}

fn listing(fs: &dyn FileSystem, flavour: &Flavour) -> Vec<String> {
    let sized = |dir: &'static str| {
        let names = fs.list(Path::new(dir)).unwrap_or_default();
        names.into_iter().map(move |name| {
            let size = fs.size(&Path::new(dir).join(&name)).unwrap_or(0);
            format!("{name}:{size}")
        })
    };
    flavour.directories().iter().flat_map(|dir| sized(dir)).collect()
}

/// The state of `fs` after a loss of power, with a randomly drawn loss of unsynced data.
pub fn any_loss(fs: &MemFs, rng: &mut Rng) -> MemFs {
    let policy = match rng.u8(..5) {
        0 | 1 => UnsyncedPolicy::Random,
        2 | 3 => UnsyncedPolicy::RandomPages,
        _ => UnsyncedPolicy::Lose,
    };
    fs.crash_clone(rng, policy)
}

/// Runs `body`, which changes files of `mem` through `faults`. Also returns, for each change in order, the
/// state that a crash would have left: after a loss of power with some loss, and after a death of the
/// process.
pub fn images_of_changes<T>(
    mem: &MemFs,
    faults: &FaultFs,
    seed: u64,
    body: impl FnOnce() -> T,
) -> (T, Vec<[MemFs; 2]>) {
    let images: Arc<Mutex<Vec<[MemFs; 2]>>> = Arc::default();
    let hook = {
        let (images, mem) = (images.clone(), mem.clone());
        let losses = Mutex::new(Rng::with_seed(seed));
        move |op: vfs::Op, _: &Path| {
            if op.is_change() {
                let lost = any_loss(&mem, &mut losses.lock().unwrap());
                images.lock().unwrap().push([lost, mem.process_death_clone()]);
            }
        }
    };
    faults.add(Rule::new(Action::Call(Arc::new(hook))));
    let result = body();
    faults.clear_rules();
    let images = std::mem::take(&mut *images.lock().unwrap());
    (result, images)
}

/// Converts a panic of `body` to an error text.
pub fn quietly<T>(body: impl FnOnce() -> T) -> Verdict<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("panicked: {}", text.unwrap_or_default())
    })
}
