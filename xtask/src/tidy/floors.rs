//! The floors of the engine: each folder uses only the floors before it.

use std::collections::BTreeMap;

use super::{Finding, Tree};
use crate::circles::Graph;

/// The crate with floors.
const ENGINE: &str = "crates/engine/src";

/// The folders and files of the engine, one floor per entry. A floor uses itself and the floors before it.
const FLOORS: &[&[&str]] = &[
    &["batch"],
    &[
        "options",
        "events",
        "stats",
        "timed_hooks",
        "table_properties_collector",
    ],
    &["log", "trace"],
    &["files"],
    &["state"],
    &["read"],
    &["write"],
    &["jobs"],
    &["ingest"],
    &["report"],
    &["lifecycle"],
    &["db"],
    &["ttl"],
];

/// Methods of the engine whose names types of other crates have too. Calls have no types here, so that a call
/// of such a name proves no use.
const OF_OTHERS: &[&str] = &[
    ".blob_files()",
    ".build()",
    ".charge()",
    ".compare()",
    ".entries()",
    ".expect()",
    ".file_size()",
    ".files()",
    ".follow()",
    ".now()",
    ".overlaps()",
    ".prefix_of()",
    ".size()",
    ".sync_dir()",
    ".user()",
    ".user_key()",
];

pub fn check(tree: &Tree, graphs: &BTreeMap<String, Graph>) -> Vec<Finding> {
    let Some(graph) = graphs.get(ENGINE) else {
        return vec![Finding::new(
            "floor",
            ENGINE,
            0,
            "no sources are here: the engine moved",
        )];
    };
    let mut found = upward(graph, ENGINE, FLOORS);
    let map = tree.texts.get("ARCHITECTURE.md").map_or("", String::as_str);
    found.extend(without_row(map, FLOORS));
    found
}

/// Returns the uses of a later floor by an earlier one, and the modules without a floor.
fn upward(graph: &Graph, root: &str, floors: &[&[&str]]) -> Vec<Finding> {
    let floor_of = |module: &str| {
        let folder = module.split('/').next().unwrap_or_default();
        floors.iter().position(|floor| floor.contains(&folder))
    };
    let mut found = Vec::new();
    for module in graph.modules.iter().filter(|module| !module.is_empty()) {
        if floor_of(module).is_none() {
            let message = format!(
                "{module} is on no floor: put it into a folder, or its folder into FLOORS of xtask/src/tidy/floors.rs"
            );
            found.push(Finding::new("floor", root, 0, message));
        }
    }
    for ((from, to), uses) in &graph.edges {
        let (from, to) = (&graph.modules[*from], &graph.modules[*to]);
        let (Some(user), Some(used)) = (floor_of(from), floor_of(to)) else {
            continue;
        };
        let real = uses.iter().filter(|text| {
            let name = text.rsplit_once(' ').map_or("", |(_, name)| name);
            !OF_OTHERS.contains(&name)
        });
        if user < used
            && let Some(first) = real.map(String::as_str).next()
        {
            let (place, name) = first.split_once(' ').unwrap_or((first, ""));
            let (path, line) = place.rsplit_once(':').unwrap_or((place, "0"));
            let message =
                format!("{from} uses {to} ({name}), which is on a later floor: move what it needs down");
            found.push(Finding::new("floor", path, line.parse().unwrap_or(0), message));
        }
    }
    found
}

/// Returns the floors without a row in the map of the engine, or with a row out of order.
fn without_row(map: &str, floors: &[&[&str]]) -> Option<Finding> {
    let mut rest = map;
    for floor in floors {
        let row = format!("| `{}/` |", floor[0]);
        match rest.split_once(&row) {
            Some((_, behind)) => rest = behind,
            None => {
                let message = format!("the table of the engine's floors lacks {} in its place", floor[0]);
                return Some(Finding::new("floor", "ARCHITECTURE.md", 0, message));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles;

    /// The findings of [`upward`] in the crate `a` of `files`.
    fn upward_in(files: &[(&str, &str)], floors: &[&[&str]]) -> Vec<Finding> {
        let tree = Tree::of(files);
        let graphs = circles::graphs(&tree, &tree.sources());
        upward(&graphs["a/src"], "a/src", floors)
    }

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "mod low;\nmod high;\nmod other;\n"),
        ];
        all.extend_from_slice(files);
        let found = upward_in(&all, &[&["low"], &["high", "other"]]);
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_floor_uses_those_before_it_alone() {
        let low = (
            "a/src/low.rs",
            "pub struct Low;\nimpl Low { pub fn lower(&self) {} }\n",
        );
        let high = (
            "a/src/high.rs",
            "use crate::low::Low;\nuse crate::other::f;\npub fn g(low: &Low) { low.lower(); f(); }\n",
        );
        let other = ("a/src/other.rs", "pub fn f() {}\n");
        assert_eq!(of(&[low, high, other]), [""; 0]);
        let path = ("a/src/low.rs", "pub fn f() {\n    super::high::g();\n}\n");
        let found = of(&[path, high, other]);
        assert!(
            found.len() == 1 && found[0].starts_with("a/src/low.rs:2: [floor] low uses high"),
            "{found:?}"
        );
        let method = (
            "a/src/other.rs",
            "use crate::low::Low;\npub fn f() {}\nimpl Low { pub fn raise(&self) {} }\n",
        );
        let calls = (
            "a/src/low.rs",
            "pub struct Low;\nimpl Low { pub fn lower(&self) { self.raise(); } }\n",
        );
        assert_eq!(of(&[calls, high, method]).len(), 1);
    }

    #[test]
    fn a_module_of_no_floor_is_refused() {
        let files = [
            ("a/src/low.rs", ""),
            ("a/src/high.rs", "mod x;\n"),
            ("a/src/high/x.rs", "pub fn f() {}\n"),
            ("a/src/other.rs", ""),
        ];
        assert_eq!(of(&files), [""; 0]);
        let files = [
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "mod lost;\n"),
            ("a/src/lost.rs", "pub fn f() {}\n"),
        ];
        assert_eq!(upward_in(&files, &[]).len(), 1);
    }

    #[test]
    fn the_map_has_the_floors_in_order() {
        let map = "| folder |\n| `low/` | a |\n| `high/` | b |\n";
        assert_eq!(without_row(map, &[&["low"], &["high"]]), None);
        assert!(without_row(map, &[&["high"], &["low"]]).is_some());
        assert!(without_row(map, &[&["low"], &["deep"]]).is_some());
    }
}
