//! Conversion of WALs to tables: every readable batch is used, past corruption too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use base::{Error, Kind, Result, SeqNo, internal_key};
use sst::{BlockReadOptions, Table};
use vfs::{Access, OpenOptions};
use wal::{ReaderOptions, RecoveryMode};

use crate::batch::operation::Operations;
use crate::lifecycle::repair::{FoundFamily, Listing, Repair, is_damage};
use crate::lifecycle::set_aside::LargeRows;
use crate::options::Options;
use crate::state::db_inner::DbInner;
use crate::state::sections::Sections;

/// The maximum number of tables that are open for lookups of merge operands.
const MOST_OPEN: usize = 200;

/// Calls `on_batch` with each batch that decodes. Returns the first corruption, even if batches after it were
/// read.
fn for_each_batch(
    options: &Options,
    number: u64,
    path: &Path,
    on_batch: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<Error>> {
    let access = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    let file = options.fs.open_random(path, &access)?;
    // A WAL begins with the record of its compression, which has no log number.
    let recycled = wal::dump::PhysicalRecords::new(file.clone())
        .take(2)
        .any(|record| record.is_ok_and(|record| record.log_number.is_some()));
    let mut reader = wal::Reader::new(
        file,
        ReaderOptions {
            log_number: Some(number),
            mode: RecoveryMode::SkipAnyCorruptedRecords,
        },
    );
    let mut damage = None;
    let mut batch = Vec::new();
    let mut end = 0;
    loop {
        match reader.read_record_into(&mut batch) {
            Ok(false) => break,
            Ok(true) => {}
            // Reading cannot continue after this error.
            Err(error) if is_damage(&error) => {
                damage.get_or_insert(error);
                break;
            }
            Err(error) => return Err(error),
        }
        end = reader.record_end();
        // A batch is used completely or not at all.
        let decoded = Operations::new(&batch)
            .and_then(|operations| Sections::new(true).apply(operations, |_, _, _, _, _| {}));
        match decoded {
            Ok(_) => on_batch(&batch)?,
            Err(error) => {
                damage.get_or_insert_with(|| error.at(reader.record_offset()).in_file(path));
            }
        }
    }
    // In a recycled file, a record of the file's former contents follows the last record.
    let mut dropped = reader.dropped().iter();
    let dropped = dropped.find(|dropped| !recycled || dropped.offset < end);
    Ok(damage.or_else(|| {
        dropped.map(|dropped| {
            Error::corruption(format!("{} bytes dropped: {}", dropped.bytes, dropped.reason))
                .at(dropped.offset)
                .in_file(path)
        })
    }))
}

/// The ids of the column families with rows in WALs.
pub(super) fn families_in(options: &Options, files: &Listing) -> Result<BTreeSet<u32>> {
    let mut families = BTreeSet::new();
    let mut sections = Sections::new(true);
    for (&number, path) in &files.wals {
        for_each_batch(options, number, path, &mut |batch| {
            let operations = Operations::new(batch)?;
            let applied = sections.apply(operations, |family, _, _, _, _| {
                families.insert(family);
            });
            applied.map(drop)
        })?;
    }
    Ok(families)
}

impl Repair<'_> {
    /// Replays all WALs into tables of `inner`, which are in no MANIFEST yet. Returns the sequence number of
    /// the last row.
    pub(super) fn replay(
        &mut self,
        inner: &DbInner,
        files: &Listing,
        families: &BTreeMap<u32, FoundFamily>,
        taken: &BTreeSet<u32>,
    ) -> Result<SeqNo> {
        let mut flushed = Flushed {
            options: self.options,
            open: HashMap::new(),
            doubtful: 0,
        };
        let mut last = 0;
        let mut sections = Sections::new(true);
        for (&number, path) in &files.wals {
            let size = self.options.fs.size(path)?;
            self.progress.check()?;
            let mut rows = 0;
            let mut large = LargeRows::new(self.options.row_limit);
            let damage = for_each_batch(self.options, number, path, &mut |batch| {
                let mut state = inner.state.lock();
                let mut failed = None;
                let operations = Operations::new(batch)?;
                large.begin_batch(number, &operations, batch.len());
                let applied = sections.apply(operations, |id, seqno, kind, key, value| {
                    if failed.is_some() || !taken.contains(&id) {
                        return;
                    }
                    let (Some(own), Some(family)) = (state.families.get(&id), families.get(&id)) else {
                        return;
                    };
                    if large.takes(id, seqno, kind, key, value) {
                        return;
                    }
                    match flushed.kind_of(family, key, seqno, kind, number) {
                        Ok(Some(kind)) => {
                            own.mem.table.add(seqno, kind, key, value);
                            rows += 1;
                        }
                        Ok(None) => {}
                        Err(error) => failed = Some(error),
                    }
                })?;
                last = last.max(applied.next.saturating_sub(1));
                failed.map_or(Ok(()), Err)?;
                inner.flush_full(&mut state).map(drop)
            })?;
            self.report.wal_rows += rows;
            let doubtful = std::mem::take(&mut flushed.doubtful);
            if doubtful > 0 {
                self.report.warnings.push(format!(
                    "{doubtful} merge operands of {number:06}.log may be in tables already: they are applied again"
                ));
            }
            let name = path.file_name().unwrap_or_default();
            let lost = self.lost.dir().join(name);
            let rows = large.rows.into_iter().map(|row| {
                let key = row.key.escape_ascii();
                row.error
                    .context(&format!("row '{key}' with sequence number {}", row.seqno))
                    .in_file(path)
            });
            let errors = damage.into_iter().chain(rows);
            self.report
                .lost
                .extend(errors.map(|error| crate::lifecycle::repair::LostFile {
                    path: lost.clone(),
                    error,
                }));
            self.progress.advance(size)?;
        }
        let outstanding = sections.iter().map(|(name, _)| {
            let name = name.escape_ascii();
            format!("transaction {name} was prepared and not ended: its rows are skipped")
        });
        self.report.warnings.extend(outstanding);
        inner.flush_recovered(&mut inner.state.lock())?;
        Ok(last)
    }
}

