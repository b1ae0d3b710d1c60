//! Checks every checksum of every file of a database, and that its files match its MANIFEST.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, InternalComparator, Progress, Result, SeqNo, UserComparator};
use blob::BlobFile;
use codec::file_checksum::{self, FileCrc32c};
use esker::{Operations, OptionsFile};
use manifest::{BlobFileMetadata, FileMetadata, ManifestState};
use sst::{BlockReadOptions, Table, TableReadOptions};
use vfs::{FileSystem, RandomAccessFile};
use wal::{ReaderOptions, RecoveryMode};

use crate::args::VerifyArgs;
use crate::directory::{self, DbFile};
use crate::log;
use crate::notes::Notes;
use crate::output::{Failure, Out};
use crate::text::{Form, count, show_size};

/// The result of checking one file.
#[derive(Debug, Default)]
struct FileCheck {
    /// The number of pieces checked, and the name of a piece.
    pieces: (u64, &'static str),
    /// A remark that is not corruption.
    note: Option<String>,
    /// The number of the preceding WAL, which the first record of this WAL names.
    wal_before: Option<u64>,
    damage: Vec<Error>,
}

impl FileCheck {
    fn of(pieces: u64, what: &'static str) -> FileCheck {
        FileCheck {
            pieces: (pieces, what),
            ..FileCheck::default()
        }
    }

    /// Turns the result into that of an obsolete file, which the next open for writing deletes: no row is in
    /// it, so nothing about it is corruption.
    fn left_over(&mut self, why: &str) {
        let first = self.damage.drain(..).next();
        let not_whole = first.map_or_else(String::new, |error| format!(", not whole: {}", error.message()));
        self.note = Some(format!("{why}{not_whole}"));
    }

    /// Records an error of a check, with the file and, if the error has no offset, with the start of the
    /// file.
    fn take<T>(&mut self, result: Result<T>, path: &Path) -> Option<T> {
        result
            .map_err(|error| self.damage.push(error.in_file(path).at(0)))
            .ok()
    }
}

/// The files that the current MANIFEST lists, with their sizes.
#[derive(Default)]
struct Promised {
    /// The tables by number.
    tables: BTreeMap<u64, PromisedFile>,
    /// The blob files by number.
    blobs: BTreeMap<u64, PromisedFile>,
    /// The WALs' bytes known to be synced.
    wals: BTreeMap<u64, u64>,
    db_id: Option<String>,
}

/// The MANIFEST's record of a file.
#[derive(Clone, Debug)]
struct PromisedFile {
    size: u64,
    /// The id of the file's column family.
    family: u32,
    /// The largest sequence number, for a table.
    largest_seqno: Option<SeqNo>,
    /// The unique id, for a table, if the MANIFEST has it.
    unique_id: Option<[u8; 16]>,
    /// The name of the checksum function, and the checksum of the whole file.
    checksum: (String, Box<[u8]>),
}

impl PromisedFile {
    fn table(family: u32, file: &FileMetadata) -> PromisedFile {
        let checksum = file.file_checksum.as_ref();
        PromisedFile {
            size: file.size,
            family,
            largest_seqno: Some(file.largest_seqno),
            unique_id: file.unique_id,
            checksum: checksum.map_or_else(Default::default, |checksum| {
                (checksum.func_name.clone(), checksum.value.clone())
            }),
        }
    }

    fn blob(family: u32, blob: &BlobFileMetadata) -> PromisedFile {
        let addition = &blob.shared.addition;
        PromisedFile {
            size: blob.file_size(),
            family,
            largest_seqno: None,
            unique_id: None,
            checksum: (addition.checksum_method.clone(), addition.checksum_value.clone()),
        }
    }

    /// An error if the file's length or checksum differs from the MANIFEST's.
    fn check(&self, path: &Path) -> Result<()> {
        let file = directory::open(path)?;
        let (size, promised) = (file.len(), self.size);
        if size != promised {
            let message = format!("{size} bytes, but the MANIFEST has {promised}");
            return Err(Error::corruption(message).at(size.min(promised)));
        }
        let (function, checksum) = &self.checksum;
        if function != file_checksum::CRC32C_NAME {
            return Ok(());
        }
        let computed = crc32c_of(&*file)?.value();
        if computed[..] == checksum[..] {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "checksum of the whole file mismatch: the MANIFEST has {}, computed {}",
            Form::Hex.show(checksum),
            Form::Hex.show(&computed)
        )))
    }
}

