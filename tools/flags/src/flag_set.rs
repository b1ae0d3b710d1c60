//! The flags of one tool.

use crate::value::FlagValue;

/// One flag of the flags `F`: its help and how it is set.
pub struct Flag<F> {
    /// The name without dashes.
    pub name: &'static str,
    /// The type of the flag's value.
    pub type_name: &'static str,
    /// True if the flag can be used without a value.
    pub is_bool: bool,
    /// The value if the flag is not given.
    pub default: fn() -> String,
    /// The help text of the flag.
    pub help: &'static str,
    /// Sets the flag from the text after `=`; `None` if the text does not fit the type.
    pub set: fn(&mut F, &str) -> Option<()>,
    /// The value as text.
    pub get: fn(&F) -> String,
}

/// The part of a command line that is not flags of the tool.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Names and values of all flags of the command line, in its order.
    pub given: Vec<(String, String)>,
    /// Options of the engine, in the order of the command line.
    pub engine: Vec<(String, String)>,
    /// The flags and words that have no effect, and the reasons.
    pub ignored: Vec<String>,
    /// The flags that need a missing feature.
    pub(crate) refused: Vec<String>,
}

/// The flags of one tool; [`flags!`](crate::flags!) makes them.
pub trait FlagSet: Default + 'static {
    /// Every flag, in the order of the help.
    const FLAGS: &'static [Flag<Self>];
    /// RocksDB's flags that have no function here: see [`rocksdb`](crate::rocksdb).
    const ROCKSDB_ONLY: &'static str;
    /// The rest of the command line.
    fn rest(&mut self) -> &mut Rest;

    /// The flags and values that `--name=value` is short for. Flags of the command line take precedence over
    /// them, wherever they are.
    ///
    /// # Errors
    ///
    /// The reason if there is no such preset.
    fn preset(_name: &str, _value: &str) -> Result<Vec<(&'static str, &'static str)>, String> {
        Ok(Vec::new())
    }
}

/// True if two texts mean the same value of a flag.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let bools = || Some(bool::parse(a)? == bool::parse(b)?);
    let numbers = || Some(f64::parse(a)? == f64::parse(b)?);
    a == b || numbers().or_else(bools) == Some(true)
}
