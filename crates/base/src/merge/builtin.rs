//! RocksDB's own merge operators, under its names.

use std::sync::Arc;

use super::MergeOperator;

/// The built-in operator that has this name: RocksDB's class name or its short name.
pub fn builtin(name: &str) -> Option<Arc<dyn MergeOperator>> {
    Some(match name {
        APPEND | "stringappend" => Arc::new(StringAppend::new(",")),
        APPEND_TEST | "stringappendtest" => Arc::new(StringAppend::test(",")),
        "UInt64AddOperator" | "uint64add" => Arc::new(UInt64Add),
        "PutOperator" | "put" | "put_v1" => Arc::new(Put),
        "MaxOperator" | "max" => Arc::new(Max),
        "BytesXOR" | "bytesxor" => Arc::new(BytesXor),
        "MergeSortOperator" | "sortlist" => Arc::new(SortList),
        _ => return None,
    })
}

/// The built-in operator that an OPTIONS file names: `NAME`, or with settings `{id=NAME;delimiter=...}`. If
/// there is none, the error is the name.
pub fn from_text(text: &str) -> Result<Arc<dyn MergeOperator>, &str> {
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return builtin(text).ok_or(text);
    };
    let id = field(inner, "id").unwrap_or_default();
    let delimiter = field(inner, "delimiter");
    match (id, delimiter) {
        (APPEND, Some(delimiter)) => Ok(Arc::new(StringAppend::new(delimiter))),
        (APPEND_TEST, Some(delimiter)) => Ok(Arc::new(StringAppend::test(delimiter))),
        _ => builtin(id).ok_or(id),
    }
}

/// The value of the field `name` in `{id=ID;...}`, if the text is for `id`.
pub fn field_of<'a>(text: &'a str, id: &str, name: &str) -> Option<&'a str> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    (field(inner, "id")? == id).then_some(())?;
    raw_field(inner, name)
}

/// The value of a field in `name=value;name={value};...`, without its braces.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = raw_field(text, name)?;
    let inner = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
    Some(inner.unwrap_or(value))
}

/// The value of a field in `name=value;name={value};...`, with its braces.
fn raw_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut depth = 0;
    let parts = text.split(|char| {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        char == ';' && depth == 0
    });
    let mut values = parts.filter_map(|part| part.trim_start().strip_prefix(name)?.strip_prefix('='));
    values.next()
}

const APPEND: &str = "StringAppendOperator";
const APPEND_TEST: &str = "StringAppendTESTOperator";

/// Joins the value and the operands with a delimiter.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::StringAppend;
///
/// let merged = StringAppend::new(",").full_merge(b"key", Some(b"a"), &[b"b", b"c"]);
/// assert_eq!(merged.unwrap(), b"a,b,c");
/// ```
#[derive(Debug)]
pub struct StringAppend {
    name: &'static str,
    delimiter: Vec<u8>,
}

impl StringAppend {
    /// Joins with a delimiter of any length.
    pub fn new(delimiter: impl Into<Vec<u8>>) -> StringAppend {
        StringAppend {
            name: APPEND,
            delimiter: delimiter.into(),
        }
    }

    /// RocksDB's `StringAppendTESTOperator`, which makes the same value but never merges operands without
    /// one.
    pub fn test(delimiter: impl Into<Vec<u8>>) -> StringAppend {
        StringAppend {
            name: APPEND_TEST,
            delimiter: delimiter.into(),
        }
    }
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        self.name
    }

    fn text(&self) -> String {
        match std::str::from_utf8(&self.delimiter) {
            Ok(",") | Err(_) => self.name.to_owned(),
            Ok(delimiter) if delimiter.contains([';', '{', '}', ' ', '=']) => {
                format!("{{id={};delimiter={{{delimiter}}};}}", self.name)
            }
            Ok(delimiter) => format!("{{id={};delimiter={delimiter};}}", self.name),
        }
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.join(&self.delimiter[..]))
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        (self.name == APPEND).then(|| [older, newer].join(&self.delimiter[..]))
    }
}

