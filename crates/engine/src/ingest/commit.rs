//! The second phase: prepared files become part of their families, all in one step.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::MutexGuard;
use base::{Error, Result, SeqNo, internal_key};
use compact::picker::JobId;
use manifest::{FileMetadata, Version, VersionEdit};
use vfs::{Access, CreateOptions, OpenOptions};

use super::levels::Place;
use super::prepare::{PreparedFamily, PreparedFile};
use super::replace::{deletions, without};
use crate::events::{Event, IngestedFile};
use crate::files::table_cache::file_stats;
use crate::log::log_line;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, INGESTION};
use crate::state::level_stats::IngestedStats;
use crate::state::removals::KeyRange;
use crate::state::write_queue::Settled;

impl DbInner {
    /// Records the replaced ranges, for transactions that have read them, with a new sequence number.
    fn note_replaced(&self, families: &[PreparedFamily], last: &mut SeqNo) -> Vec<(Arc<Family>, KeyRange)> {
        let ranges = families.iter().filter_map(|own| {
            let range = own.replace.as_ref()?.to_key_range();
            Some((own.family.clone(), range))
        });
        let ranges: Vec<(Arc<Family>, KeyRange)> = ranges.collect();
        for (family, range) in &ranges {
            family.removals.begin(range.clone(), self.oldest_snapshot());
        }
        *last += u64::from(!ranges.is_empty());
        ranges
    }

