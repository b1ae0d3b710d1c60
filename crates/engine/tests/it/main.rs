//! The engine, from the outside.

mod fixtures;
