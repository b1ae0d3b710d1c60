//! Commands that read and write rows.

use crate::common::*;

#[test]
fn every_row_rocksdb_sees_is_printed_and_nothing_changes() {
    for name in fixtures() {
        let dir = fixture(&name);
        let before = listing(&dir);
        assert_same(&name, &scan(&name, &dir).good(), &expected(&name));
        assert_eq!(listing(&dir), before, "{name}");
    }
}

#[test]
fn a_database_is_read_as_a_secondary() {
    for name in ["blob_files", "cfs_fv7_lz4", "wal_recycled_zstd"] {
        let (dir, own) = (fixture(name), tempfile::TempDir::new().unwrap());
        let before = listing(&dir);
        let path = own.path().join("own");
        let args = [
            "--all_column_families",
            "--hex",
            "--secondary_path",
            path.to_str().unwrap(),
        ];
        let got = esker("scan", &dir, &args).good();
        let plain = esker("scan", &dir, &args[..2]).good();
        assert_eq!(got, plain, "{name}");
        assert_eq!(listing(&dir), before, "{name}");
        let args = ["--secondary_path", path.to_str().unwrap(), "rocksdb.levelstats"];
        assert!(
            esker("properties", &dir, &args).good().contains("Level Files"),
            "{name}"
        );
    }
}

/// The rows of one family of fixture `name`, without the family.
fn rows_of(name: &str, family: &str) -> Vec<String> {
    let prefix = format!("{family}\t");
    expected(name)
        .lines()
        .filter_map(|row| Some(row.strip_prefix(&prefix)?.to_owned()))
        .collect()
}

