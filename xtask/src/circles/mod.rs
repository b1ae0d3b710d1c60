//! `circles`: the modules of each crate, their uses of each other, and the circles of these uses.
//!
//! A module is a file. Lines of `mod` and `pub use` are not edges, and tests are ignored. Paths are edges,
//! and so are calls of inherent methods that another file defines. `x.rs` and the folder `x/` are one module,
//! except on a crate's first level. Receivers have no types here: a call `.name()` counts if exactly one file
//! of the crate has an inherent method of that name. If a trait, or a crate that this one uses, has the name
//! too, the call counts only in a file that names the type. A call of a name from the standard library counts
//! only if the receiver is `self`.

mod edges;
mod file;
mod graph;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use crate::shell::{self, Outcome};
use crate::tidy::{Source, Tree};
use file::File;
pub use graph::Graph;

/// Prints, for each crate or for `only`, its circles and the uses inside them.
pub fn run(only: Option<&str>) -> Outcome {
    let tree = Tree::read(&shell::root())?;
    let mut circles = 0;
    for (root, graph) in graphs(&tree, &tree.sources()) {
        if only.is_some_and(|only| !root.trim_end_matches("/src").ends_with(only)) {
            continue;
        }
        let found = graph.circles();
        circles += found.len();
        println!(
            "{root}: {} modules, {} in circles",
            graph.modules.len(),
            found.iter().map(Vec::len).sum::<usize>()
        );
        for circle in found {
            println!("  circle of {}", circle.len());
            for line in graph.inside(&circle) {
                println!("    {line}");
            }
        }
    }
    println!("{circles} circles");
    Ok(())
}

/// Returns the graph of each crate of `tree`, by the folder of its sources. `sources` are the tree's.
pub fn graphs(tree: &Tree, sources: &[Source]) -> BTreeMap<String, Graph> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        if let Some((root, _)) = source.path.split_once("/src/")
            && !source.lines.iter().all(|line| line.test)
            && !source.path.contains("/src/bin/")
        {
            crates.entry(root).or_default().push(source);
        }
    }
    let files: BTreeMap<&str, Vec<File>> = crates
        .into_iter()
        .map(|(home, sources)| {
            let root = format!("{home}/src");
            (
                home,
                sources.iter().map(|source| File::read(&root, source)).collect(),
            )
        })
        .collect();
    files
        .iter()
        .map(|(home, own)| {
            let foreign = used_crates(tree, home)
                .into_iter()
                .filter_map(|used| files.get(used))
                .flatten()
                .flat_map(|file| file.methods.values().flatten().chain(&file.of_traits).copied())
                .collect();
            (format!("{home}/src"), edges::graph(own, &foreign))
        })
        .collect()
}

/// Returns the folders of the workspace's crates that the crate in `home` uses, directly or through others.
fn used_crates<'a>(tree: &'a Tree, home: &str) -> BTreeSet<&'a str> {
    let root = tree.text("Cargo.toml").unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut queue = vec![home];
    while let Some(home) = queue.pop() {
        let manifest = tree.text(&format!("{home}/Cargo.toml")).unwrap_or_default();
        let names = manifest
            .lines()
            .filter_map(|line| line.strip_suffix(".workspace = true"));
        for used in names.filter_map(|name| folder(root, name)) {
            if found.insert(used) {
                queue.push(used);
            }
        }
    }
    found
}

