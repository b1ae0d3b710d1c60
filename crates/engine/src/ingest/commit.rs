//! The second phase: prepared files become part of their families, all in one step.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::MutexGuard;
use base::{Error, Result, SeqNo, internal_key};
use compact::picker::JobId;
use manifest::{FileMetadata, Version, VersionEdit};
use memtable::Memtable;
use vfs::{Access, CreateOptions, OpenOptions};

use super::cut::Borders;
use super::latch::Reserved;
use super::levels::FilePlacement;
use super::prepare::{PreparedFamily, PreparedFile};
use super::replace::changed;
use crate::events::{Event, IngestedFile};
use crate::files::table_cache::file_stats;
use crate::log::log_line;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, INGESTION};
use crate::state::level_stats::IngestedStats;
use crate::state::removals::KeyRange;

impl DbInner {
    /// Makes prepared files part of their families, or removes them from the directory after an error.
    pub(super) fn commit_ingestion(&self, mut families: Vec<PreparedFamily>) -> Result<SeqNo> {
        let mut recorded = false;
        let committed = self.guarded(INGESTION, || {
            merge(&mut families)?;
            self.put_in_place(&mut families, &mut recorded)
        });
        match committed {
            Ok(_) => self.remove_originals(&families),
            // The caller gets the first error; later errors are dropped.
            Err(_) if !recorded => drop(self.remove_prepared(families)),
            // The contents of a MANIFEST whose write failed are unknown; the next open decides.
            Err(_) => {}
        }
        committed
    }

    /// Removes the original names of files that were moved.
    pub(super) fn remove_originals(&self, families: &[PreparedFamily]) {
        let moved = families.iter().filter(|own| own.options.move_files);
        for file in moved.flat_map(|own| &own.files) {
            if let Err(error) = self.options.fs.remove(&file.from) {
                log_line!(
                    self.log,
                    Warn,
                    "{} was added to DB successfully but failed to remove original file link : {error}",
                    file.from.display()
                );
            }
        }
    }

    /// Installs the prepared files. `recorded` is set once the MANIFEST may name them. Writers of keys
    /// outside the files' ranges continue: see `latch.rs`.
    fn put_in_place(&self, families: &mut [PreparedFamily], recorded: &mut bool) -> Result<SeqNo> {
        let latch = self.latch_ranges(families)?;
        self.flush_overlapping(families)?;
        // Most of the WAL is synced now, before snapshots have to wait for the installation.
        self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
        let mut spanned = Vec::new();
        loop {
            let mut reserved = self.reserve_seqnos(families, &spanned)?;
            let tried = self.try_to_install(families, &spanned, &reserved, recorded);
            drop(reserved.gate.take());
            match tried {
                Ok(Ok(installed)) => {
                    let newest = self.settle_seqnos(&reserved, installed.last);
                    let is_newest = newest == installed.last;
                    for (family, range, replaced) in installed.written {
                        // If rows were written meanwhile, a transaction may have read at a higher number than
                        // that of the files, before they were installed.
                        let seqno = (replaced || !is_newest).then_some(newest);
                        family.removals.end(&range, seqno);
                    }
                    drop(latch);
                    self.notify_installed(families, &installed.places, installed.shapes);
                    return Ok(installed.last);
                }
                Ok(Err(obstacle)) => {
                    self.release_seqnos(reserved);
                    match obstacle {
                        Obstacle::Memtables(families) => spanned = families,
                        Obstacle::ExclusiveJob => spanned.clear(),
                    }
                }
                Err(error) => {
                    self.release_seqnos(reserved);
                    return Err(error);
                }
            }
        }
    }

