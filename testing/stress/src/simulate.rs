//! Databases in memory that crash again and again: at any of their file operations their process dies, or
//! their power is cut and unsynced data is lost, in part or torn. They are then reopened with other options,
//! read, and used further, until the next crash, which may come while they are opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::ErrorKind;
use base::env::SystemClock;
use dbtest::crash::{Watchdog, quietly};
use fastrand::Rng;
use flags::Parsed;
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

use crate::draw::{self, On};
use crate::driver::{BackgroundErrors, Counted, phases};
use crate::expected_state::ExpectedState;
use crate::failure::Failure;
use crate::faults::Faults;
use crate::flags::Flags;
use crate::kill_fs::KillFs;
use crate::rare::RareCounts;
use crate::stress::Stress;

/// Counts of the work done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    databases: u64,
    option_sets: u64,
    operations: u64,
    process_deaths: u64,
    power_losses: u64,
    /// The number of file system operations with an injected failure.
    faults: u64,
    /// The number of calls of user code that panicked.
    panics: u64,
    rare: RareCounts,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            databases,
            operations,
            process_deaths,
            power_losses,
            faults,
            panics,
            ..
        } = self;
        write!(
            f,
            "{databases} databases, {operations} operations, {process_deaths} deaths of their process, {power_losses} losses of power, {faults} failures, {panics} panics"
        )
    }
}

impl Tally {
    /// Prints the counts for `cargo xtask soak`.
    pub fn record(&self) {
        let mut counts = self.rare.named().to_vec();
        counts.extend([
            ("databases", self.databases),
            ("seeds", self.databases),
            ("option_sets", self.option_sets),
            ("operations", self.operations),
            ("process_deaths", self.process_deaths),
            ("power_losses", self.power_losses),
            ("faults", self.faults),
            ("panics", self.panics),
        ]);
        testkit::record("simulated_crashes", &counts);
    }
}

/// The directory of the database, in memory.
const DIR: &str = "/db";

/// A life that takes longer than this hangs.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Runs `lives` lives, each ended by a crash, over one database. On a failure, the files that the last life
/// was opened from and the files at that moment are written into `dir`.
///
/// # Errors
///
/// The failure, with the options.
pub fn one_database(
    seed: u64,
    dir: &Path,
    lives: u32,
    end: Instant,
    tally: &mut Tally,
) -> Result<(), String> {
    tally.databases += 1;
    let mut rng = Rng::with_seed(seed);
    let kept = draw::kept(&mut rng, On::Memory);
    let doing = Arc::new(Mutex::new(String::new()));
    let shown = doing.clone();
    let _watchdog = Watchdog::new("a database in memory", HANGS_AFTER * (lives + 1), move || {
        format!(
            "seed {seed}: {}",
            shown
                .lock()
                .map_or_else(|held| held.into_inner().clone(), |now| now.clone())
        )
    });
    let mut life = Life {
        // The database compares the times of archived WALs with its clock.
        fs: MemFs::with_clock(Arc::new(SystemClock::new())),
        expected: None,
        all_acknowledged: true,
        lost_power: false,
        death: "before it began".to_owned(),
    };
    for number in 0..=lives.max(1) {
        let last = number == lives || Instant::now() >= end;
        let args: Vec<String> = kept
            .iter()
            .cloned()
            .chain(draw::drawn(&mut rng, On::Memory))
            .collect();
        let line = format!("life {number}: db_stress {}", args.join(" "));
        if let Ok(mut doing) = doing.lock() {
            doing.clone_from(&line);
        }
        let before = life.fs.process_death_clone();
        if let Err(message) = life.live(&args, last, &mut rng, tally) {
            let root = Path::new("/");
            let copied = copy(&before, root, &dir.join("files"))
                .and_then(|()| copy(&life.fs, root, &dir.join("files_at_failure")));
            let copied = copied.map_or_else(|error| format!("\n{error}"), |()| String::new());
            let death = &life.death;
            return Err(format!("{message}\n{line}\nthe one before ended {death}{copied}"));
        }
        if last {
            break;
        }
    }
    Ok(())
}

