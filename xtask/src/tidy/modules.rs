//! The `.rs` files that are reachable from the roots of crates, each with a mark if it is a test.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::source::{Line, Source, is_word};
use super::tree::Tree;

/// The reachable files.
pub struct Modules {
    tests: BTreeSet<String>,
}

impl Modules {
    /// True for a file that only tests, benchmarks or examples use.
    pub fn is_test(&self, path: &str) -> bool {
        self.tests.contains(path) || TEST_CRATES.iter().any(|place| path.starts_with(place))
    }
}

/// The crates that only tests use.
const TEST_CRATES: &[&str] = &["testing/dbtest/"];

/// The folders of a crate whose files are roots, each with true if the files are tests.
const ROOT_FOLDERS: &[(&str, bool)] = &[
    ("src/bin", false),
    ("fuzz_targets", false),
    ("tests", true),
    ("benches", true),
    ("examples", true),
];

/// Follows `mod name;` from every root. An unreachable `.rs` file is a finding.
pub fn resolve(tree: &Tree) -> (Modules, Vec<Finding>) {
    // The path of each reached file, with true if only tests reach it.
    let mut reached: BTreeMap<String, bool> = BTreeMap::new();
    let mut queue = roots(tree);
    while let Some((path, test)) = queue.pop() {
        let Some(text) = tree.texts.get(&path) else {
            continue;
        };
        match reached.get(&path) {
            Some(false) => continue,
            Some(true) if test => continue,
            _ => reached.insert(path.clone(), test),
        };
        queue.extend(
            children(&Source::new(&path, text, test), &path)
                .into_iter()
                .filter_map(|child| {
                    let file = child
                        .candidates
                        .into_iter()
                        .find(|candidate| tree.texts.contains_key(candidate))?;
                    Some((file, child.test))
                }),
        );
    }
    let dead = tree
        .with_extension("rs")
        .filter(|(path, _)| !reached.contains_key(*path))
        .map(|(path, _)| {
            Finding::new(
                "dead-file",
                path,
                0,
                "no `mod` leads here: remove it or declare it",
            )
        })
        .collect();
    let tests = reached
        .into_iter()
        .filter(|(_, test)| *test)
        .map(|(path, _)| path)
        .collect();
    (Modules { tests }, dead)
}

fn roots(tree: &Tree) -> Vec<(String, bool)> {
    let mut roots = Vec::new();
    for manifest in tree.texts.keys().filter(|path| path.ends_with("Cargo.toml")) {
        let dir = manifest.strip_suffix("Cargo.toml").expect("it ends so");
        for root in ["src/lib.rs", "src/main.rs", "build.rs"] {
            roots.push((format!("{dir}{root}"), false));
        }
        for (folder, test) in ROOT_FOLDERS {
            for path in tree.texts.keys() {
                let Some(rest) = path.strip_prefix(&format!("{dir}{folder}/")) else {
                    continue;
                };
                let is_root = rest.ends_with(".rs") && !rest.contains('/') || rest.ends_with("/main.rs");
                if is_root {
                    roots.push((path.clone(), *test));
                }
            }
        }
    }
    roots
}

struct Child {
    candidates: Vec<String>,
    test: bool,
}

/// Returns the files that the `mod name;` lines of `source` may refer to.
fn children(source: &Source, path: &str) -> Vec<Child> {
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    // A file that is a crate's root, and mod.rs, own their folder; others own the folder of their name.
    let owns_dir = matches!(stem, "mod" | "lib" | "main") || is_root_by_place(path);
    let home = if owns_dir {
        dir.to_owned()
    } else {
        format!("{dir}/{stem}")
    };
    let texts: Vec<&str> = source.text.lines().collect();
    let mut children = Vec::new();
    // The names of the enclosing inline modules, with the depth of braces at which they opened.
    let mut inside: Vec<(usize, String)> = Vec::new();
    let mut depth = 0usize;
    for (at, line) in source.lines.iter().enumerate() {
        if let Some((name, inline)) = mod_item(line) {
            if inline {
                inside.push((depth, name.to_owned()));
            } else {
                let below: String = inside.iter().map(|(_, name)| format!("/{name}")).collect();
                let mut candidates = vec![
                    format!("{home}{below}/{name}.rs"),
                    format!("{home}{below}/{name}/mod.rs"),
                ];
                let attribute = at
                    .checked_sub(1)
                    .and_then(|above| texts.get(above))
                    .copied()
                    .unwrap_or("")
                    .trim();
                let named = attribute
                    .strip_prefix("#[path = \"")
                    .and_then(|rest| rest.split('"').next());
                if let Some(named) = named {
                    candidates = vec![format!("{dir}/{named}")];
                }
                children.push(Child {
                    candidates,
                    test: line.test,
                });
            }
        }
        for c in line.code.chars() {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    inside.retain(|(opened, _)| *opened < depth);
                }
                _ => {}
            }
        }
    }
    children
}

fn is_root_by_place(path: &str) -> bool {
    let parent = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    ROOT_FOLDERS
        .iter()
        .any(|(folder, _)| parent == *folder || parent.ends_with(&format!("/{folder}")))
}

/// Returns the name of a `mod` item, and true if its body follows.
fn mod_item(line: &Line) -> Option<(&str, bool)> {
    let mut code = line.code.trim();
    while let Some(rest) = code.strip_prefix("#[") {
        code = rest.split_once(']')?.1.trim_start();
    }
    if let Some(rest) = code.strip_prefix("pub") {
        code = match rest.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1.trim_start(),
            None => rest.trim_start(),
        };
    }
    let rest = code.strip_prefix("mod ")?;
    let name = &rest[..rest.find(|c| !is_word(c))?];
    match rest[name.len()..].trim_start().chars().next()? {
        ';' => Some((name, false)),
        '{' => Some((name, true)),
        _ => None,
    }
}

impl Tree {
    /// Returns every Rust file, split into lines.
    pub fn sources(&self) -> Vec<Source> {
        self.sources_by(&resolve(self).0)
    }

    pub fn sources_by(&self, modules: &Modules) -> Vec<Source> {
        self.with_extension("rs")
            .map(|(path, text)| Source::new(path, text, modules.is_test(path)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_nobody_declares_are_dead() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", ""),
            (
                "a/src/lib.rs",
                "pub mod x;\npub(crate) mod y;\nmod inner {\n    mod deep;\n}\n#[cfg(test)]\nmod t;\n",
            ),
            (
                "a/src/x.rs",
                "mod under;\n#[cfg(test)]\nmod tests;\n// mod commented;",
            ),
            ("a/src/x/under.rs", ""),
            ("a/src/x/tests.rs", ""),
            ("a/src/x/commented.rs", ""),
            ("a/src/y/mod.rs", "#[path = \"named.rs\"]\nmod other;"),
            ("a/src/y/named.rs", ""),
            ("a/src/inner/deep.rs", ""),
            ("a/src/t.rs", ""),
            ("a/src/orphan.rs", ""),
            ("a/tests/it/main.rs", "mod case;"),
            ("a/tests/it/case.rs", ""),
            ("a/src/bin/tool.rs", ""),
        ]);
        let (modules, found) = resolve(&tree);
        let dead: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(dead, ["a/src/orphan.rs", "a/src/x/commented.rs"]);
        assert!(
            modules.is_test("a/src/x/tests.rs")
                && modules.is_test("a/tests/it/case.rs")
                && modules.is_test("a/src/t.rs")
        );
        assert!(!modules.is_test("a/src/x/under.rs"));
    }
}