    fn try_to_install(
        &self,
        families: &mut [PreparedFamily],
        spanned: &[u32],
        reserved: &Reserved<'_>,
        recorded: &mut bool,
    ) -> Result<Result<Installed, Obstacle>> {
        if !spanned.is_empty() {
            let switched = self.state.lock().switched_with(spanned.to_vec());
            self.finish_flush(&switched)?;
        }
        self.sync_wal(reserved.records)?;
        let mut borders = self.cut_borders(families)?;
        let mut last = reserved.before;
        let mut state = self.state.lock();
        self.claim_manifest_for_files(&mut state, families)?;
        let mut taken = Vec::new();
        let planned = self.guarded_in(&mut state, INGESTION, |state| {
            let places = match self.place_files(state, families, &borders, &mut last, &mut taken)? {
                Ok(places) => places,
                Err(obstacle) => return Ok(Err(obstacle)),
            };
            let spanning = spanning(state, families, &places, reserved)?;
            if !spanning.is_empty() {
                return Ok(Err(Obstacle::Memtables(spanning)));
            }
            MutexGuard::unlocked(state, || self.write_seqnos(families, &places))?;
            let edits = self.edits(state, families, &borders, &places)?;
            Ok(Ok((places, edits)))
        });
        let outcome = match planned {
            Ok(Ok((places, edits))) => {
                *recorded = true;
                borders.recorded = true;
                let files = edits.iter().flat_map(|edit| &edit.new_files);
                last = files.fold(last, |last, (_, file)| last.max(file.largest_seqno));
                let written = self.record_ranges(families, &places, &mut last);
                for own in families.iter() {
                    own.family.file_changes.ingested(last);
                }
                let applied = self.apply_claimed(&mut state, edits, Some(last), |_| ());
                match applied {
                    Ok(()) => Ok(Ok((places, written))),
                    Err(error) => {
                        let end = |(family, range, _): &WrittenRange| family.removals.end(range, None);
                        written.iter().for_each(end);
                        Err(error)
                    }
                }
            }
            Ok(Err(obstacle)) => {
                self.disclaim_manifest(&mut state);
                Ok(Err(obstacle))
            }
            Err(error) => {
                self.disclaim_manifest(&mut state);
                Err(error)
            }
        };
        for (family, id) in taken {
            if let Some(own) = state.families.get_mut(&family) {
                own.running.finish(id);
            }
        }
        let installed = outcome.map(|outcome| {
            outcome.map(|(places, written)| Installed {
                shapes: self.record_installed(&mut state, families, &places),
                places,
                written,
                last,
            })
        });
        // When the rewritten border tables are dropped, their destructor takes the database mutex.
        drop(state);
        installed
    }

    /// Records the ranges of the ingestion, for transactions that have read them. The replacement of a range
    /// takes a sequence number.
    fn record_ranges(
        &self,
        families: &[PreparedFamily],
        places: &[Vec<FilePlacement>],
        last: &mut SeqNo,
    ) -> Vec<WrittenRange> {
        let written = families.iter().zip(places).filter_map(|(own, places)| {
            let numbered = places.iter().any(|place| place.seqno > 0);
            let (family, range) = own.written_range(numbered)?;
            Some((family, range, own.replace.is_some()))
        });
        let written: Vec<WrittenRange> = written.collect();
        for (family, range, _) in &written {
            family.removals.begin(range.clone(), self.oldest_snapshot());
        }
        *last += u64::from(written.iter().any(|(_, _, replaced)| *replaced));
        written
    }

    /// Called when files are installed, under the same lock. Returns the number of files of each level, by
    /// family.
    pub(super) fn record_installed(
        &self,
        state: &mut DbState,
        families: &[PreparedFamily],
        places: &[Vec<FilePlacement>],
    ) -> Vec<Vec<usize>> {
        let mut shapes = Vec::new();
        for (prepared, places) in families.iter().zip(places) {
            let own = state.families.get_mut(&prepared.family.id);
            let (shape, stall) = own.map_or_else(Default::default, |own| {
                own.stats.ingested(ingested_stats(prepared, places));
                (own.level_files(), self.record_stall(own))
            });
            shapes.push(shape);
            state.stall_events.extend(stall);
        }
        self.changed.notify_all();
        self.work.notify_all();
        shapes
    }

    /// Notifies listeners of installed files, without any lock.
    pub(super) fn notify_installed(
        &self,
        families: &[PreparedFamily],
        places: &[Vec<FilePlacement>],
        shapes: Vec<Vec<usize>>,
    ) {
        let job = self.new_job();
        for ((own, places), level_files) in families.iter().zip(places).zip(shapes) {
            self.notify(&ingested(own, places, job, level_files));
        }
        self.notify_stalls();
    }

    /// Waits until this thread has claimed the MANIFEST and no exclusive job of these families runs.
    /// Exclusive jobs of families whose ranges are replaced have ended before.
    fn claim_manifest_for_files(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        families: &[PreparedFamily],
    ) -> Result<()> {
        loop {
            state.check_writable()?;
            self.claim_manifest(state)?;
            let in_the_way = families.iter().filter(|own| own.replace.is_none()).find(|own| {
                let running = state.families.get(&own.family.id).map(|own| &own.running);
                running.is_some_and(|running| running.is_exclusive())
            });
            let Some(own) = in_the_way else { return Ok(()) };
            self.disclaim_manifest(state);
            self.wait_in_line(state, own.family.id);
        }
    }

