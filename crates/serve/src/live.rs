//! The part of the state that only the program has: stalls by reason, pins, memory.

use esker::{Db, StallCause, StallCondition};
use serde_json::{Value, json};

pub(crate) fn state(db: &Db) -> Value {
    let default = db.default_column_family();
    let number = |name: &str| db.property_int(&default, name);
    let memory: Vec<Value> = db
        .memory()
        .lines()
        .into_iter()
        .map(|(part, bytes)| json!([part, bytes]))
        .collect();
    json!({
        "open": number("rocksdb.num-snapshots").is_some(),
        "stalls": stalls(db),
        "write_stopped": number("rocksdb.is-write-stopped"),
        "delayed_write_rate": number("rocksdb.actual-delayed-write-rate"),
        "running_flushes": number("rocksdb.num-running-flushes"),
        "running_compactions": number("rocksdb.num-running-compactions"),
        "background_errors": number("rocksdb.background-errors"),
        "memory": memory,
        "pins": pins(db),
    })
}

/// The waits of writers since the database was opened, by reason; reasons without a wait are left out.
fn stalls(db: &Db) -> Vec<Value> {
    let conditions = StallCause::ALL.into_iter().flat_map(|cause| {
        [
            ("delayed", cause, StallCondition::Delayed { cause }),
            ("stopped", cause, StallCondition::Stopped { cause }),
        ]
    });
    conditions
        .filter_map(|(name, cause, condition)| {
            let total = db.statistics().stall(condition);
            (total.count > 0).then(|| {
                json!({
                    "condition": name,
                    "cause": cause.to_string(),
                    "option": condition.option(),
                    "count": total.count,
                    "micros": total.micros,
                })
            })
        })
        .collect()
}

fn pins(db: &Db) -> Value {
    let pins = db.pins();
    let iterators: Vec<Value> = pins
        .iterators
        .iter()
        .map(|pin| json!({ "family": pin.column_family, "seconds": pin.age.as_secs() }))
        .collect();
    let super_versions: Vec<Value> = pins
        .super_versions
        .iter()
        .map(|pin| {
            json!({
                "family": pin.column_family, "holders": pin.holders, "seconds": pin.replaced_for.as_secs(),
                "memtable_bytes": pin.memtable_bytes, "files": pin.files, "file_bytes": pin.file_bytes,
            })
        })
        .collect();
    let snapshots: Vec<Value> = pins
        .snapshots
        .iter()
        .map(|pin| {
            json!({
                "sequence_number": pin.sequence_number, "holders": pin.holders, "seconds": pin.age.as_secs(),
            })
        })
        .collect();
    let holds: Vec<Value> = pins
        .file_deletions
        .iter()
        .map(|hold| json!({ "holder": hold.holder, "seconds": hold.age.as_secs() }))
        .collect();
    json!({
        "iterators": iterators,
        "super_versions": super_versions,
        "snapshots": snapshots,
        "file_deletions": holds,
        "files_waiting": pins.files_waiting,
        "memtable_bytes": pins.memtable_bytes,
        "file_bytes": pins.file_bytes,
    })
}
