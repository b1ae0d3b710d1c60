//! What every key should be: in memory for the threads, and in a file that outlives the process.
//!
//! The file is changed before the database is asked and after it has answered, each time by one write of four bytes to the kernel,
//! which keeps them whatever becomes of the process. It does not survive the machine.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::expected_value::ExpectedValue;

/// The states of all keys of all column families.
pub struct ExpectedState {
    values: Vec<AtomicU32>,
    keys: u64,
    file: Option<File>,
}

impl ExpectedState {
    /// Of keys never written, in memory alone.
    pub fn in_memory(families: usize, keys: u64) -> ExpectedState {
        let count = families * keys as usize;
        ExpectedState {
            values: (0..count)
                .map(|_| AtomicU32::new(ExpectedValue::NEVER.bits()))
                .collect(),
            keys,
            file: None,
        }
    }

    /// As the file at `path` says; of keys never written if there is none.
    ///
    /// # Errors
    /// Those of the file, and `InvalidData` if it is of another number of keys.
    pub fn open(path: &Path, families: usize, keys: u64) -> io::Result<ExpectedState> {
        let mut state = ExpectedState::in_memory(families, keys);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let len = state.values.len() * 4;
        let mut bytes = Vec::new();
        (&mut file).take(len as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            let fresh = state
                .values
                .iter()
                .flat_map(|value| value.load(Ordering::Relaxed).to_le_bytes());
            file.write_all_at(&fresh.collect::<Vec<u8>>(), 0)?;
        } else if bytes.len() == len {
            for (value, bits) in state.values.iter_mut().zip(bytes.as_chunks().0) {
                *value.get_mut() = u32::from_le_bytes(*bits);
            }
        } else {
            let message = format!(
                "{}: written for another --max_key or --column_families",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        state.file = Some(file);
        Ok(state)
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
        if let Some(file) = &self.file {
            file.write_all_at(&value.bits().to_le_bytes(), index as u64 * 4)?;
        }
        self.values[index].store(value.bits(), Ordering::Release);
        Ok(())
    }

    fn index(&self, family: usize, key: u64) -> usize {
        family * self.keys as usize + key as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LATEST.state");
        let state = ExpectedState::open(&path, 2, 10).unwrap();
        let value = ExpectedValue::NEVER.begin_write();
        state.set(1, 9, value).unwrap();
        state.set(0, 0, value.settle()).unwrap();
        // Without a word of farewell.
        std::mem::forget(state);
        let state = ExpectedState::open(&path, 2, 10).unwrap();
        assert_eq!((state.get(1, 9), state.get(0, 0)), (value, value.settle()));
        assert_eq!(state.get(0, 9), ExpectedValue::NEVER);
        let error = ExpectedState::open(&path, 2, 11).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