    /// Determines the level of each file, and keeps compactions away from it until `taken` is released.
    fn place_files(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        families: &[PreparedFamily],
        borders: &Borders<'_>,
        last: &mut SeqNo,
        taken: &mut Vec<(u32, JobId)>,
    ) -> Result<Result<Vec<Vec<FilePlacement>>, Obstacle>> {
        let mut versions: Vec<Arc<Version>> = Vec::new();
        for own in families {
            let family = state.family_mut(own.family.id)?;
            versions.push(match own.replace.as_ref().zip(borders.of(own.family.id)) {
                Some((range, borders)) => changed(&family.version, &borders.change(range, &family.version))?,
                None => family.version.clone(),
            });
        }
        let overlaps = MutexGuard::unlocked(state, || {
            let looked_at = families.iter().zip(&versions);
            looked_at
                .map(|(own, version)| own.overlaps(version))
                .collect::<Result<Vec<_>>>()
        })?;
        let snapshots = self.snapshots.len() > 0;
        let mut places = Vec::new();
        for ((own, version), overlaps) in families.iter().zip(&versions).zip(&overlaps) {
            let family = state.family_mut(own.family.id)?;
            if own.replace.is_none() && family.running.is_exclusive() {
                return Ok(Err(Obstacle::ExclusiveJob));
            }
            let found = own.place(version, &family.running, overlaps, snapshots, last)?;
            for (file, place) in own.files.iter().zip(&found) {
                let (start, limit) = (file.external.start(), file.external.limit());
                taken.push((own.family.id, family.running.reserve(place.level, start, limit)));
            }
            places.push(found);
        }
        Ok(Ok(places))
    }

    /// Writes sequence numbers into the files that must contain theirs.
    fn write_seqnos(&self, families: &mut [PreparedFamily], places: &[Vec<FilePlacement>]) -> Result<()> {
        for (own, places) in families.iter_mut().zip(places) {
            for (file, place) in own.files.iter_mut().zip(places) {
                if let Some(at) = file.external.global_seqno_at.filter(|_| place.seqno != 0) {
                    self.write_seqno(&file.path, at, place.seqno)?;
                    file.checksum = match file.checksum {
                        Some(_) => self.checksum_of(&file.path)?,
                        None => None,
                    };
                }
            }
        }
        Ok(())
    }

    /// Replaces the file by a copy with `seqno` at offset `at`: the original may have other links.
    fn write_seqno(&self, path: &Path, at: u64, seqno: SeqNo) -> Result<()> {
        let fs = &*self.options.fs;
        let access = OpenOptions {
            access: Access::Sequential,
            ..OpenOptions::default()
        };
        let reader = fs.open_random(path, &access)?;
        let temporary = path.with_extension("dbtmp");
        let mut writer = fs.create(&temporary, &CreateOptions::default())?;
        let bytes = seqno.to_le_bytes();
        let mut offset = 0;
        let mut piece = Vec::new();
        let copied = reader.for_each_piece(&mut |read| {
            piece.clear();
            piece.extend_from_slice(read);
            for (place, byte) in (at..).zip(bytes) {
                if let Some(place) = place
                    .checked_sub(offset)
                    .and_then(|place| piece.get_mut(place as usize))
                {
                    *place = byte;
                }
            }
            offset += read.len() as u64;
            writer.append(&piece)
        });
        let written = copied
            .and_then(|()| writer.sync())
            .and_then(|()| writer.close())
            .and_then(|()| fs.rename(&temporary, path))
            .and_then(|()| match path.parent() {
                Some(dir) => fs.sync_dir(dir),
                None => Ok(()),
            });
        written.inspect_err(|_| {
            // The caller gets the first error; later errors are dropped.
            let _ = fs.remove(&temporary);
        })
    }

    /// The version edits for the MANIFEST, one per family. An error if the edits do not result in a valid
    /// version.
    fn edits(
        &self,
        state: &DbState,
        families: &[PreparedFamily],
        borders: &Borders<'_>,
        places: &[Vec<FilePlacement>],
    ) -> Result<Vec<VersionEdit>> {
        let now = self.options.clock.unix_seconds();
        let mut edits = Vec::new();
        for (own, places) in families.iter().zip(places) {
            let Some(version) = state.families.get(&own.family.id).map(|own| &own.version) else {
                own.family.check_writable()?;
                continue;
            };
            let epoch = version.next_epoch_number();
            let mut edit = match own.replace.as_ref().zip(borders.of(own.family.id)) {
                Some((range, borders)) => borders.change(range, version),
                None => VersionEdit::default(),
            };
            edit.column_family = own.family.id;
            for (level, piece) in &edit.new_files {
                if *level == 0 {
                    own.family.tables.mark_level_0(piece);
                }
            }
            for ((file, place), nth) in own.files.iter().zip(places).zip(0..) {
                let metadata = Arc::new(FileMetadata {
                    temperature: own.temperature,
                    ..metadata(&own.family, file, *place, epoch_of(own, epoch, nth), now)
                });
                if place.level == 0 {
                    own.family.tables.mark_level_0(&metadata);
                }
                edit.new_files.push((place.level as u32, metadata));
            }
            let mut builder = manifest::VersionBuilder::new(version);
            builder
                .apply(&edit)
                .and_then(|()| builder.build())
                .map_err(|error| Error::invalid_argument(error.message().to_owned()))?;
            edits.push(edit);
        }
        Ok(edits)
    }
}

