//! Compiles sources into objects, several at a time, and only the missing ones.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shell::{self, Outcome};

/// The compilation of a source file.
#[derive(Clone, Debug)]
pub struct Unit {
    pub source: PathBuf,
    pub object: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
}

impl Unit {
    /// The file next to the object that records its command.
    fn made_by(&self) -> PathBuf {
        self.object.with_extension("cmd")
    }

    /// True if the object is up to date with this source and this command.
    fn is_made(&self) -> bool {
        let modified = |path: &Path| {
            std::fs::metadata(path)
                .and_then(|metadata| metadata.modified())
                .ok()
        };
        let made = modified(&self.object);
        made.is_some()
            && made >= modified(&self.source)
            && std::fs::read_to_string(self.made_by()).is_ok_and(|text| text == self.command.join("\n"))
    }

    fn make(&self) -> Outcome {
        shell::output(shell::command(&self.command[0]).args(&self.command[1..]))?;
        std::fs::write(self.made_by(), self.command.join("\n"))
            .map_err(|error| format!("{}: {error}", self.object.display()))
    }
}

/// Compiles the missing objects of `units`, in order, on all processors. The first failure ends the
/// compilation.
pub fn build(units: &[Unit]) -> Outcome {
    for dir in units.iter().filter_map(|unit| unit.object.parent()) {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let missing: Vec<&Unit> = units.iter().filter(|unit| !unit.is_made()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    eprintln!(
        "+ {} of {} objects, {threads} at a time",
        missing.len(),
        units.len()
    );
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(Ok(())));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(unit) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(message) = unit.make() {
                        next.store(missing.len(), Ordering::Relaxed);
                        *failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Err(message);
                    }
                }
            });
        }
    });
    failure
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_made_once_and_again_when_their_command_changes() {
        let dir = shell::root().join("target/tests/peer_objects");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let (source, object) = (dir.join("source"), dir.join("objects/object.o"));
        std::fs::write(&source, "text").unwrap();
        let unit = |text: &str| Unit {
            source: source.clone(),
            object: object.clone(),
            command: ["sh", "-c", &format!("printf {text} >> {}", object.display())]
                .map(str::to_owned)
                .to_vec(),
        };
        let content = || std::fs::read_to_string(&object).unwrap();
        build(&[unit("a")]).unwrap();
        build(&[unit("a")]).unwrap();
        assert_eq!(content(), "a");
        build(&[unit("b")]).unwrap();
        assert_eq!(content(), "ab");
        let fails = Unit {
            command: ["sh", "-c", "echo wrong >&2; exit 1"].map(str::to_owned).to_vec(),
            ..unit("c")
        };
        let message = build(&[fails]).unwrap_err();
        assert!(message.contains("wrong"), "{message}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
