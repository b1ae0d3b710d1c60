//! Options from text: an OPTIONS file, or a string.

use std::ffi::{c_char, c_int};

use esker::option_text::{in_braces, pairs, value_names};
use esker::{Error, OptionsFile, Result};

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::cache::rocksdb_cache_t;
use crate::env::rocksdb_env_t;
use crate::ffi::*;
use crate::options::{TableFactory, rocksdb_options_t};

/// Returns the number of `text` in the option's enum, or the text itself if the option is not an enum.
fn as_number(option: &str, text: &str) -> String {
    let temperatures = [
        ("kUnknown", 0),
        ("kHot", 4),
        ("kWarm", 8),
        ("kCool", 10),
        ("kCold", 12),
        ("kIce", 16),
    ];
    if option.ends_with("temperature")
        && let Some((_, number)) = temperatures.iter().find(|(name, _)| *name == text)
    {
        return number.to_string();
    }
    if text == "kDisableCompressionOption" {
        return "255".to_owned();
    }
    let number = value_names(option).and_then(|names| names.iter().position(|name| *name == text));
    number.map_or_else(|| text.to_owned(), |number| number.to_string())
}

fn wrong(name: &str, text: &str) -> Error {
    Error::invalid_argument(format!("Error parsing: {name}={text}"))
}

impl rocksdb_block_based_table_options_t {
    /// Sets an option by RocksDB's name. Returns false if there is no such option.
    fn set(&mut self, name: &str, text: &str) -> bool {
        if name == "filter_policy" {
            use esker::option_table::OptionTable;
            let mut table = esker::BlockBasedOptions::default();
            if table.set(name, text).is_ok() {
                self.filter_policy = table.filter_policy;
            }
            return true;
        }
        self.fields.set(name, &as_number(name, text)).is_some()
    }
}

impl rocksdb_options_t {
    /// Sets an option of the database or the family by RocksDB's name. Returns false if there is no such
    /// option.
    fn set(&mut self, name: &str, text: &str) -> Result<bool> {
        match name {
            "comparator" => {
                self.builtin_comparator = esker::UserComparator::builtin(text);
            }
            "merge_operator" => self.merge_operator = base::merge::builtin(in_braces(text)),
            "prefix_extractor" => self.prefix_extractor = base::prefix::builtin(text),
            "wal_dir" => self.wal_dir = text.to_owned(),
            "db_log_dir" => self.db_log_dir = text.to_owned(),
            "block_based_table_factory" | "table_factory" if text.starts_with('{') => {
                let mut table = match &self.table {
                    TableFactory::BlockBased(table) => table.clone(),
                    _ => rocksdb_block_based_table_options_t::default(),
                };
                for (name, text) in pairs(in_braces(text))? {
                    if !table.set(name, text) {
                        return Err(wrong(name, text));
                    }
                }
                self.table = TableFactory::BlockBased(table);
            }
            "compression_per_level" => {
                let levels = text.split(':').filter(|part| !part.is_empty());
                self.compression_per_level = levels
                    .map(|text| as_number("compression", text).parse().unwrap_or(0))
                    .collect();
            }
            "compression_opts" | "bottommost_compression_opts" => self.set_compression(name, text)?,
            "compaction_options_universal" => {
                for (name, text) in pairs(in_braces(text))? {
                    self.universal.set(name, &as_number(name, text));
                }
            }
            "compaction_options_fifo" => {
                for (name, text) in pairs(in_braces(text))? {
                    self.fifo.set(name, &as_number(name, text));
                }
            }
            _ => return Ok(self.fields.set(name, &as_number(name, text)).is_some()),
        }
        Ok(true)
    }

