//! A command of `ldb`, as a row of the table of commands.

use crate::ldb::line::Line;
use crate::ldb::outcome::Outcome;
use crate::output::Out;

/// A command of `ldb`.
pub struct Command {
    pub name: &'static str,
    /// The text of the help, after two spaces.
    pub help: &'static str,
    /// The options and flags that only this command has, in groups.
    pub options: &'static [&'static [&'static str]],
    /// True if neither `--db` nor `--path` is required.
    pub needs_no_db: bool,
    pub run: fn(&Line, &mut Out) -> Outcome,
}
