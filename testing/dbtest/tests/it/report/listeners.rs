//! Events that listeners receive, besides those that become lines of the info log.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use dbtest::by_hand::{at_once, flush, rewrite};
use dbtest::events::Recorder;
use esker::{
    ColumnFamilyOptions, Db, ErrorKind, Event, EventListener, FileOperation, FileOperationType, FlushOptions,
    Options, TableFileCreationReason,
};
use vfs::{Action, FaultFs, MemFs, Op, Rule};

fn options(fs: Arc<dyn vfs::FileSystem>, listener: Arc<dyn EventListener>) -> Options {
    Options {
        create_if_missing: true,
        fs,
        listeners: vec![listener, Arc::new(dbtest::events::NoAutoRecovery)],
        max_subcompactions: 4,
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            streams_bypass_level0: false,
            target_file_size_base: 16 << 10,
            compression: esker::CompressionType::None,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

fn fill(db: &Db) {
    for round in 0..3 {
        for key in 0..400 {
            db.put(format!("k{key:04}").as_bytes(), [round; 200]).unwrap();
        }
        db.delete(b"k0000").unwrap();
        flush(db);
    }
}

#[test]
fn a_flush_waits_for_listeners_if_it_is_asked_to() {
    // The delay lets other threads run.
    let listener = Recorder::of(|event| {
        let is_flush = matches!(event, Event::Flushed { .. });
        is_flush.then(|| (0..1_000).for_each(|_| std::thread::yield_now()))
    });
    let db = Db::open(&options(Arc::new(MemFs::new()), listener.clone()), "/db").unwrap();
    let waits = FlushOptions {
        listener_wait: true,
        ..at_once()
    };
    for flushes in 1..=20 {
        db.put(b"key", b"value").unwrap();
        db.flush_opt(&waits).unwrap();
        assert_eq!(listener.count(), flushes);
    }
}

#[test]
fn each_range_of_a_compaction_is_told_of_when_it_begins_and_when_it_is_written() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem));
    let events = Recorder::events();
    let db = Db::open(&options(Arc::new(faults.clone()), events.clone()), "/db").unwrap();
    fill(&db);
    rewrite(&db);
    let (mut begun, mut compactions, mut files, mut bytes) = (BTreeSet::new(), 0, 0, 0);
    let mut running = BTreeSet::new();
    for event in events.all() {
        match event {
            Event::SubcompactionBegun {
                job, subcompaction, ..
            } => {
                assert!(begun.insert((job, subcompaction)));
                running.insert((job, subcompaction));
            }
            Event::SubcompactionCompleted {
                job,
                subcompaction,
                output_files,
                bytes_written,
                error: None,
                ..
            } => {
                assert!(running.remove(&(job, subcompaction)));
                files += output_files;
                bytes += bytes_written;
            }
            Event::Compacted {
                job,
                subcompactions,
                outputs,
                bytes_written,
                ..
            } => {
                assert_eq!(running.len(), 0);
                assert!(subcompactions > 1, "{subcompactions}");
                let expected: BTreeSet<_> = (0..subcompactions).map(|nth| (job, nth)).collect();
                assert_eq!(std::mem::take(&mut begun), expected);
                assert_eq!((files, bytes), (outputs.len(), bytes_written));
                compactions += 1;
                (files, bytes) = (0, 0);
            }
            _ => {}
        }
    }
    assert_eq!(running.len(), 0);
    assert!(compactions > 0);

    // A failed compaction is reported too.
    faults.add(
        Rule::new(Action::Fail(ErrorKind::NoSpace))
            .on([Op::Append])
            .path_ends_with(".sst"),
    );
    let before = events.all().len();
    db.compact_range_cf_opt(
        &db.default_column_family(),
        None,
        None,
        &dbtest::by_hand::everything(),
    )
    .unwrap_err();
    let failed = events.all().split_off(before);
    assert!(
        failed.iter().any(|event| matches!(
            event,
            Event::SubcompactionCompleted { error: Some(error), .. } if error.kind() == ErrorKind::NoSpace
        )),
        "{failed:?}"
    );
}

