//! Checks that cost too much for a release build.

/// Asserts an invariant that only a bug of Esker's could break, where the check costs more than O(1) or is on
/// a hot path. Bytes from a file or a user are never checked this way: they result in an error.
#[macro_export]
macro_rules! invariant {
    ($($check:tt)*) => {
        debug_assert!($($check)*)
    };
}
