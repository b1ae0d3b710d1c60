//! Iteration in one direction: rows are read in batches, without the GIL, and returned one by one.

use esker::{DbIterator, Error, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::call::{call, exception};
use crate::shared::{Detached, Handle};

/// The number of rows in the first batch. Each batch doubles, up to [`MOST_ROWS`], so that a caller that
/// takes one row waits for few.
const FIRST_ROWS: usize = 4;
/// The largest number of rows in a batch.
const MOST_ROWS: usize = 1024;
/// A batch ends once it has this many bytes.
const MOST_BYTES: usize = 256 << 10;

/// The part of each row that is returned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Yields {
    Items,
    Keys,
    Values,
}

/// An iterator over the rows of a range, in one direction. It sees the database as of its creation, and keeps
/// the database open.
///
/// Rows are read ahead, up to 1024 or 256 KiB at a time. After the database is closed each step raises
/// `ShutdownInProgress`.
#[pyclass(frozen, module = "esker")]
pub struct Scan {
    shared: Handle,
    yields: Yields,
    reverse: bool,
    state: Mutex<ScanState>,
}

struct ScanState {
    /// The engine's iterator; `None` at the end.
    iter: Option<Detached<DbIterator>>,
    started: bool,
    rows_at_a_time: usize,
    /// The keys and values of the rows read, concatenated.
    bytes: Vec<u8>,
    /// The ends of each key and value in `bytes`.
    ends: Vec<(usize, usize)>,
    /// The index of the next row to return, and the offset of its key.
    next: usize,
    begin: usize,
    /// The error that ended the iteration, raised after the last row.
    error: Option<Error>,
}

impl Scan {
    pub fn over(shared: Handle, iter: DbIterator, yields: Yields, reverse: bool) -> Scan {
        Scan {
            shared,
            yields,
            reverse,
            state: Mutex::new(ScanState {
                iter: Some(Detached::new(iter)),
                started: false,
                rows_at_a_time: FIRST_ROWS,
                bytes: Vec::new(),
                ends: Vec::new(),
                next: 0,
                begin: 0,
                error: None,
            }),
        }
    }

    /// Returns the next row, if it was read ahead already.
    #[inline]
    fn row<'py>(&self, py: Python<'py>, state: &mut ScanState) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(&(key_end, value_end)) = state.ends.get(state.next) else {
            return Ok(None);
        };
        let key = &state.bytes[state.begin..key_end];
        let value = &state.bytes[key_end..value_end];
        let row = match self.yields {
            Yields::Items => PyTuple::new(py, [PyBytes::new(py, key), PyBytes::new(py, value)])?.into_any(),
            Yields::Keys => PyBytes::new(py, key).into_any(),
            Yields::Values => PyBytes::new(py, value).into_any(),
        };
        state.begin = value_end;
        state.next += 1;
        Ok(Some(row))
    }

    /// Reads more rows, unless some are left. Returns false at the end.
    fn fill(&self, py: Python<'_>, rows: Option<usize>) -> PyResult<bool> {
        call(py, || {
            self.shared.check_open()?;
            let mut state = self.state.try_lock().ok_or_else(busy)?;
            if state.next < state.ends.len() {
                return Ok(true);
            }
            state.fill(self.reverse, rows, self.yields)
        })
    }
}

fn busy() -> Error {
    Error::new(esker::ErrorKind::Busy, "another thread is using this iterator")
}

impl ScanState {
    fn fill(&mut self, reverse: bool, rows: Option<usize>, yields: Yields) -> Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.bytes.clear();
        self.ends.clear();
        (self.next, self.begin) = (0, 0);
        let Some(iter) = &mut self.iter else {
            return Ok(false);
        };
        if !self.started {
            self.started = true;
            match reverse {
                true => iter.seek_to_last(),
                false => iter.seek_to_first(),
            }
        }
        let most = rows.unwrap_or(self.rows_at_a_time);
        self.rows_at_a_time = (self.rows_at_a_time * 2).min(MOST_ROWS);
        while iter.valid() && self.ends.len() < most && self.bytes.len() < MOST_BYTES {
            if yields != Yields::Values {
                self.bytes.extend_from_slice(iter.key());
            }
            let key_end = self.bytes.len();
            if yields != Yields::Keys {
                self.bytes.extend_from_slice(iter.value());
            }
            self.ends.push((key_end, self.bytes.len()));
            match reverse {
                true => iter.prev(),
                false => iter.next(),
            }
        }
        if !iter.valid() {
            self.error = iter.status().err();
            self.iter = None;
        }
        match self.ends.is_empty() {
            false => Ok(true),
            true => self.error.take().map_or(Ok(false), Err),
        }
    }
}

#[pymethods]
impl Scan {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Err(error) = self.shared.check_open() {
                return Err(exception(py, &error));
            }
            {
                let mut state = self.state.try_lock().ok_or_else(|| exception(py, &busy()))?;
                if let Some(row) = self.row(py, &mut state)? {
                    return Ok(Some(row));
                }
            }
            if !self.fill(py, None)? {
                return Ok(None);
            }
        }
    }

    /// Returns up to `rows` of the next rows as a list, which is empty at the end.
    fn read<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        while list.len() < rows {
            if !self.fill(py, Some(rows - list.len()))? {
                break;
            }
            let mut state = self.state.try_lock().ok_or_else(|| exception(py, &busy()))?;
            while list.len() < rows {
                let Some(row) = self.row(py, &mut state)? else {
                    break;
                };
                list.append(row)?;
            }
        }
        Ok(list)
    }
}
