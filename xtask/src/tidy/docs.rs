//! Rules for documents: every path, link and heading in them exists.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;

/// The contents of the book.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// The folders with which a path in a text may begin; other code is not a path.
const FOLDERS: &[&str] = &[
    "crates/",
    "testing/",
    "bench/",
    "tools/",
    "docs/",
    "xtask/",
    "fuzz/",
    "bindings/",
    "testdata/",
    ".ci/",
    ".config/",
];

/// The folder of the pages about the flow of data. `MOST_OF_FLOW` is the maximum size of a page there, in
/// bytes.
const FLOW: &str = "docs/flow/";
const MOST_OF_FLOW: usize = 12_000;

/// Pages whose code of the form `Type::name` must be a function or a field of the crates.
const CALLS: &[&str] = &[
    "docs/backup.md",
    "docs/how_do_i.md",
    "docs/open.md",
    "docs/performance.md",
    "docs/repair.md",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut linked: BTreeSet<String> = BTreeSet::new();
    for (path, text) in tree.with_extension("md") {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        for (at, line) in text.lines().enumerate() {
            for (target, fragment) in links(line) {
                let target = join(dir, target);
                let missing = missing_function(tree, &target, fragment);
                if let Some(missing) = missing.or_else(|| missing_heading(tree, &target, fragment)) {
                    found.push(Finding::new("link", path, at + 1, missing));
                }
                if exists(tree, &target) {
                    // The book links to every page, which does not prove that other pages lead readers to it.
                    if path != SUMMARY {
                        linked.insert(target);
                    }
                } else {
                    found.push(Finding::new(
                        "link",
                        path,
                        at + 1,
                        format!("{target} does not exist"),
                    ));
                }
            }
            for named in line.split('`').skip(1).step_by(2) {
                if CALLS.contains(&path)
                    && let Some(missing) = missing_call(tree, named)
                {
                    found.push(Finding::new("link", path, at + 1, missing));
                }
                let is_path = FOLDERS.iter().any(|folder| named.starts_with(folder))
                    && !named.contains(|c: char| c.is_whitespace() || "*{}<>…".contains(c));
                if is_path && !exists(tree, named) {
                    found.push(Finding::new(
                        "link",
                        path,
                        at + 1,
                        format!("{named} does not exist"),
                    ));
                }
            }
        }
    }
    let mut in_book: Option<BTreeSet<String>> = None;
    for page in tree
        .text(SUMMARY)
        .into_iter()
        .flat_map(|text| linked_pages(SUMMARY, text))
    {
        let pages = in_book.get_or_insert_default();
        if pages.contains(&page) {
            let message = format!("links to {page} twice: a page has one place in the book");
            found.push(Finding::new("book", SUMMARY, 0, message));
        }
        pages.insert(page);
    }
    for (path, _) in tree
        .with_extension("md")
        .filter(|(path, _)| path.starts_with("docs/") && *path != SUMMARY)
    {
        if path.starts_with(FLOW) && tree.text(path).is_some_and(|text| text.len() > MOST_OF_FLOW) {
            let message = format!("more than {MOST_OF_FLOW} bytes: make a page of a part");
            found.push(Finding::new("size", path, 0, message));
        }
        if in_book.as_ref().is_some_and(|pages| !pages.contains(path)) {
            found.push(Finding::new(
                "book",
                path,
                0,
                format!("{} does not link here: the page is not in the book", SUMMARY),
            ));
        }
        if !linked.contains(path) {
            found.push(Finding::new(
                "unlinked",
                path,
                0,
                "no other document links here: no reader will find it",
            ));
        }
    }
    found
}

/// Returns the fault of `file.rs#name` if the file has no function of that name, such as the test of a
/// promise.
fn missing_function(tree: &Tree, target: &str, fragment: &str) -> Option<String> {
    if fragment.is_empty() || !target.ends_with(".rs") {
        return None;
    }
    let (_, text) = tree.with_extension("rs").find(|(path, _)| *path == target)?;
    let there = text.contains(&format!("fn {fragment}("));
    (!there).then(|| format!("{target} has no function {fragment}"))
}

