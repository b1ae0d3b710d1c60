//! Rule: the modules of a crate use each other in one direction.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::circles::Graph;

pub fn check(graphs: &BTreeMap<String, Graph>) -> Vec<Finding> {
    graphs
        .iter()
        .filter_map(|(root, graph)| one_way(root, graph))
        .collect()
}

fn one_way(root: &str, graph: &Graph) -> Option<Finding> {
    let circles = graph.circles();
    let first = circles.first()?.iter().map(|at| graph.modules[*at].as_str());
    let message = format!(
        "{} use each other in a circle: move what they share below them; cargo xtask circles shows where",
        first.collect::<Vec<_>>().join(", ")
    );
    Some(Finding::new("circle", root, 0, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles;
    use crate::tidy::Tree;

    #[test]
    fn a_circle_is_refused() {
        let found = |y: &str| {
            let files = [
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "mod x;\nmod y;\n"),
                ("a/src/x.rs", "pub fn f() { crate::y::g(); }\n"),
                ("a/src/y.rs", y),
            ];
            let tree = Tree::of(&files);
            check(&circles::graphs(&tree, &tree.sources())).len()
        };
        assert_eq!(found("pub fn g() {}\n"), 0);
        assert_eq!(found("pub fn g() { super::x::f(); }\n"), 1);
    }
}
