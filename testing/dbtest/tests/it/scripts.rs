//! Scripts of user operations on a database, a folder of `tests/testdata` for each subject, in the commands of
//! [`dbtest::commands`]. Each script is a test, so that scripts of one subject run side by side.

use std::collections::BTreeSet;
use std::path::Path;

use dbtest::commands::Session;
use testkit::datadriven;

const SCRIPTS_DIR: &str = "tests/testdata";

macro_rules! scripts {
    ($($subject:ident: $($script:ident)*;)*) => {
        $(
            mod $subject {
                $(
                    #[test]
                    fn $script() {
                        super::run(concat!(stringify!($subject), "/", stringify!($script), ".dd"));
                    }
                )*
            }
        )*

        /// The scripts that have a test, as paths in [`SCRIPTS_DIR`].
        const SCRIPTS: &[&str] =
            &[$($(concat!(stringify!($subject), "/", stringify!($script), ".dd"),)*)*];
    };
}

scripts! {
    behaviour: column_families compaction comparators extremes iterators merge_unknown merges options
        point_writes prefixes properties range_deletes read_only single_deletes snapshots timestamps
        wals wide_columns;
    blobs: files garbage;
    compaction: delete_files range_deletions recent_rows snapshots temperatures;
    control: background foreign options resumed;
    ingestion: behind levels refused replaced;
    lifecycle: directories files secondaries;
    reads: caches files iterators next_prefix pins tiers;
    reports: events logs properties;
    stalls: limits others reports;
    styles: ages compression styles writeback;
    timestamps: history in_memory operands trimmed versions;
    wal: atomic_flush directories manual names;
    writes: memtables operators row_limit;
}

fn run(script: &str) {
    let path = format!("{SCRIPTS_DIR}/{script}");
    datadriven::run(&path, |_| Session::new(), Session::run);
}

fn names_in(dir: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).expect("the folder of scripts is part of the repository");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

#[test]
fn every_script_has_a_test() {
    let root = Path::new(SCRIPTS_DIR);
    let scripts: BTreeSet<String> = names_in(root)
        .flat_map(|subject| {
            let dir = root.join(&subject);
            names_in(&dir)
                .map(move |script| format!("{subject}/{script}"))
                .collect::<Vec<_>>()
        })
        .collect();
    let tested: BTreeSet<String> = SCRIPTS.iter().map(|&script| script.to_owned()).collect();
    assert_eq!(scripts, tested);
}
