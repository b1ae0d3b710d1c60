//! The parts of a source file that the module graph needs: items, methods, imports and paths.

use std::collections::BTreeMap;

use crate::tidy::{Source, is_word};

/// A word or punctuation mark, with its line.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// One name that a `use` imports.
#[derive(Clone, Debug)]
pub struct Import {
    /// The segments, with `crate`, `self` and `super`. The path of a glob ends with the module that it
    /// imports from.
    pub path: Vec<String>,
    /// The name in this file; `None` for a glob.
    pub name: Option<String>,
    /// True for `pub use`, of any visibility.
    pub public: bool,
    pub line: usize,
}

/// A file of a crate's `src`.
pub struct File<'a> {
    /// The path from the root.
    pub path: &'a str,
    /// The path of the module: its name, after those of its parents.
    pub module: Vec<String>,
    /// The items outside of functions and `impl` blocks.
    pub items: Vec<&'a str>,
    /// The inherent methods, by type.
    pub methods: BTreeMap<&'a str, Vec<&'a str>>,
    /// The inherent methods that other modules do not see.
    pub private: Vec<&'a str>,
    /// The functions of traits that the file defines.
    pub of_traits: Vec<&'a str>,
    pub imports: Vec<Import>,
    /// All words and punctuation marks outside imports, in order.
    pub tokens: Vec<Token<'a>>,
    /// The type of the `impl` block around each token.
    pub within: Vec<Option<&'a str>>,
}

/// The keywords that may come before the name of an item.
const ITEMS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules",
];

/// The kind of a block with methods.
#[derive(Clone, Copy)]
enum Kind {
    /// The block is an `impl T`.
    Inherent,
    /// `impl Trait for T`.
    OfTrait,
    /// The block is a `trait Trait`.
    Trait,
}

/// A block with methods.
#[derive(Clone, Copy)]
struct Block<'a> {
    /// The name of the type or trait.
    name: &'a str,
    /// The depth of braces outside of the block.
    outside: usize,
    kind: Kind,
}

/// The braces around a token.
#[derive(Default)]
struct Around<'a> {
    depth: usize,
    block: Option<Block<'a>>,
}

impl<'a> Around<'a> {
    /// Leaves the innermost brace.
    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.block.is_some_and(|block| self.depth <= block.outside) {
            self.block = None;
        }
    }

    /// The type or trait of the block with methods.
    fn name(&self) -> Option<&'a str> {
        self.block.map(|block| block.name)
    }
}

impl<'a> File<'a> {
    pub fn read(root: &str, source: &'a Source) -> File<'a> {
        let below = source.path.strip_prefix(root).unwrap_or(&source.path);
        let stem = below.trim_start_matches('/').trim_end_matches(".rs");
        let stem = stem.strip_suffix("/mod").unwrap_or(stem);
        let module = match stem {
            "lib" | "main" | "mod" => Vec::new(),
            _ => stem.split('/').map(str::to_owned).collect(),
        };
        let mut file = File {
            path: &source.path,
            module,
            items: Vec::new(),
            methods: BTreeMap::new(),
            private: Vec::new(),
            of_traits: Vec::new(),
            imports: Vec::new(),
            tokens: Vec::new(),
            within: Vec::new(),
        };
        file.parse(&tokens(source));
        file
    }

    fn parse(&mut self, tokens: &[Token<'a>]) {
        let mut around = Around::default();
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at];
            match token.text {
                "{" => around.depth += 1,
                "}" => around.close(),
                "use" => {
                    at = self.parse_use(tokens, at);
                    continue;
                }
                "impl" if around.block.is_none() && starts_item(&tokens[..at]) => {
                    at = self.parse_impl(tokens, at, &mut around);
                    continue;
                }
                // `'static` is a lifetime.
                word if ITEMS.contains(&word)
                    && tokens[..at].last().is_none_or(|before| before.text != "'") =>
                {
                    self.parse_item(tokens, at, &mut around);
                }
                _ => {}
            }
            self.push(token, around.name());
            at += 1;
        }
    }

