//! Reads and writes that bypass the page cache.

use std::sync::Arc;

use esker::{Db, Options};
use vfs::{LogFs, PosixFs};

/// Fills, flushes and compacts a database on disk; returns the lines of the log about the creation and
/// opening of its tables.
fn tables(use_direct_reads: bool, use_direct_io_for_flush_and_compaction: bool) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("db");
    let log = LogFs::new(Arc::new(PosixFs::new()), path.clone());
    let mut options = Options {
        create_if_missing: true,
        use_direct_reads,
        use_direct_io_for_flush_and_compaction,
        fs: Arc::new(log.clone()),
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, &path).expect("opens");
    let (family, key) = (db.default_column_family(), |number: u32| number.to_be_bytes());
    for round in 0..2u8 {
        for number in 0..2_000 {
            db.put(key(number), [round; 100]).expect("puts");
        }
        db.flush().expect("flushes");
    }
    db.compact_range_cf(&family, None, None).expect("compacts");
    for number in 0..2_000 {
        assert_eq!(db.get(key(number)).expect("gets").as_deref(), Some(&[1; 100][..]));
    }
    db.close().expect("closes");
    let lines = log.take();
    let of_tables = lines.lines().filter(|line| line.contains(".sst"));
    of_tables
        .filter(|line| line.starts_with("create ") || line.starts_with("open "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn tables_are_read_and_written_directly_as_asked() {
    for (reads, writes) in [(false, false), (true, false), (false, true), (true, true)] {
        let lines = tables(reads, writes);
        let direct = |line: &String| line.split(' ').any(|word| word == "direct");
        for (word, asked) in [("create ", writes), ("open ", reads)] {
            let mut of_word = lines.iter().filter(|line| line.starts_with(word)).peekable();
            assert!(of_word.peek().is_some(), "no {word}in {lines:?}");
            assert!(
                of_word.all(|line| direct(line) == asked),
                "{word}{asked}: {lines:?}"
            );
        }
    }
}
