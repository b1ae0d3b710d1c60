//! The ends of commands.

use std::io::Write;

use base::Error;

use crate::output::{Failure, Out};

/// The end of a command that failed.
#[derive(Debug)]
pub enum Failed {
    /// The message of the failure, which follows `Failed: ` on standard error.
    Message(String),
    /// The program that reads standard output has closed it.
    PipeClosed,
}

impl Failed {
    /// A failure with this message.
    pub fn said(message: impl Into<String>) -> Failed {
        Failed::Message(message.into())
    }

    /// A failure whose message is the given words followed by the text of an error.
    pub fn with(words: &str, error: &Error) -> Failed {
        Failed::Message(format!("{words}{error}"))
    }

    /// The message.
    pub fn message(&self) -> String {
        match self {
            Failed::Message(message) => message.clone(),
            Failed::PipeClosed => String::new(),
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Message(error.to_string())
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        match failure {
            Failure::Error(error) => error.into(),
            Failure::Usage(message) => Failed::Message(message),
            Failure::PipeClosed => Failed::PipeClosed,
        }
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failure::from(error).into()
    }
}

/// The successful end of a command, with a message for standard error, which is empty in most cases.
pub type Outcome = Result<String, Failed>;

/// Prints `OK` to standard output.
pub fn ok(out: &mut Out) -> Outcome {
    writeln!(out, "OK")?;
    Ok(String::new())
}
