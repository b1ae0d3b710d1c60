//! Opening and closing databases, and their column families.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::FileKind;
use esker::{Db, Error, ExportImportFilesMetaData, FamilyTtl, ImportColumnFamilyOptions, Options};
use jni_sys::{jlong, jvalue};

use crate::env::{Env, JByteArray, JByteArrays, JLongArray, JObject, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::listener::{self, JavaListener, Listeners};
use crate::objects::{Database, Family, FamilyObject, Layer, database};
use crate::settings::Settings;

/// Returns the name of a family. A name that is not UTF-8 is an error.
pub fn family_name(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| Fail::Status(Error::not_supported("the name of a column family is not UTF-8")))
}

/// Returns the engine's options of a handle.
pub fn database_options(env: &Env<'_>, options: jlong) -> Result<Options> {
    crate::release::probe(env);
    Ok(handles::get::<Settings>(options)?.look(|inner| inner.database())?)
}

/// Adds the options of the named families to those of the database.
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

/// Returns an error unless `names` has every family of the database: RocksDB requires it for an open with
/// writes.
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

/// Creates the handle of an open database, and attaches the listeners to it.
fn insert(mut db: Database, options: jlong, listeners: Option<Arc<Listeners>>) -> jlong {
    db.listeners.clone_from(&listeners);
    let environment =
        handles::get::<Settings>(options).map(|options| options.look(|inner| inner.parts.env.clone()));
    db.environment = environment.ok().flatten();
    let handle = handles::insert(db);
    if let Some(listeners) = listeners {
        listeners.attach(handle);
    }
    handle
}

fn listeners_of(options: jlong) -> Result<Vec<Arc<JavaListener>>> {
    Ok(handles::get::<Settings>(options)?.look(|inner| inner.parts.listeners.clone()))
}

/// Opens a database whose families are not named, and returns its handle.
pub fn open_one(
    env: &Env<'_>,
    handle: jlong,
    dir: JString,
    open: impl FnOnce(&Options, &Path) -> Result<Database>,
) -> Result<jlong> {
    let (mut options, dir) = (database_options(env, handle)?, path(env, dir)?);
    let listeners = listener::join(listeners_of(handle)?, &mut options, &dir);
    Ok(insert(open(&options, &dir)?, handle, listeners))
}

/// The families of a database as Java passes them: `byte[][]`, and handles of their options.
pub type Named = (JByteArrays, JLongArray);

/// Opens a database with the named families. Returns its handle, followed by the handles of the families in
/// the order of their names.
pub fn open_families(
    env: &Env<'_>,
    handle: jlong,
    dir: JString,
    families: Named,
    open: impl FnOnce(&Options, &Path, &[String]) -> Result<Database>,
) -> Result<JLongArray> {
    let (mut options, names) = with_families(env, handle, families.0, families.1)?;
    let dir = path(env, dir)?;
    let listeners = listener::join(listeners_of(handle)?, &mut options, &dir);
    let db = open(&options, &dir, &names)?;
    let families = names
        .iter()
        .map(|name| {
            db.db
                .column_family(name)
                .ok_or_else(|| Error::invalid_argument(format!("Column family not found: {name}")))
        })
        .collect::<esker::Result<Vec<_>>>()?;
    let family = |family| handles::insert(FamilyObject(family, listeners.clone()));
    let mut list: Vec<jlong> = families.into_iter().map(family).collect();
    list.insert(0, insert(db, handle, listeners));
    let array = env.long_array(&list);
    if array.is_err() {
        list.into_iter().for_each(handles::close);
    }
    array
}

fn path(env: &Env<'_>, path: JString) -> Result<PathBuf> {
    Ok(env.string(path)?.into())
}

/// The name of the default family, as the only one.
pub fn default_alone() -> [String; 1] {
    [esker::DEFAULT_COLUMN_FAMILY.to_owned()]
}

native!("RocksDB_open" "JLjava_lang_String_2" fn(env, options: i64, dir: JString) -> i64 {
    open_one(&env, options, dir, |options, dir| {
        check_all_named(options, dir, &default_alone())?;
        Ok(Database::new(Db::open(options, dir)?))
    })
});

