//! `org.rocksdb.RocksIterator`, and `org.rocksdb.SstFileReaderIterator` with the same methods.

use esker::{ColumnFamily, Db, DbIterator, Error, ReadOptions, Snapshot, WriteBatchWithIndex};
use jni_sys::jlong;

use crate::batch::indexed;
use crate::env::{Env, JBuffer, JByteArray, JLongArray};
use crate::exclusive;
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, Family, FamilyObject, database, read_options};
use crate::snapshot::SnapshotObject;

/// An iterator, an exclusive object: Java may pass it to another thread, and concurrent calls wait for each
/// other.
pub struct IteratorObject {
    iterator: DbIterator,
    /// The database and the read options of the rows, from which a merged view with a batch is created. There
    /// is no database if the rows are those of a table outside of one.
    db: Option<Db>,
    options: ReadOptions,
    /// The number of bytes at the end of each value that hold the time of its write, which the caller does
    /// not see.
    suffix: usize,
    /// The batch whose rows are merged into the iterator.
    over: Option<Over>,
}

/// A batch that is merged into an iterator. Each seek sees the current contents of the batch.
struct Over {
    batch: jlong,
    family: ColumnFamily,
    /// The number of changes of the batch when its rows were last merged.
    changes: u64,
}

impl IteratorObject {
    /// Returns an iterator over the rows of a family.
    pub fn over(db: &Database, options: &ReadOptions, family: &ColumnFamily) -> IteratorObject {
        IteratorObject {
            suffix: db.suffix(),
            ..IteratorObject::new(db.db.iter_cf_opt(family, options), &db.db, options)
        }
    }

    /// Returns the object of any other iterator over a database.
    pub fn new(iterator: DbIterator, db: &Db, options: &ReadOptions) -> IteratorObject {
        IteratorObject {
            db: Some(db.clone()),
            ..IteratorObject::of_table(iterator, options)
        }
    }

    /// Returns the object of an iterator over a table outside of any database.
    pub fn of_table(iterator: DbIterator, options: &ReadOptions) -> IteratorObject {
        IteratorObject {
            iterator,
            db: None,
            options: options.clone(),
            suffix: 0,
            over: None,
        }
    }

    /// Returns an iterator over the same rows merged with those of a batch, from the batch's handle and the
    /// number of its changes. The bounds in `options` replace those of this iterator.
    pub fn over_batch(
        &self,
        (handle, changes): (jlong, u64),
        batch: &WriteBatchWithIndex,
        family: &ColumnFamily,
        options: Option<&ReadOptions>,
    ) -> Result<IteratorObject> {
        let db = self
            .db
            .as_ref()
            .ok_or_else(|| Fail::argument("the iterator is of no database"))?;
        let mut merged = self.options.clone();
        if let Some(given) = options {
            merged.iterate_lower_bound = given.iterate_lower_bound.clone().or(merged.iterate_lower_bound);
            merged.iterate_upper_bound = given.iterate_upper_bound.clone().or(merged.iterate_upper_bound);
        }
        // A snapshot keeps the database's rows the same when the batch is merged again.
        if merged.snapshot.is_none() && !merged.tailing {
            merged.snapshot = Some(db.snapshot());
        }
        let iterator = batch.iter_with_base(db, family, &merged)?;
        let over = Over {
            batch: handle,
            family: family.clone(),
            changes,
        };
        Ok(IteratorObject {
            over: Some(over),
            ..IteratorObject::new(iterator, db, &merged)
        })
    }

    /// Merges the rows of the write batch into the iterator again if the batch has changed.
    fn renew(&mut self) -> Result<()> {
        let (Some(over), Some(db)) = (&mut self.over, &self.db) else {
            return Ok(());
        };
        // A closed batch keeps its last contents.
        let Ok(batch) = indexed(over.batch) else {
            return Ok(());
        };
        batch.with_changes(|batch, changes| {
            if changes != over.changes {
                self.iterator = batch.iter_with_base(db, &over.family, &self.options)?;
                over.changes = changes;
            }
            Ok(())
        })
    }
}

fn with<R>(iterator: jlong, act: impl FnOnce(&mut DbIterator) -> R) -> Result<R> {
    exclusive::with(iterator, |object: &mut IteratorObject| act(&mut object.iterator))
}

/// Runs `act`, which seeks, with an iterator.
fn seeking<R>(iterator: jlong, act: impl FnOnce(&mut DbIterator) -> R) -> Result<R> {
    exclusive::with(iterator, |object: &mut IteratorObject| {
        object.renew()?;
        Ok(act(&mut object.iterator))
    })?
}

