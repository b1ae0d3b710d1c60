//! Rules for the English of documents, and of comments in the folders that follow CONTRIBUTING.md, "Prose".

use super::finding::Finding;
use super::source::{Source, word_at};
use super::tree::Tree;

/// The folders that are done. A folder is added when every comment in it has been read and rewritten.
const DONE: &[&str] = &[
    "bench/",
    "bindings/python/",
    "crates/base/",
    "crates/advise/",
    "crates/backup/",
    "crates/blob/",
    "crates/cache/",
    "crates/capi/",
    "crates/codec/",
    "crates/compact/",
    "crates/engine/",
    "crates/http/",
    "crates/jni/",
    "crates/manifest/",
    "crates/memtable/",
    "crates/metrics/",
    "crates/mvcc/",
    "crates/rangedel/",
    "crates/rocksdb/",
    "crates/serve/",
    "crates/sst/",
    "testing/testkit/",
    "crates/txn/",
    "crates/vfs/",
    "crates/wal/",
    "fuzz/",
    "tools/esker/",
    "tools/flags/",
    "testing/simulate/",
    "testing/stress/",
    "xtask/",
];

/// Words that a sentence must not begin with: the sentence should name its subject instead.
const OPENINGS: &[&str] = &["What", "Who", "Whoever", "Of", "Both"];

/// Beginnings of doc comments that name another item in place of their subject: "As `put`, with ...".
const REFERENCES: &[&str] = &["As [", "As `", "As for [", "As for `"];

/// Words that comments do not use, and the words to use instead.
const WORDS: &[(&str, &str)] = &[
    ("nobody", "no thread, no reader, no process"),
    ("somebody", "a caller, another thread, a user"),
    ("whoever", "the thread that, the caller that"),
    ("for ever", "permanently, indefinitely"),
];

/// Documents that quote other texts, or that a program writes.
const QUOTING: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/lab/nightly.md",
    "docs/lab/published.md",
    "docs/lab/repeat.md",
];

/// The maximum width of a comment line in columns, including its indentation.
const COLUMNS: usize = 110;

/// A run of comment lines, joined into paragraphs; tables, code and headings are left out.
struct Paragraph {
    /// The first line, counted from 1.
    line: usize,
    text: String,
}

pub fn check(source: &Source) -> Vec<Finding> {
    let is_done = DONE.iter().any(|folder| source.path.starts_with(folder));
    if !is_done {
        return Vec::new();
    }
    let long = long_lines(source).into_iter().map(|line| {
        let message = format!("a comment line of more than {COLUMNS} columns");
        Finding::new("prose", &source.path, line, message)
    });
    let broken = broken_rows(source).into_iter().map(|line| {
        let message =
            "a row of a table on two lines: the table ends there; a row may be longer than a line of prose";
        Finding::new("prose", &source.path, line, message)
    });
    let paragraphs = paragraphs(source);
    let references = references(source, &paragraphs);
    long.chain(broken)
        .chain(references)
        .chain(faults(&source.path, paragraphs))
        .collect()
}

/// Returns the findings about doc comments that begin with a reference to another item.
fn references(source: &Source, paragraphs: &[Paragraph]) -> Vec<Finding> {
    let is_doc = |line: usize| {
        let comment = &source.lines[line - 1].comment;
        comment.starts_with("///") || comment.starts_with("//!")
    };
    let begins = |text: &str| REFERENCES.iter().any(|opening| text.starts_with(opening));
    let found = paragraphs
        .iter()
        .filter(|paragraph| begins(&paragraph.text) && is_doc(paragraph.line));
    let message = "a doc comment begins with \"As\": begin with the verb or the subject (\"Writes a value as [`put`] does, with ...\")";
    found
        .map(|paragraph| Finding::new("prose", &source.path, paragraph.line, message.to_owned()))
        .collect()
}

/// Returns the findings in the documents.
pub fn check_documents(tree: &Tree) -> Vec<Finding> {
    let documents = tree
        .with_extension("md")
        .filter(|(path, _)| (path.starts_with("docs/") || !path.contains('/')) && !QUOTING.contains(path));
    documents
        .flat_map(|(path, text)| faults(path, document_paragraphs(text)))
        .collect()
}

