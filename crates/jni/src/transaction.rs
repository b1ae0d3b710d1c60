//! `org.rocksdb.Transaction`.

use std::sync::Arc;

use base::sync::Mutex;
use esker::{ColumnFamily, Db, PinnedValue, ReadOptions, Snapshot, WriteBatch};
use jni_sys::{jlong, jmethodID, jvalue};
use txn::{Tracking, Transaction, TransactionNotifier, TransactionWaits};

use crate::batch::{BatchObject, BatchOf};
use crate::callback::{Global, attached};
use crate::env::{Env, JBuffer, JByteArray, JByteArrays, JLongArray, JObject, JString, Reference};
use crate::exclusive;
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::iterator::IteratorObject;
use crate::objects::{Database, FamilyObject, read_options, write_options};
use crate::settings::{Inner, Settings, Value};
use crate::snapshot::SnapshotObject;

/// A transaction, for one thread at a time, and the handles that Java has of its parts without owning them.
pub struct TransactionObject {
    inner: Mutex<Parts>,
    /// The waits of the transaction, which Java may look at while a thread works with the transaction.
    waits: Mutex<TransactionWaits>,
    default: ColumnFamily,
    db: Db,
}

struct Parts {
    transaction: Transaction,
    detects_deadlocks: bool,
    log_number: i64,
    /// Handles that are closed together with the transaction.
    lent: Vec<jlong>,
    /// The batch that the commit writes too; `None` until Java asks for it.
    commit_time: Option<jlong>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.lent.drain(..).for_each(handles::close);
    }
}

impl TransactionObject {
    /// Returns the object of a transaction of a database.
    pub fn new(transaction: Transaction, db: &Database, detects_deadlocks: bool) -> TransactionObject {
        TransactionObject {
            waits: Mutex::new(transaction.waits()),
            inner: Mutex::new(Parts {
                transaction,
                detects_deadlocks,
                log_number: 0,
                lent: Vec::new(),
                commit_time: None,
            }),
            default: db.default.clone(),
            db: db.db.clone(),
        }
    }

    /// Replaces the transaction.
    pub fn replace(&self, transaction: Transaction, detects_deadlocks: bool) {
        let waits = transaction.waits();
        let parts = Parts {
            transaction,
            detects_deadlocks,
            log_number: 0,
            lent: Vec::new(),
            commit_time: None,
        };
        *self.inner.lock() = parts;
        *self.waits.lock() = waits;
    }
}

/// Runs `act` with a transaction.
fn with<R>(handle: jlong, act: impl FnOnce(&mut Transaction) -> R) -> Result<R> {
    Ok(act(&mut handles::get::<TransactionObject>(handle)?
        .inner
        .lock()
        .transaction))
}

/// Runs `act` with a transaction and a family, which is the default family for the handle 0.
fn in_family<R>(
    handle: jlong,
    family: jlong,
    act: impl FnOnce(&mut Transaction, &ColumnFamily) -> esker::Result<R>,
) -> Result<R> {
    let object = handles::get::<TransactionObject>(handle)?;
    let family = handles::optional::<FamilyObject>(family)?;
    let family = family.as_ref().map_or(&object.default, |family| &family.0);
    Ok(act(&mut object.inner.lock().transaction, family)?)
}

fn tracking(assume_tracked: bool) -> Tracking {
    if assume_tracked {
        Tracking::AssumeTracked
    } else {
        Tracking::Validate
    }
}

/// Returns a key or a value from the arrays of its parts.
fn joined(env: &Env<'_>, parts: JByteArrays, count: i32) -> Result<Vec<u8>> {
    let mut parts = env.byte_arrays(parts)?;
    parts.truncate(count.max(0) as usize);
    Ok(parts.concat())
}

/// Defines the writes of a key and a value.
macro_rules! pair_writes {
    ($act:ident: $name:literal $direct:literal) => {
        native!($name "J_3BII_3BII" fn(
            env, handle: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            in_family(handle, 0, |txn, family| txn.$act(family, &key, &value, Tracking::Validate))
        });
        native!($name "J_3BII_3BIIJZ" fn(
            env, handle: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
            value_length: i32, family: i64, assume_tracked: bool
        ) {
            let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
            in_family(handle, family, |txn, family| txn.$act(family, &key, &value, tracking(assume_tracked)))
        });
        native!($direct "JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II" fn(
            env, handle: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32, value_length: i32
        ) {
            let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
            in_family(handle, 0, |txn, family| txn.$act(family, key, value, Tracking::Validate))
        });
        native!($direct "JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZ" fn(
            env, handle: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32, value_length: i32,
            family: i64, assume_tracked: bool
        ) {
            let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
            in_family(handle, family, |txn, family| txn.$act(family, key, value, tracking(assume_tracked)))
        });
    };
}
pair_writes!(put_cf_opt: "Transaction_put" "Transaction_putDirect");
pair_writes!(merge_cf_opt: "Transaction_merge" "Transaction_mergeDirect");

