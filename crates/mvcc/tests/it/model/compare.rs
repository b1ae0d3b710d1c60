//! Every read of a store, compared with the model.

use std::collections::BTreeSet;
use std::path::PathBuf;

use esker::{Db, ErrorKind, WriteOptions};
use mvcc::{
    BatchOptions, Error, ExportOptions, MvccReadOptions, MvccStore, ReadCounters, Reader, ResumeReason, Span,
    Timestamp,
};
use testkit::rng::TestRng;

use super::{
    Found, Model, NOW, any_time, check_resume, dump, first_byte, is_refused, iterator, key, open_at, plain,
    range_tombstones, refused_export, span, within,
};

/// Scans to the end, each scan from the rest of the last, and compares.
fn compare_scans(rng: &mut TestRng, reader: &Reader<'_>, model: &Model, threshold: Timestamp) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    let at = any_time(rng);
    let options = MvccReadOptions {
        max_keys: rng.bool().then(|| rng.u64(1..4)),
        target_bytes: rng.bool().then(|| rng.u64(1..200)),
        tombstones: rng.bool(),
        reverse: rng.bool(),
        whole_rows: rng.one_in(3).then_some(first_byte),
        ..MvccReadOptions::default()
    };
    if at.check().is_err() || at <= threshold {
        assert!(reader.scan(whole, at, &options).is_err());
        return;
    }
    let mut expected = model.scan(whole, at, options.tombstones);
    if options.reverse {
        expected.reverse();
    }
    let mut found = Vec::new();
    let mut counters = ReadCounters::default();
    let mut left = Some((whole.start.to_vec(), whole.end.map(<[u8]>::to_vec)));
    while let Some((start, end)) = left.take() {
        let span = Span {
            start: &start,
            end: end.as_deref(),
        };
        let result = reader.scan(span, at, &options).unwrap();
        check_resume(result.resume.as_ref());
        counters += result.counters;
        let rows = result
            .rows
            .iter()
            .map(|row| row.user_key[0])
            .collect::<BTreeSet<_>>();
        let is_one_row = options.whole_rows.is_some() && rows.len() == 1;
        assert!(is_one_row || options.max_keys.is_none_or(|most| result.rows.len() <= most));
        if let Some(target) = options.target_bytes {
            assert!(is_one_row || result.rows.bytes() <= target || result.rows.len() == 1);
        }
        if let (Some(left), Some(_)) = (&result.resume, options.whole_rows) {
            // The rest of the span begins with another row.
            let left = model.scan(left.span(), at, options.tombstones);
            assert!(left.iter().all(|(key, ..)| !rows.contains(&key[0])));
        }
        if result.resume.is_some() {
            assert!(!result.rows.is_empty(), "each scan makes progress");
        }
        for row in result.rows.iter() {
            found.push((
                row.user_key.to_vec(),
                row.timestamp,
                plain(row.stored, row.user_key),
            ));
        }
        if let (Some(resume), Some(target)) = (&result.resume, options.target_bytes)
            && resume.reason == ResumeReason::ByteLimit
            && options.whole_rows.is_none()
        {
            // The scan stopped at a row that it would have returned.
            let next = &expected[found.len()].0;
            assert!(result.rows.bytes() + resume.next_bytes > target);
            assert!(match options.reverse {
                false => *next == resume.start,
                true => resume.end == Some(mvcc::next_user_key(next)),
            });
        }
        left = result.resume.map(|resume| (resume.start, resume.end));
    }
    assert_eq!(found, expected, "{options:?} at {at}");
    let without_end = Span::new(whole.start, b"");
    assert!(reader.scan(without_end, at, &options).is_err());
    assert_eq!(counters.rows, found.len() as u64);
    assert!(counters.skipped <= counters.steps + counters.seeks);
    // Parts of rows were read without being returned.
    let exact = options.whole_rows.is_none();
    let deleted = match options.tombstones {
        true => 0,
        false => model.scan(whole, at, true).len() as u64 - counters.rows,
    };
    // Keys that range tombstones hide may be skipped.
    match model.deleted.is_empty() {
        true => assert!(!exact || counters.tombstones == deleted),
        false => assert!(!exact || counters.tombstones <= deleted),
    }
    let locking = MvccReadOptions {
        fail_on_more_recent: true,
        reverse: options.reverse,
        ..MvccReadOptions::default()
    };
    let newest = |key: Vec<u8>| {
        let newest = *model.versions.get(&key)?.keys().next_back()?;
        Some((key, newest))
    };
    let fragments = model.fragments(whole, Timestamp::ZERO, Timestamp::MAX);
    let deleted = fragments
        .into_iter()
        .map(|fragment| (fragment.start, fragment.timestamps[0]));
    let mut newer: Vec<_> = model
        .keys(whole)
        .into_iter()
        .filter_map(newest)
        .chain(deleted)
        .collect();
    newer.retain(|(_, newest)| *newest >= at);
    newer.sort();
    if options.reverse {
        newer.reverse();
    }
    match reader.scan(whole, at, &locking) {
        Ok(_) => assert!(newer.is_empty()),
        Err(Error::WriteTooOld { key, actual, .. }) => {
            let latest = newer.iter().map(|(_, newest)| *newest).max().unwrap();
            let first = newer.iter().find(|(_, newest)| *newest == latest);
            assert_eq!((&key, actual), (&first.unwrap().0, latest.next()));
        }
        Err(other) => panic!("{other}"),
    }
    let (after, until) = (any_time(rng), any_time(rng));
    if is_refused(after, until, threshold) {
        assert!(reader.is_span_empty(whole, after, until).is_err());
        assert!(reader.range_tombstones(whole, after, until).is_err());
        return;
    }
    let in_window = |key: &Vec<u8>| {
        let versions = model.versions.get(key);
        versions.is_some_and(|versions| versions.keys().any(|time| *time > after && *time <= until))
    };
    let keys = model.keys(whole);
    let first = keys
        .iter()
        .find(|key| model.inline.contains_key(*key) || in_window(key));
    let deleted = model.fragments(whole, after, until);
    match reader.is_span_empty(whole, after, until) {
        Ok(empty) => assert_eq!(empty, first.is_none() && deleted.is_empty()),
        Err(_) => assert!(deleted.is_empty() && model.inline.contains_key(first.unwrap())),
    }
    let all = reader.is_span_empty(whole, Timestamp::ZERO, Timestamp::MAX);
    let any_deleted = !model.fragments(whole, Timestamp::ZERO, Timestamp::MAX).is_empty();
    assert_eq!(all.unwrap(), keys.is_empty() && !any_deleted);
    assert_eq!(reader.range_tombstones(whole, after, until).unwrap(), deleted);
}