/// The result of an installation.
struct Installed {
    /// The level and sequence number of each file, by family.
    places: Vec<Vec<FilePlacement>>,
    /// The number of files of each level, by family.
    shapes: Vec<Vec<usize>>,
    written: Vec<WrittenRange>,
    /// The last sequence number that was used.
    last: SeqNo,
}

/// A range whose write transactions do not see yet; true if the rows of the range are replaced.
type WrittenRange = (Arc<Family>, KeyRange, bool);

/// The reason why files cannot be installed yet.
enum Obstacle {
    /// The memtables of these families must be flushed first.
    Memtables(Vec<u32>),
    /// A job that must be the only one of its family began while the levels of the files were determined. It
    /// may be waiting for the MANIFEST.
    ExclusiveJob,
}

/// The families that get files in L0 with a sequence number, and in which a table has or may get sequence
/// numbers below and above that of the file. L0 files are ordered by their sequence numbers: that table would
/// be the newer one, although its rows of the file's keys are older. Such a table comes from older rows in
/// memory that are flushed with later ones (memtables that were begun after the reservation have only later
/// rows), is in L0 already, or comes from a running compaction of a table with later rows.
fn spanning(
    state: &DbState,
    families: &[PreparedFamily],
    places: &[Vec<FilePlacement>],
    reserved: &Reserved<'_>,
) -> Result<Vec<u32>> {
    let mut spanning = Vec::new();
    for (own, places) in families.iter().zip(places) {
        let numbered = own
            .files
            .iter()
            .zip(places)
            .any(|(file, place)| place.level == 0 && (place.seqno > 0 || file.external.seqnos.is_some()));
        let has_older = |table: &Memtable| table.first_seqno().is_some_and(|first| first <= reserved.before);
        let in_memory = state.families.get(&own.family.id).is_some_and(|state| {
            let mut immutable = state.immutable.iter().map(|immutable| &immutable.memory.table);
            has_older(&state.mem.table) || immutable.any(|table| has_older(table))
        });
        let spans = |file: &FileMetadata| {
            let may_span = file.smallest_seqno <= reserved.before || file.is_being_compacted();
            file.largest_seqno > reserved.before && may_span
        };
        let in_level0 = state.families.get(&own.family.id).is_some_and(|state| {
            let mut files = state.version.files(0).iter();
            files.any(|file| spans(file))
        });
        if numbered && (in_memory || in_level0) {
            own.check_may_flush()?;
            spanning.push(own.family.id);
        }
    }
    Ok(spanning)
}

/// Several handles of one family are merged; the files of a later handle come later.
fn merge(families: &mut Vec<PreparedFamily>) -> Result<()> {
    let same = |a: &PreparedFamily, b: &PreparedFamily| a.family.id == b.family.id;
    for at in (1..families.len()).rev() {
        let Some(first) = families[..at].iter().position(|own| same(own, &families[at])) else {
            continue;
        };
        if families[first].replace.is_some() || families[at].replace.is_some() {
            return Err(Error::not_supported(
                "cannot merge file ingestion handles for the same column family when atomic_replace_range is used",
            ));
        }
        if families[first].options != families[at].options {
            return Err(Error::invalid_argument(
                "file ingestion handles for the same column family must be prepared with the same IngestExternalFileOptions",
            ));
        }
    }
    let mut at = 1;
    while at < families.len() {
        match families[..at].iter().position(|own| same(own, &families[at])) {
            Some(first) => {
                let later = families.remove(at);
                families[first].files.extend(later.files);
            }
            None => at += 1,
        }
    }
    families.iter().try_for_each(PreparedFamily::check_overlap)
}