/// Adds little-endian `u64`s, wrapping. A value of another length counts as 0, as in RocksDB.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::UInt64Add;
///
/// let merged = UInt64Add.full_merge(b"key", Some(&2_u64.to_le_bytes()), &[&3_u64.to_le_bytes()]);
/// assert_eq!(merged.unwrap(), 5_u64.to_le_bytes());
/// ```
#[derive(Debug)]
pub struct UInt64Add;

fn u64_or_zero(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl MergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let start = existing.map_or(0, u64_or_zero);
        let sum = operands
            .iter()
            .fold(start, |sum, operand| sum.wrapping_add(u64_or_zero(operand)));
        Some(sum.to_le_bytes().to_vec())
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let sum = u64_or_zero(older).wrapping_add(u64_or_zero(newer));
        Some(sum.to_le_bytes().to_vec())
    }
}

/// The newest operand wins, as if each merge were a put.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::Put;
///
/// let merged = Put.full_merge(b"key", Some(b"a"), &[b"b", b"c"]);
/// assert_eq!(merged.unwrap(), b"c");
/// ```
#[derive(Debug)]
pub struct Put;

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "PutOperator"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        operands.last().copied().or(existing).map(<[u8]>::to_vec)
    }

    fn partial_merge(&self, _key: &[u8], _older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some(newer.to_vec())
    }
}

/// The greatest of the value and the operands wins, bytewise.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::Max;
///
/// let merged = Max.full_merge(b"key", Some(b"b"), &[b"a", b"c"]);
/// assert_eq!(merged.unwrap(), b"c");
/// ```
#[derive(Debug)]
pub struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "MaxOperator"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let all = existing.into_iter().chain(operands.iter().copied());
        all.max().map(<[u8]>::to_vec)
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some(older.max(newer).to_vec())
    }
}

/// The exclusive or of the value and the operands, byte by byte; shorter ones count as if zeros followed.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::BytesXor;
///
/// let merged = BytesXor.full_merge(b"key", Some(&[0b1100]), &[&[0b1010]]);
/// assert_eq!(merged.unwrap(), [0b0110]);
/// ```
#[derive(Debug)]
pub struct BytesXor;

fn xor(mut sum: Vec<u8>, operand: &[u8]) -> Vec<u8> {
    sum.resize(sum.len().max(operand.len()), 0);
    sum.iter_mut()
        .zip(operand)
        .for_each(|(byte, other)| *byte ^= other);
    sum
}

impl MergeOperator for BytesXor {
    fn name(&self) -> &str {
        "BytesXOR"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let start = existing.unwrap_or_default().to_vec();
        Some(operands.iter().fold(start, |sum, operand| xor(sum, operand)))
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some(xor(older.to_vec(), newer))
    }
}

/// Merges sorted lists of 32-bit numbers, written as text between commas, into one sorted list. As in
/// RocksDB, the value below the oldest operand is dropped. If an operand contains a non-number, where RocksDB
/// ends the process, the merge fails.
///
/// ```
/// # mod esker {
/// #     pub use esker_base::merge as merge_operators;
/// #     pub use esker_base::merge::MergeOperator;
/// # }
/// use esker::MergeOperator;
/// use esker::merge_operators::SortList;
///
/// let merged = SortList.full_merge(b"key", None, &[b"1,5", b"2,3"]);
/// assert_eq!(merged.unwrap(), b"1,2,3,5");
/// ```
#[derive(Debug)]
pub struct SortList;

impl SortList {
    /// The numbers of a list: each is parsed as far as possible, as C's `strtol` does.
    fn numbers(list: &[u8]) -> Option<Vec<i32>> {
        let list = list.split(|&byte| byte == 0).next().unwrap_or_default();
        list.split(|&byte| byte == b',').map(SortList::number).collect()
    }

    fn number(text: &[u8]) -> Option<i32> {
        let text = text.trim_ascii_start();
        let sign = usize::from(text.first().is_some_and(|byte| matches!(byte, b'+' | b'-')));
        let digits = text[sign..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        std::str::from_utf8(&text[..sign + digits]).ok()?.parse().ok()
    }

    fn merged(lists: &[&[u8]]) -> Option<Vec<u8>> {
        let mut merged: Vec<i32> = Vec::new();
        for list in lists {
            let right = SortList::numbers(list)?;
            let left = std::mem::take(&mut merged);
            // The lists are merged as two queues, so lists that are not sorted stay unsorted.
            let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                let next = if a < b { left.next() } else { right.next() };
                merged.extend(next);
            }
            merged.extend(left.chain(right));
        }
        let texts: Vec<String> = merged.iter().map(i32::to_string).collect();
        Some(texts.join(",").into_bytes())
    }
}

