//! A MANIFEST that another process writes, read incrementally.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Result};
use manifest::{ManifestState, Replay};
use vfs::{OpenOptions, RandomAccessFile};
use wal::Reader;

use crate::lifecycle::moment::{comparator_for, parse_current};
use crate::options::Options;

/// The upper bound in bytes for the padding at the end of a block: the length of the longest header. A longer
/// run of zeros between two records is a hole.
pub(crate) const LONGEST_FILL: u64 = 11;

/// The contents of the current MANIFEST read so far.
#[derive(Default)]
pub(crate) struct ManifestTail {
    read: Option<ReadSoFar>,
    torn: Option<TornTail>,
    /// True if the state read is older than the newest one, as `best_efforts_recovery` permits.
    gave_up: bool,
    /// The WALs that the MANIFEST names, with the synced bytes of each.
    wals: BTreeMap<u64, Option<u64>>,
}

/// The bytes at the end of a MANIFEST that are not a record: its writer crashed, or part of the file is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TornTail {
    pub path: PathBuf,
    /// The offset at which the last valid edit ends.
    pub offset: u64,
    pub bytes: u64,
}

struct ReadSoFar {
    number: u64,
    replay: Replay,
    /// The first record, which has the id of the database, and the last record with its offset: if both are
    /// still there, the file is the same.
    first: Vec<u8>,
    last: Vec<u8>,
    last_at: u64,
    last_end: u64,
    /// The offset of an atomic group whose last edit has not been read yet.
    group_at: Option<u64>,
}

impl ManifestTail {
    /// Reads the state of the MANIFEST that CURRENT names. The cost is that of the edits added since the last
    /// call, unless the MANIFEST is another one, and of the number of files.
    ///
    /// An unfinished record at the end is left for the next call. After an error the next call reads from the
    /// start.
    pub fn read(&mut self, options: &Options, dir: &Path) -> Result<ManifestState> {
        let (number, file) = current_manifest(options, dir)?;
        self.read_from(options, dir, number, file)
    }

    /// Reads as [`read`](Self::read) does, but from `file`, which is MANIFEST `number`.
    pub fn read_from(
        &mut self,
        options: &Options,
        dir: &Path,
        number: u64,
        file: Arc<dyn RandomAccessFile>,
    ) -> Result<ManifestState> {
        let path = file.path().to_path_buf();
        let mut reader = Reader::for_manifest(file);
        let known = self.read.take().filter(|read| read.number == number);
        let mut so_far = match known {
            Some(read) if goes_on(&mut reader, &read) => read,
            _ => {
                reader.resume_from(0);
                ReadSoFar {
                    number,
                    replay: Replay::new(),
                    first: Vec::new(),
                    last: Vec::new(),
                    last_at: 0,
                    last_end: 0,
                    group_at: None,
                }
            }
        };
        loop {
            let Some(record) = reader.read_record()? else {
                break;
            };
            let applied = so_far.replay.apply_record(record);
            if so_far.first.is_empty() {
                so_far.first.extend_from_slice(record);
            }
            so_far.last.clear();
            so_far.last.extend_from_slice(record);
            so_far.last_at = reader.record_offset();
            so_far.last_end = reader.record_end();
            so_far.group_at = match so_far.replay.is_in_group() {
                true => so_far.group_at.or(Some(reader.record_offset())),
                false => None,
            };
            applied.map_err(|error| error.offset_by(reader.record_offset()).in_file(&path))?;
        }
        // A writer that crashes leaves an incomplete record at the end. A record whose damaged length makes
        // it look incomplete must not hide the edits after it: the tables and WALs that they name would be
        // deleted or forgotten.
        if let Some(cut) = reader.dropped().first()
            && wal::dump::is_finished(&**reader.file(), cut.offset)?
        {
            return Err(Error::corruption("a record's length is damaged")
                .at(cut.offset)
                .in_file(&path));
        }
        let whole = so_far.last_end.min(so_far.group_at.unwrap_or(u64::MAX));
        let bytes = reader.file().len().saturating_sub(whole);
        // The padding at the end of a block has at most `LONGEST_FILL` bytes; more bytes are a torn end.
        self.torn = (!reader.dropped().is_empty() || bytes > LONGEST_FILL).then(|| TornTail {
            path: path.clone(),
            offset: whole,
            bytes,
        });
        let state = so_far
            .replay
            .clone()
            .finish(&mut |family, recorded| comparator_for(options, family, recorded))
            .map_err(|error| error.in_file(&path))?;
        check_paths(options, dir, &state).map_err(|error| error.in_file(&path))?;
        self.read = Some(so_far);
        self.wals.clone_from(&state.wals);
        Ok(state)
    }

