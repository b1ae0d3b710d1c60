//! Rules about files and crates as a whole.

use super::finding::Finding;
use super::source::Source;
use super::tree::Tree;

/// The maximum number of lines in a file, without its tests.
const MOST_LINES: usize = 1_000;

/// Files that are longer than the limit, with their number of lines. Shorten a file, then lower its number;
/// add none.
const RATCHET: &[(&str, usize)] = &[];

/// The crates of the workspace that a crate may use, in dependency order: the arrows of ARCHITECTURE.md.
/// Tools, bindings, tests and dev-dependencies are unrestricted.
const ARROWS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("codec", &["base"]),
    ("vfs", &["base"]),
    ("cache", &["base", "codec"]),
    ("rangedel", &["base"]),
    ("testkit", &["base"]),
    ("wal", &["base", "codec", "vfs"]),
    ("memtable", &["base", "rangedel"]),
    ("sst", &["base", "codec", "vfs", "cache", "rangedel"]),
    ("blob", &["base", "codec", "vfs", "cache"]),
    ("manifest", &["base"]),
    ("compact", &["base", "codec", "manifest", "rangedel"]),
    ("backup", &["base", "codec", "vfs", "sst", "esker"]),
    ("mvcc", &["base", "codec", "esker"]),
    ("http", &["base"]),
    ("metrics", &["base", "esker", "http"]),
    (
        "serve",
        &[
            "base", "compact", "esker", "http", "manifest", "sst", "vfs", "wal",
        ],
    ),
    ("capi", &["base", "txn", "vfs", "esker", "backup"]),
    ("jni", &["base", "vfs", "esker", "backup", "txn"]),
];

/// The crates with unsafe code; every other has `#![forbid(unsafe_code)]`.
const UNSAFE_CRATES: &[&str] = &[
    "crates/memtable/",
    "crates/cache/",
    "crates/sst/",
    "crates/vfs/",
    "crates/capi/",
    "crates/jni/",
];

/// The folders of the crates that have the rules of the engine. The others hold programs.
const HOMES: &[&str] = &["crates/", "testing/"];

/// The folders outside of the default build, whose dependencies have versions of their own.
const APART: &[&str] = &["bench/compare/", "fuzz/", "bindings/"];

pub fn check(tree: &Tree, sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources {
        found.extend(length(source, RATCHET));
        let is_root = ["src/lib.rs", "src/main.rs"]
            .iter()
            .any(|root| source.path.ends_with(root));
        let may_be_unsafe = UNSAFE_CRATES.iter().any(|place| source.path.starts_with(place));
        let forbids = source
            .lines
            .iter()
            .any(|line| line.code.contains("#![forbid(unsafe_code)]"));
        let has_home = HOMES.iter().any(|home| source.path.starts_with(home));
        if is_root && has_home && !may_be_unsafe && !forbids {
            found.push(Finding::new(
                "forbid-unsafe",
                &source.path,
                0,
                "begins with #![forbid(unsafe_code)]",
            ));
        }
    }
    for (path, text) in tree
        .with_extension("toml")
        // The packages in `patch` are skipped, because they are not members of the workspace.
        .filter(|(path, _)| path.ends_with("Cargo.toml") && !path.contains("/patch/"))
    {
        found.extend(manifest(path, text));
    }
    for path in &tree.paths {
        let Some((home, file)) = path.split_once("/tests/") else {
            continue;
        };
        if HOMES.iter().any(|place| home.starts_with(place))
            && !home.contains("/src")
            && file.ends_with(".rs")
            && !file.contains('/')
        {
            let message =
                "one integration binary a crate: move it under tests/it/ and declare it in tests/it/main.rs";
            found.push(Finding::new("integration", path, 0, message));
        }
    }
    found
}

fn length(source: &Source, ratchet: &[(&str, usize)]) -> Option<Finding> {
    let lines = source.lines.iter().filter(|line| !line.test).count();
    let recorded = ratchet
        .iter()
        .find(|(path, _)| *path == source.path)
        .map(|(_, most)| *most);
    let message = match recorded {
        None if lines > MOST_LINES => {
            format!("{lines} lines without tests, at most {MOST_LINES}: split it by purpose")
        }
        Some(most) if lines > most => {
            format!("{lines} lines without tests, more than the {most} it once had")
        }
        Some(_) if lines <= MOST_LINES => "short enough now: take it off the list in layout.rs".to_owned(),
        _ => return None,
    };
    Some(Finding::new("length", &source.path, 0, message))
}

