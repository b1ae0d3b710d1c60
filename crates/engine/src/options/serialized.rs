//! Options as maps, for configuration files in any format of serde: behind the feature `serde`.
//!
//! A map has RocksDB's names. Booleans are booleans, integers and numbers are numbers, and every other
//! value is the text of RocksDB's OPTIONS file. An option that the map lacks has its default; an unknown
//! name, or a value out of its range, is an error. Objects (a comparator, a cache, a listener) are not in
//! the map.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::table::OptionTable;
use super::{BlockBasedOptions, ColumnFamilyOptions, DbPath, Options};

/// The options of a struct that are not rows: other structs, and directories.
trait Nested: OptionTable {
    /// The names of the serialized fields.
    const NAMES: &'static [&'static str];

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// Reads the value of `name`, which is one of [`NAMES`](Nested::NAMES).
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

impl Nested for Options {
    const NAMES: &'static [&'static str] = &["column_family", "column_families", "db_paths"];

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("column_family", &self.column_family)?;
        map.serialize_entry("column_families", &self.column_families)?;
        map.serialize_entry("db_paths", &paths(&self.db_paths))
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "column_family" => self.column_family = map.next_value()?,
            "column_families" => self.column_families = map.next_value()?,
            _ => self.db_paths = of_paths(map.next_value()?),
        }
        Ok(())
    }
}

impl Nested for ColumnFamilyOptions {
    const NAMES: &'static [&'static str] = &["block_based_table_factory", "cf_paths"];

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("block_based_table_factory", &self.table)?;
        map.serialize_entry("cf_paths", &paths(&self.cf_paths))
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "block_based_table_factory" => self.table = map.next_value()?,
            _ => self.cf_paths = of_paths(map.next_value()?),
        }
        Ok(())
    }
}

impl Nested for BlockBasedOptions {
    const NAMES: &'static [&'static str] = &[];

    fn write<M: SerializeMap>(&self, _: &mut M) -> Result<(), M::Error> {
        Ok(())
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, _: &str, _: &mut A) -> Result<(), A::Error> {
        Ok(())
    }
}

/// Directories with their target sizes in bytes.
fn paths(paths: &[DbPath]) -> Vec<(PathBuf, u64)> {
    paths
        .iter()
        .map(|path| (path.path.clone(), path.target_size))
        .collect()
}

fn of_paths(paths: Vec<(PathBuf, u64)>) -> Vec<DbPath> {
    paths
        .into_iter()
        .map(|(path, target_size)| DbPath { path, target_size })
        .collect()
}

fn write<S: Nested, W: Serializer>(options: &S, serializer: W) -> Result<W::Ok, W::Error> {
    let mut map = serializer.serialize_map(Some(S::rows().len() + S::NAMES.len()))?;
    for row in S::rows() {
        let text = (row.get)(options);
        match row.type_name {
            "boolean" => map.serialize_entry(row.name, &(text == "true"))?,
            "integer" => match (text.parse::<u64>(), text.parse::<i64>()) {
                (Ok(number), _) => map.serialize_entry(row.name, &number)?,
                (_, Ok(number)) => map.serialize_entry(row.name, &number)?,
                _ => map.serialize_entry(row.name, &text)?,
            },
            "number" => match text.parse::<f64>() {
                Ok(number) => map.serialize_entry(row.name, &number)?,
                Err(_) => map.serialize_entry(row.name, &text)?,
            },
            _ => map.serialize_entry(row.name, &text)?,
        }
    }
    options.write(&mut map)?;
    map.end()
}

/// A value of a map, as the text of an OPTIONS file.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boolean, a number, or a text of RocksDB's")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Text, E> {
                Ok(Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

struct Map<S>(PhantomData<S>);

impl<'de, S: Nested> Visitor<'de> for Map<S> {
    type Value = S;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of options by RocksDB's names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S, A::Error> {
        let mut options = S::default();
        let mut seen = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if seen.insert(name.clone(), ()).is_some() {
                return Err(A::Error::custom(format!("{name} comes twice")));
            }
            if S::NAMES.contains(&name.as_str()) {
                options.read(&name, &mut map)?;
            } else {
                let Text(text) = map.next_value()?;
                options
                    .set(&name, &text)
                    .map_err(|error| A::Error::custom(error.message()))?;
            }
        }
        Ok(options)
    }
}

macro_rules! serialized {
    ($($options:ty),+) => { $(
        impl Serialize for $options {
            fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
                write(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $options {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$options, D::Error> {
                deserializer.deserialize_map(Map(PhantomData))
            }
        }
    )+ };
}
serialized!(Options, ColumnFamilyOptions, BlockBasedOptions);

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<S: OptionTable>(options: &S) -> Vec<(&'static str, String)> {
        S::rows()
            .iter()
            .map(|row| (row.name, (row.get)(options)))
            .collect()
    }

    /// Sets each option to each value of its domain in turn, and expects it back.
    fn each_value_comes_back<S: Nested + Serialize + for<'de> Deserialize<'de>>() {
        let default = texts(&S::default());
        for row in S::rows() {
            for value in row.domain {
                let mut options = S::default();
                options.set(row.name, value).unwrap();
                let json = serde_json::to_string(&options).unwrap();
                let back: S = serde_json::from_str(&json).unwrap();
                assert_eq!(texts(&back), texts(&options), "{}={value}", row.name);
            }
        }
        let empty: S = serde_json::from_str("{}").unwrap();
        assert_eq!(texts(&empty), default);
    }

    #[test]
    fn options_come_back_from_their_map() {
        each_value_comes_back::<Options>();
        each_value_comes_back::<ColumnFamilyOptions>();
        each_value_comes_back::<BlockBasedOptions>();
    }

    #[test]
    fn a_map_has_types_and_nested_options() {
        let json = r#"{
            "create_if_missing": true,
            "max_open_files": -1,
            "column_family": {"write_buffer_size": "64M", "block_based_table_factory": {"block_size": 8192}},
            "column_families": {"years": {"compression": "kNoCompression"}},
            "db_paths": [["/fast", 1000]]
        }"#;
        let options: Options = serde_json::from_str(json).unwrap();
        assert!(options.create_if_missing);
        assert_eq!(options.column_family.write_buffer_size, 64 << 20);
        assert_eq!(options.column_family.table.block_size, 8192);
        let years = &options.column_families["years"];
        assert_eq!(years.compression, codec::compression::CompressionType::None);
        assert_eq!(options.db_paths[0].target_size, 1000);
        let value = serde_json::to_value(&options).unwrap();
        assert_eq!(value["create_if_missing"], serde_json::json!(true));
        assert_eq!(
            value["column_family"]["write_buffer_size"],
            serde_json::json!(64 << 20)
        );
        assert_eq!(value["db_paths"], serde_json::json!([["/fast", 1000]]));
    }

    #[test]
    fn wrong_maps_are_refused_by_name() {
        for (json, word) in [
            (r#"{"no_such_option": 1}"#, "no_such_option"),
            (r#"{"max_open_files": "many"}"#, "max_open_files"),
            (r#"{"max_background_jobs": 0}"#, "max_background_jobs"),
            (r#"{"column_family": {"num_levels": 1000}}"#, "num_levels"),
            (r#"{"max_open_files": 1, "max_open_files": 2}"#, "twice"),
            (r#"{"max_open_files": [1]}"#, "a boolean, a number"),
            ("[]", "a map of options"),
        ] {
            let Err(error) = serde_json::from_str::<Options>(json) else {
                panic!("{json} is taken");
            };
            assert!(error.to_string().contains(word), "{json}: {error}");
        }
    }
}
