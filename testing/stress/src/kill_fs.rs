//! A file system in which every change of a file is a point to die at: before it, after it, and anywhere
//! within an append.
//!
//! The death is real, a `kill -9` by the process itself, or that of a [`MemFs`]: every operation then fails,
//! and a copy is kept of the files that the next process would find.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::env::Rng;
use base::{Error, ErrorKind, Result};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use vfs::{Call, FileSystem, Layer, MemFs, Op, UnsyncedPolicy, WritableFile};

/// The target of a kill: the process, or a file system in memory.
#[derive(Debug)]
enum Mortal {
    /// The process itself is killed, once in this number of points on average.
    Process {
        one_in: u64,
        /// Prefixes of names of points that are left out.
        exclude: Vec<String>,
    },
    /// The file system in memory is killed at a chosen point. The policy determines the bytes that the next
    /// process finds.
    Files {
        mem: MemFs,
        keep: Option<UnsyncedPolicy>,
    },
}

/// The place of a point in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    Halfway,
    After,
}

impl When {
    fn name(self) -> &'static str {
        match self {
            When::Before => "before",
            When::Halfway => "halfway through",
            When::After => "after",
        }
    }
}

/// The state that all files share.
#[derive(Debug)]
struct Points {
    mortal: Mortal,
    seed: u64,
    /// The number of points passed so far.
    passed: AtomicU64,
    /// The number of the point at which a file system dies.
    last: AtomicU64,
    /// True once the file system is dead. Each operation holds the lock for reading, so that nothing happens
    /// after the copy of the files is made.
    dead: RwLock<bool>,
    is_dead: AtomicBool,
    left: Mutex<Option<Left>>,
}

/// The files that a death left.
#[derive(Debug)]
pub struct Left {
    pub fs: MemFs,
    /// The point at which the file system was killed.
    pub point: String,
}

/// A file system that dies; see the module's documentation. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct KillFs {
    inner: Arc<dyn FileSystem>,
    points: Arc<Points>,
}

/// Appends are this much more frequent than other changes, and are chosen this much more rarely.
const APPEND_WEIGHT: u64 = 10;

impl KillFs {
    /// Kills this process at one in `one_in` points, except points whose names begin with a word of
    /// `exclude`.
    pub fn process(inner: Arc<dyn FileSystem>, one_in: u64, exclude: &str, seed: u64) -> KillFs {
        let exclude = exclude.split(',').map(str::trim).filter(|word| !word.is_empty());
        let mortal = Mortal::Process {
            one_in: one_in.max(1),
            exclude: exclude.map(str::to_owned).collect(),
        };
        KillFs::new(inner, mortal, seed, u64::MAX)
    }

    /// Kills `mem` at point number `last`: the process that uses it or, with a policy, the power.
    pub fn files(mem: MemFs, keep: Option<UnsyncedPolicy>, seed: u64, last: u64) -> KillFs {
        KillFs::new(Arc::new(mem.clone()), Mortal::Files { mem, keep }, seed, last)
    }

    fn new(inner: Arc<dyn FileSystem>, mortal: Mortal, seed: u64, last: u64) -> KillFs {
        KillFs {
            inner,
            points: Arc::new(Points {
                mortal,
                seed,
                passed: AtomicU64::new(0),
                last: AtomicU64::new(last),
                dead: RwLock::new(false),
                is_dead: AtomicBool::new(false),
                left: Mutex::new(None),
            }),
        }
    }

    /// True once the file system is dead.
    pub fn is_dead(&self) -> bool {
        self.points.is_dead.load(Ordering::Acquire)
    }

    /// The files that the death of the file system left. The file system dies now if it has not yet.
    pub fn into_left(self) -> Option<Left> {
        if !self.is_dead() {
            self.points.die("when nothing was left to do".to_owned());
        }
        self.points.left.lock().take()
    }
}

fn dead(call: &Call<'_>) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("While {}: after a simulated crash", call.op),
    )
    .in_file(call.path)
}