#[test]
fn recovery_from_an_error_is_told_of() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let events = Recorder::events();
    let db = Db::open(&options(Arc::new(faults.clone()), events.clone()), "/db").unwrap();
    db.put(b"key", b"value").unwrap();
    db.resume().unwrap();
    faults.add(
        Rule::new(Action::Fail(ErrorKind::NoSpace))
            .on([Op::Append])
            .path_ends_with(".sst"),
    );
    db.flush().unwrap_err();
    db.resume().unwrap_err();
    faults.clear_rules();
    db.resume().unwrap();
    let told: Vec<String> = events
        .all()
        .iter()
        .filter_map(|event| match event {
            Event::ErrorRecoveryBegun {
                background_error,
                automatic: false,
            } => Some(format!("begun {:?}", background_error.kind())),
            Event::ErrorRecoveryEnded {
                background_error,
                new_error,
                automatic: false,
            } => Some(format!(
                "ended {:?} {:?}",
                background_error.kind(),
                new_error.as_ref().map(esker::Error::kind)
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        told.len(),
        4,
        "a resume without a failure is not reported: {told:?}"
    );
    assert!(
        told[0].starts_with("begun") && told[2].starts_with("begun"),
        "{told:?}"
    );
    assert!(told[1].contains("Some(") && told[3].ends_with("None"), "{told:?}");
}

/// Counts operations by the kind of file and of operation.
#[derive(Default)]
struct FileIo {
    wants: bool,
    seen: Mutex<HashMap<(String, FileOperationType), (usize, usize)>>,
    failed: Mutex<Vec<String>>,
}

impl EventListener for FileIo {
    fn on_event(&self, _event: &Event) {}

    fn should_be_notified_on_file_io(&self) -> bool {
        self.wants
    }

    fn on_file_operation(&self, operation: &FileOperation<'_>) {
        if let Some(error) = operation.error {
            self.failed.lock().unwrap().push(error.to_string());
        }
        let name = operation.path.file_name().unwrap().to_string_lossy().into_owned();
        let kind = name
            .rsplit('.')
            .next()
            .unwrap()
            .split('-')
            .next()
            .unwrap()
            .to_owned();
        let mut seen = self.seen.lock().unwrap();
        let (count, bytes) = seen.entry((kind, operation.op)).or_default();
        *count += 1;
        *bytes += operation.length;
    }
}

#[test]
fn operations_on_files_are_told_to_those_who_want_it() {
    for wants in [false, true] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem));
        let listener = Arc::new(FileIo {
            wants,
            ..FileIo::default()
        });
        let db = Db::open(&options(Arc::new(faults.clone()), listener.clone()), "/db").unwrap();
        fill(&db);
        rewrite(&db);
        assert_eq!(db.get(b"k0300").unwrap().unwrap().len(), 200);
        if !wants {
            assert!(listener.seen.lock().unwrap().is_empty());
            continue;
        }
        let seen = listener.seen.lock().unwrap().clone();
        let of = |kind: &str, op| seen.get(&(kind.to_owned(), op)).copied().unwrap_or_default();
        assert!(of("log", Op::Append).1 > 3 * 400 * 200, "{seen:?}");
        assert!(of("sst", Op::Append).1 > 4 * 400 * 200, "{seen:?}");
        assert!(of("sst", Op::Read).1 > 3 * 400 * 200, "{seen:?}");
        assert!(of("sst", Op::Close).0 > 4, "{seen:?}");
        assert!(of("MANIFEST", Op::Append).0 > 3, "{seen:?}");
        assert!(!seen.keys().any(|(kind, _)| kind == "LOG"), "{seen:?}");
        assert_eq!(listener.failed.lock().unwrap().len(), 0);
        faults.add(
            Rule::new(Action::Fail(ErrorKind::Io))
                .on([Op::Append])
                .path_ends_with(".log"),
        );
        db.put(b"k", b"v").unwrap_err();
        assert_eq!(listener.failed.lock().unwrap().len(), 1);
    }
}

/// The events about tables, with a word and a number for each.
fn tables(told: &[Event]) -> Vec<(&'static str, u64, Option<TableFileCreationReason>)> {
    let of = |event: &Event| match event {
        Event::TableCreationStarted {
            file, reason, path, ..
        } => {
            assert!(path.ends_with(&format!("{file:06}.sst")), "{path}");
            Some(("started", *file, Some(*reason)))
        }
        Event::TableCreated { file, .. } => Some(("created", *file, None)),
        Event::TableCreationFailed { file, reason, .. } => Some(("failed", *file, Some(*reason))),
        _ => None,
    };
    told.iter().filter_map(of).collect()
}

