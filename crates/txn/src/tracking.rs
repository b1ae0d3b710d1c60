//! The protection of a key that a transaction writes: a lock and a check, a lock alone, or neither.

/// The way in which a write ensures that no other transaction writes the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// Locks the key, and checks whether it was written since the snapshot, if one is set. An optimistic
    /// transaction does so at its commit.
    #[default]
    Validate,
    /// Locks the key without a check: RocksDB's `PutUntracked` and the like. An optimistic transaction
    /// neither locks nor validates the key.
    Untracked,
    /// The key was locked, or read for update, before: `InvalidArgument` if it was not. RocksDB's
    /// `assume_tracked`.
    AssumeTracked,
}
