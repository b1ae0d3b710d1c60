//! The layer against a map of versions: random operations, flushes, compactions and collections, with few
//! steps before a seek.

mod compare;
mod inline;
mod iterator;
mod predicate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker::{CompressionType, Db, ErrorKind, FilterPolicy, Options, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Error, ExportOptions, GcKey, GcOptions, MvccKey, MvccReadOptions, MvccStats,
    MvccStore, RangeTombstone, RangeTombstoneOptions, Reader, Resume, ResumeReason, RevertOptions, Span,
    StoreBatch, Timestamp, Value,
};
use testkit::rng::{self, TestRng};
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

/// Versions of a key by time; `None` is a deletion.
pub type Versions = BTreeMap<Timestamp, Option<Vec<u8>>>;

/// The expected contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub versions: BTreeMap<Vec<u8>, Versions>,
    pub inline: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The deletion times of the keys from each of [`BOUNDS`], or the first key there is, up to the next,
    /// exclusive.
    pub deleted: BTreeMap<&'static [u8], BTreeSet<Timestamp>>,
}

pub type Found = Vec<(Vec<u8>, Timestamp, Option<Vec<u8>>)>;

impl Model {
    /// The version of a key that a reader sees.
    pub fn get(&self, key: &[u8], at: Timestamp) -> Option<(Timestamp, Option<Vec<u8>>)> {
        if let Some(value) = self.inline.get(key) {
            return Some((Timestamp::ZERO, Some(value.clone())));
        }
        let version = self.version(key, at);
        let deleted = self
            .deletions(key)
            .range(..=at)
            .next_back()
            .map(|time| (*time, None));
        match (version, deleted) {
            (Some(version), Some(deleted)) => Some(if version.0 > deleted.0 { version } else { deleted }),
            (version, deleted) => version.or(deleted),
        }
    }

    /// The newest version at or below a time.
    fn version(&self, key: &[u8], at: Timestamp) -> Option<(Timestamp, Option<Vec<u8>>)> {
        let (time, value) = self.versions.get(key)?.range(..=at).next_back()?;
        Some((*time, value.clone()))
    }

    /// The times of range tombstones over a key.
    fn deletions(&self, key: &[u8]) -> &BTreeSet<Timestamp> {
        static NONE: BTreeSet<Timestamp> = BTreeSet::new();
        self.deleted.get(stretch(key).0).unwrap_or(&NONE)
    }

    pub fn delete_span(&mut self, span: Span<'_>, at: Timestamp) {
        for (start, _) in stretches(span) {
            self.deleted.entry(start).or_default().insert(at);
        }
    }

    /// Removes range tombstones; returns the number of fragment times removed.
    fn undelete(&mut self, span: Span<'_>, goes: impl Fn(Timestamp) -> bool) -> u64 {
        let fragments = self.fragments(span, Timestamp::ZERO, Timestamp::MAX);
        let times = fragments.iter().flat_map(|fragment| &fragment.timestamps);
        let removed = times.filter(|time| goes(**time)).count() as u64;
        for (start, _) in stretches(span) {
            if let Some(times) = self.deleted.get_mut(start) {
                times.retain(|time| !goes(*time));
            }
        }
        self.tidy();
        removed
    }

