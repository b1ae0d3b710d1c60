//! Invariants of a database's tables.
//!
//! 1. Below L0, the files of a level are sorted and do not overlap. Two files may share a user key only if it
//!    is the exclusive end of a range tombstone in the first.
//! 2. A file's entries are sorted, within its bounds, and have sequence numbers within its range.
//! 3. For each user key, the entries in newer files (L0 from the newest, then level by level) are newer than
//!    those in older files. Searches rely on this order: they end at the first entry that decides.
//! 4. No range tombstone covers an entry in a newer file with a lower sequence number: a search would miss
//!    the tombstone.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use base::internal_key::ParsedInternalKey;
use base::{InternalComparator, Result, SeqNo, UserComparator};
use esker::{Db, LiveFile};
use sst::{BlockReadOptions, Table, TableReadOptions};

/// The contents of a live file, read for the check of the invariants.
struct Contents {
    file: LiveFile,
    points: Vec<(Vec<u8>, SeqNo)>,
    /// The start, end and sequence number of range tombstones, clipped to the file's bounds.
    tombstones: Vec<(Vec<u8>, Vec<u8>, SeqNo)>,
}

/// Waits until no flush and no compaction is due and every obsolete file is deleted.
///
/// # Errors
/// Those of [`Db::wait_for_compact`] and of [`Db::wait_for_purge`].
pub fn come_to_rest(db: &Db) -> Result<()> {
    db.wait_for_compact()?;
    db.wait_for_purge()
}

/// Files below `dir` that this process has deleted and still has open, one line for each descriptor. Empty on
/// systems that do not list descriptors.
pub fn deleted_but_open(dir: &Path) -> Vec<String> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else {
        return Vec::new();
    };
    let files = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.ok()?.path()).ok());
    let deleted =
        files.filter(|file| file.starts_with(&dir) && file.to_string_lossy().ends_with(" (deleted)"));
    deleted.map(|file| file.display().to_string()).collect()
}

/// Checks every live file of `db` and returns the violations as text, empty if there are none. Background
/// work may run meanwhile.
pub fn check(db: &Db) -> Result<String> {
    db.disable_file_deletions();
    let found = check_live(db);
    db.enable_file_deletions()?;
    found
}

fn check_live(db: &Db) -> Result<String> {
    let mut found = String::new();
    let mut by_family: BTreeMap<String, Vec<LiveFile>> = BTreeMap::new();
    for file in db.live_files() {
        by_family
            .entry(file.column_family.clone())
            .or_default()
            .push(file);
    }
    for (name, files) in by_family {
        let Some(family) = db.column_family(&name) else {
            continue;
        };
        let cmp = family.comparator();
        let contents: Vec<Contents> = files
            .into_iter()
            .map(|file| read_contents(db, cmp, file, &mut found))
            .collect::<Result<_>>()?;
        check_levels(cmp, &contents, &mut found);
        if cmp.timestamp_size() == 0 {
            check_order(cmp, &contents, &mut found);
        }
    }
    Ok(found)
}

/// The first and last entries and the tombstones of a file, as text.
fn describe(contents: &Contents) -> String {
    let point = |point: &(Vec<u8>, SeqNo)| format!("{}@{}", point.0.escape_ascii(), point.1);
    let mut text = format!(
        "  {} to {}",
        contents.points.first().map_or("-".to_owned(), point),
        contents.points.last().map_or("-".to_owned(), point)
    );
    for (start, end, seqno) in &contents.tombstones {
        let _ = write!(text, " [{},{})@{seqno}", start.escape_ascii(), end.escape_ascii());
    }
    text
}

fn name(file: &LiveFile) -> String {
    format!("{}/{} of L{}", file.column_family, file.number, file.level)
}

macro_rules! complain {
    ($found:expr, $($arg:tt)*) => {
        // Writing to a string does not fail.
        let _ = writeln!($found, $($arg)*);
    };
}

