//! The state of a database at one moment, observed from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::env::Clock;
use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Result};
use compact::LeveledOptions;
use compact::score::Scores;
use esker::{ColumnFamilyOptions, Options, OptionsFile};
use manifest::{ManifestState, Replay};
use vfs::{FileSystem, OpenOptions};
use wal::Reader;

use crate::info_log::{self, InfoLog, Told};
use crate::process::{self, Process};

/// Observes one database repeatedly.
#[derive(Debug)]
pub struct Observer {
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    wal_dir: PathBuf,
    manifest: Option<Manifest>,
    log: InfoLog,
}

/// The part of a MANIFEST read so far.
#[derive(Debug)]
struct Manifest {
    name: String,
    replay: Replay,
    /// The first record of the MANIFEST, by which a replaced file of the same name is noticed.
    first: Vec<u8>,
    /// The last record, and its offset.
    last: Vec<u8>,
    last_at: u64,
    edits: u64,
}

impl Manifest {
    /// True if `reader`, of a file of this name, returns the records read before, and is positioned after
    /// them. A recreated database may use the same file numbers as the old one.
    fn goes_on(&self, reader: &mut Reader) -> bool {
        let mut reads = |record: &[u8]| matches!(reader.read_record(), Ok(Some(found)) if found == record);
        if !reads(&self.first) {
            return false;
        }
        reader.resume_from(self.last_at);
        matches!(reader.read_record(), Ok(Some(found)) if found == self.last)
    }
}

/// A database at one moment.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The directory of the database.
    pub dir: PathBuf,
    /// The time in Unix seconds.
    pub unix_seconds: u64,
    /// The name of the MANIFEST in use.
    pub manifest: String,
    /// The number of edits in the MANIFEST.
    pub edits: u64,
    /// The size of the MANIFEST in bytes.
    pub manifest_bytes: u64,
    /// The last sequence number in the MANIFEST.
    pub last_sequence: u64,
    /// The column families, by id.
    pub families: Vec<Family>,
    /// The WALs, oldest first.
    pub wals: Vec<Wal>,
    /// The information in the LOG.
    pub log: Told,
    /// The process that has the database open, if the kernel reveals it.
    pub process: Option<Process>,
}

/// A column family.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name.
    pub name: String,
    /// WALs with lower numbers contain no row of the family that is not in a table.
    pub log_number: u64,
    /// The levels up to the last one with files.
    pub levels: Vec<Level>,
    /// The number of blob files.
    pub blob_files: usize,
    /// The size of the blob files in bytes.
    pub blob_bytes: u64,
    /// The estimated work of compactions in bytes.
    pub pending_compaction_bytes: u64,
}

/// A level of a column family.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// The number of the level, from 0.
    pub level: usize,
    /// The number of tables.
    pub files: usize,
    /// The size of the tables in bytes.
    pub bytes: u64,
    /// The score of the level; from 1 on the level is to be compacted.
    pub score: Option<f64>,
    /// The number of files that a compaction reads now.
    pub compacting: usize,
}

/// A WAL.
#[derive(Clone, Debug)]
pub struct Wal {
    /// The number of the file.
    pub number: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The time at which the WAL was begun in Unix seconds, if the LOG has it.
    pub begun: Option<u64>,
    /// The time of the last write in Unix seconds.
    pub written: u64,
    /// True if some family may have rows in this WAL that are not in its tables.
    pub needed: bool,
}

