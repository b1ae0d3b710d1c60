//! RocksDB's aggregation operator (`utilities/agg_merge`): each operand names the function that combines it.
//!
//! An operand, and each value, is a function's name with its length as a varint before it, and then the
//! payload. Operands of one function are aggregated together. When the function changes, the result so far is
//! the first payload of the new one. An empty name stands for the function of the operands around it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::MergeOperator;
use crate::coding::{Reader, put_length_prefixed};

/// RocksDB's class name of the operator.
const NAME: &str = "AggMergeOperator.v1";

/// The function name of a value whose operands could not be aggregated: its payload is the list of the older
/// value, if there was one, and the operands, which [`aggregation_list`] splits.
pub const AGGREGATION_ERROR: &str = "kErrorFuncName";

/// A function that combines payloads.
///
/// See the example of [`Aggregation`].
pub trait Aggregator: Send + Sync + 'static {
    /// The payload that stands for `payloads`, of which there is at least one, the oldest first. `None`: they
    /// cannot be aggregated; the value then keeps all of them, under the name [`AGGREGATION_ERROR`].
    fn aggregate(&self, payloads: &[&[u8]]) -> Option<Vec<u8>>;

    /// True if operands without their base may be aggregated, so that compactions combine them early.
    /// Default: true.
    fn does_partial_aggregation(&self) -> bool {
        true
    }
}

/// RocksDB's aggregation operator with its functions by name. RocksDB registers them for the process; here
/// each operator has its own.
///
/// ```
/// use std::sync::Arc;
/// use esker_base::merge::{Aggregation, Aggregator, MergeOperator, aggregation_operand, aggregation_parts};
///
/// struct Longest;
/// impl Aggregator for Longest {
///     fn aggregate(&self, payloads: &[&[u8]]) -> Option<Vec<u8>> {
///         payloads.iter().max_by_key(|payload| payload.len()).map(|payload| payload.to_vec())
///     }
/// }
/// let operator = Aggregation::new([("longest", Arc::new(Longest) as Arc<dyn Aggregator>)]);
/// let operands = ["a", "abc", "ab"].map(|word| aggregation_operand("longest", word.as_bytes()));
/// let operands = operands.each_ref().map(|operand| &operand[..]);
/// let value = operator.full_merge(b"key", None, &operands).unwrap();
/// assert_eq!(aggregation_parts(&value), Some((&b"longest"[..], &b"abc"[..])));
/// ```
pub struct Aggregation {
    functions: HashMap<Vec<u8>, Arc<dyn Aggregator>>,
}

impl Aggregation {
    /// An operator with these functions. The name [`AGGREGATION_ERROR`] is never looked up.
    pub fn new<'a>(functions: impl IntoIterator<Item = (&'a str, Arc<dyn Aggregator>)>) -> Aggregation {
        let functions = functions.into_iter();
        Aggregation {
            functions: functions
                .filter(|(name, _)| *name != AGGREGATION_ERROR)
                .map(|(name, function)| (name.as_bytes().to_vec(), function))
                .collect(),
        }
    }

    /// The value of `operands`, oldest first; `None` if a function is unknown or fails, or if no operand
    /// names one. Operands from a malformed one on are ignored, as in RocksDB.
    fn aggregate(&self, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut function: Option<&[u8]> = None;
        let mut payloads: Vec<Payload<'_>> = Vec::new();
        for operand in operands {
            let Some((name, payload)) = aggregation_parts(operand) else {
                break;
            };
            match function {
                // An operand without a function name takes the name of the operands that follow it.
                None => function = Some(name).filter(|name| !name.is_empty()),
                Some(before) if before != name => {
                    payloads = vec![Payload::Aggregated(self.apply(before, &payloads)?)];
                    function = Some(name);
                }
                Some(_) => {}
            }
            payloads.push(Payload::Given(payload));
        }
        let aggregated = self.apply(function?, &payloads)?;
        Some(encoded(function?, &aggregated))
    }

    fn apply(&self, function: &[u8], payloads: &[Payload<'_>]) -> Option<Vec<u8>> {
        let payloads: Vec<&[u8]> = payloads.iter().map(Payload::bytes).collect();
        self.functions.get(function)?.aggregate(&payloads)
    }
}

/// A payload of an operand, or the aggregated result of the operands with the previous function.
enum Payload<'a> {
    Given(&'a [u8]),
    Aggregated(Vec<u8>),
}

impl Payload<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Payload::Given(bytes) => bytes,
            Payload::Aggregated(bytes) => bytes,
        }
    }
}

impl MergeOperator for Aggregation {
    fn name(&self) -> &str {
        NAME
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let all: Vec<&[u8]> = existing.into_iter().chain(operands.iter().copied()).collect();
        Some(self.aggregate(&all).unwrap_or_else(|| {
            let mut list = Vec::new();
            all.iter()
                .for_each(|operand| put_length_prefixed(&mut list, operand));
            encoded(AGGREGATION_ERROR.as_bytes(), &list)
        }))
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let (name, _) = aggregation_parts(older)?;
        let (newer_name, _) = aggregation_parts(newer)?;
        // An older operand without a name takes that of its base, which is not known here.
        if name.is_empty() || name != newer_name {
            return None;
        }
        let function = self.functions.get(name)?;
        function.does_partial_aggregation().then_some(())?;
        self.aggregate(&[older, newer])
    }
}

