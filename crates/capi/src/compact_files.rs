//! Compactions of named files.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use base::filename::{self, FileKind};
use esker::{ColumnFamily, CompactFilesOptions, CompressionType, Error, Result, Temperature};

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::fields::CompactionOptionsFields;
use crate::listener::rocksdb_compactionjobinfo_t;
use crate::remote_compaction::flag_at;

/// The C object `rocksdb_compaction_options_t`.
#[derive(Default)]
pub struct rocksdb_compaction_options_t {
    pub fields: CompactionOptionsFields,
    /// The address of the caller's flag; 0 if there is none.
    canceled: usize,
}

api!(
    fn rocksdb_compaction_options_create() -> *mut rocksdb_compaction_options_t {
        boxed(rocksdb_compaction_options_t::default())
    }
);

api!(
    fn rocksdb_compaction_options_set_canceled(
        options: *mut rocksdb_compaction_options_t,
        canceled: *mut u8,
    ) {
        (*options).canceled = canceled as usize;
    }
);

/// Returns the number in a table's name, with or without a directory.
fn number_of(name: &str) -> Result<u64> {
    let base = name.rsplit('/').next().unwrap_or(name);
    match filename::parse(base) {
        Some(FileKind::Table(number)) => Ok(number),
        _ => Err(Error::invalid_argument(format!(
            "Specified compaction input file {name} does not exist in column family"
        ))),
    }
}

/// The compression type of RocksDB's number. `None` for `kDisableCompressionOption`: 255, or -1 if the caller
/// passed a signed byte.
fn compression(number: c_int) -> Result<Option<CompressionType>> {
    match number {
        -1 | 0xff => Ok(None),
        _ => match u8::try_from(number).ok().and_then(CompressionType::from_byte) {
            Some(compression) => Ok(Some(compression)),
            None => Err(Error::invalid_argument(format!("compression type {number}"))),
        },
    }
}

/// Compacts, and returns the job and the paths of the new tables.
fn compact(
    db: &rocksdb_t,
    family: &ColumnFamily,
    options: &CompactionOptionsFields,
    names: &[String],
    level: c_int,
    path_id: c_int,
) -> Result<Compacted> {
    let level = usize::try_from(level)
        .map_err(|_| Error::invalid_argument("Output level for column family must be non-negative"))?;
    let numbers = names
        .iter()
        .map(|name| number_of(name))
        .collect::<Result<Vec<_>>>()?;
    let before = db.db.live_files();
    let made = db.db.compact_files(
        family,
        &numbers,
        level,
        &CompactFilesOptions {
            output_file_size_limit: (options.output_file_size_limit != u64::MAX)
                .then_some(options.output_file_size_limit),
            allow_trivial_move: options.allow_trivial_move != 0,
            max_subcompactions: options.max_subcompactions,
            output_path_id: u32::try_from(path_id).ok(),
            compression: compression(options.compression)?,
            output_temperature_override: Some(Temperature(options.output_temperature_override as u8))
                .filter(|temperature| *temperature != Temperature::UNKNOWN),
        },
    )?;
    Ok(Compacted {
        inputs: named(&before, &numbers),
        outputs: named(&db.db.live_files(), &made),
    })
}

/// Tables with their level, number and path.
type Tables = Vec<(usize, u64, Vec<u8>)>;

/// The inputs and outputs of a compaction.
struct Compacted {
    inputs: Tables,
    outputs: Tables,
}

fn named(files: &[esker::LiveFile], numbers: &[u64]) -> Tables {
    use std::os::unix::ffi::OsStrExt;
    let wanted = files.iter().filter(|file| numbers.contains(&file.number));
    wanted
        .map(|file| (file.level, file.number, file.path.as_os_str().as_bytes().to_vec()))
        .collect()
}

/// The next number for a job that has none from the engine.
static JOBS: AtomicI32 = AtomicI32::new(1);

unsafe fn run(
    db: *mut rocksdb_t,
    cf: FamilyPtr,
    options: *const rocksdb_compaction_options_t,
    inputs: (*const *const c_char, usize),
    (level, path_id): (c_int, c_int),
    outputs: (*mut *mut *mut c_char, *mut usize),
    info: *mut rocksdb_compactionjobinfo_t,
    errptr: *mut *mut c_char,
) {
    put_out(outputs.0, std::ptr::null_mut());
    put_out(outputs.1, 0);
    fallible(errptr, || {
        let (db, options) = (&*db, &*options);
        if flag_at(options.canceled).is_some_and(|flag| flag.load(Ordering::Acquire)) {
            return Err(Error::new(
                esker::ErrorKind::Incomplete,
                "Manual compaction paused",
            ));
        }
        let family = family(cf).unwrap_or(&db.default);
        let names: Vec<String> = array(inputs.0, inputs.1)
            .iter()
            .map(|name| string(*name))
            .collect();
        let made = compact(db, family, &options.fields, &names, level, path_id)?;
        if let Some(info) = info.as_mut() {
            let job = JOBS.fetch_add(1, Ordering::Relaxed);
            *info = rocksdb_compactionjobinfo_t::of_files(family, &made.inputs, &made.outputs, job);
        }
        if !outputs.0.is_null() {
            let list: *mut *mut c_char = libc::malloc(size_of::<usize>() * made.outputs.len().max(1)).cast();
            if !list.is_null() {
                for (at, (_, _, path)) in made.outputs.iter().enumerate() {
                    *list.add(at) = copied_string(path);
                }
                *outputs.0 = list;
                put_out(outputs.1, made.outputs.len());
            }
        }
        Ok(())
    })
}

api!(
    fn rocksdb_compact_files(
        db: *mut rocksdb_t,
        options: *const rocksdb_compaction_options_t,
        inputs: *const *const c_char,
        count: usize,
        level: c_int,
        path_id: c_int,
        outputs: *mut *mut *mut c_char,
        output_count: *mut usize,
        info: *mut rocksdb_compactionjobinfo_t,
        errptr: *mut *mut c_char,
    ) {
        run(
            db,
            std::ptr::null_mut(),
            options,
            (inputs, count),
            (level, path_id),
            (outputs, output_count),
            info,
            errptr,
        )
    }
);

api!(
    fn rocksdb_compact_files_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        options: *const rocksdb_compaction_options_t,
        inputs: *const *const c_char,
        count: usize,
        level: c_int,
        path_id: c_int,
        outputs: *mut *mut *mut c_char,
        output_count: *mut usize,
        info: *mut rocksdb_compactionjobinfo_t,
        errptr: *mut *mut c_char,
    ) {
        run(
            db,
            cf,
            options,
            (inputs, count),
            (level, path_id),
            (outputs, output_count),
            info,
            errptr,
        )
    }
);

api!(
    fn rocksdb_compact_files_output_file_names_destroy(names: *mut *mut c_char, count: usize) {
        for name in array(names, count) {
            libc::free((*name).cast());
        }
        libc::free(names.cast());
    }
);
