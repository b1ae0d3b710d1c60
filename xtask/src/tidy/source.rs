//! A Rust file, split as far as the rules for lines require: code without comments and contents of strings,
//! comments, and a mark for lines of tests.

/// One line of a Rust file.
#[derive(Debug, Default)]
pub struct Line {
    /// The code, with strings emptied to `""` and without comments.
    pub code: String,
    /// The text of the comments, with their marks (`//`, `///`, `//!`, `/*`).
    pub comment: String,
    /// True inside an item with `#[cfg(test)]`, and in a test file.
    pub test: bool,
}

/// A Rust file and its path from the root.
#[derive(Debug)]
pub struct Source {
    /// The path from the root, with `/`.
    pub path: String,
    /// The unchanged text of the file.
    pub text: String,
    /// The lines.
    pub lines: Vec<Line>,
}

impl Source {
    /// Splits `text`. `test` is true if the whole file is tests.
    pub fn new(path: &str, text: &str, test: bool) -> Source {
        let mut lines = split(text);
        mark_tests(&mut lines);
        if test {
            lines.iter_mut().for_each(|line| line.test = true);
        }
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            lines,
        }
    }
}

/// The context of a character.
#[derive(Clone, Copy, PartialEq)]
enum CharContext {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

fn split(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = CharContext::Code;
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        let next = chars.get(i + 1).copied().unwrap_or('\0');
        if c == '\n' {
            if state == CharContext::LineComment {
                state = CharContext::Code;
            }
            lines.push(Line::default());
            i += 1;
            continue;
        }
        let line = lines.last_mut().expect("at least one line");
        match state {
            CharContext::Code => {
                let (length, after) = code_token(&chars[i..], line);
                i += length;
                state = after;
            }
            CharContext::LineComment => {
                line.comment.push(c);
                i += 1;
            }
            CharContext::BlockComment { depth } => {
                line.comment.push(c);
                i += 1;
                let deeper = match (c, next) {
                    ('*', '/') => depth - 1,
                    ('/', '*') => depth + 1,
                    _ => continue,
                };
                line.comment.push(next);
                i += 1;
                state = if deeper == 0 {
                    CharContext::Code
                } else {
                    CharContext::BlockComment { depth: deeper }
                };
            }
            CharContext::Text => match c {
                '\\' if next == '\n' => i += 1,
                '\\' => i += 2,
                '"' => {
                    line.code.push('"');
                    state = CharContext::Code;
                    i += 1;
                }
                _ => i += 1,
            },
            CharContext::RawText { hashes } => {
                let closes = c == '"' && chars[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
                i += 1;
                if closes {
                    line.code.push('"');
                    state = CharContext::Code;
                    i += hashes;
                }
            }
        }
    }
    if lines
        .last()
        .is_some_and(|line| line.code.is_empty() && line.comment.is_empty())
    {
        lines.pop();
    }
    lines
}

/// Adds the first token of `chars`, which begins in code, to `line`. Returns its length and the context after
/// it.
fn code_token(chars: &[char], line: &mut Line) -> (usize, CharContext) {
    let (c, next) = (chars[0], chars.get(1).copied().unwrap_or('\0'));
    match (c, next) {
        ('/', '/') => {
            line.comment.push_str("//");
            return (2, CharContext::LineComment);
        }
        ('/', '*') => {
            line.comment.push_str("/*");
            return (2, CharContext::BlockComment { depth: 1 });
        }
        ('"', _) => {
            line.code.push('"');
            return (1, CharContext::Text);
        }
        ('r', '"' | '#') if !ends_in_word(&line.code) => {
            let hashes = chars[1..].iter().take_while(|&&c| c == '#').count();
            if chars.get(1 + hashes) == Some(&'"') {
                line.code.push('"');
                return (hashes + 2, CharContext::RawText { hashes });
            }
            line.code.push(c);
        }
        ('\'', _) => {
            let length = char_literal_len(chars);
            line.code.push_str(if length > 1 { "' '" } else { "'" });
            return (length, CharContext::Code);
        }
        _ => line.code.push(c),
    }
    (1, CharContext::Code)
}

/// True if `code` ends in a word, after which `r` begins no raw string. A `b` or `c` before `r` belongs to
/// the string's prefix.
fn ends_in_word(code: &str) -> bool {
    let mut before = code.chars().rev();
    match before.next() {
        Some('b' | 'c') => before.next().is_some_and(is_word),
        Some(c) => is_word(c),
        None => false,
    }
}

/// True for the characters of identifiers.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the character literal at the start of `chars`; 1 if the quote begins a lifetime.
fn char_literal_len(chars: &[char]) -> usize {
    match (chars.get(1), chars.get(2)) {
        (Some('\\'), _) => {
            // The escaped character may itself be a quote.
            3 + chars[3.min(chars.len())..]
                .iter()
                .take_while(|&&c| c != '\'' && c != '\n')
                .count()
                + 1
        }
        (Some(_), Some('\'')) => 3,
        _ => 1,
    }
    .min(chars.len())
}

/// Marks the items with `#[cfg(test)]`, from the attribute to their closing brace or semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut i = 0;
    while i < lines.len() {
        let code = lines[i].code.trim_start();
        let is_test = needs_test(code) && !lines[i].test;
        if !is_test {
            i += 1;
            continue;
        }
        let end = item_end(lines, i);
        lines[i..=end].iter_mut().for_each(|line| line.test = true);
        i = end + 1;
    }
}