    /// Range tombstones in a window.
    pub fn fragments(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Vec<RangeTombstone> {
        let mut fragments: Vec<RangeTombstone> = Vec::new();
        for (start, end) in stretches(span) {
            let times = self.deleted.get(start).into_iter().flatten().rev();
            let times: Vec<_> = times
                .filter(|time| **time > after && **time <= until)
                .copied()
                .collect();
            match fragments.last_mut() {
                Some(last) if last.end == start && last.timestamps == times => last.end = end.to_vec(),
                _ if times.is_empty() => {}
                _ => fragments.push(RangeTombstone {
                    start: start.to_vec(),
                    end: end.to_vec(),
                    timestamps: times,
                }),
            }
        }
        fragments
    }

    /// The statistics, computed from scratch.
    fn weigh(&self) -> MvccStats {
        let mut stats = MvccStats::at(NOW);
        let age = |since: Timestamp| NOW / 1_000_000_000 - since.wall / 1_000_000_000;
        let len = |value: &[u8]| match value.strip_prefix(b"int ") {
            Some(number) => {
                let number: i64 = std::str::from_utf8(number).unwrap().parse().unwrap();
                let zigzag = ((number << 1) ^ (number >> 63)) as u64;
                5 + (64 - (zigzag | 1).leading_zeros() as i64 + 6) / 7
            }
            None => 5 + value.len() as i64,
        };
        for (key, value) in &self.inline {
            let key_len = key.len() as i64 + 1;
            stats.key_count += 1;
            stats.key_bytes += key_len;
            stats.val_count += 1;
            stats.val_bytes += len(value);
            stats.live_count += 1;
            stats.live_bytes += key_len + len(value);
        }
        for (key, versions) in &self.versions {
            let key_len = key.len() as i64 + 1;
            stats.key_count += 1;
            stats.key_bytes += key_len;
            for (time, value) in versions {
                let value_len = value.as_deref().map_or(0, len);
                let above = versions.range(time.next()..).next().map(|(above, _)| *above);
                let deleted = self.deletions(key).range(time..).next().copied();
                let hidden = above.into_iter().chain(deleted).min();
                let garbage_since = if value.is_none() { Some(*time) } else { hidden };
                let bytes = 12 + value_len + if above.is_none() { key_len } else { 0 };
                stats.key_bytes += 12;
                stats.val_count += 1;
                stats.val_bytes += value_len;
                match garbage_since {
                    Some(since) => stats.gc_bytes_age += bytes * age(since),
                    None => {
                        stats.live_count += 1;
                        stats.live_bytes += bytes;
                    }
                }
            }
        }
        for fragment in self.fragments(Span::ALL, Timestamp::ZERO, Timestamp::MAX) {
            let bounds = (fragment.start.len() + fragment.end.len() + 2) as i64;
            stats.range_key_count += 1;
            stats.range_key_bytes += bounds;
            stats.gc_bytes_age += bounds * age(fragment.timestamps[0]);
            for time in fragment.timestamps {
                let bytes = if time.logical == 0 { 9 } else { 13 };
                stats.range_val_count += 1;
                stats.range_key_bytes += bytes;
                stats.gc_bytes_age += bytes * age(time);
            }
        }
        stats
    }

    pub fn newest(&self, key: &[u8]) -> Option<(Timestamp, Option<Vec<u8>>)> {
        self.get(key, Timestamp::MAX)
    }

    pub fn keys(&self, span: Span<'_>) -> BTreeSet<Vec<u8>> {
        let keys = self.versions.keys().chain(self.inline.keys());
        keys.filter(|key| within(span, key)).cloned().collect()
    }

    pub fn scan(&self, span: Span<'_>, at: Timestamp, tombstones: bool) -> Found {
        let seen = self.keys(span).into_iter().filter_map(|key| {
            if !self.inline.contains_key(&key) {
                self.version(&key, at)?;
            }
            let (time, value) = self.get(&key, at)?;
            (tombstones || value.is_some()).then_some((key, time, value))
        });
        seen.collect()
    }

    fn put(&mut self, key: &[u8], at: Timestamp, value: Option<Vec<u8>>) {
        self.versions.entry(key.to_vec()).or_default().insert(at, value);
    }

    fn tidy(&mut self) {
        self.versions.retain(|_, versions| !versions.is_empty());
        self.deleted.retain(|_, times| !times.is_empty());
    }

    /// Removes the versions of a key at or below a time.
    fn cut(&mut self, key: &[u8], at: Timestamp) {
        if let Some(versions) = self.versions.get_mut(key) {
            versions.retain(|time, _| *time > at);
        }
        self.tidy();
    }

    /// Removes the garbage at a threshold, except range tombstones.
    pub fn collect(&mut self, threshold: Timestamp) {
        let keys: Vec<_> = self.versions.keys().cloned().collect();
        for key in keys {
            let seen = self.get(&key, threshold);
            let kept = seen.and_then(|(time, value)| value.is_some().then_some(time));
            let versions = self.versions.get_mut(&key).unwrap();
            versions.retain(|time, _| *time > threshold || Some(*time) == kept);
        }
        self.tidy();
    }

    /// Removes the range tombstones at or below a threshold.
    pub fn collect_range_tombstones(&mut self, threshold: Timestamp) -> u64 {
        self.undelete(Span::ALL, |time| time <= threshold)
    }

    /// Every version in the order of the engine's keys.
    pub fn dump(&self) -> Found {
        let mut all = Vec::new();
        for key in self.keys(Span::ALL) {
            if let Some(value) = self.inline.get(&key) {
                all.push((key.clone(), Timestamp::ZERO, Some(value.clone())));
            }
            for (time, value) in self.versions.get(&key).into_iter().flatten().rev() {
                all.push((key.clone(), *time, value.clone()));
            }
        }
        all
    }
}

fn within(span: Span<'_>, key: &[u8]) -> bool {
    key >= span.start && span.end.is_none_or(|end| key < end)
}

/// Every range tombstone that is stored.
pub fn range_tombstones(db: &Db) -> Vec<RangeTombstone> {
    let family = db.default_column_family();
    let reader = Reader::new(db, &family).with_range_tombstones().unwrap();
    let found = reader.range_tombstones(Span::ALL, Timestamp::ZERO, Timestamp::MAX);
    found.unwrap()
}

/// Every version that is stored.
pub fn dump(db: &Db) -> Found {
    let mut iter = db.iter();
    // The position after the store's record.
    iter.seek(&[0, 0]);
    let mut all = Vec::new();
    while iter.valid() {
        let key = MvccKey::decode(iter.key()).unwrap();
        let value = plain(iter.value(), key.user_key);
        all.push((key.user_key.to_vec(), key.timestamp, value));
        iter.next();
    }
    iter.status().unwrap();
    all
}

pub fn plain(stored: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    if mvcc::is_tombstone(stored) {
        return None;
    }
    Some(match Value::decode_checked(stored, key).unwrap() {
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Int(number) => format!("int {number}").into_bytes(),
    })
}

pub fn open(fs: Arc<dyn FileSystem>) -> Db {
    open_at(fs, "/db")
}

/// Opens as `open` does, with compactions that drop garbage.
pub fn open_collecting(fs: Arc<dyn FileSystem>, gc: &CompactionGc) -> Db {
    open_with(fs, "/db", |options| gc.configure(&mut options.column_family))
}

pub fn open_at(fs: Arc<dyn FileSystem>, path: &str) -> Db {
    open_with(fs, path, |_| ())
}

pub fn open_with(fs: Arc<dyn FileSystem>, path: &str, change: impl FnOnce(&mut Options)) -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    };
    let family = &mut options.column_family;
    mvcc::configure(family);
    family.table.filter_policy = FilterPolicy::Bloom(10.0);
    family.table.block_size = 200;
    family.target_file_size_base = 4000;
    change(&mut options);
    Db::open(&options, Path::new(path)).unwrap()
}

