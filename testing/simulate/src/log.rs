//! All events of a run, in order.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// All events, in order: hashed, and as text if asked for.
#[derive(Clone, Default)]
pub(crate) struct Log(pub Arc<Mutex<(DefaultHasher, String)>>, pub bool);

impl Log {
    pub fn line(&self, line: impl FnOnce() -> String) {
        let line = line();
        let name = base::simulation::name().unwrap_or_default();
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.0.write(name.as_bytes());
        log.0.write(line.as_bytes());
        if self.1 {
            let at = base::simulation::now().unwrap_or_default().as_micros();
            let _ = writeln!(log.1, "{at:9} {name:10} {line}");
        }
    }
}
