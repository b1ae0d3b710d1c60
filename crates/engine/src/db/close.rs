//! Closing: background work ends, rows no WAL holds are flushed, files are closed, the lock goes last.

use base::{Result, filename};

use super::{Db, DbInner};
use crate::log::log_line;

impl Db {
    /// Closes the database for all its handles and says whether that went well: flushes rows no WAL holds (unless asked not
    /// to), waits for background jobs, closes files. Dropping the last handle does the same and tells nobody.
    /// Iterators and pinned values stay readable; everything else fails from now on.
    pub fn close(&self) -> Result<()> {
        self.inner().close()
    }
}

impl DbInner {
    pub(crate) fn close(&self) -> Result<()> {
        if std::mem::replace(&mut self.state.lock().closed, true) {
            return Ok(());
        }
        log_line!(self.log, Info, "Shutdown: canceling all background work");
        self.begin_shutdown();
        let flushed = self.flush_unlogged();
        self.end_background_work();
        self.stop_verifier();
        let mut threads = std::mem::take(&mut *self.threads.lock());
        // The one started last deletes files, until the others have queued the last of them.
        let deleter = threads.pop();
        // A panic in a background thread has printed itself; there is nobody to hand it to.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        if let Some(share) = &self.share {
            share.set(0, 0);
        }
        let recyclable = std::mem::take(&mut self.state.lock().recyclable_wals);
        for number in recyclable {
            self.obsolete.add(filename::wal(&self.wal_dir, number));
        }
        self.obsolete.close();
        deleter.into_iter().for_each(|thread| drop(thread.join()));
        let closed_wal = self
            .writer
            .lock()
            .wal
            .take()
            .map_or(Ok(()), |mut wal| wal.close());
        let closed_manifest = self.versions.close();
        log_line!(self.log, Info, "Shutdown complete");
        self.log.close();
        drop(self.lock.lock().take());
        flushed.and(closed_wal).and(closed_manifest)
    }
}
