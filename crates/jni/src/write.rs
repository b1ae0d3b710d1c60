//! Writes of rows.

use esker::{ColumnFamily, WriteOptions};
use jni_sys::jlong;

use crate::batch::{BatchObject, IndexedBatch};
use crate::env::{JBuffer, JByteArray};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, Family, database, write_options};

/// Writes to a database with the options and the family of the handles.
fn write(
    db: jlong,
    options: jlong,
    family: jlong,
    act: impl FnOnce(&Database, &WriteOptions, &ColumnFamily) -> esker::Result<()>,
) -> Result<()> {
    let db = database(db)?;
    let family = Family::of(family)?;
    let options = write_options(options)?;
    Ok(act(&db, &options, family.in_db(&db))?)
}

/// Declares the four signatures of an operation on a key and a value: with and without options, with and
/// without a family.
macro_rules! pair_operation {
    ($name:literal, $act:ident) => {
        native!($name "J_3BII_3BII" fn(
            env, db: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            write(db, 0, 0, |db, options, family| db.$act(family, &key, &value, options))
        });
        native!($name "J_3BII_3BIIJ" fn(
            env, db: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32,
            family: i64
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            write(db, 0, family, |db, options, family| db.$act(family, &key, &value, options))
        });
        native!($name "JJ_3BII_3BII" fn(
            env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
            value_length: i32
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            write(db, options, 0, |db, options, family| db.$act(family, &key, &value, options))
        });
        native!($name "JJ_3BII_3BIIJ" fn(
            env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
            value_length: i32, family: i64
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            write(db, options, family, |db, options, family| db.$act(family, &key, &value, options))
        });
    };
}
pair_operation!("RocksDB_put", put_cf_opt);
pair_operation!("RocksDB_merge", merge_cf_opt);
pair_operation!("RocksDB_deleteRange", delete_range_cf_opt);

native!("RocksDB_putDirect" "JJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
    env, db: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32, family: i64
) {
    let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
    write(db, options, family, |db, options, family| db.put_cf_opt(family, key, value, options))
});

native!("RocksDB_mergeDirect" "JJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
    env, db: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32, family: i64
) {
    let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
    write(db, options, family, |db, options, family| db.merge_cf_opt(family, key, value, options))
});

native!("RocksDB_delete" "J_3BII" fn(env, db: i64, key: JByteArray, at: i32, length: i32) {
    let key = env.bytes(key, at, length)?;
    write(db, 0, 0, |db, options, family| db.delete_cf_opt(family, &key, options))
});

native!("RocksDB_delete" "J_3BIIJ" fn(env, db: i64, key: JByteArray, at: i32, length: i32, family: i64) {
    let key = env.bytes(key, at, length)?;
    write(db, 0, family, |db, options, family| db.delete_cf_opt(family, &key, options))
});

native!("RocksDB_delete" "JJ_3BII" fn(env, db: i64, options: i64, key: JByteArray, at: i32, length: i32) {
    let key = env.bytes(key, at, length)?;
    write(db, options, 0, |db, options, family| db.delete_cf_opt(family, &key, options))
});

native!("RocksDB_delete" "JJ_3BIIJ" fn(
    env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, family: i64
) {
    let key = env.bytes(key, at, length)?;
    write(db, options, family, |db, options, family| db.delete_cf_opt(family, &key, options))
});

native!("RocksDB_deleteDirect" "JJLjava_nio_ByteBuffer_2IIJ" fn(
    env, db: i64, options: i64, key: JBuffer, at: i32, length: i32, family: i64
) {
    let key = env.direct(key, at, length)?;
    write(db, options, family, |db, options, family| db.delete_cf_opt(family, key, options))
});

native!("RocksDB_singleDelete" "J_3BI" fn(env, db: i64, key: JByteArray, length: i32) {
    let key = env.head(key, length)?;
    write(db, 0, 0, |db, options, family| db.single_delete_cf_opt(family, &key, options))
});

native!("RocksDB_singleDelete" "J_3BIJ" fn(env, db: i64, key: JByteArray, length: i32, family: i64) {
    let key = env.head(key, length)?;
    write(db, 0, family, |db, options, family| db.single_delete_cf_opt(family, &key, options))
});

native!("RocksDB_singleDelete" "JJ_3BI" fn(env, db: i64, options: i64, key: JByteArray, length: i32) {
    let key = env.head(key, length)?;
    write(db, options, 0, |db, options, family| db.single_delete_cf_opt(family, &key, options))
});

native!("RocksDB_singleDelete" "JJ_3BIJ" fn(
    env, db: i64, options: i64, key: JByteArray, length: i32, family: i64
) {
    let key = env.head(key, length)?;
    write(db, options, family, |db, options, family| db.single_delete_cf_opt(family, &key, options))
});

native!("RocksDB_write0" "JJJ" fn(env, db: i64, options: i64, batch: i64) {
    let batch = handles::get::<BatchObject>(batch)?.copy();
    write(db, options, 0, |db, options, _| db.write_opt(batch, options))
});

native!("RocksDB_write1" "JJJ" fn(env, db: i64, options: i64, batch: i64) {
    let batch = handles::get::<IndexedBatch>(batch)?.batch();
    write(db, options, 0, |db, options, _| db.write_opt(batch, options))
});
