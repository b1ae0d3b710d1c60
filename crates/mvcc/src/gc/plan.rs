//! The search for garbage: backwards over a snapshot, so that the oldest versions of each key come first.

use std::collections::VecDeque;

use crate::error::Result;
use crate::gc::keys::GcKey;
use crate::gc::options::GcOptions;
use crate::key::mvcc_key::{MvccKey, encoded_len, next_user_key};
use crate::key::range_stack::hidden_since;
use crate::key::ranges::{Cover, Order};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::version_iter::VersionIter;
use crate::write::clear::bare;

/// The removals of one batch.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Versions to remove one by one.
    pub keys: Vec<GcKey>,
    /// Runs to remove by range deletions: from one engine key up to another, exclusive.
    pub runs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Consecutive versions of one key, at most as many as a page holds.
#[derive(Debug)]
struct Piece {
    key: GcKey,
    versions: u64,
    /// The bytes of the keys of these versions.
    bytes: u64,
}

/// A piece of garbage that was found.
#[derive(Debug)]
enum Found {
    Piece(Piece),
    Run(Vec<u8>, Vec<u8>),
}

/// Consecutive garbage in the order of keys, found from its end to its start.
#[derive(Debug, Default)]
struct GarbageRun {
    start: Vec<u8>,
    end: Vec<u8>,
    versions: u64,
    /// The garbage of this run as single pieces, while it may still be too short for a range deletion.
    pieces: Vec<Piece>,
    /// The bytes of the keys of these versions.
    bytes: u64,
}

/// Bytes of keys kept while it is unknown whether a range deletion removes them.
const MAX_RUN_BYTES: u64 = 64 << 20;

pub(super) struct Planner<'a> {
    iter: VersionIter,
    cover: Option<Cover>,
    threshold: Timestamp,
    options: &'a GcOptions,
    run: GarbageRun,
    /// The garbage found, in the order of removal: the older part of a key first.
    found: VecDeque<Found>,
    /// The number of versions in the pieces found.
    versions: u64,
    bytes: u64,
    /// The number of runs found.
    runs: usize,
    user_key: Vec<u8>,
}

impl<'a> Planner<'a> {
    pub fn new(reader: &Reader<'_>, threshold: Timestamp, options: &'a GcOptions) -> Result<Planner<'a>> {
        let mut iter = reader.versions(Span::ALL)?;
        iter.seek_to_last();
        Ok(Planner {
            iter,
            cover: reader.cover(Order::Backwards),
            threshold,
            options,
            run: GarbageRun::default(),
            found: VecDeque::new(),
            versions: 0,
            bytes: 0,
            runs: 0,
            user_key: Vec::new(),
        })
    }

    pub fn counters(&self) -> ReadCounters {
        self.iter.counters
    }

    /// The next page to remove; `None` at the end.
    pub fn next_page(&mut self) -> Result<Option<Page>> {
        while self.runs == 0 && !self.fills_a_page(self.versions, self.bytes) {
            if !self.look()? {
                self.end_run();
                break;
            }
        }
        let mut page = Page::default();
        let (mut versions, mut bytes) = (0, 0);
        while let Some(found) = self.found.pop_front() {
            match found {
                Found::Run(start, end) => {
                    page.runs.push((start, end));
                    self.runs -= 1;
                    break;
                }
                Found::Piece(piece) => {
                    versions += piece.versions;
                    bytes += piece.bytes;
                    if !page.keys.is_empty() && self.exceeds_a_page(versions, bytes) {
                        self.found.push_front(Found::Piece(piece));
                        break;
                    }
                    self.versions -= piece.versions;
                    self.bytes -= piece.bytes;
                    page.keys.push(piece.key);
                }
            }
        }
        Ok((!page.keys.is_empty() || !page.runs.is_empty()).then_some(page))
    }

    fn fills_a_page(&self, versions: u64, bytes: u64) -> bool {
        versions >= self.options.page_versions.max(1) || bytes >= self.options.page_bytes
    }

    fn exceeds_a_page(&self, versions: u64, bytes: u64) -> bool {
        versions > self.options.page_versions.max(1) || bytes > self.options.page_bytes
    }

    /// Examines the version at the iterator's position, the oldest of its key not examined yet. Then moves to
    /// the one above or, where nothing above can be garbage, to the previous key. False at the end.
    fn look(&mut self) -> Result<bool> {
        let Some(version) = self.iter.current()? else {
            return Ok(false);
        };
        let time = version.timestamp;
        self.user_key.clear();
        self.user_key.extend_from_slice(version.user_key);
        if time.is_zero() || time > self.threshold {
            self.end_run();
            self.iter.prev_key(&self.user_key)?;
            return Ok(true);
        }
        let deletes = self.iter.is_tombstone()?;
        self.iter.prev();
        let above = self.iter.time_of(&self.user_key)?;
        let is_hidden = above.is_some_and(|above| above <= self.threshold);
        let stack = self.cover.as_mut().and_then(|cover| cover.stack(&self.user_key));
        let deleted = stack.and_then(|stack| hidden_since(stack, time));
        if is_hidden || deletes || deleted.is_some_and(|deleted| deleted <= self.threshold) {
            self.add(time);
        } else {
            self.end_run();
        }
        Ok(true)
    }

    fn add(&mut self, time: Timestamp) {
        let bytes = encoded_len(&self.user_key, time) as u64;
        let min = self.options.min_run_versions;
        if min == 0 {
            let last = match self.found.back_mut() {
                Some(Found::Piece(last)) => Some(last),
                _ => None,
            };
            if let Some(piece) = add_to(last, &self.user_key, time, bytes, self.options) {
                self.found.push_back(Found::Piece(piece));
            }
            self.versions += 1;
            self.bytes += bytes;
            return;
        }
        let user_key = &self.user_key[..];
        let run = &mut self.run;
        run.start = MvccKey {
            user_key,
            timestamp: time,
        }
        .encode();
        if run.versions == 0 {
            // No version can have come between this one and the next entry: it would be below the threshold.
            run.end = match time.prev() {
                Timestamp::ZERO => bare(&next_user_key(user_key)),
                timestamp => MvccKey { user_key, timestamp }.encode(),
            };
        }
        run.versions += 1;
        if run.versions >= min {
            run.pieces.clear();
        } else {
            let new = add_to(run.pieces.last_mut(), user_key, time, bytes, self.options);
            run.pieces.extend(new);
            run.bytes += bytes;
        }
        let is_long = run.versions >= self.options.max_run_versions.max(min);
        if is_long || !run.pieces.is_empty() && run.bytes >= MAX_RUN_BYTES {
            self.end_run();
        }
    }

    /// Ends the run of garbage, because the entry before it stays.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if self.options.min_run_versions > 0 && run.versions >= self.options.min_run_versions {
            self.found.push_back(Found::Run(run.start, run.end));
            self.runs += 1;
        } else {
            self.versions += run.versions;
            self.bytes += run.bytes;
            self.found.extend(run.pieces.into_iter().map(Found::Piece));
        }
    }
}

