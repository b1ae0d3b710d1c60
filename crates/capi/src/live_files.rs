//! The files of a database: those that a copy of it needs, and its tables.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use base::filename::{self, FileKind};
use esker::{LiveFile, LiveFileMetaData, LiveFilesStorageInfoOptions, Temperature};

use crate::db::rocksdb_t;
use crate::ffi::*;
use crate::generated::structs::rocksdb_livefiles_storage_info_options_t;

/// One file that a copy needs, in C's strings.
struct StoredFile {
    name: CString,
    directory: CString,
    number: u64,
    kind: c_int,
    size: u64,
    checksum: CString,
    checksum_name: CString,
    contents: Option<Vec<u8>>,
    /// True if only the first `size` bytes belong to the copy.
    trims: bool,
}

/// The C object `rocksdb_livefiles_storage_info_t`.
pub struct rocksdb_livefiles_storage_info_t(Vec<StoredFile>);

/// Returns a C string of bytes, truncated at the first NUL.
fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// Returns RocksDB's number of the type of a file, and the number of the file.
fn type_and_number(name: &str) -> (c_int, u64) {
    match filename::parse(name) {
        Some(FileKind::Wal(number)) => (0, number),
        Some(FileKind::Table(number)) => (2, number),
        Some(FileKind::Manifest(number)) => (3, number),
        Some(FileKind::Current) => (4, 0),
        Some(FileKind::Identity) => (8, 0),
        Some(FileKind::Options(number)) => (9, number),
        Some(FileKind::Blob(number)) => (10, number),
        _ => (5, 0),
    }
}

api!(
    fn rocksdb_get_livefiles_storage_info(
        db: *mut rocksdb_t,
        options: *const rocksdb_livefiles_storage_info_options_t,
        errptr: *mut *mut c_char,
    ) -> *mut rocksdb_livefiles_storage_info_t {
        fallible(errptr, || {
            let mut wanted = LiveFilesStorageInfoOptions::default();
            if let Some(options) = options.as_ref() {
                wanted.wal_size_for_flush = options.fields.wal_size_for_flush;
            }
            let info = (*db).db.live_files_storage_info(&wanted)?;
            let files = info.files.into_iter().map(|file| {
                let (kind, number) = type_and_number(&file.relative_filename);
                StoredFile {
                    name: c_string(file.relative_filename.as_bytes()),
                    directory: c_string(file.directory.as_os_str().as_bytes()),
                    number,
                    kind,
                    size: file.size,
                    checksum: c_string(&file.file_checksum),
                    checksum_name: c_string(file.file_checksum_func_name.as_bytes()),
                    trims: kind == 0 || kind == 3,
                    contents: file.replacement_contents,
                }
            });
            Ok(boxed(rocksdb_livefiles_storage_info_t(files.collect())))
        })
    }
);

impl rocksdb_livefiles_storage_info_t {
    fn text(&self, at: usize, of: impl Fn(&StoredFile) -> &CString) -> *const c_char {
        self.0.get(at).map_or(std::ptr::null(), |file| of(file).as_ptr())
    }

    fn number(&self, at: usize, of: impl Fn(&StoredFile) -> u64) -> u64 {
        self.0.get(at).map_or(0, of)
    }
}

api!(
    fn rocksdb_livefiles_storage_info_count(info: *const rocksdb_livefiles_storage_info_t) -> usize {
        (&(*info).0).len()
    }
);