fn manifest(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_root = path == "Cargo.toml";
    let name = HOMES
        .iter()
        .find_map(|home| path.strip_prefix(home))
        .and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    let arrows = ARROWS
        .iter()
        .find(|(from, _)| Some(*from) == name)
        .map(|(_, to)| *to);
    let mut section = "";
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
            continue;
        }
        if !matches!(
            section,
            "[dependencies]" | "[dev-dependencies]" | "[build-dependencies]"
        ) {
            continue;
        }
        let Some((dependency, _)) = line.split_once(['.', ' ', '=']) else {
            continue;
        };
        let dependency = dependency.trim();
        if dependency.is_empty() || line.starts_with('#') {
            continue;
        }
        let in_default_build = !is_root && !APART.iter().any(|place| path.starts_with(place));
        if in_default_build && !line.contains("workspace = true") {
            let message =
                format!("{dependency}: its version belongs into the root's [workspace.dependencies]");
            found.push(Finding::new("manifest", path, at + 1, message));
        }
        let is_ours =
            ARROWS.iter().any(|(from, _)| *from == dependency) || matches!(dependency, "esker" | "dbtest");
        if section == "[dependencies]" && is_ours && arrows.is_some_and(|to| !to.contains(&dependency)) {
            let message = format!("no arrow leads from {} to {dependency}", name.unwrap_or(path));
            found.push(Finding::new("arrow", path, at + 1, message));
        }
    }
    if !is_root && !text.contains("[lints]\nworkspace = true") {
        found.push(Finding::new(
            "manifest",
            path,
            0,
            "lacks [lints] workspace = true",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_ratchets() {
        let long = Source::new("a.rs", &"fn f() {}\n".repeat(MOST_LINES + 1), false);
        let short = Source::new("a.rs", "fn f() {}\n", false);
        assert!(length(&long, &[]).is_some());
        assert!(length(&long, &[("a.rs", MOST_LINES + 1)]).is_none());
        assert!(length(&long, &[("a.rs", MOST_LINES)]).is_some());
        assert!(length(&short, &[]).is_none());
        assert!(
            length(&short, &[("a.rs", MOST_LINES + 9)]).is_some(),
            "the list shrinks"
        );
        let tests = Source::new("tests.rs", &"fn f() {}\n".repeat(MOST_LINES * 3), true);
        assert!(length(&tests, &[]).is_none());
    }

    #[test]
    fn manifests_take_versions_and_arrows_from_the_workspace() {
        let rules = |path: &str, text: &str| -> Vec<String> {
            manifest(path, text)
                .iter()
                .map(|found| format!("{}:{}", found.line, found.rule))
                .collect()
        };
        let good = "[dependencies]\nbase.workspace = true\n[dev-dependencies]\nvfs.workspace = true\n[lints]\nworkspace = true\n";
        assert_eq!(rules("crates/cache/Cargo.toml", good), Vec::<String>::new());
        assert_eq!(
            rules(
                "crates/manifest/Cargo.toml",
                "[dependencies]\nvfs.workspace = true\nserde = \"1\"\n"
            ),
            ["2:arrow", "3:manifest", "0:manifest"]
        );
    }

    #[test]
    fn crates_forbid_unsafe_and_have_one_integration_binary() {
        let tree = Tree::of(&[
            ("crates/wal/tests/extra.rs", ""),
            ("crates/wal/tests/it/main.rs", ""),
        ]);
        let sources = [
            Source::new("crates/wal/src/lib.rs", "//! x", false),
            Source::new("crates/vfs/src/lib.rs", "", false),
        ];
        let found: Vec<&str> = check(&tree, &sources).iter().map(|found| found.rule).collect();
        assert_eq!(found, ["forbid-unsafe", "integration"]);
    }
}