/// Returns the findings about forbidden words and forbidden beginnings of sentences.
fn faults(path: &str, paragraphs: Vec<Paragraph>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |line, message: String| found.push(Finding::new("prose", path, line, message));
    for Paragraph { line, text } in paragraphs {
        let text = without_code(&text);
        for opening in sentences(&text).filter_map(bad_opening) {
            add(
                line,
                format!("a sentence begins with {opening:?}: begin with the subject"),
            );
        }
        let lower = text.to_lowercase();
        for (word, instead) in WORDS {
            if word_at(&lower, word).is_some() {
                add(line, format!("{word:?}: name the subject ({instead})"));
            }
        }
    }
    found
}

/// Returns the text of a comment line without its mark; `None` for a line without a comment.
fn text_of(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("//")?;
    let text = text.strip_prefix(['/', '!']).unwrap_or(text);
    Some(text.strip_prefix(' ').unwrap_or(text))
}

/// True for a line that is not prose: a row of a table, a heading, a link target.
fn is_layout(text: &str) -> bool {
    text.starts_with(['|', '#', '[']) && !text.starts_with("[`") || text.starts_with("    ")
}

fn long_lines(source: &Source) -> Vec<usize> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, (line, raw)) in source.lines.iter().zip(source.text.split('\n')).enumerate() {
        let Some(text) = text_of(&line.comment) else {
            fenced = false;
            continue;
        };
        let is_fence = text.starts_with("```");
        fenced ^= is_fence;
        let is_prose = !fenced && !is_fence && !text.starts_with('|');
        if is_prose && line.code.trim().is_empty() && raw.chars().count() > COLUMNS {
            found.push(at + 1);
        }
    }
    found
}

/// Returns the lines of doc comments that begin a row of a table and do not end it.
fn broken_rows(source: &Source) -> Vec<usize> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in source.lines.iter().enumerate() {
        let Some(text) = text_of(&line.comment) else {
            fenced = false;
            continue;
        };
        fenced ^= text.starts_with("```");
        if !fenced && text.starts_with("| ") && !text.trim_end().ends_with('|') {
            found.push(at + 1);
        }
    }
    found
}

fn paragraphs(source: &Source) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut fenced, mut open) = (false, false);
    for (at, line) in source.lines.iter().enumerate() {
        let Some(text) = text_of(&line.comment) else {
            (fenced, open) = (false, false);
            continue;
        };
        if text.starts_with("```") {
            (fenced, open) = (!fenced, false);
            continue;
        }
        if fenced || text.trim().is_empty() || is_layout(text) {
            open = false;
            continue;
        }
        let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
        let alone = !line.code.trim().is_empty();
        match found.last_mut().filter(|_| open && item.is_none() && !alone) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(text.trim());
            }
            None => found.push(Paragraph {
                line: at + 1,
                text: item.unwrap_or(text).trim().to_owned(),
            }),
        }
        open = !alone;
    }
    found
}

/// Returns the paragraphs, list items and table cells of a document, without headings, code and link targets.
fn document_paragraphs(text: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut fenced, mut open) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            (fenced, open) = (!fenced, false);
            continue;
        }
        if fenced || trimmed.is_empty() || trimmed.starts_with(['#', '<']) {
            open = false;
            continue;
        }
        let line = at + 1;
        let text = without_targets(trimmed);
        if trimmed.starts_with('|') {
            found.extend(text.split('|').map(|cell| Paragraph {
                line,
                text: cell.trim().to_owned(),
            }));
            open = false;
            continue;
        }
        let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
        match found.last_mut().filter(|_| open && item.is_none()) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(&text);
            }
            None => found.push(Paragraph {
                line,
                text: item.unwrap_or(&text).to_owned(),
            }),
        }
        open = true;
    }
    found
}

/// Returns the text without the targets of its links, and without the names of functions that are links.
fn without_targets(text: &str) -> String {
    let mut pieces = text.split("](");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push(' ');
        kept.push_str(piece.split_once(')').map_or(piece, |(_, rest)| rest));
    }
    kept.replace('[', " ")
}

/// Returns the text with each piece of code between backquotes replaced by a backquote.
fn without_code(text: &str) -> String {
    let pieces = text.split('`').step_by(2);
    pieces.collect::<Vec<_>>().join("`")
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(". ")
        .flat_map(|sentence| sentence.split_inclusive("? "))
        .map(str::trim)
}

