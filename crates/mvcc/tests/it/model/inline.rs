//! Operations on inline values, on a store and on the model.

use mvcc::{Error, StoreBatch, Value};
use testkit::rng::TestRng;

use super::{Model, key, plain, span, within};

/// Applies one operation on inline values to the batch and the model. A failed operation must have no effect.
pub(super) fn operate(rng: &mut TestRng, batch: &mut StoreBatch<'_>, model: &mut Model) {
    let key = key(rng);
    let current = model.inline.get(&key).cloned();
    let is_deleted = current.is_none() && !model.deletions(&key).is_empty();
    let is_refused = model.versions.contains_key(&key) || is_deleted;
    match rng.u32(..3) {
        0 => put_if(rng, batch, model, &key, is_refused),
        1 => {
            let number = match &current {
                None => Some(0),
                Some(text) => std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.strip_prefix("int ")?.parse::<i64>().ok()),
            };
            match batch.increment_inline(&key, -7) {
                Ok(sum) => {
                    assert!(!is_refused);
                    assert_eq!(sum, number.unwrap() - 7);
                    model.inline.insert(key, format!("int {sum}").into_bytes());
                }
                Err(_) => assert!(is_refused || number.is_none()),
            }
        }
        _ => delete_range(rng, batch, model),
    }
}

fn put_if(rng: &mut TestRng, batch: &mut StoreBatch<'_>, model: &mut Model, key: &[u8], is_refused: bool) {
    let current = model.inline.get(key).cloned();
    let expected = match rng.u32(..3) {
        0 => None,
        1 => Some(b"other".to_vec()),
        _ => current.clone().filter(|value| !value.starts_with(b"int ")),
    };
    let text = format!("i{}", rng.u32(..1000)).into_bytes();
    let (set, or_none) = (rng.bool(), rng.bool());
    let (before, count) = (batch.stats(), batch.count());
    let result = batch.conditional_put_inline(
        key,
        set.then_some(Value::Bytes(&text)),
        expected.as_deref().map(Value::Bytes),
        or_none,
    );
    let fits = expected == current || or_none && current.is_none();
    match &result {
        Ok(()) => {
            assert!(!is_refused && fits);
            match set {
                true => model.inline.insert(key.to_vec(), text),
                false => model.inline.remove(key),
            };
        }
        Err(Error::ConditionFailed { actual }) => {
            assert!(!is_refused && !fits);
            let actual = actual.as_ref().map(|stored| plain(stored, key).unwrap());
            assert_eq!(actual, current);
        }
        Err(_) => assert!(is_refused),
    }
    if result.is_err() {
        assert_eq!((batch.stats(), batch.count()), (before, count));
    }
}

fn delete_range(rng: &mut TestRng, batch: &mut StoreBatch<'_>, model: &mut Model) {
    let (mut start, mut end) = Default::default();
    let whole = span(rng, &mut start, &mut end);
    let most = rng.bool().then(|| rng.usize(..3));
    let (before, count) = (batch.stats(), batch.count());
    let keys: Vec<Vec<u8>> = model.keys(whole).into_iter().collect();
    let (seen, left) = keys.split_at(most.unwrap_or(keys.len()).min(keys.len()));
    let is_refused = seen.iter().any(|key| model.versions.contains_key(key));
    match batch.delete_range_inline(whole, most.map(|most| most as u64), true) {
        Ok(result) => {
            assert!(!is_refused);
            assert_eq!((&result.keys[..], result.count), (seen, seen.len() as u64));
            assert_eq!(result.resume.map(|left| left.start).as_ref(), left.first());
            model
                .inline
                .retain(|key, _| !within(whole, key) || left.contains(key));
        }
        Err(_) => {
            assert!(is_refused);
            assert_eq!((batch.stats(), batch.count()), (before, count));
        }
    }
}