native!("RocksDB_open" "JLjava_lang_String_2_3_3B_3J" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    open_families(&env, options, dir, (names, family_options), |options, dir, names| {
        check_all_named(options, dir, names)?;
        Ok(Database::new(Db::open(options, dir)?))
    })
});

/// Returns an error if `wanted` is true and the database has a WAL: RocksDB calls this option
/// `error_if_wal_file_exists`.
fn check_no_wal(options: &Options, dir: &Path, wanted: bool) -> Result<()> {
    let wal_dir = match options.wal_dir.is_empty() {
        true => dir,
        false => Path::new(&options.wal_dir),
    };
    let has_wal = |dir: &Path| -> Result<bool> {
        let names = options.fs.list(dir)?;
        Ok(names
            .iter()
            .any(|name| matches!(base::filename::parse(name), Some(FileKind::Wal(_)))))
    };
    match wanted && has_wal(wal_dir)? {
        true => Err(Error::corruption(
            "The db was opened in readonly mode with error_if_wal_file_exists flag but a WAL file already exists",
        )
        .into()),
        false => Ok(()),
    }
}

native!("RocksDB_openROnly" "JLjava_lang_String_2Z" fn(env, options: i64, dir: JString, error_if_wal: bool) -> i64 {
    open_one(&env, options, dir, |options, dir| {
        check_no_wal(options, dir, error_if_wal)?;
        Ok(Database::new(Db::open_read_only(options, dir)?))
    })
});

native!("RocksDB_openROnly" "JLjava_lang_String_2_3_3B_3JZ" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray, error_if_wal: bool
) -> JLongArray {
    open_families(&env, options, dir, (names, family_options), |options, dir, _| {
        check_no_wal(options, dir, error_if_wal)?;
        Ok(Database::new(Db::open_read_only(options, dir)?))
    })
});

native!("RocksDB_openAsSecondary" "JLjava_lang_String_2Ljava_lang_String_2" fn(
    env, options: i64, dir: JString, secondary: JString
) -> i64 {
    let secondary = path(&env, secondary)?;
    open_one(&env, options, dir, |options, dir| {
        Ok(Database::new(Db::open_as_secondary(options, dir, &secondary)?))
    })
});

native!("RocksDB_openAsSecondary" "JLjava_lang_String_2Ljava_lang_String_2_3_3B_3J" fn(
    env, options: i64, dir: JString, secondary: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    let secondary = path(&env, secondary)?;
    open_families(&env, options, dir, (names, family_options), |options, dir, _| {
        Ok(Database::new(Db::open_as_secondary(options, dir, &secondary)?))
    })
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
    // As in RocksJava, the list of families is empty if the database cannot be read.
    let names = Db::list_column_families(&database_options(&env, options)?, path(&env, dir)?).unwrap_or_default();
    let names: Vec<Option<Vec<u8>>> = names.into_iter().map(|name| Some(name.into_bytes())).collect();
    env.array_of_arrays(&names)
});

fn create(db: &Database, name: Vec<u8>, options: jlong) -> Result<jlong> {
    let options = handles::get::<Settings>(options)?.look(|inner| inner.family())?;
    let name = family_name(name)?;
    let family = match &db.layer {
        // A family without a time to live keeps its rows permanently.
        Layer::Ttl(db) => db.create_column_family(&name, &options, FamilyTtl::RocksDb(0))?,
        _ => db.db.create_column_family(&name, &options)?,
    };
    Ok(FamilyObject::insert(db, family))
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
    let family = db.db.create_column_family_with_import(&name, &options, &metadata, &import)?;
    Ok(FamilyObject::insert(&db, family))
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
    let db = database(db)?;
    Ok(FamilyObject::insert(&db, db.default.clone()))
});

native!("RocksDB_getEnv" "J" fn(env, db: i64) -> i64 {
    Ok(crate::environment::handle_of(database(db)?.environment.as_ref()))
});

native!("RocksDB_getName" "J" fn(env, db: i64) -> JString {
    env.new_string(&database(db)?.db.path().display().to_string())
});

native!("ColumnFamilyHandle_disposeInternal" "J" fn(env, family: i64) {
    if let Ok(FamilyObject(_, Some(listeners))) = handles::get::<FamilyObject>(family).as_deref() {
        listeners.family_handle_closes(family);
    }
    handles::close(family);
    Ok(())
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
