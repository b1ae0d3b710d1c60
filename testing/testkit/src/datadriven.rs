//! Tests whose cases are text, on the crate `datadriven`: a directive, its input, `----`, and the output.
//!
//! ```text
//! # Comments and blank lines separate cases.
//! get key=a seqno=7
//! ----
//! value
//! ```
//!
//! `REWRITE=1 cargo test` writes the actual output into the files; read the diff before you commit it.
//! `RUN=name` runs only the file of that name.

use std::path::Path;

pub use datadriven::TestCase;

/// Prints a case if the thread panics in it.
struct NamedOnPanic(String);

impl Drop for NamedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case: {}", self.0);
        }
    }
}

/// Runs every case of every file in `dir` (relative to the crate's root), each file with a new state from
/// `start`.
///
/// `run` returns the output of a case, to which a missing final newline is added. An argument that `run` did
/// not take appears in the output, so that a misspelt one cannot go unnoticed. Panics when there is no case
/// at all.
pub fn run<S>(
    dir: &str,
    mut start: impl FnMut(&Path) -> S,
    mut run: impl FnMut(&mut S, &mut TestCase) -> String,
) {
    let mut cases = 0;
    datadriven::walk(dir, |file| {
        let mut state = start(Path::new(&file.filename));
        file.run(|case| {
            cases += 1;
            let named = NamedOnPanic(format!("{} {:?} {}", case.directive, case.args, case.input));
            let mut output = run(&mut state, case);
            drop(named);
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            let mut unused: Vec<&str> = case.args.keys().map(String::as_str).collect();
            unused.sort_unstable();
            for name in unused {
                output.push_str(&format!("argument not understood: {name}\n"));
            }
            output
        });
    });
    assert!(
        cases > 0 || std::env::var_os("RUN").is_some(),
        "no cases under {dir}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_share_the_state_of_their_file() {
        let mut files = Vec::new();
        run(
            "testdata/datadriven",
            |path| {
                files.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                Vec::new()
            },
            |lines: &mut Vec<String>, case| match case.directive.as_str() {
                "add" => {
                    if case.take_flag("clear").unwrap() {
                        lines.clear();
                    }
                    lines.extend(case.input.lines().map(str::to_owned));
                    String::new()
                }
                "count" => lines.len().to_string(),
                "print" => lines.join("\n"),
                other => format!("unknown directive {other}"),
            },
        );
        files.sort();
        assert_eq!(files, ["lines.dd", "more.dd"]);
    }

    #[test]
    #[should_panic(expected = "no cases under")]
    fn a_directory_without_cases_is_a_mistake() {
        run("testdata/nowhere", |_| (), |_, _| String::new());
    }
}
