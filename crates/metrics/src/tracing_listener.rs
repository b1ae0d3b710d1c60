//! The engine's events as events of the crate `tracing`.

use esker::{Event, EventListener, InfoLogLevel};
use tracing::Level;

/// A listener for [`Options::listeners`](esker::Options::listeners) that emits each event of the engine with
/// `tracing`, for the subscriber of the program: OpenTelemetry, a file, a terminal.
///
/// The target is `esker`. The message is the event's line; fields are `event` ([`Event::name`]), `db` (the
/// name given to [`new`](TracingListener::new)), and `family` and `job` where it has them. The level is
/// [`Event::level`], that of the event's line in the info log: ERROR for a background error, a failed
/// automatic recovery, corruption and a row that is too large, WARN for the beginning of a stall, for lost or
/// dropped bytes and for failed jobs, DEBUG for memtables, single files and subcompactions, INFO for all
/// else. An event for which no subscriber has interest costs its check.
#[derive(Clone, Debug)]
pub struct TracingListener {
    db: String,
}

impl TracingListener {
    /// Returns a listener for a database, whose name in the field `db` is `db`.
    pub fn new(db: &str) -> TracingListener {
        TracingListener { db: db.to_owned() }
    }
}

impl EventListener for TracingListener {
    fn on_event(&self, event: &Event) {
        // Each level has its own macro call, because the level of a tracing event must be a constant.
        macro_rules! emit {
            ($level:expr) => {
                tracing::event!(
                    target: "esker",
                    $level,
                    event = event.name(),
                    db = %self.db,
                    family = event.family(),
                    job = event.job(),
                    "{event}"
                )
            };
        }
        match event.level() {
            InfoLogLevel::Debug => emit!(Level::DEBUG),
            InfoLogLevel::Warn => emit!(Level::WARN),
            InfoLogLevel::Error => emit!(Level::ERROR),
            _ => emit!(Level::INFO),
        }
    }
}
