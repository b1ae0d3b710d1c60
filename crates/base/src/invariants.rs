//! Checks that cost too much for a release build.

/// Asserts something only a bug of ours could break, where checking costs more than O(1) or sits on a hot path.
/// Bytes from a file or a user are never checked this way: those give an error.
#[macro_export]
macro_rules! invariant {
    ($($check:tt)*) => {
        debug_assert!($($check)*)
    };
}
