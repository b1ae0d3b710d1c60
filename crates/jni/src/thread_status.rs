//! `org.rocksdb.ThreadStatus`: the names of the activities of threads. Threads of the engine report no
//! status, so that Java uses only the names.

use std::collections::BTreeMap;

use jni_sys::jvalue;

use crate::env::{JLongArray, JObject, JString};
use crate::fail::Result;
use crate::frame::native;

/// Returns the name of a number, or an empty text.
fn named(env: &crate::env::Env<'_>, names: &[&str], number: i32) -> Result<JString> {
    let name = usize::try_from(number)
        .ok()
        .and_then(|number| names.get(number).copied());
    env.new_string(name.unwrap_or(""))
}

/// The operations, by their numbers.
const OPERATIONS: &[&str] = &[
    "",
    "Compaction",
    "Flush",
    "DBOpen",
    "Get",
    "MultiGet",
    "DBIterator",
    "VerifyDBChecksum",
    "VerifyFileChecksums",
    "GetEntity",
    "MultiGetEntity",
];
const COMPACTION: i8 = 1;
const FLUSH: i8 = 2;

/// The stages of operations, by their numbers.
const STAGES: &[&str] = &[
    "",
    "FlushJob::Run",
    "FlushJob::WriteLevel0Table",
    "CompactionJob::Prepare",
    "CompactionJob::Run",
    "CompactionJob::ProcessKeyValueCompaction",
    "CompactionJob::Install",
    "CompactionJob::FinishCompactionOutputFile",
    "MemTableList::PickMemtablesToFlush",
    "MemTableList::RollbackMemtableFlush",
    "MemTableList::TryInstallMemtableFlushResults",
];

/// The properties of a compaction, by their indexes.
const OF_COMPACTION: &[&str] = &[
    "JobID",
    "InputOutputLevel",
    "Manual/Deletion/Trivial",
    "TotalInputBytes",
    "BytesRead",
    "BytesWritten",
];

/// The properties of a flush, by their indexes.
const OF_FLUSH: &[&str] = &["JobID", "BytesMemtables", "BytesWritten"];

fn properties(operation: i8) -> &'static [&'static str] {
    match operation {
        COMPACTION => OF_COMPACTION,
        FLUSH => OF_FLUSH,
        _ => &[],
    }
}

native!("ThreadStatus_getThreadTypeName" "B" fn(env, number: i8) -> JString {
    named(&env, &["High Pri", "Low Pri", "User", "Bottom Pri"], i32::from(number))
});

native!("ThreadStatus_getOperationName" "B" fn(env, number: i8) -> JString {
    named(&env, OPERATIONS, i32::from(number))
});

native!("ThreadStatus_getOperationStageName" "B" fn(env, number: i8) -> JString {
    named(&env, STAGES, i32::from(number))
});

native!("ThreadStatus_getStateName" "B" fn(env, number: i8) -> JString {
    named(&env, &["", "Mutex Wait"], i32::from(number))
});

native!("ThreadStatus_getOperationPropertyName" "BI" fn(env, operation: i8, at: i32) -> JString {
    named(&env, properties(operation), at)
});

/// Returns the properties by their names. A property that packs several numbers is split.
fn interpreted(operation: i8, values: &[i64]) -> BTreeMap<&'static str, i64> {
    let mut found = BTreeMap::new();
    for (at, (name, value)) in properties(operation).iter().zip(values).enumerate() {
        match (operation, at) {
            (COMPACTION, 1) => {
                found.insert("BaseInputLevel", value >> 32);
                found.insert("OutputLevel", value & i64::from(u32::MAX));
            }
            (COMPACTION, 2) => {
                found.insert("IsManual", (value >> 1) & 1);
                found.insert("IsDeletion", (value >> 2) & 1);
                found.insert("IsTrivialMove", (value >> 3) & 1);
            }
            _ => {
                found.insert(*name, *value);
            }
        }
    }
    found
}

native!("ThreadStatus_interpretOperationProperties" "B_3J" fn(
    env, operation: i8, values: JLongArray
) -> JObject {
    let map = env.object("java/util/HashMap", "()V", &[])?;
    for (name, value) in interpreted(operation, &env.longs(values)?) {
        let name = env.new_string(name)?;
        let value = env.object("java/lang/Long", "(J)V", &[jvalue { j: value }])?;
        env.map_put(map, name.0, value)?;
        env.forget(name.0);
        env.forget(value);
    }
    Ok(JObject(map))
});

/// Returns a duration in human-readable form.
fn human(micros: u64) -> String {
    const MINUTE: u64 = 60_000_000;
    let seconds = (micros % MINUTE) as f64 / 1e6;
    match micros {
        0 => String::new(),
        1..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{:.3} ms", micros as f64 / 1e3),
        10_000_000..MINUTE => format!("{:.3} sec", micros as f64 / 1e6),
        _ if micros < 60 * MINUTE => format!("{:02}:{seconds:05.3} M:S", micros / MINUTE),
        _ => format!(
            "{:02}:{:02}:{seconds:05.3} H:M:S",
            micros / MINUTE / 60,
            micros / MINUTE % 60
        ),
    }
}

native!("ThreadStatus_microsToStringNative" "J" fn(env, micros: i64) -> JString {
    env.new_string(&human(micros.max(0) as u64))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_properties_are_rocksdbs() {
        let texts: Vec<String> = [0, 17, 20_000, 11_000_000, 90_500_000, 3_600_000_000]
            .into_iter()
            .map(human)
            .collect();
        assert_eq!(
            texts,
            [
                "",
                "17 us",
                "20.000 ms",
                "11.000 sec",
                "01:30.500 M:S",
                "01:00:0.000 H:M:S"
            ]
        );
        let found = interpreted(COMPACTION, &[9, (2 << 32) | 3, 0b0110, 100, 50, 40]);
        let expected = [
            ("BaseInputLevel", 2),
            ("BytesRead", 50),
            ("BytesWritten", 40),
            ("IsDeletion", 1),
            ("IsManual", 1),
            ("IsTrivialMove", 0),
            ("JobID", 9),
            ("OutputLevel", 3),
            ("TotalInputBytes", 100),
        ];
        assert_eq!(found, BTreeMap::from(expected));
    }
}
