//! `org.rocksdb.CompactionJobInfo`: what a compaction of named files has done.

use base::sync::Mutex;
use jni_sys::jlong;

use crate::env::{JByteArray, JObject, JStrings};
use crate::fail::{Result, status_ok};
use crate::frame::native;
use crate::handles;

/// The facts of one compaction.
#[derive(Clone, Default)]
pub struct JobInfo {
    /// The family's name.
    pub family: String,
    /// The files read, and those written.
    pub inputs: Vec<String>,
    /// The files written.
    pub outputs: Vec<String>,
    /// The level that the topmost input was in.
    pub base_level: i32,
    /// The level that was written to.
    pub output_level: i32,
    /// RocksDB's number of the compression.
    pub compression: i8,
}

struct InfoObject(Mutex<JobInfo>);

/// Fills the object of a handle, if there is one.
pub fn fill(handle: jlong, info: JobInfo) -> Result<()> {
    if let Some(object) = handles::optional::<InfoObject>(handle)? {
        *object.0.lock() = info;
    }
    Ok(())
}

fn info(handle: jlong) -> Result<JobInfo> {
    Ok(handles::get::<InfoObject>(handle)?.0.lock().clone())
}

/// RocksDB's number of a compaction that was asked for.
const MANUAL_COMPACTION: i8 = 7;

native!("CompactionJobInfo_newCompactionJobInfo" "" fn(env) -> i64 {
    Ok(handles::insert(InfoObject(Mutex::default())))
});

native!("CompactionJobInfo_columnFamilyName" "J" fn(env, handle: i64) -> JByteArray {
    env.byte_array(info(handle)?.family.as_bytes())
});

// One that failed is an exception, and fills none.
native!("CompactionJobInfo_status" "J" fn(env, handle: i64) -> JObject {
    info(handle)?;
    status_ok(&env).map(JObject)
});

native!("CompactionJobInfo_baseInputLevel" "J" fn(env, handle: i64) -> i32 { Ok(info(handle)?.base_level) });

native!("CompactionJobInfo_outputLevel" "J" fn(env, handle: i64) -> i32 { Ok(info(handle)?.output_level) });

native!("CompactionJobInfo_inputFiles" "J" fn(env, handle: i64) -> JStrings { env.string_array(info(handle)?.inputs) });

native!("CompactionJobInfo_outputFiles" "J" fn(env, handle: i64) -> JStrings { env.string_array(info(handle)?.outputs) });

native!("CompactionJobInfo_compactionReason" "J" fn(env, handle: i64) -> i8 {
    Ok(if info(handle)?.family.is_empty() { 0 } else { MANUAL_COMPACTION })
});

native!("CompactionJobInfo_compression" "J" fn(env, handle: i64) -> i8 { Ok(info(handle)?.compression) });
