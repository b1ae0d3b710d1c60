//! The shape of the code: limits for the length of functions, their nesting, and the length of test files.

use super::finding::Finding;
use super::source::{Line, Source};

/// The maximum number of lines of a function, from its `fn` to its last brace.
const MOST_FUNCTION_LINES: usize = 100;

/// The maximum nesting of blocks in a function: `if`, `match` and its arms, loops, closures.
const MOST_NESTING: usize = 5;

/// The maximum number of lines of a test file.
const MOST_TEST_LINES: usize = 1_000;

/// The functions that are longer than the limit, each with its file and its number of lines. Add none.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

/// The functions that are nested deeper than the limit, each with its file and its depth. Add none.
const DEEP_FUNCTIONS: &[(&str, &str, usize)] = &[];

/// The test files that are longer than the limit, each with its number of lines. Add none.
const LONG_TEST_FILES: &[(&str, usize)] = &[];

/// The folders of generated files, and the generated files outside of them.
const GENERATED: &[&str] = &["/src/generated/", "/src/generated_functions.rs"];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut functions = Vec::new();
    let is_generated = |source: &Source| GENERATED.iter().any(|place| source.path.contains(place));
    for source in sources.iter().filter(|source| !is_generated(source)) {
        found.extend(test_lines(source, LONG_TEST_FILES));
        functions.extend(functions_of(source));
    }
    let lines = |function: &Function| function.lines;
    let depth = |function: &Function| function.depth;
    found.extend(limited(
        "function-length",
        &functions,
        lines,
        MOST_FUNCTION_LINES,
        LONG_FUNCTIONS,
    ));
    found.extend(limited(
        "nesting",
        &functions,
        depth,
        MOST_NESTING,
        DEEP_FUNCTIONS,
    ));
    found
}

/// A function outside of tests.
struct Function<'a> {
    path: &'a str,
    /// The line of the function's `fn`, counted from 1.
    at: usize,
    name: &'a str,
    lines: usize,
    depth: usize,
}

