//! The state that a whole MANIFEST describes: its edits replayed from first to last.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base::comparator::TIMESTAMP_SUFFIX;
use base::{Error, ErrorKind, InternalComparator, Kind, Result, SeqNo, UserComparator, internal_key};

use crate::builder::VersionBuilder;
use crate::edit::VersionEdit;
use crate::file::FileMetadata;
use crate::version::Version;

/// The name of the family that every database has, with id 0.
pub const DEFAULT_COLUMN_FAMILY_NAME: &str = "default";

/// The MANIFEST's state of a column family.
#[derive(Clone, Debug)]
pub struct FamilyState {
    /// The id of the family, which is not reused after a drop.
    pub id: u32,
    /// The name of the family.
    pub name: String,
    /// The order of the family's keys.
    pub comparator: UserComparator,
    /// Whether the family's files contain timestamps.
    pub persist_user_defined_timestamps: bool,
    /// The log number of the family: WALs with lower numbers hold no unflushed data of the family.
    pub log_number: u64,
    /// Versions of keys older than this timestamp may have been dropped; empty: none have.
    pub full_history_ts_low: Box<[u8]>,
    /// The files of the family.
    pub version: Version,
}

/// The state that a whole MANIFEST describes.
#[derive(Clone, Debug)]
pub struct ManifestState {
    /// The families that are not dropped, by id.
    pub families: BTreeMap<u32, FamilyState>,
    /// The database's id, if the MANIFEST has it.
    pub db_id: Option<String>,
    /// A number above those of all files in the MANIFEST. Files in the directory may have higher ones.
    pub next_file_number: u64,
    /// The highest sequence number in use when the MANIFEST was last written; WALs may hold higher ones.
    pub last_sequence: SeqNo,
    /// The highest family id ever used.
    pub max_column_family: u32,
    /// No family needs WALs with lower numbers.
    pub min_log_number_to_keep: u64,
    /// The WALs that `track_and_verify_wals_in_manifest` recorded, with the synced bytes of each.
    pub wals: BTreeMap<u64, Option<u64>>,
    /// The size of this MANIFEST when it held only its initial state.
    pub last_compacted_manifest_file_size: Option<u64>,
    /// Ignorable fields of later RocksDB releases, from the last edits that had them.
    pub unknown_fields: BTreeMap<u32, Box<[u8]>>,
    /// The number of edits dropped because their atomic group was incomplete at the end of the file.
    pub incomplete_group_edits: usize,
    /// Descriptions, one sentence each, of irregularities in the MANIFEST that are handled as by RocksDB.
    pub warnings: Vec<String>,
}

impl ManifestState {
    /// The family called `name`.
    pub fn family(&self, name: &str) -> Option<&FamilyState> {
        self.families.values().find(|family| family.name == name)
    }

    /// A recovery needs no WALs with lower numbers.
    pub fn oldest_needed_wal(&self) -> u64 {
        let families = self.families.values().map(|family| family.log_number).min();
        families.unwrap_or(0).max(self.min_log_number_to_keep)
    }

    /// True if no family was created or dropped between the two states of one database. Ids are not reused,
    /// so a family that was created and dropped in between has raised the highest id.
    pub fn has_families_of(&self, other: &ManifestState) -> bool {
        self.max_column_family == other.max_column_family && self.families.keys().eq(other.families.keys())
    }

    /// Records for every table that it lies in the first directory, as in a copy that has one directory.
    ///
    /// # Errors
    /// `Corruption` if a version is not what a MANIFEST can say.
    pub fn put_in_one_directory(&mut self) -> Result<()> {
        for family in self.families.values_mut() {
            let old = &family.version;
            if old.all_files().all(|(_, file)| file.path_id == 0) {
                continue;
            }
            let moved = old.all_files().map(|(level, file)| {
                let mut file = FileMetadata::clone(file);
                file.path_id = 0;
                (level as u32, Arc::new(file))
            });
            let mut builder = VersionBuilder::new(old);
            builder.apply(&VersionEdit {
                column_family: family.id,
                deleted_files: old
                    .all_files()
                    .map(|(level, file)| (level as u32, file.number))
                    .collect(),
                ..VersionEdit::default()
            })?;
            builder.apply(&VersionEdit {
                column_family: family.id,
                new_files: moved.collect(),
                ..VersionEdit::default()
            })?;
            family.version = builder.build()?;
        }
        Ok(())
    }
}

/// A family during a replay.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) name: String,
    pub(crate) comparator: Option<String>,
    persist_user_defined_timestamps: bool,
    log_number: u64,
    full_history_ts_low: Box<[u8]>,
    pub(crate) builder: VersionBuilder,
}

