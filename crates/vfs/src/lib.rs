//! The file system interface: a trait with a POSIX implementation and an in-memory one that crashes on
//! demand.
//!
//! * [`file_system`]: the traits, and the guarantees of each call after process death and after power loss
//! * [`posix`]: the disk
//! * [`mem`]: a file system in memory that can lose its process, its power and its space
//! * [`fault`]: over any other, failures and crashes by rule
//! * [`op_log`]: over any other, a record of the calls as text
//! * [`observed`]: over any other, reports operations on the contents of files to an observer
//! * [`layer`]: the base of these, and of any other wrapping file system
//! * [`pending_read`]: asynchronous reads
//! * [`op`]: the calls by name
//! * [`io_stats`]: the reads and writes of a thread
//! * [`rate_limiter`]: a limit of bytes a second that several users share
//! * [`sync_together`](mod@sync_together): the syncs of several files, side by side

mod aligned_buffer;
pub mod fault;
pub mod file_system;
pub mod io_stats;
pub mod layer;
pub mod mem;
pub mod observed;
pub mod op;
pub mod op_log;
pub mod pending_read;
pub mod posix;
pub mod rate_limiter;
pub mod read_timeout;
pub mod sync_together;

pub use fault::{Action, FaultFs, Rule, RuleId};
pub use file_system::{
    Access, Ahead, CreateOptions, FileLock, FileSync, FileSystem, OpenOptions, RandomAccessFile, WritableFile,
};
pub use layer::{Call, Details, Layer};
pub use mem::{MemFs, UnsyncedPolicy};
pub use observed::{FileObserver, FileOperation, ObservedFs};
pub use op::Op;
pub use op_log::LogFs;
pub use pending_read::{PendingRead, ReadBuffer, together};
pub use posix::PosixFs;
pub use rate_limiter::RateLimiter;
pub use read_timeout::{ReadTimeout, read_timeout};
pub use sync_together::sync_together;
