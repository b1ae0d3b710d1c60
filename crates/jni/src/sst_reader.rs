//! `org.rocksdb.SstFileReader`: a table file outside of any database. Its iterators are in
//! [`iterator`](crate::iterator).

use std::sync::Arc;

use base::sync::Mutex;
use esker::{Options, SstFileReader};
use jni_sys::jlong;

use crate::env::{JObject, JString};
use crate::exclusive;
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::iterator::IteratorObject;
use crate::objects::read_options;
use crate::table_properties;

/// `org.rocksdb.SstFileReader`, with the options at its creation. Its iterators may outlive it.
struct ReaderObject {
    options: Options,
    /// The open table; `None` before Java names the file.
    reader: Mutex<Option<Arc<SstFileReader>>>,
}

/// Returns the open table of a reader.
fn opened(handle: jlong) -> Result<Arc<SstFileReader>> {
    let reader = handles::get::<ReaderObject>(handle)?.reader.lock().clone();
    reader.ok_or_else(|| Fail::state("the reader has no file: open one first"))
}

native!("SstFileReader_newSstFileReader" "J" fn(env, options: i64) -> i64 {
    Ok(handles::insert(ReaderObject {
        options: crate::database::database_options(&env, options)?,
        reader: Mutex::new(None),
    }))
});

native!("SstFileReader_open" "JLjava_lang_String_2" fn(env, handle: i64, path: JString) {
    let path = env.string(path)?;
    let object = handles::get::<ReaderObject>(handle)?;
    let reader = SstFileReader::open(&object.options, path)?;
    *object.reader.lock() = Some(Arc::new(reader));
    Ok(())
});

native!("SstFileReader_newIterator" "JJ" fn(env, handle: i64, options: i64) -> i64 {
    let reader = opened(handle)?;
    let options = read_options(options)?;
    Ok(exclusive::insert(IteratorObject::of_table(reader.iter_opt(&options), &options)))
});

native!("SstFileReader_getTableProperties" "J" fn(env, handle: i64) -> JObject {
    let reader = opened(handle)?;
    let class = env.class(table_properties::CLASS)?;
    table_properties::object(&env, class, reader.table_properties()).map(JObject)
});

native!("SstFileReader_verifyChecksum" "J" fn(env, handle: i64) { Ok(opened(handle)?.verify_checksum()?) });