fn read_contents(db: &Db, cmp: &UserComparator, file: LiveFile, found: &mut String) -> Result<Contents> {
    let options = TableReadOptions {
        largest_seqno: Some(file.largest_seqno),
        file_number: file.number,
        ..TableReadOptions::new(InternalComparator::new(cmp.clone()))
    };
    let internal = InternalComparator::new(cmp.clone());
    let table = Table::open(
        db.options().fs.open_random(&file.path, &Default::default())?,
        options,
    )?;
    let within = |key: &[u8]| {
        cmp.compare_without_timestamp(&file.smallest_key, key).is_le()
            && cmp.compare_without_timestamp(key, &file.largest_key).is_le()
    };
    let seqnos = file.smallest_seqno..=file.largest_seqno;
    let mut points = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    let mut cursor = table.cursor(BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    });
    cursor.seek_to_first();
    while cursor.valid() {
        let key = ParsedInternalKey::parse(cursor.key())?;
        if !within(key.user_key) {
            complain!(
                found,
                "{}: {} is outside its bounds",
                name(&file),
                key.user_key.escape_ascii()
            );
        }
        if !seqnos.contains(&key.seqno) {
            complain!(
                found,
                "{}: seqno {} is outside {seqnos:?}",
                name(&file),
                key.seqno
            );
        }
        if last
            .as_ref()
            .is_some_and(|last| internal.compare(last, cursor.key()).is_ge())
        {
            complain!(
                found,
                "{}: {} is out of order",
                name(&file),
                key.user_key.escape_ascii()
            );
        }
        last = Some(cursor.key().to_vec());
        points.push((key.user_key.to_vec(), key.seqno));
        cursor.next();
    }
    cursor.status()?;
    let mut tombstones = Vec::new();
    for tombstone in table.range_tombstones().tombstones() {
        if !seqnos.contains(&tombstone.seqno) {
            complain!(
                found,
                "{}: seqno {} of a range tombstone is outside {seqnos:?}",
                name(&file),
                tombstone.seqno
            );
        }
        let start = if cmp.compare(&tombstone.start, &file.smallest_key).is_lt() {
            &file.smallest_key
        } else {
            &tombstone.start
        };
        let end = if cmp.compare(&tombstone.end, &file.largest_key).is_gt() {
            &file.largest_key
        } else {
            &tombstone.end
        };
        if cmp.compare(start, end).is_lt() {
            tombstones.push((start.clone(), end.clone(), tombstone.seqno));
        }
    }
    Ok(Contents {
        file,
        points,
        tombstones,
    })
}

fn check_levels(cmp: &UserComparator, contents: &[Contents], found: &mut String) {
    for pair in contents.windows(2) {
        let [a, b] = pair else { continue };
        if a.file.level > b.file.level {
            complain!(found, "{} is listed before {}", name(&a.file), name(&b.file));
        }
        if a.file.level != b.file.level || a.file.level == 0 {
            continue;
        }
        let order = cmp.compare_without_timestamp(&a.file.largest_key, &b.file.smallest_key);
        let ends_in = |point: &(Vec<u8>, SeqNo)| {
            cmp.compare_without_timestamp(&point.0, &b.file.smallest_key)
                .is_eq()
        };
        if order.is_gt() || order.is_eq() && a.points.last().is_some_and(ends_in) {
            let (end, start) = (
                a.file.largest_key.escape_ascii(),
                b.file.smallest_key.escape_ascii(),
            );
            complain!(
                found,
                "{} to {end} and {} from {start} overlap:\n{}\n{}",
                name(&a.file),
                name(&b.file),
                describe(a),
                describe(b)
            );
        }
    }
}

fn check_order(cmp: &UserComparator, contents: &[Contents], found: &mut String) {
    // For each key, the lowest sequence number in the files before this one, which are newer, and the file
    // that has it.
    let mut newer: BTreeMap<&[u8], (SeqNo, &LiveFile)> = BTreeMap::new();
    for contents in contents {
        for (key, seqno) in &contents.points {
            if let Some((above, file)) = newer.get(&key[..])
                && above <= seqno
            {
                let key = key.escape_ascii();
                complain!(
                    found,
                    "{key}@{seqno} in {} is not older than @{above} in {}",
                    name(&contents.file),
                    name(file)
                );
            }
        }
        for (start, end, seqno) in &contents.tombstones {
            for (key, (above, file)) in &newer {
                if cmp.compare(start, key).is_le() && cmp.compare(key, end).is_lt() && above <= seqno {
                    let (start, end, key) = (start.escape_ascii(), end.escape_ascii(), key.escape_ascii());
                    let tombstone = format!("[{start},{end})@{seqno} in {}", name(&contents.file));
                    complain!(
                        found,
                        "{tombstone} covers {key}@{above} in {}, which is placed as newer",
                        name(file)
                    );
                }
            }
        }
        for (key, seqno) in &contents.points {
            let entry = newer.entry(key).or_insert((*seqno, &contents.file));
            if *seqno <= entry.0 {
                *entry = (*seqno, &contents.file);
            }
        }
    }
}
