//! Parses `rocksdb/c.h`.

use std::collections::BTreeSet;

use super::tables::{Function, Tables, object};

const HEAD: &str = "\
/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * RocksDB's C interface, as librocksdb 11.8 declares it, over Esker. Written by `cargo xtask gen`; do not edit.
 *
 * Generations. ROCKSDB_GENERATION is the release that a program is written for: 1108 is 11.8. With 708, 1004 or 1009 this header
 * declares what 7.8, 10.4 or 10.9 did; such a program is linked to the library of that generation.
 *
 * Memory. A returned `char*` was allocated by malloc: free() or rocksdb_free() releases it. A returned `const char*` belongs to
 * the object of the call. Objects are released by the function of their name that ends in _destroy.
 *
 * Errors. `errptr` points to a pointer that is NULL or was allocated by malloc. A function that fails frees the old message and
 * stores its own; one that succeeds leaves it alone.
 *
 * Threads. A rocksdb_t may be used by any number of threads at a time, an iterator, a batch and a transaction by one.
 */
#ifndef ESKER_ROCKSDB_C_H_
#define ESKER_ROCKSDB_C_H_

#ifndef ROCKSDB_GENERATION
#define ROCKSDB_GENERATION 1108
#endif

#ifdef _WIN32
#ifdef ROCKSDB_DLL
#ifdef ROCKSDB_LIBRARY_EXPORTS
#define ROCKSDB_LIBRARY_API __declspec(dllexport)
#else
#define ROCKSDB_LIBRARY_API __declspec(dllimport)
#endif
#else
#define ROCKSDB_LIBRARY_API
#endif
#else
#define ROCKSDB_LIBRARY_API
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/* Objects. */

";

const TAIL: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// Returns the whole header.
pub fn text(tables: &Tables, prelude: &str) -> String {
    let mut types = BTreeSet::new();
    for function in &tables.functions {
        let kinds = function.parameters.iter().map(|parameter| &parameter.text);
        for text in kinds.chain([&function.returns]).chain([&prelude.to_owned()]) {
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            types.extend(
                words
                    .filter(|word| word.starts_with("rocksdb_") && word.ends_with("_t"))
                    .map(str::to_owned),
            );
        }
    }
    types.remove("rocksdb_slice_t");
    let mut out = HEAD.to_owned();
    for name in types {
        out.push_str(&format!("typedef struct {name} {name};\n"));
    }
    out.push('\n');
    out.push_str(prelude);
    let mut family = "";
    for function in &tables.functions {
        let of = function
            .parameters
            .first()
            .and_then(|parameter| object(&parameter.kind))
            .or(object(&function.returns))
            .unwrap_or("");
        if of != family {
            out.push_str(&format!(
                "\n/* {} */\n\n",
                if of.is_empty() { "others" } else { of }
            ));
            family = of;
        }
        let now = declaration(function);
        match tables
            .legacy
            .iter()
            .find(|old| old.function.name == function.name)
        {
            Some(old) => out.push_str(&format!(
                "#if ROCKSDB_GENERATION <= {}\n{}#else\n{now}#endif\n",
                number(&old.last),
                declaration(&old.function)
            )),
            None => out.push_str(&now),
        }
    }
    out.push_str("\n/* Of older generations alone. */\n\n");
    let current = |name: &str| tables.functions.iter().any(|function| function.name == name);
    let gone = tables.legacy.iter().filter(|old| !current(&old.function.name));
    for old in gone {
        out.push_str(&format!(
            "#if ROCKSDB_GENERATION <= {}\n{}#endif\n",
            number(&old.last),
            declaration(&old.function)
        ));
    }
    out.push_str(TAIL);
    out
}

/// Returns `1004` for `10.4`.
fn number(generation: &str) -> String {
    let (major, minor) = generation.split_once('.').unwrap_or((generation, "0"));
    format!("{major}{minor:0>2}")
}

fn declaration(function: &Function) -> String {
    let parameters: Vec<&str> = function
        .parameters
        .iter()
        .map(|parameter| parameter.text.as_str())
        .collect();
    let list = if parameters.is_empty() {
        "void".to_owned()
    } else {
        parameters.join(", ")
    };
    wrapped(&format!(
        "extern ROCKSDB_LIBRARY_API {} {}({list});",
        function.returns, function.name
    ))
}

/// Returns `text` in lines of at most 100 columns, broken at spaces.
fn wrapped(text: &str) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > 100 {
            out.push_str(&line);
            out.push('\n');
            line = "   ".to_owned();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
    out
}
