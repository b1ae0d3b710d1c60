//! Reads of rows.

use esker::KeyMayExist;
use jni_sys::jlong;

use crate::env::{Env, JBuffer, JByteArray, JByteArrays, JIntArray, JLongArray, JObjects};
use crate::fail::Result;
use crate::frame::native;
use crate::objects::{Family, Shown, database, read_options};
use crate::status::{status, status_ok};

/// The place of a key in an array.
type KeySlice = (JByteArray, i32, i32);

/// The result of a read that finds nothing, in the place of a length.
const NOT_FOUND: i32 = -1;

fn get(env: &Env<'_>, db: jlong, options: jlong, key: KeySlice, family: jlong) -> Result<JByteArray> {
    let db = database(db)?;
    let key = env.bytes(key.0, key.1, key.2)?;
    let family = Family::of(family)?;
    match db.get_cf_opt(family.in_db(&db), &key, &*read_options(options)?)? {
        Some(value) => env.byte_array(&value),
        None => Ok(JByteArray(std::ptr::null_mut())),
    }
}

/// Copies the value to the caller's part of an array, and returns the length of the value.
fn fill(
    env: &Env<'_>,
    db: jlong,
    options: jlong,
    key: KeySlice,
    value: KeySlice,
    family: jlong,
) -> Result<i32> {
    let db = database(db)?;
    let key = env.bytes(key.0, key.1, key.2)?;
    let family = Family::of(family)?;
    match db.get_cf_opt(family.in_db(&db), &key, &*read_options(options)?)? {
        Some(found) => {
            env.fill(value.0, value.1, value.2, &found)?;
            Ok(found.len() as i32)
        }
        None => Ok(NOT_FOUND),
    }
}

native!("RocksDB_get" "J_3BII" fn(env, db: i64, key: JByteArray, at: i32, length: i32) -> JByteArray {
    get(&env, db, 0, (key, at, length), 0)
});

native!("RocksDB_get" "J_3BIIJ" fn(env, db: i64, key: JByteArray, at: i32, length: i32, family: i64) -> JByteArray {
    get(&env, db, 0, (key, at, length), family)
});

native!("RocksDB_get" "JJ_3BII" fn(env, db: i64, options: i64, key: JByteArray, at: i32, length: i32) -> JByteArray {
    get(&env, db, options, (key, at, length), 0)
});

native!("RocksDB_get" "JJ_3BIIJ" fn(
    env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, family: i64
) -> JByteArray {
    get(&env, db, options, (key, at, length), family)
});

native!("RocksDB_get" "J_3BII_3BII" fn(
    env, db: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32
) -> i32 {
    fill(&env, db, 0, (key, at, length), (value, value_at, value_length), 0)
});

native!("RocksDB_get" "J_3BII_3BIIJ" fn(
    env, db: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32,
    family: i64
) -> i32 {
    fill(&env, db, 0, (key, at, length), (value, value_at, value_length), family)
});

native!("RocksDB_get" "JJ_3BII_3BII" fn(
    env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
    value_length: i32
) -> i32 {
    fill(&env, db, options, (key, at, length), (value, value_at, value_length), 0)
});

native!("RocksDB_get" "JJ_3BII_3BIIJ" fn(
    env, db: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
    value_length: i32, family: i64
) -> i32 {
    fill(&env, db, options, (key, at, length), (value, value_at, value_length), family)
});

native!("RocksDB_getDirect" "JJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
    env, db: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32, family: i64
) -> i32 {
    let db = database(db)?;
    let family = Family::of(family)?;
    let key = env.direct(key, at, length)?;
    match db.get_cf_opt(family.in_db(&db), key, &*read_options(options)?)? {
        Some(found) => {
            let value = env.direct(value, value_at, value_length)?;
            let count = found.len().min(value.len());
            value[..count].copy_from_slice(&found[..count]);
            Ok(found.len() as i32)
        }
        None => Ok(NOT_FOUND),
    }
});

/// Returns the keys in parts of arrays.
fn keys(env: &Env<'_>, keys: JByteArrays, at: JIntArray, lengths: JIntArray) -> Result<Vec<Vec<u8>>> {
    let (at, lengths) = (env.ints(at)?, env.ints(lengths)?);
    let mut list = Vec::with_capacity(at.len());
    for (number, (at, length)) in at.into_iter().zip(lengths).enumerate() {
        let key = env.element(keys.0, number)?;
        list.push(env.bytes(JByteArray(key), at, length)?.to_vec());
        env.forget(key);
    }
    Ok(list)
}

