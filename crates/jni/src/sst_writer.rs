//! `org.rocksdb.SstFileWriter`.

use base::sync::Mutex;
use esker::SstFileWriter;
use jni_sys::jlong;

use crate::env::{JBuffer, JByteArray, JString};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::settings::Settings;
use crate::slice::SliceObject;

/// A writer. One thread at a time uses it.
struct WriterObject(Mutex<SstFileWriter>);

fn with<R>(writer: jlong, act: impl FnOnce(&mut SstFileWriter) -> esker::Result<R>) -> Result<R> {
    Ok(act(&mut handles::get::<WriterObject>(writer)?.0.lock())?)
}

fn new(options: jlong, comparator: Option<jlong>) -> Result<jlong> {
    let mut options = handles::get::<Settings>(options)?.look(|inner| inner.database())?;
    if let Some(comparator) = comparator {
        options.column_family.comparator = crate::comparator::user(comparator)?;
    }
    Ok(handles::insert(WriterObject(Mutex::new(SstFileWriter::new(
        &options,
    )))))
}

native!("SstFileWriter_newSstFileWriter" "JJ" fn(env, env_options: i64, options: i64) -> i64 { new(options, None) });

native!("SstFileWriter_newSstFileWriter" "JJJB" fn(
    env, env_options: i64, options: i64, comparator: i64, kind: i8
) -> i64 {
    new(options, Some(comparator))
});

native!("SstFileWriter_open" "JLjava_lang_String_2" fn(env, writer: i64, path: JString) {
    let path = env.string(path)?;
    with(writer, |writer| writer.open(path))
});

native!("SstFileWriter_put" "J_3B_3B" fn(env, writer: i64, key: JByteArray, value: JByteArray) {
    let (key, value) = (env.whole(key)?, env.whole(value)?);
    with(writer, |writer| writer.put(&key, &value))
});

native!("SstFileWriter_merge" "J_3B_3B" fn(env, writer: i64, key: JByteArray, value: JByteArray) {
    let (key, value) = (env.whole(key)?, env.whole(value)?);
    with(writer, |writer| writer.merge(&key, &value))
});

native!("SstFileWriter_delete" "J_3B" fn(env, writer: i64, key: JByteArray) {
    let key = env.whole(key)?;
    with(writer, |writer| writer.delete(&key))
});

native!("SstFileWriter_putDirect" "JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II" fn(
    env, writer: i64, key: JBuffer, at: i32, length: i32, value: JBuffer, value_at: i32, value_length: i32
) {
    let (key, value) = (env.direct(key, at, length)?, env.direct(value, value_at, value_length)?);
    with(writer, |writer| writer.put(key, value))
});

fn bytes(slice: jlong) -> Result<Vec<u8>> {
    Ok(handles::get::<SliceObject>(slice)?.copy())
}

native!("SstFileWriter_put" "JJJ" fn(env, writer: i64, key: i64, value: i64) {
    let (key, value) = (bytes(key)?, bytes(value)?);
    with(writer, |writer| writer.put(&key, &value))
});

native!("SstFileWriter_merge" "JJJ" fn(env, writer: i64, key: i64, value: i64) {
    let (key, value) = (bytes(key)?, bytes(value)?);
    with(writer, |writer| writer.merge(&key, &value))
});

native!("SstFileWriter_delete" "JJ" fn(env, writer: i64, key: i64) {
    let key = bytes(key)?;
    with(writer, |writer| writer.delete(&key))
});

native!("SstFileWriter_finish" "J" fn(env, writer: i64) { with(writer, SstFileWriter::finish).map(drop) });

native!("SstFileWriter_fileSize" "J" fn(env, writer: i64) -> i64 {
    with(writer, |writer| Ok(writer.file_size() as i64))
});
