//! Crashes and errors between any two steps of an ingestion.

use std::path::Path;
use std::sync::Arc;

use base::env::Rng;
use dbtest::crash::{any_loss, dump, images_of_changes};
use dbtest::files;
use esker::{
    ColumnFamily, Db, ErrorKind, IngestExternalFileArg, IngestExternalFileOptions, Options, WriteBatch,
    WriteOptions,
};
use vfs::{Action, FaultFs, FileSystem, MemFs, Rule, UnsyncedPolicy};

use crate::ingest::{DIR, Found, OUTSIDE, fresh, live_names, options, strays, tables_in, write_file};

/// Four sets of options of an ingestion, for the tests of crashes.
fn ways() -> [IngestExternalFileOptions; 4] {
    let usual = IngestExternalFileOptions::default();
    [
        usual.clone(),
        IngestExternalFileOptions {
            move_files: true,
            ..usual.clone()
        },
        IngestExternalFileOptions {
            link_files: true,
            verify_checksums_before_ingest: true,
            ..usual.clone()
        },
        IngestExternalFileOptions {
            write_global_seqno: true,
            ..usual
        },
    ]
}

/// A database with rows in two families, and three files for them: some overlap the memtables.
fn before_ingestion(mem: &MemFs, options: &Options) {
    let db = Db::open(options, DIR).unwrap();
    let other = db.column_family("other").unwrap();
    let sync = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    for i in 0..10 {
        let mut batch = WriteBatch::new();
        batch.put(format!("k{i}").as_bytes(), b"old");
        batch.put_cf(&other, format!("k{i}").as_bytes(), b"old");
        db.write_opt(batch, &sync).unwrap();
    }
    drop(db);
    write_file(options, "1", &["[k3,k6)", "k4:new", "k7#merge:new"]);
    write_file(options, "2", &["k7#del", "n:new"]);
    write_file(options, "3", &["x:new", "y:new"]);
    mem.sync_dir(Path::new(OUTSIDE)).unwrap();
}

fn args(db: &Db, ingestion: &IngestExternalFileOptions) -> [IngestExternalFileArg; 2] {
    let outside = |name: &str| Path::new(OUTSIDE).join(name);
    let family = |name: &str| -> ColumnFamily { db.column_family(name).unwrap() };
    [
        IngestExternalFileArg::new(&family("default"), ["1", "2"].map(outside), ingestion.clone()),
        IngestExternalFileArg::new(&family("other"), ["3"].map(outside), ingestion.clone()),
    ]
}

/// A key that was written before the ingestion, without sync, and does not overlap.
const UNSYNCED: &[u8] = b"zz";

/// Opens the database after a crash and returns whether all files are in it, or none.
fn look(
    mem: MemFs,
    what: &str,
    ingestion: &IngestExternalFileOptions,
    [synced, before, after]: [&Found; 3],
) -> bool {
    let options = options(Arc::new(mem.clone()));
    let db = Db::open(&options, DIR).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = dump(&db).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!([synced, before, after].contains(&&found), "{what}: {found:?}");
    // If the files are in the database, no earlier write is lost.
    let is_in = found == *after;
    // Files that are not in the database are still outside, and intact.
    if !is_in {
        db.ingest_external_files(&args(&db, ingestion))
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut found = dump(&db).unwrap();
        found
            .get_mut("default")
            .unwrap()
            .insert(UNSYNCED.to_vec(), b"row".to_vec());
        assert_eq!(found, *after, "{what}");
    }
    db.put(b"zzz", b"life goes on").unwrap();
    assert_eq!(files::check(&db).unwrap(), "", "{what}");
    db.verify_checksum().unwrap();
    drop(db);
    assert_eq!(strays(&mem, Db::open(&options, DIR).unwrap()), [""; 0], "{what}");
    is_in
}

