//! The only door to a disk: a file-system trait with a POSIX body and an in-memory one that crashes on demand.
//!
//! * [`file_system`]: the traits, and what each call promises after process death and after power loss
//! * [`posix`]: the disk

pub mod file_system;
pub mod posix;

pub use file_system::{
    Access, CreateOptions, FileLock, FileSync, FileSystem, OpenOptions, RandomAccessFile, WritableFile,
};
pub use posix::PosixFs;
