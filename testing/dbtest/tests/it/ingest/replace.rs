//! Files that replace all rows of a range, and files ingested with known metadata.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::compact;
use dbtest::crash::{dump, images_of_changes};
use dbtest::files;
use esker::{
    Db, ErrorKind, IngestExternalFileArg, IngestExternalFileOptions, Options, RangeOpt, SstFileWriter,
};
use vfs::{Action, FaultFs, MemFs, Op, Rule};

use crate::ingest::{DIR, fresh, options, put, replacing, rows_of, strays, write_file};

fn range(start: Option<&str>, limit: Option<&str>) -> Option<RangeOpt> {
    let bytes = |key: &str| key.as_bytes().to_vec();
    Some(RangeOpt {
        start: start.map(bytes),
        limit: limit.map(bytes),
    })
}

#[test]
fn everything_is_replaced_while_compactions_run() {
    let (mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    for round in 0..20 {
        for key in 0..200 {
            db.put(
                format!("k{:04}", (key * 37 + round) % 500).as_bytes(),
                [b'v'; 100],
            )
            .unwrap();
        }
        let file = write_file(&options, &format!("{round}"), &["k0100:new", "k0300:new"]);
        let bounds = match round % 3 {
            0 => range(None, None),
            1 => range(Some("k"), None),
            _ => range(None, Some("l")),
        };
        db.ingest_external_files(&[replacing(&db, &[file], bounds)])
            .unwrap();
        assert_eq!(rows_of(&db), ["k0100=new", "k0300=new"], "round {round}");
    }
    db.wait_for_compact().unwrap();
    assert_eq!(rows_of(&db).len(), 2);
    assert_eq!(files::check(&db).unwrap(), "");
    drop(db);
    assert_eq!(strays(&mem, Db::open(&options, DIR).unwrap()), [""; 0]);
}

#[test]
fn a_crash_leaves_the_old_rows_or_the_new() {
    let mut rng = testkit::rng();
    let (mem, plain) = fresh();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
    put(&db, &["a", "m", "n"], "old");
    compact(&db);
    put(&db, &["m", "z"], "in memory");
    db.sync_wal().unwrap();
    let file = write_file(&plain, "1", &["n:new"]);
    let before = dump(&db).unwrap();
    let (_, images) = images_of_changes(&mem, &faults, rng.u64(..), || {
        let replace = replacing(&db, &[file], range(None, None));
        db.ingest_external_files(&[replace]).unwrap();
    });
    let after = dump(&db).unwrap();
    assert_eq!(after["default"].len(), 1);
    assert!(images.len() > 10, "{}", images.len());
    let mut seen = BTreeMap::new();
    for (step, image) in images.into_iter().flatten().enumerate() {
        let options = options(Arc::new(image.clone()));
        let db = Db::open(&options, DIR).unwrap_or_else(|error| panic!("step {step}: {error}"));
        let found = dump(&db).unwrap();
        assert!(found == before || found == after, "step {step}: {found:?}");
        *seen.entry(found == after).or_insert(0) += 1;
        drop(db);
        assert_eq!(
            strays(&image, Db::open(&options, DIR).unwrap()),
            [""; 0],
            "step {step}"
        );
    }
    assert!(seen[&false] > 0, "{seen:?}");
}

#[test]
fn files_whose_contents_are_known_are_not_opened() {
    let mem = MemFs::new();
    vfs::FileSystem::create_dir_all(&mem, Path::new(crate::ingest::OUTSIDE)).unwrap();
    let faults = FaultFs::new(Arc::new(mem));
    let options: Options = options(Arc::new(faults.clone()));
    let db = Db::open(&options, DIR).unwrap();
    put(&db, &["b", "y"], "old");
    let write = |name: &str, keys: &[&str]| {
        let mut writer = SstFileWriter::new(&options);
        writer.open(Path::new(crate::ingest::OUTSIDE).join(name)).unwrap();
        for key in keys {
            writer.put(key.as_bytes(), b"new").unwrap();
        }
        writer.delete_range(b"x", b"z").unwrap();
        writer.finish().unwrap()
    };
    let info = write("1", &["a", "b", "c"]);
    let usual = IngestExternalFileOptions::default();
    let with = |info: &esker::ExternalSstFileInfo, options: &IngestExternalFileOptions| {
        let known = info.prepared_file_info.clone().unwrap();
        IngestExternalFileArg {
            file_infos: vec![known],
            ..IngestExternalFileArg::new(&db.default_column_family(), [&info.file_path], options.clone())
        }
    };
    let moved = IngestExternalFileOptions {
        move_files: true,
        ..usual.clone()
    };
    // The rule makes an open of the file under its old path fail: the ingestion must not need it.
    let rule = faults.add(
        Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Open])
            .path_ends_with("/outside/1"),
    );
    db.ingest_external_files(&[with(&info, &moved)]).unwrap();
    assert_eq!(faults.fired(rule), 0);
    assert_eq!(
        rows_of(&db),
        ["a=new", "b=new", "c=new"],
        "its range deletion hides y"
    );
    assert_eq!(files::check(&db).unwrap(), "");

    // Ingestions with known metadata are refused for another file under the path, for one metadata record too
    // few, and with options that need the file to be opened.
    let other = write("2", &["longer", "than", "what"]);
    let mut wrong = with(&info, &usual);
    wrong.external_files = vec![other.file_path.clone()];
    let error = db.ingest_external_files(&[wrong]).unwrap_err();
    assert!(
        error.is_corruption() && error.to_string().contains("file_infos"),
        "{error}"
    );
    let mut two = with(&other, &usual);
    two.external_files.push(info.file_path.clone());
    let error = db.ingest_external_files(&[two]).unwrap_err();
    assert!(error.to_string().contains("size must match"), "{error}");
    let written = IngestExternalFileOptions {
        write_global_seqno: true,
        ..usual.clone()
    };
    let error = db.ingest_external_files(&[with(&other, &written)]).unwrap_err();
    assert!(error.to_string().contains("file_infos is set"), "{error}");
    let verified = IngestExternalFileOptions {
        verify_checksums_before_ingest: true,
        ..usual
    };
    let rule = faults.add(
        Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Open])
            .path_ends_with("/outside/2"),
    );
    db.ingest_external_files(&[with(&other, &verified)]).unwrap_err();
    assert_eq!(faults.fired(rule), 1, "read although it is known");
}
