//! `judge`: programs of others that RocksDB's users run, over our library instead of RocksDB's.

mod kvdb_rocksdb;
mod package;
mod rocksdb_crate;

use std::path::{Path, PathBuf};

use crate::shell::{self, Outcome};

/// The release of `librocksdb-sys` whose package holds the test and its header, and the RocksDB in it.
const PACKAGE: &str = "librocksdb-sys-0.19.0+11.8.1";

/// Where packages are unpacked, from the root. Nothing of it is committed.
const SCRATCH: &str = "target/judge";

/// Runs the judge of that name.
pub fn run(words: &[&str]) -> Outcome {
    match words {
        ["c_test"] => c_test(false),
        ["c_test", "--each"] => c_test(true),
        ["rocksdb-crate", rest @ ..] => rocksdb_crate::run(rest),
        ["kvdb-rocksdb"] => kvdb_rocksdb::run(),
        _ => Err(format!(
            "not understood: judge {}; there are c_test, rocksdb-crate and kvdb-rocksdb",
            words.join(" ")
        )),
    }
}

/// RocksDB's own test of its C interface: prints `passed N of M` phases, and fails unless all passed. `each`: a phase that fails is
/// left, and the next one begun with what there is, so that the count is that of phases that pass by themselves.
fn c_test(each: bool) -> Outcome {
    let scratch = shell::root().join(SCRATCH);
    let package = unpack(&scratch)?;
    let library = build_library()?;
    let original = package.join("rocksdb/db/c_test.c");
    let text =
        std::fs::read_to_string(&original).map_err(|error| format!("{}: {error}", original.display()))?;
    let phases = text.matches(PHASE).count();
    let mut source = original;
    if each {
        source = scratch.join("c_test_each.c");
        std::fs::write(&source, leaving_failures(&text))
            .map_err(|error| format!("{}: {error}", source.display()))?;
    }
    let program = scratch.join("c_test");
    shell::run(
        shell::command("cc")
            .args(["-std=gnu11", "-g", "-O0", "-w", "-o"])
            .arg(&program)
            .arg(format!("-I{}", package.join("rocksdb").display()))
            .arg(format!("-I{}", package.join("rocksdb/include").display()))
            .arg(&source)
            .arg(&library)
            .args(["-lpthread", "-ldl", "-lm"]),
    )?;
    let place = scratch.join("c_test.tmp");
    // An earlier run may have left files.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let output = shell::command(&program)
        .env("TEST_TMPDIR", &place)
        .env("LD_LIBRARY_PATH", library.parent().unwrap_or(Path::new(".")))
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    let count = |start: &str| said.lines().filter(|line| line.starts_with(start)).count();
    let passed = match (each, output.status.success()) {
        (false, true) => phases,
        (false, false) => count("=== Test ").saturating_sub(1),
        (true, _) => count("=== Test ").saturating_sub(count(FAILED)),
    };
    println!("passed {passed} of {phases}");
    if passed == phases {
        return Ok(());
    }
    Err(format!("c_test: {}", output.status))
}

/// How a phase begins.
const PHASE: &str = "  StartPhase(\"";

/// How the program says that it leaves a phase.
const FAILED: &str = "--- failed ";

/// The test as a program that goes on with the next phase where one fails, by abort, assert or a bad access.
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

/// The package's directory; downloaded from the registry where it is not there.
fn unpack(scratch: &Path) -> Result<PathBuf, String> {
    let dir = scratch.join(PACKAGE);
    if dir.join("rocksdb/db/c_test.c").exists() {
        return Ok(dir);
    }
    std::fs::create_dir_all(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let archive = scratch.join(format!("{PACKAGE}.crate"));
    let url = format!("https://static.crates.io/crates/librocksdb-sys/{PACKAGE}.crate");
    shell::run(
        shell::command("curl")
            .args(["-sSfL", "-o"])
            .arg(&archive)
            .arg(url),
    )?;
    let parts = ["rocksdb/db/c_test.c", "rocksdb/include", "rocksdb/c_api_gen"];
    shell::run(
        shell::command("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(scratch)
            .args(parts.map(|part| format!("{PACKAGE}/{part}"))),
    )?;
    Ok(dir)
}

/// Builds the shared library and returns its path under the name that it is linked by.
fn build_library() -> Result<PathBuf, String> {
    shell::run(shell::cargo().args(["build", "-p", "esker-capi"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
    let built = target.join("debug/libesker_capi.so");
    let dir = shell::root().join(SCRATCH).join("lib");
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let library = dir.join("librocksdb.so.11.8");
    std::fs::copy(&built, &library).map_err(|error| format!("{}: {error}", built.display()))?;
    Ok(library)
}
