//! Messages on standard error.

use std::io::Write;

/// Writes a line to standard error, for failures that have no error.
#[cold]
pub fn complain(what: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "librocksdb (Esker): {what}");
}
