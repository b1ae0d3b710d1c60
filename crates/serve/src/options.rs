//! The OPTIONS file as JSON, with its dangers.

use serde_json::{Map, Value, json};

use crate::dangers::{Loaded, dangers};

pub(crate) fn options(file: &Loaded) -> Value {
    let mut sections: Map<String, Value> = Map::new();
    for ((section, name), value) in file.all() {
        let entries = sections.entry(section).or_insert_with(|| json!({}));
        if let Some(entries) = entries.as_object_mut() {
            entries.insert(name.to_owned(), Value::from(value));
        }
    }
    let dangers: Vec<Value> = dangers(file)
        .into_iter()
        .map(|danger| {
            json!({
                "risk": danger.risk.name(), "section": danger.section, "what": danger.what, "reason": danger.reason,
            })
        })
        .collect();
    let lost: Vec<Value> = file
        .lost
        .iter()
        .map(|lost| {
            json!({ "section": lost.section, "name": lost.name, "value": lost.value, "what": lost.what })
        })
        .collect();
    json!({
        "file": file.path.file_name().map(|name| name.to_string_lossy()),
        "dangers": dangers,
        "lost": lost,
        "sections": sections,
    })
}
