//! `org.rocksdb.TableProperties`: the properties of a table.

use std::borrow::Cow;

use esker::TableProperties;
use jni_sys::{jclass, jobject, jvalue};

use crate::env::{Env, JObject};
use crate::fail::Result;

/// The class of the objects, for callers on threads that cannot look it up.
pub const CLASS: &str = "org/rocksdb/TableProperties";

/// Creates an object of `class`, which is that of [`CLASS`].
pub fn object(env: &Env<'_>, class: jclass, from: &TableProperties) -> Result<jobject> {
    let numbers = [
        from.data_size,
        from.index_size,
        from.index_partitions.unwrap_or(0),
        from.top_level_index_size.unwrap_or(0),
        u64::from(from.index_key_is_user_key),
        u64::from(from.index_value_is_delta_encoded),
        from.filter_size,
        from.raw_key_size,
        from.raw_value_size,
        from.num_data_blocks,
        from.num_entries,
        from.num_deletions,
        from.num_merge_operands,
        from.num_range_deletions,
        from.format_version,
        from.fixed_key_len,
        from.column_family_id,
        from.creation_time,
        from.oldest_key_time,
        from.slow_compression_estimated_data_size,
        from.fast_compression_estimated_data_size,
        // The offset of the global sequence number in the file is 0, because an open table does not keep it.
        0,
    ];
    let mut arguments: Vec<jvalue> = numbers
        .iter()
        .map(|number| jvalue { j: *number as i64 })
        .collect();
    arguments.push(jvalue {
        l: env.byte_array(&from.column_family_name)?.0,
    });
    let texts = [
        String::from_utf8_lossy(&from.filter_policy),
        from.comparator_name(),
        String::from_utf8_lossy(&from.merge_operator),
        String::from_utf8_lossy(&from.prefix_extractor_name),
        String::from_utf8_lossy(&from.property_collectors),
        String::from_utf8_lossy(&from.compression),
    ];
    for text in texts {
        arguments.push(jvalue {
            l: env.new_string(&text)?.0,
        });
    }
    let collected = from.user_collected.iter();
    let collected = collected.map(|(name, value)| (lossy(name), lossy(value)));
    arguments.push(jvalue {
        l: text_map(env, collected)?,
    });
    let entries = from.entries();
    let readable = entries
        .iter()
        .map(|(name, value)| (lossy(name), Cow::Owned(TableProperties::show(name, value))));
    arguments.push(jvalue {
        l: text_map(env, readable)?,
    });
    let signature = format!(
        "({}[BLjava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/util/Map;Ljava/util/Map;)V",
        "J".repeat(numbers.len())
    );
    let constructor = env.method(class, "<init>", &signature)?;
    let made = env.construct(class, constructor, &arguments);
    for argument in &arguments[numbers.len()..] {
        // SAFETY: from this argument on, all are objects.
        env.forget(unsafe { argument.l });
    }
    made
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn text_map<'t>(env: &Env<'_>, pairs: impl Iterator<Item = (Cow<'t, str>, Cow<'t, str>)>) -> Result<jobject> {
    let pairs: Vec<_> = pairs.collect();
    let map = env.string_map(pairs.iter().map(|(name, value)| (&**name, &**value)))?;
    Ok(map.0)
}

/// Creates a `Map` from tables' paths to their properties.
pub fn map<'p>(
    env: &Env<'_>,
    tables: impl IntoIterator<Item = (&'p str, &'p TableProperties)>,
) -> Result<JObject> {
    let map = env.object("java/util/HashMap", "()V", &[])?;
    let class = env.class(CLASS)?;
    for (path, properties) in tables {
        let path = env.new_string(path)?;
        let properties = object(env, class, properties)?;
        env.map_put(map, path.0, properties)?;
        env.forget(path.0);
        env.forget(properties);
    }
    env.forget(class);
    Ok(JObject(map))
}