    fn set_compression(&mut self, name: &str, text: &str) -> Result<()> {
        let fields = match name {
            "compression_opts" => &mut self.compression,
            _ => &mut self.bottommost_compression,
        };
        let named = ["window_bits", "level", "strategy", "max_dict_bytes"];
        let list: Vec<(&str, &str)> = match text.contains('=') {
            true => pairs(in_braces(text))?,
            false => named.into_iter().zip(text.split(':')).collect(),
        };
        for (name, text) in list {
            let Ok(number) = text.parse::<c_int>() else {
                continue;
            };
            match name {
                "window_bits" => fields.window_bits = number,
                "level" => fields.level = number,
                "strategy" => fields.strategy = number,
                "max_dict_bytes" => fields.max_dict_bytes = number,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the options in an OPTIONS file: those of the database, and of each family.
fn of_file(file: &OptionsFile, env: &rocksdb_env_t, cache: Option<&rocksdb_cache_t>) -> Result<Loaded> {
    let mut base = rocksdb_options_t {
        env: env.clone(),
        ..rocksdb_options_t::default()
    };
    let mut families: Vec<(String, rocksdb_options_t)> = Vec::new();
    for (title, family, name, text) in file.entries() {
        match (title, family) {
            ("DBOptions", _) => drop(base.set(name, text)?),
            ("CFOptions", Some(family)) => {
                let at = position(&mut families, family, env, cache);
                families[at].1.set(name, text)?;
            }
            ("TableOptions/BlockBasedTable", Some(family)) => {
                let at = position(&mut families, family, env, cache);
                if let TableFactory::BlockBased(table) = &mut families[at].1.table {
                    table.set(name, text);
                }
            }
            _ => {}
        }
    }
    Ok(Loaded { base, families })
}

/// The loaded options.
struct Loaded {
    base: rocksdb_options_t,
    families: Vec<(String, rocksdb_options_t)>,
}

fn position(
    families: &mut Vec<(String, rocksdb_options_t)>,
    name: &str,
    env: &rocksdb_env_t,
    cache: Option<&rocksdb_cache_t>,
) -> usize {
    if let Some(at) = families.iter().position(|(family, _)| family == name) {
        return at;
    }
    let table = rocksdb_block_based_table_options_t {
        block_cache: cache.cloned(),
        ..Default::default()
    };
    let options = rocksdb_options_t {
        env: env.clone(),
        table: TableFactory::BlockBased(table),
        ..rocksdb_options_t::default()
    };
    families.push((name.to_owned(), options));
    families.len() - 1
}

api!(
    fn rocksdb_load_latest_options(
        dir: *const c_char,
        env: *mut rocksdb_env_t,
        _ignore_unknown: bool,
        cache: *mut rocksdb_cache_t,
        options: *mut *mut rocksdb_options_t,
        count: *mut usize,
        names: *mut *mut *mut c_char,
        family_options: *mut *mut *mut rocksdb_options_t,
        errptr: *mut *mut c_char,
    ) {
        put_out(options, std::ptr::null_mut());
        put_out(count, 0);
        put_out(names, std::ptr::null_mut());
        put_out(family_options, std::ptr::null_mut());
        fallible(errptr, || {
            let (dir, env) = (path(dir), env.as_ref().cloned().unwrap_or_default());
            let (_, file) = OptionsFile::newest(&*env.fs, &dir)?.ok_or_else(|| {
                Error::new(
                    esker::ErrorKind::NotFound,
                    "No options files found in the DB directory.",
                )
            })?;
            let Loaded { base, families } = of_file(&file, &env, cache.as_ref())?;
            let size = size_of::<usize>() * families.len().max(1);
            let name_list: *mut *mut c_char = libc::malloc(size).cast();
            let option_list: *mut *mut rocksdb_options_t = libc::malloc(size).cast();
            if name_list.is_null() || option_list.is_null() {
                return Err(Error::new(esker::ErrorKind::Aborted, "out of memory"));
            }
            put_out(count, families.len());
            for (at, (name, family)) in families.into_iter().enumerate() {
                *name_list.add(at) = copied_string(name.as_bytes());
                *option_list.add(at) = boxed(family);
            }
            *options = boxed(base);
            *names = name_list;
            *family_options = option_list;
            Ok(())
        })
    }
);

api!(
    fn rocksdb_load_latest_options_destroy(
        options: *mut rocksdb_options_t,
        names: *mut *mut c_char,
        family_options: *mut *mut rocksdb_options_t,
        count: usize,
    ) {
        free_box(options);
        for name in array(names, count) {
            libc::free((*name).cast());
        }
        for options in array(family_options, count) {
            free_box(*options);
        }
        libc::free(names.cast());
        libc::free(family_options.cast());
    }
);

api!(
    fn rocksdb_get_options_from_string(
        base: *const rocksdb_options_t,
        text: *const c_char,
        new: *mut rocksdb_options_t,
        errptr: *mut *mut c_char,
    ) {
        fallible(errptr, || {
            let mut options = (*base).clone();
            let text = string(text);
            for (name, text) in pairs(&text)? {
                if !options.set(name, text)? {
                    return Err(Error::invalid_argument(format!(
                        "Could not find option: : {name}"
                    )));
                }
            }
            *new = options;
            Ok(())
        })
    }
);
