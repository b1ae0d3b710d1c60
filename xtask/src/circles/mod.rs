//! `circles`: the modules of each crate, their uses of each other, and the circles of these uses.
//!
//! A module is a file. `mod` and `pub use` lines are no edges, and tests are left out. Paths are edges, and
//! so are calls of inherent methods that another file defines. `x.rs` and the folder `x/` are one module,
//! except on a crate's first level. Receivers have no types here: a call `.name()` counts if exactly one file
//! of the crate has an inherent method of that name, and a method that the standard library has too counts
//! only if the receiver is `self`.

mod edges;
mod file;
mod graph;
mod names;

use std::collections::BTreeMap;

use crate::shell::{self, Outcome};
use crate::tidy::{Source, Tree};
use file::File;
use graph::Graph;

/// Prints, for each crate or for `only`, its circles and the uses inside them.
pub fn run(only: Option<&str>) -> Outcome {
    let tree = Tree::read(&shell::root())?;
    let mut circles = 0;
    for (root, graph) in graphs(&tree) {
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

/// The graph of each crate, by the folder of its sources.
pub fn graphs(tree: &Tree) -> BTreeMap<String, Graph> {
    let sources = tree.sources();
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in &sources {
        if let Some((root, _)) = source.path.split_once("/src/")
            && !source.lines.iter().all(|line| line.test)
            && !source.path.contains("/src/bin/")
        {
            crates.entry(root).or_default().push(source);
        }
    }
    crates
        .into_iter()
        .map(|(root, sources)| {
            let root = format!("{root}/src");
            let files: Vec<File> = sources.iter().map(|source| File::read(&root, source)).collect();
            (root, edges::graph(&files))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("a/src/{path}"), text, false))
            .collect();
        let files: Vec<File> = sources.iter().map(|source| File::read("a/src", source)).collect();
        let graph = edges::graph(&files);
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
}