/// Puts values of at least `min` bytes into blob files.
pub fn blobs(options: &mut Options, min: u64, compression: CompressionType) {
    let family = &mut options.column_family;
    family.enable_blob_files = true;
    family.min_blob_size = min;
    family.blob_compression_type = compression;
    family.enable_blob_garbage_collection = true;
}

/// Puts values of at least `min` bytes into blob files if they follow a newer version, and no others.
pub fn old_blobs(options: &mut Options, min: u64, compression: CompressionType) {
    blobs(options, u64::MAX, compression);
    options.column_family.min_older_version_blob_size = min;
}

pub const NOW: i64 = 100_000_000_000;

/// Keys that are prefixes of others, and bytes that look like sentinels and lengths.
const KEYS: [&[u8]; 8] = [
    b"a",
    b"a\0",
    b"a\0\0\0\0\0\0\0\0\x05\x09",
    b"ab",
    b"b",
    b"b\x09",
    b"c",
    b"d",
];

/// Where range tombstones may begin and end: the keys, and the key directly after each.
const BOUNDS: [&[u8]; 15] = [
    b"a",
    b"a\0",
    b"a\0\0",
    b"a\0\0\0\0\0\0\0\0\x05\x09",
    b"a\0\0\0\0\0\0\0\0\x05\x09\0",
    b"ab",
    b"ab\0",
    b"b",
    b"b\0",
    b"b\x09",
    b"b\x09\0",
    b"c",
    b"c\0",
    b"d",
    b"d\0",
];

/// The stretches of a span: from each of the bounds, or the first key there is, up to the next.
fn stretches(span: Span<'_>) -> impl Iterator<Item = (&'static [u8], &'static [u8])> {
    let starts = std::iter::once(&b""[..]).chain(BOUNDS);
    let all = starts.zip(BOUNDS.into_iter().chain([&b"e"[..]]));
    all.filter(move |(start, end)| *start >= span.start && span.end.is_none_or(|behind| *end <= behind))
}

