//! Flink's compaction filter: compactions remove state whose time to live has expired.
//!
//! At an offset a value contains the time of its last access: milliseconds as eight bytes, the most
//! significant first. Each element of a list does so, and a byte separates elements. State that is no older
//! than its time to live stays.

use std::sync::{Arc, OnceLock};

use esker::{CompactionFilter, Decision, ValueType};
use jni_sys::{jmethodID, jobject, jvalue};

use crate::callback::{Global, attached};
use crate::compaction_filter::{FilterObject, Kind};
use crate::env::{Env, JObject, Reference};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;

/// The size of a time in bytes.
const TIME: usize = 8;

/// The kind of state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateType {
    Disabled,
    Value,
    List,
}

/// The way to find the first element of a list that stays.
enum Elements {
    /// The value has one timestamp as a whole.
    None,
    /// Elements of fixed length: the length in bytes, the separator included.
    Fixed(usize),
    /// Java code finds the first element that has not expired.
    Java(JavaFilters),
}

struct Config {
    state: StateType,
    timestamp_offset: usize,
    ttl: i64,
    query_time_after_num_entries: i64,
    elements: Elements,
}

/// A method of a Java interface, and the object that implements it.
struct JavaFilters {
    factory: Global,
    create: Method,
    next: Method,
}

struct Method(jmethodID);

// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Send for Method {}
// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Sync for Method {}

/// The settings of a state. Flink passes them when it knows them, possibly after the database is open.
#[derive(Clone, Default)]
struct ConfigHolder(Arc<OnceLock<Config>>);

native!("FlinkCompactionFilter_createNewFlinkCompactionFilterConfigHolder" "" fn(env) -> i64 {
    Ok(handles::insert(ConfigHolder::default()))
});

native!("FlinkCompactionFilter_disposeFlinkCompactionFilterConfigHolder" "J" fn(env, holder: i64) {
    handles::close(holder);
    Ok(())
});

native!("FlinkCompactionFilter_configureFlinkCompactionFilter"
    "JIIJJILorg_rocksdb_FlinkCompactionFilter_00024ListElementFilterFactory_2" fn(
    env, holder: i64, state: i32, timestamp_offset: i32, ttl: i64, query_time_after_num_entries: i64,
    fixed_element_length: i32, factory: JObject
) -> bool {
    let holder = handles::get::<ConfigHolder>(holder)?;
    let elements = match usize::try_from(fixed_element_length) {
        Ok(length) if length > 0 => Elements::Fixed(length),
        _ if factory.is_null() => Elements::None,
        _ => Elements::Java(JavaFilters::of(&env, factory.0)?),
    };
    let config = Config {
        state: match state {
            1 => StateType::Value,
            2 => StateType::List,
            _ => StateType::Disabled,
        },
        timestamp_offset: usize::try_from(timestamp_offset)
            .map_err(|_| Fail::argument("the offset of the time is negative"))?,
        ttl,
        query_time_after_num_entries,
        elements,
    };
    Ok(holder.0.set(config).is_ok())
});

impl JavaFilters {
    fn of(env: &Env<'_>, factory: jobject) -> Result<JavaFilters> {
        let class = env.class("org/rocksdb/FlinkCompactionFilter$ListElementFilterFactory")?;
        let signature = "()Lorg/rocksdb/FlinkCompactionFilter$ListElementFilter;";
        let create = env.method(class, "createListElementFilter", signature)?;
        let class = env.class("org/rocksdb/FlinkCompactionFilter$ListElementFilter")?;
        let next = env.method(class, "nextUnexpiredOffset", "([BJJ)I")?;
        Ok(JavaFilters {
            factory: Global::strong(env, factory)?,
            create: Method(create),
            next: Method(next),
        })
    }
}

/// The filter with its settings and its clock.
struct FlinkFilter {
    config: ConfigHolder,
    time: Arc<JavaClock>,
}

struct JavaClock {
    provider: Global,
    method: Method,
}

impl JavaClock {
    fn now(&self) -> Result<i64> {
        attached(|env| env.call_long(self.provider.reference(), self.method.0, &[]))
    }
}

// The logger argument is not used, because the filter writes no lines to the log.
native!("FlinkCompactionFilter_createNewFlinkCompactionFilter0"
    "JLorg_rocksdb_FlinkCompactionFilter_00024TimeProvider_2J" fn(env, holder: i64, provider: JObject, logger: i64) -> i64 {
    let class = env.class("org/rocksdb/FlinkCompactionFilter$TimeProvider")?;
    let method = env.method(class, "currentTimestamp", "()J")?;
    let time = JavaClock { provider: Global::strong(&env, provider.0)?, method: Method(method) };
    Ok(handles::insert(FilterObject(Arc::new(FlinkFilter {
        config: handles::get::<ConfigHolder>(holder)?.clone(),
        time: Arc::new(time),
    }))))
});

impl Kind for FlinkFilter {
    fn name(&self) -> &str {
        "FlinkCompactionFilter"
    }

    fn make(&self) -> Box<dyn CompactionFilter> {
        Box::new(Running {
            config: self.config.clone(),
            time: Arc::clone(&self.time),
            now: i64::MIN,
            until_next_look: 0,
            list_filter: None,
        })
    }
}

