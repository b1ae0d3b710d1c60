use std::sync::atomic::{AtomicBool, Ordering as Atomically};
use std::sync::{Arc, Mutex};

use base::internal_key::{encode, pack_trailer};
use base::merge::MergeOperator;
use base::{BlockwiseCursor, ErrorKind, InternalComparator, Result, UserComparator};
use testkit::VecCursor;
use testkit::keys::{entries, print_entry};

use super::*;
use crate::beyond::BeyondOutput;
use crate::filter::{BlobHook, CompactionFilter, Decision, Relocation, ValueType};

fn over(text: &str, rules: CompactionRules) -> CompactionCursor<VecCursor> {
    over_entries(entries(text), rules)
}

fn over_entries(entries: Vec<(Vec<u8>, Vec<u8>)>, rules: CompactionRules) -> CompactionCursor<VecCursor> {
    let order = InternalComparator::new(rules.comparator.clone());
    let mut cursor = CompactionCursor::new(VecCursor::new(entries, order), rules);
    cursor.seek_to_first();
    cursor
}

fn rules() -> CompactionRules {
    CompactionRules::new(UserComparator::Bytewise)
}

fn shown<C: Cursor>(cursor: &mut CompactionCursor<C>) -> String {
    let mut out = Vec::new();
    while cursor.valid() {
        let mark = if cursor.starts_user_key() { "" } else { "~" };
        out.push(format!("{mark}{}", print_entry(cursor.key(), cursor.value())));
        cursor.next();
    }
    if let Err(error) = cursor.status() {
        out.push(error.to_string());
    }
    out.join(" ")
}

#[test]
fn later_versions_do_not_start_their_user_key() {
    let mut cursor = over(
        "a@9:x a@5:y b@4#del b@3:z",
        CompactionRules {
            snapshots: vec![3, 5],
            ..rules()
        },
    );
    assert_eq!(shown(&mut cursor), "a@9:x ~a@5:y b@4#del ~b@3:z");
}

#[test]
fn sequence_numbers_that_tell_an_age_stay() {
    let bottom = CompactionRules {
        bottommost: true,
        beyond: BeyondOutput::nothing(UserComparator::Bytewise),
        preserve_from: 5,
        ..rules()
    };
    assert_eq!(
        shown(&mut over("a@9:x a@2:y b@5:z c@4:w d@7#del", bottom)),
        "a@9:x b@5:z c@0:w"
    );
}

#[test]
fn unknown_kinds_fail_or_stay() {
    let unknown = || {
        let mut key = b"b".to_vec();
        key.extend_from_slice(&pack_trailer(7, 0x55).to_le_bytes());
        let older = encode(b"b", 5, Kind::Value);
        vec![
            (encode(b"a", 9, Kind::Value), Vec::new()),
            (key, b"?".to_vec()),
            (older, b"old".to_vec()),
        ]
    };
    let mut cursor = over_entries(unknown(), rules());
    assert_eq!(
        shown(&mut cursor),
        "a@9 Corruption: internal key of unknown kind 0x55 in a compaction"
    );
    assert!(!cursor.valid());
    let keep = CompactionRules {
        keep_unknown_kinds: true,
        bottommost: true,
        beyond: BeyondOutput::nothing(UserComparator::Bytewise),
        ..rules()
    };
    let mut cursor = over_entries(unknown(), keep);
    assert_eq!(shown(&mut cursor), "a@0 !kind:625507000000000000 ~b@0:old");
    assert_eq!(cursor.stats().num_input_corrupt_records, 1);
}

/// A cursor that yields its keys unchanged, and fails at its end.
struct Broken {
    keys: Vec<&'static [u8]>,
    at: usize,
}

impl BlockwiseCursor for Broken {}

