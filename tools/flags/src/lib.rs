//! Command lines in the syntax of gflags, which RocksDB's tools use: `--name=value`, `--name value`,
//! `--name`, `--noname`.
//!
//! Each flag is one row of [`flags!`]: name, type, default, help. Names, defaults and meaning are RocksDB's;
//! numbers also take `k`, `m`, `g` and `t`. A name that is not a flag of the tool may be an [option of the
//! engine](engine). A [flag of RocksDB's](rocksdb) that has no function here is accepted with its default
//! value; with another value it is refused, and the message names the feature that the tool lacks, or, if
//! the flag only tunes RocksDB's implementation, it is ignored with a note.
#![forbid(unsafe_code)]

pub mod engine;
mod flag_set;
pub mod rocksdb;
pub mod suggest;
mod test_directory;
pub mod value;

use flag_set::same;
pub use flag_set::{Flag, FlagSet, Rest};
pub use test_directory::test_directory;

/// Declares the flags of a tool: a struct with a field for each, and its [`FlagSet`].
///
/// ```
/// esker_flags::flags! {
///     /// What this tool is told.
///     pub struct Flags, others of RocksDB in "";
///     /// Threads.
///     threads: i32 = 1;
/// }
/// let args = ["--threads=2".to_owned()];
/// let esker_flags::Parsed::Run(flags) = esker_flags::parse::<Flags>(&args).unwrap() else { panic!() };
/// assert_eq!(flags.threads, 2);
/// ```
#[macro_export]
macro_rules! flags {
    (
        $(#[$about:meta])* pub struct $Flags:ident, others of RocksDB in $others:expr $(, presets by $presets:path)?;
        $( $(#[doc = $help:literal])+ $name:ident: $type:ty = $default:expr; )+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $Flags {
            $( $(#[doc = $help])+ pub $name: $type, )+
            /// The part of the command line that is not flags of the tool.
            pub rest: $crate::Rest,
        }

        impl Default for $Flags {
            fn default() -> $Flags {
                $Flags { $( $name: $default, )+ rest: Default::default() }
            }
        }

        impl $crate::FlagSet for $Flags {
            const FLAGS: &'static [$crate::Flag<$Flags>] = &[ $( $crate::Flag {
                name: stringify!($name),
                type_name: <$type as $crate::value::FlagValue>::TYPE,
                is_bool: <$type as $crate::value::FlagValue>::IS_BOOL,
                default: || {
                    let default: $type = $default;
                    $crate::value::FlagValue::text(&default)
                },
                help: concat!($($help),+),
                set: |flags, text| {
                    flags.$name = $crate::value::FlagValue::parse(text)?;
                    Some(())
                },
                get: |flags| $crate::value::FlagValue::text(&flags.$name),
            }, )+ ];
            const ROCKSDB_ONLY: &'static str = $others;

            fn rest(&mut self) -> &mut $crate::Rest {
                &mut self.rest
            }

            $(
                fn preset(name: &str, value: &str) -> Result<Vec<(&'static str, &'static str)>, String> {
                    $presets(name, value)
                }
            )?
        }
    };
}

/// The texts of booleans in [`flags!`]; a default of 0 or 1 is a number.
const BOOL_TEXTS: [&str; 2] = ["true", "false"];

/// A parsed command line.
#[derive(Debug)]
pub enum Parsed<F> {
    /// Values for every flag.
    Run(Box<F>),
    /// The user asked for help.
    Help,
}

/// Parses a command line, without the program's name.
///
/// # Errors
///
/// The fault, and for an unknown name the nearest known one.
pub fn parse<F: FlagSet>(args: &[String]) -> Result<Parsed<F>, String> {
    let undefined_ok = undefined_ok(args);
    let (mut given, mut ignored) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(body) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
            match arg.split_once('=') {
                // Published command lines contain such words; gflags and RocksDB's tools ignore them.
                Some((name, _)) if is_bool::<F>(name).is_some() => {
                    ignored.push(format!("{arg}: no flag, because it does not begin with --"));
                    continue;
                }
                _ => return Err(format!("{arg}: a flag must begin with --")),
            }
        };
        if matches!(body, "help" | "h" | "helpfull") {
            return Ok(Parsed::Help);
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let name = name.replace('-', "_");
        let Some((name, value)) = resolve::<F>(&name, value, || args.next().cloned()) else {
            if undefined_ok.contains(&name) {
                ignored.push(format!("--{name}: unknown, and --undefok allows it"));
                continue;
            }
            return Err(unknown::<F>(&name));
        };
        let value = value.ok_or_else(|| format!("--{name} needs a value"))?;
        given.push((name, value));
    }
    let mut flags = F::default();
    flags.rest().ignored = ignored;
    for (name, value) in &given {
        for (name, value) in F::preset(name, value)? {
            apply(&mut flags, name, value)?;
        }
    }
    for (name, value) in &given {
        apply(&mut flags, name, value)?;
    }
    let rest = flags.rest();
    let (allowed, refused): (Vec<String>, Vec<String>) =
        std::mem::take(&mut rest.refused).into_iter().partition(|line| {
            undefined_ok
                .iter()
                .any(|name| line.starts_with(&format!("--{name}=")))
        });
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    let notes = allowed
        .into_iter()
        .map(|line| format!("{line}; --undefok allows it"));
    rest.ignored.extend(notes);
    rest.given = given;
    Ok(Parsed::Run(Box::new(flags)))
}