    /// Makes prepared files part of their families, or removes them from the directory after an error.
    pub(super) fn commit_ingestion(&self, mut families: Vec<PreparedFamily>) -> Result<SeqNo> {
        let mut recorded = false;
        let committed = self.guarded(INGESTION, || {
            merge(&mut families)?;
            self.put_in_place(&mut families, &mut recorded)
        });
        match committed {
            Ok(_) => self.remove_originals(&families),
            // The first error is the one to report.
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

    /// `recorded` is set once the MANIFEST may name the files.
    fn put_in_place(&self, families: &mut [PreparedFamily], recorded: &mut bool) -> Result<SeqNo> {
        let mut writer = self.writer.lock();
        for own in families.iter() {
            own.family.check_writable()?;
        }
        let mut spanned = Vec::new();
        loop {
            let to_flush = self.switch_overlapping(&mut writer, families, &spanned)?;
            if !to_flush.is_empty() {
                self.finish_flush(&to_flush)?;
            }
            // Earlier rows must not be lost while the ingested rows survive.
            self.flush_wal_of(&mut writer)?;
            self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
            match self.try_to_install(&mut writer, families, recorded)? {
                Err(Obstacle::Memtables(families)) => spanned = families,
                Err(Obstacle::ExclusiveJob) => spanned.clear(),
                Ok((state, places)) => {
                    let last = writer.last_seqno;
                    self.tell_ingested(state, writer, families, &places);
                    return Ok(last);
                }
            }
        }
    }

    /// Switches the memtables that hold rows older than the ingested files, and those of the families
    /// `spanned`. Returns when the WAL is not locked, with the families to flush; no row has been written
    /// since they were determined.
    fn switch_overlapping(
        &self,
        writer: &mut Settled<'_>,
        families: &[PreparedFamily],
        spanned: &[u32],
    ) -> Result<Vec<u32>> {
        loop {
            self.wait_until_wal_unlocked(writer)?;
            let mut to_flush = overlapping(families)?;
            to_flush.extend(spanned);
            let to_flush = self.state.lock().switched_with(to_flush);
            if to_flush.is_empty() || !self.switch_to_flush(writer, &to_flush)? {
                return Ok(to_flush);
            }
        }
    }

    fn try_to_install(
        &self,
        writer: &mut Settled<'_>,
        families: &mut [PreparedFamily],
        recorded: &mut bool,
    ) -> Result<Result<Installed<'_>, Obstacle>> {
        let mut last = writer.last_seqno;
        let mut state = self.state.lock();
        self.claim_manifest_for_files(&mut state, families)?;
        // While the gate exists no snapshot is taken: one taken now would later show files that were not
        // there.
        let gate = families
            .iter()
            .any(|own| own.options.snapshot_consistency)
            .then(|| self.snapshots.close_gate());
        let mut reserved = Vec::new();
        let planned = self.guarded_in(&mut state, INGESTION, |state| {
            let places = match self.place_files(state, families, &mut last, &mut reserved)? {
                Ok(places) => places,
                Err(obstacle) => return Ok(Err(obstacle)),
            };
            let spanning = spanning(state, families, &places)?;
            if !spanning.is_empty() {
                return Ok(Err(Obstacle::Memtables(spanning)));
            }
            MutexGuard::unlocked(state, || self.write_seqnos(families, &places))?;
            let edits = self.edits(state, families, &places)?;
            Ok(Ok((places, edits)))
        });
        let outcome = match planned {
            Ok(Ok((places, edits))) => {
                *recorded = true;
                let files = edits.iter().flat_map(|edit| &edit.new_files);
                last = files.fold(last, |last, (_, file)| last.max(file.largest_seqno));
                let replaced = self.note_replaced(families, &mut last);
                let applied = self.apply_claimed(&mut state, edits, Some(last), |_| ());
                for (family, range) in replaced {
                    family.removals.end(&range, applied.is_ok().then_some(last));
                }
                applied.map(|()| Ok(places))
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
        drop(gate);
        for (family, id) in reserved {
            if let Some(own) = state.families.get_mut(&family) {
                own.running.finish(id);
            }
        }
        Ok(outcome?.map(|places| {
            writer.last_seqno = last;
            (state, places)
        }))
    }

    /// Called when files are installed: releases the reservations and notifies listeners.
    pub(super) fn tell_ingested(
        &self,
        mut state: MutexGuard<'_, DbState>,
        writer: Settled<'_>,
        families: &[PreparedFamily],
        places: &[Vec<Place>],
    ) {
        let job = self.new_job();
        let mut shapes = Vec::new();
        for (prepared, places) in families.iter().zip(places) {
            let own = state.families.get_mut(&prepared.family.id);
            let (shape, stall) = own.map_or_else(Default::default, |own| {
                own.stats.ingested(ingested_stats(prepared, places));
                (own.level_files(), self.note_stall(own))
            });
            shapes.push(shape);
            state.stall_events.extend(stall);
        }
        self.changed.notify_all();
        self.work.notify_all();
        drop(state);
        drop(writer);
        for ((own, places), level_files) in families.iter().zip(places).zip(shapes) {
            self.notify(&ingested(own, places, job, level_files));
        }
        self.tell_stalls();
    }

    /// Returns once only the caller changes versions, and no job runs that must be the only one of its family
    /// or, if a range is replaced, no job at all.
    fn claim_manifest_for_files(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        families: &[PreparedFamily],
    ) -> Result<()> {
        loop {
            self.claim_manifest(state)?;
            let in_the_way = families.iter().find(|own| {
                let running = state.families.get(&own.family.id).map(|own| &own.running);
                running.is_some_and(|running| match own.replace {
                    // A dropped table must not be the input of a job, and no job may write into the range.
                    Some(_) => !running.is_empty(),
                    None => running.is_exclusive(),
                })
            });
            let Some(own) = in_the_way else { return Ok(()) };
            self.disclaim_manifest(state);
            self.wait_in_line(state, own.family.id);
        }
    }

    /// Determines the level of each file, and keeps compactions away from it until `reserved` is released.
    fn place_files(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        families: &[PreparedFamily],
        last: &mut SeqNo,
        reserved: &mut Vec<(u32, JobId)>,
    ) -> Result<Result<Vec<Vec<Place>>, Obstacle>> {
        let mut versions: Vec<Arc<Version>> = Vec::new();
        for own in families {
            let family = state.family_mut(own.family.id)?;
            let Some(range) = &own.replace else {
                versions.push(family.version.clone());
                continue;
            };
            let replaced = range.replaced(&family.version)?;
            versions.push(without(&family.version, &replaced)?);
            let going = replaced.into_iter().map(|(_, file)| file).collect();
            reserved.push((own.family.id, family.running.exclude(going)));
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
                reserved.push((own.family.id, family.running.reserve(place.level, start, limit)));
            }
            places.push(found);
        }
        Ok(Ok(places))
    }

    /// Writes sequence numbers into the files that must contain theirs.
    fn write_seqnos(&self, families: &mut [PreparedFamily], places: &[Vec<Place>]) -> Result<()> {
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
            // The first error is the one to report.
            let _ = fs.remove(&temporary);
        })
    }