native!("Transaction_put" "J_3_3BI_3_3BI" fn(
    env, handle: i64, key: JByteArrays, count: i32, value: JByteArrays, value_count: i32
) {
    let (key, value) = (joined(&env, key, count)?, joined(&env, value, value_count)?);
    in_family(handle, 0, |txn, family| txn.put_cf(family, &key, &value))
});

native!("Transaction_put" "J_3_3BI_3_3BIJZ" fn(
    env, handle: i64, key: JByteArrays, count: i32, value: JByteArrays, value_count: i32, family: i64,
    assume_tracked: bool
) {
    let (key, value) = (joined(&env, key, count)?, joined(&env, value, value_count)?);
    in_family(handle, family, |txn, family| txn.put_cf_opt(family, &key, &value, tracking(assume_tracked)))
});

native!("Transaction_putUntracked" "J_3BI_3BI" fn(
    env, handle: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32
) {
    let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
    in_family(handle, 0, |txn, family| txn.put_cf_opt(family, &key, &value, Tracking::Untracked))
});

native!("Transaction_putUntracked" "J_3BI_3BIJ" fn(
    env, handle: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32, family: i64
) {
    let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
    in_family(handle, family, |txn, family| txn.put_cf_opt(family, &key, &value, Tracking::Untracked))
});

native!("Transaction_putUntracked" "J_3_3BI_3_3BI" fn(
    env, handle: i64, key: JByteArrays, count: i32, value: JByteArrays, value_count: i32
) {
    let (key, value) = (joined(&env, key, count)?, joined(&env, value, value_count)?);
    in_family(handle, 0, |txn, family| txn.put_cf_opt(family, &key, &value, Tracking::Untracked))
});

native!("Transaction_putUntracked" "J_3_3BI_3_3BIJ" fn(
    env, handle: i64, key: JByteArrays, count: i32, value: JByteArrays, value_count: i32, family: i64
) {
    let (key, value) = (joined(&env, key, count)?, joined(&env, value, value_count)?);
    in_family(handle, family, |txn, family| txn.put_cf_opt(family, &key, &value, Tracking::Untracked))
});

native!("Transaction_mergeUntracked" "J_3BII_3BIIJ" fn(
    env, handle: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32, value_length: i32,
    family: i64
) {
    let (key, value) = (env.bytes(key, at, length)?, env.bytes(value, value_at, value_length)?);
    in_family(handle, family, |txn, family| txn.merge_cf_opt(family, &key, &value, Tracking::Untracked))
});

native!("Transaction_mergeUntrackedDirect" "JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
    env, handle: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32, value_length: i32,
    family: i64
) {
    let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
    in_family(handle, family, |txn, family| txn.merge_cf_opt(family, key, value, Tracking::Untracked))
});

/// Defines the writes of a key alone.
macro_rules! key_writes {
    ($act:ident: $name:literal) => {
        native!($name "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            in_family(handle, 0, |txn, family| txn.$act(family, &key, Tracking::Validate))
        });
        native!($name "J_3BIJZ" fn(
            env, handle: i64, key: JByteArray, length: i32, family: i64, assume_tracked: bool
        ) {
            let key = env.head(key, length)?;
            in_family(handle, family, |txn, family| txn.$act(family, &key, tracking(assume_tracked)))
        });
        native!($name "J_3_3BI" fn(env, handle: i64, key: JByteArrays, count: i32) {
            let key = joined(&env, key, count)?;
            in_family(handle, 0, |txn, family| txn.$act(family, &key, Tracking::Validate))
        });
        native!($name "J_3_3BIJZ" fn(
            env, handle: i64, key: JByteArrays, count: i32, family: i64, assume_tracked: bool
        ) {
            let key = joined(&env, key, count)?;
            in_family(handle, family, |txn, family| txn.$act(family, &key, tracking(assume_tracked)))
        });
    };
}
key_writes!(delete_cf_opt: "Transaction_delete");
key_writes!(single_delete_cf_opt: "Transaction_singleDelete");

