//! Listeners for tests: one that records events, one that forbids automatic recovery.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use esker::{Error, Event, EventListener};

/// Returns the record of an event, if it is recorded.
type RecordOf<T> = Box<dyn Fn(&Event) -> Option<T> + Send + Sync>;

/// A listener that records the events of a database, or a part of each, in order.
pub struct Recorder<T = Event> {
    of: RecordOf<T>,
    recorded: Mutex<Vec<T>>,
}

impl Recorder {
    /// A listener that records all events.
    pub fn events() -> Arc<Recorder> {
        Recorder::of(|event| Some(event.clone()))
    }

    /// A listener that records the events that `selects` accepts.
    pub fn selected(selects: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Arc<Recorder> {
        Recorder::of(move |event| selects(event).then(|| event.clone()))
    }
}

impl<T> Recorder<T> {
    /// A listener that calls `of` with each event, on the thread that sends the event, and records the
    /// result.
    pub fn of(of: impl Fn(&Event) -> Option<T> + Send + Sync + 'static) -> Arc<Recorder<T>> {
        Arc::new(Recorder {
            of: Box::new(of),
            recorded: Mutex::default(),
        })
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Removes all records and returns them.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.lock())
    }

    /// Waits for a record, and removes and returns the first.
    #[track_caller]
    pub fn wait_next(&self) -> T {
        testkit::wait_until("an event is recorded", || self.count() > 0);
        self.lock().remove(0)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Recorder<T> {
    /// All records.
    pub fn all(&self) -> Vec<T> {
        self.lock().clone()
    }
}

impl<T: Send> EventListener for Recorder<T> {
    fn on_event(&self, event: &Event) {
        if let Some(record) = (self.of)(event) {
            self.lock().push(record);
        }
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
