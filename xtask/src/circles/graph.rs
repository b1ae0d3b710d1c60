//! Modules, the edges between them, and their circles.

use std::collections::BTreeMap;

/// The modules of a crate. A module's number is its index in `modules`.
pub struct Graph {
    /// The paths below `src`, without `.rs` and `/mod`.
    pub modules: Vec<String>,
    /// The uses of one module by another, each with its file, line and name.
    pub edges: BTreeMap<(usize, usize), Vec<String>>,
}

impl Graph {
    /// Returns the strongly connected sets of two modules or more, in the order of their first modules.
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

    /// Returns the graph of the crate's first level: a folder is one module.
    pub fn of_first_level(&self) -> Graph {
        let folder = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
        let mut modules: Vec<String> = self.modules.iter().map(|module| folder(module)).collect();
        modules.dedup();
        let number = |at: usize| modules.binary_search(&folder(&self.modules[at])).ok();
        let mut edges: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
        for ((from, to), uses) in &self.edges {
            if let (Some(from), Some(to)) = (number(*from), number(*to))
                && from != to
            {
                edges.entry((from, to)).or_default().extend_from_slice(uses);
            }
        }
        Graph { modules, edges }
    }

    /// Returns the modules in layers: each module uses only modules of earlier layers. The modules of a
    /// circle count as one, in parentheses.
    pub fn layers(&self) -> Vec<Vec<String>> {
        let mut groups = self.circles();
        let lone = |at: &usize| !groups.iter().any(|circle| circle.contains(at));
        let lone: Vec<usize> = (0..self.modules.len()).filter(lone).collect();
        groups.extend(lone.into_iter().map(|at| vec![at]));
        let group = |at: usize| {
            groups
                .iter()
                .position(|group| group.contains(&at))
                .unwrap_or_default()
        };
        let edges: Vec<(usize, usize)> = self
            .edges
            .keys()
            .map(|&(from, to)| (group(from), group(to)))
            .collect();
        let mut layer = vec![0; groups.len()];
        // Without circles the longest path has fewer steps than there are groups.
        for _ in 0..groups.len() {
            for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
                layer[from] = layer[from].max(layer[to] + 1);
            }
        }
        let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
        for (group, layer) in groups.iter().zip(layer) {
            let names: Vec<&str> = group.iter().map(|at| self.modules[*at].as_str()).collect();
            layers[layer].push(match names.len() {
                1 => names[0].to_owned(),
                _ => format!("({})", names.join(" ")),
            });
        }
        layers.iter_mut().for_each(|layer: &mut Vec<String>| layer.sort());
        layers
    }

    /// Returns the edges between modules of `circle`, one per line, with the first use.
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

/// Appends the modules that are reachable from `start` and not `seen` to `order`, each after the modules it
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_begin_at_the_ground() {
        let names = ["a", "a/x", "b", "c", "d", "e"];
        let edges = [(0, 2), (1, 3), (3, 4), (4, 3), (4, 2)];
        let graph = Graph {
            modules: names.map(str::to_owned).into(),
            edges: edges.map(|edge| (edge, Vec::new())).into(),
        };
        let layers = graph.of_first_level().layers();
        let text: Vec<String> = layers.iter().map(|layer| layer.join(" ")).collect();
        assert_eq!(text, ["b e", "(c d)", "a"]);
    }
}
