//! The engine's events as events of the crate `tracing`.

use std::fmt::{self, Write};

use esker::{Event, EventListener, StallCondition};
use tracing::Level;

/// A listener for [`Options::listeners`](esker::Options::listeners) that emits each event of the engine with
/// `tracing`, for the subscriber of the program: OpenTelemetry, a file, a terminal.
///
/// The target is `esker`. The message is the event's line; fields are `event` (its name in [`Event`]), `db`
/// (the name given to
/// [`new`](TracingListener::new)), and `family` and `job` where it has them. The level is ERROR for a
/// background error and for corruption, WARN for the beginning of a stall, for lost or dropped bytes and for
/// failed jobs, DEBUG for the beginning of single files and of subcompactions, INFO for all else. An event
/// for which no subscriber has interest costs its check.
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
                    event = %Name::of(event),
                    db = %self.db,
                    family = family(event),
                    job = job(event),
                    "{event}"
                )
            };
        }
        match level(event) {
            Level::ERROR => emit!(Level::ERROR),
            Level::WARN => emit!(Level::WARN),
            Level::DEBUG => emit!(Level::DEBUG),
            _ => emit!(Level::INFO),
        }
    }
}

fn level(event: &Event) -> Level {
    match event {
        Event::BackgroundError { .. } | Event::CorruptionFound { .. } => Level::ERROR,
        Event::Stall { condition, .. } if *condition != StallCondition::Normal => Level::WARN,
        Event::JobEnded { error: Some(_), .. }
        | Event::TableCreationFailed { .. }
        | Event::BlobFileCreationFailed { .. }
        | Event::ManifestTorn { .. }
        | Event::FilesSetAside { .. }
        | Event::WalDropped { .. }
        | Event::RowTooLarge { .. }
        | Event::FilterValueTooLarge { .. }
        | Event::UnknownOption { .. }
        | Event::OptionLost(_) => Level::WARN,
        Event::TableCreationStarted { .. }
        | Event::BlobFileCreationStarted { .. }
        | Event::SubcompactionBegun { .. }
        | Event::SubcompactionCompleted { .. }
        | Event::FileDeleted { .. } => Level::DEBUG,
        _ => Level::INFO,
    }
}

fn family(event: &Event) -> Option<&str> {
    match event {
        Event::MemtableSealed { family, .. }
        | Event::FlushBegun { family, .. }
        | Event::Flushed { family, .. }
        | Event::CompactionBegun { family, .. }
        | Event::SubcompactionBegun { family, .. }
        | Event::SubcompactionCompleted { family, .. }
        | Event::Compacted { family, .. }
        | Event::Moved { family, .. }
        | Event::Dropped { family, .. }
        | Event::Ingested { family, .. }
        | Event::JobEnded { family, .. }
        | Event::TableCreationStarted { family, .. }
        | Event::TableCreationFailed { family, .. }
        | Event::TableCreated { family, .. }
        | Event::BlobFileCreationStarted { family, .. }
        | Event::BlobFileCreationFailed { family, .. }
        | Event::BlobFileCreated { family, .. }
        | Event::CorruptionFound { family, .. }
        | Event::RowTooLarge { family, .. }
        | Event::FilterValueTooLarge { family, .. } => Some(family),
        Event::Stall { family, .. } => (!family.is_empty()).then_some(family),
        _ => None,
    }
}

fn job(event: &Event) -> Option<u64> {
    match event {
        Event::FlushBegun { job, .. }
        | Event::Flushed { job, .. }
        | Event::CompactionBegun { job, .. }
        | Event::SubcompactionBegun { job, .. }
        | Event::SubcompactionCompleted { job, .. }
        | Event::Compacted { job, .. }
        | Event::Moved { job, .. }
        | Event::Dropped { job, .. }
        | Event::Ingested { job, .. }
        | Event::JobEnded { job, .. }
        | Event::TableCreationStarted { job, .. }
        | Event::TableCreationFailed { job, .. }
        | Event::TableCreated { job, .. }
        | Event::BlobFileCreationStarted { job, .. }
        | Event::BlobFileCreationFailed { job, .. }
        | Event::BlobFileCreated { job, .. }
        | Event::RecoveryBegun { job, .. }
        | Event::FilesSetAside { job, .. }
        | Event::Recovered { job }
        | Event::FilterValueTooLarge { job, .. } => Some(*job),
        _ => None,
    }
}

/// The name of an event: the beginning of its `Debug` text, up to its fields.
struct Name(String);

impl Name {
    fn of(event: &Event) -> Name {
        let mut name = Name(String::new());
        // The error is ignored: the write ends with one at the first character after the name.
        let _ = write!(name, "{event:?}");
        name
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric());
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        end.map_or(Ok(()), |_| Err(fmt::Error))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
