//! The page over a real socket: each endpoint, over databases of RocksDB and inside a program, and each
//! refusal.

mod browser;
mod clicks;
mod common;
mod directory;
mod program;
mod refusals;