fn stretch(key: &[u8]) -> (&'static [u8], &'static [u8]) {
    stretches(Span::ALL)
        .find(|(_, end)| key < *end)
        .expect("no other keys are used")
}

fn key(rng: &mut TestRng) -> Vec<u8> {
    rng.pick(&KEYS).to_vec()
}

pub fn time(rng: &mut TestRng) -> Timestamp {
    Timestamp {
        wall: rng.i64(1..60) * 1_500_000_000,
        logical: *rng.pick(&[0, 0, 1, i32::MAX]),
    }
}

/// Any time, including invalid ones.
fn any_time(rng: &mut TestRng) -> Timestamp {
    match rng.u32(..12) {
        0 => Timestamp::ZERO,
        1 => Timestamp::from_nanos(-rng.i64(1..i64::MAX)),
        2 => Timestamp {
            logical: -1,
            ..time(rng)
        },
        _ => time(rng),
    }
}

fn is_negative(time: Timestamp) -> bool {
    time.wall < 0 || time.logical < 0
}

/// True for a window that may have lost versions, or whose bounds are not valid times.
fn is_refused(after: Timestamp, until: Timestamp, threshold: Timestamp) -> bool {
    let begins_below = !after.is_zero() && after < threshold;
    is_negative(after) || begins_below || until.check().is_err() || until <= threshold
}

/// Checks that an export is refused, and leaves no file.
fn refused_export(
    rng: &mut TestRng,
    db: &Db,
    reader: &Reader<'_>,
    span: Span<'_>,
    after: Timestamp,
    until: Timestamp,
) -> Option<Error> {
    // Each export gets a new name: after a crash the file of an earlier export may reappear, because its
    // removal was never made durable.
    let path = PathBuf::from(format!("/refused{}", rng.u64(..)));
    let refused = reader.export_to_sst(span, after, until, None, &path, &ExportOptions::default());
    assert!(!db.options().fs.exists(&path).unwrap());
    refused.err()
}

fn span<'a>(rng: &mut TestRng, start: &'a mut Vec<u8>, end: &'a mut Vec<u8>) -> Span<'a> {
    (*start, *end) = (key(rng), key(rng));
    if start > end {
        std::mem::swap(start, end);
    }
    match rng.u32(..8) {
        0 => Span::ALL,
        1 => Span { start, end: None },
        2 => Span {
            start: b"",
            end: Some(end),
        },
        _ => Span::new(start, end),
    }
}

/// Keys with the same first byte form one row.
fn first_byte(_key: &[u8]) -> usize {
    1
}

fn check_resume(resume: Option<&Resume>) {
    if let Some(resume) = resume {
        assert!(!resume.span().is_empty());
    }
}