fn crc32c_of(file: &dyn RandomAccessFile) -> Result<FileCrc32c> {
    let mut crc = FileCrc32c::new();
    file.for_each_piece(&mut |bytes| {
        crc.update(bytes);
        Ok(())
    })?;
    Ok(crc)
}

impl Promised {
    fn new(state: &ManifestState) -> Promised {
        let (mut tables, mut blobs) = (BTreeMap::new(), BTreeMap::new());
        for (&id, family) in &state.families {
            for (_, file) in family.version.all_files() {
                tables.insert(file.number, PromisedFile::table(id, file));
            }
            for blob in family.version.blob_files().values() {
                blobs.insert(blob.number(), PromisedFile::blob(id, blob));
            }
        }
        Promised {
            tables,
            blobs,
            wals: state
                .wals
                .iter()
                .map(|(&number, &size)| (number, size.unwrap_or(0)))
                .collect(),
            db_id: state.db_id.clone(),
        }
    }

    /// The files in the MANIFEST that do not exist.
    fn missing(&self, dir: &Path, wal_dir: &Path) -> Result<Vec<PathBuf>> {
        let tables = self.tables.keys().map(|&number| filename::table(dir, number));
        let blobs = self.blobs.keys().map(|&number| filename::blob(dir, number));
        let wals = self.wals.keys().map(|&number| filename::wal(wal_dir, number));
        let mut missing = Vec::new();
        for path in tables.chain(blobs).chain(wals) {
            if !directory::fs().exists(&path)? {
                missing.push(path);
            }
        }
        Ok(missing)
    }
}

/// Checks a whole database.
pub fn verify(args: &VerifyArgs, out: &mut Out, progress: &Progress) -> Result<(), Failure> {
    let (dir, wal_dir) = (&*args.database.db, args.database.wal_dir.as_deref());
    let files = directory::files(dir, wal_dir)?;
    let mut notes = match &args.resume {
        Some(path) => {
            let about = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
            Notes::open(path, &format!("esker verify {}", about.display()))?
        }
        None => Notes::default(),
    };
    progress.expect(files.iter().filter_map(size_of).sum());
    let mut report = Report {
        out,
        quiet: args.quiet,
        listening: true,
        files: 0,
        bad_files: 0,
        bytes: 0,
        pieces: 0,
        damaged: 0,
        first: None,
    };
    let mut missing = FileCheck::default();
    let current = directory::current_manifest(dir);
    if files.iter().all(|file| file.kind != FileKind::Current) {
        missing.take(current.clone(), &filename::current(dir));
    }
    // A MANIFEST that cannot be replayed is reported as corrupt below; then files are checked independently.
    let state = current.clone().and_then(|path| directory::manifest_state(&path));
    let promised = state.as_ref().map(Promised::new).unwrap_or_default();
    let left_over = |file: &DbFile| match file.kind {
        _ if state.is_err() => None,
        FileKind::Table(number) => (!promised.tables.contains_key(&number)).then_some("in no version"),
        FileKind::Blob(number) => (!promised.blobs.contains_key(&number)).then_some("in no version"),
        FileKind::Manifest(_) => current
            .as_ref()
            .is_ok_and(|path| *path != file.path)
            .then_some("not current"),
        _ => None,
    };
    // The WALs in order, each with the WAL that it names as its predecessor.
    let mut wals = Vec::new();
    for file in &files {
        progress.check()?;
        let size = size_of(file).unwrap_or(0);
        let state_of_file = state_of(file);
        if state_of_file.as_ref().is_some_and(|state| notes.has(state)) {
            let note = Some("checked before".to_owned());
            report.file(
                file,
                FileCheck {
                    note,
                    ..FileCheck::default()
                },
            )?;
            progress.advance(size)?;
            continue;
        }
        // A file that was deleted during its check is no error: the open database does not need it.
        if let Some(mut check) = check_file(file, dir, &promised)
            && directory::fs().exists(&file.path)?
        {
            if let Some(why) = left_over(file) {
                check.left_over(why);
            }
            if let FileKind::Wal(number) = file.kind
                && let Some(before) = check.wal_before
            {
                wals.push((number, before));
            }
            let good = check.damage.is_empty() && check.note.is_none();
            report.file(file, check)?;
            if let Some(state) = state_of_file.filter(|_| good) {
                notes.add(&state)?;
            }
        }
        progress.advance(size)?;
    }
    let logs = wal_dir.unwrap_or(dir);
    if let Ok(state) = &state
        && !missing_wals(&wals, state, logs)?.is_empty()
        && let Ok(now) = directory::current_manifest(dir).and_then(|path| directory::manifest_state(&path))
    {
        missing.damage = missing_wals(&wals, &now, logs)?;
    }
    let missing_files = |promised: &Promised| promised.missing(dir, logs);
    if !missing_files(&promised)?.is_empty()
        && let Ok(state) = directory::current_manifest(dir).and_then(|path| directory::manifest_state(&path))
    {
        // The state is read again, because the process that has the database open may have compacted it
        // meanwhile.
        for path in missing_files(&Promised::new(&state))? {
            let error = Error::corruption("the file is missing, but the MANIFEST names it");
            missing.damage.push(error.in_file(&path));
        }
    }
    report.damage(missing.damage)?;
    notes.remove()?;
    report.finish()
}

