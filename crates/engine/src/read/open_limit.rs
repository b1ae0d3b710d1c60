//! `max_open_files`: what was longest not read is closed when too many files are open.

use std::collections::VecDeque;

use base::sync::Mutex;

/// An open file that may be closed: whoever reads it again opens it again.
pub(super) trait Closable: Send + Sync {
    /// The number of the file, of whatever kind: no two of a database have the same.
    fn number(&self) -> u64;
    /// True if it was read since this was asked last.
    fn take_touched(&self) -> bool;
    /// True if somebody keeps it open, as iterators do. Closed from here it would still be open, and opened once more by the next reader.
    fn is_kept(&self) -> bool;
    /// Closes it when its last reader is done.
    fn close(&self);
}

/// One for all tables and blob files of all families of a database.
pub(crate) struct OpenLimit {
    /// Files open at most; `None` sets no limit, and then nothing is recorded.
    limit: Option<usize>,
    open: Mutex<VecDeque<Box<dyn Closable>>>,
}

impl OpenLimit {
    /// For `max_open_files`; -1 sets no limit. A few descriptors are left for WAL, MANIFEST and outputs.
    pub fn new(max_open_files: i32) -> OpenLimit {
        let limit = usize::try_from(max_open_files)
            .ok()
            .map(|files| files.saturating_sub(10).max(1));
        OpenLimit {
            limit,
            open: Mutex::default(),
        }
    }

    /// Files open at most; `None`: as many as there are.
    pub fn most(&self) -> Option<usize> {
        self.limit
    }

    /// `file` was opened; others are closed for it.
    pub(super) fn opened(&self, file: impl Closable + 'static) {
        let Some(limit) = self.limit else { return };
        let mut open = self.open.lock();
        open.push_back(Box::new(file));
        // Each that was touched once gets another turn, and no more are looked at: those that are kept may be more than the limit.
        for looked_at in 0..2 * limit {
            if open.len() <= limit {
                break;
            }
            let Some(file) = open.pop_front() else { break };
            if file.is_kept() || file.take_touched() && looked_at < limit {
                open.push_back(file);
            } else {
                file.close();
            }
        }
    }

    /// The file of that number is not to be closed from here any more: it goes, or stays, by other means.
    pub(super) fn forget(&self, number: u64) {
        if self.limit.is_some() {
            self.open.lock().retain(|open| open.number() != number);
        }
    }
}
