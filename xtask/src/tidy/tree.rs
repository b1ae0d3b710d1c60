//! The files of the project.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shell;

/// The files under version control, or about to be.
pub struct Tree {
    /// Path from the root to text; files that are not UTF-8, and test data, are left out.
    pub texts: BTreeMap<String, String>,
    /// Every path, test data included.
    pub paths: Vec<String>,
}

/// Where bytes lie that others wrote; no rule of ours applies to them.
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
        // Pictures of the documents are no text.
        paths
            .retain(|path| path.starts_with(TEST_DATA) || path.ends_with(".png") || texts.contains_key(path));
        Ok(Tree { texts, paths })
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

    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.texts
            .iter()
            .filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, found)| found == extension))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}
