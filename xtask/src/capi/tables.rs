//! The tables of the C interface: functions, fields, origins, and the hand-written functions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A function of the interface.
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// The return type, as C writes it.
    pub returns: String,
    /// The parameters, as C writes them.
    pub parameters: Vec<Parameter>,
}

/// A parameter.
pub struct Parameter {
    /// The whole declaration.
    pub text: String,
    /// The type without a name; for a function pointer the whole declaration.
    pub kind: String,
}

/// A field of an object.
pub struct Field {
    /// The name of the object in C, without `rocksdb_` and `_t`.
    pub object: String,
    /// The field.
    pub name: String,
    /// The type in Rust, or `bytes`.
    pub kind: String,
    /// RocksDB's default.
    pub default: String,
    /// The treatment of the field: see the head of the table.
    pub engine: String,
    /// The C function that sets the field.
    pub setter: Option<String>,
    /// The C function that returns the field, and the form of its result.
    pub getter: Option<(String, String)>,
}

/// A function that RocksDB has removed, or that had other parameters.
pub struct Legacy {
    /// The last generation of the library that has the function: `7.8`.
    pub last: String,
    /// The function.
    pub function: Function,
}

/// The tables of the C interface, and the functions that hand-written modules define.
pub struct Tables {
    /// Functions, in the order of the header.
    pub functions: Vec<Function>,
    /// Functions of older generations.
    pub legacy: Vec<Legacy>,
    /// Fields, in the order of the header.
    pub fields: Vec<Field>,
    /// The hand-written functions.
    pub written: BTreeSet<String>,
    /// The hand-written functions that only store their arguments.
    pub kept: BTreeSet<String>,
    /// The hand-written types.
    pub types: BTreeSet<String>,
}

/// The origin of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The function is written by hand in a module of the crate.
    Written,
    /// The field is read by the engine or by a module of the crate.
    Field,
    /// A field that is kept and read back.
    Kept,
    /// The function creates or frees an object of fields.
    Object,
}

/// The modules whose functions only store their arguments and read them back.
const KEEPING: &[&str] = &["kept_options.rs", "transaction_timestamps.rs"];

impl Tables {
    pub fn read(root: &Path) -> Result<Tables, String> {
        let crate_dir = root.join("crates/capi");
        let functions = rows(&read(&crate_dir.join("functions.tsv"))?)
            .map(|row| function(&row).ok_or_else(|| format!("functions.tsv: {}", row.join(" "))))
            .collect::<Result<Vec<_>, _>>()?;
        let legacy = rows(&read(&crate_dir.join("legacy.tsv"))?)
            .map(|row| {
                let (last, rest) = row.split_first()?;
                let (last, function) = ((*last).to_owned(), function(rest)?);
                Some(Legacy { last, function })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or("legacy.tsv: a row of other columns")?;
        let optional = |text: &str| (text != "-").then(|| text.to_owned());
        let fields = rows(&read(&crate_dir.join("fields.tsv"))?)
            .map(|row| match &row[..] {
                [object, name, kind, default, engine, setter, getter, form] => Ok(Field {
                    object: (*object).to_owned(),
                    name: (*name).to_owned(),
                    kind: (*kind).to_owned(),
                    default: (*default).to_owned(),
                    engine: (*engine).to_owned(),
                    setter: optional(setter),
                    getter: optional(getter).map(|getter| (getter, (*form).to_owned())),
                }),
                _ => Err(format!("fields.tsv: {}", row.join(" "))),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (mut written, mut types) = (BTreeSet::new(), BTreeSet::new());
        scan(&crate_dir.join("src"), &mut written, &mut types)?;
        let mut kept = BTreeSet::new();
        for module in KEEPING {
            declared(
                &read(&crate_dir.join("src").join(module))?,
                &mut kept,
                &mut BTreeSet::new(),
            );
        }
        Ok(Tables {
            functions,
            legacy,
            fields,
            written,
            kept,
            types,
        })
    }

    /// Returns the fields by object.
    pub fn objects(&self) -> BTreeMap<&str, Vec<&Field>> {
        let mut objects: BTreeMap<&str, Vec<&Field>> = BTreeMap::new();
        for field in &self.fields {
            objects.entry(&field.object).or_default().push(field);
        }
        objects
    }

    /// True if the type of `object` consists only of its fields, so that the generator declares it.
    pub fn is_generated(&self, object: &str) -> bool {
        !self.types.contains(&format!("rocksdb_{object}_t"))
            && self.fields.iter().any(|field| field.object == object)
    }

    /// Returns each function's origin. A function that has none is in no list.
    pub fn origins(&self) -> BTreeMap<&str, Origin> {
        let mut by_field = BTreeMap::new();
        for field in &self.fields {
            let origin = if field.engine == "kept" {
                Origin::Kept
            } else {
                Origin::Field
            };
            let names = field
                .setter
                .iter()
                .chain(field.getter.iter().map(|getter| &getter.0));
            for name in names {
                by_field.insert(name.as_str(), origin);
            }
        }
        self.functions
            .iter()
            .filter_map(|function| {
                let name = function.name.as_str();
                let origin = if self.kept.contains(name) {
                    Origin::Kept
                } else if self.written.contains(name) {
                    Origin::Written
                } else if let Some(origin) = by_field.get(name) {
                    *origin
                } else if self.object_made(function).is_some() || self.object_freed(function).is_some() {
                    Origin::Object
                } else {
                    return None;
                };
                Some((name, origin))
            })
            .collect()
    }

    /// An error that names the functions of the header that the crate does not have.
    pub fn check_complete(&self) -> Result<(), String> {
        let origins = self.origins();
        let names = self.functions.iter().map(|function| function.name.as_str());
        let absent: Vec<&str> = names.filter(|name| !origins.contains_key(name)).collect();
        match absent.is_empty() {
            true => Ok(()),
            false => Err(format!("crates/capi has no {}", absent.join(", "))),
        }
    }

    /// Returns the object that a constructor without parameters creates.
    pub fn object_made<'a>(&self, function: &'a Function) -> Option<&'a str> {
        let object = object(&function.returns)?;
        (function.name.ends_with("_create") && function.parameters.is_empty() && self.is_generated(object))
            .then_some(object)
    }

    /// Returns the object that a destructor frees.
    pub fn object_freed<'a>(&self, function: &'a Function) -> Option<&'a str> {
        let [parameter] = &function.parameters[..] else {
            return None;
        };
        let object = object(&parameter.kind)?;
        let is_known = self.is_generated(object) || self.types.contains(&format!("rocksdb_{object}_t"));
        (function.name.ends_with("_destroy") && function.returns == "void" && is_known).then_some(object)
    }
}

