//! `org.rocksdb.WriteBatch` and `WriteBatchWithIndex`.

use base::sync::Mutex;
use esker::{
    BatchValue, ColumnFamily, Error, ErrorKind, Operation, UserComparator, WriteBatch, WriteBatchWithIndex,
};
use jni_sys::{jlong, jvalue};

use crate::env::{Env, JBuffer, JByteArray, JObject};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Family, FamilyObject, database, read_options};
use crate::settings::Settings;

/// The methods that both kinds of batches have.
pub trait Operations {
    fn put(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]);
    fn merge(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]);
    fn delete_range(&mut self, family: Option<&ColumnFamily>, begin: &[u8], end: &[u8]);
    fn delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]);
    fn single_delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]);
    fn log_data(&mut self, blob: &[u8]);
    fn clear(&mut self);
    fn set_save_point(&mut self);
    fn rollback(&mut self) -> esker::Result<()>;
    fn pop_save_point(&mut self) -> esker::Result<()>;
    fn batch(&self) -> &WriteBatch;
}

macro_rules! operations {
    ($type:ty, $batch:ident => $whole:expr) => {
        impl Operations for $type {
            fn put(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]) {
                match family {
                    Some(family) => self.put_cf(family, key, value),
                    None => <$type>::put(self, key, value),
                }
            }
            fn merge(&mut self, family: Option<&ColumnFamily>, key: &[u8], value: &[u8]) {
                match family {
                    Some(family) => self.merge_cf(family, key, value),
                    None => <$type>::merge(self, key, value),
                }
            }
            fn delete_range(&mut self, family: Option<&ColumnFamily>, begin: &[u8], end: &[u8]) {
                match family {
                    Some(family) => self.delete_range_cf(family, begin, end),
                    None => <$type>::delete_range(self, begin, end),
                }
            }
            fn delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]) {
                match family {
                    Some(family) => self.delete_cf(family, key),
                    None => <$type>::delete(self, key),
                }
            }
            fn single_delete(&mut self, family: Option<&ColumnFamily>, key: &[u8]) {
                match family {
                    Some(family) => self.single_delete_cf(family, key),
                    None => <$type>::single_delete(self, key),
                }
            }
            fn log_data(&mut self, blob: &[u8]) {
                self.put_log_data(blob);
            }
            fn clear(&mut self) {
                <$type>::clear(self);
            }
            fn set_save_point(&mut self) {
                <$type>::set_save_point(self);
            }
            fn rollback(&mut self) -> esker::Result<()> {
                self.rollback_to_save_point()
            }
            fn pop_save_point(&mut self) -> esker::Result<()> {
                <$type>::pop_save_point(self)
            }
            fn batch(&self) -> &WriteBatch {
                let $batch = self;
                $whole
            }
        }
    };
}
operations!(WriteBatch, batch => batch);
operations!(WriteBatchWithIndex, batch => batch.write_batch());

/// A batch with the settings that Java has made.
struct Limited<B> {
    batch: B,
    /// The maximum size of the batch in bytes. 0: no limit.
    max_bytes: u64,
    /// The end of the part of the batch that goes into the WAL: its bytes, its operations and their kinds.
    wal_end: Option<(usize, u32, i64)>,
    lent: Lent,
    /// The number of changes so far.
    changes: u64,
}

/// Handles of objects that Java uses without owning them, closed with the batch.
#[derive(Default)]
struct Lent(Vec<jlong>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.drain(..).for_each(handles::close);
    }
}

/// A batch of either kind. One thread at a time uses it.
pub struct BatchOf<B>(Mutex<Limited<B>>);

/// `org.rocksdb.WriteBatch`.
pub type BatchObject = BatchOf<WriteBatch>;

/// `org.rocksdb.WriteBatchWithIndex`.
pub type IndexedBatch = BatchOf<WriteBatchWithIndex>;