/// The versions written in a window, iterated, and exported into another database piece by piece.
fn compare_window(rng: &mut TestRng, db: &Db, reader: &Reader<'_>, model: &Model, threshold: Timestamp) {
    let (mut start, mut end) = Default::default();
    let span = span(rng, &mut start, &mut end);
    let after = if rng.one_in(3) {
        Timestamp::ZERO
    } else {
        any_time(rng)
    };
    let until = any_time(rng);
    if is_refused(after, until, threshold) {
        assert!(reader.incremental(span, after, until).is_err());
        let refused = refused_export(rng, db, reader, span, after, until);
        assert!(refused.is_some());
        return;
    }
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
    if model.inline.keys().any(|key| within(span, key)) {
        let refused = refused_export(rng, db, reader, span, after, until);
        assert!(matches!(refused, Some(Error::Engine(error)) if error.kind() == ErrorKind::InvalidArgument));
        return;
    }
    let options = ExportOptions {
        all_revisions: rng.bool(),
        target_bytes: rng.bool().then(|| rng.u64(1..100)),
        max_bytes: rng.bool().then_some(80),
        stop_mid_key: true,
    };
    let name = format!("/copy{}", rng.u64(..));
    let copy = open_at(db.options().fs.clone(), &name);
    let taking = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let store = MvccStore::open(&copy, &copy.default_column_family(), taking, NOW).unwrap();
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
            store.repair_stats(NOW).unwrap();
        }
        let mut batch = store.begin(NOW);
        batch.import_range_tombstones(&result.range_tombstones).unwrap();
        batch.commit(&WriteOptions::default()).unwrap();
        assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
        from = result.resume;
        if from.is_none() {
            break;
        }
    }
    let mut expected = if options.all_revisions { all } else { newest };
    let mut deleted = model.clone();
    deleted.undelete(Span::ALL, |time| time <= after || time > until);
    if !options.all_revisions {
        expected.retain(|(key, time, _)| deleted.deletions(key).range(time..).next().is_none());
        deleted.deleted.values_mut().for_each(|times| {
            let newest = times.last().copied();
            times.retain(|time| Some(*time) == newest && !after.is_zero());
        });
    }
    if !options.all_revisions && after.is_zero() {
        expected.retain(|(_, _, value)| value.is_some());
    }
    assert_eq!(dump(&copy), expected, "{options:?}");
    assert_eq!(
        range_tombstones(&copy),
        deleted.fragments(span, Timestamp::ZERO, Timestamp::MAX),
        "{options:?}"
    );
}

pub(super) fn compare(rng: &mut TestRng, db: &Db, reader: &Reader<'_>, model: &Model, threshold: Timestamp) {
    compare_window(rng, db, reader, model, threshold);
    iterator::compare(rng, reader, model);
    for _ in 0..4 {
        let (key, at) = (key(rng), any_time(rng));
        let tombstones = rng.bool();
        let options = MvccReadOptions {
            tombstones,
            ..MvccReadOptions::default()
        };
        let found = reader.get(&key, at, &options);
        assert_eq!(found.is_ok(), at.check().is_ok() && at > threshold);
        if let Ok(found) = found {
            let found = found
                .found
                .map(|found| (found.timestamp, plain(&found.stored, &key)));
            let expected = model.get(&key, at);
            assert_eq!(found, expected.filter(|(_, value)| tombstones || value.is_some()));
        }
        compare_scans(rng, reader, model, threshold);
    }
    let parted = reader.find_split_key(Span::ALL, rng.u64(..400)).unwrap();
    let keys = model.keys(Span::ALL);
    match parted {
        Some(key) => assert!(keys.iter().skip(1).any(|at| *at == key)),
        None => assert!(keys.len() < 2),
    }
}