/// The missing WALs: those that other WALs name as predecessors, and that may hold rows that are in no table.
fn missing_wals(wals: &[(u64, u64)], state: &ManifestState, wal_dir: &Path) -> Result<Vec<Error>> {
    let needed = state.oldest_needed_wal();
    let mut missing = Vec::new();
    for &(number, before) in wals {
        let path = filename::wal(wal_dir, before);
        let is_recorded = state.wals.contains_key(&before);
        if (needed..number).contains(&before) && !is_recorded && !directory::fs().exists(&path)? {
            let message = format!(
                "Missing WAL {before:06}.log: {number:06}.log follows it, and the MANIFEST does not record that its rows are in tables"
            );
            missing.push(Error::corruption(message).in_file(&path));
        }
    }
    Ok(missing)
}

fn size_of(file: &DbFile) -> Option<u64> {
    directory::fs().size(&file.path).ok()
}

/// The state on which the validity of a note about a table or blob file, which never changes, depends: its
/// size and modification time.
fn state_of(file: &DbFile) -> Option<String> {
    let written = match file.kind {
        FileKind::Table(_) | FileKind::Blob(_) => directory::fs().modified_seconds(&file.path).ok()?,
        _ => return None,
    };
    Some(format!("{} {} {written}", file.name, size_of(file)?))
}

/// Prints and counts results.
struct Report<'a> {
    out: &'a mut Out,
    quiet: bool,
    /// False once the output is closed: the exit status is still right.
    listening: bool,
    files: u64,
    bad_files: u64,
    bytes: u64,
    pieces: u64,
    damaged: u64,
    first: Option<Error>,
}

impl Report<'_> {
    fn line(&mut self, line: &str) -> Result<(), Failure> {
        if !self.listening {
            return Ok(());
        }
        let written = writeln!(self.out, "{line}").map_err(Failure::from);
        let flushed = written.and_then(|()| match self.out.is_terminal() {
            true => self.out.finish(),
            false => Ok(()),
        });
        match flushed {
            Err(Failure::PipeClosed) => {
                self.listening = false;
                Ok(())
            }
            other => other,
        }
    }

    fn file(&mut self, file: &DbFile, check: FileCheck) -> Result<(), Failure> {
        let size = directory::fs().size(&file.path).unwrap_or(0);
        self.files += 1;
        self.bytes += size;
        self.pieces += check.pieces.0;
        let bad = !check.damage.is_empty();
        self.bad_files += u64::from(bad);
        if bad || !self.quiet {
            let mut line = format!(
                "{} {:<20} {:>12}",
                if bad { "BAD" } else { "ok " },
                file.name,
                show_size(size)
            );
            if check.pieces.0 > 0 {
                line.push_str(&format!("  {}", count(check.pieces.0, check.pieces.1)));
            }
            if let Some(note) = check.note {
                line.push_str(&format!("  ({note})"));
            }
            self.line(&line)?;
        }
        self.damage(check.damage)
    }

    fn damage(&mut self, damage: Vec<Error>) -> Result<(), Failure> {
        for error in damage {
            self.damaged += 1;
            self.line(&format!("    {error}"))?;
            self.first.get_or_insert(error);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        let checked = format!(
            "{}, {}, {} blocks and records",
            count(self.files, "file"),
            show_size(self.bytes),
            self.pieces
        );
        match self.first.take() {
            None => self.line(&format!("{checked}: all good")),
            Some(first) => {
                let found = format!(
                    "{} in {}",
                    count(self.damaged, "fault"),
                    count(self.bad_files, "file")
                );
                self.line(&format!("{checked}: {found}"))?;
                Err(first.context(&format!("{found}, the first")).into())
            }
        }
    }
}

