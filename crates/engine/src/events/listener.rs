//! The interface of the receivers of events.

use base::Error;
use vfs::FileOperation;

use super::Event;

/// Receives events, on the thread where they occur and without locks, with these exceptions: while writers
/// wait for memtables to be flushed or begin a WAL, the writers' locks are held, and when a blob file is
/// begun or abandoned, the lock of the job's blob files. It must return soon and must not call the database.
///
/// A panic in it stops the database: nothing is written until [`Db::resume`](crate::Db::resume) or the next
/// open. The operation of the event continues, and other listeners are notified.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use esker::{Db, Event, EventListener, Options};
///
/// struct Print;
/// impl EventListener for Print {
///     fn on_event(&self, event: &Event) {
///         println!("{event}");
///     }
/// }
///
/// let options = Options {
///     create_if_missing: true,
///     listeners: vec![Arc::new(Print)],
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// db.put(b"key", b"value")?;
/// db.flush()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait EventListener: Send + Sync {
    /// The database calls this function once for each event.
    fn on_event(&self, event: &Event);

    /// Returns false to prevent the automatic recovery from `background_error`, which stops writes: RocksDB's
    /// `OnErrorRecoveryBegin` with its `auto_recovery`. Called for each listener before
    /// [`ErrorRecoveryBegun`](Event::ErrorRecoveryBegun), but not for [`Db::resume`](crate::Db::resume).
    fn on_error_recovery_begin(&self, _background_error: &Error) -> bool {
        true
    }

    /// True if the listener wants notifications of file operations. Called when a database is opened; if no
    /// listener wants them, they cost nothing.
    fn should_be_notified_on_file_io(&self) -> bool {
        false
    }

    /// Called when a read, append, flush, sync, close or truncation of a file of the database has finished or
    /// failed: RocksDB's `OnFileReadFinish`, `OnFileWriteFinish` and so on, and `OnIOError`. It runs on the
    /// thread of the operation, with the locks that the thread holds: it must not call the database, and
    /// writers may wait for it. A panic in it is a panic of the operation. Reads of memory maps and
    /// operations on the info log are not reported.
    fn on_file_operation(&self, _operation: &FileOperation<'_>) {}
}
