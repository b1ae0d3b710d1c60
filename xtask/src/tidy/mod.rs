//! The rules of the project as a check. Each finding names its rule and the remedy.
//!
//! A justified violation is in [`exceptions`], with its reason; an unused exception is a finding itself.

mod circles;
mod docs;
mod exceptions;
mod finding;
mod floors;
mod layout;
mod modules;
mod packages;
mod prose;
mod rust;
mod shape;
mod source;
mod text;
mod tree;

use std::path::{Path, PathBuf};

use crate::canary;
use crate::checkout;
use crate::delays;
use crate::shell::{self, Outcome};
pub use docs::{SUMMARY, join, linked_pages};
use finding::Finding;
pub use source::{Source, is_word};
pub use tree::Tree;

/// Returns every finding without an exception.
fn findings(tree: &Tree, root: &Path) -> Vec<Finding> {
    let (modules, mut found) = modules::resolve(tree);
    let sources = tree.sources_by(&modules);
    for source in &sources {
        found.extend(rust::check(source));
        found.extend(prose::check(source));
    }
    found.extend(layout::check(tree, &sources));
    let graphs = crate::circles::graphs(tree, &sources);
    found.extend(circles::check(&graphs));
    found.extend(floors::check(tree, &graphs));
    found.extend(packages::check(tree));
    found.extend(shape::check(&sources));
    found.extend(docs::check(tree));
    found.extend(prose::check_documents(tree));
    found.extend(text::check(tree));
    for canary in canary::canaries() {
        if let Some(reason) = canary::stale(canary, root) {
            found.push(Finding::new(
                "canary",
                canary.file,
                0,
                format!("{:?} no longer fits: {reason}", canary.name),
            ));
        }
    }
    for (name, place) in delays::places() {
        if let Some(reason) = checkout::stale(root, place.file, place.right) {
            found.push(Finding::new(
                "delays",
                place.file,
                0,
                format!("a delay of {name:?} no longer fits: {reason}"),
            ));
        }
    }
    exceptions::apply(exceptions::EXCEPTIONS, found)
}

/// Prints the findings and fails if there are any.
pub fn check() -> Outcome {
    let root: PathBuf = shell::root();
    let found = findings(&Tree::read(&root)?, &root);
    for finding in &found {
        println!("{finding}");
    }
    match found.len() {
        0 => Ok(()),
        count => Err(format!("tidy: {count} findings")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules run as a test too, so that `cargo test` alone checks them.
    #[test]
    fn the_tree_is_tidy() {
        let root = shell::root();
        let Ok(tree) = Tree::read(&root) else {
            testkit::skip("a git checkout: an archive of the source has no list of its files");
            return;
        };
        let found: Vec<String> = findings(&tree, &root).iter().map(Finding::to_string).collect();
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }
}
