//! The types that every crate of Esker shares, and nothing else: the bottom of the dependency graph.
//!
//! * [`internal_key`]: user key, sequence number and kind packed as RocksDB packs them, and their order
//! * [`comparator`]: the order of user keys
//! * [`coding`]: varints and fixed-width integers, decoded from untrusted bytes
//! * [`cursor`]: the one contract of iteration over sorted entries
//! * [`entity`]: the default column of wide-column entities
//! * [`key_prefixes`]: searching sorted keys by their first eight bytes
//! * [`merge`], [`prefix`]: merge operators and prefix extractors
//! * [`error`]: the one error type
//! * [`mod@env`]: the only source of time and randomness
//! * [`distribution`]: ranks of keys and sizes of values of RocksDB's mixgraph
//! * [`date`]: dates and times of day, from the seconds of a clock
//! * [`sync`]: locks and threads, which a build under `--cfg simulate` takes from `simulation.rs`;
//!   [`per_thread`]: memory of which each thread has a part
//! * [`filename`]: the names of a database's files
//! * [`statistics`], [`perf`]: the counters of databases and threads
//! * [`protection`]: hashes that follow a row through memory
//! * [`progress`]: the progress of long work, and requests to stop it
//! * [`user_code`]: calls of code that users supply, and panics in it
#![forbid(unsafe_code)]

pub mod coding;
pub mod comparator;
pub mod cursor;
pub mod date;
pub mod distribution;
pub mod entity;
pub mod entry_type;
pub mod env;
pub mod error;
pub mod filename;
pub mod internal_key;
pub mod invariants;
pub mod key_prefixes;
pub mod merge;
pub mod per_thread;
pub mod perf;
pub mod prefix;
pub mod progress;
pub mod protection;
pub mod read_sample;
mod row_limit;
#[cfg(any(simulate, test, feature = "simulation"))]
pub mod simulation;
pub mod statistics;
pub mod steps;
pub mod sync;
mod temperature;
pub mod user_code;

pub use comparator::{Comparator, UserComparator, shared_len};
pub use cursor::{BlockwiseCursor, Cursor};
pub use error::{Error, ErrorKind, Result};
pub use internal_key::{InternalComparator, Kind, MAX_SEQNO, ParsedInternalKey, SeqNo};
pub use key_prefixes::{KeyPrefixes, KeyRank};
pub use progress::Progress;
pub use protection::Protection;
pub use row_limit::RowLimit;
pub use statistics::{Statistics, Ticker};
pub use temperature::Temperature;
