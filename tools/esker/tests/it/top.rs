//! `esker top --once` over a database that this process has open.

use dbtest::events::Recorder;
use dbtest::settings;
use esker::{ColumnFamilyOptions, Db, Event, Options, StallCondition};
use tempfile::TempDir;

use crate::common::*;

/// A frame's line about a completed job.
fn line_of(event: &Event) -> Option<String> {
    match event {
        Event::Flushed { family, job, .. } => Some(format!("  job {job}: flush of {family} ended ")),
        Event::Compacted { family, job, .. } => Some(format!("  job {job}: compaction of {family} ended ")),
        _ => None,
    }
}

/// A frame, once it contains `what`.
fn frame_with(dir: &TempDir, what: &str) -> String {
    let mut frame = String::new();
    testkit::wait_until(what, || {
        frame = esker("top", dir.path(), &["--once"]).good();
        frame.contains(what)
    });
    frame
}

#[test]
fn it_tells_what_listeners_of_the_database_are_told() {
    let dir = TempDir::new().unwrap();
    let events = Recorder::events();
    let mut options = Options {
        create_if_missing: true,
        listeners: vec![events.clone()],
        stats_dump_period_sec: 1,
        ..Options::default()
    };
    options.column_family.level0_slowdown_writes_trigger = 3;
    options.column_family.level0_file_num_compaction_trigger = 3;
    let db = Db::open(&options, dir.path()).unwrap();
    // A comparator that only Esker has.
    let own = ColumnFamilyOptions {
        comparator: settings::comparator("length").unwrap(),
        disable_auto_compactions: true,
        ..ColumnFamilyOptions::default()
    };
    let own = db.create_column_family("own", &own).unwrap();
    for round in 0..3u8 {
        for key in [&b"zzz"[..], b"aaaa", b"b"] {
            db.put_cf(&own, key, [round; 50]).unwrap();
        }
        db.flush_cf(std::slice::from_ref(&own)).unwrap();
    }
    db.compact_range_cf(&own, None, None).unwrap();
    for round in 0..3u8 {
        db.put(b"key", [round; 100]).unwrap();
        db.flush().unwrap();
    }
    db.wait_for_compact().unwrap();
    db.get(b"key").unwrap();
    let snapshot = db.snapshot();
    let frame = frame_with(&dir, "1 snapshots at sequence number 12, ");

    let heard = events.all();
    let ended: Vec<String> = heard.iter().filter_map(line_of).collect();
    for line in ended.iter().rev().take(3) {
        assert!(frame.contains(line), "{line}\n{frame}");
    }
    let flushes = heard
        .iter()
        .filter(|event| matches!(event, Event::Flushed { .. }))
        .count();
    let compactions = ended.len() - flushes;
    let counted = format!(
        "{flushes} flushes and {compactions} compaction{} ended according to LOG",
        if compactions == 1 { "" } else { "s" }
    );
    assert!(frame.contains(&counted), "{counted}\n{frame}");
    assert!(!frame.contains(" for 0 s"), "a job still runs:\n{frame}");
    let stalled = heard
        .iter()
        .any(|event| matches!(event, Event::Stall { condition, .. } if *condition != StallCondition::Normal));
    assert!(stalled, "three files are as many as slow writes");
    for part in [
        "[default] Stalling writes because we have 3 level-0 files",
        "[default] Writes go on",
        "Block cache entry stats(count,size,portion): DataBlock(",
        "Memory of default: memtables ",
        "Memory of own: memtables ",
        "begun ",
    ] {
        assert!(frame.contains(part), "{part}\n{frame}");
    }
    assert!(!frame.contains("writes to default are stalled"), "{frame}");
    // Esker puts the rows into one file, whatever the order of their keys.
    let rows = frame.lines().filter(|line| line.starts_with("own "));
    assert_eq!(
        rows.map(|row| row.split_whitespace().nth(2).unwrap())
            .collect::<Vec<_>>(),
        ["1"]
    );

    let pins = esker("pins", dir.path(), &[]).good();
    assert!(pins.starts_with("as of 20"), "{pins}");
    let ago = pins.lines().next().unwrap().rsplit_once(", ").unwrap().1;
    let seconds: u64 = ago.strip_suffix(" s ago").unwrap().parse().unwrap();
    assert!(seconds < 600, "{pins}");
    assert!(pins.contains("1 snapshots at sequence number 12, "), "{pins}");
    drop(snapshot);
}