/// Applies one operation to the batch and the model. A failed operation must have no effect.
pub fn operate(
    rng: &mut TestRng,
    batch: &mut StoreBatch<'_>,
    model: &mut Model,
    threshold: Timestamp,
    with_inline: bool,
) {
    let key = key(rng);
    // Existing times are the most likely to be confused.
    let newest = model
        .newest(&key)
        .filter(|(time, _)| !time.is_zero() && rng.one_in(6));
    let at = newest.map_or_else(|| any_time(rng), |(time, _)| time);
    let has_inline = model.inline.contains_key(&key);
    let newest = model.newest(&key);
    let too_old = newest.as_ref().is_some_and(|(time, _)| *time >= at);
    let is_time = at.check().is_ok();
    let allowed = is_time && at > threshold && !has_inline && !too_old;
    let text = format!("v{}", rng.u32(..1000)).into_bytes();
    let value = Value::Bytes(&text);
    let (before, count) = (batch.stats(), batch.count());
    let check = |result: Result<bool, Error>, batch: &StoreBatch<'_>| {
        if let Err(error) = &result {
            assert_eq!((batch.stats(), batch.count()), (before, count), "{error}");
            if is_time && at > threshold && !has_inline && too_old {
                let actual = newest.as_ref().unwrap().0.next();
                assert!(matches!(error, Error::WriteTooOld { actual: told, .. } if *told == actual));
            }
        }
        assert_eq!(result.is_ok(), allowed);
        result.unwrap_or(false)
    };
    match rng.u32(..28) {
        0..7 => {
            check(batch.put(&key, at, value).map(|()| true), batch);
            if allowed {
                model.put(&key, at, Some(text));
            }
        }
        7 => {
            if !has_inline && !model.versions.contains_key(&key) {
                check(batch.put_blind(&key, at, value).map(|()| true), batch);
                if allowed {
                    model.put(&key, at, Some(text));
                }
            }
        }
        8..11 => {
            let found = check(batch.delete(&key, at), batch);
            if allowed {
                assert_eq!(found, newest.is_some_and(|(_, value)| value.is_some()));
                model.put(&key, at, None);
            }
        }
        11 => {
            let current = newest.as_ref().and_then(|(_, value)| value.clone());
            let expected = match rng.u32(..3) {
                0 => None,
                1 => Some(b"other".to_vec()),
                _ => current.clone().filter(|value| !value.starts_with(b"int ")),
            };
            let or_none = rng.bool();
            let result =
                batch.conditional_put(&key, at, value, expected.as_deref().map(Value::Bytes), or_none);
            let fits = expected == current || or_none && current.is_none();
            match result {
                Ok(()) => {
                    assert!(allowed && fits);
                    model.put(&key, at, Some(text));
                }
                Err(Error::ConditionFailed { actual }) => {
                    assert!(allowed && !fits);
                    assert_eq!(actual.map(|stored| plain(&stored, &key).unwrap()), current);
                }
                Err(_) => assert!(!allowed),
            }
        }
        12 => {
            let current = newest.as_ref().and_then(|(_, value)| value.clone());
            let number = match &current {
                None => Some(0),
                Some(text) => std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.strip_prefix("int ")?.parse::<i64>().ok()),
            };
            match batch.increment(&key, at, 3) {
                Ok(sum) => {
                    assert!(allowed);
                    assert_eq!(sum, number.unwrap() + 3);
                    model.put(&key, at, Some(format!("int {sum}").into_bytes()));
                }
                Err(_) => assert!(!allowed || number.is_none()),
            }
        }
        13 if with_inline => {
            let set = rng.bool();
            let is_deleted = !has_inline && !model.deletions(&key).is_empty();
            let has_versions = model.versions.contains_key(&key) || is_deleted;
            match batch.put_inline(&key, set.then_some(value)) {
                Ok(found) => {
                    assert!(!has_versions);
                    let old = match set {
                        true => model.inline.insert(key, text),
                        false => model.inline.remove(&key),
                    };
                    assert_eq!(found, old.is_some());
                }
                Err(_) => assert!(has_versions),
            }
        }
        14 => {
            let (mut start, mut end) = Default::default();
            let span = span(rng, &mut start, &mut end);
            let most = rng.bool().then(|| rng.u64(1..3));
            if let Ok(result) = batch.delete_range(span, at, most, true) {
                let live = model.scan(span, at, false);
                let expected: Vec<Vec<u8>> = live.into_iter().map(|(key, ..)| key).collect();
                let deleted = expected
                    .iter()
                    .take(most.map_or(usize::MAX, |most| most as usize));
                assert_eq!(result.keys, deleted.cloned().collect::<Vec<_>>());
                assert_eq!(result.count, result.keys.len() as u64);
                if most.is_none() {
                    assert_eq!(result.resume, None);
                }
                result.keys.iter().for_each(|key| model.put(key, at, None));
            }
        }
        15 => {
            let (mut start, mut end) = Default::default();
            let span = span(rng, &mut start, &mut end);
            if rng.one_in(3) {
                batch.clear_range(span).unwrap();
                model.versions.retain(|key, _| !within(span, key));
                model.inline.retain(|key, _| !within(span, key));
                model.undelete(span, |_| true);
            }
        }
        16 => {
            let (mut start, mut end) = Default::default();
            let whole = span(rng, &mut start, &mut end);
            let options = RevertOptions {
                until: rng.one_in(3).then(|| any_time(rng)),
                max_versions: rng.bool().then(|| rng.u64(..4)),
                max_bytes: rng.bool().then(|| rng.u64(..100)),
            };
            let until = options.until.unwrap_or(Timestamp::MAX);
            match batch.revert_to(whole, at, &options) {
                Ok(result) => {
                    check_resume(result.resume.as_ref());
                    let done = match &result.resume {
                        Some(resume) => Span {
                            start: whole.start,
                            end: Some(&resume.start),
                        },
                        None => whole,
                    };
                    let mut removed = 0;
                    for (_, versions) in model.versions.iter_mut().filter(|(key, _)| within(done, key)) {
                        let len = versions.len();
                        versions.retain(|time, _| *time <= at || *time > until);
                        removed += (len - versions.len()) as u64;
                    }
                    assert_eq!(result.versions, removed);
                    let fragments = match at < until {
                        true => model.fragments(done, at, until),
                        false => Vec::new(),
                    };
                    let times: BTreeSet<_> = fragments.iter().flat_map(|gone| &gone.timestamps).collect();
                    if let Some(resume) = &result.resume {
                        assert!(!done.is_empty(), "each call makes progress");
                        let rows = removed + times.len() as u64;
                        let is_full = options.max_versions.is_some_and(|most| rows >= most);
                        assert!(is_full || resume.reason == ResumeReason::ByteLimit);
                        assert!(options.max_bytes.is_some() || is_full);
                    }
                    let gone = model.undelete(done, |time| time > at && time <= until);
                    assert_eq!(result.range_tombstones, gone);
                }
                Err(_) => {
                    assert_eq!((batch.stats(), batch.count()), (before, count));
                    assert!(
                        at < threshold
                            || is_negative(until)
                            || model.keys(whole).iter().any(|key| model.inline.contains_key(key))
                    );
                }
            }
        }
        17..20 => delete_using_tombstone(rng, batch, model, at, threshold),
        20 => {
            let (mut start, mut end) = Default::default();
            let span = span(rng, &mut start, &mut end);
            let refused = model.versions.iter().any(|(key, versions)| {
                let newest = model.deletions(key).range(..=at).next_back();
                within(span, key) && newest.is_some_and(|newest| versions.range(..=newest).next().is_some())
            });
            match batch.garbage_collect_range_tombstones(span, at) {
                Ok(removed) => {
                    assert!(!refused);
                    assert_eq!(removed, model.undelete(span, |time| time <= at));
                }
                Err(_) => {
                    // Versions that compactions may drop may still exist.
                    assert!(refused || !with_inline);
                    assert_eq!((batch.stats(), batch.count()), (before, count));
                }
            }
        }
        24..26 => collect_whole(rng, batch, model, at, with_inline),
        22..24 => predicate::operate(rng, batch, model, at, threshold),
        21 if with_inline => inline::operate(rng, batch, model),
        _ => {
            let mut keys: Vec<GcKey> = (0..rng.usize(..5))
                .map(|_| GcKey {
                    user_key: self::key(rng),
                    timestamp: any_time(rng),
                })
                .collect();
            let latest = |keys: &[GcKey], of: &GcKey| {
                let same = keys.iter().filter(|key| key.user_key == of.user_key);
                same.map(|key| key.timestamp).max().unwrap()
            };
            let negative = keys.iter().any(|key| is_negative(key.timestamp));
            let refused = keys.iter().any(|key| {
                let newest = model
                    .versions
                    .get(&key.user_key)
                    .and_then(|versions| versions.iter().next_back());
                newest.is_some_and(|(time, value)| {
                    let deleted = model.deletions(&key.user_key).range(time..).next().is_some();
                    *time <= latest(&keys, key) && value.is_some() && !deleted
                })
            });
            let result = batch.garbage_collect(&mut keys);
            assert_eq!(result.is_err(), refused || negative);
            if result.is_err() {
                assert_eq!((batch.stats(), batch.count()), (before, count));
                return;
            }
            for key in &keys {
                model.cut(&key.user_key, key.timestamp);
                if key.timestamp.is_zero() {
                    model.inline.remove(&key.user_key);
                }
            }
        }
    }
}