/// Returns the values of keys, in their order. A value is null if the key does not exist or its read fails.
fn multi_get(
    env: &Env<'_>,
    db: jlong,
    options: jlong,
    keys: &[Vec<u8>],
    families: Option<Vec<jlong>>,
) -> Result<JByteArrays> {
    let db = database(db)?;
    let options = read_options(options)?;
    let mut values = Vec::with_capacity(keys.len());
    match families {
        None => values = db.db.multi_get_pinned_cf_opt(&db.default, keys, &options),
        Some(families) => {
            if families.len() != keys.len() {
                return Err(crate::fail::Fail::argument("each key needs its family"));
            }
            // Consecutive keys of one family are read together.
            let mut from = 0;
            while from < keys.len() {
                let run = families[from..]
                    .iter()
                    .take_while(|family| **family == families[from])
                    .count();
                let family = Family::of(families[from])?;
                values.extend(db.db.multi_get_pinned_cf_opt(
                    family.in_db(&db),
                    &keys[from..from + run],
                    &options,
                ));
                from += run;
            }
        }
    }
    let shown = |value| Shown::new(value, db.suffix());
    let values: Vec<_> = values
        .into_iter()
        .map(|value| value.ok().flatten().map(shown))
        .collect();
    env.array_of_arrays(&values)
}

native!("RocksDB_multiGet" "J_3_3B_3I_3I" fn(
    env, db: i64, arrays: JByteArrays, at: JIntArray, lengths: JIntArray
) -> JByteArrays {
    multi_get(&env, db, 0, &keys(&env, arrays, at, lengths)?, None)
});

native!("RocksDB_multiGet" "J_3_3B_3I_3I_3J" fn(
    env, db: i64, arrays: JByteArrays, at: JIntArray, lengths: JIntArray, families: JLongArray
) -> JByteArrays {
    multi_get(&env, db, 0, &keys(&env, arrays, at, lengths)?, Some(env.longs(families)?))
});

native!("RocksDB_multiGet" "JJ_3_3B_3I_3I" fn(
    env, db: i64, options: i64, arrays: JByteArrays, at: JIntArray, lengths: JIntArray
) -> JByteArrays {
    multi_get(&env, db, options, &keys(&env, arrays, at, lengths)?, None)
});

native!("RocksDB_multiGet" "JJ_3_3B_3I_3I_3J" fn(
    env, db: i64, options: i64, arrays: JByteArrays, at: JIntArray, lengths: JIntArray, families: JLongArray
) -> JByteArrays {
    multi_get(&env, db, options, &keys(&env, arrays, at, lengths)?, Some(env.longs(families)?))
});

native!("RocksDB_multiGet" "JJ_3J_3Ljava_nio_ByteBuffer_2_3I_3I_3Ljava_nio_ByteBuffer_2_3I_3Lorg_rocksdb_Status_2" fn(
    env, db: i64, options: i64, families: JLongArray, buffers: JObjects, at: JIntArray, lengths: JIntArray,
    values: JObjects, sizes: JIntArray, statuses: JObjects
) {
    let db = database(db)?;
    let options = read_options(options)?;
    let families = env.longs(families)?;
    let (at, lengths) = (env.ints(at)?, env.ints(lengths)?);
    let mut found_sizes = Vec::with_capacity(at.len());
    for (number, (at, length)) in at.iter().zip(&lengths).enumerate() {
        let family = Family::of(match families.as_slice() {
            [] => 0,
            [one] => *one,
            list => list.get(number).copied().unwrap_or(0),
        })?;
        let key = env.element(buffers.0, number)?;
        let value = env.element(values.0, number)?;
        let found = db.get_cf_opt(family.in_db(&db), env.direct(JBuffer(key), *at, *length)?, &options);
        let outcome = match found {
            Ok(Some(found)) => {
                found_sizes.push(found.len() as i32);
                copy_to(&env, JBuffer(value), &found)?;
                status_ok(&env)?
            }
            Ok(None) => {
                found_sizes.push(0);
                let missing = esker::Error::new(esker::ErrorKind::NotFound, "");
                status(&env, &missing)?
            }
            Err(error) => {
                found_sizes.push(0);
                status(&env, &error)?
            }
        };
        env.set_element(statuses.0, number, outcome)?;
        [key, value, outcome].into_iter().for_each(|object| env.forget(object));
    }
    env.set_ints(sizes, &found_sizes)
});