api!(
    fn rocksdb_livefiles_storage_info_relative_filename(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> *const c_char {
        (*info).text(at, |file| &file.name)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_directory(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> *const c_char {
        (*info).text(at, |file| &file.directory)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_file_checksum(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> *const c_char {
        (*info).text(at, |file| &file.checksum)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_file_checksum_func_name(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> *const c_char {
        (*info).text(at, |file| &file.checksum_name)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_file_number(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> u64 {
        (*info).number(at, |file| file.number)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_file_type(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> c_int {
        (*info).number(at, |file| file.kind as u64) as c_int
    }
);

api!(
    fn rocksdb_livefiles_storage_info_size(info: *const rocksdb_livefiles_storage_info_t, at: usize) -> u64 {
        (*info).number(at, |file| file.size)
    }
);

api!(
    fn rocksdb_livefiles_storage_info_temperature(
        _info: *const rocksdb_livefiles_storage_info_t,
        _at: usize,
    ) -> c_int {
        0
    }
);

api!(
    fn rocksdb_livefiles_storage_info_trim_to_size(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
    ) -> u8 {
        (*info).number(at, |file| u64::from(file.trims)) as u8
    }
);

api!(
    fn rocksdb_livefiles_storage_info_replacement_contents(
        info: *const rocksdb_livefiles_storage_info_t,
        at: usize,
        size: *mut usize,
    ) -> *const c_char {
        match (&(*info).0).get(at).and_then(|file| file.contents.as_ref()) {
            Some(contents) => borrowed(contents, size),
            None => borrowed(&[], size),
        }
    }
);

/// One table, in C's strings.
struct Table {
    file: LiveFile,
    name: CString,
    family: CString,
    directory: CString,
    /// An exported table, with the fields that only an import uses.
    exported: Option<LiveFileMetaData>,
}

/// The C object `rocksdb_livefiles_t`.
#[derive(Default)]
pub struct rocksdb_livefiles_t(Vec<Table>);

impl Table {
    fn of(file: LiveFile, exported: Option<LiveFileMetaData>) -> Table {
        let name = file.path.file_name().unwrap_or_default();
        let directory = file.path.parent().unwrap_or(std::path::Path::new(""));
        Table {
            // RocksDB's names begin with the separator.
            name: c_string(&[b"/", name.as_bytes()].concat()),
            family: c_string(file.column_family.as_bytes()),
            directory: c_string(directory.as_os_str().as_bytes()),
            file,
            exported,
        }
    }

    /// Returns the table, for an import.
    fn to_import(&self) -> LiveFileMetaData {
        let file = &self.file;
        LiveFileMetaData {
            column_family_name: file.column_family.clone(),
            level: file.level,
            relative_filename: file
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            directory: file.path.parent().map(Into::into).unwrap_or_default(),
            size: file.size,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            smallestkey: file.smallest_key.clone(),
            largestkey: file.largest_key.clone(),
            ..self.exported.clone().unwrap_or_default()
        }
    }
}

impl rocksdb_livefiles_t {
    /// Returns the list of exported tables.
    pub fn of_exported(files: &[LiveFileMetaData]) -> rocksdb_livefiles_t {
        let tables = files.iter().map(|exported| {
            let file = LiveFile {
                // As in RocksDB, the description of an exported table has no family.
                column_family: String::new(),
                level: exported.level,
                path: exported
                    .directory
                    .join(exported.relative_filename.trim_start_matches('/')),
                size: exported.size,
                smallest_key: exported.smallestkey.clone(),
                largest_key: exported.largestkey.clone(),
                smallest_seqno: exported.smallest_seqno,
                largest_seqno: exported.largest_seqno,
                file_checksum: exported.file_checksum.clone(),
                file_checksum_func_name: exported.file_checksum_func_name.clone(),
                ..no_file()
            };
            Table::of(file, Some(exported.clone()))
        });
        rocksdb_livefiles_t(tables.collect())
    }

    /// Returns the tables, for an import.
    pub fn to_import(&self) -> Vec<LiveFileMetaData> {
        self.0.iter().map(Table::to_import).collect()
    }

    /// Returns the list of tables.
    pub fn of(files: Vec<LiveFile>) -> rocksdb_livefiles_t {
        let tables = files.into_iter().map(|file| Table::of(file, None));
        rocksdb_livefiles_t(tables.collect())
    }

    fn at(&self, index: c_int) -> Option<&Table> {
        usize::try_from(index).ok().and_then(|index| self.0.get(index))
    }
}

api!(
    fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const rocksdb_livefiles_t {
        boxed(rocksdb_livefiles_t::of((*db).db.live_files())).cast_const()
    }
);

api!(
    fn rocksdb_livefiles_destroy(files: *const rocksdb_livefiles_t) {
        free_box(files.cast_mut())
    }
);

api!(
    fn rocksdb_livefiles_count(files: *const rocksdb_livefiles_t) -> c_int {
        files.as_ref().map_or(0, |files| files.0.len() as c_int)
    }
);

api!(
    fn rocksdb_livefiles_name(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        (*files)
            .at(index)
            .map_or(std::ptr::null(), |table| table.name.as_ptr())
    }
);

api!(
    fn rocksdb_livefiles_column_family_name(
        files: *const rocksdb_livefiles_t,
        index: c_int,
    ) -> *const c_char {
        (*files)
            .at(index)
            .map_or(std::ptr::null(), |table| table.family.as_ptr())
    }
);

api!(
    fn rocksdb_livefiles_directory(files: *const rocksdb_livefiles_t, index: c_int) -> *const c_char {
        (*files)
            .at(index)
            .map_or(std::ptr::null(), |table| table.directory.as_ptr())
    }
);

api!(
    fn rocksdb_livefiles_level(files: *const rocksdb_livefiles_t, index: c_int) -> c_int {
        (*files).at(index).map_or(0, |table| table.file.level as c_int)
    }
);

api!(
    fn rocksdb_livefiles_size(files: *const rocksdb_livefiles_t, index: c_int) -> usize {
        (*files).at(index).map_or(0, |table| table.file.size as usize)
    }
);

api!(
    fn rocksdb_livefiles_smallestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        size: *mut usize,
    ) -> *const c_char {
        match (*files).at(index) {
            Some(table) => borrowed(&table.file.smallest_key, size),
            None => nothing(size).cast_const(),
        }
    }
);

api!(
    fn rocksdb_livefiles_largestkey(
        files: *const rocksdb_livefiles_t,
        index: c_int,
        size: *mut usize,
    ) -> *const c_char {
        match (*files).at(index) {
            Some(table) => borrowed(&table.file.largest_key, size),
            None => nothing(size).cast_const(),
        }
    }
);

api!(
    fn rocksdb_livefiles_smallest_seqno(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        (*files).at(index).map_or(0, |table| table.file.smallest_seqno)
    }
);

api!(
    fn rocksdb_livefiles_largest_seqno(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        (*files).at(index).map_or(0, |table| table.file.largest_seqno)
    }
);

api!(
    fn rocksdb_livefiles_entries(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        (*files).at(index).map_or(0, |table| table.file.num_entries)
    }
);

api!(
    fn rocksdb_livefiles_deletions(files: *const rocksdb_livefiles_t, index: c_int) -> u64 {
        (*files).at(index).map_or(0, |table| table.file.num_deletions)
    }
);

/// Returns a file without known fields.
fn no_file() -> LiveFile {
    LiveFile {
        column_family: String::new(),
        level: 0,
        number: 0,
        path: PathBuf::new(),
        size: 0,
        smallest_key: Vec::new(),
        largest_key: Vec::new(),
        smallest_seqno: 0,
        largest_seqno: 0,
        num_entries: 0,
        num_deletions: 0,
        num_reads_sampled: 0,
        being_compacted: false,
        temperature: Temperature::UNKNOWN,
        file_checksum_func_name: String::new(),
        file_checksum: Vec::new(),
    }
}

/// `rocksdb_livefile_t`: a file that a caller describes for an import.
pub struct rocksdb_livefile_t {
    file: LiveFile,
    name: String,
    directory: PathBuf,
}

api!(
    fn rocksdb_livefile_create() -> *mut rocksdb_livefile_t {
        boxed(rocksdb_livefile_t {
            file: no_file(),
            name: String::new(),
            directory: PathBuf::new(),
        })
    }
);

api!(
    fn rocksdb_livefile_destroy(file: *mut rocksdb_livefile_t) {
        free_box(file)
    }
);

api!(
    fn rocksdb_livefile_set_column_family_name(file: *mut rocksdb_livefile_t, name: *const c_char) {
        (*file).file.column_family = string(name);
    }
);

api!(
    fn rocksdb_livefile_set_level(file: *mut rocksdb_livefile_t, level: c_int) {
        (*file).file.level = level.max(0) as usize;
    }
);

api!(
    fn rocksdb_livefile_set_name(file: *mut rocksdb_livefile_t, name: *const c_char) {
        // RocksDB's names begin with the separator.
        (*file).name = string(name).trim_start_matches('/').to_owned();
    }
);

api!(
    fn rocksdb_livefile_set_directory(file: *mut rocksdb_livefile_t, directory: *const c_char) {
        (*file).directory = path(directory);
    }
);

api!(
    fn rocksdb_livefile_set_size(file: *mut rocksdb_livefile_t, size: usize) {
        (*file).file.size = size as u64;
    }
);

api!(
    fn rocksdb_livefile_set_smallest_key(file: *mut rocksdb_livefile_t, key: *const c_char, length: usize) {
        (*file).file.smallest_key = bytes(key, length).to_vec();
    }
);

api!(
    fn rocksdb_livefile_set_largest_key(file: *mut rocksdb_livefile_t, key: *const c_char, length: usize) {
        (*file).file.largest_key = bytes(key, length).to_vec();
    }
);

api!(
    fn rocksdb_livefile_set_smallest_seqno(file: *mut rocksdb_livefile_t, seqno: u64) {
        (*file).file.smallest_seqno = seqno;
    }
);

api!(
    fn rocksdb_livefile_set_largest_seqno(file: *mut rocksdb_livefile_t, seqno: u64) {
        (*file).file.largest_seqno = seqno;
    }
);

api!(
    fn rocksdb_livefile_set_num_entries(file: *mut rocksdb_livefile_t, entries: u64) {
        (*file).file.num_entries = entries;
    }
);

api!(
    fn rocksdb_livefile_set_num_deletions(file: *mut rocksdb_livefile_t, deletions: u64) {
        (*file).file.num_deletions = deletions;
    }
);

api!(
    fn rocksdb_livefiles_create() -> *mut rocksdb_livefiles_t {
        boxed(rocksdb_livefiles_t::default())
    }
);

api!(
    fn rocksdb_livefiles_add(files: *mut rocksdb_livefiles_t, file: *mut rocksdb_livefile_t) {
        let described = &*file;
        let file = LiveFile {
            path: described.directory.join(&described.name),
            ..described.file.clone()
        };
        (&mut (*files).0).push(Table::of(file, None));
    }
);
