//! Pages of databases that RocksDB wrote.

use std::collections::BTreeSet;

use esker::{Db, Options};

use crate::common::*;

/// The databases that RocksDB wrote, by name.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap());
    let dirs = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = dirs
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

#[test]
fn every_database_of_rocksdb_has_a_page_with_the_tables_that_the_engine_reads() {
    for name in names() {
        let held = copy(&name);
        let page = page_of(held.path());
        let state = json(&page, "/api/state");
        let shown: BTreeSet<_> = tables(&json(&page, "/api/levels")).into_iter().collect();
        let total = json(&page, "/api/edits")["total"].as_u64().unwrap();
        assert_eq!(state["edits"], total, "{name}");
        // Each past state can be shown, and the last one is the current state.
        for edit in 1..=total {
            json(&page, &format!("/api/levels?edit={edit}"));
        }
        let last = json(&page, &format!("/api/levels?edit={total}"));
        assert_eq!(
            tables(&last).into_iter().collect::<BTreeSet<_>>(),
            shown,
            "{name}"
        );
        assert!(json(&page, "/api/options")["sections"].is_object());
        for (_, _, number) in &shown {
            let table = json(&page, &format!("/api/file?number={number}&keys=3"));
            let properties = table["properties"].as_array().unwrap();
            assert!(
                properties.iter().any(|pair| pair[0] == "rocksdb.num.entries"),
                "{name} {number}"
            );
            assert!(table["keys"].as_array().unwrap().len() <= 3);
        }
        let Ok(db) = Db::open_read_only(&Options::default(), held.path()) else {
            // The database has other comparators or levels than the defaults.
            continue;
        };
        let live = db.live_files().into_iter();
        let live: BTreeSet<_> = live
            .map(|file| (file.column_family, file.level as u64, file.number))
            .collect();
        assert_eq!(shown, live, "{name}");
    }
}

#[test]
fn the_past_goes_by_edits_family_by_family() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let edits = json(&page, "/api/edits");
    let total = edits["total"].as_u64().unwrap();
    assert_eq!(edits["edits"].as_array().unwrap().len() as u64, total);
    let mut tables_before = BTreeSet::new();
    for edit in edits["edits"].as_array().unwrap() {
        let number = edit["number"].as_u64().unwrap();
        let levels = json(&page, &format!("/api/levels?edit={number}"));
        if levels["note"].is_string() {
            continue;
        }
        let now: BTreeSet<u64> = tables(&levels).into_iter().map(|(_, _, number)| number).collect();
        for added in edit["added"].as_array().unwrap() {
            let added = added["number"].as_u64().unwrap();
            assert!(now.contains(&added) && !tables_before.contains(&added), "{edit}");
        }
        for deleted in edit["deleted"].as_array().unwrap() {
            assert!(!now.contains(&deleted["number"].as_u64().unwrap()), "{edit}");
        }
        tables_before = now;
    }
    assert!(!tables_before.is_empty());
    let families = json(&page, "/api/levels");
    let families: Vec<&str> = families["families"]
        .as_array()
        .unwrap()
        .iter()
        .map(|family| family["name"].as_str().unwrap())
        .collect();
    assert!(
        families.len() > 1 && families.contains(&"default"),
        "{families:?}"
    );
    // A part of the edits.
    let part = json(&page, "/api/edits?from=2&limit=1");
    assert_eq!(part["edits"].as_array().unwrap().len(), 1);
    assert_eq!(part["edits"][0], edits["edits"][1]);
    // A number after the last edit shows the current state.
    assert_eq!(json(&page, "/api/levels?edit=100000")["edit"], total);
}

#[test]
fn tables_have_their_place_counts_and_keys() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let levels = json(&page, "/api/levels");
    for family in levels["families"].as_array().unwrap() {
        for level in family["levels"].as_array().unwrap() {
            for table in level["tables"].as_array().unwrap() {
                let (from, to) = (table["from"].as_f64().unwrap(), table["to"].as_f64().unwrap());
                assert!((0.0..=1.0).contains(&from) && from <= to && to <= 1.0, "{table}");
                assert!(
                    table["entries"].as_u64().unwrap() >= table["deletions"].as_u64().unwrap(),
                    "{table}"
                );
                assert_eq!(table["compacting"], false);
            }
        }
    }
    let (_, _, number) = tables(&levels)[0];
    let file = json(&page, &format!("/api/file?number={number}"));
    assert!(!file["keys"].as_array().unwrap().is_empty(), "{file}");
    assert!(file["keys"][0]["kind"].is_string(), "{file}");
}
