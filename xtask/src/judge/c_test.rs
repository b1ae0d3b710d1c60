//! RocksDB's own test of its C interface, from the registry's package, over the shared library and the header
//! of its release.

use std::fs;
use std::path::Path;

use super::package::fetch;
use super::{Count, Fault};
use crate::library::Library;
use crate::shell;

/// Runs the test of 11.8.1.
pub fn newest(words: &[&str]) -> Result<Count, Fault> {
    run("0.19.0+11.8.1", "11.8", false, words)
}

/// Runs the test of 11.8.1 with the address and leak sanitizers, which watch the library's memory too: a
/// block that is freed twice, used after it is freed or left behind fails a phase.
pub fn sanitized(words: &[&str]) -> Result<Count, Fault> {
    run("0.19.0+11.8.1", "11.8", true, words)
}

/// Runs the test of 10.4.2, whose library is of generation 10.4.
pub fn of_10_4(words: &[&str]) -> Result<Count, Fault> {
    run("0.17.3+10.4.2", "10.4", false, words)
}

/// Runs the phases in order until one fails. With `--each` it continues after a failed phase, so that the
/// count is the number of phases that pass on their own.
fn run(package: &str, generation: &str, sanitize: bool, words: &[&str]) -> Result<Count, Fault> {
    let each = words == ["--each"];
    if !each && !words.is_empty() {
        return Err(super::not_understood(words));
    }
    let package = fetch("librocksdb-sys", package)?;
    let scratch = shell::root().join(super::SCRATCH).join(format!(
        "c_test-{generation}{}",
        if sanitize { "-sanitized" } else { "" }
    ));
    // An earlier run may have left files.
    let _ = fs::remove_dir_all(&scratch);
    let place = scratch.join("databases");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let library = Library::built(&[])?.named(generation, &scratch.join("lib"))?;
    let original = package.join("rocksdb/db/c_test.c");
    let text = fs::read_to_string(&original).map_err(|error| format!("{}: {error}", original.display()))?;
    let phases = text.matches(PHASE).count();
    let mut source = original;
    if each {
        source = scratch.join("c_test_each.c");
        fs::write(&source, leaving_failures(&text))
            .map_err(|error| format!("{}: {error}", source.display()))?;
    }
    let program = scratch.join("c_test");
    shell::run(
        shell::command("cc")
            .args(["-std=gnu11", "-g", "-O0", "-w"])
            .args(sanitize.then_some("-fsanitize=address"))
            .arg("-o")
            .arg(&program)
            .arg(format!("-I{}", package.join("rocksdb").display()))
            .arg(format!("-I{}", package.join("rocksdb/include").display()))
            .arg(&source)
            .arg(format!("-L{}", library.link.display()))
            .args(["-lrocksdb", "-lpthread", "-ldl", "-lm"]),
    )?;
    let output = shell::command(&program)
        .env("TEST_TMPDIR", &place)
        .env("LD_LIBRARY_PATH", &library.load)
        .env("ASAN_OPTIONS", "detect_leaks=1")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    write_log(&scratch, &said)?;
    let count = |start: &str| said.lines().filter(|line| line.starts_with(start)).count();
    let passed = match (each, output.status.success()) {
        (false, true) => phases,
        (false, false) => count(STARTED).saturating_sub(1),
        (true, _) => count(STARTED).saturating_sub(count(FAILED)),
    };
    let failed = match each {
        true => said
            .lines()
            .filter_map(|line| line.strip_prefix(FAILED))
            .map(str::to_owned)
            .collect(),
        // The program ends at the first failure.
        false if passed < phases => said
            .lines()
            .filter_map(|line| line.strip_prefix(STARTED))
            .next_back()
            .map(str::to_owned)
            .into_iter()
            .collect(),
        false => Vec::new(),
    };
    Ok(Count {
        passed,
        not_built: phases.saturating_sub(passed + failed.len()),
        failed,
        ..Count::default()
    })
}

fn write_log(scratch: &Path, said: &str) -> Result<(), String> {
    let log = scratch.join("log");
    fs::write(&log, said).map_err(|error| format!("{}: {error}", log.display()))?;
    // The last lines of the output say why the program failed.
    let lines: Vec<&str> = said.lines().collect();
    for line in &lines[lines.len().saturating_sub(4)..] {
        eprintln!("    {line}");
    }
    Ok(())
}

/// The text with which the program announces a phase.
const STARTED: &str = "=== Test ";

/// The beginning of the announcement of a phase.
const PHASE: &str = "  StartPhase(\"";

/// The text with which the program reports that it leaves a phase.
const FAILED: &str = "--- failed ";

/// Changes the test so that it continues with the next phase after a failure: an abort, an assertion or a
/// segmentation fault.
fn leaving_failures(text: &str) -> String {
    let head = format!(
        "#include <setjmp.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <assert.h>\n\
         static sigjmp_buf esker_next;\n\
         extern const char* phase;\n\
         static void esker_leave(int number) {{ fprintf(stderr, \"{FAILED}%s (%d)\\n\", phase, number); siglongjmp(esker_next, 1); }}\n\
         #define abort() esker_leave(0)\n\
         #undef assert\n\
         #define assert(what) do {{ if (!(what)) {{ fprintf(stderr, \"%s\\n\", #what); esker_leave(0); }} }} while (0)\n\
         #define assert_is_ours\n"
    );
    let mut parts = text.split(PHASE);
    let mut out = head + &parts.next().unwrap_or("").replace("#include <assert.h>\n", "");
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        out.push_str(&format!("  esker_phase_{at}: ;\n"));
        if at == 0 {
            out.push_str("  signal(SIGSEGV, esker_leave); signal(SIGABRT, esker_leave);\n");
        }
        out.push_str(PHASE);
        let (name, rest) = part.split_once('\n').unwrap_or((part, ""));
        out.push_str(name);
        out.push_str(&match at + 1 < parts.len() {
            true => format!(
                "\n  err = NULL; if (sigsetjmp(esker_next, 1)) goto esker_phase_{};\n",
                at + 1
            ),
            false => "\n  if (sigsetjmp(esker_next, 1)) return 1;\n".to_owned(),
        });
        out.push_str(rest);
    }
    out
}