/// Returns the word that the sentence must not begin with, if it does. A question may begin with it.
fn bad_opening(sentence: &str) -> Option<&'static str> {
    let first = sentence.split(|c: char| !c.is_alphanumeric()).next()?;
    let is_question = sentence.ends_with('?');
    OPENINGS
        .iter()
        .find(|opening| **opening == first && !is_question)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let source = Source::new("crates/cache/src/a.rs", text, false);
        check(&source)
            .iter()
            .map(|found| format!("{}: {}", found.line, found.message))
            .collect()
    }

    #[test]
    fn a_sentence_begins_with_its_subject() {
        for opening in OPENINGS {
            for text in [
                format!("/// Fine. {opening} waits here.\nfn f() {{}}\n"),
                format!("let a = 1; // {opening} waits.\n"),
                format!("//! * a\n//! * {opening} waits,\n//!   in an item\n"),
            ] {
                let mut found = found(&text);
                found.retain(|message| message.contains("a sentence begins with"));
                assert_eq!(found.len(), 1, "{text}");
            }
        }
        let fine =
            "// What is this? A question.\n/// The reader of what follows, of both.\n/// `Of` is code.\n";
        assert_eq!(found(fine), Vec::<String>::new());
    }

    #[test]
    fn old_words_are_refused_across_lines() {
        assert_eq!(
            found("// No thread\n// waits for\n// ever, and nobody sleeps.\n").len(),
            2
        );
        assert_eq!(
            found("let nobody = \"somebody\"; // a user, `whoever`\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_doc_comment_does_not_begin_with_another_item() {
        for text in [
            "/// As [`put`](Self::put), with options.\nfn f() {}\n",
            "//! As `put`.\n",
            "/// Puts.\n///\n/// # Safety\n/// As for [`put`].\nfn f() {}\n",
            "/// * As `put`.\nfn f() {}\n",
        ] {
            let found = found(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains("begins with \"As\""), "{found:?}");
        }
        let fine = "/// Puts as [`put`] does.\n/// As many as fit.\nfn f() {} // As `put` holds the lock, this waits.\n";
        assert_eq!(found(fine), Vec::<String>::new());
    }

    #[test]
    fn lines_of_prose_have_their_width() {
        let long = "word ".repeat(23);
        assert_eq!(found(&format!("// {long}\n")).len(), 1);
        let quoted = format!("//! ```text\n//! {long}\n//! ```\n//! | {long}|\n");
        assert_eq!(found(&quoted), Vec::<String>::new());
    }

    #[test]
    fn a_row_of_a_table_is_one_line() {
        let table = "//! | a | b |\n//! |---|---|\n//! | 1 | 2,\n//! 3 |\n";
        let found = found(table);
        assert!(
            matches!(&found[..], [one] if one.starts_with("3: a row of a table")),
            "{found:?}"
        );
        let fenced = format!("//! ```text\n{table}//! ```\n");
        assert_eq!(super::tests::found(&fenced), Vec::<String>::new());
    }

    #[test]
    fn documents_are_held_to_the_same_words() {
        let text = "# What is this\n\nA reader, and nobody\nelse. What waits is told.\n\n| cell | Of rows |\n\n* Who waits,\n  \
                    in an item\n\n```text\nnobody\n```\n[told_to_nobody](a.rs#told_to_nobody) `nobody`: fine\n";
        let tree = Tree::of(&[
            ("docs/a.md", text),
            ("CONTRIBUTING.md", "nobody"),
            ("x/a.md", "nobody"),
        ]);
        let found: Vec<String> = check_documents(&tree)
            .iter()
            .map(|found| {
                format!(
                    "{} {}",
                    found.line,
                    found.message.split(':').next().unwrap_or_default()
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "3 a sentence begins with \"What\"",
                "3 \"nobody\"",
                "6 a sentence begins with \"Of\"",
                "8 a sentence begins with \"Who\"",
            ]
        );
    }

    #[test]
    fn other_folders_are_not_done() {
        let source = Source::new("crates/other/src/a.rs", "/// Both.\n", false);
        assert_eq!(check(&source), Vec::new());
    }

    #[test]
    fn every_folder_that_is_done_exists() {
        let root = crate::shell::root();
        for folder in DONE {
            assert!(root.join(folder).is_dir(), "{folder}");
        }
    }
}
