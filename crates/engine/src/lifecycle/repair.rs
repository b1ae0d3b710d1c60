//! Repair: builds a MANIFEST and a CURRENT from tables and WALs alone.
//!
//! 1. Read every table and every blob file. Files that are corrupt, or belong to no family, move to `lost/`.
//! 2. Replay every WAL, past corruption too, and write its rows to tables.
//! 3. Order each family's tables so that newer rows come first, and place each as deep as that order permits
//!    ([`order`]).
//! 4. Give WALs and old MANIFESTs a second name in `lost/`; begin a MANIFEST; make CURRENT name it; remove
//!    the first names.
//!
//! Nothing is deleted. Until CURRENT is renamed, every file with rows stays in its place, and a crash before
//! that repeats the repair. [`Note`] prevents the rows of WALs from being applied twice.

mod note;
mod order;
mod recorded;
mod scan;
mod wals;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{Error, InternalComparator, Progress, Result, SeqNo, UserComparator};
use manifest::{FileMetadata, ManifestState, Version, VersionBuilder, VersionEdit};
use vfs::FileSystem;

use crate::files::archived_wals;
use crate::files::lost::Lost;
use crate::lifecycle::moment::{comparator_for, read_identity, write_identity};
use crate::lifecycle::open::assemble_db;
use crate::lifecycle::wal_dir::{self, WalDir};
use crate::log::InfoLog;
use crate::options::Options;
use crate::options::check::check_options;
use crate::options::file::OptionsFile;
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use note::Note;
use recorded::Recorded;
use scan::ScannedTable;

/// The outcome of [`Db::repair`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// db.put(b"a", b"1")?;
/// db.close()?;
/// let report = esker::Db::repair(&options, dir.path())?;
/// assert_eq!(report.wal_rows, 1);
/// for table in &report.tables {
///     println!("{}: table {} at level {}", table.family, table.number, table.level);
/// }
/// for lost in &report.lost {
///     println!("{}: {}", lost.path.display(), lost.error);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// The tables of the repaired database.
    pub tables: Vec<RepairedTable>,
    /// The number of rows recovered from WALs.
    pub wal_rows: u64,
    /// The files with lost contents: their path now, and the error.
    pub lost: Vec<LostFile>,
    /// Assumptions and undecidable facts, one sentence each.
    pub warnings: Vec<String>,
    /// The sequence number of the last row.
    pub last_sequence: SeqNo,
}

/// A table of a repaired database.
///
/// See the example of [`RepairReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedTable {
    /// The file number.
    pub number: u64,
    /// The name of the table's column family.
    pub family: String,
    /// The level in which the repair placed the table.
    pub level: usize,
    /// True if the repair wrote the table from rows of WALs.
    pub from_wal: bool,
}

/// A file that the repair could not use, or only in part.
///
/// See the example of [`RepairReport`].
#[derive(Clone, Debug)]
pub struct LostFile {
    /// The path of the file after the repair.
    pub path: PathBuf,
    /// The reason why the file, or part of it, could not be used.
    pub error: Error,
}

impl Db {
    /// Repairs the database in `path` whose MANIFEST or CURRENT is missing or damaged, from its tables, blob
    /// files and WALs. Damaged tables and files that belong to no family move to the directory `lost` in
    /// `path`, as do old MANIFESTs and WALs; nothing is deleted. The repair can be repeated safely, also
    /// after a crash.
    ///
    /// The families are those in the MANIFEST as far as it is readable; if it is not, those named by the
    /// tables and by the newest OPTIONS file, if there is one. `options` must have the comparators of
    /// families without a built-in one.
    ///
    /// Facts that only the MANIFEST had are lost: which tables were inputs of a finished compaction, so that
    /// deleted rows may reappear if such tables still exist; the sequence numbers of ingested tables, which
    /// are guessed from the file numbers; families that never held a row. All tables are read completely,
    /// most of them twice.
    ///
    /// # Errors
    /// `LockHeld` if the database is open; `InvalidArgument` if `path` contains no table and no WAL, a
    /// table's comparator is unknown, or [`wal_dir`](Options::wal_dir) belongs to another database; the
    /// errors of the file system.
    pub fn repair(options: &Options, path: impl AsRef<Path>) -> Result<RepairReport> {
        Db::repair_with_progress(options, path, &Progress::new())
    }