impl fmt::Debug for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// An operand, or a value to put, of `function`; the empty name stands for the function of other operands.
/// RocksDB's `EncodeAggFuncAndPayload`.
pub fn aggregation_operand(function: &str, payload: &[u8]) -> Vec<u8> {
    encoded(function.as_bytes(), payload)
}

fn encoded(function: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(function.len() + payload.len() + 1);
    put_length_prefixed(&mut out, function);
    out.extend_from_slice(payload);
    out
}

/// The function's name and the payload of an operand or a value: RocksDB's `ExtractAggFuncAndValue`. `None`
/// if it is malformed.
pub fn aggregation_parts(operand: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader::new(operand);
    let name = reader.length_prefixed("aggregation").ok()?;
    Some((name, reader.rest()))
}

/// The items of a payload under [`AGGREGATION_ERROR`]: RocksDB's `ExtractList`. `None` if it is malformed.
pub fn aggregation_list(payload: &[u8]) -> Option<Vec<&[u8]>> {
    let mut reader = Reader::new(payload);
    let mut items = Vec::new();
    while !reader.is_empty() {
        items.push(reader.length_prefixed("aggregation").ok()?);
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum;

    impl Aggregator for Sum {
        fn aggregate(&self, payloads: &[&[u8]]) -> Option<Vec<u8>> {
            let number = |payload: &&[u8]| std::str::from_utf8(payload).ok()?.parse::<i64>().ok();
            let sum: Option<i64> = payloads.iter().map(number).sum();
            Some(sum?.to_string().into_bytes())
        }
    }

    struct Product;

    impl Aggregator for Product {
        fn aggregate(&self, payloads: &[&[u8]]) -> Option<Vec<u8>> {
            let number = |payload: &&[u8]| std::str::from_utf8(payload).ok()?.parse::<i64>().ok();
            let product: Option<i64> = payloads.iter().map(number).product();
            Some(product?.to_string().into_bytes())
        }

        fn does_partial_aggregation(&self) -> bool {
            false
        }
    }

    fn operator() -> Aggregation {
        Aggregation::new([
            ("sum", Arc::new(Sum) as Arc<dyn Aggregator>),
            ("mul", Arc::new(Product)),
        ])
    }

    fn operands(of: &[(&str, &str)]) -> Vec<Vec<u8>> {
        let encoded = |(function, payload): &(&str, &str)| aggregation_operand(function, payload.as_bytes());
        of.iter().map(encoded).collect()
    }

    fn merged(existing: Option<&[u8]>, of: &[(&str, &str)]) -> Vec<u8> {
        let operands = operands(of);
        let operands: Vec<&[u8]> = operands.iter().map(|operand| &operand[..]).collect();
        operator().full_merge(b"k", existing, &operands).unwrap()
    }

    #[test]
    fn operands_of_one_function_are_aggregated() {
        assert_eq!(
            merged(None, &[("sum", "1"), ("sum", "20"), ("sum", "300")]),
            b"\x03sum321"
        );
        // A base value without a function name takes the name of the operands.
        let put = aggregation_operand("", b"200");
        assert_eq!(
            merged(Some(&put), &[("sum", "200"), ("sum", "200")]),
            b"\x03sum600"
        );
    }

    #[test]
    fn a_new_function_begins_with_the_result_of_the_one_before() {
        assert_eq!(
            merged(
                None,
                &[
                    ("sum", "10"),
                    ("sum", "20"),
                    ("mul", "3"),
                    ("mul", "2"),
                    ("sum", "5")
                ]
            ),
            b"\x03sum185"
        );
    }

    #[test]
    fn all_operands_are_kept_where_they_cannot_be_aggregated() {
        let put = aggregation_operand("", b"1");
        // An operand without a name does not take the name of the operand before it.
        assert!(merged(None, &[("sum", "1"), ("", "2"), ("sum", "3")]).starts_with(b"\x0ekErrorFuncName"));
        for last in [("none", "2"), ("sum", "two"), ("", "2")] {
            let value = merged(Some(&put), &[last]);
            let (name, payload) = aggregation_parts(&value).unwrap();
            assert_eq!(name, AGGREGATION_ERROR.as_bytes());
            let last = aggregation_operand(last.0, last.1.as_bytes());
            assert_eq!(aggregation_list(payload).unwrap(), [&put[..], &last[..]]);
        }
        assert_eq!(aggregation_list(b"\x05ab"), None);
        assert_eq!(aggregation_parts(b"\x05ab"), None);
    }

    #[test]
    fn operands_from_a_malformed_one_on_are_ignored() {
        let operands = operands(&[("sum", "1"), ("sum", "2")]);
        let all = [&operands[0][..], b"\x7fno", &operands[1][..]];
        assert_eq!(operator().full_merge(b"k", None, &all).unwrap(), b"\x03sum1");
    }

    #[test]
    fn operands_without_their_base_are_combined_where_the_function_is_known_and_agrees() {
        let combined = |older: (&str, &str), newer: (&str, &str)| {
            let operands = operands(&[older, newer]);
            operator().partial_merge(b"k", &operands[0], &operands[1])
        };
        assert_eq!(combined(("sum", "1"), ("sum", "2")).unwrap(), b"\x03sum3");
        for (older, newer) in [
            (("sum", "1"), ("mul", "2")),
            (("mul", "1"), ("mul", "2")),
            (("", "1"), ("sum", "2")),
            (("none", "1"), ("none", "2")),
            (("sum", "1"), ("sum", "two")),
        ] {
            assert_eq!(combined(older, newer), None);
        }
    }
}