impl Cursor for Broken {
    fn valid(&self) -> bool {
        self.at < self.keys.len()
    }
    fn seek_to_first(&mut self) {
        self.at = 0;
    }
    fn seek_to_last(&mut self) {
        unreachable!("a compaction goes forward")
    }
    fn seek(&mut self, _: &[u8]) {
        self.at = 0;
    }
    fn seek_for_prev(&mut self, _: &[u8]) {
        unreachable!("a compaction goes forward")
    }
    fn next(&mut self) {
        self.at += 1;
    }
    fn prev(&mut self) {
        unreachable!("a compaction goes forward")
    }
    fn key(&self) -> &[u8] {
        self.keys[self.at]
    }
    fn value(&self) -> &[u8] {
        b""
    }
    fn status(&self) -> Result<()> {
        match self.valid() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Io, "gone")),
        }
    }
}

#[test]
fn short_keys_are_corruption_wherever_they_come() {
    let lists: [&[&'static [u8]]; 4] = [
        &[b"short"],
        &[b"a\x01\x01\0\0\0\0\0\0", b"short"],
        &[b"a\x07\x01\0\0\0\0\0\0", b"short"],
        &[b"a\x02\x01\0\0\0\0\0\0", b""],
    ];
    for keys in lists {
        let merging = CompactionRules {
            merge_operator: base::merge::builtin("put"),
            ..rules()
        };
        let mut cursor = CompactionCursor::new(
            Broken {
                keys: keys.to_vec(),
                at: 0,
            },
            merging,
        );
        cursor.seek_to_first();
        while cursor.valid() {
            cursor.next();
        }
        assert!(cursor.status().unwrap_err().is_corruption(), "{keys:?}");
    }
}

#[test]
fn an_error_of_the_input_is_no_end() {
    // The operand must not become a value: the error may have hidden its base.
    let keys: Vec<&'static [u8]> = vec![b"a\x02\x01\0\0\0\0\0\0"];
    let merging = CompactionRules {
        merge_operator: base::merge::builtin("put"),
        bottommost: true,
        beyond: BeyondOutput::nothing(UserComparator::Bytewise),
        ..rules()
    };
    let mut cursor = CompactionCursor::new(Broken { keys, at: 0 }, merging);
    cursor.seek_to_first();
    assert_eq!(shown(&mut cursor), "a@1#merge IO error: gone");
}

#[test]
fn cancelling_stops_it_among_dropped_entries() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let mut cursor = over(
        "a@9:x a@5:y b@3:z",
        CompactionRules {
            cancelled: vec![Arc::clone(&cancelled)],
            ..rules()
        },
    );
    assert!(cursor.valid());
    cancelled.store(true, Atomically::Relaxed);
    cursor.next();
    assert_eq!(cursor.status().unwrap_err().kind(), ErrorKind::Aborted);
}

/// A blob hook whose indexes are spelt out: `old:x` is garbage to be moved to `new:x`, `in:x` goes into the
/// SST.
#[derive(Default)]
struct Blobs {
    log: Arc<Mutex<Vec<String>>>,
    /// The minimum size for older versions; 0: as for others.
    min_older: usize,
}

impl Blobs {
    fn note(&self, what: &str, index: &[u8]) {
        self.log
            .lock()
            .unwrap()
            .push(format!("{what} {}", String::from_utf8_lossy(index)));
    }
}

