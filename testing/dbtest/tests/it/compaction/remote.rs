//! Compactions that a worker runs by `Db::open_and_compact`, and whose outputs the database installs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::sync::Mutex;
use dbtest::by_hand::{compact, flush, flush_and_settle, rewrite};
use esker::{
    CompactionFilter, CompactionFilterFactory, CompactionService, CompactionServiceJobInfo,
    CompactionServiceJobStatus as Status, CompactionServiceOptionsOverride,
    CompactionServiceScheduleResponse, Db, Decision, ErrorKind, FilterContext, OpenAndCompactOptions,
    Options, ReadOptions, Result, SstFileReader, ValueType,
};
use vfs::{FileSystem, MemFs};

const DB: &str = "/db";

type Work = Box<dyn Fn(&Remote, &[u8], &Path) -> (Status, Vec<u8>) + Send + Sync>;

/// A service whose workers are in this process, each with a directory of its own.
struct Remote {
    fs: Arc<MemFs>,
    work: Work,
    jobs: Mutex<Vec<Vec<u8>>>,
    heard: Mutex<Vec<Status>>,
}

impl Remote {
    fn new(work: impl Fn(&Remote, &[u8], &Path) -> (Status, Vec<u8>) + Send + Sync + 'static) -> Arc<Remote> {
        Arc::new(Remote {
            fs: Arc::new(MemFs::new()),
            work: Box::new(work),
            jobs: Mutex::default(),
            heard: Mutex::default(),
        })
    }

    /// A service whose workers do what they are asked to do.
    fn working() -> Arc<Remote> {
        Remote::new(|remote, input, dir| (Status::Success, remote.run(input, dir).unwrap()))
    }

    /// A service that changes the result of a worker.
    fn spoiling(spoil: impl Fn(&Remote, String, &Path) -> String + Send + Sync + 'static) -> Arc<Remote> {
        Remote::new(move |remote, input, dir| {
            let result = remote.run(input, dir).unwrap();
            let (version, text) = result.split_at(4);
            let spoilt = spoil(remote, String::from_utf8(text.to_vec()).unwrap(), dir);
            (Status::Success, [version, spoilt.as_bytes()].concat())
        })
    }

    fn run(&self, input: &[u8], dir: &Path) -> Result<Vec<u8>> {
        self.run_with(&OpenAndCompactOptions::default(), &self.own(), input, dir)
    }

    fn run_with(
        &self,
        options: &OpenAndCompactOptions,
        own: &CompactionServiceOptionsOverride,
        input: &[u8],
        dir: &Path,
    ) -> Result<Vec<u8>> {
        Db::open_and_compact(options, DB, dir, input, own)
    }

    fn own(&self) -> CompactionServiceOptionsOverride {
        CompactionServiceOptionsOverride {
            options: Options {
                fs: self.fs.clone(),
                ..Options::default()
            },
            ..CompactionServiceOptionsOverride::default()
        }
    }

    /// The tables in the directory of job `nth`.
    fn tables_of(&self, nth: usize) -> Vec<String> {
        tables(&*self.fs, &job_dir(nth))
    }

    fn heard(&self) -> Vec<Status> {
        self.heard.lock().clone()
    }
}

fn job_dir(nth: usize) -> PathBuf {
    PathBuf::from(format!("/jobs/{nth}"))
}

fn tables(fs: &dyn FileSystem, dir: &Path) -> Vec<String> {
    let mut names = fs.list(dir).unwrap();
    names.retain(|name| name.ends_with(".sst"));
    names.sort();
    names
}

impl CompactionService for Remote {
    fn name(&self) -> &str {
        "test.remote"
    }

    fn schedule(&self, _: &CompactionServiceJobInfo, input: &[u8]) -> CompactionServiceScheduleResponse {
        let mut jobs = self.jobs.lock();
        jobs.push(input.to_vec());
        CompactionServiceScheduleResponse {
            scheduled_job_id: (jobs.len() - 1).to_string().into(),
            status: Status::Success,
        }
    }

    fn wait(&self, id: &[u8]) -> (Status, Vec<u8>) {
        let nth: usize = std::str::from_utf8(id).unwrap().parse().unwrap();
        let input = self.jobs.lock()[nth].clone();
        (self.work)(self, &input, &job_dir(nth))
    }