    /// Same as [`repair`](Db::repair), and reports its progress. If `progress` requests a stop, the repair
    /// fails with `Aborted` between two files, and the database is as after a crash: damaged files are in
    /// `lost`, and the next repair completes the work.
    pub fn repair_with_progress(
        options: &Options,
        path: impl AsRef<Path>,
        progress: &Progress,
    ) -> Result<RepairReport> {
        let dir = path.as_ref();
        check_options(options)?;
        let fs = &*options.fs;
        if Listing::read(options, dir)?.is_empty() {
            return Err(Error::invalid_argument("no table and no WAL to make a database of").in_file(dir));
        }
        let _lock = fs.lock(&filename::lock(dir))?;
        let id = wal_dir::id_of(options, dir);
        let wal_dir = WalDir::claim(options, dir, id.as_deref())?;
        let repair = Repair {
            options,
            dir,
            wal_dir,
            lost: Lost::create(fs, dir)?,
            stored: stored_options(fs, dir),
            recorded: Recorded::read(fs, dir).unwrap_or_default(),
            highest_family: None,
            report: RepairReport::default(),
            progress,
        };
        repair.check_other_wals()?;
        repair.run()
    }
}

/// The newest readable OPTIONS file. Without one its options are lost, but no row.
fn stored_options(fs: &dyn FileSystem, dir: &Path) -> Option<OptionsFile> {
    let (_, file) = OptionsFile::newest(fs, dir).ok()??;
    Some(file)
}

/// The files of the database.
#[derive(Debug, Default)]
struct Listing {
    tables: BTreeMap<u64, PathBuf>,
    blobs: BTreeMap<u64, PathBuf>,
    wals: BTreeMap<u64, PathBuf>,
    manifests: Vec<PathBuf>,
    /// The highest file number in use.
    highest: u64,
}

