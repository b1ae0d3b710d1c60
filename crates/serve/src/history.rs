//! The edits of a MANIFEST, from the first one on.

use std::path::Path;

use base::{Error, Result};
use manifest::{Replay, VersionEdit};
use serde_json::{Value, json};
use vfs::{FileSystem, OpenOptions};
use wal::Reader;

/// The state after a number of edits.
pub(crate) struct Past {
    /// The number of edits replayed.
    pub edits: u64,
    pub replay: Replay,
}

/// Calls `on_edit` with the number of each edit, counted from 1, its offset, and the edit, until `on_edit`
/// returns false. An incomplete record ends the MANIFEST.
fn for_each(
    fs: &dyn FileSystem,
    path: &Path,
    mut on_edit: impl FnMut(u64, u64, VersionEdit) -> Result<bool>,
) -> Result<()> {
    let mut reader = Reader::for_manifest(fs.open_random(path, &OpenOptions::default())?);
    let mut number = 0;
    while let Some(record) = reader.read_record()? {
        let decoded = VersionEdit::decode(record);
        number += 1;
        let offset = reader.record_offset();
        let in_file = |error: Error| error.offset_by(offset).in_file(path);
        if !on_edit(number, offset, decoded.map_err(in_file)?).map_err(in_file)? {
            break;
        }
    }
    Ok(())
}

/// Replays the first `edits` edits, or all.
pub(crate) fn replay(fs: &dyn FileSystem, path: &Path, edits: Option<u64>) -> Result<Past> {
    let mut past = Past {
        edits: 0,
        replay: Replay::new(),
    };
    let wanted = edits.unwrap_or(u64::MAX);
    if wanted == 0 {
        return Ok(past);
    }
    for_each(fs, path, |number, _, edit| {
        past.replay.apply(edit)?;
        past.edits = number;
        Ok(number < wanted)
    })?;
    Ok(past)
}

/// True if an edit has added table `number`.
pub(crate) fn knows_table(fs: &dyn FileSystem, path: &Path, number: u64) -> Result<bool> {
    let mut known = false;
    for_each(fs, path, |_, _, edit| {
        known = edit.new_files.iter().any(|(_, file)| file.number == number);
        Ok(!known)
    })?;
    Ok(known)
}

/// Returns the edits from the number `from` on.
pub(crate) fn edits(fs: &dyn FileSystem, path: &Path, from: u64, limit: u64) -> Result<Value> {
    let mut edits = Vec::new();
    let mut total = 0;
    for_each(fs, path, |number, offset, edit| {
        total = number;
        if number >= from && number - from < limit {
            edits.push(described(number, offset, &edit));
        }
        Ok(true)
    })?;
    Ok(json!({ "total": total, "edits": edits }))
}

fn described(number: u64, offset: u64, edit: &VersionEdit) -> Value {
    let added = edit.new_files.iter();
    let added: Vec<Value> = added
        .map(|(level, file)| json!({ "level": level, "number": file.number, "size": file.size }))
        .collect();
    let deleted = edit.deleted_files.iter();
    let deleted: Vec<Value> = deleted
        .map(|(level, number)| json!({ "level": level, "number": number }))
        .collect();
    let blobs = edit.blob_file_additions.iter();
    let blobs: Vec<u64> = blobs.map(|blob| blob.number).collect();
    json!({
        "number": number,
        "offset": offset,
        "family": edit.column_family,
        "added": added,
        "deleted": deleted,
        "blobs": blobs,
        "what": what(edit),
        "log_number": edit.log_number,
        "last_sequence": edit.last_sequence,
    })
}

/// Returns a description of the change that an edit makes.
fn what(edit: &VersionEdit) -> String {
    let (added, deleted) = (edit.new_files.len(), edit.deleted_files.len());
    let moved = edit.new_files.iter().all(|(_, file)| {
        let mut gone = edit.deleted_files.iter();
        gone.any(|(_, number)| *number == file.number)
    });
    if let Some(name) = &edit.column_family_add {
        return format!("creates column family {name}");
    }
    if edit.column_family_drop {
        return "drops the column family".to_owned();
    }
    let files = |count: usize| match count {
        1 => "1 table".to_owned(),
        several => format!("{several} tables"),
    };
    let level = edit.new_files.first().map_or(0, |(level, _)| *level);
    match (added, deleted) {
        (0, 0) => "changes no table".to_owned(),
        (_, 0) => format!("adds {} to L{level}", files(added)),
        (0, _) => format!("deletes {}", files(deleted)),
        _ if moved && added == deleted => format!("moves {} to L{level}", files(added)),
        _ => format!("replaces {} by {} in L{level}", files(deleted), files(added)),
    }
}