impl Observer {
    /// Returns an observer of the database in `dir`, which contains the WALs and the LOG unless another
    /// directory is given.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        dir: &Path,
        wal_dir: Option<&Path>,
        log_dir: Option<&Path>,
    ) -> Observer {
        let log = InfoLog::new(info_log::path_of(dir, log_dir));
        Observer {
            fs,
            clock,
            dir: dir.to_path_buf(),
            wal_dir: wal_dir.unwrap_or(dir).to_path_buf(),
            manifest: None,
            log,
        }
    }

    /// Observes the current state. The cost: two records of the MANIFEST, the additions to MANIFEST and LOG
    /// since the last call, and a pass over the files.
    pub fn look(&mut self) -> Result<Observation> {
        let state = self.manifest_state()?;
        self.log.read_on(&*self.fs)?;
        let told = self.log.told().clone();
        let stored = OptionsFile::newest(&*self.fs, &self.dir).ok().flatten();
        let options = stored.map_or_else(Options::default, |(_, file)| file.options().0);
        let families = state.families.values().map(|family| {
            observed(
                family,
                options.family(&family.name),
                &told.compacting(&family.name),
            )
        });
        let families: Vec<Family> = families.collect();
        let (manifest, edits) = match &self.manifest {
            Some(manifest) => (manifest.name.clone(), manifest.edits),
            None => (String::new(), 0),
        };
        Ok(Observation {
            dir: self.dir.clone(),
            unix_seconds: self.clock.unix_seconds(),
            manifest_bytes: self.fs.size(&self.dir.join(&manifest)).unwrap_or(0),
            manifest,
            edits,
            last_sequence: state.last_sequence,
            wals: self.wals(&state, &told)?,
            families,
            log: told,
            process: process::holder(&*self.fs, &filename::lock(&self.dir)),
        })
    }

    /// Returns the state in the current MANIFEST, which is read from the end of the last call on.
    fn manifest_state(&mut self) -> Result<ManifestState> {
        let name = current_manifest(&*self.fs, &self.dir)?;
        let path = self.dir.join(&name);
        let mut reader = Reader::for_manifest(self.fs.open_random(&path, &OpenOptions::default())?);
        let known = self.manifest.take().filter(|known| known.name == name);
        let mut manifest = match known.filter(|known| known.goes_on(&mut reader)) {
            Some(known) => known,
            None => {
                reader.resume_from(0);
                Manifest {
                    name,
                    replay: Replay::new(),
                    first: Vec::new(),
                    last: Vec::new(),
                    last_at: 0,
                    edits: 0,
                }
            }
        };
        while let Some(record) = reader.read_record()? {
            let applied = manifest.replay.apply_record(record);
            if manifest.edits == 0 {
                manifest.first = record.to_vec();
            }
            manifest.last.clear();
            manifest.last.extend_from_slice(record);
            manifest.last_at = reader.record_offset();
            applied.map_err(|error| error.offset_by(manifest.last_at).in_file(&path))?;
            manifest.edits += 1;
        }
        let state = manifest.replay.clone().finish_without_keys();
        let state = state.map_err(|error| error.in_file(&path))?;
        self.manifest = Some(manifest);
        Ok(state)
    }

    fn wals(&self, state: &ManifestState, told: &Told) -> Result<Vec<Wal>> {
        let oldest = state.families.values().map(|family| family.log_number).min();
        let mut wals = Vec::new();
        for name in self.fs.list(&self.wal_dir)? {
            let Some(FileKind::Wal(number)) = filename::parse(&name) else {
                continue;
            };
            let path = self.wal_dir.join(name);
            let (bytes, written) = match (self.fs.size(&path), self.fs.modified_seconds(&path)) {
                (Ok(bytes), Ok(written)) => (bytes, written),
                // The file was deleted meanwhile.
                (Err(error), _) | (_, Err(error)) if error.kind() == ErrorKind::NotFound => continue,
                (Err(error), _) | (_, Err(error)) => return Err(error),
            };
            wals.push(Wal {
                number,
                bytes,
                begun: told.wals.get(&number).copied(),
                written,
                needed: number >= oldest.unwrap_or(0),
            });
        }
        wals.sort_by_key(|wal| wal.number);
        Ok(wals)
    }
}

/// Returns the name of the MANIFEST in CURRENT.
pub(crate) fn current_manifest(fs: &dyn FileSystem, dir: &Path) -> Result<String> {
    let current = filename::current(dir);
    let text = fs.read_file(&current)?;
    let name = std::str::from_utf8(&text).ok();
    let name = name.and_then(|text| text.strip_suffix('\n'));
    let name = name
        .map(|name| name.trim_start_matches('/'))
        .filter(|name| matches!(filename::parse(name), Some(FileKind::Manifest(_))));
    let name = name.ok_or_else(|| Error::corruption("CURRENT does not name a MANIFEST").in_file(&current))?;
    Ok(name.to_owned())
}

fn observed(
    family: &manifest::FamilyState,
    options: &ColumnFamilyOptions,
    compacting: &BTreeMap<usize, usize>,
) -> Family {
    let version = &family.version;
    let leveled = LeveledOptions {
        num_levels: (options.num_levels as usize).max(version.num_non_empty_levels()),
        level0_file_num_compaction_trigger: options.level0_file_num_compaction_trigger as usize,
        max_bytes_for_level_base: options.max_bytes_for_level_base,
        max_bytes_for_level_multiplier: options.max_bytes_for_level_multiplier,
        level_compaction_dynamic_level_bytes: options.level_compaction_dynamic_level_bytes,
        preclude_last_level_data_seconds: options.preclude_last_level_data_seconds,
        ..LeveledOptions::default()
    };
    let version = version.with_num_levels(leveled.num_levels);
    let scores = Scores::new(&version, &leveled);
    let level = |level: usize| Level {
        level,
        files: version.files(level).len(),
        bytes: version.level_bytes(level),
        score: scores
            .levels
            .iter()
            .find(|score| score.level == level)
            .map(|score| score.score),
        compacting: compacting.get(&level).copied().unwrap_or(0),
    };
    let blobs = version.blob_files();
    Family {
        name: family.name.clone(),
        log_number: family.log_number,
        levels: (0..version.num_non_empty_levels()).map(level).collect(),
        blob_files: blobs.len(),
        blob_bytes: blobs.values().map(|blob| blob.file_size()).sum(),
        pending_compaction_bytes: scores.pending_compaction_bytes,
    }
}
