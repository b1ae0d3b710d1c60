//! Families that come and go while a secondary, or an open for reading, looks at the directory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use esker::{ColumnFamily, Db, ErrorKind, Options};
use vfs::fault::Action;
use vfs::{FaultFs, MemFs, Rule};

use super::{PRIMARY, PrimaryState, SECONDARY};

/// Actions before certain file operations, by the number of the operation.
type Happenings = Arc<Mutex<Vec<(usize, Box<dyn Fn() + Send + Sync>)>>>;

/// A file system over `mem` that runs actions before its operations, which `operations` counts.
fn eventful(mem: &MemFs, operations: &Arc<AtomicU64>, happenings: &Happenings) -> FaultFs {
    let (operations, happenings) = (operations.clone(), happenings.clone());
    let fs = FaultFs::new(Arc::new(mem.clone()));
    fs.add(Rule::new(Action::Call(Arc::new(move |_, _| {
        let at = operations.fetch_add(1, Ordering::SeqCst) as usize;
        let happenings = happenings.lock().unwrap();
        // The action runs on another thread, as an operation of the primary would.
        std::thread::scope(|scope| {
            for (number, happens) in &*happenings {
                if *number == at {
                    scope.spawn(happens).join().unwrap();
                }
            }
        });
    }))));
    fs
}

/// A family is created and rows are written; more rows are written and the family is dropped, at any two
/// moments of `look`. `look` returns the state it saw, or `None` if it must be repeated. A family created
/// before a row must be visible with it.
fn a_family_comes_and_goes(mem: &MemFs, look: impl Fn(&Happenings, &AtomicU64) -> Option<PrimaryState>) {
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(mem.clone()),
        ..Options::default()
    };
    let db = Db::open(&options, PRIMARY).unwrap();
    let happenings = Happenings::default();
    let operations = AtomicU64::new(0);
    look(&happenings, &operations).unwrap();
    let (mut first, mut seen) = (0, 0);
    // `first` and `second` are numbers of file operations of `look`.
    while first <= operations.load(Ordering::SeqCst) as usize {
        for second in (first..first + 12).chain([usize::MAX]) {
            let last = db.latest_sequence_number();
            let born = Arc::new(Mutex::new(None));
            let (one, other) = (db.clone(), db.clone());
            let (comes, goes) = (born.clone(), born.clone());
            *happenings.lock().unwrap() = vec![
                (
                    first,
                    Box::new(move || {
                        let family = one.create_column_family("new", &Default::default()).unwrap();
                        *comes.lock().unwrap() = Some(family);
                        one.put(b"key", b"with the family").unwrap();
                    }),
                ),
                (
                    second,
                    Box::new(move || {
                        if let Some(family) = goes.lock().unwrap().take() {
                            other.put(b"key", b"at its end").unwrap();
                            other.drop_column_family(&family).unwrap();
                        }
                    }),
                ),
            ];
            operations.store(0, Ordering::SeqCst);
            if let Some((seqno, families)) = look(&happenings, &operations) {
                let alone = families.len() == 1;
                assert!(
                    !alone || seqno != last + 1,
                    "at {first} and {second}: the row without the family that came before it"
                );
                assert!(alone || seqno >= last, "at {first} and {second}");
                seen += usize::from(!alone);
            }
            happenings.lock().unwrap().clear();
            if let Some(family) = born.lock().unwrap().take() {
                db.drop_column_family(&family).unwrap();
            }
            let (seqno, families) = look(&happenings, &operations).unwrap();
            assert_eq!((seqno, families.len()), (db.latest_sequence_number(), 1));
        }
        first += 1;
    }
    assert!(
        first > 5 && seen > 0,
        "{first} moments, the family seen {seen} times"
    );
}

#[test]
fn a_family_that_comes_and_goes_while_a_secondary_looks_is_not_missed() {
    let mem = MemFs::new();
    let secondary = std::sync::OnceLock::new();
    let counted = Arc::new(AtomicU64::new(0));
    a_family_comes_and_goes(&mem, |happenings, operations| {
        let secondary = secondary.get_or_init(|| {
            let options = Options {
                fs: Arc::new(eventful(&mem, &counted, happenings)),
                ..Options::default()
            };
            Db::open_as_secondary(&options, PRIMARY, SECONDARY).unwrap()
        });
        counted.store(0, Ordering::SeqCst);
        let result = secondary.try_catch_up_with_primary();
        operations.store(counted.load(Ordering::SeqCst), Ordering::SeqCst);
        match result {
            Err(error) if error.kind() == ErrorKind::TryAgain => return None,
            result => result.unwrap(),
        }
        let families = secondary.column_families();
        let families = families.iter().map(ColumnFamily::id).collect();
        Some((secondary.latest_sequence_number(), families))
    });
}

#[test]
fn a_family_that_comes_and_goes_while_a_database_is_opened_for_reading_is_not_missed() {
    let mem = MemFs::new();
    a_family_comes_and_goes(&mem, |happenings, operations| {
        let counted = Arc::new(AtomicU64::new(0));
        let options = Options {
            fs: Arc::new(eventful(&mem, &counted, happenings)),
            ..Options::default()
        };
        let result = Db::open_read_only(&options, PRIMARY);
        operations.store(counted.load(Ordering::SeqCst), Ordering::SeqCst);
        let db = match result {
            Err(error) if error.kind() == ErrorKind::TryAgain => return None,
            result => result.unwrap(),
        };
        let families = db.column_families();
        let families = families.iter().map(ColumnFamily::id).collect();
        Some((db.latest_sequence_number(), families))
    });
}
