//! The expected value of every key: in memory for the threads, and in a file that outlives the process.
//!
//! The file is changed before an operation of the database and after it, each time by one write of four bytes
//! to the kernel, which keeps them if the process dies. It does not survive a crash of the machine.
//!
//! If a crash may take the newest writes, a [`Trace`] accompanies it, together with the state at which the
//! trace begins:
//!
//! | file | contents |
//! |---|---|
//! | `LATEST.state` | the state of every key |
//! | `BASE.state`, `TRACE` | the state when the database was last opened, and the operations since; without a base there is no trace |
//! | `RESTORED.state` | the state found after a crash, until it has replaced the others |

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
    /// The state at which the trace begins, if the state is in memory alone.
    base: Mutex<Option<Vec<ExpectedValue>>>,
}

struct Files {
    latest: File,
    dir: PathBuf,
}

impl ExpectedState {
    /// The state of keys that were never written, in memory alone.
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

    /// The state in the files in `dir`; the state of keys that were never written if there are none.
    ///
    /// # Errors
    ///
    /// Those of the files, and `InvalidData` if they are for another number of keys.
    pub fn open(dir: &Path, families: usize, keys: u64, traced: bool) -> io::Result<ExpectedState> {
        let mut state = ExpectedState::in_memory(families, keys, false);
        let path = dir.join(LATEST);
        if !path.try_exists()? {
            // The file is written completely or not at all: the process may be killed here, too.
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

    /// Removes the files in `dir`.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn remove(dir: &Path) -> io::Result<()> {
        [BASE, RESTORED, TRACE, LATEST]
            .iter()
            .try_for_each(|name| remove_if_there(&dir.join(name)))
    }

    /// The number of keys of a family.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The expected value of `key` of `family`.
    pub fn get(&self, family: usize, key: u64) -> ExpectedValue {
        ExpectedValue::from_bits(self.values[self.index(family, key)].load(Ordering::Acquire))
    }

    /// Sets an expected value; the caller holds the key's lock.
    ///
    /// # Errors
    ///
    /// Those of the file system.
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

    /// The trace of operations, if a crash may take some.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// The trace since the database was last opened, and the state then. `None` if nothing was traced.
    ///
    /// # Errors
    ///
    /// Those of the file system.
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

    /// Replaces the state by the one found after a crash, and clears the trace.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn restore(&self, values: &[ExpectedValue]) -> io::Result<()> {
        if let Some(files) = &self.files {
            write_whole(&files.dir.join(RESTORED), values)?;
        }
        self.become_restored(values)
    }

    /// Begins a trace, if there is to be one, at the current state, for rows that survive `together`. No
    /// operation is in progress.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn restart_trace(&self, together: Together) -> io::Result<()> {
        let Some(trace) = &self.trace else { return Ok(()) };
        trace.restart(together)?;
        match &self.files {
            Some(files) => write_whole(&files.dir.join(BASE), &self.values())?,
            None => *self.base.lock() = Some(self.values()),
        }
        Ok(())
    }

    /// Puts the restored state in place. If the process dies meanwhile, the next one may repeat this.
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

    /// The values of all keys, by family and key.
    pub fn values(&self) -> Vec<ExpectedValue> {
        let values = self.values.iter().map(|value| value.load(Ordering::Acquire));
        values.map(ExpectedValue::from_bits).collect()
    }

    /// Reads the values in a file.
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

    /// The index of a key's value among all.
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

/// Writes the file completely or not at all.
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
        // The state is dropped as a killed process drops it, without its destructor.
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
                // The next process need not trace in order to read an old trace.
                let next = open(false);
                assert_eq!(next.traced().unwrap(), Some((base, events)));
                // A process may die when it has found what survived, before it has written it everywhere.
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
