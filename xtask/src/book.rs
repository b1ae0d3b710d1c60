//! `book`: the documents as a book, built by mdBook from `docs/SUMMARY.md`.
//!
//! The pages are copied to `target/book/src` in the layout of the repository. A link to a file outside of the
//! book leads to the repository instead. `tidy` checks that each link has a target, and that each page under
//! `docs/` is in the book.

mod screenshots;

use std::collections::BTreeSet;
use std::path::Path;

use crate::shell::{self, Outcome};
use crate::tidy::{self, SUMMARY, Tree};

/// The settings of mdBook, and the style of the book.
const SETTINGS: [&str; 2] = ["docs/book.toml", "docs/book.css"];

/// The address of the source on the web, for links that leave the book.
const REPOSITORY: &str = "https://github.com/esker-db/esker/blob/main/";

/// The extensions of pictures, which are copied with the pages.
const PICTURES: [&str; 2] = [".svg", ".png"];

/// A page of the book: its path, and its text with links that are valid in the book.
type Page = (String, String);

/// Writes the pages and builds the book. Fails with mdBook's name if it is not installed.
pub fn run() -> Outcome {
    let root = shell::root();
    let place = shell::target().join("book");
    let tree = Tree::read(&root)?;
    let (pages, pictures) = (pages(&tree)?, pictures(&tree));
    let _ = std::fs::remove_dir_all(&place);
    for (path, text) in &pages {
        write(&place.join("src").join(path), text.as_bytes())?;
    }
    for path in &pictures {
        write(&place.join("src").join(path), &read(&root.join(path))?)?;
    }
    for path in SETTINGS.map(Path::new) {
        let name = path.file_name().expect("a setting is a file");
        write(&place.join(name), &read(&root.join(path))?)?;
    }
    let files = pages.len() + pictures.len();
    eprintln!("wrote {files} files to {}", place.display());
    if shell::which("mdbook").is_none() {
        return Err("mdbook is not installed: cargo install mdbook --locked".into());
    }
    shell::run(shell::command("mdbook").arg("build").arg(&place))
}

/// Builds the book, or reports that mdBook is not installed.
pub fn nightly() -> Outcome {
    if shell::which("mdbook").is_none() && !shell::on_ci() {
        eprintln!("skipped: mdbook is not installed");
        return Ok(());
    }
    run()
}

/// Builds the book, and takes pictures of its main pages in light and in dark colours with Chromium, into
/// `target/book/screenshots`. Reports that Chromium is not installed.
pub fn with_screenshots() -> Outcome {
    run()?;
    screenshots::take(&shell::target().join("book"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &[u8]) -> Outcome {
    let folder = path.parent().expect("a file has a folder");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the paths of the pictures of the documents.
fn pictures(tree: &Tree) -> Vec<String> {
    let pictures = tree.paths.iter();
    let pictures = pictures.filter(|path| path.starts_with("docs/") && is_picture(path));
    pictures.cloned().collect()
}

fn is_picture(path: &str) -> bool {
    PICTURES.iter().any(|extension| path.ends_with(extension))
}

/// Returns the summary, moved to the root folder, and every page that it links to.
fn pages(tree: &Tree) -> Result<Vec<Page>, String> {
    let summary = tree
        .text(SUMMARY)
        .ok_or_else(|| format!("{SUMMARY} does not exist"))?;
    let listed: BTreeSet<String> = tidy::linked_pages(SUMMARY, summary).collect();
    let contents = with_links(summary, |target| tidy::join("docs", target));
    let mut pages = vec![("SUMMARY.md".to_owned(), contents)];
    for path in &listed {
        let text = tree
            .text(path)
            .ok_or_else(|| format!("{SUMMARY}: {path} does not exist"))?;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = with_links(text, |target| {
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file_path = tidy::join(folder, file);
            if listed.contains(&file_path) || is_picture(&file_path) {
                return target.to_owned();
            }
            // The fragment of a link to a function is removed, because it has no target on the web.
            let fragment = if file.ends_with(".rs") { "" } else { fragment };
            let mark = if fragment.is_empty() { "" } else { "#" };
            format!("{REPOSITORY}{file_path}{mark}{fragment}")
        });
        pages.push((path.clone(), text));
    }
    Ok(pages)
}

/// Returns the text with each relative link target replaced. Links to fragments of the same page and to web
/// addresses stay.
fn with_links(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut pieces = text.split("](");
    let mut new = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        new.push_str("](");
        match piece.split_once(')') {
            Some((target, rest)) if is_relative(target) => {
                new.push_str(&replace(target));
                new.push(')');
                new.push_str(rest);
            }
            _ => new.push_str(piece),
        }
    }
    new
}

fn is_relative(target: &str) -> bool {
    !target.is_empty()
        && !target.starts_with('#')
        && !target.contains("://")
        && !target.starts_with("mailto:")
        && !target.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_hold_in_the_book() {
        let tree = Tree::of(&[
            (
                SUMMARY,
                "[Front](../README.md)\n- [Write](flow/write.md)\n- [Draft]()\n",
            ),
            (
                "README.md",
                "[write](docs/flow/write.md#how) [code](crates/a) [web](https://docs.rs/x)",
            ),
            (
                "docs/flow/write.md",
                "[up](../../README.md) [test](../../crates/a/t.rs#name) [here](#how) ![drawn](../a.svg) ![taken](../images/b.png)",
            ),
        ]);
        let expected = [
            (
                "SUMMARY.md",
                "[Front](README.md)\n- [Write](docs/flow/write.md)\n- [Draft]()\n",
            ),
            (
                "README.md",
                "[write](docs/flow/write.md#how) [code](https://github.com/esker-db/esker/blob/main/crates/a) [web](https://docs.rs/x)",
            ),
            (
                "docs/flow/write.md",
                "[up](../../README.md) [test](https://github.com/esker-db/esker/blob/main/crates/a/t.rs) [here](#how) ![drawn](../a.svg) ![taken](../images/b.png)",
            ),
        ];
        let found = pages(&tree).unwrap();
        let found: Vec<(&str, &str)> = found.iter().map(|(path, text)| (&**path, &**text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_book_has_every_page() {
        let tree = Tree::read(&shell::root()).unwrap();
        let pages = pages(&tree).unwrap();
        assert!(pages.iter().any(|(path, _)| path == "ARCHITECTURE.md"));
        assert!(pages.iter().any(|(path, _)| path == "docs/flow/01_write.md"));
        let pictures = pictures(&tree);
        for name in ["docs/ratios.svg", "docs/images/serve_dark.png"] {
            assert!(pictures.iter().any(|path| path == name), "{name}");
        }
    }
}
