//! The engine, from the outside.

mod counted;
mod damaged;
mod fixtures;
mod recovery;
