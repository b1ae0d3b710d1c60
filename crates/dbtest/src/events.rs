//! A listener that keeps what it is told.

use std::sync::{Mutex, PoisonError};

use esker::{Event, EventListener};

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
