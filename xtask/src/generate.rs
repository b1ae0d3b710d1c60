//! `gen`: the parts of the documentation that are generated from the code.

use std::path::Path;

use crate::shell::{self, Outcome};
use crate::tidy::Tree;
use crate::{capi, circles, jni, judge, python, ratios};

/// A generated part: the document, the name in its marks, and the function that returns its text.
struct GeneratedPart {
    document: &'static str,
    name: &'static str,
    body: fn(&Path) -> Result<String, String>,
}

const PARTS: &[GeneratedPart] = &[
    GeneratedPart {
        document: "ARCHITECTURE.md",
        name: "crates",
        body: crates,
    },
    GeneratedPart {
        document: "ARCHITECTURE.md",
        name: "modules",
        body: modules,
    },
    GeneratedPart {
        document: "README.md",
        name: "quick start",
        body: quick_start,
    },
    GeneratedPart {
        document: "docs/format/fixtures.md",
        name: "fixtures",
        body: fixtures,
    },
];

/// Writes every part.
pub fn write() -> Outcome {
    for_each(|path, old, new| {
        if old != new {
            eprintln!("wrote {}", path.display());
            std::fs::write(path, new).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    })
}

/// Fails if `write` would change a part.
pub fn check() -> Outcome {
    for_each(|path, old, new| {
        if old == new {
            Ok(())
        } else {
            Err(format!("{} is not up to date: cargo xtask gen", path.display()))
        }
    })
}

fn for_each(mut act: impl FnMut(&Path, &str, &str) -> Outcome) -> Outcome {
    let root = shell::root();
    for part in PARTS {
        let path = root.join(part.document);
        let old = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let new = replace(&old, part.name, &(part.body)(&root)?)
            .ok_or_else(|| format!("{} lacks the marks of {:?}", part.document, part.name))?;
        act(&path, &old, &new)?;
    }
    let others = [
        judge::file(&root),
        python::options::file(&root)?,
        ratios::file(&root)?,
    ];
    for (path, new) in capi::files(&root)?
        .into_iter()
        .chain(jni::files(&root)?)
        .chain(others)
    {
        act(&path, &std::fs::read_to_string(&path).unwrap_or_default(), &new)?;
    }
    Ok(())
}

/// Returns `document` with the text between the marks of `name` replaced.
fn replace(document: &str, name: &str, body: &str) -> Option<String> {
    let begin = format!("<!-- begin {name}: written by cargo xtask gen -->\n");
    let end = format!("<!-- end {name} -->\n");
    let start = document.find(&begin)? + begin.len();
    let stop = start + document[start..].find(&end)?;
    Some(format!("{}{body}{}", &document[..start], &document[stop..]))
}

/// Returns the example that a test runs, without its head.
fn quick_start(root: &Path) -> Result<String, String> {
    let path = root.join("crates/engine/examples/quick_start.rs");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let code = text
        .lines()
        .skip_while(|line| line.starts_with("//!") || line.is_empty());
    let code: Vec<&str> = code.collect();
    Ok(format!("```rust\n{}\n```\n", code.join("\n")))
}

/// Returns one row per crate: its name, its description, and the crates of the workspace that it uses.
fn crates(root: &Path) -> Result<String, String> {
    let mut rows = Vec::new();
    for home in ["crates", "testing", "bench", "tools"] {
        let dir = root.join(home);
        let entries = std::fs::read_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let Ok(manifest) = std::fs::read_to_string(path.join("Cargo.toml")) else {
                continue;
            };
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            rows.push(row(home, &name, &manifest));
        }
    }
    // The rows have an order for readers: crates that use fewer other crates come first.
    rows.sort_by(|a, b| (a.2.len(), &a.0).cmp(&(b.2.len(), &b.0)));
    let mut table = "| crate | what | uses |\n|---|---|---|\n".to_owned();
    for (name, what, uses) in rows {
        table.push_str(&format!("| `{name}` | {what} | {} |\n", uses.join(", ")));
    }
    Ok(table)
}

