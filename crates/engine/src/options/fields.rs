//! Options with several values in one text, as RocksDB writes its structs: `{name=value;...}`.

/// A field of a struct: its name, and the conversions of its value to and from text.
pub(super) type Field<S> = (&'static str, fn(&S) -> String, fn(&mut S, &str) -> Option<()>);

/// The named fields of a struct, each of an option type.
macro_rules! fields {
    ($($name:ident),+ $(,)?) => {
        &[$((
            stringify!($name),
            |options| $crate::options::table::OptionValue::text(&options.$name),
            |options, text| {
                options.$name = $crate::options::table::OptionValue::parse(text)?;
                Some(())
            },
        )),+]
    };
}
pub(super) use fields;

/// Parses `{name=value;...}`: the named fields change, the others keep their value in `options`. `others` are
/// ignored fields with their only allowed value. `None` if the text has another form, an unknown name, or an
/// invalid value.
pub(super) fn parse_onto<S: Clone>(
    options: &S,
    fields: &[Field<S>],
    others: &[(&str, &str)],
    text: &str,
) -> Option<S> {
    let mut options = options.clone();
    let entries = text.strip_prefix('{')?.strip_suffix('}')?;
    for entry in split_outside_braces(entries, ';').filter(|entry| !entry.trim().is_empty()) {
        let (name, value) = entry.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        match fields.iter().find(|field| field.0 == name) {
            Some(field) => field.2(&mut options, value)?,
            None => others.iter().find(|other| **other == (name, value)).map(drop)?,
        }
    }
    Some(options)
}

/// The parts of `text` between separators outside braces.
pub(crate) fn split_outside_braces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == separator && depth == 0
    })
}

/// All fields as text; those in `later` only if they are not at their defaults.
pub(super) fn text<S: Default>(options: &S, fields: &[Field<S>], later: &[(&str, &str)]) -> String {
    let default = S::default();
    let is_written = |field: &&Field<S>| {
        (field.1)(options) != (field.1)(&default) || !later.iter().any(|(later, _)| *later == field.0)
    };
    let entries: String = fields
        .iter()
        .filter(is_written)
        .map(|(name, get, _)| format!("{name}={};", get(options)))
        .collect();
    format!("{{{entries}}}")
}