impl Listing {
    fn read(options: &Options, dir: &Path) -> Result<Listing> {
        let fs = &*options.fs;
        if !fs.exists(dir)? {
            return Err(Error::invalid_argument("no such directory").in_file(dir));
        }
        let mut found = Listing::default();
        let wal_dir = options.wal_directory(dir);
        let others = options.other_table_directories(dir);
        let mut places = vec![dir];
        // Archived WALs are not read, and their numbers are not used again.
        let archive = archived_wals::directory(&wal_dir);
        for other in others.iter().map(PathBuf::as_path).chain([&*wal_dir, &*archive]) {
            if !places.contains(&other) && fs.exists(other)? {
                places.push(other);
            }
        }
        for place in places {
            let has_tables = place == dir || others.contains(place);
            for name in fs.list(place)? {
                let path = place.join(&name);
                let number = match filename::parse(&name) {
                    Some(FileKind::Wal(number)) => {
                        if place == wal_dir {
                            found.wals.insert(number, path);
                        }
                        number
                    }
                    // Other files in the directories of WALs and tables do not belong to the database.
                    Some(FileKind::Table(number)) if has_tables => {
                        found.tables.insert(number, path);
                        number
                    }
                    Some(FileKind::Blob(number)) if has_tables => {
                        found.blobs.insert(number, path);
                        number
                    }
                    _ if place != dir => continue,
                    Some(FileKind::Manifest(number)) => {
                        found.manifests.push(path);
                        number
                    }
                    Some(FileKind::Options(number)) => number,
                    _ => continue,
                };
                found.highest = found.highest.max(number);
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.wals.is_empty()
    }
}

/// A column family as found in tables, WALs and OPTIONS.
struct FoundFamily {
    name: String,
    cmp: UserComparator,
    /// False if the family's comparator has timestamps and one of its tables does not.
    persist_timestamps: bool,
    tables: Vec<ScannedTable>,
}

struct Repair<'a> {
    options: &'a Options,
    dir: &'a Path,
    wal_dir: WalDir,
    lost: Lost<'a>,
    stored: Option<OptionsFile>,
    /// The families that the MANIFEST records; empty if it is unreadable.
    recorded: Recorded,
    /// The highest family id in tables and WALs.
    highest_family: Option<u32>,
    report: RepairReport,
    progress: &'a Progress,
}

impl Repair<'_> {
    fn run(mut self) -> Result<RepairReport> {
        let fs = &*self.options.fs;
        let lost = self.lost.dir().to_path_buf();
        let mut files = Listing::read(self.options, self.dir)?;
        self.expect(&files)?;
        let interrupted = Note::read(fs, &lost)?;
        if let Some(note) = &interrupted
            && note.was_finished(&files.wals)
        {
            // The MANIFEST of the interrupted repair was in force, so the rows of these WALs are in tables.
            for number in &note.wals {
                if let Some(path) = files.wals.remove(number) {
                    fs.remove(&path)?;
                }
            }
        }
        let tables = self.scan_tables(&files, interrupted.as_ref())?;
        let blobs = self.scan_blobs(&files)?;
        let mut families = self.families(tables)?;
        self.number_ingested(&mut families)?;
        self.number_paths(&files, &mut families)?;
        let wal_families = self.wal_families(&files, &mut families)?;
        let inner = self.assemble(&families, files.highest + 1)?;
        Note {
            session_id: inner.identity.session_id.clone(),
            wals: files.wals.keys().copied().collect(),
        }
        .write(fs, &lost)?;
        let last_of_wals = self.replay(&inner, &files, &families, &wal_families)?;
        let number_of_scanned = files.highest;
        for (id, own) in &inner.state.lock().families {
            if let Some(family) = families.get_mut(id) {
                for (_, file) in own.version.all_files() {
                    let path = own.family.paths.table(file);
                    family
                        .tables
                        .push(scan::open_written(self.options, &path, file, &family.cmp)?);
                }
            }
        }
        let state = self.build(&inner, families, &blobs, number_of_scanned, last_of_wals)?;
        // The next open would delete blob files that are in no version.
        let kept: BTreeSet<u64> = state
            .families
            .values()
            .flat_map(|family| family.version.blob_files().keys().copied())
            .collect();
        for (number, path) in &files.blobs {
            if !kept.contains(number) && fs.exists(path)? {
                self.lost.take(path)?;
            }
        }
        for path in files.manifests.iter().chain(files.wals.values()) {
            self.lost.keep(path)?;
        }
        self.lost.sync()?;
        if inner.options.write_identity_file && read_identity(fs, self.dir)?.is_none() {
            write_identity(fs, self.dir, &inner.identity.db_id)?;
        }
        self.wal_dir.mark(fs, self.dir, &inner.identity.db_id)?;
        self.report.last_sequence = state.last_sequence;
        inner.versions.begin_manifest(|next_file_number| ManifestState {
            next_file_number,
            ..state
        })?;
        inner.versions.close()?;
        for path in files.wals.values().chain(&files.manifests) {
            fs.remove(path)?;
        }
        fs.sync_dir(self.dir)?;
        if !files.wals.is_empty() {
            fs.sync_dir(self.wal_dir.path())?;
        }
        Note::remove(fs, &lost)?;
        Ok(self.report)
    }

    /// An error if WALs with rows are in a directory that is not read.
    fn check_other_wals(&self) -> Result<()> {
        let stored = self.stored.as_ref().and_then(OptionsFile::wal_dir);
        let stored = stored.filter(|stored| !stored.is_empty()).map(PathBuf::from);
        let elsewhere = stored.into_iter().chain([self.dir.to_path_buf()]);
        wal_dir::check_other_wals(self.options, self.dir, self.wal_dir.path(), elsewhere)
    }