native!("Transaction_deleteUntracked" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    let key = env.head(key, length)?;
    in_family(handle, 0, |txn, family| txn.delete_cf_opt(family, &key, Tracking::Untracked))
});

native!("Transaction_deleteUntracked" "J_3BIJ" fn(env, handle: i64, key: JByteArray, length: i32, family: i64) {
    let key = env.head(key, length)?;
    in_family(handle, family, |txn, family| txn.delete_cf_opt(family, &key, Tracking::Untracked))
});

native!("Transaction_deleteUntracked" "J_3_3BI" fn(env, handle: i64, key: JByteArrays, count: i32) {
    let key = joined(&env, key, count)?;
    in_family(handle, 0, |txn, family| txn.delete_cf_opt(family, &key, Tracking::Untracked))
});

native!("Transaction_deleteUntracked" "J_3_3BIJ" fn(env, handle: i64, key: JByteArrays, count: i32, family: i64) {
    let key = joined(&env, key, count)?;
    in_family(handle, family, |txn, family| txn.delete_cf_opt(family, &key, Tracking::Untracked))
});

native!("Transaction_putLogData" "J_3BI" fn(env, handle: i64, blob: JByteArray, length: i32) {
    let blob = env.head(blob, length)?;
    with(handle, |txn| txn.put_log_data(&blob))
});

// ---- Reads.

fn array(env: &Env<'_>, value: Option<PinnedValue>) -> Result<JByteArray> {
    match value {
        Some(value) => env.byte_array(&value),
        None => Ok(JByteArray(std::ptr::null_mut())),
    }
}

fn filled(env: &Env<'_>, value: Option<PinnedValue>, to: (JByteArray, i32, i32)) -> Result<i32> {
    match value {
        Some(value) => {
            env.fill(to.0, to.1, to.2, &value)?;
            Ok(value.len() as i32)
        }
        None => Ok(-1),
    }
}

fn filled_direct(value: Option<PinnedValue>, to: &mut [u8]) -> i32 {
    let Some(value) = value else { return -1 };
    let count = value.len().min(to.len());
    to[..count].copy_from_slice(&value[..count]);
    value.len() as i32
}

fn get(handle: jlong, options: jlong, key: &[u8], family: jlong) -> Result<Option<PinnedValue>> {
    let options = read_options(options)?;
    in_family(handle, family, |txn, family| {
        txn.get_cf_opt(family, key, &options)
    })
}

fn get_for_update(
    handle: jlong,
    options: jlong,
    key: &[u8],
    family: jlong,
    (exclusive, validate): (bool, bool),
) -> Result<Option<PinnedValue>> {
    let options = read_options(options)?;
    in_family(handle, family, |txn, family| {
        txn.get_for_update_cf_opt(family, key, exclusive, validate, &options)
    })
}

native!("Transaction_get" "JJ_3BIIJ" fn(
    env, handle: i64, options: i64, key: JByteArray, at: i32, length: i32, family: i64
) -> JByteArray {
    array(&env, get(handle, options, &env.bytes(key, at, length)?, family)?)
});

native!("Transaction_get" "JJ_3BII_3BIIJ" fn(
    env, handle: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
    value_length: i32, family: i64
) -> i32 {
    let found = get(handle, options, &env.bytes(key, at, length)?, family)?;
    filled(&env, found, (value, value_at, value_length))
});

native!("Transaction_getDirect" "JJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
    env, handle: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32, family: i64
) -> i32 {
    let found = get(handle, options, env.direct(key, at, length)?, family)?;
    Ok(filled_direct(found, env.direct(value, value_at, value_length)?))
});

native!("Transaction_getForUpdate" "JJ_3BIIJZZ" fn(
    env, handle: i64, options: i64, key: JByteArray, at: i32, length: i32, family: i64, exclusive: bool,
    validate: bool
) -> JByteArray {
    array(&env, get_for_update(handle, options, &env.bytes(key, at, length)?, family, (exclusive, validate))?)
});

native!("Transaction_getForUpdate" "JJ_3BII_3BIIJZZ" fn(
    env, handle: i64, options: i64, key: JByteArray, at: i32, length: i32, value: JByteArray, value_at: i32,
    value_length: i32, family: i64, exclusive: bool, validate: bool
) -> i32 {
    let found = get_for_update(handle, options, &env.bytes(key, at, length)?, family, (exclusive, validate))?;
    filled(&env, found, (value, value_at, value_length))
});

