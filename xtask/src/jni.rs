//! The tables of the library for RocksJava: `crates/jni/natives.tsv` has every native method of its releases,
//! `crates/jni/options.tsv` the settings of its option classes. From them the functions of settings, those
//! that end an object, those that are not implemented and the list in `docs/jvm_methods.md` are generated.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A native method.
struct Native {
    class: String,
    name: String,
    descriptor: String,
    throws: bool,
}

impl Native {
    /// Returns the class and the name, mangled.
    fn short(&self) -> String {
        mangled(&format!("{}.{}", self.class, self.name))
    }

    /// Returns the symbol, without the common prefix.
    fn symbol(&self) -> String {
        format!("{}__{}", self.short(), self.arguments())
    }

    /// Returns the types of the arguments, mangled.
    fn arguments(&self) -> String {
        let inside = self
            .descriptor
            .trim_start_matches('(')
            .split(')')
            .next()
            .unwrap_or("");
        mangled(inside)
    }

    /// Returns the return type.
    fn returns(&self) -> &str {
        self.descriptor.split(')').nth(1).unwrap_or("V")
    }
}

/// A setting.
struct Setting {
    object: String,
    field: String,
    default: String,
    used: String,
    setters: Vec<String>,
    getters: Vec<String>,
}

/// Returns every generated file with its text.
pub fn files(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let home = root.join("crates/jni");
    let natives = natives(&home)?;
    let settings = settings(&home)?;
    let written = written(&home.join("src"))?;
    let (options, by_setting) = options(&settings, &natives, &written)?;
    let stubs = stubs(&natives, &written, &by_setting);
    let throws = throws(&natives);
    let generated = home.join("src/generated");
    Ok(vec![
        (generated.join("options.rs"), options),
        (generated.join("stubs.rs"), stubs.text),
        (generated.join("throws.rs"), throws),
        (
            root.join("docs/jvm_methods.md"),
            document(&natives, &stubs.absent),
        ),
    ])
}

/// Returns the symbols of all native methods, as the JVM looks for them.
pub fn exports(root: &Path) -> Result<Vec<String>, String> {
    let natives = natives(&root.join("crates/jni"))?;
    Ok(natives
        .iter()
        .map(|native| format!("Java_org_rocksdb_{}", native.symbol()))
        .collect())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
}

fn natives(home: &Path) -> Result<Vec<Native>, String> {
    rows(&read(&home.join("natives.tsv"))?)
        .map(|row| match &row[..] {
            [class, name, descriptor, throws, _releases] => Ok(Native {
                class: (*class).to_owned(),
                name: (*name).to_owned(),
                descriptor: (*descriptor).to_owned(),
                throws: *throws == "throws",
            }),
            _ => Err(format!("natives.tsv: {}", row.join(" "))),
        })
        .collect()
}

fn settings(home: &Path) -> Result<Vec<Setting>, String> {
    let names = |text: &str| {
        text.split(',')
            .filter(|name| *name != "-")
            .map(str::to_owned)
            .collect()
    };
    rows(&read(&home.join("options.tsv"))?)
        .map(|row| match &row[..] {
            [object, field, default, used, setters, getters] => Ok(Setting {
                object: (*object).to_owned(),
                field: (*field).to_owned(),
                default: (*default).to_owned(),
                used: (*used).to_owned(),
                setters: names(setters),
                getters: names(getters),
            }),
            _ => Err(format!("options.tsv: {}", row.join(" "))),
        })
        .collect()
}

/// Returns a name of Java in the form of symbols.
fn mangled(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '.' | '/' => out.push('_'),
            '_' => out.push_str("_1"),
            ';' => out.push_str("_2"),
            '[' => out.push_str("_3"),
            c if c.is_ascii_alphanumeric() => out.push(c),
            c => {
                let _ = write!(out, "_{:05x}", c as u32);
            }
        }
    }
    out
}

/// Returns the symbols that modules declare by `native!`, in either spelling.
fn written(dir: &Path) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            if !path.ends_with("generated") {
                found.append(&mut written(&path)?);
            }
            continue;
        }
        for (name, arguments) in declared(&read(&path)?) {
            found.insert(format!("{name}__{arguments}"));
            found.insert(format!("{name}Jni__{arguments}"));
        }
    }
    Ok(found)
}

