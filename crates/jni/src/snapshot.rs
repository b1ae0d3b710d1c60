//! `org.rocksdb.Snapshot`.

use esker::Snapshot;

use crate::frame::native;
use crate::handles;
use crate::objects::database;

/// A snapshot.
pub struct SnapshotObject(pub Snapshot);

native!("RocksDB_getSnapshot" "J" fn(env, db: i64) -> i64 {
    Ok(handles::insert(SnapshotObject(database(db)?.db.snapshot())))
});

native!("RocksDB_releaseSnapshot" "JJ" fn(env, db: i64, snapshot: i64) {
    handles::close(snapshot);
    Ok(())
});

native!("Snapshot_getSequenceNumber" "J" fn(env, snapshot: i64) -> i64 {
    Ok(handles::get::<SnapshotObject>(snapshot)?.0.sequence_number() as i64)
});
