//! Options that are several values in one text, as RocksDB writes its structs: `{name=value;...}`.

/// A field of a struct by its name, its value as text.
pub(super) type Field<S> = (&'static str, fn(&S) -> String, fn(&mut S, &str) -> Option<()>);

/// The named fields of a struct, each an option value.
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

/// `{name=value;...}`: the fields named change, the others stay as they are in `options`. `others` are what there is one
/// value for, which says nothing. `None` if the text is of another form, or of a name or a value there is not.
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

/// The parts of `text` between those of `separator` that stand in no braces.
pub(super) fn split_outside_braces(text: &str, separator: char) -> impl Iterator<Item = &str> {
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

/// All fields, those of `later` only where they are not at their defaults.
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
