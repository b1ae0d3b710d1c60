//! Rules for every text in the tree, in any language.

use super::finding::Finding;
use super::tree::Tree;

/// Words that mark unfinished work. They are split here, because the file must follow its own rule.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// Folders of a single machine: no file of the tree may depend on them.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/work", "space/"),
    concat!("/bui", "lds/"),
    concat!("/m", "nt/"),
];

/// The hosts that the tree may name. A private registry or mirror is not among them.
const HOSTS: &[&str] = &[
    "github.com",
    "crates.io",
    "static.crates.io",
    "docs.rs",
    "www.apache.org",
    "www.lmdb.tech",
    "slatedb.io",
    // the name of the SVG format, which pictures contain
    "www.w3.org",
    // this machine's addresses, in examples and tests
    "127.0.0.1",
    "localhost",
    "rocksdb.org",
    "doc.rust-lang.org",
    "llvm.org",
    "keepachangelog.com",
    "semver.org",
];

/// Extensions of files whose lines may end in blanks: test cases quote output.
const QUOTING: &[&str] = &[".dd"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts
        .iter()
        .flat_map(|(path, text)| check_text(path, text))
        .collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let quotes = QUOTING.iter().any(|ending| path.ends_with(ending));
    for (at, line) in text.split('\n').enumerate() {
        let mut add = |rule, message: String| found.push(Finding::new(rule, path, at + 1, message));
        if line.ends_with([' ', '\t', '\r']) && !quotes {
            add("whitespace", "blanks at the end of the line".into());
        }
        if line.contains('\t') && path.ends_with(".rs") {
            add("whitespace", "a tab".into());
        }
        if let Some(word) = UNFINISHED
            .iter()
            .find(|word| super::source::word_at(line, word).is_some())
        {
            add(
                "unfinished",
                format!("{word}: finish it, or open an issue and leave the tree clean"),
            );
        }
        if let Some(place) = MACHINE_PATHS.iter().find(|place| names_folder(line, place)) {
            add("machine", format!("{place} is a place on one machine"));
        }
        for host in hosts(line).filter(|host| !HOSTS.contains(host)) {
            add("host", format!("{host} is not among the hosts the tree may name"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        found.push(Finding::new("whitespace", path, 0, "lacks the last newline"));
    }
    if text.ends_with("\n\n") {
        found.push(Finding::new("whitespace", path, 0, "ends in empty lines"));
    }
    found
}

/// True if `folder` begins an absolute path; `a/home/b` is not one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.}$".contains(c))
    })
}

fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || ".-".contains(c));
    ["http://", "https://"]
        .into_iter()
        .flat_map(|scheme| line.split(scheme).skip(1))
        .map(move |rest| rest.split(ends).next().unwrap_or(rest))
        .filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<String> {
        check_text(path, text)
            .iter()
            .map(|found| format!("{}:{}", found.line, found.rule))
            .collect()
    }

    #[test]
    fn blanks_and_line_ends() {
        assert_eq!(
            rules("a.md", "a \nb\r\n\n"),
            ["1:whitespace", "2:whitespace", "0:whitespace"]
        );
        assert_eq!(rules("a.rs", "\tx"), ["1:whitespace", "0:whitespace"]);
        assert_eq!(rules("a.dd", "a \n"), Vec::<String>::new());
    }

    #[test]
    fn unfinished_work_is_named() {
        let line = format!("// {}: later\n", UNFINISHED[0]);
        assert_eq!(rules("a.rs", &line), ["1:unfinished"]);
        assert_eq!(rules("a.rs", "let x = XXXL;\n"), Vec::<String>::new());
    }

    #[test]
    fn no_place_of_one_machine() {
        let line = format!("cd {}me/esker\n", MACHINE_PATHS[0]);
        assert_eq!(rules("a.md", &line), ["1:machine"]);
        assert_eq!(
            rules("a.md", "see crates/home/x and $HOME/work/y\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            rules(
                "a.toml",
                concat!("index = \"https:/", "/mirror.example.internal/x\"\n")
            ),
            ["1:host"]
        );
        assert_eq!(
            rules("a.md", "<https://github.com/esker-db/esker>\n"),
            Vec::<String>::new()
        );
    }
}
