//! Test support that only depends on `base`, so that the unit tests of every crate can use it.
//!
//! * [`anomalies`]: what the histories of concurrent transactions show
//! * [`mod@bench`]: keys, orders and sizes of the microbenchmarks
//! * [`datadriven`]: tests whose cases are text; `REWRITE=1` accepts the actual output
//! * [`judges`]: RocksDB's tools over a whole database, as a user calls them
//! * [`keys`]: internal keys, entries and range tombstones in readable form: `a@5:value`, `b@6#del`,
//!   `[a,d)@9`
//! * [`conformance`]: the suite for every [`base::Cursor`]
//! * [`mod@memory`]: bit flips in this process's memory
//! * [`model`]: a simple model of a database's results
//! * [`oracle`]: the installed RocksDB, for tests that use it
//! * [`mod@record`]: counts of a long test, for `cargo xtask soak` to add up
//! * [`mod@rng`]: fixed seeds, printed on failure; new ones, or those of a run to replay, by `ESKER_SEED`
//! * [`mod@skip`]: parts of tests that this machine cannot run, for the summary of `cargo xtask test`
//! * [`SteppedClock`]: a clock that is set back
//! * [`mod@watchdog`]: ends a test that hangs, and waits for conditions
#![forbid(unsafe_code)]

pub mod anomalies;
pub mod bench;
pub mod conformance;
pub mod datadriven;
pub mod judges;
pub mod keys;
pub mod memory;
pub mod model;
pub mod oracle;
pub mod record;
pub mod rng;
pub mod skip;
pub mod stepped_clock;
pub mod watchdog;

pub use conformance::{VecCursor, check_cursor};
pub use record::record;
pub use rng::{TestRng, rng};
pub use skip::skip;
pub use stepped_clock::SteppedClock;
pub use watchdog::{Task, Watchdog, receive, wait_until};