/// Returns the functions whose `figure` exceeds `most` or their record, and the records that are too high.
fn limited(
    rule: &'static str,
    functions: &[Function<'_>],
    figure: impl Fn(&Function<'_>) -> usize,
    most: usize,
    ratchet: &[(&str, &str, usize)],
) -> Vec<Finding> {
    let mut found = Vec::new();
    // Several functions of a file may have one name: the record is that of the worst.
    let worst = |path: &str, name: &str| {
        let same = functions
            .iter()
            .filter(|function| function.path == path && function.name == name);
        same.map(&figure).max().unwrap_or(0)
    };
    for function in functions {
        let recorded = ratchet
            .iter()
            .find(|(path, name, _)| *path == function.path && *name == function.name);
        let limit = recorded.map_or(most, |(_, _, limit)| *limit);
        if figure(function) > limit {
            let message = format!(
                "{} has {}; {limit} is the most: split it by its steps",
                function.name,
                figure(function)
            );
            found.push(Finding::new(rule, function.path, function.at, message));
        }
    }
    for (path, name, limit) in ratchet {
        let now = worst(path, name);
        if now < *limit {
            let message = format!(
                "{name} has {now}, not {limit} any more: lower its number in shape.rs, or take it off"
            );
            found.push(Finding::new(rule, path, 0, message));
        }
    }
    found
}

fn test_lines(source: &Source, ratchet: &[(&str, usize)]) -> Option<Finding> {
    let is_test = !source.lines.is_empty() && source.lines.iter().all(|line| line.test);
    let lines = source.text.lines().count();
    let recorded = ratchet
        .iter()
        .find(|(path, _)| *path == source.path)
        .map(|(_, most)| *most);
    let message = match recorded {
        None if is_test && lines > MOST_TEST_LINES => {
            format!("{lines} lines of tests; {MOST_TEST_LINES} is the most: split them by subject")
        }
        Some(most) if lines > most => format!("{lines} lines of tests, more than the {most} it once had"),
        Some(most) if lines < most => {
            format!("{lines} lines of tests: lower its number in shape.rs, or take it off")
        }
        _ => return None,
    };
    Some(Finding::new("test-length", &source.path, 0, message))
}

/// Returns the functions of `source` outside of tests. A nested function counts as a function too.
fn functions_of(source: &Source) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    for (at, line) in source.lines.iter().enumerate().filter(|(_, line)| !line.test) {
        let Some(name) = function_of(line) else { continue };
        if let Some((lines, depth)) = body(&source.lines[at..]) {
            functions.push(Function {
                path: &source.path,
                at: at + 1,
                name,
                lines,
                depth,
            });
        }
    }
    functions
}

/// Returns the name of the function that begins in the line.
fn function_of(line: &Line) -> Option<&str> {
    let (before, rest) = line.code.split_once("fn ")?;
    let words = before.split_whitespace();
    let is_item = words.into_iter().all(|word| {
        word.starts_with("pub")
            || matches!(word, "const" | "async" | "unsafe" | "extern" | "\"\"" | "default")
            || word.ends_with(')')
    });
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    (is_item && end > 0).then(|| &rest[..end])
}

/// Returns the number of lines of the function that begins with `lines`, and its depth. `None` without a
/// body.
fn body(lines: &[Line]) -> Option<(usize, usize)> {
    // For each open brace, true if it opens a block of the control flow.
    let mut open: Vec<bool> = Vec::new();
    let mut deepest = 0;
    for (at, line) in lines.iter().enumerate() {
        let code = line.code.trim();
        let last = code.len().saturating_sub(1);
        for (place, c) in code.char_indices() {
            match c {
                '{' => {
                    open.push(!open.is_empty() && place == last && is_control(code));
                    deepest = deepest.max(open.iter().filter(|control| **control).count());
                }
                '}' => {
                    open.pop();
                    if open.is_empty() {
                        return Some((at + 1, deepest));
                    }
                }
                ';' if open.is_empty() => return None,
                _ => {}
            }
        }
    }
    None
}

/// True if the brace at the end of `code` opens a block of the control flow, rather than a value.
fn is_control(code: &str) -> bool {
    let before = code[..code.len() - 1].trim_end();
    let first = before
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or("");
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    before.is_empty()
        || before.ends_with("=>")
        || before.ends_with('|')
        || matches!(first, "if" | "for" | "while" | "match" | "loop")
        || matches!(last, "else" | "loop" | "unsafe")
        || [" if ", " match ", " while ", "(match ", "(if "]
            .iter()
            .any(|word| before.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("a.rs", text, false)
    }

    fn rules(text: &str, long: &[(&str, &str, usize)], deep: &[(&str, &str, usize)]) -> Vec<&'static str> {
        let source = source(text);
        let functions = functions_of(&source);
        let mut found = limited(
            "function-length",
            &functions,
            |of| of.lines,
            MOST_FUNCTION_LINES,
            long,
        );
        found.extend(limited("nesting", &functions, |of| of.depth, MOST_NESTING, deep));
        found.iter().map(|found| found.rule).collect()
    }

    #[test]
    fn long_functions_are_refused_and_their_list_shrinks() {
        let of_lines = |lines: usize| format!("pub fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
        assert_eq!(rules(&of_lines(100), &[], &[]), [""; 0]);
        assert_eq!(rules(&of_lines(101), &[], &[]), ["function-length"]);
        assert_eq!(rules(&of_lines(120), &[("a.rs", "long", 120)], &[]), [""; 0]);
        assert_eq!(
            rules(&of_lines(121), &[("a.rs", "long", 120)], &[]),
            ["function-length"]
        );
        assert_eq!(
            rules(&of_lines(119), &[("a.rs", "long", 120)], &[]),
            ["function-length"]
        );
        assert_eq!(rules("", &[("a.rs", "long", 120)], &[]), ["function-length"]);
    }

    #[test]
    fn deep_functions_are_refused_and_their_list_shrinks() {
        let of_depth = |depth: usize| {
            let (open, close) = ("    if x {\n".repeat(depth), "    }\n".repeat(depth));
            format!("fn deep() {{\n{open}{close}    let a = A {{\n        b: 1,\n    }};\n}}\n")
        };
        assert_eq!(rules(&of_depth(5), &[], &[]), [""; 0]);
        assert_eq!(rules(&of_depth(6), &[], &[]), ["nesting"]);
        assert_eq!(rules(&of_depth(6), &[], &[("a.rs", "deep", 6)]), [""; 0]);
        assert_eq!(rules(&of_depth(5), &[], &[("a.rs", "deep", 6)]), ["nesting"]);
    }

    #[test]
    fn blocks_are_told_from_values() {
        for block in [
            "if a {",
            "} else {",
            "A::B(_) => {",
            "for x in y {",
            "let a = match b {",
            "f(|x| {",
            "{",
        ] {
            assert!(is_control(block), "{block}");
        }
        for value in ["let a = A {", "Some(A {", "A::B(_) => A {", "struct A {"] {
            assert!(!is_control(value), "{value}");
        }
    }

    #[test]
    fn files_of_tests_have_an_end() {
        let of_lines = |lines: usize| Source::new("t.rs", &"fn f() {}\n".repeat(lines), true);
        assert!(test_lines(&of_lines(MOST_TEST_LINES), &[]).is_none());
        assert!(test_lines(&of_lines(MOST_TEST_LINES + 1), &[]).is_some());
        assert!(test_lines(&of_lines(1_200), &[("t.rs", 1_200)]).is_none());
        assert!(test_lines(&of_lines(1_201), &[("t.rs", 1_200)]).is_some());
        assert!(test_lines(&of_lines(1_199), &[("t.rs", 1_200)]).is_some());
    }
}
