//! Test support that depends on `base` alone, so that the unit tests of every crate may use it.
//!
//! * [`mod@bench`]: keys, orders and sizes the microbenchmarks share
//! * [`datadriven`]: tests whose cases are text; `REWRITE=1` accepts what the code does
//! * [`judges`]: RocksDB's tools over a whole database, as a user calls them
//! * [`keys`]: internal keys, entries and range tombstones as people write them: `a@5:value`, `b@6#del`, `[a,d)@9`
//! * [`conformance`]: the one suite every [`base::Cursor`] passes
//! * [`mod@memory`]: bits that turn in this process's memory
//! * [`model`]: what a database must answer, computed the slow and obvious way
//! * [`oracle`]: where the real RocksDB is, for tests that ask it
//! * [`mod@record`]: what a long test has done, for `cargo xtask soak` to add up
//! * [`mod@rng`]: fixed seeds, printed on failure; fresh ones, or those of a run to replay, by `ESKER_SEED`
//! * [`mod@skip`]: what a test cannot do on this machine, for the summary of `cargo xtask test`
//! * [`mod@watchdog`]: the end of a test that hangs, and waiting for a condition
#![forbid(unsafe_code)]

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
pub mod watchdog;

pub use conformance::{VecCursor, check_cursor};
pub use record::record;
pub use rng::{TestRng, rng};
pub use skip::skip;
pub use watchdog::{Task, Watchdog, receive, wait_until};
