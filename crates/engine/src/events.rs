//! What happens in the background, told as it happens.

use std::fmt;

use base::Error;
use compact::stall::StallCondition;

/// Something the engine did or met. Its `Display` is one line, the same everywhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields are what their names say; units stand in the names"
)]
pub enum Event {
    /// A memtable was written to a table.
    Flushed {
        family: String,
        file: u64,
        entries: u64,
        bytes: u64,
        micros: u64,
    },
    /// Files were merged into others.
    Compacted {
        family: String,
        plan: String,
        outputs: Vec<u64>,
        bytes_read: u64,
        bytes_written: u64,
        subcompactions: usize,
        micros: u64,
    },
    /// Files went down a level as they are.
    Moved { family: String, plan: String },
    /// Writes are slowed or stopped, or no longer are.
    Stall {
        family: String,
        condition: StallCondition,
    },
    /// A background job failed; the database takes no more writes.
    BackgroundError { action: &'static str, error: Error },
    /// Looking through the files in the background found a damaged place. The keys, user keys both, are those of the damaged
    /// block (the first may itself lie in front of it) where the damage is in one of data, else those of the file.
    CorruptionFound {
        family: String,
        path: String,
        offset: u64,
        smallest_key: Vec<u8>,
        largest_key: Vec<u8>,
        error: Error,
    },
    /// A file was deleted.
    FileDeleted { path: String },
    /// Recovery left out bytes of a WAL that it could not use.
    WalDropped { path: String, reason: String },
    /// An option in the OPTIONS file is not one of ours; it is kept in the file.
    UnknownOption { section: String, name: String },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Flushed {
                family,
                file,
                entries,
                bytes,
                micros,
            } => {
                write!(
                    f,
                    "[{family}] flushed {entries} entries to {file:06}.sst: {bytes} bytes in {micros} us"
                )
            }
            Event::Compacted {
                family,
                plan,
                outputs,
                bytes_read,
                bytes_written,
                subcompactions,
                micros,
            } => {
                write!(
                    f,
                    "[{family}] compacted {plan}: {bytes_read} bytes read, {bytes_written} written to {} files in {micros} us",
                    outputs.len()
                )?;
                match subcompactions {
                    0 | 1 => Ok(()),
                    several => write!(f, " by {several} subcompactions"),
                }
            }
            Event::Moved { family, plan } => write!(f, "[{family}] moved {plan}"),
            Event::Stall { family, condition } => write!(f, "[{family}] writes {condition}"),
            Event::BackgroundError { action, error } => write!(f, "{action} failed: {error}"),
            Event::CorruptionFound {
                family,
                path,
                offset,
                smallest_key,
                largest_key,
                error,
            } => write!(
                f,
                "[{family}] damage in {path} at {offset}, keys {} to {}: {error}",
                smallest_key.escape_ascii(),
                largest_key.escape_ascii()
            ),
            Event::FileDeleted { path } => write!(f, "deleted {path}"),
            Event::WalDropped { path, reason } => write!(f, "recovery dropped part of {path}: {reason}"),
            Event::UnknownOption { section, name } => {
                write!(f, "OPTIONS [{section}] {name}: unknown option, kept")
            }
        }
    }
}

/// Told of events, on the thread they happen on and with no lock held. Must return soon and must not call the database.
pub trait EventListener: Send + Sync {
    /// Called once an event.
    fn on_event(&self, event: &Event);
}
