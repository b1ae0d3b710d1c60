//! `max_open_files`: when too many files are open, the least recently read ones are closed.

use std::collections::VecDeque;

use base::sync::Mutex;

/// An open file that may be closed; its next reader opens it again.
pub(crate) trait Closable: Send + Sync {
    /// The number of the file. Tables and blob files of one database share one sequence of numbers.
    fn number(&self) -> u64;
    /// True if the file was read since the last call.
    fn take_touched(&self) -> bool;
    /// True if a reader keeps the file open, as iterators do. Such a file is not removed from the list: it
    /// would stay open, and the next reader would open it once more.
    fn is_kept(&self) -> bool;
    /// Closes the file when its last reader is done.
    fn close(&self);
}

/// The limit of open files, one for all tables and blob files of all families of a database.
pub(crate) struct OpenLimit {
    /// The maximum number of open files; `None` sets no limit, and then nothing is recorded.
    limit: Option<usize>,
    open: Mutex<VecDeque<Box<dyn Closable>>>,
}

impl OpenLimit {
    /// A limit from `max_open_files`; -1 sets no limit. A few descriptors are reserved for WAL, MANIFEST and
    /// output files.
    pub fn new(max_open_files: i32) -> OpenLimit {
        let limit = usize::try_from(max_open_files)
            .ok()
            .map(|files| files.saturating_sub(10).max(1));
        OpenLimit {
            limit,
            open: Mutex::default(),
        }
    }

    /// The maximum number of open files; `None` without a limit.
    pub fn most(&self) -> Option<usize> {
        self.limit
    }

    /// Records that `file` was opened, and closes other files if there are too many.
    pub(crate) fn opened(&self, file: impl Closable + 'static) {
        let Some(limit) = self.limit else { return };
        let mut open = self.open.lock();
        open.push_back(Box::new(file));
        // A file that was touched once gets a second chance. The loop is bounded, because more files than the
        // limit may be kept open.
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

    /// Removes file `number` from the list: its owner closes it, or keeps it open.
    pub(crate) fn forget(&self, number: u64) {
        if self.limit.is_some() {
            self.open.lock().retain(|open| open.number() != number);
        }
    }
}
