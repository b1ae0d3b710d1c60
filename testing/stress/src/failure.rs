//! A failure of the test.

use std::fmt;

use base::Error;

/// A failure of the test.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The database returned something wrong.
    Mismatch(String),
    /// The database returned an error.
    Error(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Mismatch(what) => f.write_str(what),
            Failure::Error(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Mismatch(format!("the expected state: {error}"))
    }
}

/// The result of a thread's work so far, or the reason why it stopped.
pub type Outcome<T = ()> = Result<T, Failure>;
