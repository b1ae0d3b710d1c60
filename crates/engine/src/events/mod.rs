//! Events of the background work, reported as they happen.

mod event;
mod json;
mod listener;
mod parts;
mod rows;
mod texts;

pub use event::Event;
pub(crate) use json::Json;
pub use listener::EventListener;
pub use parts::{FlushReason, IngestedFile, RowTooLargeOutcome};

/// The maximum number of bytes of a key in an event.
const MAX_SHOWN_KEY: usize = 256;

/// The prefix of a key that events contain.
pub(crate) fn shown_key(user_key: &[u8]) -> Vec<u8> {
    user_key[..user_key.len().min(MAX_SHOWN_KEY)].to_vec()
}