impl Pending {
    fn new(name: &str) -> Pending {
        Pending {
            name: name.to_owned(),
            comparator: None,
            persist_user_defined_timestamps: true,
            log_number: 0,
            full_history_ts_low: Box::default(),
            builder: VersionBuilder::of_nothing(),
        }
    }
}

/// Chooses the order of a family's keys, from the family's name and the name of its comparator in the
/// MANIFEST, if there is one.
pub type ComparatorFor<'a> = dyn FnMut(&str, Option<&str>) -> Result<UserComparator> + 'a;

/// The default comparator of a family: the built-in one of the recorded name, or bytewise without a name.
pub fn builtin_comparator(family: &str, recorded: Option<&str>) -> Result<UserComparator> {
    match recorded {
        None => Ok(UserComparator::Bytewise),
        Some(name) => UserComparator::builtin(name).ok_or_else(|| {
            Error::invalid_argument(format!(
                "column family {family} has comparator {name}, which is not a built-in one: name the family and its comparator"
            ))
        }),
    }
}

/// Replays the edits of a MANIFEST, for every family.
///
/// Pass the records in order to [`apply_record`](Replay::apply_record), then get the state from
/// [`finish`](Replay::finish). A replay that returned an error must be dropped. A clone costs as much as
/// there are files, and shares their metadata.
#[derive(Clone)]
pub struct Replay {
    pub(crate) families: BTreeMap<u32, Pending>,
    db_id: Option<String>,
    has_log_number: bool,
    next_file_number: Option<u64>,
    last_sequence: Option<SeqNo>,
    max_column_family: u32,
    min_log_number_to_keep: u64,
    /// The highest number of a file or WAL that any edit mentions.
    highest_number: u64,
    wals: BTreeMap<u64, Option<u64>>,
    min_wal: u64,
    last_compacted_manifest_file_size: Option<u64>,
    unknown_fields: BTreeMap<u32, Box<[u8]>>,
    /// The edits of the atomic group in progress.
    group: Vec<VersionEdit>,
    warnings: Vec<String>,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("families", &self.families.len())
            .finish()
    }
}

impl Default for Replay {
    fn default() -> Replay {
        Replay::new()
    }
}

