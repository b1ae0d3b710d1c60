//! The id of a database: the files that record it, and the ids of copies.

use std::path::Path;

use esker::{CheckpointOptions, Db, Options, Result};

fn options(in_manifest: bool, in_file: bool) -> Options {
    Options {
        create_if_missing: true,
        write_dbid_to_manifest: in_manifest,
        write_identity_file: in_file,
        ..Options::default()
    }
}

/// The ids of a database, of the same database after a reopening, and of a checkpoint of it.
fn ids(options: &Options, dir: &Path) -> Result<[String; 3]> {
    let (path, copy) = (dir.join("db"), dir.join("copy"));
    let db = Db::open(options, &path)?;
    db.put(b"key", b"value")?;
    db.create_checkpoint(&copy, &CheckpointOptions::default())?;
    let (first, session) = (db.identity().to_owned(), db.session_id().to_owned());
    db.close()?;
    let again = Db::open(options, &path)?;
    assert_eq!(session.len(), 20);
    assert_ne!(again.session_id(), session);
    let again = again.identity().to_owned();
    let copy = Db::open(options, &copy)?;
    assert_eq!(copy.get(b"key")?.as_deref(), Some(&b"value"[..]));
    Ok([first, again, copy.identity().to_owned()])
}

#[test]
fn copies_have_the_id_where_the_manifest_records_it() {
    for in_file in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let [first, again, copy] = ids(&options(true, in_file), dir.path()).unwrap();
        assert_eq!(first.len(), 36);
        assert_eq!((&again, &copy), (&first, &first));
        assert_eq!(dir.path().join("db/IDENTITY").exists(), in_file);
    }
}

#[test]
fn copies_make_their_own_id_where_the_file_alone_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let [first, again, copy] = ids(&options(false, true), dir.path()).unwrap();
    assert_eq!(again, first);
    assert_ne!(copy, first);
    assert_eq!(copy.len(), 36);
}

#[test]
fn an_id_must_be_kept_somewhere() {
    let dir = tempfile::tempdir().unwrap();
    let error = Db::open(&options(false, false), dir.path()).unwrap_err();
    assert!(error.to_string().contains("write_dbid_to_manifest"), "{error}");
}