/// The filter of one compaction.
struct Running {
    config: ConfigHolder,
    time: Arc<JavaClock>,
    now: i64,
    /// The number of rows that are judged by `now` before the filter reads the clock again.
    until_next_look: i64,
    /// Java's filter of lists, set at the first list.
    list_filter: Option<Global>,
}

impl CompactionFilter for Running {
    fn filter(&mut self, _level: usize, _key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let holder = self.config.clone();
        let Some(config) = holder.0.get() else {
            return Decision::Keep;
        };
        let judged = match config.state {
            StateType::Disabled => false,
            StateType::Value => value_type == ValueType::Value,
            StateType::List => matches!(value_type, ValueType::Value | ValueType::MergeOperand),
        };
        // Without the time, which only Java knows, every row stays.
        if !judged || self.look_at_clock(config).is_err() {
            return Decision::Keep;
        }
        if !is_expired(config, value, 0, self.now) {
            return Decision::Keep;
        }
        let kept_from = match (&config.elements, config.state) {
            (Elements::None, _) | (_, StateType::Value) => return Decision::Remove,
            (Elements::Fixed(length), _) => fixed_offset(config, *length, value, self.now),
            (Elements::Java(filters), _) => match self.java_offset(config, filters, value) {
                Ok(offset) => offset,
                Err(_) => return Decision::Keep,
            },
        };
        match value.get(kept_from..) {
            None | Some([]) => Decision::Remove,
            Some(_) if kept_from == 0 => Decision::Keep,
            Some(rest) => Decision::ChangeValue(rest.to_vec()),
        }
    }
}

/// Returns true if the time at that offset of a value has expired. A value that is too short stays.
fn is_expired(config: &Config, value: &[u8], from: usize, now: i64) -> bool {
    let at = from + config.timestamp_offset;
    let Some(time) = value
        .get(at..at + TIME)
        .and_then(|time| time.try_into().ok())
        .map(i64::from_be_bytes)
    else {
        return false;
    };
    let end = if time > 0 {
        time.saturating_add(config.ttl)
    } else {
        time.wrapping_add(config.ttl)
    };
    end <= now
}

/// Returns the offset of the first element that stays, for elements of fixed length.
fn fixed_offset(config: &Config, length: usize, value: &[u8], now: i64) -> usize {
    let mut offset = 0;
    while offset < value.len() && is_expired(config, value, offset, now) {
        offset += length;
    }
    offset
}

impl Running {
    fn look_at_clock(&mut self, config: &Config) -> Result<()> {
        if self.until_next_look <= 0 {
            self.now = self.time.now()?;
            self.until_next_look = config.query_time_after_num_entries;
        }
        self.until_next_look -= 1;
        Ok(())
    }

    fn java_offset(&mut self, config: &Config, filters: &JavaFilters, value: &[u8]) -> Result<usize> {
        attached(|env| {
            if self.list_filter.is_none() {
                let filter = env.call_object(filters.factory.reference(), filters.create.0, &[])?;
                self.list_filter = Some(Global::strong(env, filter)?);
                env.forget(filter);
            }
            let Some(filter) = &self.list_filter else {
                return Err(Fail::null());
            };
            let list = env.byte_array(value)?;
            let arguments = [
                jvalue { l: list.0 },
                jvalue { j: config.ttl },
                jvalue { j: self.now },
            ];
            let offset = env.call_int(filter.reference(), filters.next.0, &arguments);
            env.forget(list.0);
            usize::try_from(offset?).map_err(|_| Fail::state("the list filter returned a negative offset"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(state: StateType, elements: Elements) -> Config {
        Config {
            state,
            timestamp_offset: 0,
            ttl: 10,
            query_time_after_num_entries: 1,
            elements,
        }
    }

    fn element(time: i64) -> Vec<u8> {
        let mut bytes = time.to_be_bytes().to_vec();
        bytes.extend_from_slice(b"x,");
        bytes
    }

    #[test]
    fn a_value_expires_when_its_time_to_live_is_over() {
        let config = config(StateType::Value, Elements::None);
        for (time, now, expired) in [
            (100, 109, false),
            (100, 110, true),
            (i64::MAX, i64::MAX - 1, false),
            (0, 10, true),
            (-5, 4, false),
        ] {
            assert_eq!(
                is_expired(&config, &element(time), 0, now),
                expired,
                "{time} at {now}"
            );
        }
        assert!(!is_expired(&config, b"short", 0, i64::MAX), "no time in it");
    }

    #[test]
    fn a_list_keeps_from_its_first_element_that_lives() {
        let config = config(StateType::List, Elements::Fixed(10));
        let list: Vec<u8> = [100, 105, 120, 90].into_iter().flat_map(element).collect();
        assert_eq!(fixed_offset(&config, 10, &list, 109), 0);
        assert_eq!(fixed_offset(&config, 10, &list, 110), 10);
        assert_eq!(fixed_offset(&config, 10, &list, 115), 20);
        assert!(fixed_offset(&config, 10, &list, 130) >= list.len());
    }
}
