//! Errors of operations on versions that the engine does not have.

use std::fmt;

use crate::key::timestamp::Timestamp;

/// Why an operation on versions failed. Nothing was written then.
#[derive(Clone, Debug)]
pub enum Error {
    /// The engine failed, the data is corrupt, or an argument is invalid.
    Engine(base::Error),
    /// There is a version at or above the time to write or lock.
    WriteTooOld {
        /// The first key with such a version; for a scan, the key whose version has the newest time.
        key: Vec<u8>,
        /// The requested time.
        timestamp: Timestamp,
        /// The first time at which the operation would have succeeded.
        actual: Timestamp,
    },
    /// A conditional put found another value than expected.
    ConditionFailed {
        /// The value found, as stored: [`Value::decode`](crate::Value::decode) reads it. `None`: no value.
        actual: Option<Vec<u8>>,
    },
    /// An increment would overflow.
    Overflow {
        /// The current number.
        current: i64,
    },
    /// The time is at or below the garbage collection threshold: versions of that time may have been removed.
    BelowThreshold {
        /// The requested time.
        timestamp: Timestamp,
        /// The threshold.
        threshold: Timestamp,
    },
}

/// The result of an operation on versions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn invalid_argument(message: impl Into<String>) -> Error {
        Error::Engine(base::Error::invalid_argument(message))
    }

    pub(crate) fn corruption(message: impl Into<String>) -> Error {
        Error::Engine(base::Error::corruption(message))
    }
}

impl From<base::Error> for Error {
    fn from(error: base::Error) -> Error {
        Error::Engine(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Engine(error) => error.fmt(f),
            Error::WriteTooOld {
                key,
                timestamp,
                actual,
            } => write!(
                f,
                "WriteTooOld: {} at {timestamp}: too old, the first free time is {actual}",
                Shown(key)
            ),
            Error::ConditionFailed { actual: Some(_) } => {
                f.write_str("ConditionFailed: there is another value")
            }
            Error::ConditionFailed { actual: None } => f.write_str("ConditionFailed: there is no value"),
            Error::Overflow { current } => write!(f, "Overflow: the number is {current}"),
            Error::BelowThreshold { timestamp, threshold } => write!(
                f,
                "BelowThreshold: {timestamp} is not above the garbage collection threshold {threshold}"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Engine(error) => Some(error),
            _ => None,
        }
    }
}

/// A key in readable form, truncated if it is long.
pub(crate) struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(64)];
        let more = if shown.len() < self.0.len() { "..." } else { "" };
        write!(f, "\"{}\"{more}", shown.escape_ascii())
    }
}