/// Returns the fault of `Type::name` if the crates have no public function, field or option row of that name.
fn missing_call(tree: &Tree, named: &str) -> Option<String> {
    let (kind, name) = named.split_once("::")?;
    let is_call = kind.starts_with(|c: char| c.is_ascii_uppercase())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_call {
        return None;
    }
    let forms = [
        format!("fn {name}("),
        format!("fn {name}<"),
        format!("pub {name}:"),
        format!(" {name}: "),
    ];
    let is_there = tree
        .with_extension("rs")
        .filter(|(path, _)| path.starts_with("crates/"))
        .any(|(_, text)| text.contains(name) && forms.iter().any(|form| text.contains(form)));
    (!is_there).then(|| format!("the crates have no {named}"))
}

/// Returns the fault of `page.md#heading` if the page has no such heading.
fn missing_heading(tree: &Tree, target: &str, fragment: &str) -> Option<String> {
    if fragment.is_empty() || !target.ends_with(".md") {
        return None;
    }
    let text = tree.text(target)?;
    let is_there = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#').trim()) == fragment);
    (!is_there).then(|| format!("{target} has no heading #{fragment}"))
}

/// Returns the fragment of a heading, as GitHub and mdBook form it.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Returns the pages that the page `path` links to, from the root.
pub fn linked_pages<'a>(path: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    text.lines()
        .flat_map(links)
        .map(move |(target, _)| join(folder, target))
        .filter(|target| target.ends_with(".md"))
}

/// Returns the targets of `[text](target)` in this tree, each with its `#fragment`.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|target| target.split_once('#').unwrap_or((target, "")))
        .filter(|(target, _)| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
}

/// Returns the path of `target`, which is relative to `dir`.
pub fn join(dir: &str, target: &str) -> String {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn exists(tree: &Tree, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let folder = format!("{path}/");
    tree.paths
        .iter()
        .any(|found| found == path || found.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_flow_are_short() {
        let long = "word ".repeat(MOST_OF_FLOW / 5 + 1);
        let tree = Tree::of(&[("docs/flow/a.md", &long), ("docs/a.md", &long)]);
        let found = check(&tree);
        let sizes: Vec<&str> = found
            .iter()
            .filter(|found| found.rule == "size")
            .map(|found| &*found.path)
            .collect();
        assert_eq!(sizes, ["docs/flow/a.md"]);
    }

    #[test]
    fn documents_point_at_what_is_there() {
        let tree = Tree::of(&[
            (
                "README.md",
                "[map](ARCHITECTURE.md#a-map) [no](ARCHITECTURE.md#x) [gone](docs/gone.md) `crates/a/src` `crates/b` `crates/{x}` `cargo test`",
            ),
            (
                "ARCHITECTURE.md",
                "# A map!\n[one](docs/flow/one.md) [web](https://docs.rs/x)",
            ),
            ("docs/flow/one.md", "[up](../../README.md)"),
            (
                "docs/flow/two.md",
                "[test](../../crates/a/src/lib.rs#is_there) [gone](../../crates/a/src/lib.rs#is_not) [o](../open.md)",
            ),
            ("crates/a/src/lib.rs", "fn is_there() {}"),
            (
                "docs/SUMMARY.md",
                "[one](flow/one.md) [map](../ARCHITECTURE.md) [open](open.md) [again](open.md)",
            ),
            ("docs/open.md", "`Db::is_there` `Db::is_not` `Db` `Kind::Variant`"),
        ]);
        let found: Vec<String> = check(&tree)
            .iter()
            .map(|f| format!("{} {} {}", f.rule, f.path, f.message))
            .collect();
        assert_eq!(
            found,
            [
                "link README.md ARCHITECTURE.md has no heading #x",
                "link README.md docs/gone.md does not exist",
                "link README.md crates/b does not exist",
                "link docs/flow/two.md crates/a/src/lib.rs has no function is_not",
                "link docs/open.md the crates have no Db::is_not",
                "book docs/SUMMARY.md links to docs/open.md twice: a page has one place in the book",
                "book docs/flow/two.md docs/SUMMARY.md does not link here: the page is not in the book",
                "unlinked docs/flow/two.md no other document links here: no reader will find it",
            ]
        );
    }
}
