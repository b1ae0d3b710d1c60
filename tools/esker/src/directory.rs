//! A database's directory as files, and the state in its MANIFEST: to inspect databases that the engine may
//! refuse.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Result};
use manifest::{ManifestState, Replay, VersionEdit};
use vfs::{Access, FileSystem, OpenOptions, PosixFs, RandomAccessFile};

/// A file of a database.
#[derive(Clone, Debug)]
pub struct DbFile {
    pub name: String,
    pub path: PathBuf,
    pub kind: FileKind,
}

/// The file system of the disk.
pub fn fs() -> PosixFs {
    PosixFs::new()
}

/// Opens a file for reading from front to back.
pub fn open(path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
    let options = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    fs().open_random(path, &options)
}

/// The number in the name of a WAL.
pub fn wal_number(path: &Path) -> Option<u64> {
    match filename::parse(path.file_name()?.to_str()?) {
        Some(FileKind::Wal(number)) => Some(number),
        _ => None,
    }
}

/// `InvalidArgument` if `dir` exists.
pub fn check_is_new(dir: &Path) -> Result<()> {
    match fs().exists(dir)? {
        true => Err(Error::invalid_argument("Directory exists").in_file(dir)),
        false => Ok(()),
    }
}

/// `InvalidArgument` unless `dir` is the directory of a database.
pub fn check_is_database(dir: &Path) -> Result<()> {
    let names = list(dir)?;
    match names.iter().any(|name| name == "CURRENT") {
        true => Ok(()),
        false => Err(Error::invalid_argument("not a database: CURRENT is missing").in_file(dir)),
    }
}

fn list(dir: &Path) -> Result<Vec<String>> {
    fs().list(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::invalid_argument("no such directory").in_file(dir),
        _ => error,
    })
}

/// The database files in `dir`, and the WALs in `wal_dir`, by kind and number. `InvalidArgument` if there are
/// none.
pub fn files(dir: &Path, wal_dir: Option<&Path>) -> Result<Vec<DbFile>> {
    let mut found = Vec::new();
    let wal_dir = wal_dir.filter(|wal_dir| *wal_dir != dir);
    for place in [Some(dir), wal_dir].into_iter().flatten() {
        for name in list(place)? {
            let Some(kind) = filename::parse(&name) else {
                continue;
            };
            // In a directory of WALs, files of other kinds do not belong to the database.
            if place == dir || matches!(kind, FileKind::Wal(_)) {
                found.push(DbFile {
                    path: place.join(&name),
                    name,
                    kind,
                });
            }
        }
    }
    found.sort_by_key(|file| (rank(&file.kind), file.path.clone()));
    match found.iter().any(|file| rank(&file.kind) < NOT_CHECKED) {
        true => Ok(found),
        false => Err(Error::invalid_argument("not a database: it has no database files").in_file(dir)),
    }
}

/// Files of this [`rank`] and above contain no information about rows.
const NOT_CHECKED: u8 = 7;

/// The order in which files are checked.
fn rank(kind: &FileKind) -> u8 {
    match kind {
        FileKind::Current => 0,
        FileKind::Identity => 1,
        FileKind::Manifest(_) => 2,
        FileKind::Options(_) => 3,
        FileKind::Wal(_) => 4,
        FileKind::Table(_) => 5,
        FileKind::Blob(_) => 6,
        FileKind::Temp | FileKind::Lock | FileKind::InfoLog => NOT_CHECKED,
    }
}

/// The path of the MANIFEST that CURRENT names.
pub fn current_manifest(dir: &Path) -> Result<PathBuf> {
    let path = filename::current(dir);
    let text = fs().read_file(&path)?;
    let bad = |what: &str| Error::corruption(what).in_file(&path).at(0);
    let name = std::str::from_utf8(&text).map_err(|_| bad("CURRENT file is not text"))?;
    let name = name
        .strip_suffix('\n')
        .ok_or_else(|| bad("CURRENT file does not end with newline"))?;
    // RocksDB allows a slash before the name.
    let name = name.strip_prefix('/').unwrap_or(name);
    match filename::parse(name) {
        Some(FileKind::Manifest(_)) => Ok(dir.join(name)),
        _ => Err(bad("CURRENT does not name a MANIFEST")),
    }
}

/// Calls `on_edit` with the offset of each record of a MANIFEST and its edit.
///
/// Errors: corruption, with file and offset, and those of `on_edit`.
pub fn for_each_edit<E: From<Error>>(
    path: &Path,
    on_edit: &mut dyn FnMut(u64, VersionEdit) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = wal::Reader::for_manifest(open(path)?);
    while let Some(record) = reader.read_record()? {
        let edit = VersionEdit::decode(record);
        let offset = reader.record_offset();
        on_edit(
            offset,
            edit.map_err(|error: Error| error.offset_by(offset).in_file(path))?,
        )?;
    }
    match reader.dropped().first() {
        Some(cut) if wal::dump::is_finished(&**reader.file(), cut.offset)? => {
            let error = Error::corruption("the length of a record is corrupt");
            Err(error.at(cut.offset).in_file(path).into())
        }
        _ => Ok(()),
    }
}

/// The state in the MANIFEST at `path`. Comparators must be built-in ones.
pub fn manifest_state(path: &Path) -> Result<ManifestState> {
    let mut replay = Replay::new();
    for_each_edit(path, &mut |offset, edit| {
        replay.apply(edit).map_err(|error| error.at(offset).in_file(path))
    })?;
    replay
        .finish(&mut manifest::builtin_comparator)
        .map_err(|error| error.in_file(path))
}
