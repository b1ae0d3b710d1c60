//! Prepared sections in WALs that an open would pass over.

use base::Result;
use base::filename::{self, FileKind};
use wal::{ReaderOptions, RecoveryMode};

use crate::batch::operation::Operations;
use crate::state::db_inner::DbInner;
use crate::state::sections::{Sections, refused};

impl DbInner {
    /// `NotSupported` if an open without `allow_2pc` would skip and delete WALs with sections: those WALs
    /// that no family needs.
    pub(crate) fn check_no_sections(&self) -> Result<()> {
        if self.options.allow_2pc {
            return Ok(());
        }
        let unread = {
            let state = self.state.lock();
            state.recorded.min_log_number_to_keep..state.oldest_recorded_wal()
        };
        // The MANIFEST of a database that was never flushed does not record the oldest WAL.
        if unread.start == 0 || unread.is_empty() {
            return Ok(());
        }
        let names = self.options.fs.list(&self.wal_dir)?;
        let numbers = names.iter().filter_map(|name| match filename::parse(name) {
            Some(FileKind::Wal(number)) if unread.contains(&number) => Some(number),
            _ => None,
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        let mut sections = Sections::new(true);
        for number in numbers {
            self.look_for_sections(number, &mut sections)?;
            if !sections.is_empty() {
                return Err(refused().in_file(&filename::wal(&self.wal_dir, number)));
            }
        }
        Ok(())
    }

    /// Reads the sections of a WAL up to its first corruption. The rows of the WAL are in tables, so a
    /// corruption loses nothing.
    fn look_for_sections(&self, number: u64, sections: &mut Sections) -> Result<()> {
        let options = ReaderOptions {
            log_number: Some(number),
            mode: RecoveryMode::PointInTime,
        };
        for (_, file) in self.open_wals(&[number])? {
            let mut reader = wal::Reader::new(file, options);
            let mut record = Vec::new();
            while let Ok(true) = reader.read_record_into(&mut record) {
                let applied = Operations::new(&record)
                    .and_then(|operations| sections.apply(operations, |_, _, _, _, _| {}));
                if applied.is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}