/// The answer to whether a table has a row of a WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Yes,
    No,
    /// A table that may be newer than the WAL has the key with a zeroed sequence number.
    Perhaps,
}

/// Looks up rows of WALs in tables. Only merge operands need it: other rows may be applied twice.
struct Flushed<'a> {
    options: &'a Options,
    open: HashMap<u64, Arc<Table>>,
    /// The number of rows of the current WAL that may be in tables.
    doubtful: u64,
}

impl Flushed<'_> {
    /// The kind under which a row of WAL `wal` is inserted. `None` if a table has the row already.
    fn kind_of(
        &mut self,
        family: &FoundFamily,
        user_key: &[u8],
        seqno: SeqNo,
        kind: Kind,
        wal: u64,
    ) -> Result<Option<Kind>> {
        let timestamps = family.cmp.timestamp_size() > 0;
        Ok(match kind {
            Kind::Deletion if timestamps => Some(Kind::DeletionWithTimestamp),
            Kind::Merge => match self.has(family, user_key, seqno, wal)? {
                Has::Yes => None,
                Has::No => Some(kind),
                Has::Perhaps => {
                    self.doubtful += 1;
                    Some(kind)
                }
            },
            _ => Some(kind),
        })
    }

    fn has(&mut self, family: &FoundFamily, user_key: &[u8], seqno: SeqNo, wal: u64) -> Result<Has> {
        let mut found = Has::No;
        let mut target = Vec::new();
        internal_key::set_seek_target(&mut target, user_key, seqno);
        for scanned in &family.tables {
            let file = &scanned.file;
            if file.is_before(&family.cmp, user_key) || file.is_after(&family.cmp, user_key) {
                continue;
            }
            if self.open.len() >= MOST_OPEN {
                self.open.clear();
            }
            let table = match self.open.get(&file.number) {
                Some(table) => table.clone(),
                None => {
                    let table = scanned.open(self.options)?;
                    self.open.insert(file.number, table.clone());
                    table
                }
            };
            let mut cursor = table.cursor(BlockReadOptions::default());
            cursor.seek(&target);
            while cursor.valid()
                && family
                    .cmp
                    .compare(internal_key::user_key(cursor.key()), user_key)
                    .is_eq()
            {
                match internal_key::seqno(cursor.key()) {
                    there if there == seqno => return Ok(Has::Yes),
                    0 if file.number > wal && !scanned.lacks_seqno => found = Has::Perhaps,
                    _ => {}
                }
                cursor.next();
            }
            cursor.status()?;
        }
        Ok(found)
    }
}
