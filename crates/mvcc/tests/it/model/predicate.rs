//! Deletions of keys written after a time, on a store and on the model.

use esker::ErrorKind;
use mvcc::{Error, PredicateDeleteOptions, Span, StoreBatch, Timestamp};
use testkit::rng::TestRng;

use super::{Model, any_time, is_negative, span};

/// Deletes the keys of a span that were written after a time, from the batch and the model. A failed deletion
/// must have no effect.
pub(super) fn operate(
    rng: &mut TestRng,
    batch: &mut StoreBatch<'_>,
    model: &mut Model,
    at: Timestamp,
    threshold: Timestamp,
) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    // In at least half of the cases the time is above all existing versions.
    let at = if rng.bool() {
        Timestamp::from_nanos(100_000_000_000)
    } else {
        at
    };
    let options = PredicateDeleteOptions {
        after: if rng.bool() {
            Timestamp::ZERO
        } else {
            any_time(rng)
        },
        min_range_keys: rng.bool().then(|| rng.u64(..4)),
        max_keys: rng.one_in(3).then(|| rng.u64(..5)),
        max_bytes: rng.one_in(3).then(|| rng.u64(..60)),
    };
    let (before, count) = (batch.stats(), batch.count());
    match batch.predicate_delete_range(whole, at, &options) {
        Ok(result) => {
            assert!(at > threshold && at > options.after);
            let keys = matches(model, whole, options.after);
            let len = result.keys as usize;
            let left = keys.get(len);
            assert_eq!(result.resume.as_ref().map(|left| &left.start), left);
            match &result.resume {
                Some(left) => assert_eq!(left.end.as_deref(), whole.end),
                None => assert_eq!(len, keys.len()),
            }
            assert!(options.max_keys.is_none_or(|most| result.keys <= most));
            if let Some(most) = options.max_bytes {
                let size = |key: &Vec<u8>| key.len() as u64 + if at.logical == 0 { 10 } else { 14 };
                let bytes: u64 = keys[..len].iter().map(size).sum();
                assert!(bytes <= most || len == 1, "{bytes} of {most}");
                let is_full = left.is_none_or(|left| bytes + size(left) > most);
                assert!(is_full || options.max_keys == Some(result.keys));
            }
            let visited = Span {
                end: left.map(Vec::as_slice).or(whole.end),
                ..whole
            };
            assert!(newer(model, visited, at).is_empty());
            assert!(!model.inline.keys().any(|key| super::within(visited, key)));
            delete(model, &keys[..len], at, &options, result.range_tombstones);
        }
        Err(error) => {
            assert_eq!((batch.stats(), batch.count()), (before, count));
            match error {
                Error::WriteTooOld { key, actual, .. } => {
                    let newer = newer(model, whole, at);
                    assert_eq!(newer.first().map(|(first, _)| first), Some(&key));
                    assert!(newer.iter().any(|(_, newest)| newest.next() == actual));
                }
                Error::BelowThreshold { .. } => assert!(at <= threshold),
                Error::Engine(error) if error.kind() == ErrorKind::NotSupported => {
                    assert!(options.min_range_keys.is_some());
                }
                _ => assert!(
                    at.check().is_err()
                        || at <= options.after
                        || is_negative(options.after)
                        || model.inline.keys().any(|key| super::within(whole, key))
                ),
            }
        }
    }
}

/// The keys of a span with a value that was written after a time.
fn matches(model: &Model, span: Span<'_>, after: Timestamp) -> Vec<Vec<u8>> {
    let live = model.scan(span, Timestamp::MAX, false).into_iter();
    live.filter(|(_, time, _)| *time > after)
        .map(|(key, ..)| key)
        .collect()
}

/// The versions and range tombstones of a span at or above a time, in order.
fn newer(model: &Model, span: Span<'_>, at: Timestamp) -> Vec<(Vec<u8>, Timestamp)> {
    let newest = |key: Vec<u8>| {
        let newest = *model.versions.get(&key)?.keys().next_back()?;
        Some((key, newest))
    };
    let fragments = model.fragments(span, Timestamp::ZERO, Timestamp::MAX);
    let deleted = fragments
        .into_iter()
        .map(|fragment| (fragment.start, fragment.timestamps[0]));
    let mut newer: Vec<_> = model
        .keys(span)
        .into_iter()
        .filter_map(newest)
        .chain(deleted)
        .filter(|(_, newest)| *newest >= at)
        .collect();
    newer.sort();
    newer
}

/// Deletes keys of the model, in runs that no other live key splits.
fn delete(
    model: &mut Model,
    keys: &[Vec<u8>],
    at: Timestamp,
    options: &PredicateDeleteOptions,
    range_tombstones: u64,
) {
    let live = model.scan(Span::ALL, Timestamp::MAX, false);
    let place = |key: &Vec<u8>| live.iter().position(|(at, ..)| at == key).unwrap();
    let runs = keys.chunk_by(|key, next| place(key) + 1 == place(next));
    let mut long = 0;
    for run in runs {
        if options.min_range_keys.is_some_and(|min| run.len() as u64 >= min) {
            let end = mvcc::next_user_key(run.last().unwrap());
            model.delete_span(Span::new(&run[0], &end), at);
            long += 1;
        } else {
            run.iter().for_each(|key| model.put(key, at, None));
        }
    }
    assert_eq!(range_tombstones, long);
}