impl<B: Operations> BatchOf<B> {
    /// Returns the object of a batch.
    pub fn new(batch: B) -> BatchOf<B> {
        BatchOf(Mutex::new(Limited {
            batch,
            max_bytes: 0,
            wal_end: None,
            lent: Lent::default(),
            changes: 0,
        }))
    }

    /// Runs `act` with the batch.
    pub fn with<R>(&self, act: impl FnOnce(&mut B) -> R) -> R {
        act(&mut self.0.lock().batch)
    }

    /// Runs `act`, which changes the batch.
    fn change<R>(&self, act: impl FnOnce(&mut B) -> R) -> R {
        let limited = &mut *self.0.lock();
        limited.changes += 1;
        act(&mut limited.batch)
    }

    /// Runs `act` with the batch and the number of its changes.
    pub fn with_changes<R>(&self, act: impl FnOnce(&mut B, u64) -> R) -> R {
        let limited = &mut *self.0.lock();
        act(&mut limited.batch, limited.changes)
    }

    /// Adds an operation to the batch. An operation that exceeds the maximum size is removed again.
    fn add(&self, add: impl FnOnce(&mut B)) -> Result<()> {
        let limited = &mut *self.0.lock();
        limited.changes += 1;
        if limited.max_bytes == 0 {
            add(&mut limited.batch);
            return Ok(limited.batch.batch().status()?);
        }
        limited.batch.set_save_point();
        add(&mut limited.batch);
        if limited.batch.batch().data_size() as u64 > limited.max_bytes {
            limited.batch.rollback()?;
            return Err(Error::new(ErrorKind::Aborted, crate::status::MEMORY_LIMIT).into());
        }
        limited.batch.pop_save_point()?;
        Ok(limited.batch.batch().status()?)
    }
}

impl BatchObject {
    /// Returns a copy of the batch, for a write.
    pub fn copy(&self) -> WriteBatch {
        self.with(|batch| batch.clone())
    }
}

impl IndexedBatch {
    /// Returns a copy of the operations, for a write.
    pub fn batch(&self) -> WriteBatch {
        self.with(|batch| batch.write_batch().clone())
    }
}

fn plain(handle: jlong) -> Result<handles::InUse<BatchObject>> {
    handles::get(handle)
}

/// The batch of a handle.
pub fn indexed(handle: jlong) -> Result<handles::InUse<IndexedBatch>> {
    handles::get(handle)
}

fn family_object(handle: jlong) -> Result<Option<handles::InUse<FamilyObject>>> {
    handles::optional(handle)
}

fn of(family: &Option<handles::InUse<FamilyObject>>) -> Option<&ColumnFamily> {
    family.as_ref().map(|family| &family.0)
}