/// Collects a whole span, where that is allowed.
fn collect_whole(
    rng: &mut TestRng,
    batch: &mut StoreBatch<'_>,
    model: &mut Model,
    at: Timestamp,
    with_inline: bool,
) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    let (before, count) = (batch.stats(), batch.count());
    let is_garbage = |key: &[u8]| {
        let newest = model.deletions(key).last();
        let versions = model.versions.get(key);
        newest.is_some_and(|newest| {
            let since = versions.is_some_and(|versions| versions.range(newest.next()..).next().is_some());
            *newest <= at && !since && !model.inline.contains_key(key)
        })
    };
    let all = stretches(whole).all(|(start, _)| is_garbage(start));
    let is_span = !whole.is_empty() && whole.end.is_some();
    let known = rng
        .bool()
        .then(|| mvcc::compute_stats(&batch.reader(), whole, NOW).unwrap());
    match batch.garbage_collect_whole_span(whole, at, known) {
        Ok(removed) => {
            assert!(is_span && all && !is_negative(at));
            assert!(removed.live_count == 0 && removed.is_plausible());
            model.versions.retain(|key, _| !within(whole, key));
            model.undelete(whole, |_| true);
        }
        Err(_) => {
            // Versions that compactions may drop may still exist.
            assert!(!is_span || !all || is_negative(at) || !with_inline);
            assert_eq!((batch.stats(), batch.count()), (before, count));
        }
    }
}

