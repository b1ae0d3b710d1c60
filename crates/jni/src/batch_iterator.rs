//! `org.rocksdb.WBWIRocksIterator`: the entries of a batch with an index, in the order of a family's keys.

use std::cmp::Ordering;

use base::sync::Mutex;
use esker::{Operation, UserComparator};

use crate::batch::indexed;
use crate::env::{JBuffer, JByteArray, JLongArray};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles::{self, InUse};
use crate::objects::FamilyObject;
use crate::slice::SliceObject;

/// RocksJava's number of a kind of entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteType {
    Put = 0,
    Merge = 1,
    Delete = 2,
    SingleDelete = 3,
}

struct Entry {
    kind: WriteType,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

/// The entries at the time of the last seek.
struct Position {
    entries: Vec<Entry>,
    /// The index of the current entry; `None` if the iterator is not valid.
    at: Option<usize>,
}

/// `org.rocksdb.WBWIRocksIterator`, with the handle of its batch.
struct BatchIterator {
    batch: i64,
    family: u32,
    comparator: UserComparator,
    position: Mutex<Position>,
}

impl BatchIterator {
    fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.comparator.compare(a, b)
    }

    /// Returns the batch's entries of the family. The newest entry of a key comes first; it is the only one
    /// if the batch keeps no older entries.
    fn listed(&self) -> Result<Vec<Entry>> {
        let held = indexed(self.batch)?;
        let (batch, overwrites) = (held.batch(), held.index().overwrites);
        let mut entries = Vec::new();
        for operation in batch.operations() {
            let (family, kind, key, value) = match operation? {
                Operation::Put { family, key, value } => (family, WriteType::Put, key, Some(value)),
                Operation::Merge { family, key, operand } => (family, WriteType::Merge, key, Some(operand)),
                Operation::Delete { family, key } => (family, WriteType::Delete, key, None),
                Operation::SingleDelete { family, key } => (family, WriteType::SingleDelete, key, None),
                _ => continue,
            };
            if family == self.family {
                entries.push(Entry {
                    kind,
                    key: key.to_vec(),
                    value: value.map(<[u8]>::to_vec),
                });
            }
        }
        entries.sort_by(|a, b| self.order(&a.key, &b.key));
        if overwrites {
            // A merge does not replace earlier entries.
            let mut at = 0;
            while at + 1 < entries.len() {
                let replaced = self.order(&entries[at].key, &entries[at + 1].key) == Ordering::Equal
                    && entries[at + 1].kind != WriteType::Merge;
                match replaced {
                    true => drop(entries.remove(at)),
                    false => at += 1,
                }
            }
        }
        entries.reverse();
        entries.sort_by(|a, b| self.order(&a.key, &b.key));
        Ok(entries)
    }

    /// Lists the batch's entries again, and moves to the one that `find` chooses.
    fn seek(&self, find: impl FnOnce(&[Entry]) -> Option<usize>) -> Result<()> {
        let entries = self.listed()?;
        let at = find(&entries).filter(|at| *at < entries.len());
        *self.position.lock() = Position { entries, at };
        Ok(())
    }

    fn seek_to(&self, key: &[u8]) -> Result<()> {
        self.seek(|entries| {
            Some(entries.partition_point(|entry| self.order(&entry.key, key) == Ordering::Less))
        })
    }

    fn seek_back(&self, key: &[u8]) -> Result<()> {
        self.seek(|entries| {
            entries
                .partition_point(|entry| self.order(&entry.key, key) != Ordering::Greater)
                .checked_sub(1)
        })
    }

    fn step(&self, step: impl FnOnce(usize) -> Option<usize>) {
        let position = &mut *self.position.lock();
        let count = position.entries.len();
        position.at = position.at.and_then(step).filter(|at| *at < count);
    }
}

fn iterator(handle: i64) -> Result<InUse<BatchIterator>> {
    handles::get(handle)
}

fn new(batch: i64, family: u32, comparator: UserComparator) -> Result<i64> {
    Ok(handles::insert(BatchIterator {
        batch,
        family,
        comparator,
        position: Mutex::new(Position {
            entries: Vec::new(),
            at: None,
        }),
    }))
}

native!("WriteBatchWithIndex_iterator0" "J" fn(env, batch: i64) -> i64 {
    let comparator = indexed(batch)?.index().comparator;
    new(batch, 0, comparator)
});

native!("WriteBatchWithIndex_iterator1" "JJ" fn(env, batch: i64, family: i64) -> i64 {
    let family = handles::get::<FamilyObject>(family)?;
    new(batch, family.0.id(), family.0.current_options().comparator.clone())
});

native!("WBWIRocksIterator_isValid0" "J" fn(env, handle: i64) -> bool {
    Ok(iterator(handle)?.position.lock().at.is_some())
});

native!("WBWIRocksIterator_seekToFirst0" "J" fn(env, handle: i64) { iterator(handle)?.seek(|_| Some(0)) });

native!("WBWIRocksIterator_seekToLast0" "J" fn(env, handle: i64) {
    iterator(handle)?.seek(|entries| entries.len().checked_sub(1))
});

native!("WBWIRocksIterator_next0" "J" fn(env, handle: i64) {
    iterator(handle)?.step(|at| Some(at + 1));
    Ok(())
});

native!("WBWIRocksIterator_prev0" "J" fn(env, handle: i64) {
    iterator(handle)?.step(|at| at.checked_sub(1));
    Ok(())
});

native!("WBWIRocksIterator_seek0" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    iterator(handle)?.seek_to(&env.head(key, length)?)
});

native!("WBWIRocksIterator_seekForPrev0" "J_3BI" fn(env, handle: i64, key: JByteArray, length: i32) {
    iterator(handle)?.seek_back(&env.head(key, length)?)
});

native!("WBWIRocksIterator_seekByteArray0" "J_3BII" fn(
    env, handle: i64, key: JByteArray, at: i32, length: i32
) {
    iterator(handle)?.seek_to(&env.bytes(key, at, length)?)
});

native!("WBWIRocksIterator_seekForPrevByteArray0" "J_3BII" fn(
    env, handle: i64, key: JByteArray, at: i32, length: i32
) {
    iterator(handle)?.seek_back(&env.bytes(key, at, length)?)
});

native!("WBWIRocksIterator_seekDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, handle: i64, key: JBuffer, at: i32, length: i32
) {
    iterator(handle)?.seek_to(env.direct(key, at, length)?)
});

native!("WBWIRocksIterator_seekForPrevDirect0" "JLjava_nio_ByteBuffer_2II" fn(
    env, handle: i64, key: JBuffer, at: i32, length: i32
) {
    iterator(handle)?.seek_back(env.direct(key, at, length)?)
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
    let position = iterator.position.lock();
    let entry = position.at.map(|at| &position.entries[at]);
    let entry = entry.ok_or_else(|| Fail::state("the iterator is not valid: seek before reading an entry"))?;
    // Java owns both slices.
    let key = handles::insert(SliceObject::new(&entry.key));
    let value = entry.value.as_ref().map_or(0, |value| handles::insert(SliceObject::new(value)));
    env.long_array(&[entry.kind as i64, key, value])
});
