//! The engine's properties, by RocksDB's names.

use std::io::Write;

use base::{Error, ErrorKind};
use esker::{ColumnFamily, Db, Property, PropertyKind};

use crate::args::PropertiesArgs;
use crate::open;
use crate::output::{Failure, Out};
use crate::text::Form;

/// Properties that are text of several lines.
const TEXTS: &[&str] = &["rocksdb.levelstats", "rocksdb.sstables", "rocksdb.stats"];

/// Prints properties.
pub fn properties(args: &PropertiesArgs, out: &mut Out) -> Result<(), Failure> {
    let opened = open::read_only(&args.database, &args.reading)?;
    let db = &opened.db;
    let families = match &args.column_family {
        Some(name) => vec![open::column_family(db, Some(name))?],
        None => db.column_families(),
    };
    if let Some(name) = &args.name {
        let several = families.len() > 1;
        for family in &families {
            let value = property(db, family, name)?;
            if several {
                write!(out, "{}\t", Form::Escaped.show(family.name().as_bytes()))?;
            }
            writeln!(out, "{}", value.trim_end_matches('\n'))?;
        }
        return Ok(());
    }
    writeln!(out, "latest sequence number: {}", db.latest_sequence_number())?;
    for family in &families {
        let name = Form::Escaped.show(family.name().as_bytes()).to_string();
        writeln!(
            out,
            "\n[{name}]  id {}, {}",
            family.id(),
            family.comparator().name()
        )?;
        let numbers = Property::ALL.iter().filter(|row| row.kind == PropertyKind::Int);
        for name in numbers.map(|row| row.name) {
            // A property may lack a value: that of a cache which does not exist, or of a secondary.
            if let Some(number) = db.property_int(family, name) {
                writeln!(out, "{name:<44} {number}")?;
            }
        }
        for name in TEXTS {
            let text = property(db, family, name)?;
            writeln!(out, "{name}")?;
            text.trim_matches('\n')
                .lines()
                .try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    Ok(())
}

fn property(db: &Db, family: &ColumnFamily, name: &str) -> Result<String, Failure> {
    let name = match Property::of_name(name) {
        Some(_) => name.to_owned(),
        None => format!("rocksdb.{name}"),
    };
    let value = db.property(family, &name);
    value.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no property {name}")).into())
}

#[cfg(test)]
mod tests {
    use esker::{Property, PropertyKind, PropertyScope};

    /// Compares `docs/properties.md` with the properties; `REWRITE=1` writes it.
    #[test]
    fn properties_are_documented() {
        let mut text = String::from(
            "# Properties\n\nThe state of an open database, by `Db::property`, and numbers also by `Db::property_int` and, summed over all families, \
             `Db::aggregated_property_int`.\nThe same names work in C, Java, Python, `esker properties` and `esker ldb get_property`. A property \
             of the database has one value for all families.\n[Statistics](statistics.md#properties) explains some of them.\n\n\
             | property | kind | of | meaning |\n|---|---|---|---|\n",
        );
        for row in Property::ALL {
            let kind = match row.kind {
                PropertyKind::Int => "number",
                PropertyKind::Text => "text",
                PropertyKind::Map => "map",
            };
            let of = match row.scope {
                PropertyScope::Family => "family",
                PropertyScope::Database => "database",
            };
            text.push_str(&format!("| `{}` | {kind} | {of} | {} |\n", row.name, row.doc));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/properties.md");
        if std::env::var_os("REWRITE").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == text,
            "docs/properties.md is not up to date: REWRITE=1 cargo test -p esker-cli properties_are_documented"
        );
    }
}
