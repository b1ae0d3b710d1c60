//! Flushes, compactions, ingestion and other maintenance of a database.

use std::ffi::OsStr;
use std::path::Path;

use esker::{
    CompactRangeOptions, CompactionReason, IngestExternalFileOptions, RangeOpt, SizeApproximationOptions,
};
use jni_sys::jlong;

use crate::compaction_job_info::{self, JobInfo};
use crate::compaction_job_stats::JobStats;
use crate::env::{Env, JByteArray, JByteArrays, JLongArray, JStrings, Reference};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::objects::{Family, FamilyObject, database};
use crate::settings::Settings;
use crate::slice::SliceObject;

native!("RocksDB_flush" "JJ_3J" fn(env, db: i64, options: i64, families: JLongArray) {
    let db = database(db)?;
    let mut options = handles::get::<Settings>(options)?.look(|inner| inner.flush_options());
    // A flush with listeners waits until they are notified, as programs written for RocksDB expect.
    options.listener_wait |= db.listeners.is_some();
    if families.is_null() {
        return Ok(db.db.flush_cf_opt(std::slice::from_ref(&db.default), &options)?);
    }
    let families = env
        .longs(families)?
        .into_iter()
        .map(|family| Ok(Family::of(family)?.in_db(&db).clone()))
        .collect::<Result<Vec<_>>>()?;
    Ok(db.db.flush_cf_opt(&families, &options)?)
});

native!("RocksDB_flushWal" "JZ" fn(env, db: i64, sync: bool) { Ok(database(db)?.db.flush_wal(sync)?) });

native!("RocksDB_syncWal" "J" fn(env, db: i64) { Ok(database(db)?.db.sync_wal()?) });

fn end(env: &Env<'_>, key: JByteArray, length: i32) -> Result<Option<Vec<u8>>> {
    match key.is_null() || length < 0 {
        true => Ok(None),
        false => Ok(Some(env.head(key, length)?.to_vec())),
    }
}

native!("RocksDB_compactRange" "J_3BI_3BIJJ" fn(
    env, db: i64, begin: JByteArray, begin_length: i32, limit: JByteArray, limit_length: i32, options: i64, family: i64
) {
    let db = database(db)?;
    let options = match handles::optional::<Settings>(options)? {
        Some(options) => options.look(|inner| inner.compact_range_options()),
        None => CompactRangeOptions::default(),
    };
    let (begin, limit) = (end(&env, begin, begin_length)?, end(&env, limit, limit_length)?);
    let family = Family::of(family)?;
    Ok(db.db.compact_range_cf_opt(family.in_db(&db), begin.as_deref(), limit.as_deref(), &options)?)
});

/// Returns the number in a table's name.
fn number(name: &str) -> Result<u64> {
    let stem = Path::new(name).file_stem().and_then(OsStr::to_str);
    stem.and_then(|stem| stem.parse().ok()).ok_or_else(|| {
        esker::Error::invalid_argument(format!(
            "Specified compaction input file {name} does not exist in column family"
        ))
        .into()
    })
}

native!("RocksDB_compactFiles" "JJJ_3Ljava_lang_String_2IIJ" fn(
    env, db: i64, options: i64, family: i64, inputs: JStrings, level: i32, path: i32, info: i64
) -> JStrings {
    let db = database(db)?;
    let options = handles::get::<Settings>(options)?.look(|inner| inner.compact_files_options())?;
    let names = env.strings(inputs)?;
    let inputs = names.iter().map(|name| number(name)).collect::<Result<Vec<_>>>()?;
    let level = usize::try_from(level).map_err(|_| Fail::argument("the level is negative"))?;
    let family = Family::of(family)?;
    let family = family.in_db(&db);
    let base = db.db.live_files().iter().filter(|file| inputs.contains(&file.number)).map(|file| file.level).min();
    let made = db.db.compact_files(family, &inputs, level, &options)?;
    let files = db.db.live_files();
    let path = |number: &u64| {
        files.iter().find(|file| file.number == *number).map(|file| file.path.display().to_string())
    };
    let outputs: Vec<String> = made.iter().filter_map(path).collect();
    let facts = JobInfo {
        family: family.name().to_owned(),
        inputs: names,
        outputs: outputs.clone(),
        base_level: base.unwrap_or(0) as i32,
        output_level: level as i32,
        reason: compaction_job_info::reason_number(CompactionReason::ManualCompaction),
        compression: family.current_options().compression as u8 as i8,
        stats: JobStats {
            num_input_files: inputs.len() as u64,
            num_output_files: made.len() as u64,
            is_manual_compaction: true,
            ..JobStats::default()
        },
        ..JobInfo::default()
    };
    compaction_job_info::fill(info, facts)?;
    env.string_array(outputs)
});

