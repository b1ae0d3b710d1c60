//! `org.rocksdb.RocksIterator`.

use base::sync::Mutex;
use esker::{ColumnFamily, Db, DbIterator, ReadOptions, WriteBatchWithIndex};
use jni_sys::jlong;

use crate::env::{Env, JBuffer, JByteArray, JLongArray};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Database, Family, database, read_options};
use crate::snapshot::SnapshotObject;

/// An iterator. Java may pass it to another thread; concurrent calls wait for each other.
pub struct IteratorObject {
    iterator: Mutex<DbIterator>,
    /// The database and the read options of the rows, from which a merged view with a batch is created.
    db: Db,
    options: ReadOptions,
    /// The number of bytes at the end of each value that do not belong to the caller.
    suffix: usize,
    /// The batch whose rows are merged into the iterator.
    over: Option<Mutex<Over>>,
}

/// A batch that is merged into an iterator. Each seek sees the current contents of the batch.
struct Over {
    batch: jlong,
    family: ColumnFamily,
    /// The number of the batch's changes at the last look.
    changes: u64,
}

impl IteratorObject {
    /// Returns an iterator over the rows of a family.
    pub fn over(db: &Database, options: &ReadOptions, family: &ColumnFamily) -> IteratorObject {
        IteratorObject {
            suffix: db.suffix(),
            ..IteratorObject::new(db.db.iter_cf(options, family), &db.db, options)
        }
    }

    /// Returns the object of any other iterator over a database.
    pub fn new(iterator: DbIterator, db: &Db, options: &ReadOptions) -> IteratorObject {
        IteratorObject {
            iterator: Mutex::new(iterator),
            db: db.clone(),
            options: options.clone(),
            suffix: 0,
            over: None,
        }
    }

    /// Runs `act` with the iterator.
    pub fn with<R>(&self, act: impl FnOnce(&mut DbIterator) -> R) -> R {
        act(&mut self.iterator.lock())
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
        let mut merged = self.options.clone();
        if let Some(given) = options {
            merged.iterate_lower_bound = given.iterate_lower_bound.clone().or(merged.iterate_lower_bound);
            merged.iterate_upper_bound = given.iterate_upper_bound.clone().or(merged.iterate_upper_bound);
        }
        // A snapshot keeps the database's rows the same when the batch is merged again.
        if merged.snapshot.is_none() && !merged.tailing {
            merged.snapshot = Some(self.db.snapshot());
        }
        let iterator = batch.iter_with_base(&self.db, &merged, family)?;
        let over = Over {
            batch: handle,
            family: family.clone(),
            changes,
        };
        Ok(IteratorObject {
            over: Some(Mutex::new(over)),
            ..IteratorObject::new(iterator, &self.db, &merged)
        })
    }

    /// Merges the batch again if it has changed.
    fn renew(&self) -> Result<()> {
        let Some(over) = &self.over else {
            return Ok(());
        };
        let mut over = over.lock();
        // A closed batch keeps its last contents.
        let Ok(batch) = crate::batch::indexed(over.batch) else {
            return Ok(());
        };
        batch.with_changes(|batch, changes| {
            if changes != over.changes {
                let renewed = batch.iter_with_base(&self.db, &self.options, &over.family)?;
                *self.iterator.lock() = renewed;
                over.changes = changes;
            }
            Ok(())
        })
    }
}

fn with<R>(iterator: jlong, act: impl FnOnce(&mut DbIterator) -> R) -> Result<R> {
    Ok(handles::get::<IteratorObject>(iterator)?.with(act))
}

/// Runs `act`, which seeks, with an iterator.
fn seeking<R>(iterator: jlong, act: impl FnOnce(&mut DbIterator) -> R) -> Result<R> {
    let object = handles::get::<IteratorObject>(iterator)?;
    object.renew()?;
    Ok(object.with(act))
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
    let object = handles::get::<IteratorObject>(iterator)?;
    object.with(|iterator| match iterator.valid() {
        true => {
            let value = iterator.value();
            act(&value[..value.len().saturating_sub(object.suffix)])
        }
        false => Err(no_row()),
    })
}

fn no_row() -> Fail {
    Fail::state("the iterator is not valid: seek before reading a row")
}

