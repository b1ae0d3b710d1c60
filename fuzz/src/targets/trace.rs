//! Traces of queries, of I/O and of the block cache.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use esker::{
    AccessTraceReader, BlockCacheTraceRecord, Db, ErrorKind, FileTraceReader, IoTraceRecord, Options,
    Replayer, TraceKind, TracedAccess,
};
use vfs::MemFs;

use super::{MOST_STEPS, put_file};

/// A trace: its queries are read and run over an empty database, up to one that is damaged. It is read as
/// the other kinds of traces too.
pub fn trace(data: &[u8]) {
    let fs = MemFs::new();
    let path = Path::new("/trace");
    put_file(&fs, path, data);
    // The input is a trace or an error: both results are right.
    drop(TraceKind::of_file(&fs, path));
    accesses::<IoTraceRecord>(&fs, path);
    accesses::<BlockCacheTraceRecord>(&fs, path);
    let reader = FileTraceReader::open(&fs, path).expect("a file in memory");
    let db = shared();
    let mut replayer = Replayer::new(db, &[db.default_column_family()], reader);
    if replayer.prepare().is_err() {
        return;
    }
    for _ in 0..MOST_STEPS {
        match replayer.next_record() {
            Ok(Some(record)) => drop(replayer.execute(&record.query)),
            Ok(None) => return,
            Err(error) if error.kind() == ErrorKind::NotSupported => {}
            Err(error) => {
                let known = error.offset().is_some() || error.kind() == ErrorKind::InvalidArgument;
                assert!(known, "{error}");
                return;
            }
        }
    }
}

/// Reads a trace of accesses, up to a record that is damaged.
fn accesses<T: TracedAccess>(fs: &MemFs, path: &Path) {
    let Ok(mut reader) = AccessTraceReader::<T>::open(fs, path) else {
        return;
    };
    for _ in 0..MOST_STEPS {
        match reader.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(error) => {
                assert!(error.is_corruption() && error.offset().is_some(), "{error}");
                return;
            }
        }
    }
}

/// A database that all inputs share: writes of earlier inputs need not be removed.
fn shared() -> &'static Db {
    static SHARED: OnceLock<Db> = OnceLock::new();
    SHARED.get_or_init(|| {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        Db::open(&options, "/db").expect("a database in memory")
    })
}
