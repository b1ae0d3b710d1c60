//! Plants all bugs in a separate checkout, and for each bug runs the test that must find it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::programs::{Place, Programs};
use super::run_within::End;
use super::schema::{Schema, schema};
use super::{Canary, Catcher, canaries};
use crate::checkout::{self, Checkout};
use crate::part::Part;
use crate::shell::{self, Outcome};

/// The time limit of a run whose normal time is unknown.
const FIRST_RUN: Duration = Duration::from_secs(1800);

/// Returns the time limit of a run with a bug, if a run without a bug takes `taken`. The margin exceeds the
/// variation between runs on any machine.
fn limit(taken: Duration) -> Duration {
    taken * 10 + Duration::from_secs(60)
}

/// Returns the reason why a planted bug does not fit its file any more, if it does not.
pub fn stale(canary: &Canary, root: &Path) -> Option<String> {
    checkout::stale(root, canary.file, canary.right)
}

/// Plants each bug of `part` whose name contains one of `words`, separated by commas, in a separate checkout
/// of HEAD. Fails if a bug is not found.
pub fn run(words: &str, part: Part) -> Outcome {
    let start = Instant::now();
    let place = Place {
        checkout: shell::root().join("target/canary/checkout"),
        build: shell::root().join("target/canary/build"),
    };
    let checkout = Checkout::of_head(&place.checkout)?;
    let chosen: Vec<&Canary> = canaries()
        .filter(|canary| words.split(',').any(|words| canary.name.contains(words)))
        .collect();
    let chosen = &chosen[part.of(chosen.len())];
    let plan = Plan::of(&checkout, chosen)?;
    plan.write(&checkout)?;
    let catchers: Vec<Catcher> = chosen.iter().map(|canary| canary.caught_by).collect();
    eprintln!("{} bugs in one build", plan.together.len());
    for canary in &plan.alone {
        eprintln!("with a build of its own: {}", canary.name);
    }
    let programs = Programs::build(&place, &catchers).map_err(|errors| plan.with_names_of_bugs(&errors))?;
    eprintln!("built after {} s", start.elapsed().as_secs());
    let trial = Trial {
        programs,
        sound: Mutex::new(Vec::new()),
        survivors: Mutex::new(Vec::new()),
    };
    trial.try_together(&plan.together);
    trial.try_alone(&plan, &checkout, &place);
    let survivors = trial.survivors.into_inner().map_err(|error| error.to_string())?;
    let caught = chosen.len() - survivors.len();
    let seconds = start.elapsed().as_secs();
    if survivors.is_empty() {
        eprintln!("{caught} planted bugs, all caught, in {seconds} s");
        return Ok(());
    }
    eprintln!("{caught} of {} planted bugs caught in {seconds} s", chosen.len());
    Err(format!("not caught: {}", survivors.join("; ")))
}

/// The plan by which each bug is planted: together with others in one build, or with a separate build.
struct Plan {
    /// The rewritten files, with the bugs of the common build.
    files: BTreeMap<&'static str, Schema>,
    /// The bugs that share the common build.
    together: Vec<&'static Canary>,
    alone: Vec<&'static Canary>,
}

impl Plan {
    fn of(checkout: &Checkout, chosen: &[&'static Canary]) -> Result<Plan, String> {
        let mut plan = Plan {
            files: BTreeMap::new(),
            together: Vec::new(),
            alone: Vec::new(),
        };
        for canary in chosen {
            if let Some(reason) = stale(canary, &checkout.path) {
                return Err(format!("{:?}: {reason}", canary.name));
            }
            if plan.files.contains_key(canary.file) {
                continue;
            }
            let bugs: Vec<&Canary> = { chosen.iter().copied() }
                .filter(|other| other.file == canary.file)
                .collect();
            plan.files
                .insert(canary.file, schema(&checkout.read(canary.file)?, &bugs));
        }
        let is_alone = |canary: &&Canary| plan.files[canary.file].alone.contains(&canary.name);
        (plan.alone, plan.together) = chosen.iter().partition(|canary| is_alone(canary));
        Ok(plan)
    }

    fn write(&self, checkout: &Checkout) -> Outcome {
        { self.files.iter() }.try_for_each(|(file, schema)| checkout.write(file, &schema.text))
    }

    /// Adds the names of the bugs whose code the errors of the compiler concern.
    fn with_names_of_bugs(&self, errors: &str) -> String {
        let mut names = Vec::new();
        for line in errors.lines() {
            let place = line.trim_start().strip_prefix("--> ").unwrap_or_default();
            let mut parts = place.split(':');
            let schema = parts.next().and_then(|file| self.files.get(file));
            let at = parts.next().and_then(|line| line.parse::<usize>().ok());
            let (Some(schema), Some(at)) = (schema, at) else {
                continue;
            };
            let concerned = schema.lines.iter().filter(|(_, lines)| lines.contains(&at));
            names.extend(concerned.map(|(name, _)| *name));
        }
        names.sort_unstable();
        names.dedup();
        format!("{errors}\nthe build fails, in these bugs: {}", names.join("; "))
    }
}

/// The run of a test without a bug: its time, or the reason for which it finds nothing.
type Sound = Arc<OnceLock<Result<Duration, String>>>;

/// The state of a run of `cargo xtask canary`.
struct Trial<'a> {
    programs: Programs<'a>,
    /// Each test that has run, or runs, without a bug.
    sound: Mutex<Vec<(Catcher, Sound)>>,
    /// The names of the bugs that were not caught.
    survivors: Mutex<Vec<String>>,
}

