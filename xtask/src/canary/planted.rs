//! A planted bug, and what must find it.

/// A bug, as the replacement of one piece of one file.
pub struct Canary {
    /// What breaks.
    pub name: &'static str,
    /// The file, from the root.
    pub file: &'static str,
    /// What stands there, exactly once.
    pub right: &'static str,
    /// What is put in its place.
    pub wrong: &'static str,
    /// What must find it.
    pub caught_by: Catcher,
}

/// What finds a bug.
#[derive(Clone, Copy, PartialEq)]
pub enum Catcher {
    /// `cargo test` with these arguments, in one run, on the fixed seeds of the tests.
    Tests(&'static [&'static str]),
    /// `db_stress`, within so many runs, each of its own seed and about a second.
    Stress(u32, &'static [&'static str]),
    /// `db_crashtest`, within so many runs of twelve seconds.
    CrashTest(u32),
    /// `simulate`, within so many histories.
    Simulation(u32),
    /// `db_crashtest --simulate`, within so many runs of twelve seconds.
    PowerLoss(u32),
}
