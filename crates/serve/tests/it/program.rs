//! The page inside a program.

use esker::{ColumnFamilyOptions, Db, Options};
use esker_serve::Page;
use esker_serve::http::Config;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::*;
use dbtest::delayed::delayed;

#[test]
fn a_program_shows_its_stalls_pins_and_memory() {
    let dir = TempDir::new().unwrap();
    let (db, go) = delayed(dir.path());
    db.create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    let page = Page::of_database(&db, Config::default()).unwrap();
    // The page shows the compaction that the gate holds as running, and its tables as compacting.
    let state = json(&page, "/api/state");
    assert_eq!(state["live"]["running_compactions"], 1, "{state}");
    let levels = json(&page, "/api/levels");
    let marked = levels["families"][0]["levels"][0]["tables"]
        .as_array()
        .unwrap()
        .iter();
    assert_eq!(
        marked.filter(|table| table["compacting"] == true).count(),
        2,
        "{levels}"
    );
    drop(go);
    db.flush().unwrap();
    db.wait_for_compact().unwrap();
    let snapshot = db.snapshot();
    let mut iter = db.iter();
    iter.seek_to_first();
    let state = json(&page, "/api/state");
    let live = &state["live"];
    let stall = &live["stalls"][0];
    assert_eq!(stall["option"], "level0_slowdown_writes_trigger", "{stall}");
    assert_eq!(live["open"], true);
    assert_eq!(live["pins"]["iterators"][0]["family"], "default", "{live}");
    assert_eq!(live["pins"]["snapshots"][0]["holders"], 1, "{live}");
    assert!(
        live["memory"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line[0] == "memtables"),
        "{live}"
    );
    assert!(!state["done"].as_array().unwrap().is_empty(), "{state}");
    let shown: Vec<u64> = tables(&json(&page, "/api/levels"))
        .into_iter()
        .map(|(_, _, number)| number)
        .collect();
    let live_files: Vec<u64> = db.live_files().into_iter().map(|file| file.number).collect();
    assert_eq!(shown.len(), live_files.len());
    assert!(live_files.iter().all(|number| shown.contains(number)));
    let newest = shown.iter().max().unwrap();
    let file = json(&page, &format!("/api/file?number={newest}"));
    assert_eq!(file["keys"][0]["kind"], "Value", "{file}");
    drop((iter, snapshot));
    db.close().unwrap();
    assert_eq!(json(&page, "/api/state")["live"]["open"], false);
}

#[test]
fn the_reads_of_tables_are_in_the_program_and_in_its_log() {
    let dir = TempDir::new().unwrap();
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    for letter in ["a", "b"] {
        db.put(letter, b"1").unwrap();
        db.flush().unwrap();
    }
    for _ in 0..20_000 {
        db.get(b"b").unwrap();
    }
    let page = Page::of_database(&db, Config::default()).unwrap();
    let reads = |page: &Page| -> Vec<Value> {
        let levels = json(page, "/api/levels");
        let tables = levels["families"][0]["levels"][0]["tables"]
            .as_array()
            .unwrap()
            .clone();
        tables.into_iter().map(|table| table["reads"].clone()).collect()
    };
    // Reads of the key go to the newest table, which is the first of L0.
    let found = reads(&page);
    let hot = found[0].as_u64().unwrap();
    assert!((16_000..24_000).contains(&hot) && found[1] == 0, "{found:?}");
    // Reads are unknown for a past edit, and for a page of the closed directory until the first dump of
    // statistics.
    let past = json(&page, "/api/levels?edit=100");
    let table = &past["families"][0]["levels"][0]["tables"][0];
    assert!(table["reads"].is_null() && table["number"].is_u64(), "{past}");
    let outside = page_of(dir.path());
    assert_eq!(reads(&outside), [Value::Null, Value::Null]);
    db.set_db_options(&[("stats_dump_period_sec", "1")]).unwrap();
    testkit::wait_until("a dump of statistics", || reads(&outside)[0].is_u64());
    assert_eq!(reads(&outside), found);
}
