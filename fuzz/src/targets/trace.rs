//! Traces of queries.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use esker::{Db, ErrorKind, FileTraceReader, Options, Replayer};
use vfs::MemFs;

use super::{MOST_STEPS, put_file};

/// A trace: its queries are read and run over an empty database, up to one that is damaged.
pub fn trace(data: &[u8]) {
    let fs = MemFs::new();
    let path = Path::new("/trace");
    put_file(&fs, path, data);
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

/// A database that all inputs share: their writes need not go.
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
