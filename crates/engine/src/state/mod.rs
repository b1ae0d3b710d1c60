//! The state of an open database, and the parts that it consists of.

pub(crate) mod background;
pub mod column_family;
pub(crate) mod db_inner;
pub(crate) mod db_state;
pub(crate) mod error_state;
pub(crate) mod handle;
pub(crate) mod inserts;
pub(crate) mod level_stats;
pub(crate) mod open_iterators;
pub(crate) mod removals;
pub(crate) mod replaced;
pub(crate) mod samples;
pub(crate) mod secondary;
pub(crate) mod sections;
pub(crate) mod snapshot;
pub(crate) mod super_version;
pub(crate) mod sync_group;
pub(crate) mod value;
pub(crate) mod verifier;
pub(crate) mod version_set;
pub(crate) mod write_queue;
pub(crate) mod writer;
