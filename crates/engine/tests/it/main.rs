//! The engine, from the outside.

mod damaged;
mod fixtures;
mod recovery;
