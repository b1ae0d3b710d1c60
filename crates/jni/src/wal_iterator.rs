//! `org.rocksdb.TransactionLogIterator`, and the WALs of a database.

use base::sync::Mutex;
use esker::TransactionLogIterator;
use jni_sys::jvalue;

use crate::batch::BatchOf;
use crate::env::{JObject, JObjects};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::database;

/// `org.rocksdb.TransactionLogIterator`. Concurrent calls wait for each other.
struct LogIterator(Mutex<TransactionLogIterator>);

fn with<R>(iterator: i64, act: impl FnOnce(&mut TransactionLogIterator) -> R) -> Result<R> {
    Ok(act(&mut handles::get::<LogIterator>(iterator)?.0.lock()))
}

native!("RocksDB_getUpdatesSince" "JJ" fn(env, db: i64, sequence: i64) -> i64 {
    let iterator = database(db)?.db.get_updates_since(sequence.max(0) as u64)?;
    Ok(handles::insert(LogIterator(Mutex::new(iterator))))
});

native!("TransactionLogIterator_isValid" "J" fn(env, iterator: i64) -> bool {
    with(iterator, |iterator| iterator.valid())
});

native!("TransactionLogIterator_next" "J" fn(env, iterator: i64) { with(iterator, |iterator| iterator.next()) });

native!("TransactionLogIterator_status" "J" fn(env, iterator: i64) {
    Ok(with(iterator, |iterator| iterator.status())??)
});

native!("TransactionLogIterator_getBatch" "J" fn(env, iterator: i64) -> JObject {
    let found = with(iterator, |iterator| iterator.batch().map(|(seqno, batch)| (seqno, batch.clone())))?;
    let (seqno, batch) = found.ok_or_else(|| Fail::state("the iterator is not valid"))?;
    // Java owns the batch.
    let batch = handles::insert(BatchOf::new(batch));
    let arguments = [jvalue { j: seqno as i64 }, jvalue { j: batch }];
    let made = env.object("org/rocksdb/TransactionLogIterator$BatchResult", "(JJ)V", &arguments);
    if made.is_err() {
        handles::close(batch);
    }
    made.map(JObject)
});

/// RocksJava's numbers of archived WALs and of others.
const ARCHIVED: i8 = 0;
const ALIVE: i8 = 1;

native!("RocksDB_getSortedWalFiles" "J" fn(env, db: i64) -> JObjects {
    let files = database(db)?.db.get_sorted_wal_files()?;
    let array = env.object_array("org/rocksdb/LogFile", files.len())?;
    for (at, file) in files.iter().enumerate() {
        // The path is relative to the directory of the WALs, as in RocksDB.
        let folder = if file.archived { "/archive" } else { "" };
        let name = file.path.file_name().map_or_else(String::new, |name| format!("{folder}/{}", name.display()));
        let name = env.new_string(&name)?;
        let kind = if file.archived { ARCHIVED } else { ALIVE };
        let arguments = [
            jvalue { l: name.0 },
            jvalue { j: file.number as i64 },
            jvalue { b: kind },
            jvalue { j: file.start_sequence as i64 },
            jvalue { j: file.size as i64 },
        ];
        let object = env.object("org/rocksdb/LogFile", "(Ljava/lang/String;JBJJ)V", &arguments)?;
        env.set_element(array, at, object)?;
        env.forget(name.0);
        env.forget(object);
    }
    Ok(JObjects(array))
});