native!("Transaction_getDirectForUpdate" "JJLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZZ" fn(
    env, handle: i64, options: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32,
    value_length: i32, family: i64, exclusive: bool, validate: bool
) -> i32 {
    let found = get_for_update(handle, options, env.direct(key, at, length)?, family, (exclusive, validate))?;
    Ok(filled_direct(found, env.direct(value, value_at, value_length)?))
});

/// A read of many keys in a transaction.
type ReadMany = fn(&mut Transaction, &ReadOptions, &[(&ColumnFamily, Vec<u8>)]) -> Vec<Found>;

/// The outcome of a read.
type Found = esker::Result<Option<PinnedValue>>;

/// Returns the values of keys in their order, from the default family or from the given families.
fn multi_get(
    env: &Env<'_>,
    handle: jlong,
    options: jlong,
    keys: JByteArrays,
    families: JLongArray,
    read: ReadMany,
) -> Result<JByteArrays> {
    let object = handles::get::<TransactionObject>(handle)?;
    let keys = env.byte_arrays(keys)?;
    let options = read_options(options)?;
    let families = if families.is_null() {
        vec![0; keys.len()]
    } else {
        env.longs(families)?
    };
    if families.len() != keys.len() {
        return Err(Fail::argument("each key needs its family"));
    }
    let families = families
        .into_iter()
        .map(handles::optional::<FamilyObject>)
        .collect::<Result<Vec<_>>>()?;
    let pairs: Vec<(&ColumnFamily, Vec<u8>)> = families
        .iter()
        .map(|family| family.as_ref().map_or(&object.default, |family| &family.0))
        .zip(keys)
        .collect();
    let found = read(&mut object.inner.lock().transaction, &options, &pairs);
    let found = found.into_iter().collect::<esker::Result<Vec<_>>>()?;
    env.array_of_arrays(&found)
}

const NONE: JLongArray = JLongArray(std::ptr::null_mut());

native!("Transaction_multiGet" "JJ_3_3B" fn(env, handle: i64, options: i64, keys: JByteArrays) -> JByteArrays {
    multi_get(&env, handle, options, keys, NONE, |txn, options, keys| txn.multi_get_cf_opt(keys, options))
});

native!("Transaction_multiGet" "JJ_3_3B_3J" fn(
    env, handle: i64, options: i64, keys: JByteArrays, families: JLongArray
) -> JByteArrays {
    multi_get(&env, handle, options, keys, families, |txn, options, keys| txn.multi_get_cf_opt(keys, options))
});

native!("Transaction_multiGet" "JJJ_3_3B" fn(
    env, handle: i64, options: i64, family: i64, keys: JByteArrays
) -> JByteArrays {
    let families = vec![family; env.length(keys.0)?];
    multi_get(&env, handle, options, keys, env.long_array(&families)?, |txn, options, keys| txn.multi_get_cf_opt(keys, options))
});

native!("Transaction_multiGetForUpdate" "JJ_3_3B" fn(env, handle: i64, options: i64, keys: JByteArrays) -> JByteArrays {
    multi_get(&env, handle, options, keys, NONE, |txn, options, keys| txn.multi_get_for_update_cf_opt(keys, options))
});

native!("Transaction_multiGetForUpdate" "JJ_3_3B_3J" fn(
    env, handle: i64, options: i64, keys: JByteArrays, families: JLongArray
) -> JByteArrays {
    multi_get(&env, handle, options, keys, families, |txn, options, keys| txn.multi_get_for_update_cf_opt(keys, options))
});

native!("Transaction_getIterator" "JJJ" fn(env, handle: i64, options: i64, family: i64) -> i64 {
    let options = read_options(options)?;
    let iterator = in_family(handle, family, |txn, family| txn.iter_cf_opt(family, &options))?;
    let db = handles::get::<TransactionObject>(handle)?.db.clone();
    Ok(exclusive::insert(IteratorObject::new(iterator, &db, &options)))
});

native!("Transaction_undoGetForUpdate" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    let key = env.head(key, length)?;
    in_family(handle, 0, |txn, family| {
        txn.undo_get_for_update(family, &key);
        Ok(())
    })
});

native!("Transaction_undoGetForUpdate" "J_3BIJ" fn(env, handle: i64, key: JByteArray, length: i32, family: i64) {
    let key = env.head(key, length)?;
    in_family(handle, family, |txn, family| {
        txn.undo_get_for_update(family, &key);
        Ok(())
    })
});