/// The methods of a class of batches.
macro_rules! batch_methods {
    ($held:ident: $count:literal $put:literal $put_direct:literal $merge:literal $delete:literal $delete_direct:literal
     $single_delete:literal $delete_range:literal $log_data:literal $clear:literal $set_save:literal $rollback:literal
     $pop:literal $max_bytes:literal) => {
        native!($count "J" fn(env, batch: i64) -> i32 {
            Ok($held(batch)?.with(|batch| batch.batch().count()) as i32)
        });
        native!($put "J_3BI_3BI" fn(env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            $held(batch)?.add(|batch| Operations::put(batch, None, &key, &value))
        });
        native!($put "J_3BI_3BIJ" fn(
            env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32, family_handle: i64
        ) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::put(batch, of(&family), &key, &value))
        });
        native!($put_direct "JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJ" fn(
            env, batch: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32, value_length: i32,
            family_handle: i64
        ) {
            let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::put(batch, of(&family), key, value))
        });
        native!($merge "J_3BI_3BI" fn(
            env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32
        ) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            $held(batch)?.add(|batch| Operations::merge(batch, None, &key, &value))
        });
        native!($merge "J_3BI_3BIJ" fn(
            env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32, family_handle: i64
        ) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::merge(batch, of(&family), &key, &value))
        });
        native!($delete "J_3BI" fn(env, batch: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            $held(batch)?.add(|batch| Operations::delete(batch, None, &key))
        });
        native!($delete "J_3BIJ" fn(env, batch: i64, key: JByteArray, length: i32, family_handle: i64) {
            let key = env.head(key, length)?;
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::delete(batch, of(&family), &key))
        });
        native!($delete_direct "JLjava_nio_ByteBuffer_2IIJ" fn(
            env, batch: i64, key: JBuffer, at: i32, length: i32, family_handle: i64
        ) {
            let key = env.direct(key, at, length)?;
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::delete(batch, of(&family), key))
        });
        native!($single_delete "J_3BI" fn(env, batch: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            $held(batch)?.add(|batch| Operations::single_delete(batch, None, &key))
        });
        native!($single_delete "J_3BIJ" fn(env, batch: i64, key: JByteArray, length: i32, family_handle: i64) {
            let key = env.head(key, length)?;
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::single_delete(batch, of(&family), &key))
        });
        native!($delete_range "J_3BI_3BI" fn(
            env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32
        ) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            $held(batch)?.add(|batch| Operations::delete_range(batch, None, &key, &value))
        });
        native!($delete_range "J_3BI_3BIJ" fn(
            env, batch: i64, key: JByteArray, length: i32, value: JByteArray, value_length: i32, family_handle: i64
        ) {
            let (key, value) = (env.head(key, length)?, env.head(value, value_length)?);
            let family = family_object(family_handle)?;
            $held(batch)?.add(|batch| Operations::delete_range(batch, of(&family), &key, &value))
        });
        native!($log_data "J_3BI" fn(env, batch: i64, blob: JByteArray, length: i32) {
            let blob = env.head(blob, length)?;
            $held(batch)?.add(|batch| batch.log_data(&blob))
        });
        native!($clear "J" fn(env, batch: i64) { Ok($held(batch)?.change(|batch| Operations::clear(batch))) });
        native!($set_save "J" fn(env, batch: i64) {
            Ok($held(batch)?.with(|batch| Operations::set_save_point(batch)))
        });
        native!($rollback "J" fn(env, batch: i64) { Ok($held(batch)?.change(|batch| batch.rollback())?) });
        native!($pop "J" fn(env, batch: i64) { Ok($held(batch)?.with(|batch| Operations::pop_save_point(batch))?) });
        native!($max_bytes "JJ" fn(env, batch: i64, max_bytes: i64) {
            $held(batch)?.0.lock().max_bytes = max_bytes.max(0) as u64;
            Ok(())
        });
    };
}
batch_methods!(plain: "WriteBatch_count0" "WriteBatch_put" "WriteBatch_putDirect" "WriteBatch_merge"
    "WriteBatch_delete" "WriteBatch_deleteDirect" "WriteBatch_singleDelete" "WriteBatch_deleteRange"
    "WriteBatch_putLogData" "WriteBatch_clear0" "WriteBatch_setSavePoint0" "WriteBatch_rollbackToSavePoint0"
    "WriteBatch_popSavePoint" "WriteBatch_setMaxBytes");
batch_methods!(indexed: "WriteBatchWithIndex_count0" "WriteBatchWithIndex_put" "WriteBatchWithIndex_putDirect"
    "WriteBatchWithIndex_merge" "WriteBatchWithIndex_delete" "WriteBatchWithIndex_deleteDirect"
    "WriteBatchWithIndex_singleDelete" "WriteBatchWithIndex_deleteRange" "WriteBatchWithIndex_putLogData"
    "WriteBatchWithIndex_clear0" "WriteBatchWithIndex_setSavePoint0" "WriteBatchWithIndex_rollbackToSavePoint0"
    "WriteBatchWithIndex_popSavePoint" "WriteBatchWithIndex_setMaxBytes");