/// Returns a hash of a number.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl Points {
    /// Decides whether to die at an operation, and where in it; for an append that is done in part, with a
    /// number that determines the part.
    fn decide(&self, op: Op) -> Option<(When, u64)> {
        if !op.is_change() {
            return None;
        }
        let number = self.passed.fetch_add(1, Ordering::Relaxed);
        let draw = mixed(self.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let dies = match &self.mortal {
            Mortal::Process { one_in, exclude } => {
                let odds = if op == Op::Append {
                    one_in * APPEND_WEIGHT
                } else {
                    *one_in
                };
                draw.is_multiple_of(odds) && !exclude.iter().any(|word| op.name().starts_with(word.as_str()))
            }
            Mortal::Files { .. } => number == self.last.load(Ordering::Relaxed),
        };
        dies.then(|| {
            let when = match (draw >> 32) % 3 {
                0 => When::After,
                1 if op == Op::Append => When::Halfway,
                _ => When::Before,
            };
            (when, mixed(draw))
        })
    }

    /// Permits an operation, and prevents the death while the guard exists.
    fn live(&self, call: &Call<'_>) -> Result<RwLockReadGuard<'_, bool>> {
        let dead_already = self.dead.read();
        if *dead_already {
            return Err(dead(call));
        }
        Ok(dead_already)
    }

    #[cold]
    fn die_at(&self, when: When, call: &Call<'_>) -> Error {
        self.die(format!("{} {} of {}", when.name(), call.op, call.path.display()));
        dead(call)
    }

    #[cold]
    fn die(&self, point: String) {
        match &self.mortal {
            Mortal::Process { .. } => {
                eprintln!("{KILLED}{point}");
                let this = rustix::process::getpid();
                // `kill` does not return; if it failed, the parent process would see this process alive.
                let _ = rustix::process::kill_process(this, rustix::process::Signal::KILL);
            }
            Mortal::Files { mem, keep } => {
                let mut dead = self.dead.write();
                if *dead {
                    return;
                }
                let mut rng = Rng::with_seed(self.seed);
                let fs = match keep {
                    None => mem.process_death_clone(),
                    Some(keep) => mem.crash_clone(&mut rng, *keep),
                };
                *self.left.lock() = Some(Left { fs, point });
                *dead = true;
                self.is_dead.store(true, Ordering::Release);
            }
        }
    }

    fn perform<T>(
        &self,
        when: Option<When>,
        call: &Call<'_>,
        perform: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if when == Some(When::Before) {
            return Err(self.die_at(When::Before, call));
        }
        let live = self.live(call)?;
        let result = perform();
        drop(live);
        match when {
            Some(when) => Err(self.die_at(when, call)),
            None => result,
        }
    }
}

/// The beginning of the last line that a process prints before it kills itself.
pub const KILLED: &str = "killed ";

impl Layer for KillFs {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let when = self.points.decide(call.op).map(|(when, _)| when);
        self.points.perform(when, call, perform)
    }

    fn append(&self, call: &Call<'_>, file: &mut dyn WritableFile, data: &[u8]) -> Result<()> {
        let decided = self.points.decide(call.op);
        let part = match decided {
            // Any number of the bytes of an append survives, including none and all of them.
            Some((When::Halfway, number)) => &data[..(number % (data.len() as u64 + 1)) as usize],
            _ => data,
        };
        let when = decided.map(|(when, _)| when);
        self.points.perform(when, call, || file.append(part))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vfs::CreateOptions;

    use super::*;

    /// Creates a file, appends to it, syncs it and its directory; returns how many of these steps succeeded.
    fn work(fs: &KillFs) -> usize {
        let mut file = match fs.create(
            Path::new("/f"),
            &CreateOptions {
                log: true,
                ..Default::default()
            },
        ) {
            Ok(file) => file,
            Err(_) => return 0,
        };
        let steps: [&mut dyn FnMut() -> Result<()>; 3] = [
            &mut || file.append(b"0123456789"),
            &mut || fs.sync_dir(Path::new("/")),
            &mut || fs.exists(Path::new("/f")).map(drop),
        ];
        1 + steps.into_iter().map_while(|step| step().ok()).count()
    }

    #[test]
    fn everything_fails_behind_the_point_and_what_was_there_is_left() {
        let mut lens = std::collections::BTreeSet::new();
        for seed in 0..60 {
            for last in 0..3 {
                let fs = KillFs::files(MemFs::new(), None, seed, last);
                assert_eq!(work(&fs) as u64, last, "what dies is not acknowledged");
                assert!(fs.is_dead());
                assert!(fs.list(Path::new("/")).is_err());
                let left = fs.into_left().unwrap();
                let len = match left.fs.read_file(Path::new("/f")) {
                    Ok(bytes) => bytes
                        .iter()
                        .rposition(|&byte| byte != 0)
                        .map_or(0, |last| last + 1),
                    Err(_) => 0,
                };
                match last {
                    0 => assert_eq!(len, 0),
                    1 => assert!(len <= 10, "{len} at {}", left.point),
                    _ => assert_eq!(len, 10),
                }
                if last == 1 {
                    lens.insert(len);
                }
            }
        }
        assert!(
            lens.contains(&0) && lens.contains(&10) && lens.len() > 5,
            "{lens:?}"
        );
    }

    #[test]
    fn without_power_only_what_was_synced_is_left() {
        let fs = KillFs::files(MemFs::new(), Some(UnsyncedPolicy::Lose), 1, u64::MAX);
        assert_eq!(work(&fs), 4);
        let left = fs.into_left().unwrap();
        assert_eq!(left.fs.list(Path::new("/")).unwrap(), ["f"]);
        assert_eq!(left.fs.size(Path::new("/f")).unwrap(), 0);
    }
}
