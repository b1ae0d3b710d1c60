//! Export of a window of history to a table file, for ingestion elsewhere or as a backup.

use std::path::Path;

use esker::{ExternalSstFileInfo, SstFileWriter};

use crate::error::{Error, Result};
use crate::key::range_stack::hides;
use crate::key::ranges::{Order, RangeTombstone};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::key::value::is_tombstone;
use crate::read::reader::Reader;
use crate::read::rows::Rows;

/// The options of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// True to export every version in the window, not only the newest version of each key. Default: false.
    pub all_revisions: bool,
    /// Bytes of keys and values at which the export stops after a key. Default: no limit.
    pub target_bytes: Option<u64>,
    /// Bytes of keys and values that are never exceeded: if one key's versions exceed them, the export fails,
    /// or with `stop_mid_key` stops within the key. Default: no limit.
    pub max_bytes: Option<u64>,
    /// Whether the export may stop within a key. Default: false.
    pub stop_mid_key: bool,
}

/// The place where an export continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportResume {
    /// The key.
    pub user_key: Vec<u8>,
    /// Within the key: the newest version not exported yet. `None`: none of the key's versions are exported.
    pub timestamp: Option<Timestamp>,
}

/// The result of an export.
#[derive(Clone, Debug, Default)]
pub struct ExportResult {
    /// The file; `None` if there was nothing to export and no file was written.
    pub file: Option<ExternalSstFileInfo>,
    /// The number of versions in the file.
    pub versions: u64,
    /// The size of the keys and values of these versions in bytes.
    pub bytes: u64,
    /// Range tombstones over the exported span, which the file does not hold: a caller that ingests the file
    /// must [import](crate::MvccBatch::import_range_tombstones) them too. They have times in the window; only
    /// the newest, unless all revisions are exported.
    pub range_tombstones: Vec<RangeTombstone>,
    /// The rest of the span, if a limit was reached.
    pub resume: Option<ExportResume>,
}

impl Reader<'_> {
    /// Writes the versions in `span` above `after` and at or below `until` to a table file at `path`, which
    /// [`Db::ingest_external_file`](esker::Db::ingest_external_file) ingests. After the ingestion the store
    /// must [recount its statistics](crate::MvccStore::repair_stats). Deletions are left out where no version
    /// can be below them: those of each key's newest versions in an export from the beginning of time. If a
    /// range tombstone in the window deletes a key, the key's newest version is left out. `from` continues
    /// where another export stopped.
    ///
    /// # Errors
    /// Those of [`incremental`](Self::incremental); `InvalidArgument` for an inline value, which has no time;
    /// `Incomplete` if the versions of one key exceed `max_bytes`; errors of the engine. No file is left
    /// then.
    pub fn export_to_sst(
        &self,
        span: Span<'_>,
        after: Timestamp,
        until: Timestamp,
        from: Option<&ExportResume>,
        path: &Path,
        options: &ExportOptions,
    ) -> Result<ExportResult> {
        self.check_window(after, until)?;
        let mut result = ExportResult::default();
        let span = Span {
            start: from.map_or(span.start, |from| &from.user_key),
            end: span.end,
        };
        if span.is_empty() {
            return Ok(result);
        }
        let keeps_tombstones = options.all_revisions || !after.is_zero();
        let mut iter = self.versions_alone(span, after, until)?;
        let mut cover = self.cover(Order::Forwards).filter(|_| !options.all_revisions);
        let mut writer = SstFileWriter::for_column_family(self.db().options(), self.family());
        let mut key = Vec::new();
        let mut last: Vec<u8> = Vec::new();
        let mut row = iter.next()?;
        while let Some(version) = row {
            let resumes = from.filter(|from| from.user_key == version.user_key);
            let is_left = resumes
                .and_then(|from| from.timestamp)
                .is_none_or(|left| version.timestamp <= left);
            let stack = cover.as_mut().and_then(|cover| cover.stack(version.user_key));
            let is_hidden = stack.is_some_and(|stack| hides(stack, version.timestamp, until).is_some());
            if is_left && !is_hidden && (keeps_tombstones || !is_tombstone(version.stored)) {
                let is_new_key = last != version.user_key;
                let size = Rows::bytes_of(&version);
                let reached = options.target_bytes.is_some_and(|target| result.bytes >= target);
                let exceeds = options.max_bytes.is_some_and(|most| result.bytes + size > most);
                if result.versions > 0 && is_new_key && (reached || exceeds) {
                    result.resume = Some(ExportResume {
                        user_key: version.user_key.to_vec(),
                        timestamp: None,
                    });
                    break;
                }
                if exceeds {
                    if !options.stop_mid_key || result.versions == 0 {
                        return Err(too_large(version.user_key));
                    }
                    result.resume = Some(ExportResume {
                        user_key: version.user_key.to_vec(),
                        timestamp: Some(version.timestamp),
                    });
                    break;
                }
                if result.versions == 0 {
                    writer.open(path)?;
                }
                key.clear();
                crate::key::mvcc_key::encode_key(&mut key, version.user_key, version.timestamp);
                writer.put(&key, version.stored)?;
                result.versions += 1;
                result.bytes += size;
                last.clear();
                last.extend_from_slice(version.user_key);
            }
            row = match options.all_revisions {
                true => iter.next()?,
                false => iter.next_key()?,
            };
        }
        if result.versions > 0 {
            result.file = Some(writer.finish()?);
        }
        if let Some(ranges) = self.ranges().filter(|_| keeps_tombstones) {
            let done = Span {
                end: result
                    .resume
                    .as_ref()
                    .map_or(span.end, |left| Some(&left.user_key)),
                ..span
            };
            let mut ranges = ranges.window(done, after, until);
            if !options.all_revisions {
                ranges = ranges.newest();
            }
            result.range_tombstones = ranges.tombstones();
        }
        Ok(result)
    }
}

#[cold]
fn too_large(user_key: &[u8]) -> Error {
    let message = format!(
        "the versions of {} exceed max_bytes of the export",
        crate::error::Shown(user_key)
    );
    Error::Engine(base::Error::new(base::ErrorKind::Incomplete, message))
}