native!("WriteBatch_newWriteBatch" "I" fn(env, reserved: i32) -> i64 {
    Ok(handles::insert(BatchOf::new(WriteBatch::with_capacity(reserved.clamp(0, 64 << 20) as usize))))
});

native!("WriteBatch_newWriteBatch" "_3BI" fn(env, data: JByteArray, length: i32) -> i64 {
    Ok(handles::insert(BatchOf::new(WriteBatch::from_data(&env.head(data, length)?)?)))
});

native!("WriteBatch_data" "J" fn(env, batch: i64) -> JByteArray {
    plain(batch)?.with(|batch| env.byte_array(batch.data()))
});

native!("WriteBatch_getDataSize" "J" fn(env, batch: i64) -> i64 {
    Ok(plain(batch)?.with(|batch| batch.data_size()) as i64)
});

/// RocksDB's bit of a kind of operation.
fn flag(operation: &Operation<'_>) -> i64 {
    match operation {
        Operation::Put { .. } | Operation::TimedPut { .. } => 1 << 1,
        Operation::Delete { .. } => 1 << 2,
        Operation::SingleDelete { .. } => 1 << 3,
        Operation::Merge { .. } => 1 << 4,
        Operation::BeginPrepare { .. } | Operation::BeginUnprepare => 1 << 5,
        Operation::EndPrepare { .. } => 1 << 6,
        Operation::Commit { .. } | Operation::CommitWithTimestamp { .. } => 1 << 7,
        Operation::Rollback { .. } => 1 << 8,
        Operation::DeleteRange { .. } => 1 << 9,
        Operation::BlobIndex { .. } => 1 << 10,
        Operation::Entity { .. } => 1 << 13,
        Operation::LogData(_) | Operation::Noop => 0,
    }
}

fn flags(batch: &WriteBatch) -> i64 {
    batch
        .operations()
        .flatten()
        .fold(0, |flags, operation| flags | flag(&operation))
}

fn has(batch: jlong, bit: u32) -> Result<bool> {
    Ok(plain(batch)?.with(|batch| flags(batch) & (1 << bit) != 0))
}

native!("WriteBatch_hasPut" "J" fn(env, batch: i64) -> bool { has(batch, 1) });
native!("WriteBatch_hasDelete" "J" fn(env, batch: i64) -> bool { has(batch, 2) });
native!("WriteBatch_hasSingleDelete" "J" fn(env, batch: i64) -> bool { has(batch, 3) });
native!("WriteBatch_hasMerge" "J" fn(env, batch: i64) -> bool { has(batch, 4) });
native!("WriteBatch_hasBeginPrepare" "J" fn(env, batch: i64) -> bool { has(batch, 5) });
native!("WriteBatch_hasEndPrepare" "J" fn(env, batch: i64) -> bool { has(batch, 6) });
native!("WriteBatch_hasCommit" "J" fn(env, batch: i64) -> bool { has(batch, 7) });
native!("WriteBatch_hasRollback" "J" fn(env, batch: i64) -> bool { has(batch, 8) });
native!("WriteBatch_hasDeleteRange" "J" fn(env, batch: i64) -> bool { has(batch, 9) });

native!("WriteBatch_markWalTerminationPoint" "J" fn(env, batch: i64) {
    let held = plain(batch)?;
    let mut limited = held.0.lock();
    let batch = &limited.batch;
    limited.wal_end = Some((batch.data_size(), batch.count(), flags(batch)));
    Ok(())
});

native!("WriteBatch_getWalTerminationPoint" "J" fn(env, batch: i64) -> JObject {
    let (size, count, flags) = plain(batch)?.0.lock().wal_end.unwrap_or_default();
    let arguments = [jvalue { j: size as i64 }, jvalue { j: i64::from(count) }, jvalue { j: flags }];
    env.object("org/rocksdb/WriteBatch$SavePoint", "(JJJ)V", &arguments).map(JObject)
});

/// `org.rocksdb.WriteBatch.Handler`. The thread that iterates over a batch calls it.
pub struct HandlerObject(crate::callback::Global);

