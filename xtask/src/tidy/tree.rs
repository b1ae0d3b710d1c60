//! The files of the project.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shell;

/// The files that are under version control, or not ignored by it.
pub struct Tree {
    /// The texts by their paths from the root, without test data and files that are not UTF-8.
    pub texts: BTreeMap<String, String>,
    /// Every path, including test data.
    pub paths: Vec<String>,
}

/// The folder of bytes that other programs wrote; no rule applies to them.
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
            // A file that cannot be read is deleted and not yet committed, or is not text.
            if let Ok(text) = std::fs::read_to_string(root.join(path)) {
                texts.insert(path.clone(), text);
            }
        }
        // The documents' pictures are not texts.
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

    /// Returns the text of the file at `path`.
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
