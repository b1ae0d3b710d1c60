//! What every key should be: in memory for the threads, and in a file that outlives the process.
//!
//! The file is changed before the database is asked and after it has answered, each time by one write of four bytes to the kernel,
//! which keeps them whatever becomes of the process. It does not survive the machine.
//!
//! Where a crash may take what was written last, a [`Trace`] is kept beside it, and the state the trace begins at:
//!
//! | file | |
//! |---|---|
//! | `LATEST.state` | the state of every key |
//! | `BASE.state`, `TRACE` | the state when the database was last opened, and what happened since; without a base there is no trace |
//! | `RESTORED.state` | the state found out after a crash, until it has taken the place of the others |

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::expected_value::ExpectedValue;
use crate::trace::{Events, Together, Trace, events_in};

const LATEST: &str = "LATEST.state";
const BASE: &str = "BASE.state";
const TRACE: &str = "TRACE";
const RESTORED: &str = "RESTORED.state";

/// The states of all keys of all column families.
pub struct ExpectedState {
    values: Vec<AtomicU32>,
    keys: u64,
    files: Option<Files>,
    trace: Option<Trace>,
    /// Where the trace begins, of a state in memory alone.
    base: Mutex<Option<Vec<ExpectedValue>>>,
}

struct Files {
    latest: File,
    dir: PathBuf,
}

impl ExpectedState {
    /// Of keys never written, in memory alone.
    pub fn in_memory(families: usize, keys: u64, traced: bool) -> ExpectedState {
        let count = families * keys as usize;
        ExpectedState {
            values: (0..count)
                .map(|_| AtomicU32::new(ExpectedValue::NEVER.bits()))
                .collect(),
            keys,
            files: None,
            trace: traced.then(Trace::in_memory),
            base: Mutex::new(None),
        }
    }

    /// As the files in `dir` say; of keys never written if there are none.
    ///
    /// # Errors
    /// Those of the files, and `InvalidData` if they are of another number of keys.
    pub fn open(dir: &Path, families: usize, keys: u64, traced: bool) -> io::Result<ExpectedState> {
        let mut state = ExpectedState::in_memory(families, keys, false);
        let path = dir.join(LATEST);
        if !path.try_exists()? {
            // A whole one or none: the process may be killed here, too.
            write_whole(&path, &state.values())?;
        }
        let values = state.read(&path)?;
        state
            .values
            .iter_mut()
            .zip(&values)
            .for_each(|(value, read)| *value.get_mut() = read.bits());
        if traced {
            let trace = File::options().create(true).append(true).open(dir.join(TRACE))?;
            state.trace = Some(Trace::to_file(trace));
        }
        state.files = Some(Files {
            latest: OpenOptions::new().write(true).open(path)?,
            dir: dir.to_path_buf(),
        });
        let restored = dir.join(RESTORED);
        if restored.try_exists()? {
            let values = state.read(&restored)?;
            state.become_restored(&values)?;
        }
        Ok(state)
    }

    /// Forgets what the files in `dir` say.
    ///
    /// # Errors
    /// Those of the files.
    pub fn remove(dir: &Path) -> io::Result<()> {
        [BASE, RESTORED, TRACE, LATEST]
            .iter()
            .try_for_each(|name| remove_if_there(&dir.join(name)))
    }

    /// Keys of a family.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// What `key` of `family` should be.
    pub fn get(&self, family: usize, key: u64) -> ExpectedValue {
        ExpectedValue::from_bits(self.values[self.index(family, key)].load(Ordering::Acquire))
    }

    /// Changes it; the caller holds the key's lock.
    ///
    /// # Errors
    /// Those of the file.
    pub fn set(&self, family: usize, key: u64, value: ExpectedValue) -> io::Result<()> {
        let index = self.index(family, key);
        if let Some(files) = &self.files {
            files
                .latest
                .write_all_at(&value.bits().to_le_bytes(), index as u64 * 4)?;
        }
        self.values[index].store(value.bits(), Ordering::Release);
        Ok(())
    }

    /// Where operations are noted, if a crash may take them.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// What was traced since the database was last opened, and the state then. `None` if nothing was.
    ///
    /// # Errors
    /// Those of the files.
    pub fn traced(&self) -> io::Result<Option<(Vec<ExpectedValue>, Events)>> {
        let Some(files) = &self.files else {
            let base = self.base.lock().clone();
            let events = || self.trace.as_ref().map(Trace::events_in_memory);
            return Ok(base.map(|base| (base, events().unwrap_or_default())));
        };
        let base = files.dir.join(BASE);
        if !base.try_exists()? {
            return Ok(None);
        }
        let trace = std::fs::read(files.dir.join(TRACE))?;
        Ok(Some((self.read(&base)?, events_in(&trace))))
    }

    /// Takes over what was found out after a crash. What was traced is forgotten.
    ///
    /// # Errors
    /// Those of the files.
    pub fn restore(&self, values: &[ExpectedValue]) -> io::Result<()> {
        if let Some(files) = &self.files {
            write_whole(&files.dir.join(RESTORED), values)?;
        }
        self.become_restored(values)
    }

