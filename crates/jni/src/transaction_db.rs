//! `org.rocksdb.TransactionDB` and `OptimisticTransactionDB`.

use jni_sys::{jlong, jvalue};
use txn::{
    OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions, TxnDBWritePolicy,
};

use crate::database::{check_all_named, default_alone, open_families, open_one};
use crate::env::{Env, JByteArrays, JLongArray, JObject, JObjects, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, Layer, database, write_options};
use crate::settings::{Inner, Settings};
use crate::transaction::TransactionObject;

fn db_options(handle: jlong) -> Result<TransactionDBOptions> {
    Ok(
        handles::get::<Settings>(handle)?.look(|inner| TransactionDBOptions {
            max_num_locks: inner.int("max_num_locks", -1),
            num_stripes: inner.int("num_stripes", 16).max(1) as usize,
            transaction_lock_timeout: inner.int("transaction_lock_timeout", 1000),
            default_lock_timeout: inner.int("default_lock_timeout", 1000),
            write_policy: match inner.int("write_policy", 0) {
                1 => TxnDBWritePolicy::WritePrepared,
                2 => TxnDBWritePolicy::WriteUnprepared,
                _ => TxnDBWritePolicy::WriteCommitted,
            },
            ..TransactionDBOptions::default()
        }),
    )
}

fn options_of(inner: &Inner) -> TransactionOptions {
    TransactionOptions {
        set_snapshot: inner.flag("set_snapshot", false),
        deadlock_detect: inner.flag("deadlock_detect", false),
        deadlock_detect_depth: inner.int("deadlock_detect_depth", 50).max(0) as usize,
        lock_timeout: inner.int("lock_timeout", -1),
        expiration: inner.int("expiration", -1),
        max_write_batch_size: inner.int("max_write_batch_size", 0).max(0) as usize,
        ..TransactionOptions::default()
    }
}

/// Begins a transaction with the options of a handle, or with the defaults.
fn begin(db: &Database, write: jlong, options: jlong) -> Result<(Transaction, bool)> {
    let write = write_options(write)?;
    let inner = handles::optional::<Settings>(options)?
        .map(|options| options.copy())
        .unwrap_or_default();
    match &db.layer {
        Layer::Locks(db) => {
            let options = options_of(&inner);
            Ok((db.begin_transaction(&write, &options), options.deadlock_detect))
        }
        Layer::Validation(db) => {
            let options = OptimisticTransactionOptions {
                set_snapshot: inner.flag("set_snapshot", false),
                ..OptimisticTransactionOptions::default()
            };
            Ok((db.begin_transaction(&write, &options), false))
        }
        Layer::None | Layer::Ttl(_) => Err(Fail::state("the database was opened without transactions")),
    }
}

fn begun(db: jlong, write: jlong, options: jlong) -> Result<jlong> {
    let db = database(db)?;
    let (transaction, detects) = begin(&db, write, options)?;
    Ok(handles::insert(TransactionObject::new(transaction, &db, detects)))
}

/// Replaces an ended transaction by a new one under the same handle.
fn begun_again(db: jlong, write: jlong, options: jlong, old: jlong) -> Result<jlong> {
    let db = database(db)?;
    let object = handles::get::<TransactionObject>(old)?;
    let (transaction, detects) = begin(&db, write, options)?;
    object.replace(transaction, detects);
    Ok(old)
}

/// The methods of each class of databases with transactions.
macro_rules! begin_methods {
    ($begin:literal $again:literal $close:literal) => {
        native!($begin "JJ" fn(env, db: i64, write: i64) -> i64 { begun(db, write, 0) });
        native!($begin "JJJ" fn(env, db: i64, write: i64, options: i64) -> i64 { begun(db, write, options) });
        native!($again "JJJ" fn(env, db: i64, write: i64, old: i64) -> i64 { begun_again(db, write, 0, old) });
        native!($again "JJJJ" fn(env, db: i64, write: i64, options: i64, old: i64) -> i64 {
            begun_again(db, write, options, old)
        });
        native!($close "J" fn(env, db: i64) { Ok(database(db)?.db.close()?) });
    };
}
begin_methods!("TransactionDB_beginTransaction" "TransactionDB_beginTransaction_1withOld" "TransactionDB_closeDatabase");
begin_methods!("OptimisticTransactionDB_beginTransaction" "OptimisticTransactionDB_beginTransaction_1withOld"
    "OptimisticTransactionDB_closeDatabase");

native!("TransactionDB_open" "JJLjava_lang_String_2" fn(env, options: i64, transaction_options: i64, dir: JString) -> i64 {
    let transaction_options = db_options(transaction_options)?;
    open_one(&env, options, dir, |options, dir| {
        check_all_named(options, dir, &default_alone())?;
        let db = TransactionDB::open(options, &transaction_options, dir)?;
        Ok(Database::with(db.db().clone(), Layer::Locks(db)))
    })
});

native!("TransactionDB_open" "JJLjava_lang_String_2_3_3B_3J" fn(
    env, options: i64, transaction_options: i64, dir: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    let transaction_options = db_options(transaction_options)?;
    open_families(&env, options, dir, (names, family_options), |options, dir, names| {
        check_all_named(options, dir, names)?;
        let db = TransactionDB::open(options, &transaction_options, dir)?;
        Ok(Database::with(db.db().clone(), Layer::Locks(db)))
    })
});

