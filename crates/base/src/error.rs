//! The one error type: a [`kind`](ErrorKind) to match on and, where known, the file and the offset.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `Result` with Esker's [`Error`].
///
/// See the example of [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// RocksDB's categories of errors.
///
/// ```
/// # use esker_base as esker;
/// use esker::{Error, ErrorKind};
///
/// fn may_try_again(error: &Error) -> bool {
///     matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain | ErrorKind::TimedOut)
/// }
///
/// assert!(may_try_again(&Error::new(ErrorKind::Busy, "locked")));
/// assert!(ErrorKind::LockHeld.way_out().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A named object (a column family, a file) does not exist. Absent keys are `None`, not errors.
    NotFound,
    /// Bytes on disk are not as they must be.
    Corruption,
    /// The request is valid, but this engine does not support it.
    NotSupported,
    /// The caller passed something that can never work.
    InvalidArgument,
    /// No database is in the directory, and none may be created there.
    NoDatabase,
    /// The database was written in the order of another comparator than that of the options.
    ComparatorMismatch,
    /// The operating system refused or failed.
    Io,
    /// A merge could not be resolved.
    MergeFailed,
    /// The answer is not known without an action that the caller forbade (reading from disk, waiting).
    Incomplete,
    /// The database is closing.
    ShutdownInProgress,
    /// A time limit was exceeded.
    TimedOut,
    /// The lifetime of an object is over: a transaction's expiration.
    Expired,
    /// The operation was stopped on request.
    Aborted,
    /// A resource is in use; trying again may work.
    Busy,
    /// A conflict that another attempt may not meet.
    TryAgain,
    /// The column family was dropped.
    ColumnFamilyDropped,
    /// Another process, or this one, has the database open. The message has its process id, where known.
    LockHeld,
    /// The disk is full.
    NoSpace,
    /// The files of the databases have reached the space that their SST file manager allows.
    SpaceLimit,
    /// The SST file manager allows too little space for the compaction.
    CompactionTooLarge,
    /// An earlier write or sync failed, and the database accepts no more writes until it is reopened. The
    /// [`source`](std::error::Error::source) is the failure itself, an [`Error`] with its own kind.
    ReadOnly,
    /// User code (a comparator, a merge operator, a listener) or the engine panicked where the panic would
    /// have left something half done. The message names the code and includes the panic's message.
    Panicked,
}

impl ErrorKind {
    /// The words RocksDB's `Status::ToString` begins with.
    pub fn words(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "NotFound",
            ErrorKind::Corruption => "Corruption",
            ErrorKind::NotSupported => "Not implemented",
            ErrorKind::InvalidArgument | ErrorKind::NoDatabase | ErrorKind::ComparatorMismatch => {
                "Invalid argument"
            }
            ErrorKind::Io => "IO error",
            ErrorKind::MergeFailed => "Corruption: Merge operator failed",
            ErrorKind::Incomplete => "Result incomplete",
            ErrorKind::ShutdownInProgress => "Shutdown in progress",
            ErrorKind::TimedOut => "Operation timed out",
            ErrorKind::Expired => "Operation expired",
            ErrorKind::Aborted => "Operation aborted",
            ErrorKind::Busy => "Resource busy",
            ErrorKind::TryAgain => "Operation failed. Try again.",
            ErrorKind::ColumnFamilyDropped => "Column family dropped",
            ErrorKind::LockHeld => "IO error: While lock file",
            ErrorKind::NoSpace => "IO error: No space left on device",
            ErrorKind::SpaceLimit => "IO error: Space limit reached",
            ErrorKind::CompactionTooLarge => "Compaction too large",
            ErrorKind::ReadOnly => "IO error: Database is read-only after a failed write",
            ErrorKind::Panicked => "Operation aborted: a thread panicked",
        }
    }

    /// The way out: the call, option or command that helps after an error of this kind; `None` where the
    /// message alone says it.
    pub fn way_out(self) -> Option<&'static str> {
        Some(match self {
            ErrorKind::NoDatabase => "check the path, or set create_if_missing",
            ErrorKind::ComparatorMismatch => {
                "set the comparator that wrote the database, which the message names"
            }
            ErrorKind::LockHeld => {
                "close the database in that process, or open it here read-only or as a secondary"
            }
            ErrorKind::Corruption => {
                "`esker verify DIR` lists the damage; restore a backup, or run `esker repair DIR`"
            }
            ErrorKind::MergeFailed => {
                "set the merge_operator that wrote the operands, or overwrite the key by put"
            }
            ErrorKind::NoSpace => "free some space; the database resumes by itself, or at once by Db::resume",
            ErrorKind::ReadOnly => {
                "end the cause, then call Db::resume, or close the database and open it again"
            }
            ErrorKind::Busy | ErrorKind::TryAgain | ErrorKind::TimedOut => "the same call may succeed later",
            ErrorKind::ShutdownInProgress => "open the database again",
            _ => return None,
        })
    }
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// An error of the engine. It is one word wide, and cheap enough to clone that one error can be latched and
/// returned many times.
///
/// Its text begins with RocksDB's words for the kind, then the message, then `file F, offset N` where known.
/// The alternate form, `{:#}`, ends with the [way out](ErrorKind::way_out).
///
/// ```
/// # use esker_base as esker;
/// use esker::{Error, ErrorKind};
///
/// let error = Error::corruption("checksum mismatch").in_file("000012.sst".as_ref()).at(4096);
/// assert_eq!(error.kind(), ErrorKind::Corruption);
/// assert_eq!(error.offset(), Some(4096));
/// assert_eq!(error.to_string(), "Corruption: checksum mismatch, file 000012.sst, offset 4096");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

