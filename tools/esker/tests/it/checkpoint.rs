//! `esker checkpoint`: a second database of the same rows.

use esker::{Db, Options};
use tempfile::TempDir;

use crate::common::*;

#[test]
fn every_row_is_in_the_checkpoint_and_stays_there() {
    for name in ["cfs_fv7_lz4", "blob_files", "wal_only", "user_timestamps"] {
        let dir = copy(name);
        let place = TempDir::new().unwrap();
        for (to, args) in [("a", &[][..]), ("b", &["--log_size_for_flush=1000000000"])] {
            let to = place.path().join(to);
            let mut args = args.to_vec();
            args.extend(["--to", to.to_str().unwrap()]);
            let said = esker("checkpoint", dir.path(), &args).good();
            assert!(said.contains(to.to_str().unwrap()), "{said}");
            esker("verify", &to, &[]).good();
            assert_same(name, &scan(name, &to).good(), &expected(name));
        }
        let to = place.path().join("a");
        if name != "user_timestamps" {
            esker("deleterange", dir.path(), &["", "~~~~"]).good();
            assert_same(name, &scan(name, &to).good(), &expected(name));
        }
        let before = listing(dir.path());
        let error = esker("checkpoint", dir.path(), &["--to", to.to_str().unwrap()]).bad();
        assert!(
            error.contains("exists") && error.contains(to.to_str().unwrap()),
            "{error}"
        );
        assert_eq!(listing(dir.path()), before);
    }
}

#[test]
fn a_database_in_use_has_no_checkpoint_made_of_it_from_outside() {
    let dir = copy("fv5_zstd");
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    let db = Db::open(&Options::default(), dir.path()).unwrap();
    let error = esker("checkpoint", dir.path(), &["--to", to.to_str().unwrap()]).bad();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    assert!(!to.exists());
    db.close().unwrap();
}
