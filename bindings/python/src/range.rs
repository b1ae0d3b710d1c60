//! Ranges of keys with plyvel's parameters, as bounds of an iterator.

use esker::ReadOptions;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::bytes::Bytes;

/// The bounds and the direction of a range.
pub struct Range<'a> {
    pub start: Option<Bytes<'a>>,
    pub stop: Option<Bytes<'a>>,
    pub include_start: bool,
    pub include_stop: bool,
    pub prefix: Option<Bytes<'a>>,
}

impl Range<'_> {
    /// Sets the bounds of `options`. `TypeError` for a prefix together with other bounds. `NotSupported` with
    /// any but the bytewise order for a prefix, an exclusive start and an inclusive stop.
    pub fn bound(self, py: Python<'_>, bytewise: bool, options: &mut ReadOptions) -> PyResult<()> {
        if let Some(prefix) = &self.prefix {
            if self.start.is_some() || self.stop.is_some() {
                return Err(PyTypeError::new_err("prefix excludes start and stop"));
            }
            require_bytewise(py, bytewise, "a prefix")?;
            options.iterate_upper_bound = behind(prefix);
            options.iterate_lower_bound = Some(prefix.to_vec());
            return Ok(());
        }
        if !self.include_start && self.start.is_some() {
            require_bytewise(py, bytewise, "an exclusive start")?;
        }
        if self.include_stop && self.stop.is_some() {
            require_bytewise(py, bytewise, "an inclusive stop")?;
        }
        options.iterate_lower_bound = self.start.map(|start| bound(&start, !self.include_start));
        options.iterate_upper_bound = self.stop.map(|stop| bound(&stop, self.include_stop));
        Ok(())
    }
}

fn require_bytewise(py: Python<'_>, bytewise: bool, what: &str) -> PyResult<()> {
    match bytewise {
        true => Ok(()),
        false => Err(crate::call::exception(
            py,
            &esker::Error::not_supported(format!("{what} in a family whose order is not bytewise")),
        )),
    }
}

/// Returns the bound at `key`, or directly after it.
fn bound(key: &[u8], behind: bool) -> Vec<u8> {
    let mut bound = key.to_vec();
    if behind {
        bound.push(0);
    }
    bound
}

/// Returns the first key after all keys that begin with `prefix`; `None` if there is none.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let at = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut key = prefix[..=at].to_vec();
    key[at] += 1;
    Some(key)
}

impl Range<'_> {
    /// The range of all keys.
    pub const ALL: Range<'static> = Range {
        start: None,
        stop: None,
        include_start: true,
        include_stop: false,
        prefix: None,
    };
}
