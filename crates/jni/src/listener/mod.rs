//! `org.rocksdb.AbstractEventListener`: a Java object that is notified of the background work of a database.
//!
//! The thread of the event calls it. An exception in it is printed, and has no other effect.

mod events;
mod java;
mod notify;

pub use events::join;
pub use java::{JavaListener, ListenerObject, Listeners};
