//! The state of a bench.

use std::path::PathBuf;
use std::sync::Arc;

use esker::Options;

use crate::flags::Flags;
use crate::handles::Handles;
use crate::params::Time;
use crate::record::Recorder;
use crate::secondary::CatchUp;
use crate::seeds::Seeds;
use crate::values::Values;

/// The database under test and its setting.
pub struct Bench {
    /// The command line.
    pub flags: Flags,
    /// The options that databases are opened with.
    pub options: Options,
    /// The directory of the database.
    pub path: PathBuf,
    pub(super) seeds: Seeds,
    pub(super) values: Values,
    pub(super) time: Time,
    pub(super) db: Option<Handles>,
    /// With `--use_existing_keys`: the keys that represent the numbers below `--num`.
    pub(super) existing_keys: Option<Arc<[Box<[u8]>]>>,
    /// The catch-up thread of an open secondary.
    pub(super) catch_up: Option<CatchUp>,
    /// The number of catch-ups of secondaries that are closed.
    pub(super) secondary_updates: u64,
    /// The recorder for `--json`.
    pub(super) recorder: Option<Recorder>,
}

impl Bench {
    /// The database.
    pub fn handles(&self) -> &Handles {
        self.db.as_ref().expect("a bench has its database open")
    }
}
