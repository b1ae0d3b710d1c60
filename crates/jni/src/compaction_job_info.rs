//! `org.rocksdb.CompactionJobInfo`: the facts of a compaction, for the caller of a manual compaction and for
//! listeners.

use std::collections::BTreeMap;

use base::sync::Mutex;
use esker::{CompactionReason, TableProperties};
use jni_sys::jlong;

use crate::compaction_job_stats::{self, JobStats};
use crate::env::{JByteArray, JObject, JStrings};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::status::status_ok;
use crate::table_properties;

/// The facts of one compaction.
#[derive(Clone, Default)]
pub struct JobInfo {
    /// The family's name.
    pub family: String,
    /// The number of the job; 0 if the caller does not get it.
    pub job: u64,
    /// The files that the compaction read.
    pub inputs: Vec<String>,
    /// The files that the compaction wrote.
    pub outputs: Vec<String>,
    /// The level of the topmost input.
    pub base_level: i32,
    /// The level of the output.
    pub output_level: i32,
    /// RocksJava's number of the reason.
    pub reason: i8,
    /// RocksDB's number of the compression.
    pub compression: i8,
    /// The counters of the compaction.
    pub stats: JobStats,
    /// The properties of the input and output tables, by their paths.
    pub properties: BTreeMap<String, TableProperties>,
}

struct InfoObject(Mutex<JobInfo>);

/// Fills the object of a handle, if there is one.
pub fn fill(handle: jlong, info: JobInfo) -> Result<()> {
    if let Some(object) = handles::optional::<InfoObject>(handle)? {
        *object.0.lock() = info;
    }
    Ok(())
}

/// Returns a new handle of an object with the facts of a compaction.
pub fn insert(info: JobInfo) -> jlong {
    handles::insert(InfoObject(Mutex::new(info)))
}

fn info(handle: jlong) -> Result<JobInfo> {
    Ok(handles::get::<InfoObject>(handle)?.0.lock().clone())
}

/// Returns RocksJava's number of a reason. The newest reasons are unknown to older releases of RocksJava.
pub fn reason_number(reason: CompactionReason) -> i8 {
    match reason {
        CompactionReason::LevelL0FilesNum => 0x1,
        CompactionReason::LevelMaxLevelSize => 0x2,
        CompactionReason::UniversalSizeAmplification => 0x3,
        CompactionReason::UniversalSizeRatio => 0x4,
        CompactionReason::UniversalSortedRunNum => 0x5,
        CompactionReason::FIFOMaxSize => 0x6,
        CompactionReason::FIFOReduceNumFiles => 0x7,
        CompactionReason::FIFOTtl => 0x8,
        CompactionReason::ManualCompaction => 0x9,
        CompactionReason::BottommostFiles => 0xA,
        CompactionReason::Ttl => 0xB,
        CompactionReason::PeriodicCompaction => 0xE,
        CompactionReason::ChangeTemperature => 0xF,
        CompactionReason::FilesMarkedForCompaction => 0x10,
        CompactionReason::ForcedBlobGC => 0x11,
        CompactionReason::RefitLevel => 0x13,
        CompactionReason::FilesCoveredByRangeTombstone => 0x0,
    }
}

native!("CompactionJobInfo_newCompactionJobInfo" "" fn(env) -> i64 { Ok(insert(JobInfo::default())) });

native!("CompactionJobInfo_columnFamilyName" "J" fn(env, handle: i64) -> JByteArray {
    env.byte_array(info(handle)?.family.as_bytes())
});

// A failed compaction is an exception and fills no object.
native!("CompactionJobInfo_status" "J" fn(env, handle: i64) -> JObject {
    info(handle)?;
    status_ok(&env).map(JObject)
});

// Threads of the engine have no IDs.
native!("CompactionJobInfo_threadId" "J" fn(env, handle: i64) -> i64 { info(handle).map(|_| 0) });

native!("CompactionJobInfo_jobId" "J" fn(env, handle: i64) -> i32 { Ok(info(handle)?.job as i32) });

native!("CompactionJobInfo_baseInputLevel" "J" fn(env, handle: i64) -> i32 { Ok(info(handle)?.base_level) });

native!("CompactionJobInfo_outputLevel" "J" fn(env, handle: i64) -> i32 { Ok(info(handle)?.output_level) });

native!("CompactionJobInfo_inputFiles" "J" fn(env, handle: i64) -> JStrings { env.string_array(info(handle)?.inputs) });

native!("CompactionJobInfo_outputFiles" "J" fn(env, handle: i64) -> JStrings { env.string_array(info(handle)?.outputs) });

native!("CompactionJobInfo_tableProperties" "J" fn(env, handle: i64) -> JObject {
    let properties = info(handle)?.properties;
    table_properties::map(&env, properties.iter().map(|(path, properties)| (path.as_str(), properties)))
});

native!("CompactionJobInfo_compactionReason" "J" fn(env, handle: i64) -> i8 { Ok(info(handle)?.reason) });

native!("CompactionJobInfo_compression" "J" fn(env, handle: i64) -> i8 { Ok(info(handle)?.compression) });

native!("CompactionJobInfo_stats" "J" fn(env, handle: i64) -> i64 {
    Ok(compaction_job_stats::insert(info(handle)?.stats))
});