fn delete_using_tombstone(
    rng: &mut TestRng,
    batch: &mut StoreBatch<'_>,
    model: &mut Model,
    at: Timestamp,
    threshold: Timestamp,
) {
    let (mut start, mut end) = Default::default();
    let span = span(rng, &mut start, &mut end);
    let is_visible = |key: &Vec<u8>| {
        let versions = model.versions.get(key);
        let newest = versions.and_then(|versions| versions.keys().next_back());
        newest.is_some_and(|newest| model.deletions(key).range(newest..).next().is_none())
    };
    let any_visible = model.keys(span).iter().any(is_visible);
    let options = RangeTombstoneOptions {
        idempotent: rng.bool(),
        known: rng
            .one_in(4)
            .then(|| mvcc::compute_stats(&batch.reader(), span, NOW).unwrap()),
    };
    let (before, count) = (batch.stats(), batch.count());
    let newest = |key: &Vec<u8>| {
        model
            .versions
            .get(key)
            .and_then(|versions| versions.keys().next_back())
    };
    let fragments = model.fragments(span, Timestamp::ZERO, Timestamp::MAX);
    let mut newer: Vec<_> = fragments
        .iter()
        .map(|fragment| (&fragment.start, fragment.timestamps[0]))
        .collect();
    let keys = model.keys(span);
    newer.extend(keys.iter().filter_map(|key| Some((key, *newest(key)?))));
    newer.retain(|(_, newest)| *newest >= at);
    let has_inline = keys.iter().any(|key| model.inline.contains_key(key));
    if has_inline && options.known.is_some() {
        // The promise of the blind put must hold.
        return;
    }
    match batch.delete_range_using_tombstone(span, at, &options) {
        Ok(written) => {
            assert!(newer.is_empty() && !has_inline && at > threshold);
            assert_eq!(written, !options.idempotent || any_visible);
            if written {
                model.delete_span(span, at);
            } else {
                assert_eq!((batch.stats(), batch.count()), (before, count));
            }
        }
        Err(error) => {
            assert_eq!((batch.stats(), batch.count()), (before, count));
            let refused = matches!(&error, Error::Engine(error) if error.kind() == ErrorKind::NotSupported);
            if refused {
                assert!(fragments.is_empty());
            } else if let Error::WriteTooOld { key, actual, .. } = error {
                assert_eq!(Some(&key), newer.iter().map(|(key, _)| *key).min());
                assert_eq!(Some(actual), newer.iter().map(|(_, newest)| newest.next()).max());
            } else {
                let is_time = at.check().is_ok() && at > threshold;
                assert!(!is_time || span.end.is_none() || span.is_empty() || has_inline);
            }
        }
    }
}

