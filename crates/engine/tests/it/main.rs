//! The engine, from the outside.

mod counted;
mod damaged;
mod direct_io;
mod fixtures;
mod recovery;
mod repair;
mod unique_ids;