impl Replay {
    /// A replay before the first record: the default family exists, without files.
    pub fn new() -> Replay {
        Replay {
            families: BTreeMap::from([(0, Pending::new(DEFAULT_COLUMN_FAMILY_NAME))]),
            db_id: None,
            has_log_number: false,
            next_file_number: None,
            last_sequence: None,
            max_column_family: 0,
            min_log_number_to_keep: 0,
            highest_number: 0,
            wals: BTreeMap::new(),
            min_wal: 0,
            last_compacted_manifest_file_size: None,
            unknown_fields: BTreeMap::new(),
            group: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Decodes one record and applies it. An error's offset is within the record.
    pub fn apply_record(&mut self, record: &[u8]) -> Result<()> {
        self.apply(VersionEdit::decode(record)?)
    }

    /// Applies one edit; the edits of an atomic group once the last of them is there.
    pub fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        let Some(remaining) = edit.atomic_group_remaining else {
            if !self.group.is_empty() {
                return Err(Error::corruption("corrupted atomic group"));
            }
            return self.apply_now(&edit);
        };
        let expected = self
            .group
            .last()
            .map(|last| last.atomic_group_remaining.and_then(|n| n.checked_sub(1)));
        if expected.is_some_and(|expected| expected != Some(remaining)) {
            return Err(Error::corruption("corrupted atomic group"));
        }
        self.group.push(edit);
        if remaining == 0 {
            for edit in std::mem::take(&mut self.group) {
                self.apply_now(&edit)?;
            }
        }
        Ok(())
    }

    /// True if edits of an atomic group wait for its last edit.
    pub fn is_in_group(&self) -> bool {
        !self.group.is_empty()
    }

    /// True if the entries that a MANIFEST must have were read.
    pub(crate) fn has_counters(&self) -> bool {
        self.has_log_number && self.next_file_number.is_some() && self.last_sequence.is_some()
    }

    fn apply_now(&mut self, edit: &VersionEdit) -> Result<()> {
        self.record_numbers(edit);
        let id = edit.column_family;
        // RocksDB applies only this part of such an edit, so it ignores its file changes. A previous opener
        // of the database has not seen those files either.
        let forgets_files = if let Some(name) = &edit.column_family_add {
            self.add_family(id, name)?;
            true
        } else if edit.column_family_drop {
            if id == 0 || self.families.remove(&id).is_none() {
                return Err(Error::corruption(
                    "MANIFEST - dropping non-existing column family",
                ));
            }
            true
        } else if !edit.wal_additions.is_empty() {
            self.add_wals(edit)?;
            true
        } else if edit.wal_deletion.is_some_and(|number| number != 0) {
            self.delete_wals(edit.wal_deletion.unwrap_or(0));
            true
        } else {
            let family = self.families.get_mut(&id).ok_or_else(|| {
                Error::corruption(format!("MANIFEST record referencing unknown column family {id}"))
            })?;
            let name = &family.name;
            let apply = family.builder.apply(edit);
            apply.map_err(|error| error.context(&format!("column family {name}")))?;
            false
        };
        if forgets_files && changes_files(edit) {
            self.warnings.push(format!(
                "file changes of column family {id} stand in an edit that also changes families or WALs: RocksDB forgets them, so they are left out"
            ));
        }
        let about_wals =
            !edit.wal_additions.is_empty() || edit.wal_deletion.is_some_and(|number| number != 0);
        if edit.column_family_add.is_some() || !about_wals {
            self.record_family_facts(edit);
        }
        self.record_database_facts(edit);
        Ok(())
    }

    fn add_family(&mut self, id: u32, name: &str) -> Result<()> {
        let taken =
            self.families.contains_key(&id) || self.families.values().any(|family| family.name == name);
        if taken {
            return Err(Error::corruption(format!(
                "MANIFEST adding the same column family twice: {name}"
            )));
        }
        self.families.insert(id, Pending::new(name));
        self.max_column_family = self.max_column_family.max(id);
        Ok(())
    }

    fn add_wals(&mut self, edit: &VersionEdit) -> Result<()> {
        for wal in &edit.wal_additions {
            if wal.number < self.min_wal {
                continue;
            }
            match (self.wals.get_mut(&wal.number), wal.synced_size) {
                (None, size) => {
                    self.wals.insert(wal.number, size);
                }
                (Some(_), None) => {
                    return Err(Error::corruption(format!(
                        "WAL {} is created more than once",
                        wal.number
                    )));
                }
                // Sizes of one WAL may be committed out of order.
                (Some(synced), size) => *synced = (*synced).max(size),
            }
        }
        Ok(())
    }

    fn delete_wals(&mut self, below: u64) {
        self.min_wal = self.min_wal.max(below);
        self.wals = self.wals.split_off(&self.min_wal);
    }

    fn record_numbers(&mut self, edit: &VersionEdit) {
        let files = edit.new_files.iter().map(|(_, file)| file.number);
        let blobs = edit.blob_file_additions.iter().map(|blob| blob.number);
        let wals = edit.wal_additions.iter().map(|wal| wal.number);
        let logs = [edit.log_number, edit.prev_log_number].into_iter().flatten();
        let numbers = files.chain(blobs).chain(wals).chain(logs);
        self.highest_number = numbers.fold(self.highest_number, u64::max);
    }

    fn record_family_facts(&mut self, edit: &VersionEdit) {
        let Some(family) = self.families.get_mut(&edit.column_family) else {
            return;
        };
        if let Some(number) = edit.log_number {
            if number < family.log_number {
                self.warnings.push(format!(
                    "log number {number} of column family {} is below {}, and left out",
                    family.name, family.log_number
                ));
            } else {
                family.log_number = number;
                self.has_log_number = true;
            }
        }
        if let Some(name) = &edit.comparator {
            family.comparator = Some(name.clone());
            // `persist_user_defined_timestamps` is recorded together with the comparator, or not at all.
            family.persist_user_defined_timestamps = edit.persist_user_defined_timestamps.unwrap_or(true);
        }
        if let Some(timestamp) = &edit.full_history_ts_low {
            family.full_history_ts_low = timestamp.clone();
        }
    }

    fn record_database_facts(&mut self, edit: &VersionEdit) {
        if let Some(id) = &edit.db_id {
            self.db_id = Some(id.clone());
        }
        self.next_file_number = edit.next_file_number.or(self.next_file_number);
        // The number never decreases in a MANIFEST that RocksDB writes; a used sequence number must never
        // become a future one.
        self.last_sequence = self.last_sequence.max(edit.last_sequence);
        self.max_column_family = self
            .max_column_family
            .max(edit.max_column_family.unwrap_or(0))
            .max(edit.column_family);
        let min_log_number = edit.min_log_number_to_keep.unwrap_or(0);
        self.min_log_number_to_keep = self.min_log_number_to_keep.max(min_log_number);
        if let Some(size) = edit.last_compacted_manifest_file_size {
            self.last_compacted_manifest_file_size = Some(size);
        }
        self.unknown_fields.extend(edit.unknown_fields.iter().cloned());
    }

    /// Ends the replay as [`finish`](Replay::finish) does, for a caller that needs files but not keys, and
    /// has no comparators. In families whose comparator is not built in, the order of keys is given as
    /// bytewise, and each file holds only its number.
    pub fn finish_without_keys(mut self) -> Result<ManifestState> {
        for family in self.families.values_mut() {
            let unknown = |name: &str| UserComparator::builtin(name).is_none();
            if !family.comparator.as_deref().is_some_and(unknown) {
                continue;
            }
            family.comparator = None;
            for file in family.builder.added_files_mut() {
                let file = std::sync::Arc::make_mut(file);
                let bound: Box<[u8]> =
                    internal_key::encode(&file.number.to_be_bytes(), 0, Kind::Value).into();
                (file.smallest, file.largest) = (bound.clone(), bound);
            }
        }
        self.finish(&mut builtin_comparator)
    }

    /// The state after the last record. `comparator_for` chooses the order of each family's keys.
    ///
    /// `Corruption` if a required entry of a MANIFEST is missing, or files do not fit together;
    /// `ComparatorMismatch` if a family is to be opened with another comparator than it was written with.
    pub fn finish(mut self, comparator_for: &mut ComparatorFor<'_>) -> Result<ManifestState> {
        let missing: Vec<&str> = [
            (self.has_log_number, "log_file_number"),
            (self.next_file_number.is_some(), "next_file_number"),
            (self.last_sequence.is_some(), "last_sequence"),
        ]
        .into_iter()
        .filter_map(|(found, entry)| (!found).then_some(entry))
        .collect();
        if !missing.is_empty() {
            return Err(Error::corruption(format!(
                "no {} entry in MANIFEST",
                missing.join(", ")
            )));
        }
        let mut families = BTreeMap::new();
        for (id, pending) in std::mem::take(&mut self.families) {
            families.insert(id, finish_family(id, pending, comparator_for)?);
        }
        Ok(ManifestState {
            families,
            db_id: self.db_id,
            next_file_number: self.next_file_number.unwrap_or(0).max(self.highest_number + 1),
            last_sequence: self.last_sequence.unwrap_or(0),
            max_column_family: self.max_column_family,
            min_log_number_to_keep: self.min_log_number_to_keep,
            wals: self.wals,
            last_compacted_manifest_file_size: self.last_compacted_manifest_file_size,
            unknown_fields: self.unknown_fields,
            incomplete_group_edits: self.group.len(),
            warnings: self.warnings,
        })
    }
}

fn changes_files(edit: &VersionEdit) -> bool {
    !(edit.new_files.is_empty()
        && edit.deleted_files.is_empty()
        && edit.blob_file_additions.is_empty()
        && edit.blob_file_garbages.is_empty())
}

fn finish_family(id: u32, pending: Pending, comparator_for: &mut ComparatorFor<'_>) -> Result<FamilyState> {
    let recorded = pending.comparator.as_deref();
    let cmp = comparator_for(&pending.name, recorded)?;
    let timestamp_size = cmp.timestamp_size();
    let recorded = recorded.unwrap_or(cmp.name());
    let mut builder = pending.builder;
    // Timestamps may be switched on and off in families whose files hold none.
    let switched_on = cmp.name().strip_suffix(TIMESTAMP_SUFFIX) == Some(recorded);
    let switched_off = recorded.strip_suffix(TIMESTAMP_SUFFIX) == Some(cmp.name())
        && !pending.persist_user_defined_timestamps;
    if recorded != cmp.name() && !switched_on && !switched_off {
        return Err(Error::new(
            ErrorKind::ComparatorMismatch,
            format!("{}: does not match existing comparator {recorded}", cmp.name()),
        ));
    }
    if timestamp_size > 0 {
        for file in builder.added_files_mut() {
            if switched_on || !file.user_defined_timestamps_persisted {
                std::sync::Arc::make_mut(file).pad_timestamps(timestamp_size);
            }
        }
    }
    builder.set_cmp(InternalComparator::new(cmp.clone()));
    let version = builder
        .build()
        .map_err(|error| error.context(&format!("column family {}", pending.name)))?;
    Ok(FamilyState {
        id,
        name: pending.name,
        comparator: cmp,
        persist_user_defined_timestamps: pending.persist_user_defined_timestamps && !switched_on,
        log_number: pending.log_number,
        full_history_ts_low: pending.full_history_ts_low,
        version,
    })
}
