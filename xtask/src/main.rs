//! Every check and every set-up step, one verb each. `cargo xtask` alone lists them.

mod apt;
mod book;
mod c_speed;
mod canary;
mod capi;
mod checkout;
mod ci;
mod circles;
mod cross;
mod delays;
mod dist;
mod dist_place;
mod features;
mod fuzz;
mod generate;
mod install;
mod jmh;
mod jni;
mod judge;
mod library;
mod licences;
mod nightly;
mod oracle;
mod package;
mod part;
mod peer;
mod published;
mod python;
mod ratios;
mod release;
mod repeat;
mod sanitize;
mod seen;
mod shell;
mod simulate;
mod soak;
mod test_binary;
mod test_run;
mod tidy;

use std::process::ExitCode;

use part::Part;
use shell::Outcome;

const HELP: &str = "\
cargo xtask VERB

  test [ARGS]       install what the tests need, run all of them and each microbenchmark once; ARGS are
                    passed to cargo test, without microbenchmarks
  ci [static]       run the checks that a change must pass; static is the part without tests
  nightly [--part K/N]
                    run the checks that take too long for every change: fresh seeds, planted bugs, delays, loom, sanitizers,
                    fuzzing, comparisons with RocksDB, and the book; docs/lab/nightly.md records each piece; --list lists the parts,
                    of an hour each
  repeat [--minutes N]
                    run each test 200 times, or 20 times if it takes a CPU second, each in a process of its own on fresh
                    seeds, three at a time, in random order; continue from the state in docs/lab/repeat.md
  tidy              check the rules of the project
  circles [CRATE]   print the modules that use each other in a circle, with the places
  gen [--check]     write the generated parts of the documentation and of the C library, or fail if they are not up to date
  book [--screenshots]
                    build the documents as a book with mdBook, into target/book/html; --screenshots takes pictures of its main
                    pages with Chromium, in light and in dark colours, into target/book/screenshots
  judge             list the programs of other projects whose tests run over Esker, with their floors (docs/judges.md)
  judge NAME [ARGS] fetch one, build it, run its tests and count them; fail if fewer pass than its floor. c_test --each
                    continues after a failed phase; rocksdb-crate takes names of test files; rocksjava, kafka-tests, flink-tests
                    and spark-tests take names of classes, or --part K/N, and go on where an earlier run has ended
  repackage JAR [--debug]
                    copy a jar of rocksdbjni with Esker's library in the place of RocksDB's: see docs/jvm_repackage.md
  jmh [ARGS]        measure RocksJava's classes over RocksDB and over Esker in turn, and write docs/lab/jmh.md: --rounds N (5),
                    --seconds N (5), --only REGEX prints the table of some benchmarks
  judge gate        run those that must pass before each change
  install --prefix DIR [--generation G] [--debug]
                    install the C library with its header, pkg-config and CMake files under DIR; G is 7.8, 10.4, 10.9 or 11.8 (11.8)
  dist [PART...] [--debug] [--twice]
                    build what is given away into target/dist, with its checksums: library (the C library as a Debian
                    package and a tarball), jvm (a jar of the library for RocksJava, and one of the classes of dev.esker),
                    python (the wheel), sbom (bills of materials); --twice builds all again elsewhere and compares the bytes
  package [ARGS]    package the crates that are published, build each from its package, and run the quick start over them
                    twice; ARGS, such as --allow-dirty or --offline, are passed to cargo package
  deny              check the licences, bans and sources of all dependencies with cargo-deny
  features          test the builds with a part of the features: each codec alone, none, serde
  release           run every check before a release, and print what is missing and the commands that remain
  semver BASE [CRATE ...]
                    compare the public items with those of the tag or commit BASE, with cargo-semver-checks
  c-speed [--rounds N]
                    measure single operations through the C interface, the Rust interface and RocksDB's C library in turn, N (7)
                    times, count their instructions, and write docs/lab/c_interface.md
  cross [--release] type-check the engine for the targets that are installed (aarch64 Linux, macOS), build the libraries for C and
                    for the JVM for 64-bit ARM, and run tests of them under qemu; each step is skipped without its tools
  fuzz-quick [SEC]  run every fuzz target for SEC seconds (5), coverage-guided if a nightly compiler is installed
  fuzz TARGET [SEC] run one target for SEC seconds (600)
  published [ARGS]  measure every table of the published documents for Esker and RocksDB, and write docs/lab/published.md;
                    --scale X for other sizes, --peer PATH for another db_bench of RocksDB
  python [ARGS]     build the wheel of bindings/python, install it into a virtual environment, run its tests, and compare its stubs
                    with it; ARGS are passed to pytest
  python wheel      build the published wheel, check it with auditwheel and abi3audit, and use it in a fresh environment
  python bench [ARGS]
                    measure get, put, batch and scan, and compare them with rocksdict and plyvel
  python load [ARGS]
                    test bulk load by Spark and Ray; ARGS are pytest's
  python bench-load [ARGS]
                    compare bulk load with batches and with rocksdict's writer of tables
  python notebook   execute the notebook of bindings/python
  peer [--dry-run]  build RocksDB's own db_bench for comparisons, with clang, ThinLTO, -march=native and jemalloc if they are
                    installed, into target/peer, and report the compiler and flags; --dry-run prints the commands
  soak [--hours H | --minutes N] [--record FILE]
                    run stress, crash, random-history and fuzz tests on fresh seeds in turn, for H hours (1); print the
                    counts, and append them to FILE
  soak --table FILE...
                    add up the records
  sanitize address|leak|thread [SEC]
                    run the tests of the crates with unsafe code, and SEC seconds (120) of db_stress with random options,
                    under a sanitizer; needs a nightly compiler, for threads with its source
  valgrind          run the unit tests of the crates with unsafe code under memcheck
  simulate [ARGS]   run the whole engine under one seed at a time; a failure is replayed and shrunk: --seconds N (60),
                    --seed N, --script FILE; --help lists the rest
  scale [OPERATION...]
                    count contention: the locks of each operation in a simulation of many threads, and the cache lines that two
                    threads share; needs valgrind and addr2line
  canary [--part K/N] [WORDS]
                    plant known bugs, one at a time, and fail unless the tests find each; with WORDS only bugs
                    whose name contains them, or one of several separated by commas
  delays [--part K/N] [--ms N] [WORDS]
                    run the tests while each turn of a background thread, each deletion of a file, or the writes of each flush and
                    compaction take N ms longer (15), and fail if a test fails; with WORDS only test binaries whose package
                    directory and name contain one of them
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match std::env::var_os(simulate::WRAPS_RUSTC) {
        Some(_) => simulate::rustc(&args),
        None => run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Outcome {
    let (verb, rest) = args
        .split_first()
        .map_or(("", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (verb, &words[..]) {
        ("test", _) => test_run::test(rest),
        ("ci", []) => ci::pull_request(),
        ("ci", ["static"]) => ci::static_checks(),
        ("nightly", ["--list"]) => nightly::list(),
        ("nightly", words) => nightly::run(whole(words)?),
        ("repeat", words) => repeat::run(words),
        ("tidy", []) => tidy::check(),
        ("circles", []) => circles::run(None),
        ("circles", [name]) => circles::run(Some(name)),
        ("book", []) => book::run(),
        ("book", ["--screenshots"]) => book::with_screenshots(),
        ("cross", words) => features::cross().and_then(|()| cross::run(words)),
        ("jmh", words) => jmh::run(words),
        ("repackage", words) => install::repackage::run(words),
        ("judge", words) => judge::run(words),
        ("install", words) => install::run(words),
        ("dist", words) => dist::run(words),
        (dist::WORKER, words) => dist::work(words),
        ("package", words) => package::run(words),
        ("features", []) => features::run(),
        ("release", []) => release::run(),
        ("deny", []) => package::deny(),
        ("semver", [base, crates @ ..]) => package::semver(base, crates),
        ("gen", []) => generate::write(),
        ("gen", ["--check"]) => generate::check(),
        ("c-speed", words) => c_speed::run(words),
        ("fuzz-quick", []) => fuzz::quick(5),
        ("fuzz-quick", [seconds]) => fuzz::quick(number(seconds)?),
        ("fuzz", [target]) => fuzz::one(target, 600),
        ("fuzz", [target, seconds]) => fuzz::one(target, number(seconds)?),
        ("peer", words) => peer::run(words),
        ("python", _) => python::run(rest),
        ("published", _) => published::run(rest),
        ("soak", ["--table", files @ ..]) => soak::table(files),
        ("soak", words) => soak::run(&soak::Arguments::parse(words)?),
        ("sanitize", [sanitizer]) => sanitize::run(sanitizer, None),
        ("sanitize", [sanitizer, seconds]) => sanitize::run(sanitizer, Some(number(seconds)?)),
        ("valgrind", []) => sanitize::valgrind(),
        ("simulate", _) => simulate::run(rest),
        ("scale", words) => simulate::scale(words),
        ("canary", words) => {
            let (part, words) = Part::take(words)?;
            canary::run(&words.join(" "), part)
        }
        ("delays", words) => delays::run(words),
        ("" | "help" | "--help" | "-h", _) => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("not understood: {}\n\n{HELP}", args.join(" "))),
    }
}

/// The part that `words` name; an error if there are other words.
fn whole(words: &[&str]) -> Result<Part, String> {
    match Part::take(words)? {
        (part, rest) if rest.is_empty() => Ok(part),
        (_, rest) => Err(format!("not understood: {}", rest.join(" "))),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{text} is not a number of seconds"))
}
