//! `org.rocksdb.WBWIRocksIterator`: the entries of a batch with an index, in the order of a family's keys.

use base::sync::Mutex;
use esker::{BatchEntries, BatchEntryKind, ColumnFamily};

use crate::batch::indexed;
use crate::env::{JBuffer, JByteArray, JLongArray};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles::{self, InUse};
use crate::objects::FamilyObject;
use crate::slice::SliceObject;

/// RocksJava's number of a kind of entry.
fn number(kind: BatchEntryKind) -> Result<i64> {
    Ok(match kind {
        BatchEntryKind::Put => 0,
        BatchEntryKind::Merge => 1,
        BatchEntryKind::Delete => 2,
        BatchEntryKind::SingleDelete => 3,
        BatchEntryKind::PutEntity => return Err(Fail::unsupported("this operation of a batch")),
    })
}

/// `org.rocksdb.WBWIRocksIterator`, with the handle of its batch.
struct BatchIterator {
    batch: i64,
    family: Option<ColumnFamily>,
    /// The entries of the batch at the time of the last seek.
    entries: Mutex<BatchEntries>,
}

impl BatchIterator {
    /// Takes the batch's entries of now, and makes `seek` move to one of them.
    fn seek(&self, seek: impl FnOnce(&mut BatchEntries)) -> Result<()> {
        let batch = indexed(self.batch)?;
        let mut entries = batch.with(|batch| batch.entries(self.family.as_ref()))?;
        seek(&mut entries);
        entries.status()?;
        *self.entries.lock() = entries;
        Ok(())
    }
}

fn iterator(handle: i64) -> Result<InUse<BatchIterator>> {
    handles::get(handle)
}

fn new(batch: i64, family: Option<ColumnFamily>) -> Result<i64> {
    let entries = indexed(batch)?.with(|batch| batch.entries(family.as_ref()))?;
    Ok(handles::insert(BatchIterator {
        batch,
        family,
        entries: Mutex::new(entries),
    }))
}

native!("WriteBatchWithIndex_iterator0" "J" fn(env, batch: i64) -> i64 {
    new(batch, None)
});

native!("WriteBatchWithIndex_iterator1" "JJ" fn(env, batch: i64, family: i64) -> i64 {
    new(batch, Some(handles::get::<FamilyObject>(family)?.0.clone()))
});

native!("WBWIRocksIterator_isValid0" "J" fn(env, handle: i64) -> bool {
    Ok(iterator(handle)?.entries.lock().valid())
});

native!("WBWIRocksIterator_seekToFirst0" "J" fn(env, handle: i64) { iterator(handle)?.seek(BatchEntries::seek_to_first) });

native!("WBWIRocksIterator_seekToLast0" "J" fn(env, handle: i64) {
    iterator(handle)?.seek(BatchEntries::seek_to_last)
});

native!("WBWIRocksIterator_next0" "J" fn(env, handle: i64) {
    iterator(handle)?.entries.lock().next();
    Ok(())
});

native!("WBWIRocksIterator_prev0" "J" fn(env, handle: i64) {
    iterator(handle)?.entries.lock().prev();
    Ok(())
});

native!("WBWIRocksIterator_seek0" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    let key = &env.head(key, length)?;
    iterator(handle)?.seek(|entries| entries.seek(key))
});

native!("WBWIRocksIterator_seekForPrev0" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    let key = &env.head(key, length)?;
    iterator(handle)?.seek(|entries| entries.seek_for_prev(key))
});

native!("WBWIRocksIterator_seekByteArray0" "J_3BII" fn(
    env, handle: i64, key: JByteArray, at: i32, length: i32
) {
    let key = &env.bytes(key, at, length)?;
    iterator(handle)?.seek(|entries| entries.seek(key))
});

native!("WBWIRocksIterator_seekForPrevByteArray0" "J_3BII" fn(
    env, handle: i64, key: JByteArray, at: i32, length: i32
) {
    let key = &env.bytes(key, at, length)?;
    iterator(handle)?.seek(|entries| entries.seek_for_prev(key))
});

native!("WBWIRocksIterator_seekDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, handle: i64, key: JBuffer, at: i32, length: i32
) {
    let key = env.direct(key, at, length)?;
    iterator(handle)?.seek(|entries| entries.seek(key))
});

native!("WBWIRocksIterator_seekForPrevDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, handle: i64, key: JBuffer, at: i32, length: i32
) {
    let key = env.direct(key, at, length)?;
    iterator(handle)?.seek(|entries| entries.seek_for_prev(key))
});

native!("WBWIRocksIterator_status0" "J" fn(env, handle: i64) { iterator(handle).map(drop) });

/// A refresh has no effect, because a batch has no older state.
fn refresh(handle: i64) -> Result<()> {
    iterator(handle)?;
    Err(Fail::Status(esker::Error::not_supported(
        "Refresh() is not supported",
    )))
}

native!("WBWIRocksIterator_refresh0" "J" fn(env, handle: i64) { refresh(handle) });

native!("WBWIRocksIterator_refresh1" "JJ" fn(env, handle: i64, snapshot: i64) { refresh(handle) });

native!("WBWIRocksIterator_entry1" "J" fn(env, handle: i64) -> JLongArray {
    let iterator = iterator(handle)?;
    let entries = iterator.entries.lock();
    let entry = entries.entry();
    let entry = entry.ok_or_else(|| Fail::state("the iterator is not valid: seek before reading an entry"))?;
    let has_value = matches!(entry.kind, BatchEntryKind::Put | BatchEntryKind::Merge);
    let kind = number(entry.kind)?;
    // Java owns both slices.
    let key = handles::insert(SliceObject::new(entry.key));
    let value = if has_value { handles::insert(SliceObject::new(entry.value)) } else { 0 };
    env.long_array(&[kind, key, value])
});
