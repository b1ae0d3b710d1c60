//! Column families that are exported as files and created again from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::flush;
use dbtest::crash::{dump, images_of_changes};
use dbtest::files;
use esker::{
    ColumnFamilyOptions, Db, ErrorKind, ExportImportFilesMetaData, FlushOptions, ImportColumnFamilyOptions,
    Options, ReadOptions, UserComparator, WriteOptions,
};
use testkit::TestRng;
use vfs::{Action, FaultFs, FileSystem, MemFs, Rule, UnsyncedPolicy};

use crate::fixtures::{copy, names, rows};
use crate::ingest::{DIR, Rows, fresh, options, strays, tables_in};

const EXPORT: &str = "/export";
const MOVED: ImportColumnFamilyOptions = ImportColumnFamilyOptions { move_files: true };
const COPIED: ImportColumnFamilyOptions = ImportColumnFamilyOptions { move_files: false };

/// Fills the family with entries of all kinds over some levels; keys begin with `prefix`.
fn fill(rng: &mut TestRng, db: &Db, family: &str, prefix: &str) {
    let family = db.column_family(family).unwrap();
    let write = WriteOptions::default();
    let key = |rng: &mut TestRng| format!("{prefix}{:03}", rng.u32(..200)).into_bytes();
    for round in 0..6 {
        for _ in 0..60 {
            let key = key(rng);
            match rng.u32(..6) {
                0 => db.delete_cf_opt(&family, &key, &write).unwrap(),
                1 => db.merge_cf_opt(&family, &key, b"merged", &write).unwrap(),
                _ => db.put_cf_opt(&family, &key, rng.bytes(20), &write).unwrap(),
            }
        }
        let mut range = [key(rng), key(rng)];
        range.sort();
        db.delete_range_cf_opt(&family, &range[0], &range[1], &write)
            .unwrap();
        db.flush_cf(std::slice::from_ref(&family)).unwrap();
        if round == 3 {
            db.compact_range_cf(&family, None, None).unwrap();
        }
    }
}

fn of(db: &Db, family: &str) -> Rows {
    dump(db).unwrap()[family].clone()
}

fn import(
    db: &Db,
    options: &ColumnFamilyOptions,
    how: &ImportColumnFamilyOptions,
    from: &[&ExportImportFilesMetaData],
) -> esker::Result<()> {
    db.create_column_family_with_import("imported", options, from, how)
        .map(drop)
}

#[test]
fn an_exported_family_is_imported_as_it_was() {
    let mut rng = testkit::rng();
    for how in [MOVED, COPIED] {
        let (mem, mut options) = fresh();
        options.column_family.disable_auto_compactions = true;
        let source = Db::open(&options, "/source").unwrap();
        fill(&mut rng, &source, "default", "k");
        let expected = of(&source, "default");
        let family = source.default_column_family();
        let snapshot = source.snapshot();
        source.put(b"k000", b"newest").unwrap();
        let exported = source.export_column_family(&family, EXPORT).unwrap();
        assert!(exported.files.len() > 2, "{exported:?}");
        let newest = of(&source, "default");
        let error = source.export_column_family(&family, EXPORT).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        // The source database can be changed after the export.
        source.delete_range_cf(&family, b"", b"z").unwrap();
        source.compact_range_cf(&family, None, None).unwrap();
        let read = ReadOptions {
            snapshot: Some(snapshot),
            ..ReadOptions::default()
        };
        assert_eq!(
            source.get_cf_opt(&family, b"k000", &read).unwrap().as_ref(),
            expected.get(&b"k000"[..])
        );

        let db = Db::open(&options, DIR).unwrap();
        db.put(b"other", b"row").unwrap();
        import(&db, &options.column_family, &how, &[&exported]).unwrap();
        assert_eq!(of(&db, "imported"), newest);
        assert_eq!(of(&db, "default").len(), 1);
        assert!(db.latest_sequence_number() >= source.latest_sequence_number() - 10);
        assert_eq!(files::check(&db).unwrap(), "");
        assert_eq!(mem.list(Path::new(EXPORT)).unwrap().is_empty(), how.move_files);
        // New writes are newer than the imported rows.
        let imported = db.column_family("imported").unwrap();
        let write = WriteOptions::default();
        db.put_cf_opt(&imported, b"k000", b"after", &write).unwrap();
        db.compact_range_cf(&imported, None, None).unwrap();
        assert_eq!(of(&db, "imported")[&b"k000"[..]], b"after");
        let rows = dump(&db).unwrap();
        drop((imported, db));
        let mut options = options.clone();
        options
            .column_families
            .insert("imported".to_owned(), options.column_family.clone());
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(dump(&db).unwrap(), rows);
        assert_eq!(strays(&mem, db), [""; 0]);
    }
}