/// Adds the version above the last one to its piece, if it has the same key and does not need a page of its
/// own; otherwise starts a new piece.
fn add_to(
    last: Option<&mut Piece>,
    user_key: &[u8],
    time: Timestamp,
    bytes: u64,
    options: &GcOptions,
) -> Option<Piece> {
    let fits = |last: &&mut Piece| {
        last.key.user_key == user_key
            && last.versions < options.page_versions
            && last.bytes + bytes <= options.page_bytes
    };
    match last.filter(fits) {
        Some(last) => {
            last.key.timestamp = time;
            last.versions += 1;
            last.bytes += bytes;
            None
        }
        None => Some(Piece {
            key: GcKey {
                user_key: user_key.to_vec(),
                timestamp: time,
            },
            versions: 1,
            bytes,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use esker::{Db, Options};
    use vfs::MemFs;

    use super::*;
    use crate::{BatchOptions, MvccBatch, Value};

    /// Pages respect their limits, have the older part of a key first, and together have all garbage.
    #[test]
    fn pages_keep_to_their_limits() {
        let mut rng = testkit::rng();
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        crate::configure(&mut options.column_family);
        let db = Db::open(&options, Path::new("/db")).unwrap();
        let family = db.default_column_family();
        let mut batch = MvccBatch::new(&db, &family, BatchOptions::default(), 0);
        let (mut garbage, mut longest) = (0, 0);
        for at in 0..60 {
            let len = rng.usize(..200);
            let key = [vec![at], rng.bytes(len)].concat();
            let versions = rng.u64(1..12);
            for wall in 1..=versions {
                let at = Timestamp::from_nanos(wall as i64);
                batch.put(&key, at, Value::Int(1)).unwrap();
            }
            garbage += versions - 1;
            longest = longest.max(key.len() as u64 + 10);
        }
        let reader = batch.reader();
        for _ in 0..200 {
            let options = GcOptions {
                page_versions: rng.u64(1..30),
                page_bytes: rng.u64(1..3000),
                min_run_versions: *rng.pick(&[0, 0, 3, 10]),
                max_run_versions: rng.u64(1..20),
                ..GcOptions::default()
            };
            let mut planner = Planner::new(&reader, Timestamp::MAX.prev(), &options).unwrap();
            let mut seen = 0;
            let mut last: Option<GcKey> = None;
            while let Some(page) = planner.next_page().unwrap() {
                let (mut versions, mut bytes) = (0, 0);
                for key in page.keys {
                    let is_same = last.as_ref().filter(|last| last.user_key == key.user_key);
                    let below = is_same.map_or(0, |last| last.timestamp.wall);
                    assert!(key.timestamp.wall > below);
                    let count = (key.timestamp.wall - below) as u64;
                    versions += count;
                    bytes += count * (key.user_key.len() as u64 + 10);
                    last = Some(key);
                }
                assert!(page.runs.len() <= 1);
                if options.min_run_versions > 0 {
                    continue;
                }
                assert!(page.runs.is_empty());
                assert!(versions <= options.page_versions, "{versions}, {options:?}");
                assert!(bytes <= options.page_bytes.max(longest), "{bytes}, {options:?}");
                seen += versions;
            }
            assert!(seen == garbage || options.min_run_versions > 0);
            assert!(planner.found.is_empty() && (planner.versions, planner.bytes, planner.runs) == (0, 0, 0));
        }
    }
}
