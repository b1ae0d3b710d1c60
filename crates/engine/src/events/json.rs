//! JSON objects in the format of RocksDB's event lines: `{"time_micros": 17, "job": 3, "files_L0": [9, 8]}`.
//! Tools search for `"name": ` with the space.

use std::fmt::{Display, Write};

use sst::properties::TableProperties;

/// A JSON object that is being written.
pub(crate) struct Json(String);

impl Json {
    pub fn new() -> Json {
        Json("{".to_owned())
    }

    /// The object of an event with RocksDB's name `name`, or a name in its style.
    pub fn event(name: &str) -> Json {
        Json::new().text("event", name)
    }

    /// The properties of a table, under RocksDB's names.
    pub(super) fn table_properties(properties: &TableProperties) -> Json {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let average = |bytes: u64| bytes.checked_div(properties.num_entries).unwrap_or(0);
        Json::new()
            .number("data_size", properties.data_size)
            .number("index_size", properties.index_size)
            .number("index_partitions", properties.index_partitions.unwrap_or(0))
            .number(
                "top_level_index_size",
                properties.top_level_index_size.unwrap_or(0),
            )
            .number(
                "index_key_is_user_key",
                u8::from(properties.index_key_is_user_key),
            )
            .number(
                "index_value_is_delta_encoded",
                u8::from(properties.index_value_is_delta_encoded),
            )
            .number("filter_size", properties.filter_size)
            .number("raw_key_size", properties.raw_key_size)
            .number("raw_average_key_size", average(properties.raw_key_size))
            .number("raw_value_size", properties.raw_value_size)
            .number("raw_average_value_size", average(properties.raw_value_size))
            .number("num_data_blocks", properties.num_data_blocks)
            .number("num_entries", properties.num_entries)
            .number("num_filter_entries", properties.num_filter_entries)
            .number("num_deletions", properties.num_deletions)
            .number("num_merge_operands", properties.num_merge_operands)
            .number("num_range_deletions", properties.num_range_deletions)
            .number("format_version", properties.format_version)
            .number("fixed_key_len", properties.fixed_key_len)
            .text("filter_policy", &text(&properties.filter_policy))
            .text("column_family_name", &text(&properties.column_family_name))
            .number("column_family_id", properties.column_family_id)
            .text("comparator", &properties.comparator_name())
            .number(
                "user_defined_timestamps_persisted",
                u8::from(properties.user_defined_timestamps_persisted),
            )
            .known_number("key_largest_seqno", properties.key_largest_seqno)
            .known_number("key_smallest_seqno", properties.key_smallest_seqno)
            .text("merge_operator", &text(&properties.merge_operator))
            .text("prefix_extractor_name", &text(&properties.prefix_extractor_name))
            .text("property_collectors", &text(&properties.property_collectors))
            .text("compression", &text(&properties.compression))
            .text("compression_options", &text(&properties.compression_options))
            .number("creation_time", properties.creation_time)
            .number("oldest_key_time", properties.oldest_key_time)
            .known_number("newest_key_time", properties.newest_key_time)
            .number("file_creation_time", properties.file_creation_time)
            .text("db_id", &text(&properties.db_id))
            .text("db_session_id", &text(&properties.db_session_id))
            .number("orig_file_number", properties.orig_file_number)
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push_str(", ");
        }
        quoted(&mut self.0, name);
        self.0.push_str(": ");
    }

    /// Adds a number or a boolean.
    pub fn number(mut self, name: &str, value: impl Display) -> Json {
        self.name(name);
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{value}");
        self
    }

    /// Adds a number that may be unknown; an unknown number is left out.
    pub fn known_number(self, name: &str, value: Option<impl Display>) -> Json {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    pub fn text(mut self, name: &str, value: &str) -> Json {
        self.name(name);
        quoted(&mut self.0, value);
        self
    }

    pub fn list(mut self, name: &str, values: impl IntoIterator<Item = impl Display>) -> Json {
        self.name(name);
        self.0.push('[');
        for (at, value) in values.into_iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let _ = write!(self.0, "{comma}{value}");
        }
        self.0.push(']');
        self
    }

    pub fn object(mut self, name: &str, value: Json) -> Json {
        self.name(name);
        self.0.push_str(&value.finish());
        self
    }

    /// Adds the fields of `other`.
    pub fn fields(mut self, other: Json) -> Json {
        if self.0.len() > 1 && other.0.len() > 1 {
            self.0.push_str(", ");
        }
        self.0.push_str(&other.0[1..]);
        self
    }

    /// Returns the text of the object.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            char => out.push(char),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_json_whatever_the_text() {
        let text = Json::new()
            .number("n", 7)
            .text("t", "a\"b\\c\nd\u{1}é")
            .list("l", [1, 2])
            .list("e", [0; 0])
            .object("o", Json::new().text("x", ""))
            .object("none", Json::new())
            .known_number("k", Some(8))
            .known_number("u", None::<u64>)
            .fields(Json::new())
            .fields(Json::event("e").number("m", 9))
            .finish();
        assert!(text.starts_with("{\"n\": 7, \"t\": \""), "{text}");
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "n": 7, "t": "a\"b\\c\nd\u{1}é", "l": [1, 2], "e": [], "o": {"x": ""}, "none": {},
            "k": 8, "event": "e", "m": 9
        });
        assert_eq!(parsed, expected);
    }
}