/// Returns the folder of the crate that the workspace's manifest calls `name`, if it is in the workspace.
fn folder<'a>(root: &'a str, name: &str) -> Option<&'a str> {
    let row = root
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = {"))?;
    let (_, path) = row.split_once("path = \"")?;
    path.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        circles_over(files, &[])
    }

    /// Returns the circles of a crate. `foreign` has the methods of the crates that it uses.
    fn circles_over(files: &[(&str, &str)], foreign: &[&str]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("a/src/{path}"), text, false))
            .collect();
        let files: Vec<File> = sources.iter().map(|source| File::read("a/src", source)).collect();
        let graph = edges::graph(&files, &foreign.iter().copied().collect());
        graph
            .circles()
            .into_iter()
            .map(|circle| circle.into_iter().map(|at| graph.modules[at].clone()).collect())
            .collect()
    }

    #[test]
    fn paths_are_edges() {
        let found = circles(&[
            ("lib.rs", "mod x;\nmod y;\nmod z;\npub use x::X;\n"),
            ("x.rs", "use crate::y::{self, Y};\npub struct X(Y);\n"),
            ("y.rs", "pub struct Y;\nfn f() { super::z::g(); }\n"),
            ("z.rs", "pub fn g() -> crate::X { todo() }\n"),
        ]);
        assert_eq!(found, [["x", "y", "z"]]);
    }

    #[test]
    fn declarations_and_tests_are_none() {
        let found = circles(&[
            ("lib.rs", "mod x;\npub mod y;\n"),
            ("x/mod.rs", "pub mod part;\npub use part::Part;\n"),
            (
                "x/part.rs",
                "pub struct Part;\n#[cfg(test)]\nmod tests { use crate::y::Y; }\n",
            ),
            ("y.rs", "use crate::x::Part;\npub struct Y(Part);\n"),
        ]);
        assert_eq!(found, [[""; 0]; 0]);
    }

    #[test]
    fn a_reexport_leads_to_its_origin() {
        let found = circles(&[
            ("lib.rs", "mod x;\nmod y;\n"),
            ("x/mod.rs", "mod part;\npub use part::*;\n"),
            ("x/part.rs", "pub struct Part;\nfn f() { crate::y::g(); }\n"),
            ("y.rs", "use crate::x::Part;\npub fn g() -> Part { Part }\n"),
        ]);
        assert_eq!(found, [["x/part", "y"]]);
    }

    #[test]
    fn the_lifetime_static_begins_no_item() {
        let found = circles(&[
            ("lib.rs", "mod x;\n"),
            (
                "x/mod.rs",
                "mod part;\nmod other;\npub use part::Part;\nfn f() -> &'static Part { other::g() }\n",
            ),
            ("x/part.rs", "pub struct Part;\n"),
            (
                "x/other.rs",
                "use super::Part;\npub fn g() -> &'static Part { &Part }\n",
            ),
        ]);
        assert_eq!(found, [[""; 0]; 0]);
    }

    #[test]
    fn calls_of_methods_are_edges() {
        let found = circles(&[
            ("lib.rs", "mod x;\nmod y;\n"),
            ("x.rs", "pub struct X;\nfn f(x: &X) { x.told(); x.len(); }\n"),
            (
                "y.rs",
                "use crate::x::X;\nimpl X { pub fn told(&self) {} fn len(&self) {} }\n",
            ),
        ]);
        assert_eq!(found, [["x", "y"]]);
        let none = circles(&[
            ("lib.rs", "mod x;\nmod y;\n"),
            ("x.rs", "pub struct X;\nfn f(x: &[u8]) { x.len(); }\n"),
            ("y.rs", "use crate::x::X;\nimpl X { fn len(&self) {} }\n"),
        ]);
        assert_eq!(none, [[""; 0]; 0]);
    }

    #[test]
    fn a_file_and_its_folder_are_one_module_below_the_first_level() {
        let found = circles(&[
            ("lib.rs", "mod x;\n"),
            ("x/mod.rs", "mod y;\n"),
            ("x/y.rs", "mod z;\npub struct Y;\nuse z::Z;\n"),
            ("x/y/z.rs", "use super::Y;\npub struct Z(Y);\n"),
        ]);
        assert_eq!(found, [[""; 0]; 0]);
    }

    #[test]
    fn a_name_that_other_types_have_counts_where_the_type_is_named() {
        let y = "pub struct Y;\nimpl Y { pub fn told(&self) { crate::x::f(); } }\n";
        let crate_of = |x: &str, foreign: &[&str]| {
            circles_over(
                &[("lib.rs", "mod x;\nmod y;\n"), ("x.rs", x), ("y.rs", y)],
                foreign,
            )
        };
        let unnamed = "pub fn f() { there().told(); }\n";
        let named = "use crate::y::Y;\npub fn f(y: &Y) { y.told(); }\n";
        assert_eq!(crate_of(unnamed, &[]), [["x", "y"]]);
        assert_eq!(crate_of(unnamed, &["told"]), [[""; 0]; 0]);
        assert_eq!(crate_of(named, &["told"]), [["x", "y"]]);
        let of_a_trait = "pub trait T { fn told(&self); }\npub fn f(t: &dyn T) { t.told(); }\n";
        assert_eq!(crate_of(of_a_trait, &[]), [[""; 0]; 0]);
    }

    #[test]
    fn the_reach_of_an_item_is_no_edge() {
        let found = circles(&[
            ("lib.rs", "mod x;\n"),
            ("x/mod.rs", "mod y;\nuse y::Y;\npub struct X(Y);\n"),
            (
                "x/y.rs",
                "pub(in crate::x) struct Y;\npub(in super::super::x) struct Z;\n",
            ),
        ]);
        assert_eq!(found, [[""; 0]; 0]);
    }

    #[test]
    fn a_private_method_is_called_in_its_module_alone() {
        let crate_of = |reach: &str| {
            circles(&[
                ("lib.rs", "mod x;\nmod y;\n"),
                ("x.rs", "pub struct X;\npub fn f() { there().told(); }\n"),
                (
                    "y.rs",
                    &format!("use crate::x::X;\nimpl X {{ {reach}const fn told(&self) {{}} }}\n"),
                ),
            ])
        };
        assert_eq!(crate_of(""), [[""; 0]; 0]);
        assert_eq!(crate_of("pub "), [["x", "y"]]);
        assert_eq!(crate_of("pub(super) "), [["x", "y"]]);
    }

    #[test]
    fn crates_are_followed_through_those_they_use() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\na = { package = \"x-a\", path = \"crates/a\" }\nb = { path = \"crates/b\" }\n",
            ),
            ("crates/a/Cargo.toml", "[dependencies]\nlibc.workspace = true\n"),
            ("crates/b/Cargo.toml", "[dependencies]\na.workspace = true\n"),
            ("tools/c/Cargo.toml", "[dependencies]\nb.workspace = true\n"),
        ]);
        assert_eq!(
            used_crates(&tree, "tools/c").into_iter().collect::<Vec<_>>(),
            ["crates/a", "crates/b"]
        );
    }
}
