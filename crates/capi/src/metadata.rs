//! The files of a column family, by level.

use std::ffi::c_char;

use esker::{ColumnFamily, LiveFile};

use crate::db::rocksdb_t;
use crate::family_handle::{FamilyPtr, family};
use crate::ffi::*;
use crate::generated::fields::{
    ColumnFamilyMetadataFields, ColumnFamilyMetadataOptionsFields, LevelMetadataFields, SstFileMetadataFields,
};
use crate::generated::structs::rocksdb_sst_file_metadata_t;

/// The C object `rocksdb_column_family_metadata_t`.
pub struct rocksdb_column_family_metadata_t {
    pub fields: ColumnFamilyMetadataFields,
    levels: Vec<rocksdb_level_metadata_t>,
}

/// The C object `rocksdb_level_metadata_t`.
#[derive(Clone)]
pub struct rocksdb_level_metadata_t {
    pub fields: LevelMetadataFields,
    files: Vec<rocksdb_sst_file_metadata_t>,
}

/// The C object `rocksdb_column_family_metadata_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_column_family_metadata_options_t {
    pub fields: ColumnFamilyMetadataOptionsFields,
    start_key: Option<Vec<u8>>,
    end_key: Option<Vec<u8>>,
}

impl rocksdb_column_family_metadata_options_t {
    /// True if the file is selected.
    fn wants(&self, family: &ColumnFamily, file: &LiveFile) -> bool {
        let cmp = family.comparator();
        let level = self.fields.level;
        (level < 0 || usize::try_from(level) == Ok(file.level))
            && self
                .start_key
                .as_ref()
                .is_none_or(|start| cmp.compare(&file.largest_key, start).is_ge())
            && self
                .end_key
                .as_ref()
                .is_none_or(|end| cmp.compare(&file.smallest_key, end).is_le())
    }
}

fn file_metadata(file: &LiveFile) -> rocksdb_sst_file_metadata_t {
    use std::os::unix::ffi::OsStrExt;
    let name = file.path.file_name().unwrap_or_default();
    let dir = file.path.parent().unwrap_or(std::path::Path::new(""));
    rocksdb_sst_file_metadata_t {
        fields: SstFileMetadataFields {
            relative_filename: name.as_bytes().to_vec(),
            directory: dir.as_os_str().as_bytes().to_vec(),
            size: file.size,
            smallestkey: file.smallest_key.clone(),
            largestkey: file.largest_key.clone(),
        },
    }
}

fn metadata(
    db: &rocksdb_t,
    family: &ColumnFamily,
    options: &rocksdb_column_family_metadata_options_t,
) -> *mut rocksdb_column_family_metadata_t {
    let files: Vec<LiveFile> = db
        .db
        .live_files()
        .into_iter()
        .filter(|file| file.column_family == family.name() && options.wants(family, file))
        .collect();
    let count = family.current_options().num_levels.max(1) as usize;
    let levels: Vec<rocksdb_level_metadata_t> = (0..count)
        .map(|level| {
            let files: Vec<_> = files
                .iter()
                .filter(|file| file.level == level)
                .map(file_metadata)
                .collect();
            rocksdb_level_metadata_t {
                fields: LevelMetadataFields {
                    level: level as std::ffi::c_int,
                    size: files.iter().map(|file| file.fields.size).sum(),
                    file_count: files.len(),
                },
                files,
            }
        })
        .collect();
    boxed(rocksdb_column_family_metadata_t {
        fields: ColumnFamilyMetadataFields {
            size: files.iter().map(|file| file.size).sum(),
            file_count: files.len(),
            name: family.name().as_bytes().to_vec(),
            level_count: levels.len(),
        },
        levels,
    })
}

api!(
    fn rocksdb_get_column_family_metadata(db: *mut rocksdb_t) -> *mut rocksdb_column_family_metadata_t {
        let db = &*db;
        metadata(
            db,
            &db.default,
            &rocksdb_column_family_metadata_options_t::default(),
        )
    }
);

api!(
    fn rocksdb_get_column_family_metadata_cf(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
    ) -> *mut rocksdb_column_family_metadata_t {
        let db = &*db;
        metadata(
            db,
            family(cf).unwrap_or(&db.default),
            &rocksdb_column_family_metadata_options_t::default(),
        )
    }
);

api!(
    fn rocksdb_get_column_family_metadata_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t {
        let db = &*db;
        metadata(db, &db.default, &options.as_ref().cloned().unwrap_or_default())
    }
);

api!(
    fn rocksdb_get_column_family_metadata_cf_with_options(
        db: *mut rocksdb_t,
        cf: FamilyPtr,
        options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t {
        let db = &*db;
        metadata(
            db,
            family(cf).unwrap_or(&db.default),
            &options.as_ref().cloned().unwrap_or_default(),
        )
    }
);

api!(
    fn rocksdb_column_family_metadata_get_level_metadata(
        metadata: *mut rocksdb_column_family_metadata_t,
        at: usize,
    ) -> *mut rocksdb_level_metadata_t {
        (&(*metadata).levels)
            .get(at)
            .map_or(std::ptr::null_mut(), |level| boxed(level.clone()))
    }
);

api!(
    fn rocksdb_level_metadata_get_sst_file_metadata(
        level: *mut rocksdb_level_metadata_t,
        at: usize,
    ) -> *mut rocksdb_sst_file_metadata_t {
        (&(*level).files)
            .get(at)
            .map_or(std::ptr::null_mut(), |file| boxed(file.clone()))
    }
);

api!(
    fn rocksdb_column_family_metadata_options_create() -> *mut rocksdb_column_family_metadata_options_t {
        boxed(rocksdb_column_family_metadata_options_t::default())
    }
);

unsafe fn key(key: *const c_char, length: usize) -> Option<Vec<u8>> {
    (!key.is_null()).then(|| bytes(key, length).to_vec())
}

unsafe fn optional(key: &Option<Vec<u8>>, length: *mut usize) -> *const c_char {
    match key {
        Some(key) => borrowed(key, length),
        None => nothing(length).cast_const(),
    }
}

api!(
    fn rocksdb_column_family_metadata_options_set_start_key(
        options: *mut rocksdb_column_family_metadata_options_t,
        k: *const c_char,
        klen: usize,
    ) {
        (*options).start_key = key(k, klen);
    }
);

api!(
    fn rocksdb_column_family_metadata_options_set_end_key(
        options: *mut rocksdb_column_family_metadata_options_t,
        k: *const c_char,
        klen: usize,
    ) {
        (*options).end_key = key(k, klen);
    }
);

api!(
    fn rocksdb_column_family_metadata_options_get_start_key(
        options: *const rocksdb_column_family_metadata_options_t,
        length: *mut usize,
    ) -> *const c_char {
        optional(&(*options).start_key, length)
    }
);

api!(
    fn rocksdb_column_family_metadata_options_get_end_key(
        options: *const rocksdb_column_family_metadata_options_t,
        length: *mut usize,
    ) -> *const c_char {
        optional(&(*options).end_key, length)
    }
);