/// Runs `act` with an iterator that must be valid.
fn on_row<R>(iterator: jlong, act: impl FnOnce(&DbIterator) -> Result<R>) -> Result<R> {
    with(iterator, |iterator| match iterator.valid() {
        true => act(iterator),
        false => Err(no_row()),
    })?
}

/// Runs `act` with the value of the current row.
fn on_value<R>(iterator: jlong, act: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
    exclusive::with(iterator, |object: &mut IteratorObject| {
        match object.iterator.valid() {
            true => {
                let value = object.iterator.value();
                act(&value[..value.len().saturating_sub(object.suffix)])
            }
            false => Err(no_row()),
        }
    })?
}

fn no_row() -> Fail {
    Fail::state("the iterator is not valid: seek before reading a row")
}

native!("RocksDB_iterator" "JJJ" fn(env, db: i64, family: i64, options: i64) -> i64 {
    let db = database(db)?;
    let family = Family::of(family)?;
    Ok(exclusive::insert(IteratorObject::over(&db, &*read_options(options)?, family.in_db(&db))))
});

native!("RocksDB_iterators" "J_3JJ" fn(env, db: i64, families: JLongArray, options: i64) -> JLongArray {
    let db = database(db)?;
    let mut options = ReadOptions::clone(&*read_options(options)?);
    // All iterators see the same rows.
    if options.snapshot.is_none() && !options.tailing {
        options.snapshot = Some(db.db.snapshot());
    }
    let mut made = Vec::new();
    for family in env.longs(families)? {
        made.push(exclusive::insert(IteratorObject::over(&db, &options, Family::of(family)?.in_db(&db))));
    }
    env.long_array(&made)
});

native!("WriteBatchWithIndex_iteratorWithBase" "JJJJ" fn(
    env, handle: i64, family: i64, base: i64, options: i64
) -> i64 {
    let batch = indexed(handle)?;
    let options = match options {
        0 => None,
        _ => Some(read_options(options)?),
    };
    let family = handles::get::<FamilyObject>(family)?;
    let iterator = exclusive::with(base, |base: &mut IteratorObject| {
        batch.with_changes(|batch, changes| {
            base.over_batch((handle, changes), batch, &family.0, options.as_deref())
        })
    })??;
    Ok(exclusive::insert(iterator))
});

fn copied(env: &Env<'_>, bytes: &[u8], to: JByteArray, at: i32, length: i32) -> Result<i32> {
    env.fill(to, at, length, bytes)?;
    Ok(bytes.len() as i32)
}

fn copied_direct(env: &Env<'_>, bytes: &[u8], to: JBuffer, at: i32, length: i32) -> Result<i32> {
    let to = env.direct(to, at, length)?;
    let count = to.len().min(bytes.len());
    to[..count].copy_from_slice(&bytes[..count]);
    Ok(bytes.len() as i32)
}

/// Reads from now on as of a snapshot, or as of now. A table outside of a database never changes, and RocksDB
/// refuses to refresh an iterator over one.
fn refresh(iterator: jlong, snapshot: Option<&Snapshot>) -> Result<()> {
    exclusive::with(iterator, |object: &mut IteratorObject| match object.db {
        Some(_) => Ok(object.iterator.refresh(snapshot)?),
        None => Err(Error::not_supported("Creating renew iterator is not allowed.").into()),
    })?
}