native!("RocksDB_deleteFilesInRanges" "JJ_3_3BZ" fn(env, db: i64, family: i64, ranges: JByteArrays, include_end: bool) {
    let db = database(db)?;
    let family = Family::of(family)?;
    let mut bounds = Vec::new();
    for at in 0..env.length(ranges.0)? {
        let bound = env.element(ranges.0, at)?;
        bounds.push(match bound.is_null() {
            true => None,
            false => Some(env.whole(JByteArray(bound))?.to_vec()),
        });
        env.forget(bound);
    }
    let ranges: Vec<RangeOpt> = bounds
        .chunks_exact(2)
        .map(|range| RangeOpt { start: range[0].clone(), limit: range[1].clone() })
        .collect();
    Ok(db.db.delete_files_in_ranges(family.in_db(&db), &ranges, include_end)?)
});

native!("RocksDB_clipColumnFamily" "JJ_3BII_3BII" fn(
    env, db: i64, family: i64, begin: JByteArray, begin_at: i32, begin_length: i32, end: JByteArray, end_at: i32,
    end_length: i32
) {
    let db = database(db)?;
    let (begin, end) = (env.bytes(begin, begin_at, begin_length)?, env.bytes(end, end_at, end_length)?);
    Ok(db.db.clip_column_family(Family::of(family)?.in_db(&db), &begin, &end)?)
});

native!("RocksDB_suggestCompactRange" "JJ" fn(env, db: i64, family: i64) -> JLongArray {
    let db = database(db)?;
    db.db.suggest_compact_range(Family::of(family)?.in_db(&db), None, None)?;
    env.long_array(&[0, 0])
});

native!("RocksDB_promoteL0" "JJI" fn(env, db: i64, family: i64, level: i32) {
    let db = database(db)?;
    let level = usize::try_from(level).map_err(|_| Fail::argument("the level is negative"))?;
    Ok(db.db.promote_l0(Family::of(family)?.in_db(&db), level)?)
});

native!("RocksDB_ingestExternalFile" "JJ_3Ljava_lang_String_2IJ" fn(
    env, db: i64, family: i64, files: JStrings, count: i32, options: i64
) {
    let db = database(db)?;
    let options = handles::get::<Settings>(options)?.look(|inner| IngestExternalFileOptions {
        move_files: inner.flag("move_files", false),
        snapshot_consistency: inner.flag("snapshot_consistency", true),
        allow_global_seqno: inner.flag("allow_global_seq_no", true),
        allow_blocking_flush: inner.flag("allow_blocking_flush", true),
        ingest_behind: inner.flag("ingest_behind", false),
        write_global_seqno: inner.flag("write_global_seqno", false),
        ..IngestExternalFileOptions::default()
    });
    let family = Family::of(family)?;
    db.db.ingest_external_file_cf(family.in_db(&db), &env.strings(files)?, &options)?;
    Ok(())
});

native!("RocksDB_cancelAllBackgroundWork" "JZ" fn(env, db: i64, wait: bool) {
    Ok(database(db)?.db.cancel_all_background_work(wait)?)
});

native!("RocksDB_pauseBackgroundWork" "J" fn(env, db: i64) { Ok(database(db)?.db.pause_background_work()?) });

native!("RocksDB_continueBackgroundWork" "J" fn(env, db: i64) { Ok(database(db)?.db.continue_background_work()?) });

native!("RocksDB_abortAllCompactions" "J" fn(env, db: i64) {
    database(db)?.db.abort_all_compactions();
    Ok(())
});

// RocksDB reports no error if compactions are resumed more often than they were aborted.
native!("RocksDB_resumeAllCompactions" "J" fn(env, db: i64) {
    let _ = database(db)?.db.resume_all_compactions();
    Ok(())
});

native!("RocksDB_enableAutoCompaction" "J_3J" fn(env, db: i64, families: JLongArray) {
    let db = database(db)?;
    let families = env
        .longs(families)?
        .into_iter()
        .map(|family| Ok(handles::get::<FamilyObject>(family)?.0.clone()))
        .collect::<Result<Vec<_>>>()?;
    Ok(db.db.enable_auto_compaction(&families)?)
});