    /// Sets the expected bytes of the progress: tables are read twice, the other files once.
    fn expect(&self, files: &Listing) -> Result<()> {
        let fs = &*self.options.fs;
        for path in files.tables.values() {
            self.progress.expect(2 * fs.size(path)?);
        }
        for path in files.blobs.values().chain(files.wals.values()) {
            self.progress.expect(fs.size(path)?);
        }
        Ok(())
    }

    /// Reads all tables and moves damaged ones to `lost/`.
    fn scan_tables(&mut self, files: &Listing, interrupted: Option<&Note>) -> Result<Vec<ScannedTable>> {
        let mut tables = Vec::new();
        for (&number, path) in &files.tables {
            self.progress.check()?;
            let size = self.options.fs.size(path)?;
            match scan::scan(self.options, path, number, None) {
                // A table of an unfinished earlier repair is not used: the WALs with its rows still exist,
                // and are replayed again.
                Ok(table)
                    if interrupted.is_some_and(|note| {
                        !note.was_finished(&files.wals) && table.session_id == note.session_id.as_bytes()
                    }) =>
                {
                    self.lost.take(path)?;
                }
                Ok(table) => tables.push(table),
                Err(error) if is_damage(&error) => self.lose(path, error)?,
                Err(error) => return Err(error),
            }
            self.progress.advance(size)?;
        }
        Ok(tables)
    }

    /// The intact blob files, as the MANIFEST will name them, with their families.
    fn scan_blobs(&mut self, files: &Listing) -> Result<BTreeMap<u64, scan::ScannedBlob>> {
        let mut blobs = BTreeMap::new();
        for (&number, path) in &files.blobs {
            let size = self.options.fs.size(path)?;
            match scan::scan_blob(self.options, path, number) {
                Ok(blob) => {
                    blobs.insert(number, blob);
                }
                Err(error) if is_damage(&error) => self.lose(path, error)?,
                Err(error) => return Err(error),
            }
            self.progress.advance(size)?;
        }
        Ok(blobs)
    }

    fn families(&mut self, tables: Vec<ScannedTable>) -> Result<BTreeMap<u32, FoundFamily>> {
        let mut families: BTreeMap<u32, FoundFamily> = BTreeMap::new();
        self.highest_family = tables.iter().map(|table| table.family).max();
        for mut table in tables {
            if let Some(id) = self.recorded.family_of(table.file.number) {
                table.family = id;
            }
            if self.recorded.is_dropped(table.family) {
                let error = Error::corruption(format!(
                    "it is of column family {} with id {}, which was dropped",
                    table.family_name, table.family
                ));
                self.lose(&table.path, error)?;
                continue;
            }
            if let Some(recorded) = self.recorded.families.get(&table.family) {
                table.family_name.clone_from(&recorded.name);
            }
            // If tables disagree on the name of a family, the later table is right.
            let family = families.entry(table.family).or_insert_with(|| FoundFamily {
                name: table.family_name.clone(),
                cmp: table.cmp.user().clone(),
                persist_timestamps: true,
                tables: Vec::new(),
            });
            family.name.clone_from(&table.family_name);
            if family.cmp.name() != table.cmp.user().name() {
                let error = Error::corruption(format!(
                    "its comparator is {}, that of its column family {} is {}",
                    table.cmp.user().name(),
                    family.name,
                    family.cmp.name()
                ));
                self.lose(&table.path, error)?;
                continue;
            }
            family.persist_timestamps &= table.file.user_defined_timestamps_persisted;
            family.tables.push(table);
        }
        // Ids are never reused, names may be: the highest id of a name is the living family.
        let mut alive: BTreeMap<String, u32> = BTreeMap::new();
        families.iter().for_each(|(&id, family)| {
            alive.insert(family.name.clone(), id);
        });
        let dropped: Vec<u32> = families
            .iter()
            .filter(|(id, family)| alive.get(&family.name) != Some(id))
            .map(|(&id, _)| id)
            .collect();
        for id in dropped {
            let family = families.remove(&id);
            for table in family.into_iter().flat_map(|family| family.tables) {
                let error = Error::corruption(format!(
                    "it is of a former column family {} with id {id}",
                    table.family_name
                ));
                self.lose(&table.path, error)?;
            }
        }
        Ok(families)
    }

