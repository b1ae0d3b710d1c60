//! Dumps a MANIFEST: every edit, and the resulting state.

use std::io::Write;
use std::path::Path;

use base::filename::FileKind;
use base::{Error, ErrorKind};
use manifest::{FileMetadata, ManifestState, Replay, VersionEdit};

use crate::args::ManifestArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::text::{Form, count, show_internal_key, show_size};

/// Dumps MANIFESTs.
pub fn dump(args: &ManifestArgs, out: &mut Out) -> Result<(), Failure> {
    let paths = args
        .source
        .paths("MANIFEST", |kind| matches!(kind, FileKind::Manifest(_)))?;
    let current = args
        .source
        .db
        .as_deref()
        .and_then(|dir| directory::current_manifest(dir).ok());
    super::each(&paths, |path| {
        let mark = if current.as_ref() == Some(path) {
            "  (in force)"
        } else {
            ""
        };
        writeln!(out, "{}{mark}", path.display())?;
        dump_file(path, args, out)
    })
}

fn dump_file(path: &Path, args: &ManifestArgs, out: &mut Out) -> Result<(), Failure> {
    let form = Form::new(args.hex);
    let mut replay = Replay::new();
    let mut refused: Option<Error> = None;
    let mut edits = 0u64;
    directory::for_each_edit(path, &mut |offset, edit| {
        edits += 1;
        if !args.summary {
            let fields = fields(&edit, form);
            let empty = if fields.is_empty() { "  (empty)" } else { "" };
            writeln!(out, "edit {edits} at {offset}{empty}")?;
            for (name, value) in fields {
                writeln!(out, "  {name:<33} {value}")?;
            }
        }
        if refused.is_none() {
            refused = replay
                .apply(edit)
                .map_err(|error| error.at(offset).in_file(path))
                .err();
        }
        Ok::<(), Failure>(())
    })?;
    if let Some(error) = refused {
        return Err(error.into());
    }
    match replay.finish(&mut manifest::builtin_comparator) {
        Ok(state) => Ok(summary(edits, &state, out)?),
        // Only the resulting state requires the comparators of the families; the edits are shown in any case.
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(writeln!(out, "state: {error}")?),
        Err(error) => Err(error.in_file(path).into()),
    }
}

