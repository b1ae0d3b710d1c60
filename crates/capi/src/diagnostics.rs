//! Messages on standard error.

use std::io::Write;

/// Writes a line to standard error, for failures that cannot be returned to the caller.
#[cold]
pub fn complain(what: &str) {
    // If standard error is closed, the message is lost.
    let _ = writeln!(std::io::stderr(), "librocksdb (Esker): {what}");
}
