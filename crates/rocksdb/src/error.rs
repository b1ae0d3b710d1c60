//! The only error type of the `rocksdb` crate: a text, from which its kind is parsed.

use std::fmt;

/// The kind of an error, by the first words of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// `NotFound`.
    NotFound,
    /// `Corruption`.
    Corruption,
    /// `Not implemented`.
    NotSupported,
    /// `Invalid argument`.
    InvalidArgument,
    /// `IO error`.
    IOError,
    /// `Merge in progress`.
    MergeInProgress,
    /// `Result incomplete`.
    Incomplete,
    /// `Shutdown in progress`.
    ShutdownInProgress,
    /// `Operation timed out`.
    TimedOut,
    /// `Operation aborted`.
    Aborted,
    /// `Resource busy`.
    Busy,
    /// `Operation expired`.
    Expired,
    /// `Operation failed. Try again.`
    TryAgain,
    /// `Compaction too large`.
    CompactionTooLarge,
    /// `Column family dropped`.
    ColumnFamilyDropped,
    /// The kind of an error whose text begins with no word of the other kinds.
    Unknown,
}

/// An error of a database. Its text is RocksDB's `Status::ToString`: the words of the kind, a colon, the
/// message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error {
            message: message.into(),
        }
    }

    /// An error for a feature that the engine does not have, by its name in this interface.
    pub(crate) fn not_implemented(name: &str) -> Error {
        Error::new(format!("Not implemented: {name}"))
    }

    /// An error for a call that can never work.
    pub(crate) fn invalid_argument(message: impl fmt::Display) -> Error {
        Error::new(format!("Invalid argument: {message}"))
    }

    /// The text of the error.
    pub fn into_string(self) -> String {
        self.message
    }

    /// The kind that the text names.
    pub fn kind(&self) -> ErrorKind {
        match self.message.split(':').next().unwrap_or_default() {
            "NotFound" => ErrorKind::NotFound,
            "Corruption" => ErrorKind::Corruption,
            "Not implemented" => ErrorKind::NotSupported,
            "Invalid argument" => ErrorKind::InvalidArgument,
            "IO error" => ErrorKind::IOError,
            "Merge in progress" => ErrorKind::MergeInProgress,
            "Result incomplete" => ErrorKind::Incomplete,
            "Shutdown in progress" => ErrorKind::ShutdownInProgress,
            "Operation timed out" => ErrorKind::TimedOut,
            "Operation aborted" => ErrorKind::Aborted,
            "Resource busy" => ErrorKind::Busy,
            "Operation expired" => ErrorKind::Expired,
            "Operation failed. Try again." => ErrorKind::TryAgain,
            "Compaction too large" => ErrorKind::CompactionTooLarge,
            "Column family dropped" => ErrorKind::ColumnFamilyDropped,
            _ => ErrorKind::Unknown,
        }
    }
}

impl AsRef<str> for Error {
    fn as_ref(&self) -> &str {
        &self.message
    }
}

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.message
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// RocksDB names the file inside of the message, between the action and the system's text; the engine names
/// it at the end.
impl From<esker::Error> for Error {
    fn from(error: esker::Error) -> Error {
        let words = match error.kind() {
            // The error names a missing file, because missing keys are no errors.
            esker::ErrorKind::NotFound if error.file().is_some() => "IO error: No such file or directory",
            kind => kind.words(),
        };
        let mut text = words.to_owned();
        let message = error.message();
        match error.file() {
            Some(file) => match message.split_once(": ").filter(|_| message.starts_with("While ")) {
                Some((action, system)) => {
                    text += &format!(": {action}: {}: {system}", file.display());
                }
                None => text += &format!(": {}: {message}", file.display()),
            },
            None => text += &format!(": {message}"),
        }
        if let Some(offset) = error.offset() {
            text += &format!(", offset {offset}");
        }
        Error::new(text)
    }
}