    /// Begins a trace, if there is to be one, at the state as it is now, of rows that survive `together`. Nothing is under way.
    ///
    /// # Errors
    /// Those of the files.
    pub fn restart_trace(&self, together: Together) -> io::Result<()> {
        let Some(trace) = &self.trace else { return Ok(()) };
        trace.restart(together)?;
        match &self.files {
            Some(files) => write_whole(&files.dir.join(BASE), &self.values())?,
            None => *self.base.lock() = Some(self.values()),
        }
        Ok(())
    }

    /// May be done again by the next process if this one dies on the way.
    fn become_restored(&self, values: &[ExpectedValue]) -> io::Result<()> {
        self.values
            .iter()
            .zip(values)
            .for_each(|(value, restored)| value.store(restored.bits(), Ordering::Release));
        *self.base.lock() = None;
        if let Some(files) = &self.files {
            files.latest.write_all_at(&bytes(values), 0)?;
            remove_if_there(&files.dir.join(BASE))?;
            remove_if_there(&files.dir.join(RESTORED))?;
        }
        Ok(())
    }

    /// The states of all keys, by family and key.
    pub fn values(&self) -> Vec<ExpectedValue> {
        let values = self.values.iter().map(|value| value.load(Ordering::Acquire));
        values.map(ExpectedValue::from_bits).collect()
    }

    /// The states in a file.
    fn read(&self, path: &Path) -> io::Result<Vec<ExpectedValue>> {
        let bytes = std::fs::read(path)?;
        if bytes.len() != self.values.len() * 4 {
            let message = format!(
                "{}: written for another --max_key or --column_families",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let bits = bytes.as_chunks().0.iter().map(|bits| u32::from_le_bytes(*bits));
        Ok(bits.map(ExpectedValue::from_bits).collect())
    }

    /// Where a key's state stands among all.
    pub fn index(&self, family: usize, key: u64) -> usize {
        family * self.keys as usize + key as usize
    }
}

fn bytes(values: &[ExpectedValue]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.bits().to_le_bytes())
        .collect()
}

/// The whole file or none.
fn write_whole(path: &Path, values: &[ExpectedValue]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    std::fs::write(&temporary, bytes(values))?;
    std::fs::rename(&temporary, path)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Change;

    #[test]
    fn a_state_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let open = |keys| ExpectedState::open(dir.path(), 2, keys, false);
        let state = open(10).unwrap();
        let value = ExpectedValue::NEVER.begin_write();
        state.set(1, 9, value).unwrap();
        state.set(0, 0, value.settle()).unwrap();
        // Without a word of farewell.
        std::mem::forget(state);
        let state = open(10).unwrap();
        assert_eq!((state.get(1, 9), state.get(0, 0)), (value, value.settle()));
        assert_eq!(state.get(0, 9), ExpectedValue::NEVER);
        let error = open(11).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        ExpectedState::remove(dir.path()).unwrap();
        assert_eq!(open(11).unwrap().get(0, 0), ExpectedValue::NEVER);
    }

    #[test]
    fn a_trace_is_found_again_and_forgotten_when_the_state_is_restored() {
        let dir = tempfile::tempdir().unwrap();
        let open = |traced| ExpectedState::open(dir.path(), 1, 2, traced).unwrap();
        let value = ExpectedValue::NEVER.begin_write().settle();
        let change = Change::Set {
            family: 0,
            key: 1,
            value,
        };
        for state in [open(true), ExpectedState::in_memory(1, 2, true)] {
            assert_eq!(state.traced().unwrap(), None);
            state.set(0, 0, value).unwrap();
            state.restart_trace(Together::EachFamily).unwrap();
            let trace = state.trace().unwrap();
            let operation = trace.begin(4, &[change]).unwrap();
            state.set(0, 1, value).unwrap();
            trace.end(operation, 5).unwrap();
            let (base, events) = state.traced().unwrap().unwrap();
            assert_eq!(base, [value, ExpectedValue::NEVER]);
            assert_eq!(events.operations[0].changes, [change]);
            if state.files.is_some() {
                // Whoever comes next need not trace, to find what was traced.
                let next = open(false);
                assert_eq!(next.traced().unwrap(), Some((base, events)));
                // It may die when it has found out what survived, and not yet written it everywhere.
                write_whole(&dir.path().join(RESTORED), &[ExpectedValue::NEVER; 2]).unwrap();
                let next = open(true);
                assert_eq!(next.traced().unwrap(), None);
                assert_eq!(next.get(0, 1), ExpectedValue::NEVER);
                assert_eq!(open(true).get(0, 0), ExpectedValue::NEVER);
            } else {
                state.restore(&[ExpectedValue::NEVER; 2]).unwrap();
                assert_eq!(state.traced().unwrap(), None);
                assert_eq!(state.get(0, 1), ExpectedValue::NEVER);
            }
        }
    }
}