/// True for a `#[cfg(…)]` that only tests satisfy, as far as one line shows.
fn needs_test(code: &str) -> bool {
    let Some(rest) = code.strip_prefix("#[cfg(") else {
        return false;
    };
    let condition = rest.split(")]").next().unwrap_or(rest).replace("not(test)", "");
    !condition.starts_with("any(") && word_at(&condition, "test").is_some()
}

/// Returns the last line of the item whose attributes begin on line `start`.
fn item_end(lines: &[Line], start: usize) -> usize {
    let mut braces = 0usize;
    let mut brackets = 0usize;
    for (i, line) in lines.iter().enumerate().skip(start) {
        for c in line.code.chars() {
            match c {
                '[' | '(' => brackets += 1,
                ']' | ')' => brackets = brackets.saturating_sub(1),
                '{' => braces += 1,
                '}' => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 && brackets == 0 {
                        return i;
                    }
                }
                ';' if braces == 0 && brackets == 0 => return i,
                _ => {}
            }
        }
    }
    lines.len() - 1
}

/// Returns the index of `word` in `code` as a whole word (a `word` may contain `::`, `!` or `(`).
pub fn word_at(code: &str, word: &str) -> Option<usize> {
    // Few lines have the word, and this search is compiled with optimisation in every build.
    if !code.contains(word) {
        return None;
    }
    let needs_before = word.chars().next().is_some_and(is_word);
    let needs_after = word.chars().next_back().is_some_and(is_word);
    code.match_indices(word).map(|found| found.0).find(|&at| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !(needs_before && before.is_some_and(is_word) || needs_after && after.is_some_and(is_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        split(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        assert_eq!(code("let a = \"unsafe // no\"; // yes"), ["let a = \"\"; "]);
        assert_eq!(
            code("r#\"a \" b\"# + br\"x\\\" + bar\"\""),
            ["\"\" + b\"\" + bar\"\""]
        );
        assert_eq!(code("a /* b /* c */ d */ e"), ["a  e"]);
        assert_eq!(
            code("\"two\nlines\" + '\"' + '\\'' + '\\u{41}' + b'x'"),
            ["\"", "\" + ' ' + ' ' + ' ' + b' '"]
        );
        assert_eq!(
            code("fn f<'a>(x: &'a str, c: char) { 'x' }"),
            ["fn f<'a>(x: &'a str, c: char) { ' ' }"]
        );
        assert_eq!(code("\"a\\\"b\\\\\" c"), ["\"\" c"]);
        assert_eq!(code("\"a\\\nb\" c"), ["\"", "\" c"]);
        assert_eq!(split("x(); // SAFETY: y")[0].comment, "// SAFETY: y");
    }

    #[test]
    fn tests_are_marked_to_their_end() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { [1; 3]; }\n}\nfn c() {}\n#[cfg(test)]\nmod tests;\nfn d() {}\n";
        let marks: Vec<bool> = Source::new("x.rs", text, false)
            .lines
            .iter()
            .map(|line| line.test)
            .collect();
        assert_eq!(marks, [false, true, true, true, true, false, true, true, false]);
        assert!(
            Source::new("tests.rs", text, true)
                .lines
                .iter()
                .all(|line| line.test)
        );
    }

    #[test]
    fn conditions_of_tests() {
        for yes in [
            "#[cfg(test)]",
            "#[cfg(all(not(loom), test))]",
            "#[cfg(all(test, unix))] mod a;",
        ] {
            assert!(needs_test(yes), "{yes}");
        }
        for no in [
            "#[cfg(not(test))]",
            "#[cfg(any(test, loom))]",
            "#[cfg(testing)]",
            "#[test]",
            "cfg(test)",
        ] {
            assert!(!needs_test(no), "{no}");
        }
    }

    #[test]
    fn whole_words_only() {
        assert_eq!(word_at("not_unsafe unsafe {", "unsafe"), Some(11));
        assert_eq!(word_at("eprintln!(", "println!"), None);
        assert_eq!(word_at("std::fs::read", "fs::"), Some(5));
        assert_eq!(word_at("my_fs::read", "fs::"), None);
    }
}
