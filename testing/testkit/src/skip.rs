//! Tests that skip a part on this machine, and report it.

use std::fs::OpenOptions;
use std::io::Write;

/// The environment variable for the file that collects what was skipped, one line each: the test, a
/// tabulator, the missing requirement. `cargo xtask test` reads it for its summary, because libtest shows
/// nothing that a test prints before it passes.
pub const FILE_VARIABLE: &str = "ESKER_SKIPPED";

/// Reports that this test skips a part because the machine has no `needs`.
pub fn skip(needs: &str) {
    let thread = std::thread::current();
    let line = line(
        &std::env::var("CARGO_PKG_NAME").unwrap_or_default(),
        thread.name().unwrap_or("a thread without a name"),
        needs,
    );
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        // Whole lines are written, because other tests write to the file at the same time.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn line(package: &str, test: &str, needs: &str) -> String {
    format!("{package} {test}\t{needs}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_test_and_what_it_needs() {
        let thread = std::thread::current();
        assert_eq!(
            line("esker-testkit", thread.name().unwrap(), "ldb"),
            "esker-testkit skip::tests::a_line_names_the_test_and_what_it_needs\tldb\n"
        );
    }
}