#[test]
fn each_table_that_is_begun_is_told_of_and_how_it_ended() {
    use TableFileCreationReason::{Compaction, Flush, Recovery};
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let events = Recorder::events();
    let mut options = options(Arc::new(faults.clone()), events.clone());
    options.max_subcompactions = 1;
    let db = Db::open(&options, "/db").unwrap();
    fill(&db);
    rewrite(&db);
    let told = tables(&events.all());
    let pairs: Vec<_> = told.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    assert!(
        pairs.len() > 5,
        "three flushes, and some files of a compaction: {told:?}"
    );
    for (at, ((begun, number, reason), ended)) in pairs.iter().enumerate() {
        let expected = if at < 3 { Flush } else { Compaction };
        assert_eq!((*begun, *reason), ("started", Some(expected)), "{told:?}");
        assert_eq!(*ended, ("created", *number, None), "{told:?}");
    }

    // The faults are a table that cannot be created, and one that cannot be completed.
    for op in [Op::Create, Op::Append] {
        let rule = faults.add(
            Rule::new(Action::Fail(ErrorKind::NoSpace))
                .on([op])
                .path_ends_with(".sst"),
        );
        let before = events.all().len();
        let everything = dbtest::by_hand::everything();
        let family = db.default_column_family();
        db.compact_range_cf_opt(&family, None, None, &everything)
            .unwrap_err();
        let told = tables(&events.all().split_off(before));
        assert!(
            matches!(told[..], [("started", begun, Some(Compaction)), ("failed", ended, Some(Compaction))] if begun == ended),
            "{op:?} {told:?}"
        );
        faults.remove_rule(rule);
        db.resume().unwrap();
    }

    db.put(b"late", b"row").unwrap();
    // Rows of a WAL are written to a table when the database is opened.
    drop(db);
    let events = Recorder::events();
    options.listeners = vec![events.clone()];
    let db = Db::open(&options, "/db").unwrap();
    let told = tables(&events.all());
    assert!(
        matches!(told[..], [("started", begun, Some(Recovery)), ("created", ended, None)] if begun == ended),
        "{told:?}"
    );
    assert_eq!(db.get(b"late").unwrap().as_deref(), Some(&b"row"[..]));
}

#[test]
fn each_blob_file_that_is_begun_is_told_of_and_how_it_ended() {
    use TableFileCreationReason::{Compaction, Flush};
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let events = Recorder::events();
    let mut options = options(Arc::new(faults.clone()), events.clone());
    options.max_subcompactions = 1;
    let family = &mut options.column_family;
    family.enable_blob_files = true;
    family.blob_file_size = 32 << 10;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    let db = Db::open(&options, "/db").unwrap();
    let blobs = |told: &[Event]| -> Vec<(&'static str, u64, Option<TableFileCreationReason>)> {
        let of = |event: &Event| match event {
            Event::BlobFileCreationStarted {
                file, reason, path, ..
            } => {
                assert!(path.ends_with(&format!("{file:06}.blob")), "{path}");
                Some(("started", *file, Some(*reason)))
            }
            Event::BlobFileCreated { file, .. } => Some(("created", *file, None)),
            Event::BlobFileCreationFailed { file, reason, .. } => Some(("failed", *file, Some(*reason))),
            _ => None,
        };
        told.iter().filter_map(of).collect()
    };
    let ended = |told: &[Event], word: &str| {
        let told = blobs(told);
        let numbers = |wanted: &str| -> BTreeSet<u64> {
            let of_word = told.iter().filter(|(word, ..)| *word == wanted);
            of_word.map(|(_, file, _)| *file).collect()
        };
        let (begun, ended) = (numbers("started"), numbers(word));
        assert_eq!(begun, ended, "{told:?}");
        assert_eq!(begun.len() + ended.len(), told.len(), "each once: {told:?}");
        let reasons: HashSet<_> = told.iter().filter_map(|(.., reason)| *reason).collect();
        (begun.len(), reasons)
    };
    fill(&db);
    let flushed = events.all();
    let (files, reasons) = ended(&flushed, "created");
    assert!(
        files > 5 && reasons == HashSet::from([Flush]),
        "{files} {reasons:?}"
    );
    rewrite(&db);
    let (files, reasons) = ended(&events.all()[flushed.len()..], "created");
    assert!(
        files > 1 && reasons == HashSet::from([Compaction]),
        "{files} {reasons:?}"
    );

    // The third of several blob files of a flush cannot be written, so none of them is installed.
    let before = events.all().len();
    let rule = Rule::new(Action::Fail(ErrorKind::NoSpace)).on([Op::Create]);
    faults.add(rule.path_ends_with(".blob").skip(2));
    let family = db.default_column_family();
    let everything = dbtest::by_hand::everything();
    db.compact_range_cf_opt(&family, None, None, &everything)
        .unwrap_err();
    let (files, reasons) = ended(&events.all()[before..], "failed");
    assert_eq!((files, reasons), (3, HashSet::from([Compaction])));
}