    /// Sets the number of the directory in which each table is.
    fn number_paths(&self, files: &Listing, families: &mut BTreeMap<u32, FoundFamily>) -> Result<()> {
        for family in families.values_mut() {
            let paths = self
                .options
                .table_paths(self.options.family(&family.name), self.dir);
            let elsewhere = |path: &Path| {
                let message = format!(
                    "its column family {} has no tables in this directory: see db_paths and cf_paths",
                    family.name
                );
                Error::invalid_argument(message).in_file(path)
            };
            let dir_of = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
            for table in &mut family.tables {
                let number = paths.id_of(&dir_of(&table.path));
                table.file.path_id = number.ok_or_else(|| elsewhere(&table.path))?;
                let blobs = table.blobs.iter().filter_map(|number| files.blobs.get(number));
                if let Some(blob) = blobs.into_iter().find(|blob| dir_of(blob) != paths.dir(0)) {
                    return Err(elsewhere(blob));
                }
            }
        }
        Ok(())
    }

    /// Guesses the sequence numbers of ingested tables. The tables do not hold them; the lost MANIFEST did.
    /// Each was higher than those of all tables with lower file numbers, and lower than those of rows written
    /// later.
    fn number_ingested(&mut self, families: &mut BTreeMap<u32, FoundFamily>) -> Result<()> {
        for family in families.values_mut() {
            family.tables.sort_by_key(|table| table.file.number);
            let mut before = 0;
            for table in &mut family.tables {
                if table.lacks_seqno && before > 0 {
                    let number = table.file.number;
                    *table = scan::scan(self.options, &table.path, number, Some(before + 1))?;
                    table.lacks_seqno = true;
                    self.report.warnings.push(format!(
                        "{number:06}.sst was ingested, and its sequence number is lost: assumed to be {}, after those of the tables before it",
                        before + 1
                    ));
                }
                before = before.max(table.file.largest_seqno);
            }
        }
        Ok(())
    }

    /// Adds the families that no table names: `default`, those of OPTIONS, and those with rows in WALs.
    /// Returns the ids of the families whose rows in WALs are replayed.
    fn wal_families(
        &mut self,
        files: &Listing,
        families: &mut BTreeMap<u32, FoundFamily>,
    ) -> Result<BTreeSet<u32>> {
        let in_wals = wals::families_in(self.options, files)?;
        self.highest_family = in_wals.last().copied().max(self.highest_family);
        for (&id, recorded) in &self.recorded.families {
            let cmp = comparator_for(self.options, &recorded.name, recorded.comparator.as_deref())?;
            families.entry(id).or_insert(FoundFamily {
                name: recorded.name.clone(),
                cmp,
                persist_timestamps: recorded.persist_timestamps,
                tables: Vec::new(),
            });
        }
        for id in in_wals.iter().filter(|id| self.recorded.is_dropped(**id)) {
            self.report.warnings.push(format!(
                "WALs hold rows of column family {id}, which was dropped: its rows are skipped"
            ));
        }
        if self.recorded.knows_all() {
            return Ok(families.keys().copied().collect());
        }
        let in_wals: BTreeSet<u32> = in_wals
            .into_iter()
            .filter(|&id| !self.recorded.is_dropped(id))
            .collect();
        let mut known: BTreeSet<u32> = families.keys().copied().collect();
        known.insert(0);
        let mut unknown: Vec<u32> = in_wals.difference(&known).copied().collect();
        let mut names: Vec<String> = Vec::new();
        if let Some(stored) = &self.stored {
            let named = |name: &str| {
                name != DEFAULT_COLUMN_FAMILY && families.values().all(|family| family.name != name)
            };
            names.extend(stored.families().filter(|name| named(name)).map(str::to_owned));
        }
        let highest = known.last().copied().max(self.highest_family);
        let mut next = highest.unwrap_or(0).max(self.recorded.max_column_family) + 1;
        let mut add = |id: u32, name: String, cmp: UserComparator| {
            let persist_timestamps = self.options.family(&name).persist_user_defined_timestamps;
            families.entry(id).or_insert(FoundFamily {
                name,
                cmp,
                persist_timestamps,
                tables: Vec::new(),
            });
        };
        add(
            0,
            DEFAULT_COLUMN_FAMILY.to_owned(),
            self.comparator(DEFAULT_COLUMN_FAMILY)?,
        );
        if self.stored.is_none() {
            for id in unknown {
                let name = format!("recovered_{id}");
                self.report.warnings.push(format!(
                    "WALs hold rows of column family {id}, whose name is lost: it is {name} now"
                ));
                let cmp = self.comparator(&name)?;
                add(id, name, cmp);
            }
        } else if unknown.len() == names.len() {
            // OPTIONS lists families in the order of their ids.
            for (id, name) in unknown.into_iter().zip(names) {
                self.report.warnings.push(format!(
                    "WALs hold rows of column family {id}, whose name is lost: assumed to be {name}, which OPTIONS names"
                ));
                let cmp = self.comparator(&name)?;
                add(id, name, cmp);
            }
        } else {
            if names.is_empty() {
                for id in unknown.drain(..) {
                    self.report.warnings.push(format!(
                        "WALs hold rows of column family {id}, which OPTIONS does not know: assumed to be dropped, its rows are skipped"
                    ));
                }
            }
            for id in unknown {
                let name = format!("recovered_{id}");
                self.report.warnings.push(format!(
                    "WALs hold rows of column family {id}, which is one of {}: it is {name} now",
                    names.join(", ")
                ));
                let cmp = self.comparator(&name)?;
                add(id, name, cmp);
            }
            for name in names {
                let cmp = self.comparator(&name)?;
                add(next, name, cmp);
                next += 1;
            }
        }
        Ok(families.keys().copied().collect())
    }

