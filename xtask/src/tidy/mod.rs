//! The house rules as a check. Each finding names its rule, and each rule what to do instead.
//!
//! A place that has a reason to differ is in [`exceptions`], with the reason; an unused exception is a
//! finding itself.

mod docs;
mod exceptions;
mod layout;
mod modules;
mod prose;
mod rust;
mod source;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::canary;
use crate::shell::{self, Outcome};
pub use docs::{join, linked_pages};
pub use source::{Source, is_word};

/// A violation of a rule.
#[derive(Debug, PartialEq)]
pub struct Finding {
    rule: &'static str,
    path: String,
    /// The line, from 1; 0 for the file as a whole.
    line: usize,
    message: String,
}

impl Finding {
    fn new(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            rule,
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}", self.rule, self.message)
    }
}

/// The files under version control, and new ones.
pub struct Tree {
    /// From the path to the text; without test data and files that are not UTF-8.
    texts: BTreeMap<String, String>,
    /// Every path, with test data.
    paths: Vec<String>,
}

/// The folder of bytes that others wrote; no rule applies to them.
const TEST_DATA: &str = "testdata/";

impl Tree {
    /// Reads the tree at `root`.
    pub fn read(root: &Path) -> Result<Tree, String> {
        let listed = shell::output(shell::command("git").current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut paths: Vec<String> = listed
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect();
        paths.sort();
        paths.dedup();
        let mut texts = BTreeMap::new();
        for path in &paths {
            if path.starts_with(TEST_DATA) {
                continue;
            }
            // Deleted and not yet committed, or not text.
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                texts.insert(path.clone(), text);
            }
        }
        paths.retain(|path| path.starts_with(TEST_DATA) || texts.contains_key(path));
        Ok(Tree { texts, paths })
    }

    /// The text of the file `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let texts: BTreeMap<String, String> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Tree {
            paths: texts.keys().cloned().collect(),
            texts,
        }
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Every Rust file, taken apart.
    pub fn sources(&self) -> Vec<Source> {
        self.sources_by(&modules::resolve(self).0)
    }

    fn sources_by(&self, modules: &modules::Modules) -> Vec<Source> {
        self.with_extension("rs")
            .map(|(path, text)| Source::new(path, text, modules.is_test(path)))
            .collect()
    }

    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.texts
            .iter()
            .filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, found)| found == extension))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Every finding without an exception.
fn findings(tree: &Tree, root: &Path) -> Vec<Finding> {
    let (modules, mut found) = modules::resolve(tree);
    let sources = tree.sources_by(&modules);
    for source in &sources {
        found.extend(rust::check(source));
        found.extend(prose::check(source));
    }
    found.extend(layout::check(tree, &sources));
    found.extend(docs::check(tree));
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
