//! The failure of a native method.

use esker::Error;

/// The reason for the failure of a native method.
pub enum Fail {
    /// An error of the engine: a `RocksDBException` with its status.
    Status(Error),
    /// The handle is closed, or belongs to another class. A `RocksDBException` if the method declares it,
    /// otherwise an `IllegalStateException`.
    Closed(String),
    /// An exception of Java is pending.
    Thrown,
    /// A Java exception that RocksJava does not define.
    Java(&'static str, String),
}

/// A native method's result.
pub type Result<T> = std::result::Result<T, Fail>;

impl From<Error> for Fail {
    fn from(error: Error) -> Fail {
        Fail::Status(error)
    }
}

impl Fail {
    /// A `NullPointerException`.
    pub fn null() -> Fail {
        Fail::Java("java/lang/NullPointerException", "an argument is null".to_owned())
    }

    /// An `ArrayIndexOutOfBoundsException`.
    pub fn bounds(index: i32) -> Fail {
        Fail::Java("java/lang/ArrayIndexOutOfBoundsException", format!("{index}"))
    }

    /// An `IllegalArgumentException`.
    pub fn argument(message: impl Into<String>) -> Fail {
        Fail::Java("java/lang/IllegalArgumentException", message.into())
    }

    /// An `IllegalStateException`.
    pub fn state(message: impl Into<String>) -> Fail {
        Fail::Java("java/lang/IllegalStateException", message.into())
    }

    /// An error for a feature that is not supported, with its name.
    pub fn unsupported(what: &str) -> Fail {
        Fail::Java(
            "java/lang/UnsupportedOperationException",
            format!("{what} is not supported by Esker"),
        )
    }
}