/// The fields of an edit by name, in the order they are applied.
fn fields(edit: &VersionEdit, form: Form) -> Vec<(&'static str, String)> {
    let mut fields: Vec<(&'static str, String)> = Vec::new();
    let mut number = |name, value: Option<u64>| fields.extend(value.map(|value| (name, value.to_string())));
    number(
        "column_family",
        (edit.column_family != 0).then_some(edit.column_family.into()),
    );
    number("log_number", edit.log_number);
    number("prev_log_number", edit.prev_log_number);
    number("next_file_number", edit.next_file_number);
    number("last_sequence", edit.last_sequence);
    number("max_column_family", edit.max_column_family.map(u64::from));
    number("min_log_number_to_keep", edit.min_log_number_to_keep);
    number(
        "atomic_group_remaining",
        edit.atomic_group_remaining.map(u64::from),
    );
    number(
        "last_compacted_manifest_file_size",
        edit.last_compacted_manifest_file_size,
    );
    number("wal_deletion_before", edit.wal_deletion);
    let mut add = |name, value: String| fields.push((name, value));
    if let Some(id) = &edit.db_id {
        add("db_id", id.clone());
    }
    if let Some(comparator) = &edit.comparator {
        add("comparator", comparator.clone());
    }
    if let Some(name) = &edit.column_family_add {
        add(
            "column_family_add",
            Form::Escaped.show(name.as_bytes()).to_string(),
        );
    }
    if edit.column_family_drop {
        add("column_family_drop", String::new());
    }
    if let Some(persist) = edit.persist_user_defined_timestamps {
        add("persist_user_defined_timestamps", persist.to_string());
    }
    if let Some(timestamp) = &edit.full_history_ts_low {
        add("full_history_ts_low", Form::Hex.show(timestamp).to_string());
    }
    if let Some(progress) = &edit.subcompaction_progress {
        add("subcompaction_progress", Form::Hex.show(progress).to_string());
    }
    for wal in &edit.wal_additions {
        let synced = wal
            .synced_size
            .map_or_else(|| "created".to_owned(), |size| format!("synced to {size}"));
        add("wal", format!("{:06} {synced}", wal.number));
    }
    for (level, key) in &edit.compact_cursors {
        add(
            "compact_cursor",
            format!("L{level} {}", show_internal_key(form, key)),
        );
    }
    for blob in &edit.blob_file_additions {
        let mut text = format!(
            "{:06} {} blobs, {} bytes",
            blob.number, blob.total_blob_count, blob.total_blob_bytes
        );
        if !blob.checksum_method.is_empty() {
            text.push_str(&format!(
                ", {} {}",
                blob.checksum_method,
                Form::Hex.show(&blob.checksum_value)
            ));
        }
        add("blob_file_addition", text);
    }
    for garbage in &edit.blob_file_garbages {
        let (blobs, bytes) = (garbage.garbage_blob_count, garbage.garbage_blob_bytes);
        add(
            "blob_file_garbage",
            format!("{:06} {blobs} blobs, {bytes} bytes", garbage.number),
        );
    }
    for (level, number) in &edit.deleted_files {
        add("deleted_file", format!("L{level} {number:06}"));
    }
    for (level, file) in &edit.new_files {
        add("new_file", format!("L{level} {}", new_file(file, form)));
    }
    for (tag, value) in &edit.unknown_fields {
        add("unknown_field", format!("tag {tag}: {}", Form::Hex.show(value)));
    }
    fields
}

fn new_file(file: &FileMetadata, form: Form) -> String {
    let mut text = format!(
        "{:06} {} bytes [{} .. {}] seqno {}..{}",
        file.number,
        file.size,
        show_internal_key(form, &file.smallest),
        show_internal_key(form, &file.largest),
        file.smallest_seqno,
        file.largest_seqno,
    );
    let mut add = |name: &str, value: String| text.push_str(&format!(" {name}={value}"));
    let numbers = [
        ("path_id", Some(u64::from(file.path_id)).filter(|&id| id != 0)),
        ("epoch_number", file.epoch_number),
        ("oldest_blob_file", file.oldest_blob_file_number),
        (
            "oldest_ancestor_time",
            Some(file.oldest_ancestor_time).filter(|&time| time != 0),
        ),
        (
            "file_creation_time",
            Some(file.file_creation_time).filter(|&time| time != 0),
        ),
        (
            "temperature",
            Some(u64::from(file.temperature.0)).filter(|&temperature| temperature != 0),
        ),
        ("tail_size", Some(file.tail_size).filter(|&size| size != 0)),
        (
            "compensated_range_deletion_size",
            Some(file.compensated_range_deletion_size).filter(|&size| size != 0),
        ),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            add(name, number.to_string());
        }
    }
    if let Some(id) = &file.unique_id {
        add("unique_id", Form::Hex.show(id).to_string());
    }
    if let Some(checksum) = &file.file_checksum {
        add(
            "file_checksum",
            format!("{}:{}", checksum.func_name, Form::Hex.show(&checksum.value)),
        );
    }
    if file.marked_for_compaction {
        add("marked_for_compaction", "true".to_owned());
    }
    if !file.user_defined_timestamps_persisted {
        add("user_defined_timestamps_persisted", "false".to_owned());
    }
    for (name, timestamp) in [
        ("min_timestamp", &file.min_timestamp),
        ("max_timestamp", &file.max_timestamp),
    ] {
        if !timestamp.is_empty() {
            add(name, Form::Hex.show(timestamp).to_string());
        }
    }
    for (tag, value) in &file.unknown_fields {
        add(&format!("unknown{tag}"), Form::Hex.show(value).to_string());
    }
    text
}

fn summary(edits: u64, state: &ManifestState, out: &mut Out) -> std::io::Result<()> {
    writeln!(out, "state after {}", count(edits, "edit"))?;
    if let Some(id) = &state.db_id {
        writeln!(out, "  {:<33} {id}", "db_id")?;
    }
    for (name, value) in [
        ("next_file_number", state.next_file_number),
        ("last_sequence", state.last_sequence),
        ("max_column_family", state.max_column_family.into()),
        ("min_log_number_to_keep", state.min_log_number_to_keep),
    ] {
        writeln!(out, "  {name:<33} {value}")?;
    }
    for (number, synced) in &state.wals {
        let synced = synced.map_or_else(|| "created".to_owned(), |size| format!("synced to {size}"));
        writeln!(out, "  {:<33} {number:06} {synced}", "wal")?;
    }
    for family in state.families.values() {
        let version = &family.version;
        writeln!(
            out,
            "  column family {} (id {}): {}, log_number {}",
            Form::Escaped.show(family.name.as_bytes()),
            family.id,
            family.comparator.name(),
            family.log_number
        )?;
        for level in 0..version.num_levels() {
            let files = version.files(level);
            if !files.is_empty() {
                let numbers: Vec<String> = files.iter().map(|file| format!("{:06}", file.number)).collect();
                let size = show_size(version.level_bytes(level));
                let files = count(files.len() as u64, "file");
                writeln!(out, "    L{level}: {files}, {size}: {}", numbers.join(" "))?;
            }
        }
        for blob in version.blob_files().values() {
            writeln!(
                out,
                "    blob file {:06}: {} blobs, {} bytes, garbage {} blobs, {} bytes",
                blob.number(),
                blob.total_blob_count(),
                blob.total_blob_bytes(),
                blob.garbage_blob_count,
                blob.garbage_blob_bytes
            )?;
        }
    }
    if state.incomplete_group_edits > 0 {
        writeln!(
            out,
            "  {} edits of an incomplete atomic group are ignored",
            state.incomplete_group_edits
        )?;
    }
    state
        .warnings
        .iter()
        .try_for_each(|warning| writeln!(out, "  note: {warning}"))
}
