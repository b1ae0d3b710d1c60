//! The metadata of tables, as Java objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use esker::{LiveFilesStorageInfoOptions, TableProperties};
use jni_sys::jvalue;

use crate::env::{Env, JLongArray, JObject, JObjects, JStrings};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Family, database};
use crate::slice::SliceObject;
use crate::table_properties;

native!("RocksDB_getLiveFilesMetaData" "J" fn(env, db: i64) -> JObjects {
    let files = database(db)?.db.live_files();
    let class = env.class("org/rocksdb/LiveFileMetaData")?;
    let signature = "([BILjava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V";
    let constructor = env.method(class, "<init>", signature)?;
    let array = env.object_array("org/rocksdb/LiveFileMetaData", files.len())?;
    for (at, file) in files.iter().enumerate() {
        let directory = file.path.parent().unwrap_or(Path::new("")).display().to_string();
        let family = env.byte_array(file.column_family.as_bytes())?;
        let name = env.new_string(&format!("/{:06}.sst", file.number))?;
        let path = env.new_string(&directory)?;
        let (smallest, largest) = (env.byte_array(&file.smallest_key)?, env.byte_array(&file.largest_key)?);
        let checksum = env.byte_array(&file.file_checksum)?;
        let arguments = [
            jvalue { l: family.0 },
            jvalue { i: file.level as i32 },
            jvalue { l: name.0 },
            jvalue { l: path.0 },
            jvalue { j: file.size as i64 },
            jvalue { j: file.smallest_seqno as i64 },
            jvalue { j: file.largest_seqno as i64 },
            jvalue { l: smallest.0 },
            jvalue { l: largest.0 },
            jvalue { j: file.num_reads_sampled as i64 },
            jvalue { z: file.being_compacted },
            jvalue { j: file.num_entries as i64 },
            jvalue { j: file.num_deletions as i64 },
            jvalue { l: checksum.0 },
        ];
        let object = env.construct(class, constructor, &arguments)?;
        env.set_element(array, at, object)?;
        for made in [family.0, name.0, path.0, smallest.0, largest.0, checksum.0, object] {
            env.forget(made);
        }
    }
    Ok(JObjects(array))
});

native!("RocksDB_getColumnFamilyMetaData" "JJ" fn(env, db: i64, family: i64) -> JObject {
    let db = database(db)?;
    let family = Family::of(family)?;
    let family = family.in_db(&db);
    let files: Vec<_> = db.db.live_files().into_iter().filter(|file| file.column_family == family.name()).collect();
    let levels = db.db.levels(family);
    let array = env.object_array("org/rocksdb/LevelMetaData", levels.len())?;
    for (at, level) in levels.iter().enumerate() {
        let of_level: Vec<_> = files.iter().filter(|file| file.level == level.level).collect();
        let list = env.object_array("org/rocksdb/SstFileMetaData", of_level.len())?;
        for (at, file) in of_level.into_iter().enumerate() {
            let directory = file.path.parent().unwrap_or(Path::new("")).display().to_string();
            let (name, path) = (env.new_string(&format!("/{:06}.sst", file.number))?, env.new_string(&directory)?);
            let (smallest, largest) = (env.byte_array(&file.smallest_key)?, env.byte_array(&file.largest_key)?);
            let checksum = env.byte_array(&file.file_checksum)?;
            let arguments = [
                jvalue { l: name.0 },
                jvalue { l: path.0 },
                jvalue { j: file.size as i64 },
                jvalue { j: file.smallest_seqno as i64 },
                jvalue { j: file.largest_seqno as i64 },
                jvalue { l: smallest.0 },
                jvalue { l: largest.0 },
                jvalue { j: file.num_reads_sampled as i64 },
                jvalue { z: file.being_compacted },
                jvalue { j: file.num_entries as i64 },
                jvalue { j: file.num_deletions as i64 },
                jvalue { l: checksum.0 },
            ];
            let signature = "(Ljava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V";
            let object = env.object("org/rocksdb/SstFileMetaData", signature, &arguments)?;
            env.set_element(list, at, object)?;
            for made in [name.0, path.0, smallest.0, largest.0, checksum.0, object] {
                env.forget(made);
            }
        }
        let arguments = [jvalue { i: level.level as i32 }, jvalue { j: level.size as i64 }, jvalue { l: list }];
        let signature = "(IJ[Lorg/rocksdb/SstFileMetaData;)V";
        let object = env.object("org/rocksdb/LevelMetaData", signature, &arguments)?;
        env.set_element(array, at, object)?;
        env.forget(object);
        env.forget(list);
    }
    let (size, count) = levels.iter().fold((0, 0), |(size, count), level| (size + level.size, count + level.files));
    let name = env.byte_array(family.name().as_bytes())?;
    let arguments =
        [jvalue { j: size as i64 }, jvalue { j: count as i64 }, jvalue { l: name.0 }, jvalue { l: array }];
    let signature = "(JJ[B[Lorg/rocksdb/LevelMetaData;)V";
    env.object("org/rocksdb/ColumnFamilyMetaData", signature, &arguments).map(JObject)
});

// The result has the names of the files relative to the database's directory, and as its last text the size
// of the MANIFEST.
native!("RocksDB_getLiveFiles" "JZ" fn(env, db: i64, flush: bool) -> JStrings {
    let db = database(db)?;
    if flush {
        db.db.flush()?;
    }
    let files = db.db.live_files_storage_info(&LiveFilesStorageInfoOptions::default())?;
    let is_live = |name: &str| {
        name == "CURRENT" || ["MANIFEST-", "OPTIONS-"].iter().any(|start| name.starts_with(start))
            || [".sst", ".blob"].iter().any(|end| name.ends_with(end))
    };
    let mut names = Vec::new();
    let mut manifest_size = 0;
    for file in files.files.iter().filter(|file| is_live(&file.relative_filename)) {
        if file.relative_filename.starts_with("MANIFEST-") {
            manifest_size = file.size;
        }
        names.push(format!("/{}", file.relative_filename));
    }
    names.push(manifest_size.to_string());
    env.string_array(names)
});

fn by_path(env: &Env<'_>, tables: BTreeMap<PathBuf, TableProperties>) -> Result<JObject> {
    let tables: Vec<(String, TableProperties)> = tables
        .into_iter()
        .map(|(path, properties)| (path.display().to_string(), properties))
        .collect();
    table_properties::map(
        env,
        tables
            .iter()
            .map(|(path, properties)| (path.as_str(), properties)),
    )
}

native!("RocksDB_getPropertiesOfAllTables" "JJ" fn(env, db: i64, family: i64) -> JObject {
    let db = database(db)?;
    let family = Family::of(family)?;
    by_path(&env, db.db.properties_of_all_tables(family.in_db(&db))?)
});

native!("RocksDB_getPropertiesOfTablesInRange" "JJ_3J" fn(
    env, db: i64, family: i64, bounds: JLongArray
) -> JObject {
    let db = database(db)?;
    let family = Family::of(family)?;
    let bounds = env
        .longs(bounds)?
        .into_iter()
        .map(|slice| Ok(handles::get::<SliceObject>(slice)?.copy()))
        .collect::<Result<Vec<_>>>()?;
    if !bounds.len().is_multiple_of(2) {
        return Err(Fail::argument("a range needs two bounds"));
    }
    let ranges: Vec<(&[u8], &[u8])> = bounds.chunks_exact(2).map(|pair| (&*pair[0], &*pair[1])).collect();
    by_path(&env, db.db.properties_of_tables_in_range(family.in_db(&db), &ranges)?)
});
