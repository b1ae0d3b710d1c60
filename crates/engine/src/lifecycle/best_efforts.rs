//! `best_efforts_recovery`: an open of a database some of whose files are missing or cut short.
//!
//! If the MANIFEST that CURRENT names has its last state, with all files, that is the state. Otherwise the
//! newest MANIFEST that can be read is taken, and each family gets the newest state in it whose files exist.
//! If that is not the newest state of all, no WAL is replayed: its rows would follow rows that are lost.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, InternalComparator, Result};
use manifest::{BlobFileAddition, FileMetadata, FilesPresent, ManifestState, PointInTime};
use sst::{Table, TableReadOptions};
use vfs::OpenOptions;
use wal::Reader;

use crate::files::table_cache::check_unique_id;
use crate::lifecycle::manifest_tail::ManifestTail;
use crate::lifecycle::moment::{comparator_for, parse_current};
use crate::options::Options;

/// The numbers of the MANIFESTs in `dir` that are not empty, the newest first.
fn manifests(options: &Options, dir: &Path) -> Result<Vec<u64>> {
    let fs = &*options.fs;
    let mut numbers = Vec::new();
    for name in fs.list(dir)? {
        if let Some(FileKind::Manifest(number)) = filename::parse(&name)
            && fs.size(&dir.join(&name))? > 0
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers)
}

/// True if a database is in `dir`, that is, if CURRENT exists or, with `best_efforts_recovery`, any MANIFEST.
pub(crate) fn database_exists(options: &Options, dir: &Path) -> Result<bool> {
    match options.best_efforts_recovery {
        true => match manifests(options, dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            numbers => Ok(!numbers?.is_empty()),
        },
        false => options.fs.exists(&filename::current(dir)),
    }
}

/// Reads the state to open, with `best_efforts_recovery` the newest one whose files exist.
pub(crate) fn read_state(options: &Options, dir: &Path) -> Result<(ManifestTail, ManifestState)> {
    if !options.best_efforts_recovery {
        let mut tail = ManifestTail::default();
        let state = tail.read(options, dir)?;
        return Ok((tail, state));
    }
    let named = named_in_current(options, dir);
    // A MANIFEST with a higher number than the one in CURRENT may be unfinished, or older: its writer did not
    // get to rename CURRENT.
    if let Some(number) = named
        && let Ok((tail, state, true)) = read_one(options, dir, number)
    {
        return Ok((tail, state));
    }
    let mut failed = Error::corruption("Cannot locate MANIFEST file").in_file(dir);
    for (nth, number) in manifests(options, dir)?.into_iter().enumerate() {
        match read_one(options, dir, number) {
            Ok((mut tail, state, whole)) => {
                let newest = named.map_or(nth == 0, |named| number >= named);
                tail.gives_up_newer(!whole || !newest);
                return Ok((tail, state));
            }
            Err(error) if matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound) => {
                failed = error;
            }
            Err(error) => return Err(error),
        }
    }
    Err(failed)
}

/// The number of the MANIFEST that CURRENT names, if it names one.
fn named_in_current(options: &Options, dir: &Path) -> Option<u64> {
    let text = options.fs.read_file(&filename::current(dir)).ok()?;
    match filename::parse(&parse_current(&text).ok()?) {
        Some(FileKind::Manifest(number)) => Some(number),
        _ => None,
    }
}

/// Reads MANIFEST `number`. Returns the last state of which all files exist, and true if that is the last
/// state of the MANIFEST.
fn read_one(options: &Options, dir: &Path, number: u64) -> Result<(ManifestTail, ManifestState, bool)> {
    let path = filename::manifest(dir, number);
    let file = options.fs.open_random(&path, &OpenOptions::default())?;
    let mut tail = ManifestTail::default();
    let mut files = Files::new(options, dir);
    let state = tail.read_from(options, dir, number, file.clone())?;
    if files.has_all(&state)? {
        return Ok((tail, state, true));
    }
    let mut replay = PointInTime::new(&mut files);
    let mut reader = Reader::for_manifest(file);
    while let Some(record) = reader.read_record()? {
        let applied = replay.apply_record(record);
        applied.map_err(|error| error.offset_by(reader.record_offset()).in_file(&path))?;
    }
    let finished = replay.finish(&mut |family, recorded| comparator_for(options, family, recorded));
    let (state, whole) = finished.map_err(|error| error.in_file(&path))?;
    Ok((tail, state, whole))
}

/// The files of a database's directories. Each file is examined once, and the result is kept.
struct Files<'a> {
    options: &'a Options,
    dir: &'a Path,
    known: HashMap<PathBuf, bool>,
}

impl<'a> Files<'a> {
    fn new(options: &'a Options, dir: &'a Path) -> Files<'a> {
        Files {
            options,
            dir,
            known: HashMap::new(),
        }
    }

    fn has_all(&mut self, state: &ManifestState) -> Result<bool> {
        for family in state.families.values() {
            for (_, file) in family.version.all_files() {
                if !self.has_table(&family.name, Some(family.comparator.name()), file)? {
                    return Ok(false);
                }
            }
            for blob in family.version.blob_files().values() {
                if !self.has_blob(&family.name, &blob.shared.addition)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the cached result about `path`, which `look` computes at the first call.
    fn once(&mut self, path: PathBuf, look: impl FnOnce(&Options, &Path) -> Result<bool>) -> Result<bool> {
        if let Some(&known) = self.known.get(&path) {
            return Ok(known);
        }
        let there = match look(self.options, &path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corruption) => false,
            there => there?,
        };
        self.known.insert(path, there);
        Ok(there)
    }
}

impl FilesPresent for Files<'_> {
    fn has_table(&mut self, family: &str, comparator: Option<&str>, file: &FileMetadata) -> Result<bool> {
        let paths = self.options.table_paths(self.options.family(family), self.dir);
        self.once(paths.table(file), |options, path| {
            if options.fs.size(path)? != file.size {
                return Ok(false);
            }
            if options.verify_sst_unique_id_in_manifest && file.unique_id.is_some() {
                let cmp = InternalComparator::new(comparator_for(options, family, comparator)?);
                let read = TableReadOptions {
                    file_number: file.number,
                    ..TableReadOptions::new(cmp)
                };
                let table = Table::open(options.fs.open_random(path, &OpenOptions::default())?, read)?;
                check_unique_id(file, &table)?;
            }
            Ok(true)
        })
    }

    fn has_blob(&mut self, family: &str, blob: &BlobFileAddition) -> Result<bool> {
        let paths = self.options.table_paths(self.options.family(family), self.dir);
        self.once(filename::blob(paths.dir(0), blob.number), |options, path| {
            Ok(options.fs.size(path)? == blob.file_size())
        })
    }
}
