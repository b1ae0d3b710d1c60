//! JSON objects in the format of RocksDB's event lines: `{"time_micros": 17, "job": 3, "files_L0": [9, 8]}`.
//! Tools search for `"name": ` with the space.

use std::fmt::{Display, Write};

/// A JSON object that is being written.
pub(crate) struct Json(String);

impl Json {
    pub fn new() -> Json {
        Json("{".to_owned())
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
            .finish();
        assert!(text.starts_with("{\"n\": 7, \"t\": \""), "{text}");
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "n": 7, "t": "a\"b\\c\nd\u{1}é", "l": [1, 2], "e": [], "o": {"x": ""}, "none": {}
        });
        assert_eq!(parsed, expected);
    }
}
