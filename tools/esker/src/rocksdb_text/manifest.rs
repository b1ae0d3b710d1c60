//! MANIFESTs: RocksDB's `VersionSet::DumpManifest`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use base::{Error, UserComparator};
use manifest::{FamilyState, ManifestState, Replay};

use crate::directory;
use crate::output::Failure;
use crate::rocksdb_text::{edit, edit_json, key};

/// The levels of a family whose options are not known.
pub const UNKNOWN_LEVELS: usize = 64;

/// The form of a dump.
#[derive(Clone, Copy, Default)]
pub struct Form {
    /// Each edit comes first, as text.
    pub verbose: bool,
    /// Before the state, each edit is printed as a line of JSON.
    pub json: bool,
    /// Keys in hexadecimal.
    pub hex: bool,
}

/// Dumps the MANIFEST at `path`. `levels` has the families whose number of levels is known.
///
/// Errors: those of reading the file, and corruption, with file and offset. Edits before it are printed.
pub fn dump(
    path: &Path,
    form: Form,
    levels: &BTreeMap<String, usize>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut replay = Replay::new();
    let mut edits = 0;
    let mut families = 1;
    let mut prev_log_number = 0;
    // The families whose comparator is not built in, with the name of the comparator.
    let mut unknown = BTreeMap::new();
    directory::for_each_edit(path, &mut |offset, edit| {
        if form.json {
            out.write_all(&edit_json::debug_json(&edit, edits, form.hex))?;
            out.write_all(b"\n")?;
        } else if form.verbose {
            out.write_all(&edit::debug_string(&edit, form.hex))?;
        }
        edits += 1;
        families += u64::from(edit.column_family_add.is_some());
        prev_log_number = edit.prev_log_number.unwrap_or(prev_log_number);
        if let Some(name) = &edit.comparator
            && !is_available(name, !levels.is_empty())
        {
            unknown.insert(edit.column_family, name.clone());
        }
        let applied = replay.apply(edit);
        applied.map_err(|error: Error| Failure::from(error.at(offset).in_file(path)))
    })?;
    let state = replay
        .finish(&mut |_, recorded| {
            let builtin = recorded.and_then(UserComparator::builtin);
            Ok(builtin.unwrap_or(UserComparator::Bytewise))
        })
        .map_err(|error| error.in_file(path))?;
    for (number, family) in state.families.values().enumerate() {
        let shown = FamilyDump {
            family,
            unknown_comparator: unknown.get(&family.id).map(String::as_str),
            levels: levels.get(&family.name).copied().unwrap_or(UNKNOWN_LEVELS),
            // RocksDB makes a version for each family that is created, and one more for each that was not
            // dropped.
            version: families + number as u64,
        };
        shown.print(form.hex, out)?;
    }
    Ok(counters(&state, prev_log_number, out)?)
}

/// RocksDB knows other comparators than the default one by the OPTIONS file alone.
fn is_available(comparator: &str, has_options: bool) -> bool {
    match UserComparator::builtin(comparator) {
        Some(UserComparator::Bytewise) => true,
        builtin => has_options && builtin.is_some(),
    }
}

struct FamilyDump<'a> {
    family: &'a FamilyState,
    unknown_comparator: Option<&'a str>,
    levels: usize,
    version: u64,
}

impl FamilyDump<'_> {
    fn print(&self, hex: bool, out: &mut dyn Write) -> io::Result<()> {
        let family = self.family;
        writeln!(
            out,
            "--------------- Column family \"{}\"  (ID {}) --------------\nlog number: {}",
            family.name, family.id, family.log_number
        )?;
        match self.unknown_comparator {
            Some(name) => writeln!(
                out,
                "comparator: <{name}>, but the comparator object is not available."
            )?,
            None => writeln!(out, "comparator: {}", family.comparator.name())?,
        }
        self.levels(hex, out)?;
        writeln!(
            out,
            "By default, manifest file dump prints LSM trees as if {} levels were configured, which is not \
             necessarily true for the column family (CF) this manifest is associated with. Please consult other \
             DB files, such as the OPTIONS file, to confirm.",
            self.levels
        )
    }

    fn levels(&self, hex: bool, out: &mut dyn Write) -> io::Result<()> {
        let (version, number) = (&self.family.version, self.version);
        for level in 0..self.levels {
            writeln!(out, "--- level {level} --- version# {number} ---")?;
            let files = match level < version.num_levels() {
                true => version.files(level),
                false => &[],
            };
            for file in files {
                write!(
                    out,
                    " {}:{}[{} .. {}][",
                    file.number, file.size, file.smallest_seqno, file.largest_seqno
                )?;
                out.write_all(&key::internal_key(&file.smallest, hex, None))?;
                out.write_all(b" .. ")?;
                out.write_all(&key::internal_key(&file.largest, hex, None))?;
                out.write_all(b"]")?;
                if let Some(blob) = file.oldest_blob_file_number {
                    write!(out, " blob_file:{blob}")?;
                }
                out.write_all(b"\n")?;
            }
        }
        if version.blob_files().is_empty() {
            return Ok(());
        }
        writeln!(out, "--- blob files --- version# {number} ---")?;
        for blob in version.blob_files().values() {
            let linked: String = blob
                .linked_ssts
                .iter()
                .map(|number| format!(" {number}"))
                .collect();
            writeln!(
                out,
                "{} linked_ssts: {{{linked} }} garbage_blob_count: {} garbage_blob_bytes: {}",
                edit::blob_addition(&blob.shared.addition),
                blob.garbage_blob_count,
                blob.garbage_blob_bytes
            )?;
        }
        Ok(())
    }
}

fn counters(state: &ManifestState, prev_log_number: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "next_file_number {} last_sequence {}  prev_log_number {prev_log_number} max_column_family {} \
         min_log_number_to_keep {}",
        // As in RocksDB, the number after that in the MANIFEST is shown.
        state.next_file_number + 1,
        state.last_sequence,
        state.max_column_family,
        state.min_log_number_to_keep
    )
}
