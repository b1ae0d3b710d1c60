//! Opening and closing databases, and their column families.

use std::path::{Path, PathBuf};

use esker::{Db, Error, ExportImportFilesMetaData, ImportColumnFamilyOptions, Options};
use jni_sys::{jlong, jvalue};

use crate::env::{Env, JByteArray, JByteArrays, JLongArray, JObject, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, Family, FamilyObject, database};
use crate::settings::Settings;

/// The name of a family. Those that are no UTF-8 are refused.
pub fn family_name(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        Fail::Status(Error::not_supported(
            "the name of a column family that is no UTF-8",
        ))
    })
}

/// The engine's options of a handle.
pub fn database_options(env: &Env<'_>, options: jlong) -> Result<Options> {
    crate::release::probe(env);
    Ok(handles::get::<Settings>(options)?.look(|inner| inner.database())?)
}

/// Takes the options of the families that are named into those of the database.
pub fn with_families(
    env: &Env<'_>,
    options: jlong,
    names: JByteArrays,
    family_options: JLongArray,
) -> Result<(Options, Vec<String>)> {
    let mut options = database_options(env, options)?;
    let mut list = Vec::new();
    for (name, family) in env
        .byte_arrays(names)?
        .into_iter()
        .zip(env.longs(family_options)?)
    {
        let name = family_name(name)?;
        let family = handles::get::<Settings>(family)?.look(|inner| inner.family())?;
        options.column_families.insert(name.clone(), family);
        list.push(name);
    }
    Ok((options, list))
}

/// RocksDB wants every family of a database named where it is opened for writing.
pub fn check_all_named(options: &Options, path: &Path, names: &[String]) -> Result<()> {
    if !names.iter().any(|name| name == esker::DEFAULT_COLUMN_FAMILY) {
        return Err(Error::invalid_argument("Default column family not specified").into());
    }
    if !options.fs.exists(&path.join("CURRENT"))? {
        return Ok(());
    }
    let there = Db::list_column_families(options, path)?;
    let missing: Vec<&str> = there
        .iter()
        .map(String::as_str)
        .filter(|name| !names.iter().any(|named| named == name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("Column families not opened: {}", missing.join(", "))).into())
}

fn opened(env: &Env<'_>, db: Db, names: &[String]) -> Result<JLongArray> {
    insert_families(env, Database::new(db), names)
}

/// The handles of a database and of its families, in the order they were named in.
pub fn insert_families(env: &Env<'_>, db: Database, names: &[String]) -> Result<JLongArray> {
    let families = names
        .iter()
        .map(|name| {
            db.db
                .column_family(name)
                .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))
        })
        .collect::<esker::Result<Vec<_>>>()?;
    let mut list = vec![handles::insert(db)];
    list.extend(
        families
            .into_iter()
            .map(|family| handles::insert(FamilyObject(family))),
    );
    let array = env.long_array(&list);
    if array.is_err() {
        list.into_iter().for_each(handles::close);
    }
    array
}

fn path(env: &Env<'_>, path: JString) -> Result<PathBuf> {
    Ok(env.string(path)?.into())
}

native!("RocksDB_open" "JLjava_lang_String_2" fn(env, options: i64, dir: JString) -> i64 {
    let (options, dir) = (database_options(&env, options)?, path(&env, dir)?);
    check_all_named(&options, &dir, &[esker::DEFAULT_COLUMN_FAMILY.to_owned()])?;
    Ok(handles::insert(Database::new(Db::open(&options, dir)?)))
});

native!("RocksDB_open" "JLjava_lang_String_2_3_3B_3J" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    let (options, names) = with_families(&env, options, names, family_options)?;
    let dir = path(&env, dir)?;
    check_all_named(&options, &dir, &names)?;
    opened(&env, Db::open(&options, dir)?, &names)
});

native!("RocksDB_openROnly" "JLjava_lang_String_2Z" fn(env, options: i64, dir: JString, error_if_wal: bool) -> i64 {
    let options = database_options(&env, options)?;
    Ok(handles::insert(Database::new(Db::open_read_only(&options, path(&env, dir)?)?)))
});

native!("RocksDB_openROnly" "JLjava_lang_String_2_3_3B_3JZ" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray, error_if_wal: bool
) -> JLongArray {
    let (options, names) = with_families(&env, options, names, family_options)?;
    opened(&env, Db::open_read_only(&options, path(&env, dir)?)?, &names)
});

native!("RocksDB_openAsSecondary" "JLjava_lang_String_2Ljava_lang_String_2" fn(
    env, options: i64, dir: JString, secondary: JString
) -> i64 {
    let options = database_options(&env, options)?;
    let db = Db::open_as_secondary(&options, path(&env, dir)?, path(&env, secondary)?)?;
    Ok(handles::insert(Database::new(db)))
});

native!("RocksDB_openAsSecondary" "JLjava_lang_String_2Ljava_lang_String_2_3_3B_3J" fn(
    env, options: i64, dir: JString, secondary: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    let (options, names) = with_families(&env, options, names, family_options)?;
    let db = Db::open_as_secondary(&options, path(&env, dir)?, path(&env, secondary)?)?;
    opened(&env, db, &names)
});

native!("RocksDB_tryCatchUpWithPrimary" "J" fn(env, db: i64) {
    Ok(database(db)?.db.try_catch_up_with_primary()?)
});

