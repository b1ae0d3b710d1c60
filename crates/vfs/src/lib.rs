//! The only door to a disk: a file-system trait with a POSIX body and an in-memory one that crashes on demand.
//!
//! * [`file_system`]: the traits, and what each call promises after process death and after power loss

pub mod file_system;

pub use file_system::{
    Access, CreateOptions, FileLock, FileSync, FileSystem, OpenOptions, RandomAccessFile, WritableFile,
};