/// Copies the bytes to a buffer, from its position on. Java sets its limit.
fn copy_to(env: &Env<'_>, buffer: JBuffer, bytes: &[u8]) -> Result<()> {
    let class = env.class("java/nio/Buffer")?;
    let number = |name| {
        env.method(class, name, "()I")
            .and_then(|method| env.call_int(buffer.0, method, &[]))
    };
    let (position, remaining) = (number("position")?, number("remaining")?);
    env.forget(class);
    let to = env.direct(buffer, position, remaining)?;
    let count = bytes.len().min(to.len());
    to[..count].copy_from_slice(&bytes[..count]);
    Ok(())
}

fn exists(db: jlong, family: jlong, options: jlong, key: &[u8]) -> Result<bool> {
    let db = database(db)?;
    let family = Family::of(family)?;
    Ok(db
        .get_cf_opt(family.in_db(&db), key, &*read_options(options)?)?
        .is_some())
}

native!("RocksDB_keyExists" "JJJ_3BII" fn(
    env, db: i64, family: i64, options: i64, key: JByteArray, at: i32, length: i32
) -> bool {
    exists(db, family, options, &env.bytes(key, at, length)?)
});

native!("RocksDB_keyExistsDirect" "JJJLjava_nio_ByteBuffer_2II" fn(
    env, db: i64, family: i64, options: i64, key: JBuffer, at: i32, length: i32
) -> bool {
    exists(db, family, options, env.direct(key, at, length)?)
});

/// RocksJava's numbers of the results of `keyMayExist`.
const ABSENT: u8 = 0;
const UNKNOWN: u8 = 1;
const FOUND: u8 = 2;

/// Returns the number of the result, and the value if it is known.
fn may_exist(db: jlong, family: jlong, options: jlong, key: &[u8]) -> Result<(u8, Option<Shown>)> {
    let db = database(db)?;
    let family = Family::of(family)?;
    let found = db
        .db
        .key_may_exist_cf_opt(family.in_db(&db), key, &*read_options(options)?)?;
    Ok(match found {
        KeyMayExist::No => (ABSENT, None),
        KeyMayExist::Maybe => (UNKNOWN, None),
        KeyMayExist::Yes(value) => (FOUND, Some(Shown::new(value, db.suffix()))),
    })
}

native!("RocksDB_keyMayExist" "JJJ_3BII" fn(
    env, db: i64, family: i64, options: i64, key: JByteArray, at: i32, length: i32
) -> bool {
    Ok(may_exist(db, family, options, &env.bytes(key, at, length)?)?.0 != ABSENT)
});

native!("RocksDB_keyMayExistDirect" "JJJLjava_nio_ByteBuffer_2II" fn(
    env, db: i64, family: i64, options: i64, key: JBuffer, at: i32, length: i32
) -> bool {
    Ok(may_exist(db, family, options, env.direct(key, at, length)?)?.0 != ABSENT)
});

native!("RocksDB_keyMayExistFoundValue" "JJJ_3BII" fn(
    env, db: i64, family: i64, options: i64, key: JByteArray, at: i32, length: i32
) -> JByteArrays {
    let (answer, value) = may_exist(db, family, options, &env.bytes(key, at, length)?)?;
    env.array_of_arrays(&[Some(vec![answer]), value.map(|value| value.to_vec())])
});

native!("RocksDB_keyMayExistDirectFoundValue" "JJJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II" fn(
    env, db: i64, family: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32
) -> JIntArray {
    let (answer, found) = may_exist(db, family, options, env.direct(key, at, length)?)?;
    let mut length = 0;
    if let Some(found) = found {
        let to = env.direct(value, value_at, value_length)?;
        let count = found.len().min(to.len());
        to[..count].copy_from_slice(&found[..count]);
        length = found.len() as i32;
    }
    env.int_array(&[i32::from(answer), length])
});
