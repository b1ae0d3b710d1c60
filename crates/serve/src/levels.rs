//! The tables of each level as JSON.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use manifest::{FamilyState, FileMetadata, ManifestState};
use serde_json::{Value, json};

use crate::axis::Axis;
use crate::tables::{Counts, Tables};
use crate::text::shown;

/// The maximum number of tables of a level that are listed.
const MAX_TABLES: usize = 4000;

/// Facts about tables besides the MANIFEST.
#[derive(Default)]
pub(crate) struct Marks {
    /// The tables that compactions read.
    pub compacting: HashSet<u64>,
    pub counts: HashMap<u64, Counts>,
    /// The estimated reads of each table that was read; `None` if they are unknown.
    pub reads: Option<HashMap<u64, u64>>,
    pub paths: HashMap<u64, PathBuf>,
}

/// Returns the families of `state`, the result of `edits` edits. Without a state, the note is the reason.
pub(crate) fn levels(
    edits: u64,
    state: Option<&ManifestState>,
    note: Option<String>,
    marks: &Marks,
    tables: &Tables,
) -> Value {
    let mut budget = tables.budget();
    let families = state.iter().flat_map(|state| state.families.values());
    let families: Vec<Value> = families
        .map(|own| family(own, marks, tables, &mut budget))
        .collect();
    json!({ "edit": edits, "note": note, "families": families })
}

fn family(family: &FamilyState, marks: &Marks, tables: &Tables, budget: &mut usize) -> Value {
    let version = &family.version;
    let axis = Axis::new(version);
    let order = version.cmp().user();
    let key = |bound: Option<&[u8]>| bound.map(|key| shown(order.strip_timestamp(key)));
    let levels: Vec<Value> = (0..version.num_non_empty_levels())
        .map(|level| {
            let files = version.files(level);
            let listed = files.iter().take(MAX_TABLES);
            let listed: Vec<Value> = listed
                .map(|file| {
                    let counts = marks.counts.get(&file.number).copied();
                    let counts = counts.or_else(|| tables.counts(file.number, budget));
                    let keys = (
                        shown(order.strip_timestamp(file.smallest_user_key())),
                        shown(order.strip_timestamp(file.largest_user_key())),
                    );
                    let reads = marks.reads.as_ref();
                    let reads = reads.map(|reads| reads.get(&file.number).copied().unwrap_or(0));
                    let mut table = table(file, &axis, keys, counts);
                    table["compacting"] = marks.compacting.contains(&file.number).into();
                    table["reads"] = reads.into();
                    table
                })
                .collect();
            json!({
                "level": level,
                "files": files.len(),
                "bytes": version.level_bytes(level),
                "tables": listed,
            })
        })
        .collect();
    let blobs = version.blob_files().values();
    let blobs: Vec<Value> = blobs
        .map(|blob| {
            json!({
                "number": blob.number(),
                "bytes": blob.file_size(),
                "garbage": blob.garbage_blob_bytes,
            })
        })
        .collect();
    json!({
        "id": family.id,
        "name": family.name,
        "comparator": family.comparator.name(),
        "log_number": family.log_number,
        "files": version.num_files(),
        "bytes": version.total_bytes(),
        "first": key(axis.first()),
        "last": key(axis.last()),
        "levels": levels,
        "blobs": blobs,
    })
}

fn table(
    file: &FileMetadata,
    axis: &Axis,
    (smallest, largest): (String, String),
    counts: Option<Counts>,
) -> Value {
    let (from, to) = axis.span(file);
    json!({
        "number": file.number,
        "bytes": file.size,
        "from": from,
        "to": to,
        "smallest": smallest,
        "largest": largest,
        "smallest_seqno": file.smallest_seqno,
        "largest_seqno": file.largest_seqno,
        "created": file.file_creation_time,
        "marked": file.marked_for_compaction,
        "entries": counts.map(|counts| counts.entries),
        "deletions": counts.map(|counts| counts.deletions),
    })
}
