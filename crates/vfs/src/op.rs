//! The calls of a file system, by name.

use std::fmt;

/// A call of a [`FileSystem`](crate::FileSystem) or of a file it opened. If it has two paths, rules match the
/// new one.
///
/// See the example of [`Layer`](crate::Layer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Open for reading.
    Open,
    /// Create for writing.
    Create,
    /// Rename and open for writing over the old bytes.
    Reuse,
    /// Rename.
    Rename,
    /// Remove a file.
    Remove,
    /// Link.
    Link,
    /// Truncate by path.
    Truncate,
    /// List a directory.
    List,
    /// Create directories.
    CreateDir,
    /// Remove a directory.
    RemoveDir,
    /// Sync a directory.
    SyncDir,
    /// Check whether a path exists.
    Exists,
    /// Get a file's length.
    Size,
    /// Get a file's modification time.
    Modified,
    /// Lock a file.
    Lock,
    /// Get the free space.
    FreeSpace,
    /// Read from an open file.
    Read,
    /// Start a read from an open file. Only some file systems distinguish it; for others it is a
    /// [`Read`](Op::Read).
    StartRead,
    /// Prefetch a range of an open file; a hint, which cannot fail.
    Prefetch,
    /// Append to a file being written.
    Append,
    /// Flush a file being written.
    Flush,
    /// Sync a file, through its writer or independently of it.
    Sync,
    /// Sync a file being written, with all its metadata.
    SyncAll,
    /// Close a file being written.
    Close,
}

impl Op {
    /// The name: one lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Op::Open => "open",
            Op::Create => "create",
            Op::Reuse => "reuse",
            Op::Rename => "rename",
            Op::Remove => "remove",
            Op::Link => "link",
            Op::Truncate => "truncate",
            Op::List => "list",
            Op::CreateDir => "create_dir",
            Op::RemoveDir => "remove_dir",
            Op::SyncDir => "sync_dir",
            Op::Exists => "exists",
            Op::Size => "size",
            Op::Modified => "modified",
            Op::Lock => "lock",
            Op::FreeSpace => "free_space",
            Op::Read => "read",
            Op::StartRead => "start_read",
            Op::Prefetch => "prefetch",
            Op::Append => "append",
            Op::Flush => "flush",
            Op::Sync => "sync",
            Op::SyncAll => "sync_all",
            Op::Close => "close",
        }
    }

    /// True if the operation may change the state after a crash.
    pub fn is_change(self) -> bool {
        match self {
            Op::Create
            | Op::Reuse
            | Op::Rename
            | Op::Remove
            | Op::Link
            | Op::Truncate
            | Op::CreateDir
            | Op::RemoveDir
            | Op::SyncDir
            | Op::Append
            | Op::Flush
            | Op::Sync
            | Op::SyncAll
            | Op::Close => true,
            Op::Open
            | Op::List
            | Op::Exists
            | Op::Size
            | Op::Modified
            | Op::Lock
            | Op::FreeSpace
            | Op::Read
            | Op::StartRead
            | Op::Prefetch => false,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
