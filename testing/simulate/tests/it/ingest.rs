//! An ingestion in the middle of a read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base::simulation::{Settings, Strategy};
use esker::{Db, IngestExternalFileOptions, Options, SstFileWriter};
use vfs::MemFs;

const FILE: &str = "/ingested.sst";

/// The result of a MultiGet of two keys. When the read reaches `point`, one of them is ingested, and the
/// other is put after that.
fn read_interrupted_at(point: &'static str) -> Vec<Option<Vec<u8>>> {
    let settings = Settings {
        seed: 1,
        strategy: Strategy::Turns(Vec::new()),
        most_points: 1_000_000,
        keep_choices: false,
    };
    let read: Arc<Mutex<Vec<Option<Vec<u8>>>>> = Arc::default();
    let values = read.clone();
    let outcome = base::simulation::run(settings, move || {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let mut writer = SstFileWriter::new(&options);
        writer.open(FILE).unwrap();
        writer.put(b"ingested", b"1").unwrap();
        writer.finish().unwrap();
        let (other, done) = (db.clone(), AtomicBool::new(false));
        base::simulation::observe(Some(Arc::new(move |reached| {
            if reached == point && !done.swap(true, Ordering::SeqCst) {
                other
                    .ingest_external_file(&[FILE], &IngestExternalFileOptions::default())
                    .unwrap();
                other.put(b"written", b"2").unwrap();
            }
        })));
        let family = db.default_column_family();
        let found = db.multi_get_cf(&family, &[&b"ingested"[..], b"written"]);
        // The observer holds a handle of the database, so it is removed.
        base::simulation::observe(None);
        *values.lock().unwrap() = found.into_iter().map(Result::unwrap).collect();
    });
    assert_eq!(outcome.failure, None);
    let values = read.lock().unwrap().clone();
    values
}

#[test]
fn a_multi_get_shows_an_ingestion_and_what_was_written_after_it_or_neither() {
    for point in ["super version", "read"] {
        let found = read_interrupted_at(point);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].is_some(),
            found[1].is_some(),
            "interrupted at {point}: {found:?}"
        );
    }
}
