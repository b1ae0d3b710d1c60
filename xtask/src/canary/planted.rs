//! A planted bug, and the test that must find it.

/// A bug, as the replacement of one piece of one file.
pub struct Canary {
    /// The effect of the bug.
    pub name: &'static str,
    /// The file, from the root.
    pub file: &'static str,
    /// The original code, which the file has exactly once.
    pub right: &'static str,
    /// The replacement.
    pub wrong: &'static str,
    /// The test that must find it.
    pub caught_by: Catcher,
}

/// The kinds of tests that find bugs.
#[derive(Clone, Copy, PartialEq)]
pub enum Catcher {
    /// The bug is found by `cargo test` with the given arguments, in one run, on the fixed seeds of the
    /// tests.
    Tests(&'static [&'static str]),
    /// The bug is found by `cargo test` with the given arguments and `--cfg simulate`, where a seed schedules
    /// the threads.
    SimulatedTests(&'static [&'static str]),
    /// The bug is found by `cargo test` with the given arguments under loom, which tries every order of
    /// threads.
    LoomTests(&'static [&'static str]),
    /// The bug is found by `db_stress`, within this number of runs, each with its own seed and about a second
    /// long.
    Stress(u32, &'static [&'static str]),
    /// `db_crashtest`, within this number of runs of twelve seconds.
    CrashTest(u32),
    /// `simulate`, within this number of histories.
    Simulation(u32),
    /// `db_crashtest --simulate`, within this number of runs of twelve seconds.
    PowerLoss(u32),
}
