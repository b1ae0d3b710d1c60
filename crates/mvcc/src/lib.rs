//! Keys with versions over the engine, in the manner of CockroachDB's storage layer.
//!
//! The engine knows bytes and an order; this crate gives the bytes a time ([`MvccKey`]) and the order of it ([`MvccComparator`]), and
//! the values a type ([`Value`]). The engine knows nothing of it.
#![forbid(unsafe_code)]

mod comparator;
mod key;
mod timestamp;
mod value;

pub use comparator::{MvccComparator, MvccPrefix, configure};
pub use key::{MvccKey, VERSION_SIZE, decode_suffix, encode_key, encode_suffix, next_user_key, split};
pub use timestamp::Timestamp;
pub use value::{Value, is_tombstone};
