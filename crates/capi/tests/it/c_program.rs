//! Compiles `tests/c/*.c` with the machine's C compiler and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of the shared library: cargo puts it next to the tests or one directory above.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let dir = test.parent().unwrap();
    [dir.to_path_buf(), dir.parent().unwrap().to_path_buf()]
        .into_iter()
        .map(|dir| dir.join("libesker_capi.so"))
        .filter(|path| path.exists())
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .expect("cargo builds the shared library with the tests")
}

/// Compiles and runs one program, which reports errors on standard error, and ends with 0 if there are none.
fn run(name: &str) {
    run_with(name, &[], &[]);
}

/// Compiles and runs one program with arguments of the compiler and environment variables of the program.
/// Returns the program's output; `None` without a compiler that accepts the arguments.
fn run_with(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Option<String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    // Programs look for the installed name of the library.
    let installed = place.path().join("librocksdb.so.11.8");
    std::os::unix::fs::symlink(library(), &installed).unwrap();
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"])
        .args(arguments)
        .arg("-o")
        .arg(&program)
        .arg(format!("-I{}", home.join("include").display()))
        .arg(home.join("tests/c").join(name))
        .arg(&installed)
        .output();
    let Ok(compiled) = compiled else {
        testkit::skip("no C compiler is installed");
        return None;
    };
    if !arguments.is_empty() && !compiled.status.success() {
        testkit::skip("the C compiler has no address sanitizer");
        return None;
    }
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&program)
        .arg(place.path().join("data"))
        .env("LD_LIBRARY_PATH", place.path())
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {}: {said}", output.status);
    Some(said)
}

/// Compiles and runs a program that loads the library itself, under each of these names. The arguments of the
/// program are the directory of the libraries and the directory for its databases.
fn run_loading(name: &str, libraries: &[&str], arguments: impl Fn(&Path) -> Vec<PathBuf>) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = tempfile::tempdir().unwrap();
    for library_name in libraries {
        std::fs::copy(library(), place.path().join(library_name)).unwrap();
    }
    let program = place.path().join("program");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-o"])
        .arg(&program)
        .arg(format!("-I{}", home.join("include").display()))
        .arg(home.join("tests/c").join(name))
        .arg("-ldl")
        .output();
    let Ok(compiled) = compiled else {
        return testkit::skip("no C compiler is installed");
    };
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{said}");
    let output = Command::new(&program)
        .args(arguments(place.path()))
        .arg(place.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
}

#[test]
fn a_name_chooses_the_generation() {
    let names = ["7.8", "10.4", "10.9", "11.8"].map(|release| format!("librocksdb.so.{release}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run_loading("generation.c", &names, |place| vec![place.to_path_buf()]);
}

#[test]
fn two_copies_of_the_library_live_in_one_process() {
    let names = ["librocksdb.so.11.8", "librocksdb.so.10.4"];
    run_loading("two_libraries.c", &names, |place| {
        names.iter().map(|name| place.join(name)).collect()
    });
}

#[test]
fn rows_with_a_time_to_live() {
    run("ttl.c");
}

#[test]
fn garbage_of_callbacks_is_an_error() {
    run("garbage.c");
}

#[test]
fn a_child_leaves_its_parents_databases_alone() {
    run("forks.c");
}

#[test]
fn rows_families_and_batches() {
    run("rows.c");
}

#[test]
fn callbacks() {
    run("callbacks.c");
}

#[test]
fn copies_and_tables() {
    run("copies.c");
}

#[test]
fn parity() {
    run("parity.c");
}

#[test]
fn misuse() {
    let Some(said) = run_with("misuse.c", &[], &[]) else {
        return;
    };
    let second = "librocksdb (Esker): a rocksdb_pinnableslice_t was given back before";
    let reports = said.lines().filter(|line| line.starts_with(second)).count();
    assert_eq!(reports, 1, "{said}");
}

#[test]
fn options_listeners_and_lists() {
    run("options.c");
}

#[test]
fn transactions() {
    run("transactions.c");
}

#[test]
fn filters_of_wals_and_compaction_services() {
    run("services.c");
}

#[test]
fn both_ends_of_remote_compaction() {
    run("remote.c");
}

#[test]
fn files_that_a_caller_lists() {
    run("files.c");
}

#[test]
fn queries_that_are_traced_and_replayed() {
    run("trace.c");
}

#[test]
fn timestamps_are_read_and_history_is_dropped() {
    run("timestamps.c");
}

#[test]
#[cfg(target_os = "linux")]
fn background_threads_lower_their_priorities() {
    run("priorities.c");
}

#[test]
fn timestamps_of_a_transaction_are_kept_by_rocksdbs_rules() {
    let said = run_with("transaction_timestamps.c", &[], &[]).unwrap_or_default();
    let refused: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("librocksdb (Esker): rocksdb_transaction_set_"))
        .filter_map(|line| line.split_once(' ').map(|(call, _)| call))
        .collect();
    let expected = [
        "commit_timestamp:",
        "read_timestamp_for_validation:",
        "commit_timestamp:",
    ];
    assert!(said.is_empty() || refused == expected, "{said}");
}

/// Runs every program, except those that misuse handles or leave them in a child on purpose, with checks of
/// all memory from malloc, including the library's: no block is freed twice, used after it is freed, or
/// leaked.
#[test]
fn no_memory_is_freed_twice_or_left_behind() {
    for program in [
        "rows.c",
        "callbacks.c",
        "copies.c",
        "files.c",
        "trace.c",
        "timestamps.c",
        "misuse.c",
        "garbage.c",
        "ttl.c",
        "options.c",
        "transactions.c",
        "services.c",
        "remote.c",
        "transaction_timestamps.c",
    ] {
        let watched = [("ASAN_OPTIONS", "detect_leaks=1")];
        if run_with(program, &["-fsanitize=address"], &watched).is_none() {
            return;
        }
    }
}

#[test]
fn watched_objects_are_given_back_once() {
    let Some(said) = run_with("handles.c", &[], &[("ESKER_CHECKED_HANDLES", "1")]) else {
        return;
    };
    let reports: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("librocksdb (Esker): a ")?.rsplit_once(": "))
        .map(|(report, _)| report)
        .collect();
    assert_eq!(
        reports,
        [
            "rocksdb_iterator_t was given back before",
            "rocksdb_slicetransform_t was given back before",
            "rocksdb_pinnableslice_t was given back before",
            "rocksdb_readoptions_t was not made by this library",
            "rocksdb_t was given back before",
        ]
    );
}
