//! Commands over a database for tests.
//!
//! * [`by_hand`]: manual flushes and compactions
//! * [`commands`]: the commands of data-driven tests, one set for all of them
//! * [`settings`]: options from text, and comparators and merge operators that are not built in
//! * [`crash`]: the losses in a crash, and the check of what must survive
//! * [`draws`]: random keys and values of histories
//! * [`events`]: listeners that record events
//! * [`gate`]: a gate at which threads wait until a test opens it
//! * [`files`]: invariants of a database's tables
//! * [`panicking`]: user code that panics
//! * [`small`]: a small database with all kinds of contents
//! * [`metamorphic`]: the same operations over databases with equal results
#![forbid(unsafe_code)]

pub mod by_hand;
pub mod commands;
pub mod crash;
pub mod delayed;
pub mod draws;
pub mod events;
pub mod files;
pub mod gate;
pub mod metamorphic;
pub mod panicking;
pub mod settings;
pub mod small;