native!("RocksDB_closeDatabase" "J" fn(env, db: i64) {
    Ok(database(db)?.db.close()?)
});

native!("RocksDB_destroyDB" "Ljava_lang_String_2J" fn(env, dir: JString, options: i64) {
    Ok(Db::destroy(&database_options(&env, options)?, path(&env, dir)?)?)
});

native!("RocksDB_listColumnFamilies" "JLjava_lang_String_2" fn(env, options: i64, dir: JString) -> JByteArrays {
    // As RocksJava's: where no list can be read there are no families.
    let names = Db::list_column_families(&database_options(&env, options)?, path(&env, dir)?).unwrap_or_default();
    let names: Vec<Option<Vec<u8>>> = names.into_iter().map(|name| Some(name.into_bytes())).collect();
    env.array_of_arrays(&names)
});

fn create(db: &Database, name: Vec<u8>, options: jlong) -> Result<jlong> {
    let options = handles::get::<Settings>(options)?.look(|inner| inner.family())?;
    Ok(handles::insert(FamilyObject(
        db.db.create_column_family(&family_name(name)?, &options)?,
    )))
}

native!("RocksDB_createColumnFamily" "J_3BIJ" fn(env, db: i64, name: JByteArray, length: i32, options: i64) -> i64 {
    let db = database(db)?;
    create(&db, env.head(name, length)?.to_vec(), options)
});

fn create_all(
    env: &Env<'_>,
    db: jlong,
    list: impl IntoIterator<Item = (Vec<u8>, jlong)>,
) -> Result<JLongArray> {
    let db = database(db)?;
    let mut made = Vec::new();
    for (name, options) in list {
        made.push(create(&db, name, options)?);
    }
    env.long_array(&made)
}

native!("RocksDB_createColumnFamilies" "JJ_3_3B" fn(env, db: i64, options: i64, names: JByteArrays) -> JLongArray {
    create_all(&env, db, env.byte_arrays(names)?.into_iter().map(|name| (name, options)))
});

native!("RocksDB_createColumnFamilies" "J_3J_3_3B" fn(
    env, db: i64, options: JLongArray, names: JByteArrays
) -> JLongArray {
    create_all(&env, db, env.byte_arrays(names)?.into_iter().zip(env.longs(options)?))
});

/// `org.rocksdb.ExportImportFilesMetaData`.
pub struct ExportObject(pub ExportImportFilesMetaData);

native!("RocksDB_createColumnFamilyWithImport" "J_3BIJJ_3J" fn(
    env, db: i64, name: JByteArray, length: i32, options: i64, import_options: i64, metadata: JLongArray
) -> i64 {
    let db = database(db)?;
    let name = family_name(env.head(name, length)?.to_vec())?;
    let options = handles::get::<Settings>(options)?.look(|inner| inner.family())?;
    let import = ImportColumnFamilyOptions {
        move_files: handles::get::<Settings>(import_options)?.look(|inner| inner.flag("move_files", false)),
    };
    let metadata = env
        .longs(metadata)?
        .into_iter()
        .map(handles::get::<ExportObject>)
        .collect::<Result<Vec<_>>>()?;
    let metadata: Vec<&ExportImportFilesMetaData> = metadata.iter().map(|held| &held.0).collect();
    let family = db.db.create_column_family_with_import(&options, &name, &import, &metadata)?;
    Ok(handles::insert(FamilyObject(family)))
});

native!("RocksDB_dropColumnFamily" "JJ" fn(env, db: i64, family: i64) {
    let db = database(db)?;
    Ok(db.db.drop_column_family(Family::of(family)?.in_db(&db))?)
});

native!("RocksDB_dropColumnFamilies" "J_3J" fn(env, db: i64, families: JLongArray) {
    let db = database(db)?;
    for family in env.longs(families)? {
        db.db.drop_column_family(Family::of(family)?.in_db(&db))?;
    }
    Ok(())
});

native!("RocksDB_getDefaultColumnFamily" "J" fn(env, db: i64) -> i64 {
    Ok(handles::insert(FamilyObject(database(db)?.default.clone())))
});

native!("RocksDB_getName" "J" fn(env, db: i64) -> JString {
    env.new_string(&database(db)?.db.path().display().to_string())
});

native!("ColumnFamilyHandle_getName" "J" fn(env, family: i64) -> JByteArray {
    env.byte_array(handles::get::<FamilyObject>(family)?.0.name().as_bytes())
});

native!("ColumnFamilyHandle_getID" "J" fn(env, family: i64) -> i32 {
    Ok(handles::get::<FamilyObject>(family)?.0.id() as i32)
});

native!("ColumnFamilyHandle_getDescriptor" "J" fn(env, family: i64) -> JObject {
    let family = handles::get::<FamilyObject>(family)?;
    let settings = Settings::of(crate::option_parts::of_family(&family.0.current_options()));
    let name = env.byte_array(family.0.name().as_bytes())?;
    let options = env.object("org/rocksdb/ColumnFamilyOptions", "(J)V", &[jvalue { j: handles::insert(settings) }])?;
    let arguments = [jvalue { l: name.0 }, jvalue { l: options }];
    let descriptor = env.object(
        "org/rocksdb/ColumnFamilyDescriptor", "([BLorg/rocksdb/ColumnFamilyOptions;)V", &arguments,
    )?;
    Ok(JObject(descriptor))
});