native!("WriteBatch_00024Handler_createNewHandler0" "" fn(env) -> i64 {
    Ok(handles::insert(HandlerObject(crate::callback::Global::weak(&env, env.this)?)))
});

native!("WriteBatch_iterate" "JJ" fn(env, batch: i64, handler: i64) {
    let batch = plain(batch)?.copy();
    let handler = handles::get::<HandlerObject>(handler)?;
    let handler = env.local(handler.0.reference());
    let visitor = Visitor::new(&env, handler)?;
    for operation in batch.operations() {
        if !visitor.go_on()? {
            break;
        }
        visitor.visit(&operation?)?;
    }
    env.forget(handler);
    Ok(())
});

/// Calls the methods of a handler.
struct Visitor<'e> {
    env: &'e Env<'e>,
    handler: jni_sys::jobject,
    class: jni_sys::jclass,
}

impl<'e> Visitor<'e> {
    fn new(env: &'e Env<'e>, handler: jni_sys::jobject) -> Result<Visitor<'e>> {
        Ok(Visitor {
            env,
            handler,
            class: env.class_of(handler)?,
        })
    }

    fn go_on(&self) -> Result<bool> {
        let method = self.env.method(self.class, "shouldContinue", "()Z")?;
        self.env.call_bool(self.handler, method, &[])
    }

    /// Calls a Java method with arrays of bytes, and with the id of the family unless that is the default
    /// one.
    fn call(&self, name: &str, family: Option<u32>, arrays: &[&[u8]]) -> Result<()> {
        let mut signature = "(".to_owned();
        let mut arguments = Vec::new();
        if let Some(family) = family {
            signature.push('I');
            arguments.push(jvalue { i: family as i32 });
        }
        let mut made = Vec::new();
        for array in arrays {
            signature.push_str("[B");
            let array = self.env.byte_array(array)?;
            made.push(array.0);
            arguments.push(jvalue { l: array.0 });
        }
        signature.push_str(")V");
        let method = self.env.method(self.class, name, &signature)?;
        let result = self.env.call_void(self.handler, method, &arguments);
        made.into_iter().for_each(|array| self.env.forget(array));
        result
    }

    fn visit(&self, operation: &Operation<'_>) -> Result<()> {
        let other = |family: u32| (family != 0).then_some(family);
        match *operation {
            Operation::Put { family, key, value } => self.call("put", other(family), &[key, value]),
            Operation::Delete { family, key } => self.call("delete", other(family), &[key]),
            Operation::SingleDelete { family, key } => self.call("singleDelete", other(family), &[key]),
            Operation::Merge { family, key, operand } => self.call("merge", other(family), &[key, operand]),
            Operation::DeleteRange { family, begin, end } => {
                self.call("deleteRange", other(family), &[begin, end])
            }
            Operation::BlobIndex { family, key, index } => {
                self.call("putBlobIndex", Some(family), &[key, index])
            }
            Operation::LogData(blob) => self.call("logData", None, &[blob]),
            Operation::BeginPrepare { .. } | Operation::BeginUnprepare => {
                self.call("markBeginPrepare", None, &[])
            }
            Operation::EndPrepare { xid } => self.call("markEndPrepare", None, &[xid]),
            Operation::Commit { xid } => self.call("markCommit", None, &[xid]),
            Operation::CommitWithTimestamp { timestamp, xid } => {
                self.call("markCommitWithTimestamp", None, &[xid, timestamp])
            }
            Operation::Rollback { xid } => self.call("markRollback", None, &[xid]),
            Operation::Noop => {
                let method = self.env.method(self.class, "markNoop", "(Z)V")?;
                self.env.call_void(self.handler, method, &[jvalue { z: false }])
            }
            Operation::Entity { .. } | Operation::TimedPut { .. } => {
                Err(Fail::unsupported("this operation of a batch"))
            }
        }
    }
}