#[test]
fn the_store_is_the_model() {
    let mut rng = rng::rng();
    let (mut crashes, mut lost) = (0, 0);
    for round in 0..30 {
        let mut fs = Arc::new(MemFs::new());
        let (with_blobs, min) = (rng.bool(), *rng.pick(&[0, 5, 8]));
        // The minimum length from which versions that follow a newer version go to blob files.
        let min_older = *rng.pick(&[0, 1, 6]);
        let only_older = min_older > 0 && rng.bool();
        let compression = *rng.pick(&[CompressionType::None, CompressionType::Lz4]);
        let open = |fs| {
            open_with(fs, "/db", |options| {
                if with_blobs {
                    let min = if only_older { u64::MAX } else { min };
                    blobs(options, min, compression);
                    options.column_family.min_older_version_blob_size = min_older;
                }
            })
        };
        let mut db = open(fs.clone());
        let mut model = Model::default();
        // The states that a crash may leave: the last durable one first.
        let mut since = vec![model.clone()];
        let options = BatchOptions {
            max_steps: rng.u32(..4),
            checksums: rng.bool(),
            min_range_entries: rng.usize(..5),
            range_tombstones: round % 4 > 0,
            ..BatchOptions::default()
        };
        let mut store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
        for _ in 0..25 {
            let threshold = store.threshold();
            let mut batch = store.begin(NOW);
            let mut changed = model.clone();
            let start = store_stats_before(&batch, &model);
            for _ in 0..rng.u32(1..8) {
                operate(&mut rng, &mut batch, &mut changed, threshold, true);
                // The difference is exact after each operation.
                let counted = mvcc::compute_stats(&batch.reader(), Span::ALL, NOW).unwrap();
                let mut told = start;
                told += batch.stats();
                assert_eq!(told, counted);
                assert_eq!(counted, changed.weigh());
                assert!(counted.is_plausible());
            }
            compare::compare(&mut rng, &db, &batch.reader(), &changed, threshold);
            if rng.one_in(4) {
                drop(batch);
            } else {
                let sync = rng.one_in(3);
                let write = WriteOptions {
                    sync,
                    ..WriteOptions::default()
                };
                let is_empty = batch.is_empty();
                batch.commit(&write).unwrap();
                model = changed;
                if sync && !is_empty {
                    since.clear();
                }
                since.push(model.clone());
            }
            assert_eq!(dump(&db), model.dump());
            let deleted = model.fragments(Span::ALL, Timestamp::ZERO, Timestamp::MAX);
            assert_eq!(range_tombstones(&db), deleted);
            match rng.u32(..10) {
                0 => {
                    db.flush().unwrap();
                    since = vec![model.clone()];
                }
                1 => {
                    let family = db.default_column_family();
                    db.compact_range_cf(&family, None, None).unwrap();
                    since = vec![model.clone()];
                }
                2 => {
                    let threshold = time(&mut rng);
                    let options = GcOptions {
                        page_versions: rng.u64(1..4),
                        page_bytes: *rng.pick(&[1, 30, 1 << 20]),
                        min_run_versions: rng.u64(..4),
                        max_run_versions: rng.u64(1..8),
                        ..GcOptions::default()
                    };
                    let before = model.dump().len();
                    let report = store.collect_garbage_at(threshold, NOW, &options).unwrap();
                    model.collect(store.threshold());
                    assert_eq!(dump(&db), model.dump());
                    assert!(!report.recounted);
                    assert_eq!(report.removed.versions as usize, before - model.dump().len());
                    let threshold = store.threshold();
                    assert_eq!(report.range_tombstones, model.collect_range_tombstones(threshold));
                    db.flush_wal(true).unwrap();
                    since = vec![model.clone()];
                    let refused = store.get(b"a", store.threshold(), &MvccReadOptions::default());
                    assert!(
                        store.threshold().is_zero() || matches!(refused, Err(Error::BelowThreshold { .. }))
                    );
                }
                3 => {
                    let threshold = store.threshold();
                    drop(store);
                    drop(db);
                    db = open(fs.clone());
                    store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
                    assert_eq!(store.threshold(), threshold);
                    since = vec![model.clone()];
                }
                4 => {
                    let mut chance = fastrand::Rng::with_seed(rng.u64(..));
                    let left = fs.crash_clone(&mut chance, UnsyncedPolicy::Random);
                    let threshold = store.threshold();
                    drop(store);
                    drop(db);
                    fs = Arc::new(left);
                    db = open(fs.clone());
                    store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
                    assert_eq!(store.threshold(), threshold);
                    let (rows, deleted) = (dump(&db), range_tombstones(&db));
                    let is_left = |model: &Model| {
                        rows == model.dump()
                            && deleted == model.fragments(Span::ALL, Timestamp::ZERO, Timestamp::MAX)
                    };
                    // The crash has kept whole batches, without gaps.
                    let left = since.iter().rposition(is_left);
                    let left = left.expect("the durable batches, and some of those after");
                    lost += since.len() - 1 - left;
                    model = since.swap_remove(left);
                    since = vec![model.clone()];
                    crashes += 1;
                }
                _ => {}
            }
            assert_eq!(
                store.stats(NOW).unwrap(),
                store.recount(NOW).unwrap(),
                "round {round}"
            );
        }
    }
    assert!(
        crashes > 10 && lost > 0,
        "{lost} batches lost in {crashes} crashes"
    );
}

/// The statistics before the batch has changed anything.
fn store_stats_before(batch: &StoreBatch<'_>, model: &Model) -> mvcc::MvccStats {
    let counted = mvcc::compute_stats(&batch.reader(), Span::ALL, NOW).unwrap();
    assert_eq!(counted.key_count as usize, model.keys(Span::ALL).len());
    counted
}