impl Trial<'_> {
    /// Tries the bugs of the common build, as many at a time as there are processors.
    fn try_together(&self, together: &[&Canary]) {
        let next = AtomicUsize::new(0);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for worker in 0..processors {
                let next = &next;
                scope.spawn(move || {
                    while let Some(canary) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let catcher = canary.caught_by;
                        let found = self
                            .sound(catcher, worker)
                            .map(|taken| self.find(&self.programs, catcher, canary.name, taken, worker));
                        self.note(canary, found);
                    }
                });
            }
        });
    }

    /// Tries the bugs that need separate builds, one after the other.
    fn try_alone(&self, plan: &Plan, checkout: &Checkout, place: &Place) {
        // Each build overwrites the programs, so the runs without a bug come first.
        for canary in &plan.alone {
            let _ = self.sound(canary.caught_by, 0);
        }
        for canary in &plan.alone {
            let schema = &plan.files[canary.file].text;
            let found = self.sound(canary.caught_by, 0).and_then(|taken| {
                if schema.matches(canary.right).count() != 1 {
                    return Err("another bug has its code twice".into());
                }
                checkout.write(canary.file, &schema.replace(canary.right, canary.wrong))?;
                // The build is checked, because a bug that does not compile would count as found.
                let built = Programs::build(place, &[canary.caught_by])
                    .map_err(|errors| format!("it does not compile: {errors}"));
                let found =
                    built.map(|programs| self.find(&programs, canary.caught_by, canary.name, taken, 0));
                checkout.write(canary.file, schema)?;
                found
            });
            self.note(canary, found);
        }
    }

    /// Returns the time that the test takes without a bug.
    fn sound(&self, catcher: Catcher, worker: usize) -> Result<Duration, String> {
        let run = {
            let mut sound = self.sound.lock().map_err(|error| error.to_string())?;
            match sound.iter().find(|(known, _)| *known == catcher) {
                Some((_, run)) => Arc::clone(run),
                None => {
                    let run = Sound::default();
                    sound.push((catcher, Arc::clone(&run)));
                    run
                }
            }
        };
        let taken = run.get_or_init(|| {
            let start = Instant::now();
            match self.programs.run(catcher, 1, "", FIRST_RUN, worker) {
                End::Passed(_) => Ok(start.elapsed()),
                End::Failed(test) => Err(format!(
                    "the test fails without the bug, too: {}",
                    test.unwrap_or_default()
                )),
                End::Hung => Err("the test hangs without the bug, too".into()),
            }
        });
        taken.clone()
    }

    /// Returns how the bug `name` of `programs` was found, if it was.
    fn find(
        &self,
        programs: &Programs,
        catcher: Catcher,
        name: &str,
        taken: Duration,
        worker: usize,
    ) -> Option<String> {
        let start = Instant::now();
        for run in 1..=catcher.runs() {
            let by = match programs.run(catcher, run, name, limit(taken), worker) {
                End::Passed(_) => continue,
                End::Failed(Some(test)) => format!("by {test}"),
                End::Failed(None) => "by its end".to_owned(),
                End::Hung => "by the watchdog".to_owned(),
            };
            let (sound, own) = (taken.as_secs_f64(), start.elapsed().as_secs_f64());
            return Some(format!("in run {run} {by} ({sound:.1} s without it, {own:.1} s)"));
        }
        None
    }

    fn note(&self, canary: &Canary, found: Result<Option<String>, String>) {
        let name = canary.name;
        let survivor = match found {
            Ok(Some(how)) => return eprintln!("caught {how}: {name}"),
            Ok(None) => name.to_owned(),
            Err(error) => format!("{name} ({error})"),
        };
        eprintln!("NOT CAUGHT: {survivor}");
        let mut survivors = self.survivors.lock().expect("no thread panics with it");
        survivors.push(survivor);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_means_one_bug() {
        let names: BTreeSet<&str> = canaries().map(|canary| canary.name).collect();
        assert_eq!(names.len(), canaries().count());
        assert!(!names.contains(""));
    }
}
