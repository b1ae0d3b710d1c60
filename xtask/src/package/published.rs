//! The crates that are published, and their packages.

use std::path::{Path, PathBuf};

use crate::tidy::Tree;

/// A crate that is published.
pub struct Published {
    pub name: String,
    /// True if it has no library.
    pub is_program: bool,
}

/// Returns the members of the workspace that are published, by folder.
pub fn published(tree: &Tree) -> Vec<Published> {
    let manifests = tree.with_extension("toml");
    manifests
        .filter_map(|(path, text)| {
            let home = path.strip_suffix("/Cargo.toml")?;
            if home.contains("/patch/") || text.contains("\npublish = false\n") {
                return None;
            }
            let name = text
                .lines()
                .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
            Some(Published {
                name: name.to_owned(),
                is_program: !tree.texts.contains_key(&format!("{home}/src/lib.rs")),
            })
        })
        .collect()
}

/// The version of every crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the path of the package of `name`.
pub fn file(place: &Path, name: &str) -> PathBuf {
    place.join(format!("{name}-{VERSION}.crate"))
}
