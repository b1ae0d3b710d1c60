//! Modules, their edges, and the circles of them.

use std::collections::BTreeMap;

/// The modules of a crate. A module's number is its index in `modules`.
pub struct Graph {
    /// Paths below `src`, without `.rs` and `/mod`.
    pub modules: Vec<String>,
    /// The uses of one module by another, each with file, line and name.
    pub edges: BTreeMap<(usize, usize), Vec<String>>,
}

impl Graph {
    /// The strongly connected sets of two modules or more, in the order of their first modules.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let mut forwards = vec![Vec::new(); self.modules.len()];
        let mut backwards = vec![Vec::new(); self.modules.len()];
        for &(from, to) in self.edges.keys() {
            forwards[from].push(to);
            backwards[to].push(from);
        }
        // Kosaraju's algorithm: the order of finishing, then a search in the opposite direction.
        let mut order = Vec::new();
        let mut seen = vec![false; self.modules.len()];
        for start in 0..self.modules.len() {
            visit(&forwards, start, &mut seen, &mut order);
        }
        let mut circles = Vec::new();
        let mut seen = vec![false; self.modules.len()];
        for &start in order.iter().rev() {
            let mut circle = Vec::new();
            visit(&backwards, start, &mut seen, &mut circle);
            if circle.len() > 1 {
                circle.sort_unstable();
                circles.push(circle);
            }
        }
        circles.sort();
        circles
    }

    /// The edges between modules of `circle`, one per line, with the first use.
    pub fn inside(&self, circle: &[usize]) -> Vec<String> {
        self.edges
            .iter()
            .filter(|((from, to), _)| circle.contains(from) && circle.contains(to))
            .map(|((from, to), uses)| {
                format!(
                    "{} -> {} ({}): {}",
                    self.modules[*from],
                    self.modules[*to],
                    uses.len(),
                    uses.first().map_or("", String::as_str)
                )
            })
            .collect()
    }
}

/// Appends all modules to `order` that are reached from `start` and not `seen`, each after the modules it
/// reaches.
fn visit(edges: &[Vec<usize>], start: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((at, next)) = path.last_mut() {
        match edges[*at].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, 0));
                }
            }
            None => {
                order.push(*at);
                path.pop();
            }
        }
    }
}
