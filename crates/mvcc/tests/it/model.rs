//! The layer against a map of versions: random operations, flushes, compactions and collections, with few steps before a seek.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker::{Db, FilterPolicy, FlushOptions, Options, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Error, ExportOptions, GcKey, GcOptions, MvccKey, MvccReadOptions, MvccStore,
    Reader, Resume, Span, StoreBatch, Timestamp, Value,
};
use testkit::rng::{self, TestRng};
use vfs::{FileSystem, MemFs};

/// Versions of a key by time; `None` is a deletion.
pub type Versions = BTreeMap<Timestamp, Option<Vec<u8>>>;

/// What should be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub versions: BTreeMap<Vec<u8>, Versions>,
    pub inline: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub type Found = Vec<(Vec<u8>, Timestamp, Option<Vec<u8>>)>;

impl Model {
    /// What a reader sees of a key.
    pub fn get(&self, key: &[u8], at: Timestamp) -> Option<(Timestamp, Option<Vec<u8>>)> {
        if let Some(value) = self.inline.get(key) {
            return Some((Timestamp::ZERO, Some(value.clone())));
        }
        let (time, value) = self.versions.get(key)?.range(..=at).next_back()?;
        Some((*time, value.clone()))
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
    }

    /// Removes the versions of a key at or below a time.
    fn cut(&mut self, key: &[u8], at: Timestamp) {
        if let Some(versions) = self.versions.get_mut(key) {
            versions.retain(|time, _| *time > at);
        }
        self.tidy();
    }

