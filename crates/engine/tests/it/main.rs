//! The engine, from the outside.

mod damaged;
mod direct_io;
mod fixtures;
mod recovery;