#[test]
fn several_exports_become_one_family_if_they_hold_no_common_keys() {
    let mut rng = testkit::rng();
    let (mem, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    options.column_families = BTreeMap::from([("other".to_owned(), options.column_family.clone())]);
    let source = Db::open(&options, "/source").unwrap();
    fill(&mut rng, &source, "default", "a");
    fill(&mut rng, &source, "other", "b");
    // The test falsifies the metadata of the newest file. Its keys are covered by no tombstone, which would
    // be cut to the falsified bounds.
    for key in [b"a100", b"a101"] {
        source.put(key, b"row").unwrap();
    }
    source.flush().unwrap();
    let export = |family: &str, dir: &str| {
        let family = source.column_family(family).unwrap();
        source.export_column_family(&family, dir).unwrap()
    };
    let (first, second) = (export("default", "/export-a"), export("other", "/export-b"));
    let db = Db::open(&options, DIR).unwrap();
    import(&db, &options.column_family, &COPIED, &[&second, &first]).unwrap();
    let mut expected = of(&source, "default");
    expected.extend(of(&source, "other"));
    assert_eq!(of(&db, "imported"), expected);
    assert_eq!(files::check(&db).unwrap(), "");
    let imported = db.column_family("imported").unwrap();
    db.drop_column_family(&imported).unwrap();
    drop(imported);
    db.put(b"a", b"row").unwrap();

    let refused =
        |how: &str, options: &ColumnFamilyOptions, from: &[&ExportImportFilesMetaData], text: &str| {
            let before = (dump(&db).unwrap(), mem.list(Path::new("/export-a")).unwrap());
            let error = import(&db, options, &MOVED, from).unwrap_err();
            assert!(error.to_string().contains(text), "{how}: {error}");
            assert!(db.column_family("imported").is_none(), "{how}");
            assert_eq!(
                before,
                (dump(&db).unwrap(), mem.list(Path::new("/export-a")).unwrap()),
                "{how}"
            );
        };
    let usual = &options.column_family;
    refused("overlap", usual, &[&first, &first], "CFs have overlapping ranges");
    let mut reverse = usual.clone();
    reverse.comparator = UserComparator::ReverseBytewise;
    refused("comparator", &reverse, &[&first], "Comparator name mismatch");
    let mut lies = first.clone();
    lies.db_comparator_name = reverse.comparator.name().to_owned();
    refused(
        "comparator of the files",
        &reverse,
        &[&lies],
        "Comparator name mismatch",
    );
    refused("nothing", usual, &[], "The list of files is empty");
    refused(
        "no files",
        usual,
        &[&ExportImportFilesMetaData {
            files: Vec::new(),
            ..first.clone()
        }],
        "The list of files is empty",
    );
    let with = |change: &dyn Fn(&mut esker::LiveFileMetaData)| {
        let mut changed = first.clone();
        change(&mut changed.files[0]);
        changed
    };
    refused("size", usual, &[&with(&|file| file.size += 1)], "size mismatch");
    refused("level", usual, &[&with(&|file| file.level = 7)], "level 7");
    refused(
        "file",
        usual,
        &[&with(&|file| file.relative_filename = "none.sst".to_owned())],
        "none.sst",
    );
    refused(
        "seqno",
        usual,
        &[&with(&|file| file.largest_seqno = 0)],
        "sequence numbers",
    );
    refused(
        "bounds",
        usual,
        &[&with(&|file| file.smallest = file.largest.clone())],
        "beyond",
    );
    refused(
        "key",
        usual,
        &[&with(&|file| file.smallest = vec![1])],
        "internal key",
    );
    let error = db
        .create_column_family_with_import("other", usual, &[&first], &MOVED)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(db.column_family("other").is_some());
    assert_eq!(strays(&mem, db), [""; 0]);
}

/// Exports and imports tables with comparators, formats and levels of all kinds, and epoch numbers.
#[test]
fn families_of_rocksdb_are_exported_and_imported() {
    let mut exported = 0;
    for name in names() {
        let dir = copy(&name);
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let source = Db::open_read_only(&options, dir.path()).unwrap();
        drop(source);
        let source = Db::open(&options, dir.path()).unwrap();
        let family = source.default_column_family();
        let to = dir.path().join("export");
        let files = match source.export_column_family(&family, &to) {
            Err(error) if error.kind() == ErrorKind::NotSupported => continue,
            files => files.unwrap(),
        };
        let db = Db::open(&options, dir.path().join("importing")).unwrap();
        let mut own = options.column_family.clone();
        own.comparator = family.comparator().clone();
        if own.comparator.timestamp_size() == 0 {
            own.merge_operator = base::merge::builtin("StringAppendOperator");
        }
        if let Err(error) = db.create_column_family_with_import("default2", &own, &[&files], &COPIED) {
            assert!(
                files.files.is_empty() || error.to_string().contains("without the timestamps"),
                "{name}: {error}"
            );
            continue;
        }
        exported += 1;
        if family.comparator().timestamp_size() > 0 {
            continue;
        }
        let of = |db: &Db, family: &str| -> Vec<String> {
            let all = rows(db, &ReadOptions::default(), false);
            let own = all
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{family}\t")));
            own.map(str::to_owned).collect()
        };
        assert_eq!(of(&db, "default2"), of(&source, "default"), "{name}");
    }
    assert!(exported > 10, "{exported}");
}

#[test]
fn a_crash_leaves_an_imported_family_whole_or_empty() {
    let mut rng = testkit::rng();
    for how in [MOVED, COPIED] {
        let (mem, plain) = fresh();
        let source = Db::open(&plain, "/source").unwrap();
        fill(&mut rng, &source, "default", "k");
        let expected = of(&source, "default");
        let exported = source
            .export_column_family(&source.default_column_family(), EXPORT)
            .unwrap();
        drop(source);
        drop(Db::open(&plain, DIR).unwrap());
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
        let (_, images) = images_of_changes(&mem, &faults, rng.u64(..), || {
            import(&db, &plain.column_family, &how, &[&exported]).unwrap();
        });
        assert!(images.len() > 10, "{}", images.len());
        for (step, image) in images.into_iter().flatten().enumerate() {
            let options = options(Arc::new(image.clone()));
            let db = Db::open(&options, DIR).unwrap_or_else(|error| panic!("step {step}: {error}"));
            let found = dump(&db).unwrap();
            let found = found.get("imported").cloned().unwrap_or_default();
            assert!(found.is_empty() || found == expected, "step {step}: {found:?}");
            if found.is_empty() {
                // After a refused import the files are still in their place, and intact.
                if let Some(empty) = db.column_family("imported") {
                    db.drop_column_family(&empty).unwrap();
                }
                import(&db, &options.column_family, &how, &[&exported])
                    .unwrap_or_else(|error| panic!("step {step}: {error}"));
                assert_eq!(of(&db, "imported"), expected, "step {step}");
            }
            drop(db);
            assert_eq!(
                strays(&image, Db::open(&options, DIR).unwrap()),
                [""; 0],
                "step {step}"
            );
        }
    }
}

#[test]
fn an_export_that_was_cut_off_is_made_again() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"1").unwrap();
        flush(&db);
    }
    let family = db.default_column_family();
    let tables = tables_in(&mem);
    let mut step = 0;
    loop {
        let rule = faults.add(
            Rule::new(Action::Fail(ErrorKind::NoSpace))
                .path_contains("export")
                .nth(step),
        );
        let outcome = db.export_column_family(&family, EXPORT);
        let fired = faults.fired(rule) > 0;
        faults.clear_rules();
        if outcome.is_err() && !mem.exists(Path::new(EXPORT)).unwrap() {
            assert_eq!(
                db.export_column_family(&family, EXPORT).unwrap().files.len(),
                3,
                "step {step}"
            );
        }
        assert!(!mem.exists(Path::new("/export.tmp")).unwrap(), "step {step}");
        assert_eq!(mem.list(Path::new(EXPORT)).unwrap(), tables, "step {step}");
        for name in mem.list(Path::new(EXPORT)).unwrap() {
            mem.remove(&Path::new(EXPORT).join(name)).unwrap();
        }
        mem.remove_dir(Path::new(EXPORT)).unwrap();
        if !fired {
            break;
        }
        step += 1;
    }
    assert!(step > 5, "{step}");
}