native!("OptimisticTransactionDB_open" "JLjava_lang_String_2" fn(env, options: i64, dir: JString) -> i64 {
    open_one(&env, options, dir, |options, dir| {
        check_all_named(options, dir, &default_alone())?;
        let db = OptimisticTransactionDB::open(options, dir)?;
        Ok(Database::with(db.db().clone(), Layer::Validation(db)))
    })
});

native!("OptimisticTransactionDB_open" "JLjava_lang_String_2_3_3B_3J" fn(
    env, options: i64, dir: JString, names: JByteArrays, family_options: JLongArray
) -> JLongArray {
    open_families(&env, options, dir, (names, family_options), |options, dir, names| {
        check_all_named(options, dir, names)?;
        let db = OptimisticTransactionDB::open(options, dir)?;
        Ok(Database::with(db.db().clone(), Layer::Validation(db)))
    })
});

// The base database has the same handle: the Java object over it does not own the database.
native!("OptimisticTransactionDB_getBaseDB" "J" fn(env, db: i64) -> i64 { database(db).map(|_| db) });

fn locks(db: jlong) -> Result<TransactionDB> {
    match &database(db)?.layer {
        Layer::Locks(db) => Ok(db.clone()),
        _ => Err(Fail::state("the transactions of the database have no locks")),
    }
}

native!("TransactionDB_getTransactionByName" "JLjava_lang_String_2" fn(env, db: i64, name: JString) -> i64 {
    let held = database(db)?;
    let found = locks(db)?.get_transaction_by_name(env.string(name)?.as_bytes());
    Ok(found.map_or(0, |transaction| handles::insert(TransactionObject::new(transaction, &held, false))))
});

native!("TransactionDB_getAllPreparedTransactions" "J" fn(env, db: i64) -> JLongArray {
    let held = database(db)?;
    let list: Vec<jlong> = locks(db)?
        .get_all_prepared_transactions()
        .into_iter()
        .map(|transaction| handles::insert(TransactionObject::new(transaction, &held, false)))
        .collect();
    env.long_array(&list)
});

native!("TransactionDB_setDeadlockInfoBufferSize" "JI" fn(env, db: i64, size: i32) {
    locks(db)?.set_deadlock_info_buffer_size(size.max(0) as u32);
    Ok(())
});

native!("TransactionDB_getLockStatusData" "J" fn(env, db: i64) -> JObject {
    let map = env.object("java/util/HashMap", "()V", &[])?;
    for (family, lock) in locks(db)?.lock_status() {
        let key = env.new_string(&String::from_utf8_lossy(&lock.key))?;
        let ids: Vec<jlong> = lock.ids.iter().map(|id| *id as jlong).collect();
        let ids = env.long_array(&ids)?;
        let arguments = [jvalue { l: key.0 }, jvalue { l: ids.0 }, jvalue { z: lock.exclusive }];
        let info = env.object("org/rocksdb/TransactionDB$KeyLockInfo", "(Ljava/lang/String;[JZ)V", &arguments)?;
        let family = env.object("java/lang/Long", "(J)V", &[jvalue { j: i64::from(family) }])?;
        env.map_put(map, family, info)?;
        [key.0, ids.0, info, family].into_iter().for_each(|object| env.forget(object));
    }
    Ok(JObject(map))
});

native!("TransactionDB_getDeadlockInfoBuffer" "J" fn(env, db: i64) -> JObjects {
    let paths = locks(db)?.deadlock_info();
    let array = env.object_array("org/rocksdb/TransactionDB$DeadlockPath", paths.len())?;
    for (at, path) in paths.iter().enumerate() {
        let list = env.object_array("org/rocksdb/TransactionDB$DeadlockInfo", path.path.len())?;
        for (at, info) in path.path.iter().enumerate() {
            let info = deadlock_info(&env, info)?;
            env.set_element(list, at, info)?;
            env.forget(info);
        }
        let signature = "([Lorg/rocksdb/TransactionDB$DeadlockInfo;Z)V";
        let arguments = [jvalue { l: list }, jvalue { z: path.limit_exceeded }];
        let path = env.object("org/rocksdb/TransactionDB$DeadlockPath", signature, &arguments)?;
        env.set_element(array, at, path)?;
        env.forget(path);
    }
    Ok(JObjects(array))
});

fn deadlock_info(env: &Env<'_>, info: &txn::DeadlockInfo) -> Result<jni_sys::jobject> {
    let key = env.new_string(&String::from_utf8_lossy(&info.waiting_key))?;
    let arguments = [
        jvalue {
            j: info.transaction_id as i64,
        },
        jvalue {
            j: i64::from(info.column_family_id),
        },
        jvalue { l: key.0 },
        jvalue { z: info.exclusive },
    ];
    env.object(
        "org/rocksdb/TransactionDB$DeadlockInfo",
        "(JJLjava/lang/String;Z)V",
        &arguments,
    )
}