    fn on_installation(&self, _: &[u8], status: Status) {
        self.heard.lock().push(status);
    }
}

fn options(remote: &Arc<Remote>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: remote.fs.clone(),
        compaction_service: Some(remote.clone()),
        listeners: vec![Arc::new(dbtest::events::NoAutoRecovery)],
        ..Options::default()
    };
    options.column_family.streams_bypass_level0 = false;
    options.column_family.disable_auto_compactions = true;
    options
}

/// Two tables of overlapping keys, which a compaction of everything merges.
fn two_tables(remote: &Arc<Remote>) -> Db {
    let db = Db::open(&options(remote), DB).unwrap();
    for value in ["old", "new"] {
        for key in ["a", "m", "z"] {
            db.put(key.as_bytes(), value.as_bytes()).unwrap();
        }
        flush(&db);
    }
    db
}

fn rows(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = db.iter();
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn assert_merged(db: &Db) {
    let row = |key: &str| (key.as_bytes().to_vec(), b"new".to_vec());
    assert_eq!(rows(db), [row("a"), row("m"), row("z")]);
}

/// The line of the info log about an unusable result.
fn log_of(remote: &Remote) -> String {
    let log = remote
        .fs
        .open_random(&Path::new(DB).join("LOG"), &vfs::OpenOptions::default())
        .unwrap();
    let mut text = vec![0; log.len() as usize];
    log.read_exact_at(0, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines();
    lines
        .find(|line| line.contains("is unusable"))
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn the_outputs_of_a_worker_are_those_of_the_compaction() {
    let remote = Remote::working();
    let db = two_tables(&remote);
    let before = db.snapshot();
    db.delete(b"m").unwrap();
    db.delete_range(b"x", b"zz").unwrap();
    flush(&db);
    compact(&db);
    assert_eq!(remote.heard(), [Status::Success]);
    // The database has moved the output tables out of the worker's directory.
    assert_eq!(remote.tables_of(0), [""; 0]);
    let files = db.live_files();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].level, 6);
    let old = ReadOptions {
        snapshot: Some(before),
        ..ReadOptions::default()
    };
    let family = db.default_column_family();
    let of = |db: &Db, key: &[u8]| db.get_cf_opt(&family, key, &old).unwrap();
    assert_eq!(of(&db, b"m"), Some(b"new".to_vec()));
    assert_eq!(of(&db, b"z"), Some(b"new".to_vec()));
    drop(old);
    drop(family);
    let left = [(b"a".to_vec(), b"new".to_vec())];
    assert_eq!(rows(&db), left);
    db.verify_checksum().unwrap();
    // The second compaction runs without a snapshot, so it drops old versions.
    rewrite(&db);
    assert_eq!(db.live_files()[0].num_entries, 1);
    db.close().unwrap();
    drop(db);
    let names = tables(&*remote.fs, Path::new(DB));
    assert_eq!(names.len(), 1, "{names:?}");
    let db = Db::open(&options(&remote), DB).unwrap();
    assert_eq!(rows(&db), left);
    db.close().unwrap();
}

/// Random writes with automatic compactions, all of them by workers.
#[test]
fn a_database_whose_compactions_are_all_remote_has_every_row() {
    for seed in testkit::rng::seeds(3) {
        let mut rng = testkit::TestRng::with_seed(seed);
        let remote = Remote::working();
        let mut options = options(&remote);
        options.column_family.disable_auto_compactions = false;
        options.column_family.write_buffer_size = 8 << 10;
        options.column_family.target_file_size_base = 4 << 10;
        options.column_family.max_bytes_for_level_base = 16 << 10;
        options.column_family.merge_operator = base::merge::builtin("stringappend");
        let db = Db::open(&options, DB).unwrap();
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for step in 1..=3000 {
            // A busy machine would otherwise gather many tables for a few compactions.
            if step % 100 == 0 {
                flush_and_settle(&db);
            }
            let key = format!("{:03}", rng.u32(..400)).into_bytes();
            match rng.u32(..10) {
                0 => {
                    db.delete(&key).unwrap();
                    model.remove(&key);
                }
                1 => {
                    let end = format!("{:03}", rng.u32(..400)).into_bytes();
                    if key < end && rng.u32(..10) == 0 {
                        db.delete_range(&key, &end).unwrap();
                        model.retain(|row, _| *row < key || *row >= end);
                    }
                }
                2 => {
                    db.merge(&key, b"x").unwrap();
                    let value = model.entry(key).or_default();
                    if !value.is_empty() {
                        value.push(b',');
                    }
                    value.push(b'x');
                }
                _ => {
                    let value = vec![b'a' + rng.u8(..26); rng.usize(1..60)];
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
            }
        }
        flush(&db);
        compact(&db);
        let model: Vec<_> = model.into_iter().collect();
        assert_eq!(rows(&db), model, "seed {seed}");
        db.verify_checksum().unwrap();
        let heard = remote.heard();
        assert!(heard.len() > 3, "{heard:?}");
        assert!(heard.iter().all(|status| *status == Status::Success), "{heard:?}");
        db.close().unwrap();
        drop(db);
        let db = Db::open(&options, DB).unwrap();
        assert_eq!(rows(&db), model, "seed {seed}");
        db.close().unwrap();
    }
}

/// Each result is unusable for another reason: the database runs the compaction itself, and nothing of the
/// result is in it.
#[test]
fn an_unusable_result_is_not_installed() {
    let hex = |text: &str| -> String { text.bytes().map(|byte| format!("{byte:02X}")).collect() };
    let first = |dir: &Path, fs: &MemFs| dir.join(&tables(fs, dir)[0]);
    let spoilers: Vec<(&str, Arc<Remote>, &str)> = vec![
        (
            "no text",
            Remote::spoiling(|_, _, _| "no result".to_owned()),
            "Invalid CompactionServiceResult string",
        ),
        (
            "cut off",
            Remote::spoiling(|_, text, _| text[..text.len() / 2].to_owned()),
            "Invalid CompactionServiceResult string",
        ),
        (
            "a table is missing",
            Remote::spoiling(move |remote, text, dir| {
                remote.fs.remove(&first(dir, &remote.fs)).unwrap();
                text
            }),
            "rename",
        ),
        (
            "a table was cut off",
            Remote::spoiling(move |remote, text, dir| {
                let table = first(dir, &remote.fs);
                let len = remote.fs.size(&table).unwrap();
                remote.fs.truncate(&table, len - 9).unwrap();
                text
            }),
            "bytes, and not",
        ),
        (
            "another table",
            Remote::spoiling(move |remote, text, dir| {
                let input = tables(&*remote.fs, Path::new(DB))[0].clone();
                let table = first(dir, &remote.fs);
                remote.fs.remove(&table).unwrap();
                remote.fs.link(&Path::new(DB).join(input), &table).unwrap();
                let at = text.find("file_size=").unwrap();
                let end = at + text[at..].find(';').unwrap();
                format!("{}file_size=0{}", &text[..at], &text[end..])
            }),
            "it is another table",
        ),
        (
            "keys outside of the inputs",
            Remote::spoiling(move |_, text, _| {
                text.replacen("largest_internal_key=7A", "largest_internal_key=7B", 1)
            }),
            "its keys are not within those of the inputs",
        ),
        (
            "rows outside of the bounds",
            Remote::spoiling(move |_, text, _| {
                text.replacen("largest_internal_key=7A", "largest_internal_key=79", 1)
            }),
            "its last row is behind its bounds",
        ),
        (
            "a path",
            Remote::spoiling(move |_, text, _| {
                text.replacen("file_name=", &format!("file_name={}", hex("../jobs/0/")), 1)
            }),
            "not the name of a table",
        ),
        (
            "another level",
            Remote::spoiling(|_, text, _| text.replacen(";output_level=6;", ";output_level=5;", 1)),
            "written for level 5, not 6",
        ),
        (
            "newer rows than there were",
            Remote::spoiling(|_, text, _| text.replacen("largest_seqno=", "largest_seqno=9", 1)),
            "its sequence numbers are not those of the inputs",
        ),
    ];
    for (name, remote, reason) in spoilers {
        let db = two_tables(&remote);
        compact(&db);
        let log = log_of(&remote);
        assert!(log.contains(reason), "{name}: {log}");
        assert_eq!(remote.heard(), [Status::UseLocal], "{name}");
        assert_eq!(db.live_files().len(), 1, "{name}");
        assert_merged(&db);
        db.close().unwrap();
        drop(db);
        // The files are counted before the next open, which deletes the files that no version has.
        assert_eq!(tables(&*remote.fs, Path::new(DB)).len(), 1, "{name}");
        let db = Db::open(&options(&remote), DB).unwrap();
        assert_merged(&db);
        db.close().unwrap();
    }
}

#[test]
fn the_error_of_a_worker_is_that_of_the_compaction() {
    let failing = |status: Status| {
        Remote::new(move |remote, input, dir| {
            let result = remote.run(input, dir).unwrap();
            let (version, text) = result.split_at(4);
            let text = std::str::from_utf8(text).unwrap();
            // The user's message is "burnt".
            let of_disk = text.replacen(
                "{code=0;subcode=0;severity=0;message=;}",
                "{code=5;message=6275726E74;}",
                1,
            );
            (status, [version, of_disk.as_bytes()].concat())
        })
    };
    for status in [Status::Failure, Status::Success] {
        let remote = failing(status);
        let db = two_tables(&remote);
        let error = db.compact_range(None, None).unwrap_err();
        assert!(error.to_string().contains("burnt"), "{error}");
        assert_eq!(db.live_files().len(), 2);
        let told = (status == Status::Success).then_some(Status::Failure);
        assert_eq!(remote.heard(), told.into_iter().collect::<Vec<_>>());
        assert_merged(&db);
        let _ = db.close();
    }
}

/// The job of a compaction of [`two_tables`], which a worker may run at any time: the database keeps its
/// inputs.
fn a_job() -> (Arc<Remote>, Vec<u8>) {
    let remote = Remote::new(|_, _, _| (Status::Aborted, Vec::new()));
    let db = two_tables(&remote);
    assert!(db.compact_range(None, None).is_err());
    let _ = db.close();
    let input = remote.jobs.lock()[0].clone();
    (remote, input)
}

fn edited(input: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(&input[4..]).into_owned();
    assert!(text.contains(from), "{text}");
    [&input[..4], text.replacen(from, to, 1).as_bytes()].concat()
}

fn keys_of(remote: &Remote, dir: &str) -> Vec<String> {
    let dir = Path::new(dir);
    let mut keys = Vec::new();
    for name in tables(&*remote.fs, dir) {
        let reader = SstFileReader::open(&remote.own().options, dir.join(name)).unwrap();
        let mut rows = reader.iter();
        rows.seek_to_first();
        while rows.valid() {
            keys.push(String::from_utf8_lossy(rows.key()).into_owned());
            rows.next();
        }
    }
    keys
}

#[test]
fn a_worker_writes_the_part_that_it_is_asked_for() {
    let (remote, input) = a_job();
    remote.run(&input, Path::new("/whole")).unwrap();
    assert_eq!(keys_of(&remote, "/whole"), ["a", "m", "z"]);
    let first = edited(&input, "has_end=false;end=;", "has_end=true;end=6D;");
    remote.run(&first, Path::new("/first")).unwrap();
    assert_eq!(keys_of(&remote, "/first"), ["a"]);
    let second = edited(&input, "has_begin=false;begin=;", "has_begin=true;begin=6D;");
    remote.run(&second, Path::new("/second")).unwrap();
    assert_eq!(keys_of(&remote, "/second"), ["m", "z"]);
    let none = edited(&second, "has_end=false;end=;", "has_end=true;end=6E;");
    let none = edited(&none, "begin=6D;", "begin=6E;");
    let result = remote.run(&none, Path::new("/none")).unwrap();
    assert_eq!(keys_of(&remote, "/none"), [""; 0]);
    assert!(String::from_utf8_lossy(&result).contains("output_files=;"));
}

#[test]
fn a_worker_refuses_a_job_that_it_cannot_run() {
    let (remote, input) = a_job();
    let said = |input: &[u8]| remote.run(input, Path::new("/out")).unwrap_err().to_string();
    assert!(said(b"").contains("Invalid CompactionServiceInput string"));
    assert!(said(&input[..30]).contains("Invalid CompactionServiceInput string"));
    let other = edited(&input, "cf_name=64656661756C74;", "cf_name=6E6F6E65;");
    assert!(said(&other).contains("Column family not found: none"));
    let other = edited(&input, "output_level=6", "output_level=7");
    assert!(said(&other).contains("Output level"), "{}", said(&other));
    let other = edited(&input, "input_files=", "input_files=3939393939392E737374:");
    assert!(said(&other).contains("999999 does not exist"), "{}", said(&other));
    let other = edited(&input, "db_id=", "db_id=61");
    assert!(said(&other).contains("the compaction is one of database a"));
    let other = edited(&input, "options_file_number=", "options_file_number=99");
    assert!(remote.run(&other, Path::new("/out")).is_err());
    assert_eq!(tables(&*remote.fs, Path::new("/out")), [""; 0]);
    // A job whose output directory is the database's own directory is refused.
    assert!(remote.run(&input, Path::new(DB)).is_err());
    remote.run(&input, Path::new("/out")).unwrap();
    let written = tables(&*remote.fs, Path::new("/out"));
    assert!(said(&input).contains("allow_resumption"));
    let again = OpenAndCompactOptions {
        allow_resumption: true,
        ..OpenAndCompactOptions::default()
    };
    remote
        .run_with(&again, &remote.own(), &input, Path::new("/out"))
        .unwrap();
    assert_eq!(tables(&*remote.fs, Path::new("/out")).len(), written.len());
    let options = remote.own().options;
    let db = Db::open(&options, DB).unwrap();
    assert_merged(&db);
    db.close().unwrap();
}

/// A filter that removes the key `m`, and may cancel the compaction at its first row.
#[derive(Default)]
struct WithoutM(Option<Arc<AtomicBool>>);

impl CompactionFilterFactory for WithoutM {
    fn name(&self) -> &str {
        "test.WithoutM"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(WithoutM(self.0.clone())))
    }
}

impl CompactionFilter for WithoutM {
    fn filter(&mut self, _: usize, key: &[u8], _: ValueType, _: &[u8]) -> Decision {
        if let Some(canceled) = &self.0 {
            canceled.store(true, Ordering::Relaxed);
        }
        match key {
            b"m" => Decision::Remove,
            _ => Decision::Keep,
        }
    }
}

#[test]
fn a_worker_has_objects_and_options_of_its_own() {
    let (remote, input) = a_job();
    let mut own = remote.own();
    own.options.column_family.compaction_filter_factory = Some(Arc::new(WithoutM::default()));
    own.options_map = vec![
        ("compression".to_owned(), "kNoCompression".to_owned()),
        ("bottommost_compression".to_owned(), "kNoCompression".to_owned()),
        ("of_a_later_release".to_owned(), "1".to_owned()),
    ];
    let usual = OpenAndCompactOptions::default();
    remote.run_with(&usual, &own, &input, Path::new("/out")).unwrap();
    assert_eq!(keys_of(&remote, "/out"), ["a", "z"]);
    own.options_map
        .push(("write_buffer_size".to_owned(), "many".to_owned()));
    let error = remote
        .run_with(&usual, &own, &input, Path::new("/other"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_canceled_worker_leaves_no_table() {
    let (remote, input) = a_job();
    let canceled = Arc::new(AtomicBool::new(false));
    let options = OpenAndCompactOptions {
        canceled: Some(canceled.clone()),
        ..OpenAndCompactOptions::default()
    };
    let mut own = remote.own();
    own.options.column_family.compaction_filter_factory = Some(Arc::new(WithoutM(Some(canceled.clone()))));
    for _ in 0..2 {
        // The second call finds the flag set.
        let error = remote
            .run_with(&options, &own, &input, Path::new("/out"))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
        assert!(canceled.load(Ordering::Relaxed));
        assert_eq!(tables(&*remote.fs, Path::new("/out")), [""; 0]);
    }
}