fn lines(rows: &[String]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn key(row: &str) -> &str {
    row.split('\t').next().unwrap()
}

#[test]
fn one_family_backwards_in_bounds_up_to_a_limit() {
    for (name, family) in [
        ("cfs_fv7_lz4", "alpha"),
        ("reverse_comparator", "default"),
        ("user_timestamps", "default"),
        ("range_deletes", "default"),
        ("wide_columns", "default"),
    ] {
        let dir = fixture(name);
        let timestamp = format!("--timestamp={TIMESTAMP}");
        let scan = |more: &[&str]| {
            let mut args = vec!["--hex", "--column_family", family];
            if name == "user_timestamps" {
                args.push(&timestamp);
            }
            args.extend(more);
            esker("scan", &dir, &args).good()
        };
        let mut rows = rows_of(name, family);
        let (from, to) = (rows.len() / 3, rows.len() * 2 / 3);
        let (from_key, to_key) = (key(&rows[from]).to_owned(), key(&rows[to]).to_owned());
        let bounds = ["--from", &from_key, "--to", &to_key];
        assert_same(name, &scan(&[]), &lines(&rows));
        assert_same(name, &scan(&bounds), &lines(&rows[from..to]));
        assert_same(name, &scan(&["--limit=5"]), &lines(&rows[..5]));
        let mut within: Vec<String> = rows[from..to].to_vec();
        within.reverse();
        assert_same(
            name,
            &scan(&[&bounds[..], &["--reverse"]].concat()),
            &lines(&within),
        );
        assert_same(
            name,
            &scan(&[&bounds[..], &["--reverse", "--limit=2"]].concat()),
            &lines(&within[..2]),
        );
        rows.reverse();
        assert_same(name, &scan(&["--reverse"]), &lines(&rows));
        assert_eq!(scan(&["--limit=0"]), "");
    }
}

#[test]
fn a_limit_counts_rows_of_all_families() {
    let rows = expected("cfs_fv7_lz4");
    let limit = rows.lines().filter(|row| row.starts_with("default\t")).count() + 3;
    let first: Vec<String> = rows.lines().take(limit).map(str::to_owned).collect();
    let limited = esker(
        "scan",
        &fixture("cfs_fv7_lz4"),
        &["--all_column_families", "--hex", &format!("--limit={limit}")],
    );
    assert_same("limit", &limited.good(), &lines(&first));
}

#[test]
fn every_key_is_found_by_itself() {
    let mut rng = testkit::rng();
    for name in fixtures() {
        let rows = expected(&name);
        let rows: Vec<&str> = rows.lines().collect();
        for _ in 0..3 {
            let row: Vec<&str> = rng.pick(&rows).split('\t').collect();
            let timestamp = format!("--timestamp={TIMESTAMP}");
            let mut args = vec!["--hex", "--column_family", row[0], row[1]];
            if name == "user_timestamps" {
                args.push(&timestamp);
            }
            assert_eq!(
                esker("get", &fixture(&name), &args).good(),
                format!("{}\n", row[2]),
                "{name} {row:?}"
            );
        }
    }
}

#[test]
fn text_goes_in_and_comes_out() {
    let dir = tempfile::TempDir::new().unwrap();
    let db = dir.path().join("db");
    let put = |key: &str, value: &str| esker("put", &db, &["--create_if_missing", key, value]).good();
    for (key, value) in [
        ("plain", "größe"),
        (r"a\tb\x00\\", r"line\nline\xFF"),
        ("c", ""),
        ("d", "1"),
        ("e", "2"),
    ] {
        assert_eq!(put(key, value), "");
    }
    let rows = |args: &[&str]| esker("scan", &db, args).good();
    assert_eq!(
        rows(&[]),
        "a\\tb\\x00\\\\\tline\\nline\\xFF\nc\t\nd\t1\ne\t2\nplain\tgröße\n"
    );
    assert_eq!(
        rows(&["--hex", "--limit=1"]),
        "610962005C\t6C696E650A6C696E65FF\n"
    );
    assert_eq!(
        esker("get", &db, &["--hex", "0x6109 62005C".replace(' ', "").as_str()]).good(),
        "6C696E650A6C696E65FF\n"
    );
    esker("delete", &db, &["--sync", "plain"]).good();
    esker("deleterange", &db, &["c", "e"]).good();
    assert_eq!(rows(&["--from=b"]), "e\t2\n");
    let absent = esker("get", &db, &["d"]).bad();
    assert!(
        absent.contains("NotFound: no key d in column family default"),
        "{absent}"
    );
    assert!(
        esker("deleterange", &db, &["x", "a"])
            .bad()
            .contains("Invalid argument")
    );
    assert!(esker("verify", &db, &[]).good().ends_with(": all good\n"));
}

#[test]
fn a_database_of_rocksdbs_takes_rows_in_every_family() {
    for name in [
        "cfs_fv7_lz4",
        "universal",
        "reverse_comparator",
        "merge_stringappend",
        "wal_recycled_zstd",
    ] {
        let dir = copy(name);
        let mut rows = expected(name);
        let family = if name == "cfs_fv7_lz4" { "beta" } else { "default" };
        esker(
            "put",
            dir.path(),
            &["--column_family", family, "--hex", "00", "0102"],
        )
        .good();
        esker(
            "put",
            dir.path(),
            &["--column_family", family, "--hex", "01", "03"],
        )
        .good();
        esker("delete", dir.path(), &["--column_family", family, "--hex", "01"]).good();
        let new = format!("{family}\t00\t0102\n");
        match name {
            "reverse_comparator" => rows.push_str(&new),
            _ => rows.insert_str(rows.find(&format!("{family}\t")).unwrap(), &new),
        }
        assert_same(name, &scan(name, dir.path()).good(), &rows);
        esker("verify", dir.path(), &[]).good();
    }
}

#[test]
fn timestamps_are_written_at_and_read_at() {
    let dir = copy("user_timestamps");
    let at = |verb: &str, timestamp: &str, args: &[&str]| {
        esker(verb, dir.path(), &[&["--timestamp", timestamp], args].concat())
    };
    at("put", "1000", &["new", "one"]).good();
    at("put", "2000", &["new", "two"]).good();
    at("delete", "3000", &["new"]).good();
    assert_eq!(at("get", "1999", &["new"]).good(), "one\n");
    assert_eq!(at("get", "2000", &["new"]).good(), "two\n");
    at("get", "999", &["new"]).bad();
    esker("get", dir.path(), &["new"]).bad();
    at("put", "4000", &["new", "four"]).good();
    assert_eq!(esker("get", dir.path(), &["new"]).good(), "four\n");
    assert!(
        esker("put", dir.path(), &["k", "v"])
            .bad()
            .contains("has timestamps")
    );
    assert_same(
        "as of then",
        &scan("user_timestamps", dir.path()).good(),
        &expected("user_timestamps"),
    );
    let plain = copy("fv5_zstd");
    assert!(
        esker("put", plain.path(), &["--timestamp=1", "k", "v"])
            .bad()
            .contains("no timestamps")
    );
    assert!(
        esker("scan", plain.path(), &["--timestamp=1"])
            .bad()
            .contains("no column family has timestamps")
    );
}
