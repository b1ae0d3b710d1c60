//! The Rust code that is generated from the tables.

use super::tables::{Field, Origin, Tables};

const NOTE: &str = "// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.\n";

/// Returns `OptionsFields` for `options`.
fn struct_name(object: &str) -> String {
    let mut name = String::new();
    for word in object.split('_') {
        let mut chars = word.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    name.push_str("Fields");
    name
}

fn rust_type(field: &Field) -> &str {
    match field.kind.as_str() {
        "bytes" => "Vec<u8>",
        "flag" => "u8",
        kind => kind,
    }
}

/// Returns the default in Rust: `7;7.8:5` depends on the generation.
fn default(text: &str) -> String {
    let Some((newest, older)) = text.split_once(';') else {
        return text.to_owned();
    };
    let older: Vec<String> = older
        .split(';')
        .filter_map(|pair| pair.split_once(':'))
        .map(|(last, value)| format!("(V{}, {value})", last.replace('.', "_")))
        .collect();
    format!("at({newest}, &[{}])", older.join(", "))
}

/// Returns the structs of fields, and the functions that pass them to the engine.
pub fn fields(tables: &Tables) -> String {
    let mut out = format!("//! The fields of the C objects, with RocksDB's defaults.\n\n{NOTE}\n");
    out.push_str("use std::ffi::{c_char, c_int};\n\nuse super::{apply, parse};\nuse crate::generation::at;\nuse crate::generation::Generation::*;\n");
    for (object, fields) in tables.objects() {
        let name = struct_name(object);
        out.push_str(&format!(
            "\n/// Fields of `rocksdb_{object}_t`.\n#[derive(Clone)]\npub struct {name} {{\n"
        ));
        for field in &fields {
            out.push_str(&format!("    pub {}: {},\n", field.name, rust_type(field)));
        }
        out.push_str(&format!(
            "}}\n\nimpl Default for {name} {{\n    fn default() -> {name} {{\n        {name} {{\n"
        ));
        for field in &fields {
            let default = if field.kind == "bytes" {
                "Vec::new()".to_owned()
            } else {
                default(&field.default)
            };
            out.push_str(&format!("            {}: {default},\n", field.name));
        }
        out.push_str("        }\n    }\n}\n");
        let rows: Vec<(&Field, &str, &str)> = fields
            .iter()
            .filter_map(|field| {
                let (table, row) = field
                    .engine
                    .split_once(':')
                    .unwrap_or((&field.engine, &field.name));
                ["db", "cf", "table"]
                    .contains(&table)
                    .then_some((*field, table, row))
            })
            .collect();
        if ![
            "options",
            "block_based_table_options",
            "universal_compaction_options",
            "fifo_compaction_options",
        ]
        .contains(&object)
        {
            continue;
        }
        out.push_str(&format!("\nimpl {name} {{\n    /// Sets the field with RocksDB's name `name` from text. `None` if there is none, or the text has another\n    /// type.\n    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {{\n        match name {{\n"));
        for field in &fields {
            let row = field
                .engine
                .split_once(':')
                .map_or(String::new(), |(_, row)| format!(" | {row:?}"));
            out.push_str(&format!(
                "            {:?}{row} => self.{} = parse(text)?,\n",
                field.name, field.name
            ));
        }
        out.push_str("            _ => return None,\n        }\n        Some(())\n    }\n}\n");
        if rows.is_empty() {
            continue;
        }
        out.push_str(&format!("\nimpl {name} {{"));
        for (table, target) in [
            ("db", "esker::Options"),
            ("cf", "esker::ColumnFamilyOptions"),
            ("table", "esker::BlockBasedOptions"),
        ] {
            if !rows.iter().any(|row| row.1 == table) {
                continue;
            }
            out.push_str(&format!(
                "\n    /// Passes the fields that are rows of `{target}`.\n    pub fn apply_{table}(&self, options: &mut {target}) -> esker::Result<()> {{\n"
            ));
            for (field, _, row) in rows.iter().filter(|row| row.1 == table) {
                out.push_str(&format!(
                    "        apply(options, {row:?}, self.{})?;\n",
                    field.name
                ));
            }
            out.push_str("        Ok(())\n    }\n");
        }
        if object == "options" {
            out.push_str(&kept_rows(&fields));
        }
        out.push_str("}\n");
    }
    out
}

/// The method that returns the kept fields that are set.
fn kept_rows(fields: &[&Field]) -> String {
    let mut out = String::from(
        "\n    /// Returns the names and values of the kept fields that are not at their defaults.\n    \
         pub fn kept(&self) -> Vec<(&'static str, String)> {\n        let default = Self::default();\n        \
         let mut kept = Vec::new();\n",
    );
    for field in fields.iter().filter(|field| field.engine == "kept") {
        let name = &field.name;
        let form = if field.kind == "f64" { "{:.6}" } else { "{}" };
        out.push_str(&format!(
            "        if self.{name} != default.{name} {{ kept.push(({name:?}, format!(\"{form}\", self.{name}))); }}\n"
        ));
    }
    out.push_str("        kept\n    }\n");
    out
}

/// The objects whose translation to engine options is cached until a field changes.
const TRANSLATED: &[&str] = &["readoptions"];

/// Returns the code of the C objects that consist of fields only.
pub fn structs(tables: &Tables) -> String {
    let mut out = format!("//! C objects that consist of fields only.\n\n{NOTE}\nuse super::fields::*;\n");
    for object in tables.objects().keys() {
        if tables.is_generated(object) {
            out.push_str(&format!(
                "\n/// The C object `rocksdb_{object}_t`.\n#[derive(Clone, Default)]\npub struct rocksdb_{object}_t {{\n    pub fields: {},\n}}\n",
                struct_name(object)
            ));
        }
    }
    out
}

/// Returns the code of the constructors and destructors of the C objects, and of the setters and getters of
/// their fields.
pub fn objects(tables: &Tables) -> String {
    let mut out = format!(
        "//! Constructors and destructors of C objects, and setters and getters of their fields.\n\n{NOTE}\n"
    );
    out.push_str(
        "use std::ffi::{c_char, c_int};\n\nuse crate::ffi::*;\nuse crate::generated::structs::*;\n#[allow_types]\n",
    );
    let mut imports: Vec<String> = Vec::new();
    let mut wanted = |object: &str| {
        let name = format!("rocksdb_{object}_t");
        if tables.types.contains(&name) && !imports.contains(&name) {
            imports.push(name);
        }
    };
    let origins = tables.origins();
    for function in &tables.functions {
        if origins.get(function.name.as_str()) != Some(&Origin::Object) {
            continue;
        }
        let name = &function.name;
        if let Some(object) = tables.object_made(function) {
            out.push_str(&format!(
                "\napi!(fn {name}() -> *mut rocksdb_{object}_t {{ boxed(rocksdb_{object}_t::default()) }});\n"
            ));
        } else if let Some(object) = tables.object_freed(function) {
            wanted(object);
            out.push_str(&format!(
                "\napi!(fn {name}(object: *mut rocksdb_{object}_t) {{ free_box(object) }});\n"
            ));
        }
    }
    for field in &tables.fields {
        let (object, name) = (&field.object, &field.name);
        if let Some(setter) = field
            .setter
            .as_ref()
            .filter(|setter| !tables.written.contains(*setter))
        {
            wanted(object);
            let value = if field.kind == "flag" {
                "u8::from(value != 0)"
            } else {
                "value"
            };
            let changed = match TRANSLATED.contains(&object.as_str()) && field.engine != "kept" {
                true => "(*object).changed(); ",
                false => "",
            };
            out.push_str(&format!(
                "\napi!(fn {setter}(object: *mut rocksdb_{object}_t, value: {}) {{ {changed}(*object).fields.{name} = {value}; }});\n",
                rust_type(field)
            ));
        }
        if let Some((getter, form)) = field
            .getter
            .as_ref()
            .filter(|getter| !tables.written.contains(&getter.0))
        {
            wanted(object);
            let read = match form.as_str() {
                "borrowed" => format!(
                    "length: *mut usize) -> *const c_char {{ borrowed(&(*object).fields.{name}, length) }}"
                ),
                "copied" => format!(") -> *mut c_char {{ copied_string(&(*object).fields.{name}) }}"),
                "copied_sized" => {
                    format!(
                        "length: *mut usize) -> *mut c_char {{ copied(&(*object).fields.{name}, length) }}"
                    )
                }
                "flag" => format!(") -> u8 {{ u8::from((*object).fields.{name} != 0) }}"),
                "bool" => format!(") -> bool {{ u64::from((*object).fields.{name}) != 0 }}"),
                kind if kind == field.kind => format!(") -> {kind} {{ (*object).fields.{name} }}"),
                kind => format!(") -> {kind} {{ (*object).fields.{name} as {kind} }}"),
            };
            let comma = if read.starts_with(')') { "" } else { ", " };
            out.push_str(&format!(
                "\napi!(fn {getter}(object: *const rocksdb_{object}_t{comma}{read});\n"
            ));
        }
    }
    imports.sort();
    let uses = format!("use crate::objects::{{{}}};\n", imports.join(", "));
    out.replace("#[allow_types]\n", &uses)
}
