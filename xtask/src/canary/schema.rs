//! Rewrites a file so that it holds many planted bugs, of which the environment chooses one.
//!
//! The innermost function around a bug has its body twice: with the bug and without it. So one build serves
//! every bug, and a program decides when it runs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::extra::DelimSpan;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Block, Expr, Signature};

use super::Canary;

/// The environment variable with the name of the bug that is present.
pub const VARIABLE: &str = "ESKER_PLANTED";

/// The rewritten file.
#[derive(Default)]
pub struct Schema {
    pub text: String,
    /// The lines of the rewritten file that each bug has, counted from 1.
    pub lines: Vec<(&'static str, Range<usize>)>,
    /// The bugs that the file cannot hold: each of them needs a separate build.
    pub alone: Vec<&'static str>,
}

/// Returns `text` with all bugs that the body of a function or closure can hold. The correct code of each bug
/// occurs exactly once in `text`.
///
/// The body of a `const fn` holds no bug, because it cannot read the environment. The body of a function that
/// returns an `impl Trait` holds none, because its two branches would have different types. Closures in such
/// functions may hold bugs. Bodies of macros hold none.
pub fn schema(text: &str, bugs: &[&Canary]) -> Schema {
    let mut bodies = Bodies::default();
    match syn::parse_file(text) {
        Ok(file) => bodies.visit_file(&file),
        Err(_) => {
            return Schema {
                text: text.to_owned(),
                alone: bugs.iter().map(|bug| bug.name).collect(),
                ..Schema::default()
            };
        }
    }
    let mut alone = Vec::new();
    let mut held: BTreeMap<(usize, usize), Vec<(&str, String)>> = BTreeMap::new();
    for bug in bugs {
        let edit = Edit::of(text, bug);
        let place = bodies.innermost(&edit.range);
        let body = place.and_then(|body| Some((body.clone(), edit.within(text, body)?)));
        match body {
            Some((body, wrong)) => held
                .entry((body.start, body.end))
                .or_default()
                .push((bug.name, wrong)),
            None => alone.push(bug.name),
        }
    }
    let mut inserts = Vec::new();
    for ((start, end), wrong) in held {
        let right_is_block = text[start..end].starts_with('{');
        inserts.push((start, None, beginning(&wrong, right_is_block)));
        let ending = if right_is_block { " }" } else { " } }" };
        inserts.push((end, Some(Reverse(start)), vec![(None, ending.to_owned())]));
    }
    // If bodies end at one place, the inner ones are closed first.
    inserts.sort_by_key(|(at, nesting, _)| (*at, *nesting));
    let mut schema = Schema {
        alone,
        ..Schema::default()
    };
    let mut copied = 0;
    for (at, _, pieces) in inserts {
        schema.text.push_str(&text[copied..at]);
        copied = at;
        for (name, piece) in pieces {
            let first = line(&schema.text);
            schema.text.push_str(&piece);
            if let Some(name) = name {
                schema.lines.push((name, first..line(&schema.text) + 1));
            }
        }
    }
    schema.text.push_str(&text[copied..]);
    schema
}

/// The number of the last line of `text`.
fn line(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// Returns the pieces of code that are inserted before the correct body, each with the name of its bug if it
/// has one.
fn beginning(wrong: &[(&'static str, String)], right_is_block: bool) -> Vec<(Option<&'static str>, String)> {
    let mut pieces = vec![(None, "{ ".to_owned())];
    for (name, body) in wrong {
        pieces.push((
            None,
            format!(
                "if {{ static PLANTED: ::std::sync::OnceLock<bool> = ::std::sync::OnceLock::new(); \
                 *PLANTED.get_or_init(|| ::std::env::var_os(\"{VARIABLE}\").is_some_and(|planted| planted == {name:?})) }} "
            ),
        ));
        let body = if right_is_block {
            body.clone()
        } else {
            format!("{{ {body} }}")
        };
        pieces.push((Some(*name), body));
        pieces.push((None, " else ".to_owned()));
    }
    if !right_is_block {
        pieces.push((None, "{ ".to_owned()));
    }
    pieces
}

/// The bytes of a file that a bug changes, and their replacement.
struct Edit<'a> {
    range: Range<usize>,
    with: &'a str,
}

impl<'a> Edit<'a> {
    /// The difference between the two pieces of code, without their common beginning and end.
    fn of(text: &str, bug: &'a Canary) -> Edit<'a> {
        let common = |right: &mut dyn Iterator<Item = char>, wrong: &mut dyn Iterator<Item = char>| {
            let same = right.zip(wrong).take_while(|(right, wrong)| right == wrong);
            same.map(|(right, _)| right.len_utf8()).sum::<usize>()
        };
        let start = common(&mut bug.right.chars(), &mut bug.wrong.chars());
        let (right, wrong) = (&bug.right[start..], &bug.wrong[start..]);
        let end = common(&mut right.chars().rev(), &mut wrong.chars().rev());
        let at = text.find(bug.right).unwrap_or_default() + start;
        Edit {
            range: at..at + right.len() - end,
            with: &wrong[..wrong.len() - end],
        }
    }

    /// Returns the code in `body` with the bug; `None` if the bug changes code outside it.
    fn within(&self, text: &str, body: &Range<usize>) -> Option<String> {
        let before = &text[body.start..self.range.start];
        let after = &text[self.range.end..body.end];
        let wrong = format!("{before}{}{after}", self.with);
        let is_body = match text[body.start..].starts_with('{') {
            true => syn::parse_str::<Block>(&wrong).is_ok(),
            false => syn::parse_str::<Expr>(&wrong).is_ok(),
        };
        is_body.then_some(wrong)
    }
}

/// The bodies of functions and closures that can choose a bug at run time, as ranges of bytes.
#[derive(Default)]
struct Bodies {
    functions: Vec<Range<usize>>,
    closures: Vec<Range<usize>>,
}

impl Bodies {
    /// The innermost function around `range`; without one, the innermost closure.
    fn innermost(&self, range: &Range<usize>) -> Option<&Range<usize>> {
        let functions = self.functions.iter();
        // The braces of a function are no part of what a bug may change.
        let function = functions.filter(|body| body.start < range.start && range.end < body.end);
        function.min_by_key(|body| body.len()).or_else(|| {
            let closures = self.closures.iter();
            let closure = closures.filter(|body| body.start <= range.start && range.end <= body.end);
            closure.min_by_key(|body| body.len())
        })
    }

    fn function(&mut self, signature: &Signature, attributes: &[Attribute], body: &Block) {
        let mut returned = Returned(false);
        returned.visit_return_type(&signature.output);
        let has_inner = { attributes.iter() }.any(|attribute| matches!(attribute.style, AttrStyle::Inner(_)));
        if signature.constness.is_none() && !returned.0 && !has_inner {
            self.functions.push(braces(&body.brace_token.span));
        }
    }
}

/// The bytes from a brace to the one that closes it.
fn braces(span: &DelimSpan) -> Range<usize> {
    span.open().byte_range().start..span.close().byte_range().end
}

impl<'ast> Visit<'ast> for Bodies {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, &item.attrs, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let body = closure.body.span();
        if closure.constness.is_none() {
            self.closures.push(body.byte_range());
        }
        visit::visit_expr_closure(self, closure);
    }
}

/// True if a type has `impl Trait` in it.
struct Returned(bool);

impl<'ast> Visit<'ast> for Returned {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catcher::Tests;
    use super::*;

    fn bug(name: &'static str, right: &'static str, wrong: &'static str) -> Canary {
        Canary {
            name,
            file: "",
            right,
            wrong,
            caught_by: Tests(&[]),
        }
    }

    /// The rewritten file, with `?name` instead of the check for the bug `name`.
    fn rewritten(text: &str, bugs: &[Canary]) -> String {
        let schema = schema(text, &Vec::from_iter(bugs));
        assert!(schema.alone.is_empty(), "{:?}", schema.alone);
        syn::parse_file(&schema.text).expect("it is still a file of Rust");
        let mut short = String::new();
        for piece in schema.text.split("if { static PLANTED") {
            match piece.split_once("planted == \"") {
                Some((_, rest)) => {
                    let (name, rest) = rest.split_once("\")) } ").unwrap();
                    short.push_str(&format!("if ?{name} {rest}"));
                }
                None => short.push_str(piece),
            }
        }
        short
    }

    fn refused(text: &str, right: &'static str, wrong: &'static str) {
        let schema = schema(text, &[&bug("one", right, wrong)]);
        assert_eq!((schema.text.as_str(), schema.alone), (text, vec!["one"]));
    }

    #[test]
    fn a_body_stands_twice() {
        assert_eq!(
            rewritten("fn f() -> u8 { 1 }\nfn g() {}", &[bug("three", "1 }", "2 }")]),
            "fn f() -> u8 { if ?three { 2 } else { 1 } }\nfn g() {}"
        );
    }

    #[test]
    fn bugs_of_one_function_exclude_each_other() {
        assert_eq!(
            rewritten(
                "fn f() { a(); b(); }",
                &[bug("one", "a();", ""), bug("two", "b();", "c();")]
            ),
            "fn f() { if ?one {  b(); } else if ?two { a(); c(); } else { a(); b(); } }"
        );
    }

    #[test]
    fn braces_in_strings_characters_and_comments_are_none() {
        for (head, body) in [
            ("fn f()", r##"{ a("}"); x; }"##),
            ("fn f()", r####"{ a(r#"}"#, br##"}"#"##); x; }"####),
            ("fn f()", r"{ a('}', b'}', '\''); x; }"),
            ("fn f<'a>(a: &'a str)", "{ 'b: loop { break 'b; } x; }"),
            ("fn f()", "{ /* } /* } */ */ // }\n x; }"),
            ("fn f()", "{ if a { b { c: 1 }; } x; }"),
            ("fn f(a: [u8; { 1 }])", "{ x; }"),
            ("fn ä()", "{ \"ü}\"; x; }"),
        ] {
            let wrong = body.replace("x;", "y;");
            assert_eq!(
                rewritten(&format!("{head} {body}"), &[bug("one", "x;", "y;")]),
                format!("{head} {{ if ?one {wrong} else {body} }}")
            );
        }
    }

    #[test]
    fn the_inner_of_two_functions_is_rewritten() {
        assert_eq!(
            rewritten(
                "impl A { fn f() { fn g() { x } y } }",
                &[bug("one", "x", "z"), bug("two", "y", "z")]
            ),
            "impl A { fn f() { if ?two { fn g() { x } z } else { fn g() { if ?one { z } else { x } } y } } }"
        );
    }

    #[test]
    fn an_end_of_a_function_in_the_text_of_a_bug_is_common_to_both() {
        assert_eq!(
            rewritten(
                "fn f() { a(); b }\nfn g() {}",
                &[bug("one", "a(); b }\n", "b }\n")]
            ),
            "fn f() { if ?one { b } else { a(); b } }\nfn g() {}"
        );
    }

    #[test]
    fn a_closure_decides_where_its_function_returns_an_unnamed_type() {
        assert_eq!(
            rewritten(
                "fn f() -> impl Iterator<Item = u8> { a.map(|a| a + 1) }",
                &[bug("one", "+ 1", "+ 2")]
            ),
            "fn f() -> impl Iterator<Item = u8> { a.map(|a| { if ?one { a + 2 } else { a + 1 } }) }"
        );
        assert_eq!(
            rewritten(
                "fn f() -> impl Fn() { move || { a(); } }",
                &[bug("one", "a();", "b();")]
            ),
            "fn f() -> impl Fn() { move || { if ?one { b(); } else { a(); } } }"
        );
        refused(
            "fn f() -> Option<impl Iterator> { a.take(1) }",
            "take(1)",
            "take(2)",
        );
    }

    #[test]
    fn code_without_a_decision_at_run_time_is_refused() {
        refused("const fn f() -> u8 { 1 }", "1", "2");
        refused("const A: u8 = 1;", "1", "2");
        refused("macro_rules! a { () => { fn f() { x } } }", "x", "y");
        refused("fn f(a: u8) { a }", "a: u8", "a: u16");
        refused("fn f() { a }\nfn g() {}", "a }\n", "a }\n}\n");
        refused("fn f() { #![allow(a)] x }", "x", "y");
        refused("not Rust", "not", "no");
    }

    #[test]
    fn lines_of_bugs_are_known() {
        let schema = schema(
            "fn f() {\n    a();\n    b();\n}\n",
            &[&bug("four", "a();", "c();"), &bug("five", "b();", "d();")],
        );
        assert_eq!(schema.lines, [("four", 1..5), ("five", 4..8)]);
    }
}
