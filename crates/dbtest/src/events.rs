//! Listeners for tests: one that records events, one that forbids automatic recovery.

use std::sync::{Mutex, PoisonError};

use esker::{Error, Event, EventListener};

/// A listener that records the events of a database, in order.
#[derive(Default)]
pub struct Events(Mutex<Vec<Event>>);

impl Events {
    /// All events so far.
    pub fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventListener for Events {
    fn on_event(&self, event: &Event) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event.clone());
    }
}

/// Prevents automatic recovery, for tests that examine a database that accepts no writes, and resume it
/// manually.
pub struct NoAutoRecovery;

impl EventListener for NoAutoRecovery {
    fn on_event(&self, _event: &Event) {}

    fn on_error_recovery_begin(&self, _background_error: &Error) -> bool {
        false
    }
}