native!("RocksDB_disableFileDeletions" "J" fn(env, db: i64) {
    database(db)?.db.disable_file_deletions();
    Ok(())
});

native!("RocksDB_enableFileDeletions" "J" fn(env, db: i64) { Ok(database(db)?.db.enable_file_deletions()?) });

// Releases before 9 have this signature: `force` enables file deletions even if other callers have disabled
// them.
native!("RocksDB_enableFileDeletions" "JZ" fn(env, db: i64, force: bool) { Ok(database(db)?.db.enable_file_deletions()?) });

native!("RocksDB_verifyChecksum" "J" fn(env, db: i64) { Ok(database(db)?.db.verify_checksum()?) });

native!("RocksDB_resetStats" "J" fn(env, db: i64) {
    database(db)?.db.reset_stats();
    Ok(())
});

native!("RocksDB_getLatestSequenceNumber" "J" fn(env, db: i64) -> i64 {
    Ok(database(db)?.db.latest_sequence_number() as i64)
});

/// Returns the names and the new values of options.
fn changes(env: &Env<'_>, names: JStrings, values: JStrings) -> Result<Vec<(String, String)>> {
    Ok(env
        .strings(names)?
        .into_iter()
        .zip(env.strings(values)?)
        .collect())
}

native!("RocksDB_setOptions" "JJ_3Ljava_lang_String_2_3Ljava_lang_String_2" fn(
    env, db: i64, family: i64, names: JStrings, values: JStrings
) {
    let db = database(db)?;
    let changes = changes(&env, names, values)?;
    let changes: Vec<(&str, &str)> = changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Ok(db.db.set_options(Family::of(family)?.in_db(&db), &changes)?)
});

native!("RocksDB_setDBOptions" "J_3Ljava_lang_String_2_3Ljava_lang_String_2" fn(
    env, db: i64, names: JStrings, values: JStrings
) {
    let changes = changes(&env, names, values)?;
    let changes: Vec<(&str, &str)> = changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Ok(database(db)?.db.set_db_options(&changes)?)
});

native!("RocksDB_numberLevels" "JJ" fn(env, db: i64, family: i64) -> i32 {
    let db = database(db)?;
    Ok(Family::of(family)?.in_db(&db).current_options().num_levels)
});

native!("RocksDB_maxMemCompactionLevel" "JJ" fn(env, db: i64, family: i64) -> i32 { Ok(0) });

native!("RocksDB_level0StopWriteTrigger" "JJ" fn(env, db: i64, family: i64) -> i32 {
    let db = database(db)?;
    Ok(Family::of(family)?.in_db(&db).current_options().level0_stop_writes_trigger)
});

/// Returns the ranges of a list of slices, in which begins and ends alternate.
fn ranges(env: &Env<'_>, list: JLongArray) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let slices = env
        .longs(list)?
        .into_iter()
        .map(|slice| Ok(handles::get::<SliceObject>(slice)?.copy()))
        .collect::<Result<Vec<_>>>()?;
    Ok(slices
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect())
}

native!("RocksDB_getApproximateSizes" "JJ_3JB" fn(env, db: i64, family: i64, list: JLongArray, flags: i8) -> JLongArray {
    let db = database(db)?;
    let ranges = ranges(&env, list)?;
    let borrowed: Vec<(&[u8], &[u8])> = ranges.iter().map(|(begin, end)| (begin.as_slice(), end.as_slice())).collect();
    let family = Family::of(family)?;
    let options = SizeApproximationOptions {
        include_memtables: flags & 1 != 0,
        include_files: flags & 2 != 0 || flags == 0,
        include_blob_files: false,
    };
    let sizes = db.db.approximate_sizes_with(family.in_db(&db), &borrowed, &options)?;
    let sizes: Vec<jlong> = sizes.into_iter().map(|size| size as jlong).collect();
    env.long_array(&sizes)
});

native!("RocksDB_getApproximateMemTableStats" "JJJJ" fn(
    env, db: i64, family: i64, begin: i64, end: i64
) -> JLongArray {
    let db = database(db)?;
    let (begin, end) = (handles::get::<SliceObject>(begin)?.copy(), handles::get::<SliceObject>(end)?.copy());
    let stats = db.db.approximate_memtable_stats(Family::of(family)?.in_db(&db), &begin, &end)?;
    env.long_array(&[stats.count as jlong, stats.size as jlong])
});
