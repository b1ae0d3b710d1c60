//! A picture of the levels: the positions of each level's files in the order of keys.
//!
//! The axis represents data, not keys: each file gets room by its size, so that a level with twice the data
//! looks twice as full, whatever the keys and their order are.

use std::io::Write;
use std::path::Path;

use base::filename::FileKind;
use base::{Error, ErrorKind};
use manifest::{FamilyState, FileMetadata, ManifestState};
use serve::axis::Axis;
use vfs::FileSystem;

use crate::args::LsmArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::text::{Form, count, show_size};

/// The number of L0 files that are drawn one by one; older ones share a row.
const MOST_L0_ROWS: usize = 8;
/// Characters next to the strip: level, files, size.
const BESIDE: usize = 30;
/// The minimum and the maximum number of characters of a strip.
const WIDTHS: (usize, usize) = (20, 160);
/// The default number of characters per line.
const DEFAULT_WIDTH: usize = 80;
/// The maximum number of bytes of a key shown below the picture.
const KEY_SHOWN: usize = 24;

/// Draws the levels.
pub fn lsm(args: &LsmArgs, out: &mut Out) -> Result<(), Failure> {
    directory::check_is_database(&args.db)?;
    let manifest = directory::current_manifest(&args.db)?;
    let state = directory::manifest_state(&manifest)?;
    let families: Vec<&FamilyState> = match &args.column_family {
        None => state.families.values().collect(),
        Some(name) => vec![state.family(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("no column family {name}")).in_file(&args.db)
        })?],
    };
    let columns = args
        .width
        .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
        .unwrap_or(DEFAULT_WIDTH);
    let width = columns.saturating_sub(BESIDE).clamp(WIDTHS.0, WIDTHS.1);
    heading(&args.db, &manifest, &state, out)?;
    for family in families {
        writeln!(out)?;
        picture(family, width, Form::new(args.hex), out)?;
        if args.files {
            list(family, Form::new(args.hex), out)?;
        }
    }
    Ok(())
}

fn heading(dir: &Path, manifest: &Path, state: &ManifestState, out: &mut Out) -> Result<(), Failure> {
    let needed = state
        .families
        .values()
        .map(|family| family.log_number)
        .min()
        .unwrap_or(0);
    let (mut wals, mut wal_bytes) = (0, 0);
    for file in directory::files(dir, None)? {
        if matches!(file.kind, FileKind::Wal(number) if number >= needed) {
            wals += 1;
            wal_bytes += directory::fs().size(&file.path)?;
        }
    }
    writeln!(
        out,
        "{}  {}, last sequence {}, {} of {} besides the tables",
        dir.display(),
        manifest.file_name().unwrap_or_default().display(),
        state.last_sequence,
        count(wals, "WAL"),
        show_size(wal_bytes)
    )?;
    Ok(())
}

/// The characters of a strip that a file takes, at least one.
fn columns(axis: &Axis, file: &FileMetadata, width: usize) -> std::ops::Range<usize> {
    let (from, to) = axis.span(file);
    let column = |place: f64| ((place * width as f64).round() as usize).min(width);
    let start = column(from).min(width - 1);
    start..column(to).max(start + 1)
}

/// Draws files that do not overlap in one strip: neighbouring files have different characters, and a position
/// that several files share has a special one.
fn strip(axis: &Axis, files: &[&FileMetadata], width: usize) -> String {
    let mut cells = vec![' '; width];
    for (i, file) in files.iter().enumerate() {
        let shade = if i % 2 == 0 { '█' } else { '▓' };
        for cell in &mut cells[columns(axis, file, width)] {
            *cell = if *cell == ' ' { shade } else { '▒' };
        }
    }
    cells.into_iter().collect()
}

