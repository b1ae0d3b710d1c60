//! The text forms of options: property strings, OPTIONS files (`org.rocksdb.OptionsUtil`), and the options of
//! an open database.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use base::UserComparator;
use esker::option_table::OptionTable;
use esker::option_text::{in_braces, pairs, value_names};
use esker::{BlockBasedOptions, ColumnFamilyOptions, Error, Options, OptionsFile};
use jni_sys::{jlong, jobject, jvalue};
use vfs::{FileSystem, OpenOptions};

use crate::env::{Env, JObject, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::generated::options::{CF, DB};
use crate::handles;
use crate::objects::{Family, database};
use crate::settings::Table;
use crate::settings::{Field, Inner, Settings, Value};

/// RocksJava's number of a compression option that is not set.
const DISABLED_COMPRESSION: i64 = 127;

fn invalid(name: &str, text: &str) -> Error {
    Error::invalid_argument(format!("Error parsing: {name}={text}"))
}

/// Parses the value of a field.
fn value(field: &Field, text: &str) -> esker::Result<Value> {
    let names = value_names(field.name).unwrap_or_default();
    if let Some(number) = names.iter().position(|name| *name == text) {
        return Ok(Value::Int(number as i64));
    }
    if field.default.is_empty() {
        return Ok(Value::Text(text.to_owned()));
    }
    Ok(
        match (
            text,
            text.parse::<i64>(),
            text.parse::<u64>(),
            text.parse::<f64>(),
        ) {
            ("true", ..) => Value::Int(1),
            ("false", ..) => Value::Int(0),
            ("kDisableCompressionOption", ..) => Value::Int(DISABLED_COMPRESSION),
            (_, Ok(number), ..) => Value::Int(number),
            (_, _, Ok(number), _) => Value::Int(number as i64),
            (_, _, _, Ok(number)) => Value::Float(number),
            _ => return Err(invalid(field.name, text)),
        },
    )
}

/// Sets an option of `fields` by RocksDB's name. Returns false if they have no such option.
fn set(inner: &mut Inner, fields: &'static [Field], name: &str, text: &str) -> esker::Result<bool> {
    // The comparison ignores case, because RocksDB writes two of the names with capitals.
    let Some(field) = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)) else {
        return Ok(false);
    };
    inner.set(field.name, value(field, text)?);
    Ok(true)
}

/// Sets an option of a database by RocksDB's name. Returns false if there is no such option.
fn set_of_db(inner: &mut Inner, name: &str, text: &str) -> esker::Result<bool> {
    if name != "file_checksum_gen_factory" {
        return set(inner, &DB, name, text);
    }
    let mut options = Options::default();
    options.set(name, text)?;
    inner.parts.file_checksum = Some(options.file_checksum_gen_factory);
    Ok(true)
}

/// Sets an option of a family by RocksDB's name, including those that are objects. Returns false if there is
/// no such option.
fn set_of_family(inner: &mut Inner, name: &str, text: &str) -> esker::Result<bool> {
    let parts = &mut inner.parts;
    match name {
        "comparator" => parts.comparator = UserComparator::builtin(text),
        "merge_operator" => parts.merge_operator = base::merge::builtin(in_braces(text)),
        "prefix_extractor" => parts.prefix_extractor = base::prefix::builtin(text),
        "block_based_table_factory" | "table_factory" if text.starts_with('{') => {
            let mut table = table_of(inner);
            for (name, text) in pairs(in_braces(text))? {
                table.set(name, text)?;
            }
            set_table(inner, table);
        }
        "compaction_options_universal" | "compaction_options_fifo" => {
            let (object, fields) = match name {
                "compaction_options_fifo" => (&mut parts.fifo, &crate::generated::options::FIFO[..]),
                _ => (&mut parts.universal, &crate::generated::options::UNIVERSAL[..]),
            };
            for (name, text) in pairs(in_braces(text))? {
                let field = fields.iter().find(|field| field.name == name);
                // The number of a compaction style, and fields without a method in RocksJava, are not read
                // back from the text.
                if let Some((field, value)) = field.and_then(|field| Some((field, value(field, text).ok()?)))
                {
                    object.get_or_insert_default().set(field.name, value);
                }
            }
        }
        "compression_per_level" => {
            let levels = text.split(':').filter(|part| !part.is_empty());
            let names = value_names("compression").unwrap_or_default();
            let number = |text: &str| names.iter().position(|name| *name == text).unwrap_or(0) as i8;
            parts.compression_per_level = levels.map(number).collect();
        }
        _ => return set(inner, &CF, name, text),
    }
    Ok(true)
}