/// Returns the names and signatures of the methods that a module declares: by `native!`, by `natives!` for
/// several classes, and by its own macros, whose arguments are names.
fn declared(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.to_owned();
    for definition in text.split("macro_rules! ").skip(1) {
        let (name, body) = definition.split_once(' ').unwrap_or((definition, ""));
        let body = body.split("\n}\n").next().unwrap_or(body);
        rest = rest.replace(&format!("macro_rules! {name} {body}"), "");
        let (pattern, body) = body.split_once("=>").unwrap_or((body, ""));
        let variables: Vec<&str> = pattern
            .split('$')
            .filter_map(|part| part.split_once(":literal").map(|(name, _)| name))
            .collect();
        let methods: Vec<(&str, &str)> = body
            .split("native!(")
            .skip(1)
            .filter_map(|method| {
                let mut words = method.split_whitespace();
                Some((words.next()?.trim_end_matches(','), words.next()?))
            })
            .collect();
        for call in text.split(&format!("{name}!(")).skip(1) {
            let given: Vec<&str> = quoted(call.split(");").next().unwrap_or(call)).collect();
            let value = |word: &str| match word.strip_prefix('$') {
                Some(variable) => {
                    let at = variables.iter().position(|name| *name == variable)?;
                    given.get(at).map(|text| (*text).to_owned())
                }
                None => Some(word.trim_matches('"').to_owned()),
            };
            found.extend(
                methods
                    .iter()
                    .filter_map(|(name, arguments)| Some((value(name)?, value(arguments)?))),
            );
        }
    }
    for method in rest.split("native!(").skip(1) {
        let mut words = quoted(method);
        if let (Some(name), Some(arguments)) = (words.next(), words.next()) {
            found.push((name.to_owned(), arguments.to_owned()));
        }
    }
    for method in rest.split("natives!(").skip(1) {
        let (names, body) = method.split_once(';').unwrap_or((method, ""));
        let arguments = quoted(body).next().unwrap_or("");
        found.extend(quoted(names).map(|name| (name.to_owned(), arguments.to_owned())));
    }
    found
}

/// Returns the texts in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// Returns the classes of an object of settings.
fn classes(object: &str) -> Option<&'static [&'static str]> {
    Some(match object {
        "db" => &["DBOptions", "Options"],
        "cf" => &["ColumnFamilyOptions", "Options"],
        "read" => &["ReadOptions"],
        "write" => &["WriteOptions"],
        "flush" => &["FlushOptions"],
        "compact_range" => &["CompactRangeOptions"],
        "compact_files" => &["CompactionOptions"],
        "universal" => &["CompactionOptionsUniversal"],
        "fifo" => &["CompactionOptionsFIFO"],
        "compression" => &["CompressionOptions"],
        "ingest" => &["IngestExternalFileOptions"],
        "import" => &["ImportColumnFamilyOptions"],
        "env" => &["EnvOptions"],
        "backup" => &["BackupEngineOptions"],
        "txn" => &["TransactionOptions"],
        "txn_db" => &["TransactionDBOptions"],
        "optimistic" => &["OptimisticTransactionOptions"],
        "comparator" => &["ComparatorOptions"],
        "config" => &["ConfigOptions"],
        _ => return None,
    })
}

/// Returns the Rust type of a type in a descriptor, for the types of settings.
fn scalar(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Z" => "bool",
        "B" => "i8",
        "I" => "i32",
        "J" => "i64",
        "D" => "f64",
        "Ljava/lang/String;" => "JString",
        _ => return None,
    })
}

const HEAD: &str = "// Written by `cargo xtask gen` from crates/jni/natives.tsv and crates/jni/options.tsv; do not edit.\n\n";

/// Returns the fields of settings and their functions, and the symbols of these functions.
fn options(
    settings: &[Setting],
    natives: &[Native],
    written: &BTreeSet<String>,
) -> Result<(String, BTreeSet<String>), String> {
    let mut out = format!(
        "//! Settings of RocksJava's option classes.\n\n{HEAD}use crate::env::JString;\nuse crate::settings::{{Field, Use, setting}};\n"
    );
    let mut functions = String::new();
    let mut symbols = BTreeSet::new();
    let mut objects: BTreeMap<&str, Vec<&Setting>> = BTreeMap::new();
    for setting in settings {
        objects.entry(&setting.object).or_default().push(setting);
    }
    for (object, fields) in objects {
        let table = object.to_uppercase();
        let classes = classes(object).ok_or_else(|| format!("options.tsv: no object {object}"))?;
        let _ = write!(
            out,
            "\n/// Fields of `{}`.\npub static {table}: [Field; {}] = [\n",
            classes[0],
            fields.len()
        );
        for (at, setting) in fields.iter().enumerate() {
            let used = match setting.used.as_str() {
                "row" => "Row",
                "later" => "Later",
                "hand" => "Hand",
                "kept" => "Kept",
                other => return Err(format!("options.tsv: {other} of {}", setting.field)),
            };
            let _ = writeln!(
                out,
                "    Field {{ name: {:?}, default: {:?}, used: Use::{used} }},",
                setting.field, setting.default
            );
            for native in natives
                .iter()
                .filter(|native| classes.contains(&native.class.as_str()))
            {
                let symbol = native.symbol();
                let arguments = native
                    .descriptor
                    .trim_start_matches("(J")
                    .split(')')
                    .next()
                    .unwrap_or("");
                let setter = scalar(arguments)
                    .filter(|_| native.returns() == "V" && setting.setters.contains(&native.name));
                let getter = scalar(native.returns())
                    .filter(|_| arguments.is_empty() && setting.getters.contains(&native.name));
                let (verb, kind) = match (setter, getter) {
                    (Some(kind), _) => ("set", kind),
                    (None, Some(kind)) => ("get", kind),
                    (None, None) => continue,
                };
                if written.contains(&symbol) || !symbols.insert(symbol.clone()) {
                    continue;
                }
                let _ = writeln!(functions, "setting!({verb} {symbol:?} {kind}, &{table}[{at}]);");
            }
        }
        out.push_str("];\n");
    }
    out.push('\n');
    out.push_str(&functions);
    Ok((out, symbols))
}