impl Error {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            file: None,
            offset: None,
            source: None,
        }))
    }

    /// An error of kind [`ErrorKind::Corruption`].
    #[cold]
    pub fn corruption(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, message)
    }

    /// An error of kind [`ErrorKind::InvalidArgument`].
    #[cold]
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// An error of kind [`ErrorKind::NotSupported`].
    #[cold]
    pub fn not_supported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotSupported, message)
    }

    /// An operating-system error during `action` ("open", "append to") on `file`. A full disk becomes
    /// [`ErrorKind::NoSpace`], a missing file [`ErrorKind::NotFound`].
    #[cold]
    pub fn io(action: &str, file: &Path, source: std::io::Error) -> Error {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            _ => ErrorKind::Io,
        };
        let mut error = Error::new(kind, format!("While {action}: {source}")).in_file(file);
        error.0.source = Some(Arc::new(source));
        error
    }

    /// Adds the name of the file, unless a deeper layer already did.
    pub fn in_file(mut self, file: &Path) -> Error {
        self.0.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Adds the offset in bytes within the file, unless a deeper layer already did.
    pub fn at(mut self, offset: u64) -> Error {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Shifts a known offset by `base`: a decoder counts from the start of its buffer, its caller from the
    /// start of the file.
    pub fn offset_by(mut self, base: u64) -> Error {
        self.0.offset = Some(self.0.offset.unwrap_or(0).saturating_add(base));
        self
    }

    /// Prepends `context: ` to the message.
    pub fn context(mut self, context: &str) -> Error {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// The same error with another kind.
    pub fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self
    }

    /// The error with which later writes are refused, after this one has made the database read-only. This
    /// one is its source.
    #[cold]
    pub fn latched(&self) -> Error {
        let mut error = self.clone().with_kind(ErrorKind::ReadOnly);
        error.0.source = Some(Arc::new(self.clone()));
        error
    }

    /// Adds the error that caused this error, unless a deeper layer has added one already.
    #[cold]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.0.source.get_or_insert_with(|| Arc::new(source));
        self
    }

    /// The category of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without kind, file and offset.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file that the error is about, where known.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// Offset in bytes within [`file`](Error::file), where known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// True for [`ErrorKind::Corruption`].
    pub fn is_corruption(&self) -> bool {
        self.kind() == ErrorKind::Corruption
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.words(), self.0.message)?;
        if let Some(file) = &self.0.file {
            write!(f, ", file {}", file.display())?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, ", offset {offset}")?;
        }
        match self.0.kind.way_out().filter(|_| f.alternate()) {
            Some(way_out) => write!(f, "; {way_out}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_begins_with_rocksdb_words_and_ends_with_the_place() {
        let error = Error::corruption("bad block")
            .at(4096)
            .in_file(Path::new("db/000007.sst"));
        assert_eq!(
            error.to_string(),
            "Corruption: bad block, file db/000007.sst, offset 4096"
        );
    }

    #[test]
    fn the_alternate_form_ends_with_the_way_out() {
        let error = Error::new(ErrorKind::NoDatabase, "does not exist");
        assert_eq!(error.to_string(), "Invalid argument: does not exist");
        assert_eq!(
            format!("{error:#}"),
            "Invalid argument: does not exist; check the path, or set create_if_missing"
        );
        let plain = Error::invalid_argument("no");
        assert_eq!(format!("{plain:#}"), plain.to_string());
    }

    #[test]
    fn a_latched_error_has_its_cause_as_source() {
        use std::error::Error as _;
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let cause = Error::io("append to", Path::new("db/000004.log"), full);
        let latched = cause.latched();
        assert_eq!(latched.kind(), ErrorKind::ReadOnly);
        assert_eq!(latched.message(), cause.message());
        let source = latched.source().unwrap().downcast_ref::<Error>().unwrap();
        assert_eq!(source.kind(), ErrorKind::NoSpace);
        let system = source.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(system.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn the_deepest_place_wins() {
        let error = Error::corruption("x")
            .in_file(Path::new("inner"))
            .at(7)
            .in_file(Path::new("outer"))
            .at(9);
        assert_eq!(
            (error.file(), error.offset()),
            (Some(Path::new("inner")), Some(7))
        );
    }
}