fn table_of(inner: &Inner) -> BlockBasedOptions {
    let given = inner.parts.table.as_ref().and_then(|table| table.options.clone());
    given.unwrap_or_else(|| BlockBasedOptions {
        format_version: crate::release::format_version(),
        ..BlockBasedOptions::default()
    })
}

fn set_table(inner: &mut Inner, table: BlockBasedOptions) {
    inner.parts.table = Some(Table::block_based(table));
}

// ---- Property strings. A string that does not fit becomes the handle 0, which Java turns into null.

fn of_properties(
    text: &str,
    ignore_unknown: bool,
    set: impl Fn(&mut Inner, &str, &str) -> esker::Result<bool>,
) -> esker::Result<Inner> {
    let mut inner = Inner::default();
    for (name, text) in pairs(text)? {
        if !set(&mut inner, name, text)? && !ignore_unknown {
            return Err(invalid(name, text));
        }
    }
    Ok(inner)
}

fn ignores_unknown(config: jlong) -> Result<bool> {
    Ok(handles::get::<Settings>(config)?.look(|inner| inner.flag("ignore_unknown_options", false)))
}

fn db_of_properties(env: &Env<'_>, text: JString, ignore_unknown: bool) -> Result<jlong> {
    let inner = of_properties(&env.string(text)?, ignore_unknown, set_of_db);
    Ok(inner.map_or(0, |inner| handles::insert(Settings::of(inner))))
}

fn family_of_properties(env: &Env<'_>, text: JString, ignore_unknown: bool) -> Result<jlong> {
    let inner = of_properties(&env.string(text)?, ignore_unknown, set_of_family);
    Ok(inner.map_or(0, |inner| handles::insert(Settings::of(inner))))
}

native!("DBOptions_getDBOptionsFromProps" "Ljava_lang_String_2" fn(env, text: JString) -> i64 {
    db_of_properties(&env, text, false)
});

native!("DBOptions_getDBOptionsFromProps" "JLjava_lang_String_2" fn(env, config: i64, text: JString) -> i64 {
    db_of_properties(&env, text, ignores_unknown(config)?)
});

native!("ColumnFamilyOptions_getColumnFamilyOptionsFromProps" "Ljava_lang_String_2" fn(env, text: JString) -> i64 {
    family_of_properties(&env, text, false)
});

native!("ColumnFamilyOptions_getColumnFamilyOptionsFromProps" "JLjava_lang_String_2" fn(
    env, config: i64, text: JString
) -> i64 {
    family_of_properties(&env, text, ignores_unknown(config)?)
});

// ---- An open database.

/// Returns every option with its value. A number beyond the range of Java's `long` becomes the negative
/// number with the same bits.
fn text_of<S: OptionTable>(options: &S) -> String {
    let mut text = String::new();
    for row in S::rows() {
        let value = (row.get)(options);
        let _ = match value.parse::<u64>() {
            Ok(number) => write!(text, "{}={};", row.name, number as i64),
            Err(_) => write!(text, "{}={value};", row.name),
        };
    }
    text
}

native!("RocksDB_getDBOptions" "J" fn(env, db: i64) -> JString {
    env.new_string(&text_of::<Options>(&database(db)?.db.current_options()))
});

native!("RocksDB_getOptions" "JJ" fn(env, db: i64, family: i64) -> JString {
    let db = database(db)?;
    let options = Family::of(family)?.in_db(&db).current_options();
    env.new_string(&text_of::<ColumnFamilyOptions>(&options))
});

// ---- OPTIONS files.