fn new_indexed(overwrites: bool, comparator: UserComparator) -> Result<jlong> {
    let mut batch = WriteBatchWithIndex::with_comparator(comparator);
    batch.set_overwrite_key(overwrites);
    Ok(handles::insert(BatchOf::new(batch)))
}

native!("WriteBatchWithIndex_newWriteBatchWithIndex" "" fn(env) -> i64 {
    new_indexed(false, UserComparator::Bytewise)
});

native!("WriteBatchWithIndex_newWriteBatchWithIndex" "Z" fn(env, overwrite: bool) -> i64 {
    new_indexed(overwrite, UserComparator::Bytewise)
});

// The comparator of a family orders that family's rows.
native!("WriteBatchWithIndex_newWriteBatchWithIndex" "JBIZ" fn(
    env, comparator: i64, kind: i8, reserved: i32, overwrite: bool
) -> i64 {
    new_indexed(overwrite, crate::comparator::user(comparator)?)
});

fn in_batch(env: &Env<'_>, batch: jlong, options: jlong, key: &[u8], family: jlong) -> Result<JByteArray> {
    let options = handles::get::<Settings>(options)?.copy();
    let family = family_object(family)?;
    let operator = match of(&family) {
        Some(family) => family.current_options().merge_operator.clone(),
        None => options.parts.merge_operator,
    };
    let batch = indexed(batch)?;
    match batch.with(|batch| batch.get_from_batch(of(&family), key, operator.as_deref()))? {
        BatchValue::Value(value) => env.byte_array(&value),
        BatchValue::Absent | BatchValue::Deleted => Ok(JByteArray(std::ptr::null_mut())),
        BatchValue::MergeInProgress => {
            Err(Error::new(ErrorKind::Incomplete, crate::status::MERGE_IN_PROGRESS).into())
        }
    }
}

native!("WriteBatchWithIndex_getFromBatch" "JJ_3BI" fn(
    env, batch: i64, options: i64, key: JByteArray, length: i32
) -> JByteArray {
    in_batch(&env, batch, options, &env.head(key, length)?, 0)
});

native!("WriteBatchWithIndex_getFromBatch" "JJ_3BIJ" fn(
    env, batch: i64, options: i64, key: JByteArray, length: i32, family: i64
) -> JByteArray {
    in_batch(&env, batch, options, &env.head(key, length)?, family)
});

native!("WriteBatchWithIndex_getWriteBatch" "J" fn(env, batch: i64) -> JObject {
    let held = indexed(batch)?;
    let copy = handles::insert(BatchOf::new(held.batch()));
    held.0.lock().lent.0.push(copy);
    env.object("org/rocksdb/WriteBatch", "(J)V", &[jvalue { j: copy }]).map(JObject)
});

fn over_db(
    env: &Env<'_>,
    batch: jlong,
    db: jlong,
    options: jlong,
    key: &[u8],
    family: jlong,
) -> Result<JByteArray> {
    let batch = indexed(batch)?;
    let db = database(db)?;
    let options = read_options(options)?;
    let family = Family::of(family)?;
    let found = batch.with(|batch| batch.get_from_batch_and_db(&db.db, family.in_db(&db), key, &options))?;
    match found {
        Some(value) => env.byte_array(&value),
        None => Ok(JByteArray(std::ptr::null_mut())),
    }
}

native!("WriteBatchWithIndex_getFromBatchAndDB" "JJJ_3BI" fn(
    env, batch: i64, db: i64, options: i64, key: JByteArray, length: i32
) -> JByteArray {
    over_db(&env, batch, db, options, &env.head(key, length)?, 0)
});

native!("WriteBatchWithIndex_getFromBatchAndDB" "JJJ_3BIJ" fn(
    env, batch: i64, db: i64, options: i64, key: JByteArray, length: i32, family: i64
) -> JByteArray {
    over_db(&env, batch, db, options, &env.head(key, length)?, family)
});