/// The text of `stubs.rs`, and the methods that are not implemented.
struct Stubs {
    text: String,
    absent: Vec<String>,
}

fn stubs(natives: &[Native], written: &BTreeSet<String>, by_setting: &BTreeSet<String>) -> Stubs {
    let (mut disposals, mut absent, mut names) = (String::new(), String::new(), Vec::new());
    for native in natives {
        let symbol = native.symbol();
        if written.contains(&symbol) || by_setting.contains(&symbol) {
            continue;
        }
        if native.name.starts_with("disposeInternal") && native.descriptor == "(J)V" {
            let _ = writeln!(disposals, "    {symbol:?}");
            continue;
        }
        let name = format!("{}.{}", native.class, native.name);
        let _ = writeln!(absent, "    {symbol:?} {name:?}");
        names.push(symbol);
    }
    let text = format!(
        "//! Functions that end an object, and those that are not implemented.\n\n{HEAD}use crate::stubs::{{absent, dispose}};\n\ndispose! {{\n{disposals}}}\n\nabsent! {{\n{absent}}}\n"
    );
    Stubs { text, absent: names }
}

fn throws(natives: &[Native]) -> String {
    let names: BTreeSet<String> = natives
        .iter()
        .filter(|native| native.throws)
        .map(|native| native.short())
        .collect();
    let mut out = format!(
        "//! Methods that declare `RocksDBException`.\n\n{HEAD}/// True if the method, by its mangled class and name in either spelling, declares the exception.\npub fn declares(method: &str) -> bool {{\n    let method = method.split(\"__\").next().unwrap_or(method);\n    let plain = method.strip_suffix(\"Jni\").unwrap_or(method);\n    let marked = format!(\"{{plain}}Jni\");\n    DECLARE.binary_search(&plain).is_ok() || DECLARE.binary_search(&marked.as_str()).is_ok()\n}}\n\nstatic DECLARE: &[&str] = &[\n"
    );
    for name in names {
        let _ = writeln!(out, "    {name:?},");
    }
    out.push_str("];\n");
    out
}

/// Returns the list of methods by class, for the documentation.
fn document(natives: &[Native], absent: &[String]) -> String {
    let absent: BTreeSet<&String> = absent.iter().collect();
    let mut classes: BTreeMap<&str, (usize, usize, BTreeSet<&str>)> = BTreeMap::new();
    for native in natives {
        let entry = classes.entry(&native.class).or_default();
        entry.0 += 1;
        if absent.contains(&native.symbol()) {
            entry.1 += 1;
            entry.2.insert(&native.name);
        }
    }
    let there = natives.len() - absent.len();
    let mut out = format!(
        "# Native methods of org.rocksdb\n\nWritten by `cargo xtask gen`. The library has {there} of the {} native methods that rocksdbjni 8.11 to 11.8 and frocksdbjni 8.10 have between them. Each other one throws `UnsupportedOperationException` with its name.\n\n| class | methods | there | not there |\n|---|---|---|---|\n",
        natives.len()
    );
    for (class, (all, missing, names)) in classes {
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            out,
            "| `{class}` | {all} | {} | {} |",
            all - missing,
            names.join(" ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_in_each_form() {
        let text = concat!(
            "native!(\"A_b\" \"J_3B\" fn(env) {});\n",
            "natives!(\"A_c\" \"B_c\"; { \"\" fn(env) {} });\n",
            "macro_rules! pair {\n    ($one:literal, $two:literal) => {\n        native!($two \"JI\" fn(env) {});\n    };\n}\n",
            "pair!(\"A_d\", \"A_e\");\n"
        );
        let found: Vec<String> = declared(text)
            .into_iter()
            .map(|(name, arguments)| format!("{name}__{arguments}"))
            .collect();
        assert_eq!(found, ["A_e__JI", "A_b__J_3B", "A_c__", "B_c__"]);
    }

    #[test]
    fn symbols_are_those_of_the_jvm() {
        let native = Native {
            class: "WriteBatch$Handler".to_owned(),
            name: "put_it".to_owned(),
            descriptor: "(J[BLjava/lang/String;[[J)V".to_owned(),
            throws: false,
        };
        assert_eq!(
            native.symbol(),
            "WriteBatch_00024Handler_put_1it__J_3BLjava_lang_String_2_3_3J"
        );
        assert_eq!(native.returns(), "V");
    }
}