/// Power is lost after an import while rows of another family are in older WALs that were not synced: the
/// database opens, and has the imported family.
#[test]
fn an_import_survives_a_loss_of_power_with_older_wals() {
    let (mem, options) = fresh();
    let source = Db::open(&options, "/source").unwrap();
    source.put(b"k", b"v").unwrap();
    source.flush().unwrap();
    let family = source.default_column_family();
    let exported = source.export_column_family(&family, EXPORT).unwrap();

    let db = Db::open(&options, DIR).unwrap();
    for number in 0..20 {
        db.put(format!("{number:02}"), vec![b'v'; 100]).unwrap();
    }
    db.pause_background_work().unwrap();
    let begin = FlushOptions {
        wait: false,
        ..FlushOptions::default()
    };
    db.flush_opt(&begin).unwrap();
    import(&db, &options.column_family, &COPIED, &[&exported]).unwrap();
    let mut rows = BTreeSet::new();
    for seed in 0..20 {
        let left = mem.crash_clone(&mut TestRng::with_seed(seed), UnsyncedPolicy::Random);
        let options = Options {
            fs: Arc::new(left),
            ..options.clone()
        };
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(of(&db, "imported").len(), 1);
        rows.insert(of(&db, "default").len());
    }
    assert_eq!(rows, BTreeSet::from([20]), "the import makes older rows durable");
    db.continue_background_work().unwrap();
}