    /// Removes what is garbage at a threshold.
    pub fn collect(&mut self, threshold: Timestamp) {
        for versions in self.versions.values_mut() {
            let newest = versions.range(..=threshold).next_back();
            let kept = newest.and_then(|(time, value)| value.is_some().then_some(*time));
            versions.retain(|time, _| *time > threshold || Some(*time) == kept);
        }
        self.tidy();
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

/// Every version that is stored.
pub fn dump(db: &Db) -> Found {
    let mut iter = db.iter(&Default::default());
    // Behind the store's record.
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

/// As `open`, with compactions that leave garbage out.
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

pub const NOW: i64 = 100_000_000_000;

fn key(rng: &mut TestRng) -> Vec<u8> {
    // Keys that are prefixes of others, and bytes that look like sentinels and lengths.
    rng.pick(&[
        &b"a"[..],
        b"a\0",
        b"a\0\0\0\0\0\0\0\0\x05\x09",
        b"ab",
        b"b",
        b"b\x09",
        b"c",
        b"d",
    ])
    .to_vec()
}

pub fn time(rng: &mut TestRng) -> Timestamp {
    Timestamp {
        wall: rng.i64(1..60) * 1_500_000_000,
        logical: *rng.pick(&[0, 0, 1, i32::MAX]),
    }
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

fn check_resume(resume: Option<&Resume>) {
    if let Some(resume) = resume {
        assert!(!resume.span().is_empty());
    }
}

/// Scans to the end by what each scan leaves, and compares.
fn compare_scans(rng: &mut TestRng, reader: &Reader<'_>, model: &Model) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    let at = time(rng);
    let options = MvccReadOptions {
        max_keys: rng.bool().then(|| rng.u64(1..4)),
        target_bytes: rng.bool().then(|| rng.u64(1..200)),
        tombstones: rng.bool(),
        reverse: rng.bool(),
        ..MvccReadOptions::default()
    };
    let mut expected = model.scan(whole, at, options.tombstones);
    if options.reverse {
        expected.reverse();
    }
    let mut found = Vec::new();
    let mut left = Some((whole.start.to_vec(), whole.end.map(<[u8]>::to_vec)));
    while let Some((start, end)) = left.take() {
        let span = Span {
            start: &start,
            end: end.as_deref(),
        };
        let result = reader.scan(span, at, &options).unwrap();
        check_resume(result.resume.as_ref());
        assert!(options.max_keys.is_none_or(|most| result.rows.len() <= most));
        if let Some(target) = options.target_bytes {
            assert!(result.rows.bytes() <= target || result.rows.len() == 1);
        }
        if result.resume.is_some() {
            assert!(!result.rows.is_empty(), "it gets on");
        }
        for row in result.rows.iter() {
            found.push((
                row.user_key.to_vec(),
                row.timestamp,
                plain(row.stored, row.user_key),
            ));
        }
        left = result.resume.map(|resume| (resume.start, resume.end));
    }
    assert_eq!(found, expected, "{options:?} at {at}");
    let locking = MvccReadOptions {
        fail_on_more_recent: true,
        reverse: options.reverse,
        ..MvccReadOptions::default()
    };
    let newer = model
        .keys(whole)
        .into_iter()
        .filter_map(|key| {
            Some((
                key.clone(),
                model.versions.get(&key)?.keys().next_back().copied()?,
            ))
        })
        .filter(|(_, newest)| *newest >= at)
        .collect::<Vec<_>>();
    match reader.scan(whole, at, &locking) {
        Ok(_) => assert!(newer.is_empty()),
        Err(Error::WriteTooOld { key, actual, .. }) => {
            let first = if options.reverse {
                newer.last()
            } else {
                newer.first()
            };
            assert_eq!(key, first.unwrap().0);
            let latest = newer.iter().map(|(_, newest)| *newest).max().unwrap();
            assert_eq!(actual, latest.next());
        }
        Err(other) => panic!("{other}"),
    }
    let (after, until) = (time(rng), time(rng));
    let empty = model.keys(whole).iter().all(|key| {
        let in_window = |versions: &Versions| versions.keys().any(|time| *time > after && *time <= until);
        !model.inline.contains_key(key) && !model.versions.get(key).is_some_and(in_window)
    });
    assert_eq!(reader.is_span_empty(whole, after, until).unwrap(), empty);
}

/// What was written in a window, walked, and exported into another database piece by piece.
fn compare_window(rng: &mut TestRng, db: &Db, reader: &Reader<'_>, model: &Model) {
    let (mut start, mut end) = Default::default();
    let span = span(rng, &mut start, &mut end);
    let (after, until) = (if rng.one_in(3) { Timestamp::ZERO } else { time(rng) }, time(rng));
    let all: Found = model
        .dump()
        .into_iter()
        .filter(|(key, at, _)| within(span, key) && *at > after && *at <= until)
        .collect();
    let mut found = Vec::new();
    let mut iter = reader.incremental(span, after, until).unwrap();
    while let Some(row) = iter.next().unwrap() {
        found.push((
            row.user_key.to_vec(),
            row.timestamp,
            plain(row.stored, row.user_key),
        ));
    }
    assert_eq!(found, all, "({after}, {until}]");
    assert!(iter.next().unwrap().is_none());
    let mut newest = all.clone();
    newest.dedup_by(|later, first| later.0 == first.0);
    let mut found = Vec::new();
    let mut iter = reader.incremental(span, after, until).unwrap();
    while let Some(row) = iter.next_key().unwrap() {
        found.push((
            row.user_key.to_vec(),
            row.timestamp,
            plain(row.stored, row.user_key),
        ));
    }
    assert_eq!(found, newest);
    let options = ExportOptions {
        all_revisions: rng.bool(),
        target_bytes: rng.bool().then(|| rng.u64(1..100)),
        max_bytes: rng.bool().then_some(80),
        stop_mid_key: true,
    };
    let name = format!("/copy{}", rng.u64(..));
    let copy = open_at(db.options().fs.clone(), &name);
    let mut from = None;
    for piece in 0.. {
        let path = PathBuf::from(format!("{name}.{piece}"));
        let result = reader
            .export_to_sst(span, after, until, from.as_ref(), &path, &options)
            .unwrap();
        assert_eq!(result.file.is_some(), result.versions > 0);
        assert!(options.max_bytes.is_none_or(|most| result.bytes <= most));
        if result.file.is_some() {
            copy.ingest_external_file(&[path], &Default::default()).unwrap();
        }
        from = result.resume;
        if from.is_none() {
            break;
        }
    }
    let mut expected = if options.all_revisions { all } else { newest };
    if !options.all_revisions && after.is_zero() {
        expected.retain(|(_, _, value)| value.is_some());
    }
    assert_eq!(dump(&copy), expected, "{options:?}");
}

fn compare(rng: &mut TestRng, db: &Db, reader: &Reader<'_>, model: &Model) {
    compare_window(rng, db, reader, model);
    for _ in 0..4 {
        let (key, at) = (key(rng), time(rng));
        let tombstones = rng.bool();
        let options = MvccReadOptions {
            tombstones,
            ..MvccReadOptions::default()
        };
        let found = reader.get(&key, at, &options).unwrap().found;
        let found = found.map(|found| (found.timestamp, plain(&found.stored, &key)));
        let expected = model
            .get(&key, at)
            .filter(|(_, value)| tombstones || value.is_some());
        assert_eq!(found, expected);
        compare_scans(rng, reader, model);
    }
    let parted = reader.find_split_key(Span::ALL, rng.u64(..400)).unwrap();
    let keys = model.keys(Span::ALL);
    match parted {
        Some(key) => assert!(keys.iter().skip(1).any(|at| *at == key)),
        None => assert!(keys.len() < 2),
    }
}

/// One operation on the batch and the model. What fails must have no effect.
pub fn operate(
    rng: &mut TestRng,
    batch: &mut StoreBatch<'_>,
    model: &mut Model,
    threshold: Timestamp,
    with_inline: bool,
) {
    let (key, at) = (key(rng), time(rng));
    let has_inline = model.inline.contains_key(&key);
    let newest = model.newest(&key);
    let too_old = newest.as_ref().is_some_and(|(time, _)| *time >= at);
    let allowed = at > threshold && !has_inline && !too_old;
    let text = format!("v{}", rng.u32(..1000)).into_bytes();
    let value = Value::Bytes(&text);
    let (before, count) = (batch.stats(), batch.count());
    let check = |result: Result<bool, Error>, batch: &StoreBatch<'_>| {
        if let Err(error) = &result {
            assert_eq!((batch.stats(), batch.count()), (before, count), "{error}");
            if at > threshold && !has_inline && too_old {
                let actual = newest.as_ref().unwrap().0.next();
                assert!(matches!(error, Error::WriteTooOld { actual: told, .. } if *told == actual));
            }
        }
        assert_eq!(result.is_ok(), allowed);
        result.unwrap_or(false)
    };
    match rng.u32(..20) {
        0..7 => {
            check(batch.put(&key, at, value).map(|()| true), batch);
            if allowed {
                model.put(&key, at, Some(text));
            }
        }
        7 => {
            if newest.is_none() && at > threshold {
                batch.put_blind(&key, at, value).unwrap();
                model.put(&key, at, Some(text));
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
            let has_versions = model.versions.contains_key(&key);
            let set = rng.bool();
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
            }
        }
        16 => {
            let (mut start, mut end) = Default::default();
            let whole = span(rng, &mut start, &mut end);
            let most = rng.bool().then(|| rng.u64(1..4));
            match batch.revert_to(whole, at, most) {
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
                        versions.retain(|time, _| *time <= at);
                        removed += (len - versions.len()) as u64;
                    }
                    assert_eq!(result.versions, removed);
                    model.tidy();
                }
                Err(_) => {
                    assert_eq!((batch.stats(), batch.count()), (before, count));
                    assert!(
                        at < threshold || model.keys(whole).iter().any(|key| model.inline.contains_key(key))
                    );
                }
            }
        }
        _ => {
            let mut keys: Vec<GcKey> = (0..rng.usize(..5))
                .map(|_| GcKey {
                    user_key: self::key(rng),
                    timestamp: time(rng),
                })
                .collect();
            let latest = |keys: &[GcKey], of: &GcKey| {
                let same = keys.iter().filter(|key| key.user_key == of.user_key);
                same.map(|key| key.timestamp).max().unwrap()
            };
            let refused = keys.iter().any(|key| {
                let newest = model
                    .versions
                    .get(&key.user_key)
                    .and_then(|versions| versions.iter().next_back());
                newest.is_some_and(|(time, value)| *time <= latest(&keys, key) && value.is_some())
            });
            let result = batch.garbage_collect(&mut keys);
            assert_eq!(result.is_err(), refused);
            if result.is_err() {
                assert_eq!((batch.stats(), batch.count()), (before, count));
                return;
            }
            for key in &keys {
                model.cut(&key.user_key, key.timestamp);
                model.inline.remove(&key.user_key);
            }
        }
    }
}

#[test]
fn the_store_is_the_model() {
    let mut rng = rng::rng();
    for round in 0..30 {
        let fs = Arc::new(MemFs::new());
        let mut db = open(fs.clone());
        let mut model = Model::default();
        let options = BatchOptions {
            max_steps: rng.u32(..4),
            checksums: rng.bool(),
            min_range_entries: rng.usize(..5),
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
            }
            compare(&mut rng, &db, &batch.reader(), &changed);
            if rng.one_in(4) {
                drop(batch);
            } else {
                batch.commit(&WriteOptions::default()).unwrap();
                model = changed;
            }
            assert_eq!(dump(&db), model.dump());
            match rng.u32(..10) {
                0 => db.flush(&FlushOptions::default()).unwrap(),
                1 => {
                    let family = db.default_column_family();
                    db.compact_range(&family, &Default::default(), None, None)
                        .unwrap();
                }
                2 => {
                    let threshold = time(&mut rng);
                    let options = GcOptions {
                        page_versions: rng.u64(1..4),
                        min_run_versions: rng.u64(..4),
                        max_run_versions: rng.u64(1..8),
                        ..GcOptions::default()
                    };
                    let before = model.dump().len();
                    let report = store.collect_garbage_at(threshold, NOW, &options).unwrap();
                    model.collect(store.threshold());
                    assert_eq!(dump(&db), model.dump());
                    assert_eq!(report.removed.versions as usize, before - model.dump().len());
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
}

/// What there is before the batch has done anything.
fn store_stats_before(batch: &StoreBatch<'_>, model: &Model) -> mvcc::MvccStats {
    let counted = mvcc::compute_stats(&batch.reader(), Span::ALL, NOW).unwrap();
    assert_eq!(counted.key_count as usize, model.keys(Span::ALL).len());
    counted
}
