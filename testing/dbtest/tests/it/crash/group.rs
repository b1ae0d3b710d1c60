//! Several writers share syncs while tables are flushed. Power is lost at any sync, or a sync fails: no
//! writer has been promised more than survives.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::env::Rng;
use dbtest::crash::{DIR, Flavour, Verdict, Watchdog, any_loss, quietly};
use esker::{Db, ErrorKind, WriteBatch, WriteOptions};
use vfs::{Action, FaultFs, MemFs, Op, Rule, UnsyncedPolicy};

use crate::crash::rounds;

const WRITERS: usize = 4;

/// The writes that each writer has begun, and those that are promised to be on disk.
#[derive(Default)]
struct Told {
    begun: [AtomicU64; WRITERS],
    durable: [AtomicU64; WRITERS],
}

fn read(counters: &[AtomicU64; WRITERS]) -> [u64; WRITERS] {
    std::array::from_fn(|writer| counters[writer].load(Ordering::SeqCst))
}

fn flavour() -> Flavour {
    Flavour {
        write_buffer_size: 64 << 10,
        ..Flavour::plain()
    }
}

/// Opens the database in `image`: both families must have, for each writer, one state from `durable` to
/// `begun`.
fn check(image: MemFs, durable: [u64; WRITERS], begun: [u64; WRITERS]) -> Verdict {
    let db = Db::open(&flavour().options(Arc::new(image)), DIR).map_err(|error| error.to_string())?;
    let Some(other) = db.column_family("other") else {
        return if durable == [0; WRITERS] {
            Ok(())
        } else {
            Err("the family is gone".to_owned())
        };
    };
    for writer in 0..WRITERS {
        let key = [writer as u8];
        let value = |family| -> Verdict<u64> {
            let value = db.get_cf(&family, key).map_err(|error| error.to_string())?;
            Ok(value.map_or(0, |value| {
                u64::from_le_bytes(value[..8].try_into().expect("eight bytes"))
            }))
        };
        let (one, two) = (value(db.default_column_family())?, value(other.clone())?);
        if one != two {
            return Err(format!("writer {writer}: half of a batch, {one} and {two}"));
        }
        if one < durable[writer] || one > begun[writer] {
            return Err(format!(
                "writer {writer}: {one} found, {} were on disk, {} begun",
                durable[writer], begun[writer]
            ));
        }
    }
    Ok(())
}

/// Runs all writers, every third write with sync, until one of them is refused or each has done `count`
/// writes.
fn write_all(db: &Db, told: &Told, count: u64) -> Vec<esker::Error> {
    let other = db
        .create_column_family("other", &db.options().column_family)
        .unwrap();
    let errors = Mutex::new(Vec::new());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (other, errors) = (&other, &errors);
                scope.spawn(move || {
                    for number in 1..=count {
                        told.begun[writer].store(number, Ordering::SeqCst);
                        let mut batch = WriteBatch::new();
                        let value = [&number.to_le_bytes()[..], &[0; 200]].concat();
                        batch.put(&[writer as u8], &value);
                        batch.put_cf(other, &[writer as u8], &value);
                        let sync = number.is_multiple_of(3);
                        let options = WriteOptions {
                            sync,
                            ..WriteOptions::default()
                        };
                        match db.write_opt(batch, &options) {
                            Ok(()) if sync => told.durable[writer].store(number, Ordering::SeqCst),
                            Ok(()) => {}
                            Err(error) => return errors.lock().unwrap().push(error),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            // The first family is flushed after every few writes of the first writer.
            let mut flushed = 0;
            while !done.load(Ordering::Relaxed) {
                let begun = told.begun[0].load(Ordering::Relaxed);
                if begun < flushed + 8 {
                    std::thread::yield_now();
                    continue;
                }
                flushed = begun;
                // The result is ignored: the flush is refused after a failed sync, which the writers report.
                let _ = db.flush_cf(&[db.default_column_family()]);
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    errors.into_inner().unwrap()
}

#[test]
fn power_lost_while_writers_share_syncs() {
    let mut rng = testkit::rng();
    let _watchdog = Watchdog::new(
        "power_lost_while_writers_share_syncs",
        Duration::from_secs(240 + 60 * rounds()),
        String::new,
    );
    for _ in 0..6 * rounds() {
        let mem = MemFs::new();
        let fs = FaultFs::new(Arc::new(mem.clone()));
        let told = Arc::new(Told::default());
        let failure: Arc<Mutex<Option<String>>> = Arc::default();
        let hook = {
            let (told, failure, seed) = (told.clone(), failure.clone(), rng.u64(..));
            let looked = AtomicU64::new(0);
            move |op: Op, path: &Path| {
                let at = looked.fetch_add(1, Ordering::SeqCst);
                if !at.is_multiple_of(8) {
                    return;
                }
                let durable = read(&told.durable);
                let image = any_loss(&mem, &mut Rng::with_seed(seed ^ at));
                let begun = read(&told.begun);
                let verdict = quietly(|| check(image, durable, begun)).and_then(|verdict| verdict);
                if let Err(found) = verdict {
                    let found = format!("at {op} of {}: {found}", path.display());
                    failure.lock().unwrap().get_or_insert(found);
                }
            }
        };
        let ops = [Op::Sync, Op::SyncDir, Op::Create, Op::Remove];
        fs.add(Rule::new(Action::Call(Arc::new(hook))).on(ops));
        let db = Db::open(&flavour().options(Arc::new(fs)), DIR).unwrap();
        let errors = write_all(&db, &told, 400);
        assert!(errors.is_empty(), "{errors:?}");
        drop(db);
        if let Some(found) = failure.lock().unwrap().take() {
            panic!("{found}");
        }
    }
}

#[test]
fn a_failed_sync_is_acknowledged_to_nobody() {
    let mut rng = testkit::rng();
    let _watchdog = Watchdog::new(
        "a_failed_sync_is_acknowledged_to_nobody",
        Duration::from_secs(240 + 60 * rounds()),
        String::new,
    );
    for _ in 0..60 * rounds() {
        let mem = MemFs::new();
        let fs = FaultFs::new(Arc::new(mem.clone()));
        let told = Told::default();
        let db = Db::open(&flavour().options(Arc::new(fs.clone())), DIR).unwrap();
        // Syncs yield the processor, so that other writers wait for them.
        let syncs = Arc::new(AtomicU64::new(0));
        let counted = syncs.clone();
        let count = move |_: Op, _: &Path| {
            counted.fetch_add(1, Ordering::SeqCst);
            (0..100).for_each(|_| std::thread::yield_now());
        };
        let of_wals = |action| Rule::new(action).on([Op::Sync]).path_ends_with(".log");
        fs.add(of_wals(Action::Call(Arc::new(count))));
        let failing = rng.u64(..60);
        fs.add(of_wals(Action::Fail(ErrorKind::Io)).nth(failing));
        let errors = write_all(&db, &told, 200);
        assert_eq!(errors.len(), WRITERS, "every writer is refused");
        assert_eq!(
            syncs.load(Ordering::SeqCst),
            failing + 1,
            "what failed was tried again"
        );
        assert!(
            errors
                .iter()
                .all(|error| error.to_string().contains("injected fault")),
            "{errors:?}"
        );
        assert_eq!(db.put(b"more", b"").unwrap_err().kind(), ErrorKind::ReadOnly);
        let lost = mem.crash_clone(&mut rng, UnsyncedPolicy::Lose);
        check(lost, read(&told.durable), read(&told.begun)).unwrap_or_else(|found| panic!("{found}"));
        drop(db);
    }
}
