//! `options.py`: the option rows of the engine as typed keywords of Python. A test of the package compares
//! the file with the rows.

use std::path::{Path, PathBuf};

/// A section of an OPTIONS file, for which a type of keywords is written, and the source file of its rows.
struct Table {
    name: &'static str,
    /// The Python class with its base.
    class: &'static str,
    doc: &'static str,
    source: &'static str,
    /// Options that are objects, which have no row.
    objects: &'static [(&'static str, &'static str, &'static str)],
}

const TABLES: &[Table] = &[
    Table {
        name: "BlockBasedOptions",
        class: "BlockBasedOptions(TypedDict, total=False)",
        doc: "Options of the table format.",
        source: "crates/engine/src/options/cf.rs",
        objects: &[(
            "block_cache",
            "Cache | int | None",
            "A block cache, or the capacity of a new one in bytes. Default: 32 MiB, shared by all families.",
        )],
    },
    Table {
        name: "ColumnFamilyOptions",
        class: "ColumnFamilyOptions(BlockBasedOptions, total=False)",
        doc: "Options of a column family and of its tables.",
        source: "crates/engine/src/options/cf.rs",
        objects: &[
            (
                "comparator",
                "str | Comparator",
                "The order of keys, by name or as an object. Default: bytewise.",
            ),
            (
                "merge_operator",
                "str | MergeOperator | FullMerge | MergeOperatorObject | None",
                "The merge operator. Default: the built-in operator that the OPTIONS file names, if any.",
            ),
            (
                "compaction_filter",
                "Filter | CompactionFilter | None",
                "Decides about each entry of every compaction. Default: none.",
            ),
            (
                "compaction_filter_factory",
                "CompactionFilterFactory | None",
                "Creates a compaction filter for each compaction. Default: none.",
            ),
            (
                "prefix_extractor",
                "str | None",
                "The prefixes that filters contain: fixed:N, capped:N or noop. Default: none.",
            ),
            (
                "cf_paths",
                "list[tuple[Path, int]]",
                "The directories of the family's tables, each with its target size in bytes. Default: db_paths.",
            ),
            (
                "blob_cache",
                "Cache | int | None",
                "A cache of values in blob files, or the capacity of a new one in bytes. Default: none.",
            ),
        ],
    },
    Table {
        name: "Options",
        class: "Options(ColumnFamilyOptions, total=False)",
        doc: "Options of a database, of its families and of their tables.",
        source: "crates/engine/src/options/db.rs",
        objects: &[
            (
                "column_families",
                "Sequence[str] | Mapping[str, ColumnFamilyOptions | None]",
                "The families with options of their own, which start from the common options. Default: none.",
            ),
            (
                "statistics",
                "Statistics | bool | None",
                "Counts operations, bytes, events and times; true creates statistics. Default: none.",
            ),
            (
                "rate_limiter",
                "RateLimiter | int | None",
                "Limits the writes of flushes and compactions; a number is in bytes per second. Default: none.",
            ),
            (
                "write_buffer_manager",
                "WriteBufferManager | None",
                "Limits the memory of the memtables of several databases. Default: none.",
            ),
            (
                "db_paths",
                "list[tuple[Path, int]]",
                "At most four directories of tables, each with its target size in bytes. Default: the database's.",
            ),
        ],
    },
];

const HEAD: &str = "\
\"\"\"The types of the options as keywords. Written by `cargo xtask gen` from the option rows of the engine.\"\"\"

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from esker._esker import Cache, MergeOperator, RateLimiter, Statistics, WriteBufferManager
    from esker.types import (
        Comparator,
        CompactionFilter,
        CompactionFilterFactory,
        Filter,
        FullMerge,
        MergeOperatorObject,
    )

Path = str | os.PathLike[str]
";

/// The path of the file, from the root, and its text.
pub fn file(root: &Path) -> Result<(PathBuf, String), String> {
    let mut text = HEAD.to_owned();
    for table in TABLES {
        let path = root.join(table.source);
        let source =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rows = rows(&source, table.name)
            .ok_or_else(|| format!("{} has no option table {}", table.source, table.name))?;
        text.push_str(&format!(
            "\n\nclass {}:\n    \"\"\"{}\"\"\"\n",
            table.class, table.doc
        ));
        for row in &rows {
            text.push_str(&field(&row.name, python_type(&row.kind), &row.doc));
        }
        for (name, kind, doc) in table.objects {
            text.push_str(&field(name, kind, &[(*doc).to_owned()]));
        }
    }
    Ok((root.join("bindings/python/python/esker/options.py"), text))
}

fn field(name: &str, kind: &str, doc: &[String]) -> String {
    let comments: String = doc.iter().map(|line| format!("    # {line}\n")).collect();
    format!("\n{comments}    {name}: {kind}\n")
}

/// A row of an option table, from the source.
struct Row {
    name: String,
    kind: String,
    doc: Vec<String>,
}

/// The rows of the table `name`.
fn rows(source: &str, name: &str) -> Option<Vec<Row>> {
    let start = source.find(&format!("    pub struct {name} {{\n"))?;
    let body = &source[start..];
    let body = &body[..body.find("\n    }\n")?];
    let (mut rows, mut doc) = (Vec::new(), Vec::new());
    for line in body.lines().skip(1) {
        let line = line.strip_prefix("        ").unwrap_or(line);
        if let Some(words) = line.strip_prefix("/// ") {
            doc.push(words.to_owned());
        } else if let Some((name, rest)) = line.split_once(": ")
            && !name.starts_with(' ')
            && let Some((kind, _)) = rest.split_once(" = ")
        {
            rows.push(Row {
                name: name.to_owned(),
                kind: kind.to_owned(),
                doc: std::mem::take(&mut doc),
            });
        }
    }
    Some(rows)
}

/// The type of the keyword.
fn python_type(rust: &str) -> &'static str {
    match rust {
        "bool" => "bool",
        "i32" | "u32" | "i64" | "u64" | "usize" => "int | str",
        "f64" => "float",
        "String" => "Path",
        rust if rust.starts_with("Vec<") => "str | Sequence[str]",
        rust if rust.ends_with("Options") || rust.starts_with("CompactionOptions") => {
            "str | Mapping[str, Any]"
        }
        _ => "str",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_off_the_source() {
        let source = "option_table! {\n    /// All.\n    pub struct Options {\n        /// First\n        /// doc.\n        first: bool = false, mutable = true;\n        /// Second.\n        second: Vec<CompressionType> = Vec::new(),\n            domain[\"a: b = c\"];\n    }\n    components {\n        /// No row.\n        fs: u32 = 1;\n    }\n}\n";
        let rows = rows(source, "Options").unwrap();
        let read: Vec<String> = rows
            .iter()
            .map(|row| field(&row.name, python_type(&row.kind), &row.doc))
            .collect();
        assert_eq!(
            read,
            [
                "\n    # First\n    # doc.\n    first: bool\n",
                "\n    # Second.\n    second: str | Sequence[str]\n"
            ]
        );
        assert!(super::rows(source, "Other").is_none());
    }
}
