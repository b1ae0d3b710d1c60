//! Exceptions for Java: those of `org.rocksdb` with a status of RocksDB's codes, and those of Java itself.

use esker::{Error, ErrorKind};
use jni_sys::{jclass, jobject, jvalue};

use crate::env::{Env, JString};
use crate::fail::{Fail, Result};
use crate::generated::throws;

impl Fail {
    /// Throws the error from the native method with the mangled name `method`.
    #[cold]
    pub fn throw(self, env: &Env<'_>, method: &str) {
        match self {
            Fail::Thrown => {}
            Fail::Java(class, message) => env.throw_new(class, &message),
            Fail::Status(error) => throw_status(env, &error),
            Fail::Closed(message) if throws::declares(method) => {
                throw_status(env, &Error::invalid_argument(message));
            }
            Fail::Closed(message) => env.throw_new("java/lang/IllegalStateException", &message),
        }
    }
}

/// Throws a `RocksDBException` with the status of an error.
fn throw_status(env: &Env<'_>, error: &Error) {
    let thrown = status(env, error).and_then(|status| {
        env.object(
            "org/rocksdb/RocksDBException",
            "(Lorg/rocksdb/Status;)V",
            &[jvalue { l: status }],
        )
    });
    if let Ok(exception) = thrown {
        env.throw(exception);
    }
}

/// Creates an `org.rocksdb.Status` of an error.
pub fn status(env: &Env<'_>, error: &Error) -> Result<jobject> {
    let (code, subcode) = codes(error);
    let state = match state(error) {
        // Without a message RocksDB's status has no text, and Java shows the code.
        text if text.is_empty() => JString(std::ptr::null_mut()),
        text => env.new_string(&text)?,
    };
    let arguments = [jvalue { b: code }, jvalue { b: subcode }, jvalue { l: state.0 }];
    env.object("org/rocksdb/Status", "(BBLjava/lang/String;)V", &arguments)
}

/// Creates a status of `class`, which is `org.rocksdb.Status`: that of an error, or OK. Threads that cannot
/// look up the class use it.
pub fn status_of(env: &Env<'_>, class: jclass, error: Option<&Error>) -> Result<jobject> {
    let (code, subcode) = error.map_or((0, 0), codes);
    let text = error.map(state).filter(|text| !text.is_empty());
    let state = match text {
        Some(text) => env.new_string(&text)?,
        None => JString(std::ptr::null_mut()),
    };
    let constructor = env.method(class, "<init>", "(BBLjava/lang/String;)V")?;
    let arguments = [jvalue { b: code }, jvalue { b: subcode }, jvalue { l: state.0 }];
    env.construct(class, constructor, &arguments)
}

/// Creates an `org.rocksdb.Status` with the code OK.
pub fn status_ok(env: &Env<'_>) -> Result<jobject> {
    let arguments = [
        jvalue { b: 0 },
        jvalue { b: 0 },
        jvalue {
            l: std::ptr::null_mut(),
        },
    ];
    env.object("org/rocksdb/Status", "(BBLjava/lang/String;)V", &arguments)
}

/// Returns the text of RocksDB's status besides its code: the message and the file.
fn state(error: &Error) -> String {
    match error.file() {
        Some(file) if error.kind() == ErrorKind::LockHeld => {
            format!("While lock file: {}: {}", file.display(), error.message())
        }
        Some(file) if is_of_files(error.kind()) => format!("{}: {}", error.message(), file.display()),
        _ => error.message().to_owned(),
    }
}

fn is_of_files(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::NotFound | ErrorKind::Corruption
    )
}

/// The text of the error for a batch that would exceed its maximum size.
pub const MEMORY_LIMIT: &str = "Memory limit reached";

/// The text of the error for a batch whose merges cannot be resolved inside it.
pub const MERGE_IN_PROGRESS: &str = "merge in progress";

/// The subcodes of transactions.
const LOCK_TIMEOUT: i8 = 2;
const LOCK_LIMIT: i8 = 3;
const DEADLOCK: i8 = 5;

/// Returns RocksJava's numbers of a status's code and subcode.
fn codes(error: &Error) -> (i8, i8) {
    match error.kind() {
        ErrorKind::NotFound => (1, 0),
        ErrorKind::Corruption | ErrorKind::Panicked => (2, 0),
        ErrorKind::NotSupported => (3, 0),
        ErrorKind::InvalidArgument | ErrorKind::NoDatabase | ErrorKind::ComparatorMismatch => (4, 0),
        ErrorKind::Io | ErrorKind::LockHeld | ErrorKind::ReadOnly => (5, 0),
        ErrorKind::NoSpace => (5, 4),
        // RocksJava has no name for the subcode.
        ErrorKind::SpaceLimit => (5, 0x7F),
        ErrorKind::MergeFailed => (2, 0),
        ErrorKind::Incomplete if error.message() == MERGE_IN_PROGRESS => (6, 0),
        ErrorKind::Incomplete => (7, 0),
        ErrorKind::ShutdownInProgress => (8, 0),
        ErrorKind::TimedOut if error.message().contains("lock key") => (9, LOCK_TIMEOUT),
        ErrorKind::TimedOut => (9, 0),
        ErrorKind::Aborted if error.message() == MEMORY_LIMIT => (10, 7),
        ErrorKind::Aborted => (10, 0),
        ErrorKind::Busy if error.message().contains("max_num_locks") => (11, LOCK_LIMIT),
        ErrorKind::Busy if error.message() == "Deadlock" => (11, DEADLOCK),
        ErrorKind::Busy => (11, 0),
        ErrorKind::Expired => (12, 0),
        ErrorKind::TryAgain => (13, 0),
        // RocksJava has no name for a dropped family.
        _ => (0x7F, 0),
    }
}
