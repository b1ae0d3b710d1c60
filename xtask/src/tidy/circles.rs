//! Rule: the modules of a crate use each other in one direction.

use super::finding::Finding;
use super::tree::Tree;
use crate::circles::{self, Graph};

/// The crates whose modules use each other in circles, each with the number of modules in them. Lower the
/// numbers; add none.
const RATCHET: &[(&str, usize)] = &[("crates/capi/src", 28)];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let graphs = circles::graphs(tree);
    let gone = RATCHET.iter().filter(|(root, _)| !graphs.contains_key(*root));
    let mut found: Vec<Finding> = gone
        .map(|(root, _)| {
            Finding::new(
                "circle",
                root,
                0,
                "there is no such crate: take it off the list in circles.rs",
            )
        })
        .collect();
    found.extend(
        graphs
            .iter()
            .filter_map(|(root, graph)| one_way(root, graph, RATCHET)),
    );
    found
}

fn one_way(root: &str, graph: &Graph, ratchet: &[(&str, usize)]) -> Option<Finding> {
    let circles = graph.circles();
    let modules = circles.iter().map(Vec::len).sum::<usize>();
    let recorded = ratchet
        .iter()
        .find(|(path, _)| *path == root)
        .map(|(_, most)| *most);
    let message = match recorded {
        None if modules > 0 => {
            let first = circles[0].iter().map(|at| graph.modules[*at].as_str());
            format!(
                "{} use each other in a circle: move what they share below them; cargo xtask circles shows where",
                first.collect::<Vec<_>>().join(", ")
            )
        }
        Some(most) if modules > most => {
            format!("{modules} modules use each other in circles, more than the {most} that once did")
        }
        Some(_) if modules == 0 => "no circle is left: take it off the list in circles.rs".to_owned(),
        Some(most) if modules < most => {
            format!("{modules} modules use each other in circles: lower its number in circles.rs")
        }
        _ => return None,
    };
    Some(Finding::new("circle", root, 0, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_refused_and_the_list_only_shrinks() {
        let crate_of = |y: &str| {
            let files = [
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "mod x;\nmod y;\n"),
                ("a/src/x.rs", "pub fn f() { crate::y::g(); }\n"),
                ("a/src/y.rs", y),
            ];
            circles::graphs(&Tree::of(&files))
                .remove("a/src")
                .expect("the crate")
        };
        let sound = crate_of("pub fn g() {}\n");
        let circle = crate_of("pub fn g() { super::x::f(); }\n");
        let is_refused =
            |graph: &Graph, ratchet: &[(&str, usize)]| one_way("a/src", graph, ratchet).is_some();
        assert!(!is_refused(&sound, &[]));
        assert!(is_refused(&circle, &[]), "a new circle");
        assert!(!is_refused(&circle, &[("a/src", 2)]));
        assert!(is_refused(&circle, &[("a/src", 1)]), "a larger circle");
        assert!(is_refused(&circle, &[("a/src", 3)]), "a smaller circle");
        assert!(is_refused(&sound, &[("a/src", 2)]), "a circle that is gone");
    }
}