#[test]
fn a_crash_between_any_two_steps_leaves_all_of_the_files_or_none() {
    let mut rng = testkit::rng();
    for ingestion in ways() {
        let (mem, plain) = fresh();
        before_ingestion(&mem, &plain);
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let over = options(Arc::new(faults.clone()));
        let db = Db::open(&over, DIR).unwrap();
        let synced = dump(&db).unwrap();
        db.put(UNSYNCED, b"row").unwrap();
        let before = dump(&db).unwrap();
        let (_, images) = images_of_changes(&mem, &faults, rng.u64(..), || {
            db.ingest_external_files(&args(&db, &ingestion)).unwrap();
        });
        let after = dump(&db).unwrap();
        assert_ne!(before, after);
        assert!(images.len() > 10, "{}", images.len());
        let mut seen = [0; 2];
        let steps = images.len();
        for (step, pair) in images.into_iter().enumerate() {
            for (image, how) in pair.into_iter().zip(["power", "process"]) {
                let what = format!("step {step} of {steps}, loss of {how}, {ingestion:?}");
                seen[usize::from(look(image, &what, &ingestion, [&synced, &before, &after]))] += 1;
            }
        }
        assert!(seen[0] > 0, "{seen:?}");
        let last = any_loss(&mem, &mut Rng::with_seed(rng.u64(..)));
        drop(db);
        assert!(look(
            last,
            "after it was acknowledged",
            &ingestion,
            [&synced, &before, &after]
        ));
    }
}

#[test]
fn an_error_at_any_step_leaves_all_of_the_files_or_none() {
    for ingestion in ways() {
        let mut step = 0;
        loop {
            let (mem, plain) = fresh();
            before_ingestion(&mem, &plain);
            let faults = FaultFs::new(Arc::new(mem.clone()));
            let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
            let before = dump(&db).unwrap();
            let tables = tables_in(&mem);
            let rule = faults.add(Rule::new(Action::Fail(ErrorKind::NoSpace)).nth(step));
            let outcome = db.ingest_external_files(&args(&db, &ingestion));
            let fired = faults.fired(rule) > 0;
            faults.clear_rules();
            let what = format!("step {step}, {ingestion:?}, {outcome:?}");
            let after = {
                let (mem, plain) = fresh();
                before_ingestion(&mem, &plain);
                let db = Db::open(&plain, DIR).unwrap();
                db.ingest_external_files(&args(&db, &ingestion)).unwrap();
                dump(&db).unwrap()
            };
            let found = dump(&db).unwrap();
            assert_eq!(
                found,
                if outcome.is_ok() {
                    after.clone()
                } else {
                    before.clone()
                },
                "{what}"
            );
            let latched = db.put(b"still", b"there").is_err();
            if outcome.is_err() && !latched {
                // A flush before the ingestion is not part of the ingestion, so the flushed tables are not
                // counted.
                let mut added = tables_in(&mem);
                added.retain(|name| !tables.contains(name) && !live_names(&db).contains(name));
                assert_eq!(added, [""; 0], "{what}");
            }
            drop(db);
            let db = Db::open(&plain, DIR).unwrap();
            let mut found = dump(&db).unwrap();
            for rows in found.values_mut() {
                rows.remove(&b"still"[..]);
            }
            assert!(found == before || found == after, "{what}");
            assert!(outcome.is_err() || found == after, "{what}");
            if !fired {
                assert!(outcome.is_ok());
                break;
            }
            step += 1;
        }
        assert!(step > 20, "{step}");
    }
}

/// The WAL is durable after an ingestion, even if no overlap causes a flush that would sync it.
#[test]
fn what_came_before_is_as_durable_as_what_is_ingested() {
    let mut rng = testkit::rng();
    let (mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    db.put(UNSYNCED, b"row").unwrap();
    let file = write_file(&options, "1", &["a:new"]);
    db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
        .unwrap();
    let expected = dump(&db).unwrap();
    assert_eq!(expected["default"].len(), 2);
    let image = mem.crash_clone(&mut Rng::with_seed(rng.u64(..)), UnsyncedPolicy::Lose);
    drop(db);
    let db = Db::open(&crate::ingest::options(Arc::new(image)), DIR).unwrap();
    assert_eq!(dump(&db).unwrap(), expected);
}