impl BlobHook for Blobs {
    fn min_blob_size(&self) -> usize {
        5
    }
    fn min_older_version_blob_size(&self) -> usize {
        match self.min_older {
            0 => 5,
            size => size,
        }
    }
    fn extract(&mut self, _: &[u8], value: &[u8], index: &mut Vec<u8>) -> Result<bool> {
        if value.starts_with(b"stay") {
            return Ok(false);
        }
        index.extend_from_slice(b"new:");
        index.extend_from_slice(value);
        Ok(true)
    }
    fn relocate(&mut self, _: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<Relocation> {
        if let Some(value) = index.strip_prefix(b"old:") {
            out.extend_from_slice(b"new:");
            out.extend_from_slice(value);
            return Ok(Relocation::Moved);
        }
        if let Some(value) = index.strip_prefix(b"in:") {
            out.extend_from_slice(value);
            return Ok(Relocation::Inlined);
        }
        Ok(Relocation::Keep)
    }
    fn fetch(&mut self, _: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let text = String::from_utf8_lossy(index);
        let (_, value) = text
            .split_once(':')
            .ok_or_else(|| Error::corruption("no blob index"))?;
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }
    fn enter(&mut self, _: &[u8], _: Kind, index: &[u8]) -> Result<()> {
        self.note("in", index);
        Ok(())
    }
    fn leave(&mut self, _: &[u8], _: Kind, index: &[u8]) -> Result<()> {
        self.note("out", index);
        Ok(())
    }

    fn relocate_columns(&mut self, _: &[u8], entity: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match entity.strip_prefix(b"old:") {
            Some(columns) => {
                out.extend_from_slice(columns);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// The entries yielded, and the calls of the blob hook.
fn with_blobs(text: &str, mut rules: CompactionRules) -> (String, String) {
    let log = Arc::new(Mutex::new(Vec::new()));
    rules.blobs = Some(Box::new(Blobs {
        log: Arc::clone(&log),
        ..Blobs::default()
    }));
    rules.merge_operator = base::merge::builtin("stringappend");
    let shown = shown(&mut over(text, rules));
    let log = log.lock().unwrap().join(", ");
    (shown, log)
}

#[test]
fn values_move_into_blob_files_and_between_them() {
    let text = "a@1:tiny b@1:large c@1:stay_here d@1#blob:old\\x3ad e@1#blob:in\\x3ae f@1#blob:cur\\x3af";
    let (entries, log) = with_blobs(text, rules());
    assert_eq!(
        entries,
        "a@1:tiny b@1#blob:new\\x3alarge c@1:stay_here d@1#blob:new\\x3ad e@1:e f@1#blob:cur\\x3af"
    );
    assert_eq!(
        log,
        "out new:large, in old:d, out new:d, in in:e, in cur:f, out cur:f"
    );
}

#[test]
fn columns_in_blob_files_enter_and_leave_with_their_entity() {
    let entry =
        |key: &[u8], seqno, value: &[u8]| (encode(key, seqno, Kind::WideColumnEntity), value.to_vec());
    let log = Arc::new(Mutex::new(Vec::new()));
    let rules = CompactionRules {
        blobs: Some(Box::new(Blobs {
            log: Arc::clone(&log),
            ..Blobs::default()
        })),
        ..rules()
    };
    let entries = vec![
        entry(b"a", 9, b"cur:1"),
        entry(b"a", 5, b"cur:2"),
        entry(b"b", 4, b"old:3"),
    ];
    let mut cursor = over_entries(entries, rules);
    assert_eq!(cursor.value(), b"cur:1");
    cursor.next();
    assert_eq!(cursor.value(), b"3");
    cursor.next();
    assert!(!cursor.valid());
    cursor.status().unwrap();
    let log = log.lock().unwrap().join(", ");
    assert_eq!(log, "in cur:1, out cur:1, in cur:2, in old:3, out 3");
}

#[test]
fn every_blob_that_is_dropped_is_known() {
    // The compaction drops blobs whose entries are hidden, deleted, after a single deletion, or under merge
    // operands.
    let text = "a@9:x a@5#blob:cur\\x3a1 b@9#del b@5#blob:cur\\x3a2 c@9#sdel c@5#blob:cur\\x3a3 \
                d@9#merge:m d@5#blob:cur\\x3a4";
    let bottom = CompactionRules {
        bottommost: true,
        beyond: BeyondOutput::nothing(UserComparator::Bytewise),
        ..rules()
    };
    let (entries, log) = with_blobs(text, bottom);
    assert_eq!(entries, "a@0:x d@0:4\\x2cm");
    assert_eq!(log, "in cur:1, in cur:2, in cur:3, in cur:4");
}

/// A filter that decides by key, and by value for keys that need it.
struct ByKey;

impl CompactionFilter for ByKey {
    fn filter(&mut self, _: usize, _: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        assert_eq!(value_type, ValueType::Value);
        Decision::ChangeValue([b"saw_", value].concat())
    }
    fn filter_blob_by_key(&mut self, _: usize, key: &[u8]) -> Option<Decision> {
        match key {
            b"a" => Some(Decision::Keep),
            b"b" => Some(Decision::Remove),
            b"c" => Some(Decision::RemoveAndSkipUntil(b"e".to_vec())),
            _ => None,
        }
    }

    fn filter_entity(&mut self, _: usize, _: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        let saw = |value: &[u8]| [b"saw_", value].concat();
        let columns = columns.iter().map(|(name, value)| (name.to_vec(), saw(value)));
        Decision::ChangeWideColumnEntity(columns.collect())
    }
}

#[test]
fn filters_read_blobs_only_if_they_must() {
    let text =
        "a@9#blob:cur\\x3a1 b@9#blob:cur\\x3a2 c@9#blob:cur\\x3a3 d@9#blob:cur\\x3a4 e@9#blob:cur\\x3a5";
    let filtered = || CompactionRules {
        filter: Some(Box::new(ByKey)),
        ..rules()
    };
    let (entries, log) = with_blobs(text, filtered());
    assert_eq!(entries, "a@9#blob:cur\\x3a1 b@9#del e@9#blob:new\\x3asaw_5");
    assert_eq!(
        log,
        "in cur:1, out cur:1, in cur:2, in cur:3, in cur:4, in cur:5, out new:saw_5"
    );

    // Column x is in a blob file, and column y is not.
    let entity = "e@9#wide:\\x02\\x02\\x02\\x02\\x02\\x11\\x01\\x01\\x01\\x05\\x01xycur\\x3a5w";
    let (entries, log) = with_blobs(entity, filtered());
    assert_eq!(entries, "e@9#wide:\\x01\\x02\\x01x\\x05\\x01y\\x05saw_5saw_w");
    assert!(
        log.ends_with("w, out \u{1}\u{2}\u{1}x\u{5}\u{1}y\u{5}saw_5saw_w"),
        "{log}"
    );

    for text in ["e@9#blob:cur\\x3a5", entity] {
        assert_eq!(
            shown(&mut over(text, filtered())),
            "Not implemented: a compaction filter needs to read a blob"
        );
    }
}

#[test]
fn operands_the_operator_refuses_stay() {
    struct Refusing;
    impl MergeOperator for Refusing {
        fn name(&self) -> &str {
            "Refusing"
        }
        fn full_merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
            None
        }
    }
    let bottom = CompactionRules {
        merge_operator: Some(Arc::new(Refusing)),
        bottommost: true,
        beyond: BeyondOutput::nothing(UserComparator::Bytewise),
        ..rules()
    };
    let mut cursor = over(
        "a@9#merge:2 a@8#merge:1 a@7:0 a@6:old b@5#merge:x c@4#merge:y c@3#del c@2:z",
        bottom,
    );
    assert_eq!(
        shown(&mut cursor),
        "a@9#merge:2 ~a@8#merge:1 ~a@0:0 b@5#merge:x c@4#merge:y"
    );
    assert_eq!(cursor.stats().num_merge_failures, 4);
}

#[test]
fn operands_that_combine_in_part_keep_their_order() {
    /// Combines operands that begin with the same byte.
    struct ByFirstByte;
    impl MergeOperator for ByFirstByte {
        fn name(&self) -> &str {
            "ByFirstByte"
        }
        fn full_merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
            None
        }
        fn partial_merge(&self, _: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
            (older[0] == newer[0]).then(|| [older, &newer[1..]].concat())
        }
    }
    let merging = CompactionRules {
        merge_operator: Some(Arc::new(ByFirstByte)),
        ..rules()
    };
    let mut cursor = over(
        "k@9#merge:a5 k@8#merge:a4 k@7#merge:a3 k@6#merge:b2 k@5#merge:a1 k@4#merge:a0",
        merging,
    );
    assert_eq!(shown(&mut cursor), "k@9#merge:a345 ~k@6#merge:b2 ~k@5#merge:a01");
}

#[test]
fn a_compaction_may_run_on_any_thread() {
    fn is_send<T: Send>() {}
    is_send::<CompactionCursor<VecCursor>>();
    is_send::<crate::Plan>();
    is_send::<crate::OutputSplitter>();
    is_send::<crate::Running>();
}

/// Compares `a:9`, `a:8` and so on as versions of one key.
struct Versions;

impl base::Comparator for Versions {
    fn name(&self) -> &str {
        "versions"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a[..1].cmp(&b[..1]).then_with(|| b.cmp(a))
    }
    fn is_older_version(&self, newer: &[u8], key: &[u8]) -> bool {
        newer[0] == key[0]
    }
}

/// The entries yielded, where older versions go to blob files from 3 bytes on, others from 5.
fn with_older(text: &str, rules: CompactionRules) -> String {
    let blobs = Blobs {
        min_older: 3,
        ..Blobs::default()
    };
    shown(&mut over(
        text,
        CompactionRules {
            blobs: Some(Box::new(blobs)),
            ..rules
        },
    ))
}

#[test]
fn older_versions_leave_the_table_sooner() {
    let versions = || CompactionRules::new(UserComparator::Custom(Arc::new(Versions)));
    // The newest version stays; every older one moves, except small ones.
    let text = "a9@9:new a8@8:old a7@7:ol a6@6:old b5@5:own b4@4#del b3@3:old";
    assert_eq!(
        with_older(text, versions()),
        "a9@9:new a8@8#blob:new\\x3aold a7@7:ol a6@6#blob:new\\x3aold b5@5:own b4@4#del b3@3#blob:new\\x3aold"
    );
    // A deleted version hides nothing, even if a snapshot sees it.
    let taken = CompactionRules {
        snapshots: vec![8],
        ..versions()
    };
    assert_eq!(
        with_older("a9@9#del a9@8:tak a8@7:new a7@6:old", taken),
        "a9@9#del ~a9@8#blob:new\\x3atak a8@7:new a7@6#blob:new\\x3aold"
    );
}

#[test]
fn entries_that_snapshots_keep_leave_the_table_sooner() {
    let kept = || CompactionRules {
        snapshots: vec![3, 5, 7],
        ..rules()
    };
    assert_eq!(
        with_older("a@8:new a@6:old a@4:old a@2:ol b@2:new", kept()),
        "a@8:new ~a@6#blob:new\\x3aold ~a@4#blob:new\\x3aold ~a@2:ol b@2:new"
    );
    assert_eq!(
        with_older("a@8#del a@6:old b@8#merge:x b@6:new b@4:old", kept()),
        "a@8#del ~a@6#blob:new\\x3aold b@8#merge:x ~b@6:new ~b@4#blob:new\\x3aold",
        "a merge hides nothing"
    );
}

#[test]
fn versions_of_another_timestamp_leave_the_table_sooner() {
    let order = UserComparator::BytewiseU64Ts;
    let at = |key: &[u8], ts: u64, seqno, kind, value: &[u8]| {
        (
            encode(&[key, &ts.to_le_bytes()].concat(), seqno, kind),
            value.to_vec(),
        )
    };
    let entries = vec![
        at(b"a", 9, 9, Kind::Value, b"new"),
        at(b"a", 8, 8, Kind::Value, b"old"),
        at(b"b", 7, 7, Kind::DeletionWithTimestamp, b""),
        at(b"b", 6, 6, Kind::Value, b"old"),
        at(b"c", 5, 5, Kind::Value, b"new"),
    ];
    let blobs = Blobs {
        min_older: 3,
        ..Blobs::default()
    };
    let rules = CompactionRules {
        blobs: Some(Box::new(blobs)),
        ..CompactionRules::new(order)
    };
    let mut cursor = over_entries(entries, rules);
    let mut values = Vec::new();
    while cursor.valid() {
        values.push(String::from_utf8_lossy(cursor.value()).into_owned());
        cursor.next();
    }
    assert_eq!(values, ["new", "new:old", "", "new:old", "new"]);
}