    /// The version edits for the MANIFEST, one per family. An error if the edits do not result in a valid
    /// version.
    fn edits(
        &self,
        state: &DbState,
        families: &[PreparedFamily],
        places: &[Vec<Place>],
    ) -> Result<Vec<VersionEdit>> {
        let now = self.options.clock.unix_seconds();
        let mut edits = Vec::new();
        for (own, places) in families.iter().zip(places) {
            let Some(version) = state.families.get(&own.family.id).map(|own| &own.version) else {
                own.family.check_writable()?;
                continue;
            };
            let epoch = version.next_epoch_number();
            let mut edit = VersionEdit {
                column_family: own.family.id,
                ..VersionEdit::default()
            };
            if let Some(range) = &own.replace {
                edit.deleted_files.extend(deletions(&range.replaced(version)?));
            }
            for ((file, place), nth) in own.files.iter().zip(places).zip(0..) {
                let metadata = Arc::new(FileMetadata {
                    temperature: own.temperature,
                    ..metadata(file, *place, epoch_of(own, epoch, nth), now)
                });
                if place.level == 0 {
                    own.family.tables.note_level_0(&metadata);
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

/// The database mutex, and the level of each file.
type Installed<'a> = (MutexGuard<'a, DbState>, Vec<Vec<Place>>);

/// The reason why files cannot be installed yet.
enum Obstacle {
    /// The memtables of these families must be flushed first.
    Memtables(Vec<u32>),
    /// A job that must be the only one of its family began while the levels were determined. It may be
    /// waiting for the MANIFEST.
    ExclusiveJob,
}

/// The families whose memtables overlap the files, and must be flushed first. Writers wait, so that no row is
/// added afterwards.
fn overlapping(families: &[PreparedFamily]) -> Result<Vec<u32>> {
    let mut overlapping = Vec::new();
    for own in families {
        // Files that are ingested behind are newer than no row.
        if own.options.ingest_behind || !own.overlaps_memtables(&own.family.super_version.load())? {
            continue;
        }
        own.check_may_flush()?;
        if own.family.cmp.user().timestamp_size() > 0 {
            return Err(Error::invalid_argument(
                "Column family enables user-defined timestamps, please make sure the key range (without timestamp) of \
                 external file does not overlap with key range in the memtables.",
            ));
        }
        overlapping.push(own.family.id);
    }
    Ok(overlapping)
}

/// The families with rows in memory and files that go to L0 with a sequence number. L0 files are ordered by
/// their sequence numbers: a table of the rows in memory and of later rows would have sequence numbers below
/// and above that of the file.
fn spanning(state: &DbState, families: &[PreparedFamily], places: &[Vec<Place>]) -> Result<Vec<u32>> {
    let mut spanning = Vec::new();
    for (own, places) in families.iter().zip(places) {
        let numbered = own
            .files
            .iter()
            .zip(places)
            .any(|(file, place)| place.level == 0 && (place.seqno > 0 || file.external.seqnos.is_some()));
        let in_memory = state
            .families
            .get(&own.family.id)
            .is_some_and(|state| !state.mem.table.is_empty() || !state.immutable.is_empty());
        if numbered && in_memory {
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
    file: &PreparedFile,
    place: Place,
    epoch_number: Option<u64>,
    now: u64,
) -> FileMetadata {
    let external = &file.external;
    let properties = &external.properties;
    // Only a key without a sequence number gets one: the end of a range deletion has a special number
    // already.
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
        // A file with nothing but one range deletion: the sooner it is compacted, the sooner the deleted data
        // is gone.
        marked_for_compaction: properties.num_range_deletions == 1 && properties.num_entries == 1,
        oldest_ancestor_time: now,
        file_creation_time: now,
        file_checksum: file.checksum.clone(),
        unique_id: properties.unique_id(),
        epoch_number,
        min_timestamp: properties.timestamp_min.as_slice().into(),
        max_timestamp: properties.timestamp_max.as_slice().into(),
        ..FileMetadata::default()
    };
    metadata.stats.get_or_init(|| file_stats(properties));
    metadata
}

fn ingested_stats(own: &PreparedFamily, places: &[Place]) -> IngestedStats {
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

fn ingested(own: &PreparedFamily, places: &[Place], job: u64, level_files: Vec<usize>) -> Event {
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
