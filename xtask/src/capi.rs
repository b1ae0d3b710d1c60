//! The tables of the C library: `crates/capi/functions.tsv` has every function of `rocksdb/c.h`,
//! `crates/capi/fields.tsv` the fields of its objects. From them the header, the uniform functions and the
//! list in `docs/capi.md` are generated.

mod document;
mod header;
mod rust;
mod tables;

use std::path::{Path, PathBuf};

use tables::{Tables, read};

/// Returns every generated file with its text.
pub fn files(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let tables = Tables::read(root)?;
    tables.check_complete()?;
    let crate_dir = root.join("crates/capi");
    let prelude = read(&crate_dir.join("include/prelude.h"))?;
    Ok(vec![
        (
            crate_dir.join("include/rocksdb/c.h"),
            header::text(&tables, &prelude),
        ),
        (crate_dir.join("src/generated/fields.rs"), rust::fields(&tables)),
        (crate_dir.join("src/generated/structs.rs"), rust::structs(&tables)),
        (
            crate_dir.join("src/generated_functions.rs"),
            rust::objects(&tables),
        ),
        (root.join("docs/capi.md"), document::text(&tables)),
    ])
}