native!("RocksDB_iterator" "JJJ" fn(env, db: i64, family: i64, options: i64) -> i64 {
    let db = database(db)?;
    let family = Family::of(family)?;
    Ok(handles::insert(IteratorObject::over(&db, &*read_options(options)?, family.in_db(&db))))
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
        made.push(handles::insert(IteratorObject::over(&db, &options, Family::of(family)?.in_db(&db))));
    }
    env.long_array(&made)
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

/// The methods of an iterator, for each of the iterator classes.
macro_rules! iterator_methods {
    ($with:ident, $seeking:ident:
     $valid:literal $first:literal $last:literal $next:literal $prev:literal $seek:literal $seek_for_prev:literal
     $seek_array:literal $seek_for_prev_array:literal $seek_direct:literal $seek_for_prev_direct:literal $status:literal) => {
        native!($valid "J" fn(env, iterator: i64) -> bool { $with(iterator, |iterator| iterator.valid()) });
        native!($first "J" fn(env, iterator: i64) { $seeking(iterator, |iterator| iterator.seek_to_first()) });
        native!($last "J" fn(env, iterator: i64) { $seeking(iterator, |iterator| iterator.seek_to_last()) });
        native!($next "J" fn(env, iterator: i64) {
            $with(iterator, |iterator| if iterator.valid() { iterator.next() })
        });
        native!($prev "J" fn(env, iterator: i64) {
            $with(iterator, |iterator| if iterator.valid() { iterator.prev() })
        });
        native!($seek "J_3BI" fn(env, iterator: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            $seeking(iterator, |iterator| iterator.seek(&key))
        });
        native!($seek_for_prev "J_3BI" fn(env, iterator: i64, key: JByteArray, length: i32) {
            let key = env.head(key, length)?;
            $seeking(iterator, |iterator| iterator.seek_for_prev(&key))
        });
        native!($seek_array "J_3BII" fn(env, iterator: i64, key: JByteArray, at: i32, length: i32) {
            let key = env.bytes(key, at, length)?;
            $seeking(iterator, |iterator| iterator.seek(&key))
        });
        native!($seek_for_prev_array "J_3BII" fn(env, iterator: i64, key: JByteArray, at: i32, length: i32) {
            let key = env.bytes(key, at, length)?;
            $seeking(iterator, |iterator| iterator.seek_for_prev(&key))
        });
        native!($seek_direct "JLjava_nio_ByteBuffer_2II" fn(env, iterator: i64, key: JBuffer, at: i32, length: i32) {
            let key = env.direct(key, at, length)?;
            $seeking(iterator, |iterator| iterator.seek(key))
        });
        native!($seek_for_prev_direct "JLjava_nio_ByteBuffer_2II" fn(
            env, iterator: i64, key: JBuffer, at: i32, length: i32
        ) {
            let key = env.direct(key, at, length)?;
            $seeking(iterator, |iterator| iterator.seek_for_prev(key))
        });
        native!($status "J" fn(env, iterator: i64) { Ok($with(iterator, |iterator| iterator.status())??) });
    };
}
iterator_methods!(with, seeking:
    "RocksIterator_isValid0" "RocksIterator_seekToFirst0" "RocksIterator_seekToLast0" "RocksIterator_next0"
    "RocksIterator_prev0" "RocksIterator_seek0" "RocksIterator_seekForPrev0" "RocksIterator_seekByteArray0"
    "RocksIterator_seekForPrevByteArray0" "RocksIterator_seekDirect0" "RocksIterator_seekForPrevDirect0"
    "RocksIterator_status0");

native!("RocksIterator_key0" "J" fn(env, iterator: i64) -> JByteArray {
    on_row(iterator, |iterator| env.byte_array(iterator.key()))
});

native!("RocksIterator_value0" "J" fn(env, iterator: i64) -> JByteArray {
    on_value(iterator, |value| env.byte_array(value))
});

native!("RocksIterator_keyByteArray0" "J_3BII" fn(env, iterator: i64, to: JByteArray, at: i32, length: i32) -> i32 {
    on_row(iterator, |iterator| copied(&env, iterator.key(), to, at, length))
});

native!("RocksIterator_valueByteArray0" "J_3BII" fn(env, iterator: i64, to: JByteArray, at: i32, length: i32) -> i32 {
    on_value(iterator, |value| copied(&env, value, to, at, length))
});

native!("RocksIterator_keyDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, iterator: i64, to: JBuffer, at: i32, length: i32
) -> i32 {
    on_row(iterator, |iterator| copied_direct(&env, iterator.key(), to, at, length))
});

native!("RocksIterator_valueDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, iterator: i64, to: JBuffer, at: i32, length: i32
) -> i32 {
    on_value(iterator, |value| copied_direct(&env, value, to, at, length))
});

native!("RocksIterator_refresh0" "J" fn(env, iterator: i64) {
    Ok(with(iterator, |iterator| iterator.refresh(None))??)
});

native!("RocksIterator_refresh1" "JJ" fn(env, iterator: i64, snapshot: i64) {
    let snapshot = handles::optional::<SnapshotObject>(snapshot)?;
    let snapshot = snapshot.as_ref().map(|held| &held.0);
    Ok(with(iterator, |iterator| iterator.refresh(snapshot))??)
});