impl MergeOperator for SortList {
    fn name(&self) -> &str {
        "MergeSortOperator"
    }

    fn full_merge(&self, _key: &[u8], _existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        SortList::merged(operands)
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        SortList::merged(&[older, newer])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(name: &str, existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        builtin(name).unwrap().full_merge(b"k", existing, operands)
    }

    #[test]
    fn builtins_merge_as_rocksdb_does() {
        assert_eq!(full("stringappend", Some(b"a"), &[b"b", b"c"]).unwrap(), b"a,b,c");
        assert_eq!(full("stringappend", None, &[b"b"]).unwrap(), b"b");
        assert_eq!(full("stringappendtest", Some(b""), &[b"b"]).unwrap(), b",b");
        let numbers: &[&[u8]] = &[&5u64.to_le_bytes(), &7u64.to_le_bytes()];
        assert_eq!(
            full("UInt64AddOperator", Some(b"odd"), numbers).unwrap(),
            12u64.to_le_bytes()
        );
        assert_eq!(full("put", Some(b"old"), &[b"x", b"y"]).unwrap(), b"y");
        assert_eq!(full("max", Some(b"b"), &[b"a", b"ba", b"\xff"]).unwrap(), b"\xff");
        assert_eq!(full("MaxOperator", None, &[b""]).unwrap(), b"");
        assert_eq!(
            full("bytesxor", Some(b"\x01\x02\x03"), &[b"\x01", b"\0\0\0\x04"]).unwrap(),
            b"\0\x02\x03\x04"
        );
        assert_eq!(full("BytesXOR", None, &[b"ab"]).unwrap(), b"ab");
        assert!(builtin("unknown").is_none());
    }

    #[test]
    fn lists_become_one_sorted_list() {
        let sorted = |operands: &[&[u8]]| full("sortlist", Some(b"9"), operands);
        assert_eq!(sorted(&[b"1,3,5", b"2,4,-7"]).unwrap(), b"1,2,3,4,-7,5");
        assert_eq!(sorted(&[b" 1,+2x", b"1"]).unwrap(), b"1,1,2");
        assert_eq!(sorted(&[b"2147483647"]).unwrap(), b"2147483647");
        for none in [&b""[..], b"1,", b"x", b"2147483648"] {
            assert_eq!(sorted(&[b"1", none]), None, "{none:?}");
        }
    }

    #[test]
    fn one_operand_does_as_two() {
        for name in ["stringappend", "uint64add", "put", "max", "bytesxor", "sortlist"] {
            let operator = builtin(name).unwrap();
            let (older, newer): (&[u8], &[u8]) = (b"12345678", b"2345678");
            let one = operator.partial_merge(b"k", older, newer).unwrap();
            assert_eq!(
                operator.full_merge(b"k", Some(b"1"), &[&one]),
                operator.full_merge(b"k", Some(b"1"), &[older, newer]),
                "{name}"
            );
        }
        let test = builtin("stringappendtest").unwrap();
        assert_eq!(test.partial_merge(b"k", b"1", b"2"), None);
    }

    #[test]
    fn text_makes_the_same_operator_again() {
        for delimiter in [",", ";", "", "{}", "::", " and ", "=\\"] {
            for operator in [StringAppend::new(delimiter), StringAppend::test(delimiter)] {
                let again = from_text(&operator.text()).ok().unwrap();
                assert_eq!(again.name(), operator.name());
                let joined = again.full_merge(b"k", None, &[b"a", b"b"]).unwrap();
                assert_eq!(joined, format!("a{delimiter}b").as_bytes());
            }
        }
        assert_eq!(from_text("nullptr").err(), Some("nullptr"));
        assert_eq!(from_text("{id=mine;x=1;}").err(), Some("mine"));
        let bare = from_text("{id=StringAppendOperator;}").ok().unwrap();
        assert_eq!(bare.full_merge(b"k", None, &[b"a", b"b"]).unwrap(), b"a,b");
    }
}