/// The epoch number, which orders files within L0, if the family's files have one. Files that are ingested
/// behind get RocksDB's reserved number.
fn epoch_of(own: &PreparedFamily, next: Option<u64>, nth: u64) -> Option<u64> {
    const BEHIND: u64 = 1;
    next.map(|next| {
        if own.options.ingest_behind {
            BEHIND
        } else {
            next + nth
        }
    })
}

/// The MANIFEST's metadata of a file.
pub(super) fn metadata(
    family: &Family,
    file: &PreparedFile,
    place: FilePlacement,
    epoch_number: Option<u64>,
    now: u64,
) -> FileMetadata {
    let external = &file.external;
    let properties = &external.properties;
    // Only a bound with sequence number 0 gets that of the file: a bound that is the end of a range deletion
    // has a special sequence number already.
    let numbered = |key: &[u8]| -> Box<[u8]> {
        let mut key = key.to_vec();
        if internal_key::seqno(&key) == 0 {
            let at = key.len() - internal_key::TRAILER_LEN;
            let trailer = internal_key::pack_trailer(place.seqno, internal_key::kind_byte(&key));
            key[at..].copy_from_slice(&trailer.to_le_bytes());
        }
        key.into()
    };
    let (smallest_seqno, largest_seqno) = external.seqnos.unwrap_or((place.seqno, place.seqno));
    let metadata = FileMetadata {
        number: external.number,
        size: external.size,
        smallest: numbered(&external.smallest),
        largest: numbered(&external.largest),
        smallest_seqno,
        largest_seqno,
        // A file that consists of one range deletion is marked: the sooner it is compacted, the sooner the
        // deleted data is gone.
        marked_for_compaction: properties.num_range_deletions == 1 && properties.num_entries == 1,
        oldest_ancestor_time: now,
        file_creation_time: now,
        file_checksum: file.checksum.clone(),
        unique_id: properties.unique_id(),
        epoch_number,
        min_timestamp: properties.timestamp_min.as_slice().into(),
        max_timestamp: properties.timestamp_max.as_slice().into(),
        user_defined_timestamps_persisted: !family.cuts_timestamps(),
        padded_timestamp_size: family.cut_timestamp_size(),
        ..FileMetadata::default()
    };
    metadata.stats.get_or_init(|| file_stats(properties));
    metadata
}

fn ingested_stats(own: &PreparedFamily, places: &[FilePlacement]) -> IngestedStats {
    let mut sum = IngestedStats::default();
    for (file, place) in own.files.iter().zip(places) {
        sum += IngestedStats {
            bytes: file.external.size,
            files: 1,
            l0_files: u64::from(place.level == 0),
            keys: file.external.properties.num_entries,
        };
    }
    sum
}

fn ingested(own: &PreparedFamily, places: &[FilePlacement], job: u64, level_files: Vec<usize>) -> Event {
    let files = own.files.iter().zip(places).map(|(file, place)| IngestedFile {
        external_path: file.from.display().to_string(),
        file: file.external.number,
        level: place.level,
        global_seqno: place.seqno,
        bytes: file.external.size,
        entries: file.external.properties.num_entries,
        copied: file.copied,
    });
    Event::Ingested {
        family: own.family.name.clone(),
        job,
        files: files.collect(),
        level_files,
    }
}

#[cfg(test)]
mod tests {
    use base::UserComparator;
    use vfs::MemFs;

    use crate::ingest::IngestExternalFileOptions;
    use crate::ingest::sst_file_writer::SstFileWriter;
    use crate::options::Options;
    use crate::state::handle::Db;

    /// The bounds of a table whose keys have no timestamps have none in the MANIFEST, for RocksDB and for
    /// later opens.
    #[test]
    fn a_file_without_timestamps_is_recorded_as_one() {
        let mut options = Options {
            create_if_missing: true,
            allow_concurrent_memtable_write: false,
            fs: std::sync::Arc::new(MemFs::new()),
            ..Options::default()
        };
        options.column_family.comparator = UserComparator::BytewiseU64Ts;
        options.column_family.persist_user_defined_timestamps = false;
        let db = Db::open(&options, "/db").unwrap();
        let mut writer = SstFileWriter::new(&options);
        writer.open("/outside.sst").unwrap();
        writer.put_at(b"a", &[0; 8], b"1").unwrap();
        writer.finish().unwrap();
        db.ingest_external_file(&["/outside.sst"], &IngestExternalFileOptions::default())
            .unwrap();
        let super_version = db.default_column_family().0.super_version.load_full();
        let (_, file) = super_version.version.all_files().next().unwrap();
        let recorded = (file.user_defined_timestamps_persisted, file.padded_timestamp_size);
        assert_eq!(recorded, (false, size_of::<u64>()));
    }
}
