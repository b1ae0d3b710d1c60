//! Range tombstones against a list of them, in every order, with random keys, snapshots and timestamps.

extern crate esker_rangedel as rangedel;

mod fragments;
mod memtable;
mod model;