/// The methods of an iterator, for each of the iterator classes.
macro_rules! iterator_methods {
    ($valid:literal $first:literal $last:literal $next:literal $prev:literal $seek:literal $seek_for_prev:literal
     $seek_array:literal $seek_for_prev_array:literal $seek_direct:literal $seek_for_prev_direct:literal $status:literal
     $key:literal $value:literal $key_array:literal $value_array:literal $key_direct:literal $value_direct:literal
     $refresh:literal $refresh_to:literal) => {
        native!($valid "J" fn(env, iterator: i64) -> bool { with(iterator, |iterator| iterator.valid()) });
        native!($first "J" fn(env, iterator: i64) { seeking(iterator, |iterator| iterator.seek_to_first()) });
        native!($last "J" fn(env, iterator: i64) { seeking(iterator, |iterator| iterator.seek_to_last()) });
        native!($next "J" fn(env, iterator: i64) {
            with(iterator, |iterator| if iterator.valid() { iterator.next() })
        });
        native!($prev "J" fn(env, iterator: i64) {
            with(iterator, |iterator| if iterator.valid() { iterator.prev() })
        });
        native!($seek "J_3BI" fn(env, iterator: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            seeking(iterator, |iterator| iterator.seek(&key))
        });
        native!($seek_for_prev "J_3BI" fn(env, iterator: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            seeking(iterator, |iterator| iterator.seek_for_prev(&key))
        });
        native!($seek_array "J_3BII" fn(env, iterator: i64, key: JByteArray, at: i32, length: i32) {
            let key = env.bytes(key, at, length)?;
            seeking(iterator, |iterator| iterator.seek(&key))
        });
        native!($seek_for_prev_array "J_3BII" fn(env, iterator: i64, key: JByteArray, at: i32, length: i32) {
            let key = env.bytes(key, at, length)?;
            seeking(iterator, |iterator| iterator.seek_for_prev(&key))
        });
        native!($seek_direct "JLjava_nio_ByteBuffer_2II" fn(env, iterator: i64, key: JBuffer, at: i32, length: i32) {
            let key = env.direct(key, at, length)?;
            seeking(iterator, |iterator| iterator.seek(key))
        });
        native!($seek_for_prev_direct "JLjava_nio_ByteBuffer_2II" fn(
            env, iterator: i64, key: JBuffer, at: i32, length: i32
        ) {
            let key = env.direct(key, at, length)?;
            seeking(iterator, |iterator| iterator.seek_for_prev(key))
        });
        native!($status "J" fn(env, iterator: i64) { Ok(with(iterator, |iterator| iterator.status())??) });
        native!($key "J" fn(env, iterator: i64) -> JByteArray {
            on_row(iterator, |iterator| env.byte_array(iterator.key()))
        });
        native!($value "J" fn(env, iterator: i64) -> JByteArray {
            on_value(iterator, |value| env.byte_array(value))
        });
        native!($key_array "J_3BII" fn(env, iterator: i64, to: JByteArray, at: i32, length: i32) -> i32 {
            on_row(iterator, |iterator| copied(&env, iterator.key(), to, at, length))
        });
        native!($value_array "J_3BII" fn(env, iterator: i64, to: JByteArray, at: i32, length: i32) -> i32 {
            on_value(iterator, |value| copied(&env, value, to, at, length))
        });
        native!($key_direct "JLjava_nio_ByteBuffer_2II" fn(
            env, iterator: i64, to: JBuffer, at: i32, length: i32
        ) -> i32 {
            on_row(iterator, |iterator| copied_direct(&env, iterator.key(), to, at, length))
        });
        native!($value_direct "JLjava_nio_ByteBuffer_2II" fn(
            env, iterator: i64, to: JBuffer, at: i32, length: i32
        ) -> i32 {
            on_value(iterator, |value| copied_direct(&env, value, to, at, length))
        });
        native!($refresh "J" fn(env, iterator: i64) { refresh(iterator, None) });
        native!($refresh_to "JJ" fn(env, iterator: i64, snapshot: i64) {
            let snapshot = handles::optional::<SnapshotObject>(snapshot)?;
            refresh(iterator, snapshot.as_ref().map(|held| &held.0))
        });
    };
}
iterator_methods!(
    "RocksIterator_isValid0" "RocksIterator_seekToFirst0" "RocksIterator_seekToLast0" "RocksIterator_next0"
    "RocksIterator_prev0" "RocksIterator_seek0" "RocksIterator_seekForPrev0" "RocksIterator_seekByteArray0"
    "RocksIterator_seekForPrevByteArray0" "RocksIterator_seekDirect0" "RocksIterator_seekForPrevDirect0"
    "RocksIterator_status0" "RocksIterator_key0" "RocksIterator_value0" "RocksIterator_keyByteArray0"
    "RocksIterator_valueByteArray0" "RocksIterator_keyDirect0" "RocksIterator_valueDirect0"
    "RocksIterator_refresh0" "RocksIterator_refresh1");
iterator_methods!(
    "SstFileReaderIterator_isValid0" "SstFileReaderIterator_seekToFirst0"
    "SstFileReaderIterator_seekToLast0" "SstFileReaderIterator_next0" "SstFileReaderIterator_prev0"
    "SstFileReaderIterator_seek0" "SstFileReaderIterator_seekForPrev0"
    "SstFileReaderIterator_seekByteArray0" "SstFileReaderIterator_seekForPrevByteArray0"
    "SstFileReaderIterator_seekDirect0" "SstFileReaderIterator_seekForPrevDirect0"
    "SstFileReaderIterator_status0" "SstFileReaderIterator_key0" "SstFileReaderIterator_value0"
    "SstFileReaderIterator_keyByteArray0" "SstFileReaderIterator_valueByteArray0"
    "SstFileReaderIterator_keyDirect0" "SstFileReaderIterator_valueDirect0" "SstFileReaderIterator_refresh0"
    "SstFileReaderIterator_refresh1");