/// Returns `options` for `const rocksdb_options_t*`.
pub fn object(kind: &str) -> Option<&str> {
    kind.strip_prefix("const ")
        .unwrap_or(kind)
        .strip_prefix("rocksdb_")?
        .strip_suffix("_t*")
}

/// Parses a row of name, result and parameters.
fn function(row: &[&str]) -> Option<Function> {
    let [name, returns, parameters] = row else {
        return None;
    };
    Some(Function {
        name: (*name).to_owned(),
        returns: (*returns).to_owned(),
        parameters: parameters_of(parameters),
    })
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
}

/// Collects the functions and types that the modules of `dir` declare, except generated ones.
fn scan(dir: &Path, written: &mut BTreeSet<String>, types: &mut BTreeSet<String>) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.ends_with("generated") || path.ends_with("generated_functions.rs") {
            continue;
        }
        if path.is_dir() {
            scan(&path, written, types)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            declared(&read(&path)?, written, types);
        }
    }
    Ok(())
}

/// Collects the functions and types that a module's `text` declares.
fn declared(text: &str, written: &mut BTreeSet<String>, types: &mut BTreeSet<String>) {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut before = "";
    for word in words.filter(|word| !word.is_empty()) {
        if word.starts_with("rocksdb_") {
            match before {
                "fn" => {
                    written.insert(word.to_owned());
                }
                "struct" | "type" => {
                    types.insert(word.to_owned());
                }
                _ => {}
            }
        }
        before = word;
    }
}

/// Returns the parameters of a list of declarations, which are separated by the commas outside of
/// parentheses.
fn parameters_of(text: &str) -> Vec<Parameter> {
    if text == "void" {
        return Vec::new();
    }
    let mut depth = 0usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(|part| parameter(part.trim()))
    .collect()
}

fn parameter(text: &str) -> Parameter {
    let whole = |kind: &str| Parameter {
        text: text.to_owned(),
        kind: kind.to_owned(),
    };
    if text.contains('(') {
        return whole(text);
    }
    let (base, is_array) = match text.strip_suffix("[]") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let at = base
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let (kind, name) = base.split_at(at);
    let is_type = name.ends_with("_t") || ["char", "int", "double", "void", "bool"].contains(&name);
    let kind = if is_type || kind.is_empty() { base } else { kind };
    let mut kind = kind.trim().replace(" *", "*");
    if is_array {
        kind.push('*');
    }
    whole(&kind)
}

pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_apart() {
        let list =
            "rocksdb_t* db, const char* const* keys, void (*put)(void*, int), unsigned char, size_t sizes[]";
        let parameters = parameters_of(list);
        let found: Vec<&str> = parameters.iter().map(|parameter| &*parameter.kind).collect();
        let expected = [
            "rocksdb_t*",
            "const char* const*",
            "void (*put)(void*, int)",
            "unsigned char",
            "size_t*",
        ];
        assert_eq!(found, expected);
        assert_eq!(object("const rocksdb_options_t*"), Some("options"));
    }
}
