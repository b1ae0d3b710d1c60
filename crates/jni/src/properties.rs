//! The properties of databases.

use esker::{Property, PropertyKind};

use crate::env::{JObject, JString};
use crate::fail::Result;
use crate::frame::native;
use crate::objects::{Family, database};

/// The property that identifies this library as Esker's. Its value is Esker's release.
const ESKER_VERSION: &str = "rocksdb.esker-version";

/// The error of an unknown name or property: `NotFound`, as in RocksDB.
fn missing<T>() -> Result<T> {
    Err(esker::Error::new(esker::ErrorKind::NotFound, "").into())
}

native!("RocksDB_getProperty" "JJLjava_lang_String_2I" fn(env, db: i64, family: i64, name: JString, length: i32) -> JString {
    let db = database(db)?;
    let name = env.string(name)?;
    if name == ESKER_VERSION {
        return env.new_string(env!("CARGO_PKG_VERSION"));
    }
    match db.db.property(Family::of(family)?.in_db(&db), &name) {
        Some(text) => env.new_string(&text),
        None => missing(),
    }
});

native!("RocksDB_getLongProperty" "JJLjava_lang_String_2I" fn(env, db: i64, family: i64, name: JString, length: i32) -> i64 {
    let db = database(db)?;
    match db.db.property_int(Family::of(family)?.in_db(&db), &env.string(name)?) {
        Some(number) => Ok(number as i64),
        None => missing(),
    }
});

native!("RocksDB_getAggregatedLongProperty" "JLjava_lang_String_2I" fn(env, db: i64, name: JString, length: i32) -> i64 {
    let db = database(db)?;
    match db.db.aggregated_property_int(&env.string(name)?) {
        Some(sum) => Ok(sum as i64),
        None => missing(),
    }
});

native!("RocksDB_getMapProperty" "JJLjava_lang_String_2I" fn(env, db: i64, family: i64, name: JString, length: i32) -> JObject {
    let db = database(db)?;
    let name = env.string(name)?;
    if Property::of_name(&name).is_none_or(|property| property.kind != PropertyKind::Map) {
        return missing();
    }
    let Some(text) = db.db.property(Family::of(family)?.in_db(&db), &name) else { return missing() };
    let pairs = text.lines().filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.trim(), value.trim()));
    env.string_map(pairs)
});