/// Checks a file by its kind; `None` for a file without information about rows.
fn check_file(file: &DbFile, dir: &Path, promised: &Promised) -> Option<FileCheck> {
    Some(match file.kind {
        FileKind::Current => check_current(file, dir),
        FileKind::Identity => check_identity(file, promised),
        FileKind::Manifest(_) => check_manifest(file),
        FileKind::Options(_) => check_options(file),
        FileKind::Wal(number) => check_wal(file, number, promised),
        FileKind::Table(number) => check_table(file, number, promised),
        FileKind::Blob(number) => check_blob(file, number, promised),
        FileKind::Temp | FileKind::Lock | FileKind::InfoLog => return None,
    })
}

fn check_current(file: &DbFile, dir: &Path) -> FileCheck {
    let mut check = FileCheck::default();
    if let Some(manifest) = check.take(directory::current_manifest(dir), &file.path) {
        let exists = directory::fs().exists(&manifest).and_then(|exists| match exists {
            true => Ok(()),
            false => {
                let name = manifest.file_name().unwrap_or_default().display();
                Err(Error::corruption(format!(
                    "it names {name}, which does not exist"
                )))
            }
        });
        check.take(exists, &file.path);
    }
    check
}

fn check_identity(file: &DbFile, promised: &Promised) -> FileCheck {
    let mut check = FileCheck::default();
    if let Some(bytes) = check.take(directory::fs().read_file(&file.path), &file.path) {
        let id = String::from_utf8_lossy(&bytes);
        if let Some(promised) = promised
            .db_id
            .as_deref()
            .filter(|promised| *promised != id.trim_end())
        {
            let error = Error::corruption(format!("the database's id in the MANIFEST is {promised}"));
            check.take(Err::<(), _>(error), &file.path);
        }
    }
    check
}

fn check_options(file: &DbFile) -> FileCheck {
    let mut check = FileCheck::default();
    let text = directory::fs().read_file(&file.path).and_then(|bytes| {
        String::from_utf8(bytes)
            .map_err(|error| Error::corruption("not UTF-8 text").at(error.utf8_error().valid_up_to() as u64))
    });
    let parsed = text.and_then(|text| OptionsFile::parse(&text));
    if let Some(options) = check.take(parsed, &file.path) {
        let lost = options.lost().len() as u64;
        if lost > 0 {
            check.note = Some(format!("{} without effect in Esker", count(lost, "option")));
        }
    }
    check
}

/// Checks the physical records of a log.
fn check_log(file: &DbFile, number: Option<u64>) -> FileCheck {
    let mut check = FileCheck::of(0, "record");
    let walked = directory::open(&file.path).and_then(|open| log::check(&open, number));
    if let Some(walked) = check.take(walked, &file.path) {
        check.pieces.0 = walked.records;
        check.damage = walked.damage;
        check.note = walked
            .former_life
            .map(|offset| format!("contents from before it was recycled from {offset} on"));
    }
    check
}

fn check_manifest(file: &DbFile) -> FileCheck {
    let mut check = check_log(file, None);
    if check.damage.is_empty() {
        match directory::manifest_state(&file.path) {
            Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                check.note = Some(format!("files not compared with it: {}", error.message()));
            }
            result => {
                check.take(result, &file.path);
            }
        }
    }
    check
}

fn check_wal(file: &DbFile, number: u64, promised: &Promised) -> FileCheck {
    let mut check = check_log(file, Some(number));
    if check.damage.is_empty() {
        let recycled = check.note.is_some();
        let before = check.take(check_batches(file, number, recycled), &file.path);
        check.wal_before = before.flatten();
    }
    if let Some(&synced) = promised.wals.get(&number) {
        let compared = directory::fs()
            .size(&file.path)
            .and_then(|size| match size < synced {
                true => {
                    let message = format!("{size} bytes, but the MANIFEST has {synced} as synced");
                    Err(Error::corruption(message).at(size))
                }
                false => Ok(()),
            });
        check.take(compared, &file.path);
    }
    check
}