    /// The bytes that the previous call found after the last edit.
    pub fn torn(&self) -> Option<&TornTail> {
        self.torn.as_ref()
    }

    /// The WALs that the MANIFEST names, with the synced bytes of each.
    pub fn wals(&self) -> &BTreeMap<u64, Option<u64>> {
        &self.wals
    }

    /// Sets whether states newer than the state that was read are given up.
    pub fn gives_up_newer(&mut self, gave_up: bool) {
        self.gave_up = gave_up;
    }

    /// True if states newer than the state that was read are given up, because files of them are missing.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The number of the MANIFEST that was read last.
    pub fn number(&self) -> u64 {
        self.read.as_ref().map_or(0, |read| read.number)
    }
}

/// True if `reader`'s file still has the records that were read. The reader is then positioned after them.
fn goes_on(reader: &mut Reader, read: &ReadSoFar) -> bool {
    if !matches!(reader.read_record(), Ok(Some(record)) if record == read.first) {
        return false;
    }
    reader.resume_from(read.last_at);
    matches!(reader.read_record(), Ok(Some(record)) if record == read.last)
        && reader.record_offset() == read.last_at
        && reader.dropped().is_empty()
}

/// `NotSupported` for a database with tables in more directories than `options` name, except in the last of
/// them: no file of such a database may be written or deleted.
fn check_paths(options: &Options, dir: &Path, state: &ManifestState) -> Result<()> {
    for family in state.families.values() {
        let paths = options.table_paths(options.family(&family.name), dir);
        let files = family.version.all_files().map(|(_, file)| file);
        for file in files.filter(|file| file.path_id as usize >= paths.len()) {
            if !options.fs.exists(&paths.table(file))? {
                return Err(Error::not_supported(format!(
                    "more directories in db_paths or cf_paths than {}: {:06}.sst of column family {} is in path {} of them",
                    paths.len(),
                    file.number,
                    family.name,
                    file.path_id
                )));
            }
        }
    }
    Ok(())
}

/// The MANIFEST that CURRENT names.
fn current_manifest(options: &Options, dir: &Path) -> Result<(u64, Arc<dyn RandomAccessFile>)> {
    let fs = &*options.fs;
    let current = filename::current(dir);
    let name = parse_current(&fs.read_file(&current)?).map_err(|error| error.in_file(&current))?;
    let Some(FileKind::Manifest(number)) = filename::parse(&name) else {
        return Err(Error::corruption("CURRENT does not name a MANIFEST").in_file(&current));
    };
    let path = dir.join(&name);
    let file = fs
        .open_random(&path, &OpenOptions::default())
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Error::corruption("CURRENT file points to a non-existent file").in_file(&path)
            }
            _ => error,
        })?;
    Ok((number, file))
}

/// The MANIFEST that CURRENT names: its number and its state.
pub(crate) fn read_manifest(options: &Options, dir: &Path) -> Result<(u64, ManifestState)> {
    let mut manifest = ManifestTail::default();
    let state = manifest.read(options, dir)?;
    Ok((manifest.number(), state))
}
