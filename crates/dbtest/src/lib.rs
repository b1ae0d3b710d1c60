//! Commands over a database for tests.
//!
//! * [`by_hand`]: flushes and compactions asked for
//! * [`commands`]: the commands of data-driven tests, one set for all of them
//! * [`settings`]: options from text, comparators and merge operators that are no built-in ones
//! * [`crash`]: what a crash may take, and what it must leave
//! * [`draws`]: keys and values of random histories
//! * [`events`]: what a database has told its listener
//! * [`files`]: what must be true of a database's tables at any moment
//! * [`panicking`]: user code that panics
//! * [`small`]: a database with a piece of everything
//! * [`metamorphic`]: the same operations over databases that must answer alike
#![forbid(unsafe_code)]

pub mod by_hand;
pub mod commands;
pub mod crash;
pub mod draws;
pub mod events;
pub mod files;
pub mod metamorphic;
pub mod panicking;
pub mod settings;
pub mod small;