/// Decodes every batch of a WAL whose physical records are intact. Returns the number of the WAL that it
/// names as its predecessor.
fn check_batches(file: &DbFile, number: u64, recycled: bool) -> Result<Option<u64>> {
    let options = ReaderOptions {
        log_number: Some(number),
        mode: RecoveryMode::PointInTime,
    };
    let mut reader = wal::Reader::new(directory::open(&file.path)?, options);
    let mut before = None;
    while let Some(record) = reader.read_record()? {
        before = before.or(esker::wal_before(record).ok().flatten());
        let decoded = Operations::new(record).and_then(|mut operations| {
            operations
                .by_ref()
                .try_for_each(|operation| operation.map(drop))?;
            operations.check_count()
        });
        // Offsets within a batch are not offsets in the file if records are split or compressed.
        let offset = reader.record_offset();
        decoded.map_err(|error| Error::corruption(error.message()).at(offset))?;
    }
    match reader.stopped() {
        Some(error) if !recycled => Err(error.clone()),
        _ => Ok(before.or_else(|| reader.predecessor().map(|named| named.log_number))),
    }
}

fn check_table(file: &DbFile, number: u64, promised: &Promised) -> FileCheck {
    let mut check = FileCheck::of(0, "block");
    let live = promised.tables.get(&number);
    check.take(live.map_or(Ok(()), |live| live.check(&file.path)), &file.path);
    // Checksums do not depend on the order of keys.
    let mut options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
    options.file_number = number;
    options.largest_seqno = live.and_then(|live| live.largest_seqno);
    let opened =
        directory::open(&file.path).and_then(|open| Ok((Table::open(open.clone(), options.clone())?, open)));
    let Some((table, open)) = check.take(opened, &file.path) else {
        return check;
    };
    if let Some(id) = live.and_then(|live| live.unique_id)
        && !table.properties().has_unique_id(&id)
    {
        let other = Error::corruption("Mismatch in unique ID: it is not the table in the MANIFEST");
        check.take::<()>(Err(other), &file.path);
    }
    let mut seen = Vec::new();
    let verified = table.verify(0, &mut |block| {
        check.pieces.0 += 1;
        if let Err(error) = block.result {
            seen.push(error.context(block.what).at(block.offset).in_file(&file.path));
        }
    });
    check.damage.extend(seen);
    if check.damage.is_empty() {
        check.take(verified, &file.path);
    }
    // Undecodable entries are meaningful only if the checksums are right.
    if check.damage.is_empty()
        && let Some(order) = UserComparator::builtin(&table.properties().comparator_name())
    {
        options.cmp = InternalComparator::new(order);
        let walked = Table::open(open, options).and_then(|table| check_order(&table));
        check.take(walked, &file.path);
    }
    check
}

/// Iterates over the entries of a table: each must decode and sort after the previous one.
fn check_order(table: &std::sync::Arc<Table>) -> Result<()> {
    let cmp = table.comparator().clone();
    let mut cursor = table.cursor(BlockReadOptions::default());
    let mut last: Vec<u8> = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        let key = cursor.key();
        base::ParsedInternalKey::parse(key)?;
        if !last.is_empty() && cmp.compare(&last, key).is_ge() {
            return Err(Error::corruption(format!(
                "entries out of order at key {}",
                key.escape_ascii()
            )));
        }
        last.clear();
        last.extend_from_slice(key);
        cursor.next();
    }
    cursor.status()
}

fn check_blob(file: &DbFile, number: u64, promised: &Promised) -> FileCheck {
    let mut check = FileCheck::of(0, "blob");
    let live = promised.blobs.get(&number);
    check.take(live.map_or(Ok(()), |live| live.check(&file.path)), &file.path);
    let opened = directory::open(&file.path).and_then(BlobFile::open);
    let Some(blobs) = check.take(opened, &file.path) else {
        return check;
    };
    if let Some(live) = live {
        check.take(blobs.check_of_family(live.family), &file.path);
    }
    let mut records = blobs.records();
    let mut last_bad = None;
    loop {
        let record = records.next();
        match record.and_then(|record| record.map(|record| record.value().map(drop)).transpose()) {
            Ok(None) => break,
            Ok(Some(())) => check.pieces.0 += 1,
            // The walk over the records ends at a record whose length cannot be trusted.
            Err(error) if last_bad == Some(error.offset()) => break,
            Err(error) => {
                last_bad = Some(error.offset());
                check.take(Err::<(), _>(error), &file.path);
            }
        }
    }
    check
}

#[cfg(test)]
mod tests;
