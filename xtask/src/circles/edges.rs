//! The module that a path or a call of a method leads to.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{File, Import, Token};
use super::graph::Graph;
use super::names::of_std;

/// All files of a crate, by the paths of their modules.
struct Crate<'a> {
    files: BTreeMap<&'a [String], &'a File<'a>>,
    /// The modules with inherent methods of a name.
    methods: BTreeMap<&'a str, BTreeSet<&'a [String]>>,
    /// The modules with inherent methods, by type and method.
    of_type: BTreeMap<(&'a str, &'a str), BTreeSet<&'a [String]>>,
    /// The methods whose receiver may have another type: methods of traits in this crate, and methods of the
    /// crates that this one uses.
    others: BTreeSet<&'a str>,
}

/// The maximum number of re-exports of one path; a longer chain is a circle of `pub use`.
const MAX_REEXPORTS: usize = 16;

/// Returns the graph of the modules in `files`. `foreign` has the methods of the crates that this crate uses.
pub fn graph<'a>(files: &'a [File<'a>], foreign: &BTreeSet<&'a str>) -> Graph {
    let all = Crate::of(files, foreign);
    let mut modules: Vec<String> = files.iter().map(|file| room(&file.module)).collect();
    modules.sort();
    modules.dedup();
    let number = |module: &[String]| modules.binary_search(&room(module)).ok();
    let mut edges: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for file in files {
        let from = number(&file.module);
        for (line, name, to) in all.uses(file) {
            if let (Some(from), Some(to)) = (from, number(&to))
                && from != to
            {
                let text = format!("{}:{line} {name}", file.path);
                edges.entry((from, to)).or_default().push(text);
            }
        }
    }
    Graph { modules, edges }
}

