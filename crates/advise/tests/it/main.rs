//! Tests of predictions against real databases.
#![forbid(unsafe_code)]

mod real;
mod replays;