    /// The comparator of a family without tables.
    fn comparator(&self, family: &str) -> Result<UserComparator> {
        let stored = self
            .stored
            .as_ref()
            .and_then(|stored| stored.comparator(family))
            .map(str::to_owned);
        comparator_for(self.options, family, stored.as_deref())
    }

    /// Creates a database of these families without tables, with which the rows of WALs are written to
    /// tables.
    fn assemble(&self, families: &BTreeMap<u32, FoundFamily>, next_file: u64) -> Result<DbInner> {
        let empty = |family: &FoundFamily| {
            let cmp = InternalComparator::new(family.cmp.clone());
            Version::empty(cmp, self.options.family(&family.name).num_levels as usize)
        };
        let families = families
            .iter()
            .map(|(&id, family)| (id, family.state(id, 0, empty(family))));
        let state = self.state_of(families.collect(), next_file, 0, 0);
        let log = Arc::new(InfoLog::given(self.options));
        // The rows of WALs go into tables together with their values, so that they do not depend on blob
        // files.
        let mut options = self.options.clone();
        options.column_family.enable_blob_files = false;
        let named = options.column_families.values_mut();
        named.for_each(|family| family.enable_blob_files = false);
        assemble_db(&options, self.dir, false, None, state, log)
    }

    fn state_of(
        &self,
        families: BTreeMap<u32, manifest::FamilyState>,
        next_file_number: u64,
        last_sequence: SeqNo,
        min_log_number_to_keep: u64,
    ) -> ManifestState {
        let highest = families.keys().max().copied().max(self.highest_family);
        ManifestState {
            // An id of a dropped family must not be reused: rows of that family may still exist.
            max_column_family: highest.unwrap_or(0).max(self.recorded.max_column_family),
            families,
            db_id: self.recorded.db_id.clone(),
            next_file_number,
            last_sequence,
            min_log_number_to_keep,
            wals: BTreeMap::new(),
            last_compacted_manifest_file_size: None,
            unknown_fields: BTreeMap::new(),
            incomplete_group_edits: 0,
            warnings: Vec::new(),
        }
    }