/// The state that one life passes to the next.
struct Life {
    fs: MemFs,
    expected: Option<Arc<ExpectedState>>,
    /// True if, since the expected state was last known to be right, only processes died, none of which
    /// buffered a part of the WAL.
    all_acknowledged: bool,
    /// True if the power was lost in one of the lives.
    lost_power: bool,
    /// The description of the last simulated kill.
    death: String,
}

impl Life {
    fn live(&mut self, args: &[String], last: bool, rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
        let Parsed::Run(mut flags) = flags::parse::<Flags>(args)? else {
            return Err("--help was drawn".to_owned());
        };
        flags.check().map_err(|error| error.to_string())?;
        let mut options = flags.options().map_err(|error| error.to_string())?;
        let keep = match rng.u32(..8) {
            0..3 => None,
            3 | 4 => Some(UnsyncedPolicy::Random),
            5 | 6 => Some(UnsyncedPolicy::RandomPages),
            _ => Some(UnsyncedPolicy::Lose),
        };
        // The point of the crash is as likely to be among the first ten as among the thousands.
        let point = 2f64.powf(rng.f64() * 13.0) as u64 - 1;
        let point = if last { u64::MAX } else { point };
        if last {
            flags.ops_per_thread = flags.ops_per_thread.min(100);
        }
        let fs = KillFs::files(self.fs.clone(), keep, rng.u64(..), point);
        options.fs = flags.encrypted(Arc::new(fs.clone()));
        options.db_paths = flags.db_paths(Path::new(DIR));
        let background = Arc::new(BackgroundErrors::default());
        options.listeners.push(background.clone());
        let (families, keys) = (flags.column_families as usize, flags.max_key);
        let expected = self.expected.take();
        let expected = expected.unwrap_or_else(|| Arc::new(ExpectedState::in_memory(families, keys, true)));
        let mut stress = Stress::new(*flags, options, PathBuf::from(DIR), expected);
        stress.all_acknowledged = self.all_acknowledged;
        stress.lost_power = self.lost_power;
        let points = fs.clone();
        stress.memory = Some((self.fs.clone(), Box::new(move || points.is_dead())));
        let counted = Counted::quietly();
        let outcome = quietly(|| phases(&stress, &counted))?;
        let died = fs.is_dead();
        tally.option_sets += 1;
        tally.rare.add(stress.rare.counts());
        tally.operations += counted.all();
        tally.faults += stress.faults.as_ref().map_or(0, Faults::injected);
        tally.panics += stress.faults.as_ref().map_or(0, Faults::panics);
        match outcome {
            // Errors after the death are expected, but corruption and wrong results are not.
            Err(Failure::Error(error)) if died && error.kind() != ErrorKind::Corruption => {}
            Err(failure) => return Err(failure.to_string()),
            Ok(_) => {}
        }
        let in_background = if died {
            background.take_corruption()
        } else {
            background.take()
        };
        if let Some(error) = in_background {
            return Err(format!("in the background: {error}"));
        }
        if last {
            return Ok(());
        }
        let left = fs.into_left().ok_or("nothing was left")?;
        match keep {
            None => tally.process_deaths += 1,
            Some(_) => tally.power_losses += 1,
        }
        self.all_acknowledged =
            keep.is_none() && !stress.flags.holds_back() && (self.all_acknowledged || stress.has_recovered());
        self.lost_power |= keep.is_some();
        self.death = match keep {
            None => format!("with its process {}", left.point),
            Some(keep) => format!("with the power {}, {keep:?}", left.point),
        };
        self.fs = left.fs;
        self.expected = Some(stress.expected);
        Ok(())
    }
}

/// Writes the files in `dir` of `from` to the disk.
fn copy(from: &MemFs, dir: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", to.display());
    std::fs::create_dir_all(to).map_err(|error| failed(&error))?;
    for name in from.list(dir).map_err(|error| failed(&error))? {
        let (source, target) = (dir.join(&name), to.join(&name));
        match from.read_file(&source) {
            Ok(bytes) => std::fs::write(target, bytes).map_err(|error| failed(&error))?,
            Err(_) => copy(from, &source, &target)?,
        }
    }
    Ok(())
}