/// The names that `--undefok` lists, wherever it is in the command line.
fn undefined_ok(args: &[String]) -> Vec<String> {
    let lists = args
        .iter()
        .filter_map(|arg| arg.trim_start_matches('-').strip_prefix("undefok="));
    lists
        .flat_map(|list| list.split(','))
        .map(|name| name.replace('-', "_"))
        .collect()
}

/// The flag that `name` means and its value, taken from the next argument if the flag needs one; `None` if
/// there is no such flag.
fn resolve<F: FlagSet>(
    name: &str,
    value: Option<String>,
    next: impl FnOnce() -> Option<String>,
) -> Option<(String, Option<String>)> {
    match is_bool::<F>(name) {
        Some(true) => Some((name.to_owned(), value.or_else(|| Some("true".to_owned())))),
        Some(false) => Some((name.to_owned(), value.or_else(next))),
        None => {
            let positive = name.strip_prefix("no")?;
            let negated = value.is_none() && is_bool::<F>(positive) == Some(true);
            negated.then(|| (positive.to_owned(), Some("false".to_owned())))
        }
    }
}

/// True if the flag is a boolean; `None` if there is no such flag.
fn is_bool<F: FlagSet>(name: &str) -> Option<bool> {
    let ours = F::FLAGS
        .iter()
        .find(|flag| flag.name == name)
        .map(|flag| flag.is_bool);
    ours.or_else(|| engine::is_bool(name))
        .or_else(|| rocksdb::row::<F>(name).map(|row| BOOL_TEXTS.contains(&row.default)))
}

fn apply<F: FlagSet>(flags: &mut F, name: &str, value: &str) -> Result<(), String> {
    if let Some(flag) = F::FLAGS.iter().find(|flag| flag.name == name) {
        return (flag.set)(flags, value)
            .ok_or_else(|| format!("--{name}={value}: needs a value of type {}", flag.type_name));
    }
    let rocksdb = if engine::is_bool(name).is_some() {
        None
    } else {
        rocksdb::row::<F>(name)
    };
    // If a flag occurs several times its last value counts, and a flag that is set back to its default counts
    // as not given.
    let given = format!("--{name}=");
    let rest = flags.rest();
    rest.refused.retain(|refused| !refused.starts_with(&given));
    match rocksdb {
        Some(row) if same(row.default, value) => {}
        Some(row) if row.moot => rest
            .ignored
            .push(format!("{given}{value} has no effect: {}", row.section)),
        Some(row) => rest.refused.push(format!(
            "{given}{value} needs {}, which this program does not offer",
            row.section
        )),
        None => rest.engine.push((name.to_owned(), value.to_owned())),
    }
    Ok(())
}

fn unknown<F: FlagSet>(name: &str) -> String {
    let candidates = F::FLAGS
        .iter()
        .map(|flag| flag.name)
        .chain(engine::rows().into_iter().map(|row| row.name));
    match suggest::nearest(name, candidates.chain(rocksdb::rows::<F>().map(|row| row.name))) {
        Some(nearest) => format!("unknown flag --{name}; did you mean --{nearest}?"),
        None => format!("unknown flag --{name}; --help lists them"),
    }
}

/// The help text about flags.
pub fn help<F: FlagSet>() -> String {
    help_in_sections::<F>(&[])
}

/// The help text about flags in sections, each with the name of its first flag and its title.
pub fn help_in_sections<F: FlagSet>(sections: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for flag in F::FLAGS {
        if let Some((_, title)) = sections.iter().find(|(first, _)| *first == flag.name) {
            text.push_str(&format!("\n{title}:\n"));
        }
        let default = (flag.default)();
        let default = if flag.type_name == "text" {
            format!("{default:?}")
        } else {
            default
        };
        text.push_str(&format!(
            "  --{} ({}, default {default})\n     {}\n",
            flag.name, flag.type_name, flag.help
        ));
    }
    text
}
