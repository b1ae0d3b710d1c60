//! `org.rocksdb.Statistics`. The numbers of tickers and histograms differ between releases: the library asks
//! the loaded classes for their names.

use std::sync::Arc;

use esker::{Histogram, Statistics, StatsLevel, Ticker};
use jni_sys::{jlong, jvalue};

use crate::env::{Env, JByteArray, JObject, JString};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;

mod names;

/// `org.rocksdb.Statistics`.
pub struct StatisticsObject(pub Arc<Statistics>);

fn statistics(handle: jlong) -> Result<Arc<Statistics>> {
    Ok(Arc::clone(&handles::get::<StatisticsObject>(handle)?.0))
}

/// Creates statistics, or a handle of existing ones.
fn new(other: jlong) -> Result<jlong> {
    let statistics = match handles::optional::<StatisticsObject>(other)? {
        Some(other) => Arc::clone(&other.0),
        None => Statistics::new(),
    };
    Ok(handles::insert(StatisticsObject(statistics)))
}

native!("Statistics_newStatistics" "" fn(env) -> i64 { new(0) });

native!("Statistics_newStatistics" "J" fn(env, other: i64) -> i64 { new(other) });

// Histograms that the caller wants to ignore are kept like the others.
native!("Statistics_newStatistics" "_3B" fn(env, ignored: JByteArray) -> i64 { new(0) });

native!("Statistics_newStatistics" "_3BJ" fn(env, ignored: JByteArray, other: i64) -> i64 { new(other) });

// RocksJava's levels: all except detailed timers, all except timers of the mutex, all.
native!("Statistics_setStatsLevel" "JB" fn(env, handle: i64, level: i8) {
    statistics(handle)?.set_stats_level(match level {
        0 => StatsLevel::ExceptDetailedTimers,
        1 => StatsLevel::ExceptTimeForMutex,
        _ => StatsLevel::All,
    });
    Ok(())
});

native!("Statistics_statsLevel" "J" fn(env, handle: i64) -> i8 {
    Ok(match statistics(handle)?.stats_level() {
        StatsLevel::All => 2,
        StatsLevel::ExceptTimeForMutex => 1,
        _ => 0,
    })
});

/// Returns RocksDB's name of a constant of an enum.
fn name(env: &Env<'_>, class: &str, getter: &str, number: i8) -> Result<String> {
    let signature = format!("(B)L{class};");
    let constant = env.call_static(class, getter, &signature, &[jvalue { b: number }])?;
    let kind = env.class("java/lang/Enum")?;
    let method = env.method(kind, "name", "()Ljava/lang/String;")?;
    let text = env.call_object(constant, method, &[])?;
    let name = env.string(JString(text))?;
    [constant, kind, text]
        .into_iter()
        .for_each(|object| env.forget(object));
    Ok(names::rocksdb_name(&name))
}

fn ticker(env: &Env<'_>, number: i8) -> Result<Option<Ticker>> {
    Ok(Ticker::of_name(&name(
        env,
        "org/rocksdb/TickerType",
        "getTickerType",
        number,
    )?))
}

fn histogram(env: &Env<'_>, number: i8) -> Result<Option<Histogram>> {
    Ok(Histogram::of_name(&name(
        env,
        "org/rocksdb/HistogramType",
        "getHistogramType",
        number,
    )?))
}

// A ticker that the engine does not count stays 0.
native!("Statistics_getTickerCount" "JB" fn(env, handle: i64, number: i8) -> i64 {
    let statistics = statistics(handle)?;
    Ok(ticker(&env, number)?.map_or(0, |ticker| statistics.get_ticker_count(ticker)) as i64)
});

native!("Statistics_getAndResetTickerCount" "JB" fn(env, handle: i64, number: i8) -> i64 {
    let statistics = statistics(handle)?;
    Ok(ticker(&env, number)?.map_or(0, |ticker| statistics.get_and_reset_ticker_count(ticker)) as i64)
});

native!("Statistics_getHistogramData" "JB" fn(env, handle: i64, number: i8) -> JObject {
    let statistics = statistics(handle)?;
    let data = histogram(&env, number)?.map(|histogram| statistics.histogram_data(histogram)).unwrap_or_default();
    let arguments = [
        jvalue { d: data.median },
        jvalue { d: data.percentile95 },
        jvalue { d: data.percentile99 },
        jvalue { d: data.average },
        jvalue { d: data.standard_deviation },
        jvalue { d: data.max as f64 },
        jvalue { j: data.count as i64 },
        jvalue { j: data.sum as i64 },
        jvalue { d: data.min as f64 },
    ];
    env.object("org/rocksdb/HistogramData", "(DDDDDDJJD)V", &arguments).map(JObject)
});

native!("Statistics_getHistogramString" "JB" fn(env, handle: i64, number: i8) -> JString {
    let statistics = statistics(handle)?;
    let text = histogram(&env, number)?.map(|histogram| statistics.histogram_string(histogram)).unwrap_or_default();
    env.new_string(&text)
});

native!("Statistics_reset" "J" fn(env, handle: i64) {
    statistics(handle)?.reset();
    Ok(())
});

native!("Statistics_toString" "J" fn(env, handle: i64) -> JString {
    env.new_string(&statistics(handle)?.to_string())
});
