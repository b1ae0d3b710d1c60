//! A checkout in which pieces of files are replaced: by planted bugs, or by code with delays. It stays, so
//! that cargo builds again only what has changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::shell;

/// Returns the reason why code is not replaced in a file of the tree `root`: the file has the original code
/// `right` not exactly once.
pub fn stale(root: &Path, file: &str, right: &str) -> Option<String> {
    match fs::read_to_string(root.join(file)) {
        Err(error) => Some(error.to_string()),
        Ok(text) => match text.matches(right).count() {
            1 => None,
            count => Some(format!("the original code occurs {count} times, not once")),
        },
    }
}

/// A worktree of git at the commit of the project.
pub struct Checkout {
    pub path: PathBuf,
    /// The files that the previous run replaced, and their modification times.
    before: BTreeMap<String, (String, SystemTime)>,
}

impl Checkout {
    /// Checks out HEAD at `path`, without any replacement.
    pub fn of_head(path: &Path) -> Result<Checkout, String> {
        let git = |args: &[&str]| {
            let mut command = shell::command("git");
            command.args(args);
            command
        };
        let head = shell::output(&mut git(&["rev-parse", "HEAD"]))?;
        let mut checkout = Checkout {
            path: path.to_path_buf(),
            before: BTreeMap::new(),
        };
        let inside = |args: &[&str]| {
            let mut command = git(args);
            command.current_dir(path);
            command
        };
        if path.join(".git").exists() {
            let changed = shell::output(&mut inside(&["diff", "--name-only"])).unwrap_or_default();
            checkout.before = { changed.lines() }
                .filter_map(|file| Some((file.to_owned(), checkout.state(file)?)))
                .collect();
            if shell::succeeds(&mut inside(&["reset", "--hard", head.trim()])) {
                return Ok(checkout);
            }
        }
        let place = path.display().to_string();
        shell::succeeds(&mut git(&["worktree", "remove", "--force", &place]));
        shell::output(&mut git(&[
            "worktree", "add", "--force", "--detach", &place, "HEAD",
        ]))?;
        checkout.before.clear();
        Ok(checkout)
    }

    fn state(&self, file: &str) -> Option<(String, SystemTime)> {
        let path = self.path.join(file);
        let changed = fs::metadata(&path).and_then(|metadata| metadata.modified());
        Some((fs::read_to_string(&path).ok()?, changed.ok()?))
    }

    pub fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.path.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    /// Replaces a file. If the new text is that of the previous run, the file keeps its modification time, so
    /// that cargo does not build it again.
    pub fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.path.join(file);
        let write = || {
            if fs::read_to_string(&path)? == text {
                return Ok(());
            }
            fs::write(&path, text)?;
            match self.before.get(file) {
                Some((before, changed)) if before == text => {
                    File::options().write(true).open(&path)?.set_modified(*changed)
                }
                _ => Ok(()),
            }
        };
        write().map_err(|error| format!("{file}: {error}"))
    }
}
