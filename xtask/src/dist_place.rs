//! The directory of the results of `dist`, and their date.

use std::path::PathBuf;

use crate::shell;

/// The variable with the directory of the results, for the process that makes them.
pub const PLACE: &str = "ESKER_DIST";

/// Returns the directory of the results.
pub fn place() -> PathBuf {
    std::env::var_os(PLACE).map_or_else(|| shell::root().join("target/dist"), PathBuf::from)
}

/// Returns the date of the commit, in seconds, in a process of `dist`; elsewhere a fixed one.
pub fn epoch() -> String {
    std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| "1767225600".to_owned())
}
