//! Iteration over versions and range tombstones together, and scans of all versions, against the model.

use std::cmp::Ordering;

use mvcc::{KeyTypes, MvccIterator, RangeTombstone, Reader, Span, Timestamp, VersionScanOptions};
use testkit::rng::TestRng;

use super::{Found, Model, key, plain, span, time, within};

/// The position of an iterator.
type IteratorPosition = (Vec<u8>, Timestamp);

fn order(a: &IteratorPosition, b: &IteratorPosition) -> Ordering {
    let newest_first = |time: Timestamp| (!time.is_zero(), std::cmp::Reverse(time));
    a.0.cmp(&b.0).then(newest_first(a.1).cmp(&newest_first(b.1)))
}

pub(super) fn compare(rng: &mut TestRng, reader: &Reader<'_>, model: &Model) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    let all: Found = model
        .dump()
        .into_iter()
        .filter(|(key, ..)| within(whole, key))
        .collect();
    compare_scans(rng, reader, whole, &all);
    let types = *rng.pick(&[KeyTypes::Points, KeyTypes::Ranges, KeyTypes::PointsAndRanges]);
    let points = if types == KeyTypes::Ranges {
        Vec::new()
    } else {
        all
    };
    let ranges = match types {
        KeyTypes::Points => Vec::new(),
        _ => model.fragments(whole, Timestamp::ZERO, Timestamp::MAX),
    };
    walk(rng, reader.iter(whole, types).unwrap(), &points, &ranges);
}

/// Compares scans page by page.
fn compare_scans(rng: &mut TestRng, reader: &Reader<'_>, span: Span<'_>, all: &Found) {
    let mut options = VersionScanOptions {
        from: None,
        max_versions: rng.bool().then(|| rng.u64(1..6)),
        target_bytes: rng.bool().then(|| rng.u64(1..200)),
    };
    let mut found = Vec::new();
    loop {
        let result = reader.scan_versions(span, &options).unwrap();
        assert!(options.max_versions.is_none_or(|most| result.rows.len() <= most));
        let fits = |target| result.rows.bytes() <= target || result.rows.len() == 1;
        assert!(options.target_bytes.is_none_or(fits));
        for row in result.rows.iter() {
            let value = plain(row.stored, row.user_key);
            found.push((row.user_key.to_vec(), row.timestamp, value));
        }
        match result.resume {
            Some((from, _)) => {
                assert!(!result.rows.is_empty(), "each page makes progress");
                options.from = Some(from);
            }
            None => break,
        }
    }
    assert_eq!(&found, all);
}

fn walk(rng: &mut TestRng, mut iter: MvccIterator, points: &Found, ranges: &[RangeTombstone]) {
    let mut places: Vec<IteratorPosition> =
        points.iter().map(|(key, time, _)| (key.clone(), *time)).collect();
    places.extend(ranges.iter().map(|range| (range.start.clone(), Timestamp::ZERO)));
    places.sort_by(order);
    places.dedup();
    let mut here: Option<IteratorPosition> = None;
    let mut covering: Option<RangeTombstone> = None;
    for _ in 0..30 {
        let first_from = |place: &IteratorPosition| {
            let at = places.partition_point(|other| order(other, place).is_lt());
            places.get(at).cloned()
        };
        let last_before = |place: &IteratorPosition| {
            let at = places.partition_point(|other| order(other, place).is_lt());
            at.checked_sub(1).map(|at| places[at].clone())
        };
        let covers = |key: &[u8]| {
            ranges
                .iter()
                .find(|range| *range.start <= *key && *key < *range.end)
        };
        let behind_key = |place: &IteratorPosition| (mvcc::next_user_key(&place.0), Timestamp::ZERO);
        let moved = match rng.u32(..10) {
            0 => {
                here = places.first().cloned();
                iter.seek_to_first()
            }
            1 => {
                here = places.last().cloned();
                iter.seek_to_last()
            }
            2 => {
                let at = if rng.bool() { Timestamp::ZERO } else { time(rng) };
                let place = (key(rng), at);
                here = match covers(&place.0) {
                    Some(_) => Some(place.clone()),
                    None => first_from(&place),
                };
                iter.seek(&place.0, at)
            }
            3 => {
                let place = (key(rng), Timestamp::ZERO);
                here = last_before(&place);
                iter.seek_before(&place.0)
            }
            4..7 => {
                here = here.and_then(|here| {
                    let at = places.partition_point(|other| order(other, &here).is_le());
                    places.get(at).cloned()
                });
                iter.next()
            }
            7 => {
                here = here.and_then(|here| first_from(&behind_key(&here)));
                iter.next_key()
            }
            _ => {
                here = here.and_then(|here| last_before(&here));
                iter.prev()
            }
        };
        assert_eq!(moved.unwrap(), here.is_some());
        assert_eq!(iter.user_key(), here.as_ref().map(|(key, _)| &key[..]));
        let expected = points.iter().find(|(key, time, _)| {
            here.as_ref()
                .is_some_and(|here| *key == here.0 && *time == here.1)
        });
        let point = iter.point().unwrap();
        let point = point.map(|row| {
            (
                row.user_key.to_vec(),
                row.timestamp,
                plain(row.stored, row.user_key),
            )
        });
        assert_eq!(point.as_ref(), expected);
        let covering_now = here.as_ref().and_then(|(key, _)| covers(key)).cloned();
        let told = iter.range_tombstone().map(|range| RangeTombstone {
            start: range.start.to_vec(),
            end: range.end.to_vec(),
            timestamps: range.timestamps.to_vec(),
        });
        assert_eq!(told, covering_now);
        assert_eq!(iter.range_changed(), covering != covering_now);
        covering = covering_now;
    }
}
