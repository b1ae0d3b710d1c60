//! The definition of garbage, the score that decides when to collect it, and its collection: of given keys,
//! of a whole span, in pages, or by compactions.
//!
//! A version is garbage at a threshold T if it is at or below T and either a deletion or hidden by a newer
//! version or a range tombstone at or below T. Versions that a read directly above T sees are kept. Range
//! tombstones at or below T are removed once all versions that they hide are removed.
//!
//! First T is published durably: from then on nothing at or below it is read or written
//! ([`advance_threshold`](crate::MvccStore::advance_threshold)). Then garbage is searched for on a snapshot,
//! each key from its oldest version up ([`plan`]), and removed page by page ([`pages`]). Each page is a batch
//! of its own that checks again what it removes. A page that ends within a key has the key's older part, so
//! that no deletion is removed before the versions it hides. Wherever the collection is interrupted, reads
//! above T are correct.

mod compactions;
mod filter;
mod hidden;
pub(crate) mod keys;
pub(crate) mod options;
pub(crate) mod pages;
mod plan;
pub(crate) mod score;
mod whole_span;