// ---- Commit, rollback, savepoints and the state.

native!("Transaction_setName" "JLjava_lang_String_2" fn(env, handle: i64, name: JString) {
    let name = env.string(name)?;
    Ok(with(handle, |txn| txn.set_name(name.as_bytes()))??)
});

native!("Transaction_getName" "J" fn(env, handle: i64) -> JString {
    let name = with(handle, |txn| String::from_utf8_lossy(txn.name()).into_owned())?;
    env.new_string(&name)
});

native!("Transaction_getID" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.id() as i64) });

native!("Transaction_getId" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.id() as i64) });

native!("Transaction_getState" "J" fn(env, handle: i64) -> i8 { with(handle, |txn| txn.state() as i8) });

// Java calls `getWaitingTxns` while another thread waits in a call of the transaction.
native!("Transaction_getWaitingTxns" "J" fn(env, handle: i64) -> JObject {
    let current = handles::get::<TransactionObject>(handle)?.waits.lock().current();
    let (family, key, ids) = current.map_or((0, Vec::new(), Vec::new()), |wait| {
        let ids = wait.transaction_ids.iter().map(|id| *id as jlong).collect();
        (wait.column_family_id, wait.key, ids)
    });
    let class = env.class("org/rocksdb/Transaction")?;
    let make = env.method(
        class,
        "newWaitingTransactions",
        "(JLjava/lang/String;[J)Lorg/rocksdb/Transaction$WaitingTransactions;",
    )?;
    let key = env.new_string(&String::from_utf8_lossy(&key))?;
    let ids = env.long_array(&ids)?;
    let arguments = [jvalue { j: i64::from(family) }, jvalue { l: key.0 }, jvalue { l: ids.0 }];
    env.call_object(env.this, make, &arguments).map(JObject)
});

native!("Transaction_prepare" "J" fn(env, handle: i64) { Ok(with(handle, Transaction::prepare)??) });

native!("Transaction_commit" "J" fn(env, handle: i64) {
    let object = handles::get::<TransactionObject>(handle)?;
    let parts = &mut *object.inner.lock();
    if let Some(batch) = parts.commit_time {
        let batch = handles::get::<BatchObject>(batch)?.copy();
        *parts.transaction.commit_time_write_batch() = batch;
    }
    Ok(parts.transaction.commit()?)
});

native!("Transaction_rollback" "J" fn(env, handle: i64) { Ok(with(handle, Transaction::rollback)??) });

native!("Transaction_setSavePoint" "J" fn(env, handle: i64) { with(handle, Transaction::set_save_point) });

native!("Transaction_rollbackToSavePoint" "J" fn(env, handle: i64) {
    Ok(with(handle, Transaction::rollback_to_save_point)??)
});

native!("Transaction_setLockTimeout" "JJ" fn(env, handle: i64, millis: i64) {
    with(handle, |txn| txn.set_lock_timeout(millis))
});

native!("Transaction_getElapsedTime" "J" fn(env, handle: i64) -> i64 {
    with(handle, |txn| txn.elapsed_time().as_millis() as i64)
});

native!("Transaction_getNumPuts" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.num_puts() as i64) });

native!("Transaction_getNumDeletes" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.num_deletes() as i64) });

native!("Transaction_getNumMerges" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.num_merges() as i64) });

native!("Transaction_getNumKeys" "J" fn(env, handle: i64) -> i64 { with(handle, |txn| txn.num_keys() as i64) });

native!("Transaction_isDeadlockDetect" "J" fn(env, handle: i64) -> bool {
    Ok(handles::get::<TransactionObject>(handle)?.inner.lock().detects_deadlocks)
});

native!("Transaction_setLogNumber" "JJ" fn(env, handle: i64, number: i64) {
    handles::get::<TransactionObject>(handle)?.inner.lock().log_number = number;
    Ok(())
});

native!("Transaction_getLogNumber" "J" fn(env, handle: i64) -> i64 {
    Ok(handles::get::<TransactionObject>(handle)?.inner.lock().log_number)
});

// ---- Snapshots.

native!("Transaction_setSnapshot" "J" fn(env, handle: i64) { with(handle, Transaction::set_snapshot) });

native!("Transaction_clearSnapshot" "J" fn(env, handle: i64) { with(handle, Transaction::clear_snapshot) });