/// True if `pub(in` ends `before`: the path after it is a visibility.
fn is_reach(before: &[Token<'_>]) -> bool {
    let words: Vec<&str> = before.iter().rev().take(3).map(|token| token.text).collect();
    words == ["in", "(", "pub"]
}

/// Returns the module's name in the graph: below the first level `x.rs` and `x/` are one module.
fn room(module: &[String]) -> String {
    module[..module.len().min(2)].join("/")
}

impl<'a> Crate<'a> {
    fn of(files: &'a [File<'a>], foreign: &BTreeSet<&'a str>) -> Crate<'a> {
        let mut all = Crate {
            files: BTreeMap::new(),
            methods: BTreeMap::new(),
            of_type: BTreeMap::new(),
            others: foreign.clone(),
        };
        for file in files {
            let module = &file.module[..];
            all.files.insert(module, file);
            all.others.extend(&file.of_traits);
            for (of, names) in &file.methods {
                for name in names {
                    all.methods.entry(name).or_default().insert(module);
                    all.of_type.entry((of, name)).or_default().insert(module);
                }
            }
        }
        all
    }

    /// Returns the line, name and module of each use in `file` of a module of this crate.
    fn uses(&self, file: &'a File<'a>) -> Vec<(usize, String, Vec<String>)> {
        let mut found = Vec::new();
        for import in file.imports.iter().filter(|import| !import.public) {
            if let Some((module, _)) = self.resolve(file, &import.path, 0, Some(import)) {
                found.push((import.line, import.path.join("::"), module));
            }
        }
        let tokens = &file.tokens;
        let mut at = 0;
        while at < tokens.len() {
            let next = |ahead: usize| tokens.get(at + ahead).map_or("", |token| token.text);
            let previous = at.checked_sub(1).map_or("", |before| tokens[before].text);
            let token = tokens[at];
            if token.text == "." && matches!(next(2), "(" | "::") {
                let on_self = previous == "self";
                let of = file.within[at].filter(|_| on_self);
                if let Some(module) = self.method(file, next(1), of) {
                    found.push((token.line, format!(".{}()", next(1)), module.to_vec()));
                }
                at += 2;
            } else if previous == "in" && is_reach(&tokens[..at]) {
                let mut len = 1;
                while next(len) == "::" {
                    len += 2;
                }
                at += len;
            } else if next(1) == "::" && previous != "::" {
                let mut path = vec![token.text.to_owned()];
                let mut len = 1;
                while next(len) == "::" && next(len + 1).starts_with(|c: char| c.is_alphabetic() || c == '_')
                {
                    path.push(next(len + 1).to_owned());
                    len += 2;
                }
                if path[0] == "Self"
                    && let (Some(of), Some(name)) = (file.within[at], path.get(1))
                {
                    if let Some(module) = self.method(file, name, Some(of)) {
                        found.push((token.line, path.join("::"), module.to_vec()));
                    }
                } else if let Some((module, _)) = self.resolve(file, &path, 0, None) {
                    found.push((token.line, path.join("::"), module));
                }
                at += len;
            } else {
                at += 1;
            }
        }
        found
    }

    /// Returns the only module that defines the method, for the type if it is known.
    fn method(&self, file: &File<'_>, name: &str, of: Option<&str>) -> Option<&'a [String]> {
        let candidates = match of.and_then(|of| self.of_type.get(&(of, name))) {
            Some(candidates) => candidates,
            None if of_std(name) || self.is_of_another(file, name) => return None,
            None => self.methods.get(name)?,
        };
        match candidates.len() {
            1 => candidates
                .first()
                .copied()
                .filter(|module| self.sees(file, module, name)),
            _ => None,
        }
    }

    /// False if only `module` and its descendants see the method, and `file` is not one of them.
    fn sees(&self, file: &File<'_>, module: &[String], name: &str) -> bool {
        let is_private = self
            .files
            .get(module)
            .is_some_and(|of| of.private.contains(&name));
        !is_private || file.module.starts_with(module)
    }

    /// True if other types have a method of the name, and `file` does not name the types of this crate that
    /// have one.
    fn is_of_another(&self, file: &File<'_>, name: &str) -> bool {
        self.others.contains(name)
            && !self
                .of_type
                .keys()
                .any(|(of, method)| *method == name && file.names(of))
    }

    /// Returns the module and the item that `path` in `file` refers to. `within` is the import that contains
    /// the path.
    fn resolve(
        &self,
        file: &'a File<'a>,
        path: &[String],
        reexports: usize,
        within: Option<&Import>,
    ) -> Option<(Vec<String>, Option<String>)> {
        let mut module = file.module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                let import = file
                    .imports
                    .iter()
                    .find(|import| {
                        import.name.as_deref() == Some(first)
                            && within.is_none_or(|within| !std::ptr::eq(within, *import))
                    })
                    .filter(|_| reexports < MAX_REEXPORTS);
                if let Some(import) = import {
                    let mut longer = import.path.clone();
                    longer.extend_from_slice(&path[1..]);
                    return self.resolve(file, &longer, reexports + 1, Some(import));
                }
                let mut child = module.clone();
                child.push(first.to_owned());
                if !self.files.contains_key(&child[..]) && !file.items.contains(&first) {
                    return None;
                }
            }
        }
        self.walk(module, rest, reexports)
    }

    fn walk(
        &self,
        mut module: Vec<String>,
        mut rest: &[String],
        reexports: usize,
    ) -> Option<(Vec<String>, Option<String>)> {
        loop {
            let Some(segment) = rest.first() else {
                return Some((module, None));
            };
            module.push(segment.clone());
            if self.files.contains_key(&module[..]) {
                rest = &rest[1..];
                continue;
            }
            module.pop();
            let file = self.files.get(&module[..])?;
            if file.items.contains(&segment.as_str()) {
                let of_method = rest
                    .get(1)
                    .and_then(|name| self.of_type.get(&(segment.as_str(), name.as_str())));
                return match of_method
                    .filter(|modules| modules.len() == 1)
                    .and_then(BTreeSet::first)
                {
                    Some(module) => Some((module.to_vec(), None)),
                    None => Some((module, Some(segment.clone()))),
                };
            }
            if reexports == MAX_REEXPORTS {
                return None;
            }
            let named = file
                .imports
                .iter()
                .find(|import| import.name.as_ref() == Some(segment));
            if let Some(import) = named {
                let mut longer = import.path.clone();
                longer.extend_from_slice(&rest[1..]);
                return self.resolve(file, &longer, reexports + 1, Some(import));
            }
            for import in file.imports.iter().filter(|import| import.name.is_none()) {
                let mut longer = import.path.clone();
                longer.extend_from_slice(rest);
                let found = self.resolve(file, &longer, reexports + 1, Some(import));
                if found.as_ref().is_some_and(|(_, item)| item.is_some()) {
                    return found;
                }
            }
            return Some((module, None));
        }
    }
}