/// Returns the file system of a `ConfigOptions`.
fn file_system(config: jlong) -> Result<Arc<dyn FileSystem>> {
    let env = handles::get::<Settings>(config)?.look(|inner| inner.parts.env.clone());
    let given = env.and_then(|env| env.file_system());
    Ok(given.unwrap_or_else(|| Options::default().fs))
}

/// Reads the database's options into the object of a handle, and adds a descriptor of each family to a list.
fn load(env: &Env<'_>, file: &OptionsFile, options: jlong, families: jobject) -> Result<()> {
    crate::release::probe(env);
    let mut db = Inner::default();
    for (title, _, name, text) in file.entries() {
        if title == "DBOptions" {
            // Options that RocksJava has no fields for, those of other releases and of Esker, are skipped.
            set_of_db(&mut db, name, text)?;
        }
    }
    handles::get::<Settings>(options)?.change(|inner| inner.join(db));
    for family in file.families() {
        let mut inner = Inner::default();
        let mut table = table_of(&inner);
        for (title, of, name, text) in file.entries() {
            match title {
                "CFOptions" if of == Some(family) => {
                    set_of_family(&mut inner, name, text)?;
                }
                "TableOptions/BlockBasedTable"
                    if of == Some(family) && BlockBasedOptions::row(name).is_some() =>
                {
                    table.set(name, text)?;
                }
                _ => {}
            }
        }
        set_table(&mut inner, table);
        let name = env.byte_array(family.as_bytes())?;
        let handle = handles::insert(Settings::of(inner));
        let options = env.object("org/rocksdb/ColumnFamilyOptions", "(J)V", &[jvalue { j: handle }])?;
        let arguments = [jvalue { l: name.0 }, jvalue { l: options }];
        let signature = "([BLorg/rocksdb/ColumnFamilyOptions;)V";
        let descriptor = env.object("org/rocksdb/ColumnFamilyDescriptor", signature, &arguments)?;
        env.list_add(families, descriptor)?;
        [name.0, options, descriptor]
            .into_iter()
            .for_each(|object| env.forget(object));
    }
    Ok(())
}

fn newest(fs: &dyn FileSystem, dir: &str) -> Result<(String, OptionsFile)> {
    let found = OptionsFile::newest(fs, Path::new(dir))?;
    let (path, file) = found.ok_or_else(|| {
        Error::new(
            esker::ErrorKind::NotFound,
            format!("No options files found in the DB directory {dir}"),
        )
    })?;
    let name = path.file_name().map(|name| name.display().to_string());
    Ok((name.unwrap_or_default(), file))
}

native!("OptionsUtil_getLatestOptionsFileName" "Ljava_lang_String_2J" fn(env, dir: JString, environment: i64) -> JString {
    let environment = handles::get::<crate::environment::Environment>(environment)?;
    let fs = environment.file_system().unwrap_or_else(|| Options::default().fs);
    env.new_string(&newest(&*fs, &env.string(dir)?)?.0)
});

native!("OptionsUtil_loadLatestOptions" "JLjava_lang_String_2JLjava_util_List_2" fn(
    env, config: i64, dir: JString, options: i64, families: JObject
) {
    let (_, file) = newest(&*file_system(config)?, &env.string(dir)?)?;
    load(&env, &file, options, families.0)
});

native!("OptionsUtil_loadOptionsFromFile" "JLjava_lang_String_2JLjava_util_List_2" fn(
    env, config: i64, path: JString, options: i64, families: JObject
) {
    let path = env.string(path)?;
    let path = Path::new(&path);
    let file = file_system(config)?.open_random(path, &OpenOptions::default())?;
    let length = usize::try_from(file.len()).map_err(|_| Fail::argument("the file is too long"))?;
    let mut bytes = vec![0; length];
    file.read_exact_at(0, &mut bytes)?;
    let parsed = OptionsFile::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| error.in_file(path))?;
    load(&env, &parsed, options, families.0)
});

native!("OptionsUtil_readTableFormatConfig" "J" fn(env, options: i64) -> JObject {
    let table = handles::get::<Settings>(options)?.look(|inner| inner.parts.table.clone());
    match table.and_then(|table| table.options) {
        Some(table) => crate::table::config(&env, &table).map(JObject),
        None => Ok(JObject(std::ptr::null_mut())),
    }
});
