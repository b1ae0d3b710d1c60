//! The current database as JSON: families, WALs, jobs, stalls, and the lines of its LOG.

use serde_json::{Value, json};

use crate::info_log::{Done, Job};
use crate::observe::{Family, Observation, Wal};

/// The number of ended jobs that are listed, the newest first.
const SHOWN_DONE: usize = 30;

/// Returns the state as JSON. `live` is the part that only the program has.
pub(crate) fn state(now: &Observation, live: Option<Value>) -> Value {
    let log = &now.log;
    let running = log.running.iter().map(|(id, job)| running(*id, job, now));
    let done = log
        .done
        .iter()
        .rev()
        .take(SHOWN_DONE)
        .map(|done| ended(done, now));
    let stalled = log.stalled.iter();
    let stalled: Vec<Value> = stalled
        .map(|(family, line)| json!({ "family": family, "line": line }))
        .collect();
    json!({
        "dir": now.dir,
        "unix_seconds": now.unix_seconds,
        "manifest": now.manifest,
        "manifest_bytes": now.manifest_bytes,
        "edits": now.edits,
        "last_sequence": now.last_sequence,
        "process": now.process.as_ref().map(|process| json!({
            "id": process.id, "name": process.name, "resident": process.resident,
        })),
        "families": now.families.iter().map(family).collect::<Vec<_>>(),
        "wals": now.wals.iter().map(|own| wal(own, now)).collect::<Vec<_>>(),
        "log": log.exists,
        "running": running.collect::<Vec<_>>(),
        "done": done.collect::<Vec<_>>(),
        "stalled": stalled,
        "stalls": log.stalls,
        "errors": log.errors,
        "dumped": log.dumped,
        "cache": log.cache,
        "pins": log.pins,
        "live": live,
    })
}

fn family(family: &Family) -> Value {
    let levels: Vec<Value> = family
        .levels
        .iter()
        .map(|level| {
            json!({
                "level": level.level, "files": level.files, "bytes": level.bytes, "score": level.score,
                "compacting": level.compacting,
            })
        })
        .collect();
    json!({
        "name": family.name,
        "log_number": family.log_number,
        "levels": levels,
        "blob_files": family.blob_files,
        "blob_bytes": family.blob_bytes,
        "pending_compaction_bytes": family.pending_compaction_bytes,
    })
}

/// Returns a WAL as JSON, with the families that may have rows in it.
fn wal(wal: &Wal, now: &Observation) -> Value {
    let families = now
        .families
        .iter()
        .filter(|family| family.log_number <= wal.number);
    let families: Vec<&str> = families.map(|family| family.name.as_str()).collect();
    json!({
        "number": wal.number,
        "bytes": wal.bytes,
        "begun": wal.begun,
        "written": wal.written,
        "needed": wal.needed,
        "families": families,
    })
}

fn running(id: u64, job: &Job, now: &Observation) -> Value {
    let inputs: Vec<Value> = job
        .inputs
        .iter()
        .map(|(level, files)| json!({ "level": level, "files": files }))
        .collect();
    json!({
        "id": id,
        "family": job.family,
        "compaction": job.compaction,
        "inputs": inputs,
        "seconds": now.unix_seconds.saturating_sub(job.begun_micros / 1_000_000),
    })
}

fn ended(done: &Done, now: &Observation) -> Value {
    json!({
        "id": done.id,
        "family": done.family,
        "compaction": done.compaction,
        "ago": now.unix_seconds.saturating_sub(done.micros / 1_000_000),
        "micros": done.took_micros,
        "level": done.output_level,
        "bytes": done.output_bytes,
    })
}