    /// Adds the imports of the `use` at `at`. Returns the index of the token after it.
    fn parse_use(&mut self, tokens: &[Token<'a>], at: usize) -> usize {
        let end = end_of(tokens, at, ";");
        let public = is_public(&tokens[..at]);
        let line = tokens[at].line;
        imports(&tokens[at + 1..end], public, line, &mut self.imports);
        end + 1
    }

    /// Adds the tokens of the `impl` at `at`, up to its brace. Returns the index of the brace.
    fn parse_impl(&mut self, tokens: &[Token<'a>], at: usize, around: &mut Around<'a>) -> usize {
        let end = end_of(tokens, at, "{");
        let (name, inherent) = subject(&tokens[at + 1..end]);
        around.block = name.map(|name| Block {
            name,
            outside: around.depth,
            kind: if inherent { Kind::Inherent } else { Kind::OfTrait },
        });
        for token in &tokens[at + 1..end] {
            self.push(*token, None);
        }
        end
    }

    /// Adds the item that begins with the keyword at `at`.
    fn parse_item(&mut self, tokens: &[Token<'a>], at: usize, around: &mut Around<'a>) {
        let word = tokens[at].text;
        let name = tokens[at + 1..]
            .iter()
            .find(|token| token.text != "!" && token.text != "unsafe");
        let Some(name) = name.map(|token| token.text) else {
            return;
        };
        let Some(block) = around.block else {
            if around.depth == 0 {
                self.items.push(name);
            }
            if word == "trait" {
                around.block = Some(Block {
                    name,
                    outside: around.depth,
                    kind: Kind::Trait,
                });
            }
            return;
        };
        if word != "fn" || around.depth != block.outside + 1 {
            return;
        }
        match block.kind {
            Kind::Inherent => {
                self.methods.entry(block.name).or_default().push(name);
                if !is_seen(&tokens[..at]) {
                    self.private.push(name);
                }
            }
            Kind::Trait => self.of_traits.push(name),
            Kind::OfTrait => {}
        }
    }

    /// True if a path, a signature or an import of the file contains the word.
    pub fn names(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.text == word)
            || self
                .imports
                .iter()
                .any(|import| import.path.iter().any(|segment| segment == word))
    }

    fn push(&mut self, token: Token<'a>, within: Option<&'a str>) {
        self.tokens.push(token);
        self.within.push(within);
    }
}

/// Returns the words and marks of the code outside of tests. `::` is one mark.
fn tokens(source: &Source) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (at, line) in source.lines.iter().enumerate().filter(|(_, line)| !line.test) {
        let mut rest = line.code.as_str();
        while let Some(first) = rest.chars().next() {
            let len = match first {
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            let (text, behind) = rest.split_at(len);
            if !first.is_whitespace() {
                tokens.push(Token { text, line: at + 1 });
            }
            rest = behind;
        }
    }
    tokens
}

/// Returns the index of the next `mark` from `at` on, or the end.
fn end_of(tokens: &[Token<'_>], at: usize, mark: &str) -> usize {
    tokens[at..]
        .iter()
        .position(|token| token.text == mark)
        .map_or(tokens.len(), |found| at + found)
}

/// True if `pub` or `pub(...)` ends `before`.
fn is_public(before: &[Token<'_>]) -> bool {
    let mut back = before.iter().rev().map(|token| token.text);
    match back.next() {
        Some("pub") => true,
        Some(")") => back.skip_while(|text| *text != "(").nth(1) == Some("pub"),
        _ => false,
    }
}

/// True if `pub`, with any visibility, precedes the qualifiers of the function after `before`.
fn is_seen(before: &[Token<'_>]) -> bool {
    let words = |token: &&Token<'_>| matches!(token.text, "const" | "async" | "unsafe" | "extern" | "\"");
    let qualifiers = before.iter().rev().take_while(words).count();
    is_public(&before[..before.len() - qualifiers])
}

/// True if `impl` begins an item, rather than a type.
fn starts_item(before: &[Token<'_>]) -> bool {
    before
        .last()
        .is_none_or(|token| matches!(token.text, "}" | ";" | "{" | "]" | "unsafe"))
}

/// Returns the type of a block, and true if the block is inherent.
fn subject<'a>(head: &[Token<'a>]) -> (Option<&'a str>, bool) {
    let mut angles = 0i32;
    let mut name = None;
    let mut inherent = true;
    let mut named = false;
    let mut previous = "";
    for token in head {
        match token.text {
            "<" => angles += 1,
            ">" if previous != "-" && previous != "=" => angles -= 1,
            "for" if angles == 0 => (name, inherent, named) = (None, false, false),
            "where" if angles == 0 => break,
            "::" => named = false,
            "dyn" | "mut" | "const" => {}
            word if angles == 0 && word.starts_with(|c: char| c.is_alphabetic()) && !named => {
                name = Some(word);
                named = true;
            }
            _ => {}
        }
        previous = token.text;
    }
    (name, inherent)
}

/// Collects the names that the tree after `use` imports.
fn imports(tree: &[Token<'_>], public: bool, line: usize, into: &mut Vec<Import>) {
    let mut stack: Vec<Vec<String>> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut alias: Option<String> = None;
    let mut expects_alias = false;
    let mut pending = false;
    let mut flush = |path: &[String], alias: &mut Option<String>, pending: &mut bool| {
        if !std::mem::take(pending) {
            return;
        }
        let mut path = path.to_vec();
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let name = match path.last().map(String::as_str) {
            Some("*") => {
                path.pop();
                None
            }
            last => alias.take().or_else(|| last.map(str::to_owned)),
        };
        into.push(Import {
            path,
            name,
            public,
            line,
        });
    };
    for token in tree {
        match token.text {
            "::" => {}
            "{" => {
                stack.push(path.clone());
                pending = false;
            }
            "," | "}" => {
                flush(&path, &mut alias, &mut pending);
                if token.text == "}" {
                    stack.pop();
                }
                path = stack.last().cloned().unwrap_or_default();
            }
            "as" => expects_alias = true,
            word if expects_alias => {
                alias = Some(word.to_owned());
                expects_alias = false;
            }
            word => {
                path.push(word.to_owned());
                pending = true;
            }
        }
    }
    flush(&path, &mut alias, &mut pending);
}