native!("Transaction_getSnapshot" "J" fn(env, handle: i64) -> i64 {
    let object = handles::get::<TransactionObject>(handle)?;
    let mut parts = object.inner.lock();
    let Some(snapshot) = parts.transaction.snapshot().cloned() else { return Ok(0) };
    let lent = handles::insert(SnapshotObject(snapshot));
    parts.lent.push(lent);
    Ok(lent)
});

native!("Transaction_setSnapshotOnNextOperation" "J" fn(env, handle: i64) {
    with(handle, |txn| txn.set_snapshot_on_next_operation(None))
});

native!("Transaction_setSnapshotOnNextOperation" "JJ" fn(env, handle: i64, notifier: i64) {
    let notifier = Arc::clone(&handles::get::<NotifierObject>(notifier)?.0);
    with(handle, |txn| txn.set_snapshot_on_next_operation(Some(notifier)))
});

/// `org.rocksdb.AbstractTransactionNotifier`.
struct NotifierObject(Arc<JavaNotifier>);

struct JavaNotifier {
    object: Global,
    method: Method,
}

struct Method(jmethodID);

// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Send for Method {}
// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Sync for Method {}

impl TransactionNotifier for JavaNotifier {
    fn snapshot_created(&self, snapshot: &Snapshot) {
        let handle = handles::insert(SnapshotObject(snapshot.clone()));
        // If the Java notifier throws an exception, the transaction is not affected.
        drop(attached(|env| {
            let object = env.local(self.object.reference());
            let result = env.call_void(object, self.method.0, &[jvalue { j: handle }]);
            env.forget(object);
            result
        }));
    }
}

native!("AbstractTransactionNotifier_createNewTransactionNotifier" "" fn(env) -> i64 {
    let class = env.class("org/rocksdb/AbstractTransactionNotifier")?;
    let method = env.method(class, "snapshotCreated", "(J)V")?;
    let notifier = JavaNotifier { object: Global::weak(&env, env.this)?, method: Method(method) };
    Ok(handles::insert(NotifierObject(Arc::new(notifier))))
});

// ---- The batch of the transaction.

native!("Transaction_getWriteBatch" "J" fn(env, handle: i64) -> i64 {
    let object = handles::get::<TransactionObject>(handle)?;
    let mut parts = object.inner.lock();
    let mut copy = esker::WriteBatchWithIndex::new();
    copy.set_overwrite_key(true);
    copy.append(parts.transaction.write_batch());
    let lent = handles::insert(BatchOf::new(copy));
    parts.lent.push(lent);
    Ok(lent)
});

native!("Transaction_getCommitTimeWriteBatch" "J" fn(env, handle: i64) -> i64 {
    let object = handles::get::<TransactionObject>(handle)?;
    let mut parts = object.inner.lock();
    if let Some(batch) = parts.commit_time {
        return Ok(batch);
    }
    let batch = handles::insert(BatchOf::new(WriteBatch::new()));
    parts.lent.push(batch);
    parts.commit_time = Some(batch);
    Ok(batch)
});

native!("Transaction_rebuildFromWriteBatch" "JJ" fn(env, handle: i64, batch: i64) {
    let batch = handles::get::<BatchObject>(batch)?.copy();
    Ok(with(handle, |txn| txn.rebuild_from_write_batch(&batch))??)
});

native!("Transaction_setWriteOptions" "JJ" fn(env, handle: i64, options: i64) {
    let options = write_options(options)?;
    with(handle, |txn| txn.set_write_options((*options).clone()))
});

native!("Transaction_getWriteOptions" "J" fn(env, handle: i64) -> i64 {
    let object = handles::get::<TransactionObject>(handle)?;
    let mut parts = object.inner.lock();
    let options = parts.transaction.write_options();
    let mut inner = Inner::default();
    for (name, value) in
        [("sync", options.sync), ("disable_wal", options.disable_wal), ("no_slowdown", options.no_slowdown), ("low_pri", options.low_pri)]
    {
        inner.set(name, Value::Int(i64::from(value)));
    }
    let lent = handles::insert(Settings::of(inner));
    parts.lent.push(lent);
    Ok(lent)
});

// The functions do nothing: reads find the rows of the batch even if they were written while indexing was
// disabled.
native!("Transaction_disableIndexing" "J" fn(env, handle: i64) { with(handle, |_| ()) });

native!("Transaction_enableIndexing" "J" fn(env, handle: i64) { with(handle, |_| ()) });
