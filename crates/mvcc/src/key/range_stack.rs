//! The times at which a span was deleted.

use std::sync::Arc;

use crate::key::timestamp::Timestamp;

/// Times of deletions, from the newest to the oldest.
pub(crate) type Stack = Arc<[Timestamp]>;

/// The newest time at or below `at`.
pub(crate) fn newest_until(stack: &[Timestamp], at: Timestamp) -> Option<Timestamp> {
    stack.get(stack.partition_point(|time| *time > at)).copied()
}

/// The time since which a version written at `at` is hidden: the lowest at or above it.
pub(crate) fn hidden_since(stack: &[Timestamp], at: Timestamp) -> Option<Timestamp> {
    stack[..stack.partition_point(|time| *time >= at)].last().copied()
}

/// True if `at` is not one of the times.
pub(super) fn lacks(stack: &[Timestamp], at: Timestamp) -> bool {
    stack.binary_search_by(|time| at.cmp(time)).is_err()
}

/// The time of the newest deletion that a reader at `read` sees, if it hides a version written at `at`.
pub(crate) fn hides(stack: &[Timestamp], at: Timestamp, read: Timestamp) -> Option<Timestamp> {
    newest_until(stack, read).filter(|deleted| *deleted >= at && !at.is_zero())
}
