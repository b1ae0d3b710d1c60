//! A column family that is dropped during its flush.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use base::Result;
use base::sync::Mutex;
use esker::{CheckpointOptions, ColumnFamilyOptions, Db, ErrorKind, Options, WriteOptions};
use vfs::layer::{Call, Layer};
use vfs::{FileSystem, MemFs, Op};

/// A channel to report a place in the code, and one to wait for permission to continue.
type Ends = (Sender<()>, Receiver<()>);

/// Reports that a table is about to be created, and waits for permission.
#[derive(Clone, Debug)]
struct Gate {
    fs: MemFs,
    ends: Arc<Mutex<Option<Ends>>>,
}

impl Layer for Gate {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let is_table = call.path.extension().is_some_and(|name| name == "sst");
        if call.op == Op::Create && is_table {
            let ends = self.ends.lock().take();
            if let Some((reached, leave)) = ends {
                reached.send(()).unwrap();
                leave.recv().unwrap();
            }
        }
        perform()
    }
}

/// Creates a database with rows without a WAL in two families, and runs `flush` on another thread; `during`
/// is called when the flush is about to create its first table.
fn while_it_flushes<T: Send>(flush: impl Fn(&Db) -> T + Sync, during: impl FnOnce(&Db)) -> (T, MemFs) {
    let fs = MemFs::new();
    let gate = Gate {
        fs: fs.clone(),
        ends: Arc::default(),
    };
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(gate.clone()),
        max_background_jobs: 1,
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    for family in [&db.default_column_family(), &other] {
        db.put_cf_opt(family, b"key", b"value", &unlogged).unwrap();
    }
    let (reached, reaches) = mpsc::channel();
    let (leave, leaves) = mpsc::channel();
    *gate.ends.lock() = Some((reached, leaves));
    let flushed = thread::scope(|scope| {
        let flushing = scope.spawn(|| flush(&db));
        reaches.recv().unwrap();
        during(&db);
        leave.send(()).unwrap();
        flushing.join().unwrap()
    });
    (flushed, fs)
}

fn drop_other(db: &Db) {
    let other = db.column_family("other").unwrap();
    db.drop_column_family(&other).unwrap();
}

#[test]
fn a_flush_that_a_drop_calls_off_does_not_succeed() {
    let flush = |db: &Db| db.flush_cf(&[db.column_family("other").unwrap()]);
    let (flushed, _) = while_it_flushes(flush, drop_other);
    assert_eq!(flushed.unwrap_err().kind(), ErrorKind::ColumnFamilyDropped);
}

#[test]
fn a_checkpoint_has_the_rows_of_the_others() {
    let checkpoint = |db: &Db| db.create_checkpoint("/checkpoint", &CheckpointOptions::default());
    let (made, fs) = while_it_flushes(checkpoint, drop_other);
    made.unwrap();
    let options = Options {
        fs: Arc::new(fs),
        ..Options::default()
    };
    let db = Db::open(&options, Path::new("/checkpoint")).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(db.column_family("other").is_none());
}