/// Returns one row per crate: its files and folders in layers.
fn modules(root: &Path) -> Result<String, String> {
    let mut table = "| crate | its files and folders, from the ground up |\n|---|---|\n".to_owned();
    let tree = Tree::read(root)?;
    for (home, graph) in circles::graphs(&tree, &tree.sources()) {
        let layers = graph.of_first_level().layers();
        // The root module has no name.
        let layers: Vec<String> = layers
            .iter()
            .map(|layer| layer.join(" ").trim().to_owned())
            .collect();
        let named: Vec<&str> = layers
            .iter()
            .map(String::as_str)
            .filter(|layer| !layer.is_empty())
            .collect();
        if !named.is_empty() {
            let name = home.trim_end_matches("/src");
            table.push_str(&format!("| `{name}` | {} |\n", named.join(" / ")));
        }
    }
    Ok(table)
}

fn row(home: &str, name: &str, manifest: &str) -> (String, String, Vec<String>) {
    let what = manifest
        .lines()
        .find_map(|line| line.strip_prefix("description = \"")?.strip_suffix('"'))
        .unwrap_or("")
        .to_owned();
    let dependencies = manifest
        .split("[dependencies]")
        .nth(1)
        .unwrap_or("")
        .split("\n[")
        .next()
        .unwrap_or("");
    let ours = [
        "base", "codec", "vfs", "cache", "rangedel", "testkit", "wal", "memtable", "sst", "blob", "manifest",
        "compact", "esker", "mvcc", "backup", "dbtest",
    ];
    let used: Vec<&str> = dependencies
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|d| !d.is_empty())
        .collect();
    let uses = ours
        .into_iter()
        .filter(|name| used.contains(name))
        .map(str::to_owned)
        .collect();
    (format!("{home}/{name}"), what, uses)
}

/// Returns one row per fixture: its name, its files by kind, its visible rows.
fn fixtures(root: &Path) -> Result<String, String> {
    let home = root.join("testdata/rocksdb-11.9");
    let list = |dir: &Path| -> Result<Vec<String>, String> {
        let entries = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    };
    let mut table =
        "| database | SSTs | blob files | WALs | visible rows |\n|---|---|---|---|---|\n".to_owned();
    for name in list(&home)? {
        let Some(name) = name.strip_suffix(".expected.tsv") else {
            continue;
        };
        let files = list(&home.join(name))?;
        let count = |ending: &str| files.iter().filter(|file| file.ends_with(ending)).count();
        let expected = home.join(format!("{name}.expected.tsv"));
        let rows = std::fs::read(&expected).map_err(|error| format!("{}: {error}", expected.display()))?;
        let rows = rows.iter().filter(|byte| **byte == b'\n').count();
        table.push_str(&format!(
            "| `{name}` | {} | {} | {} | {rows} |\n",
            count(".sst"),
            count(".blob"),
            count(".log")
        ));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let document = "head\n<!-- begin x: written by cargo xtask gen -->\nold\n<!-- end x -->\ntail\n";
        assert_eq!(
            replace(document, "x", "new\n").unwrap(),
            "head\n<!-- begin x: written by cargo xtask gen -->\nnew\n<!-- end x -->\ntail\n"
        );
        assert_eq!(replace(document, "y", ""), None);
    }

    #[test]
    fn a_row_says_what_a_crate_is_and_uses() {
        let manifest = "description = \"Write-ahead log\"\n\n[dependencies]\nvfs.workspace = true\nbase.workspace = true\nlibc.workspace = true\n\n[dev-dependencies]\ntestkit.workspace = true\n";
        let (name, what, uses) = row("crates", "wal", manifest);
        assert_eq!(
            (name.as_str(), what.as_str(), uses.join(" ").as_str()),
            ("crates/wal", "Write-ahead log", "base vfs")
        );
    }
}
