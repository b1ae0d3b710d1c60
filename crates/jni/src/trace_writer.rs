//! `org.rocksdb.AbstractTraceWriter`: a Java object that receives the records of a trace.

use std::sync::Arc;

use esker::{Error, ErrorKind, TraceOptions, TraceWriter};
use jni_sys::jvalue;

use crate::callback::{Global, Method, attached};
use crate::fail::Fail;
use crate::frame::native;
use crate::handles;
use crate::objects::database;
use crate::slice::SliceObject;

struct JavaWriter {
    object: Global,
    write: Method,
    close: Method,
    size: Method,
}

struct WriterObject(Arc<JavaWriter>);

native!("AbstractTraceWriter_createNewTraceWriter" "" fn(env) -> i64 {
    let class = env.class("org/rocksdb/AbstractTraceWriter")?;
    Ok(handles::insert(WriterObject(Arc::new(JavaWriter {
        write: Method(env.method(class, "writeProxy", "(J)S")?),
        close: Method(env.method(class, "closeWriterProxy", "()S")?),
        size: Method(env.method(class, "getFileSize", "()J")?),
        object: Global::strong(&env, env.this)?,
    }))))
});

/// The writer of one trace.
struct Writing(Arc<JavaWriter>);

/// Returns the error of a status, whose code is the upper byte.
fn outcome(called: crate::fail::Result<i16>) -> esker::Result<()> {
    match called {
        Ok(status) if status >> 8 == 0 => Ok(()),
        Ok(status) => Err(Error::new(
            ErrorKind::Io,
            format!("the trace writer returned a status of code {}", status >> 8),
        )),
        Err(_) => Err(Error::new(ErrorKind::Io, "the trace writer threw an exception")),
    }
}

impl TraceWriter for Writing {
    fn write(&mut self, record: &[u8]) -> esker::Result<()> {
        // Java creates an object over the handle that does not own it.
        let slice = handles::insert(SliceObject::new(record));
        let writer = &self.0;
        let called =
            attached(|env| env.call_short(writer.object.reference(), writer.write.0, &[jvalue { j: slice }]));
        handles::close(slice);
        outcome(called)
    }

    fn file_size(&self) -> u64 {
        let size = attached(|env| env.call_long(self.0.object.reference(), self.0.size.0, &[]));
        u64::try_from(size.unwrap_or(0)).unwrap_or(0)
    }

    fn close(&mut self) -> esker::Result<()> {
        outcome(attached(|env| {
            env.call_short(self.0.object.reference(), self.0.close.0, &[])
        }))
    }
}

native!("RocksDB_startTrace" "JJJ" fn(env, db: i64, max_trace_file_size: i64, writer: i64) {
    let writer = Arc::clone(&handles::get::<WriterObject>(writer)?.0);
    let max_trace_file_size = u64::try_from(max_trace_file_size)
        .map_err(|_| Fail::argument("max_trace_file_size is negative"))?;
    let options = TraceOptions {
        max_trace_file_size,
        ..TraceOptions::default()
    };
    Ok(database(db)?.db.start_trace(&options, Box::new(Writing(writer)))?)
});

native!("RocksDB_endTrace" "J" fn(env, db: i64) { Ok(database(db)?.db.end_trace()?) });
