//! Ingestions beside reads: one in the middle of a MultiGet, and many beside reads under random schedules.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base::simulation::{Settings, Strategy};
use base::sync::thread;
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

/// The number of ingestions, and of puts, of the writer.
const ROUNDS: u32 = 8;

/// Writes round after round: each ingests `a` and `c`, then puts `b`, all with the round's number, and now
/// and then flushes.
fn write_rounds(db: &Db, options: &Options) {
    for round in 1..=ROUNDS {
        let file = format!("/{round}.sst");
        let number = round.to_le_bytes();
        let mut writer = SstFileWriter::new(options);
        writer.open(&file).unwrap();
        writer.put(b"a", &number).unwrap();
        writer.put(b"c", &number).unwrap();
        writer.finish().unwrap();
        db.ingest_external_file(&[&file], &IngestExternalFileOptions::default())
            .unwrap();
        db.put(b"b", number).unwrap();
        if round % 3 == 0 {
            db.flush().unwrap();
        }
    }
}

/// The rounds of `a`, `b` and `c`; 0 for a missing row. `way` chooses the kind of read.
fn read_rounds(db: &Db, way: u32) -> [u32; 3] {
    let number = |value: &[u8]| u32::from_le_bytes(value.try_into().unwrap());
    let mut rounds = [0; 3];
    if way == 0 {
        let mut iter = db.iter();
        iter.seek_to_first();
        while iter.valid() {
            rounds[usize::from(iter.key()[0] - b'a')] = number(iter.value());
            iter.next();
        }
        iter.status().unwrap();
        return rounds;
    }
    let family = db.default_column_family();
    let found = db.multi_get_cf(&family, &[b"a", b"b", b"c"]);
    for (place, value) in rounds.iter_mut().zip(found) {
        *place = value.unwrap().map_or(0, |value| number(&value));
    }
    rounds
}

/// Each read is a moment of the only writer's order, and no read of a thread is of an earlier moment than the
/// one before.
#[test]
fn each_read_beside_ingestions_is_a_moment_of_the_writers_order() {
    let asked = std::env::var("ESKER_SCHEDULES").ok();
    let schedules = asked.map_or(200, |asked| asked.parse().expect("a number"));
    for seed in 0..schedules {
        let settings = Settings {
            seed,
            strategy: Strategy::Random {
                one_in: [1, 3, 10, 50][seed as usize % 4],
            },
            most_points: 10_000_000,
            keep_choices: false,
        };
        let outcome = base::simulation::run(settings, || {
            let options = Options {
                create_if_missing: true,
                fs: Arc::new(MemFs::new()),
                ..Options::default()
            };
            let db = Db::open(&options, "/db").unwrap();
            let readers: Vec<_> = (0..3)
                .map(|way| {
                    let db = db.clone();
                    thread::spawn(move || {
                        let mut last = 0;
                        for _ in 0..3 * ROUNDS {
                            let [a, b, c] = read_rounds(&db, way);
                            assert!(a == c && (a == b || a == b + 1), "{a} {b} {c} by way {way}");
                            assert!(a + b >= last, "{a} {b} after a sum of {last}");
                            last = a + b;
                        }
                    })
                })
                .collect();
            write_rounds(&db, &options);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
        assert_eq!(outcome.failure, None, "schedule {seed}");
    }
}
