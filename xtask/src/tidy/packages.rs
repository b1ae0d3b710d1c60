//! The manifests of crates that are published: what the registry shows, and the versions by which they
//! require each other.

use super::finding::Finding;
use super::tree::Tree;

/// The fields that the registry shows, besides the fields that come from the workspace.
const FIELDS: &[&str] = &["description", "keywords", "categories", "readme"];

/// The files that each package has, since it is given away without the rest of the repository.
const FILES: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let root = tree.text("Cargo.toml").unwrap_or("");
    let version = value(root, "version").unwrap_or("");
    let mut found = Vec::new();
    for (path, text) in tree.with_extension("toml") {
        let Some(home) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if home.contains("/patch/") || !text.contains("[package]") {
            continue;
        }
        let is_published = !text.lines().any(|line| line == "publish = false");
        let entry = root
            .lines()
            .find(|line| line.contains(&format!("path = \"{home}\"")));
        let wanted = format!("version = \"={version}\"");
        match entry {
            Some(entry) if is_published && !entry.contains(&wanted) => found.push(Finding::new(
                "package",
                "Cargo.toml",
                0,
                format!("{home} is published: its path dependency has {wanted}"),
            )),
            Some(entry) if !is_published && entry.contains("version = ") => found.push(Finding::new(
                "package",
                "Cargo.toml",
                0,
                format!("{home} is not published: its path dependency has no version, or packages that test with it fail"),
            )),
            _ => {}
        }
        if !is_published {
            continue;
        }
        for field in FIELDS.iter().filter(|field| value(text, field).is_none()) {
            let message = format!("lacks {field}; or it says publish = false");
            found.push(Finding::new("package", path, 0, message));
        }
        for file in FILES {
            let own = format!("{home}/{file}");
            let text = tree.text(&own);
            let message = match text {
                None => format!("{own} does not exist"),
                // A package without the text of its licence gives its users no right to it.
                Some(_) if file.starts_with("LICENSE") && text != tree.text(file) => {
                    format!("{own} differs from {file} at the root: copy it")
                }
                Some(_) => continue,
            };
            found.push(Finding::new("package", path, 0, message));
        }
    }
    found
}

/// Returns the value of the first line `key = value`, without quotes.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
        .map(|value| value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_what_the_registry_shows() {
        let root = "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\n\
                    a = { path = \"crates/a\", version = \"=0.2.0\" }\nb = { path = \"crates/b\", version = \"=0.1.0\" }\n\
                    c = { path = \"crates/c\", version = \"=0.2.0\" }\nd = { path = \"crates/d\" }\n";
        let full = "[package]\ndescription = \"x\"\nkeywords = []\ncategories = []\nreadme = \"README.md\"\n";
        let tree = Tree::of(&[
            ("Cargo.toml", root),
            ("LICENSE-APACHE", "Apache"),
            ("LICENSE-MIT", "MIT"),
            ("crates/a/Cargo.toml", full),
            ("crates/a/README.md", ""),
            ("crates/a/LICENSE-APACHE", "Apache"),
            ("crates/a/LICENSE-MIT", "MIT"),
            ("crates/b/Cargo.toml", "[package]\ndescription = \"x\"\n"),
            ("crates/b/LICENSE-APACHE", "../../LICENSE-APACHE"),
            ("crates/c/Cargo.toml", "[package]\npublish = false\n"),
            ("crates/d/Cargo.toml", "[package]\npublish = false\n"),
        ]);
        let found: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        let has = |words: &str| found.iter().any(|found| found.contains(words));
        assert!(has("crates/b is published"), "{found:?}");
        assert!(has("crates/c is not published"), "{found:?}");
        assert!(has("lacks keywords") && has("lacks readme"), "{found:?}");
        assert!(has("crates/b/LICENSE-MIT does not exist"), "{found:?}");
        assert!(has("crates/b/LICENSE-APACHE differs"), "{found:?}");
        assert!(!has("crates/a") && !has("crates/d"), "{found:?}");
    }
}