    /// The state for the new MANIFEST.
    fn build(
        &mut self,
        inner: &DbInner,
        families: BTreeMap<u32, FoundFamily>,
        blobs: &BTreeMap<u64, scan::ScannedBlob>,
        highest_scanned: u64,
        last_of_wals: SeqNo,
    ) -> Result<ManifestState> {
        let wal = inner.versions.new_file_number();
        let mut last_sequence = last_of_wals;
        let mut states = BTreeMap::new();
        for (id, mut family) in families {
            self.progress.check()?;
            let levels = self.levels(&family.name);
            // Tables written from WALs are not part of the expected bytes.
            let scanned = family.tables.iter().map(|table| &table.file);
            let scanned = scanned.filter(|file| file.number <= highest_scanned);
            let sizes = scanned.map(|file| file.size).sum();
            let (placed, contradictions) =
                order::place(self.options, &family.cmp, &mut family.tables, levels)?;
            self.progress.advance(sizes)?;
            for (newer, older) in contradictions {
                self.report.warnings.push(format!(
                    "neither of {newer:06}.sst and {older:06}.sst is all newer than the other: {newer:06}.sst is assumed to be"
                ));
            }
            let mut edit = VersionEdit::default();
            edit.blob_file_additions.extend(
                blobs
                    .values()
                    .filter(|blob| blob.family == id)
                    .map(|blob| blob.addition.clone()),
            );
            for (epoch, place) in placed.iter().enumerate() {
                let table = &mut family.tables[place.table];
                let missing = table.blobs.iter().filter(|number| !blobs.contains_key(number));
                for number in missing {
                    self.report.warnings.push(format!(
                        "{:06}.sst has values in {number:06}.blob, which does not exist",
                        table.file.number
                    ));
                }
                let file = FileMetadata {
                    epoch_number: Some(epoch as u64 + 1),
                    oldest_blob_file_number: table
                        .blobs
                        .iter()
                        .find(|number| blobs.contains_key(number))
                        .copied(),
                    ..table.file.clone()
                };
                last_sequence = last_sequence.max(file.largest_seqno);
                self.report.tables.push(RepairedTable {
                    number: file.number,
                    family: family.name.clone(),
                    level: place.level,
                    from_wal: file.number > highest_scanned,
                });
                edit.new_files.push((place.level as u32, Arc::new(file)));
            }
            let cmp = InternalComparator::new(family.cmp.clone());
            let num_levels = self.options.family(&family.name).num_levels as usize;
            let mut builder = VersionBuilder::new(&Version::empty(cmp, num_levels));
            builder.apply(&edit)?;
            let version = builder.build()?;
            states.insert(id, family.state(id, wal, version));
        }
        let mut state = self.state_of(states, 0, last_sequence, wal);
        state.db_id = inner
            .options
            .write_dbid_to_manifest
            .then(|| inner.identity.db_id.clone());
        Ok(state)
    }

    /// The number of levels for the tables of a family: 1 if its compaction style reads only L0.
    fn levels(&self, family: &str) -> usize {
        let given = self.options.family(family).num_levels;
        let stored = self.stored.as_ref();
        match stored.is_some_and(|stored| stored.is_fifo(family)) {
            true => 1,
            false => stored
                .and_then(|stored| stored.num_levels(family))
                .map_or(given, |levels| levels.min(given))
                .max(1) as usize,
        }
    }

    /// Moves a damaged file to `lost/` and adds it, with `error`, to the report.
    fn lose(&mut self, path: &Path, error: Error) -> Result<()> {
        let path = self.lost.take(path)?;
        self.report.lost.push(LostFile { path, error });
        Ok(())
    }
}

impl FoundFamily {
    fn state(&self, id: u32, log_number: u64, version: Version) -> manifest::FamilyState {
        manifest::FamilyState {
            id,
            name: self.name.clone(),
            comparator: self.cmp.clone(),
            persist_user_defined_timestamps: self.persist_timestamps,
            log_number,
            full_history_ts_low: Box::default(),
            version,
        }
    }
}

/// True if the bytes of a file are at fault, and not the machine or the engine.
fn is_damage(error: &Error) -> bool {
    error.is_corruption()
}
