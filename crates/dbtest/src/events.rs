//! Listeners for tests: one that keeps what it is told, one that forbids automatic recovery.

use std::sync::{Mutex, PoisonError};

use esker::{Error, Event, EventListener};

/// What a database has told, in order.
#[derive(Default)]
pub struct Events(Mutex<Vec<Event>>);

impl Events {
    /// All of it so far.
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

/// Keeps a database from resuming by itself, for tests that look at it while it takes no writes, and resume by hand.
pub struct NoAutoRecovery;

impl EventListener for NoAutoRecovery {
    fn on_event(&self, _event: &Event) {}

    fn on_error_recovery_begin(&self, _background_error: &Error) -> bool {
        false
    }
}