fn picture(family: &FamilyState, width: usize, form: Form, out: &mut Out) -> Result<(), Failure> {
    let version = &family.version;
    writeln!(
        out,
        "{} (id {})  {}, {} in {}",
        Form::Escaped.show(family.name.as_bytes()),
        family.id,
        family.comparator.name(),
        show_size(version.total_bytes()),
        count(version.num_files() as u64, "table")
    )?;
    let blobs = version.blob_files();
    if !blobs.is_empty() {
        let bytes = blobs.values().map(|blob| blob.total_blob_bytes()).sum();
        let garbage = blobs.values().map(|blob| blob.garbage_blob_bytes).sum();
        let number = count(blobs.len() as u64, "blob file");
        writeln!(
            out,
            "{number} of {}, {} of it garbage",
            show_size(bytes),
            show_size(garbage)
        )?;
    }
    if version.num_files() == 0 {
        writeln!(out, "  no tables: everything is in the WAL")?;
        return Ok(());
    }
    let axis = Axis::new(version);
    writeln!(out, "level  files       size ┌{}┐", "─".repeat(width))?;
    for level in 0..version.num_levels() {
        let files: Vec<&FileMetadata> = version.files(level).iter().map(|file| &**file).collect();
        if files.is_empty() {
            continue;
        }
        let size = show_size(version.level_bytes(level));
        let label = format!("L{level:<5} {:>5} {size:>10}", files.len());
        // Files of L0 overlap, so each has a row of its own, the newest first.
        let rows: Vec<String> = match level {
            0 => {
                let split = if files.len() > MOST_L0_ROWS {
                    MOST_L0_ROWS - 1
                } else {
                    files.len()
                };
                let (newest, older) = files.split_at(split);
                let mut rows: Vec<String> = newest.iter().map(|file| strip(&axis, &[file], width)).collect();
                if !older.is_empty() {
                    rows.push(strip(&axis, older, width));
                }
                rows
            }
            _ => vec![strip(&axis, &files, width)],
        };
        for (i, row) in rows.iter().enumerate() {
            let label = if i == 0 { &label[..] } else { "" };
            writeln!(out, "{label:<23} │{row}│")?;
        }
    }
    writeln!(out, "{:<23} └{}┘", "", "─".repeat(width))?;
    let key = |bound: Option<&[u8]>| {
        let key = version.cmp().user().strip_timestamp(bound.unwrap_or_default());
        let dots = if key.len() > KEY_SHOWN { "…" } else { "" };
        format!("{}{dots}", form.show(&key[..key.len().min(KEY_SHOWN)]))
    };
    let (first, last) = (key(axis.first()), key(axis.last()));
    let gap = (width + 2)
        .saturating_sub(first.chars().count() + last.chars().count())
        .max(2);
    writeln!(out, "{:<23} {first}{}{last}", "", " ".repeat(gap))?;
    Ok(())
}

fn list(family: &FamilyState, form: Form, out: &mut Out) -> Result<(), Failure> {
    for (level, file) in family.version.all_files() {
        // The end of a range deletion is exclusive, so no key of the file has it.
        let end = if file.largest_is_sentinel() { ')' } else { ']' };
        writeln!(
            out,
            "  L{level:<3} {:06}.sst {:>10}  seqno {}..{}  [{} .. {}{end}",
            file.number,
            show_size(file.size),
            file.smallest_seqno,
            file.largest_seqno,
            form.show(file.smallest_user_key()),
            form.show(file.largest_user_key()),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::{InternalComparator, Kind, UserComparator, internal_key};
    use manifest::{Version, VersionBuilder, VersionEdit};

    use super::*;

    fn version(files: &[(u32, &str, &str, u64)]) -> Version {
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let mut builder = VersionBuilder::new(&Version::empty(cmp, 7));
        let new_files = files
            .iter()
            .enumerate()
            .map(|(i, (level, smallest, largest, size))| {
                let seqno = 100 - i as u64;
                let file = FileMetadata {
                    number: i as u64 + 1,
                    size: *size,
                    smallest: internal_key::encode(smallest.as_bytes(), seqno, Kind::Value).into(),
                    largest: internal_key::encode(largest.as_bytes(), seqno, Kind::Value).into(),
                    smallest_seqno: seqno,
                    largest_seqno: seqno,
                    epoch_number: Some(seqno),
                    ..FileMetadata::default()
                };
                (*level, Arc::new(file))
            });
        builder
            .apply(&VersionEdit {
                new_files: new_files.collect(),
                ..VersionEdit::default()
            })
            .unwrap();
        builder.build().unwrap()
    }

    fn strips(version: &Version, level: usize, width: usize) -> String {
        let files: Vec<&FileMetadata> = version.files(level).iter().map(|file| &**file).collect();
        strip(&Axis::new(version), &files, width)
    }

    #[test]
    fn files_take_room_by_their_size() {
        let version = version(&[(6, "a", "b", 100), (6, "c", "d", 300), (1, "a", "d", 1)]);
        let strip = strips(&version, 6, 40);
        assert_eq!(strip.matches('█').count(), 10, "{strip}");
        assert!((29..=30).contains(&strip.matches('▓').count()), "{strip}");
        assert_eq!(strips(&version, 1, 40), "█".repeat(40));
    }

    #[test]
    fn keys_that_lie_close_take_little_room() {
        let version = version(&[(6, "key0000", "key1000", 100), (1, "key0001", "key0999", 50)]);
        assert!((36..=38).contains(&strips(&version, 1, 40).matches('█').count()));
    }

    #[test]
    fn a_file_of_one_key_is_seen_and_crowds_are_marked() {
        let version = version(&[(6, "a", "b", 100), (5, "b", "b", 100), (6, "c", "c", 1)]);
        assert_eq!(strips(&version, 5, 20).trim_start(), "█");
        let keys: Vec<String> = (0..100).map(|i| format!("{i:03}")).collect();
        let crowd: Vec<(u32, &str, &str, u64)> = keys
            .chunks(2)
            .map(|pair| (1, &pair[0][..], &pair[1][..], 10))
            .collect();
        assert!(strips(&super::tests::version(&crowd), 1, 20).contains('▒'));
    }
}
