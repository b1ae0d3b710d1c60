//! Rules for lines of Rust.

use super::finding::Finding;
use super::source::{Line, Source, is_word, word_at};

/// A call that has a better replacement.
struct Ban {
    rule: &'static str,
    /// The words in code that match, as whole words.
    words: &'static [&'static str],
    /// The replacement.
    instead: &'static str,
    /// The code that the rule applies to.
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// Code of `crates/` that is not tests.
    Crates,
    /// Code of `crates/` with its tests.
    CratesAndTests,
    /// Everything in the tree that is not tests.
    Everywhere,
    /// Tests in any folder; benchmarks and examples may measure or show time.
    Tests,
}

const SLEEPS: &[&str] = &["thread::sleep", "sleep_ms", "park_timeout"];

const BANS: &[Ban] = &[
    Ban {
        rule: "clock",
        words: &["Instant::now", "SystemTime::now", ".elapsed()"],
        instead: "take the time from a base::env::Clock, so that a test can set it",
        scope: Scope::Crates,
    },
    Ban {
        rule: "sleep",
        words: SLEEPS,
        instead: "wait on a condition variable, or move a ManualClock",
        scope: Scope::Crates,
    },
    Ban {
        rule: "test-sleep",
        words: SLEEPS,
        instead: "wait for a condition with testkit::wait_until, for a message with testkit::receive, or move a ManualClock",
        scope: Scope::Tests,
    },
    Ban {
        rule: "test-timeout",
        words: &[
            "recv_timeout",
            "recv_deadline",
            "wait_timeout",
            "wait_timeout_while",
            "wait_while_for",
        ],
        instead: "receive with testkit::receive, whose watchdog ends a test in vain, and see that a thread waits with Task::wait_until_asleep",
        scope: Scope::Tests,
    },
    Ban {
        rule: "test-clock",
        words: &["Instant::now", "SystemTime::now", ".elapsed()"],
        instead: "do a fixed number of things, or wait with testkit::wait_until; testkit::Watchdog ends a test that hangs",
        scope: Scope::Tests,
    },
    Ban {
        rule: "chance",
        words: &[
            "fastrand::u8",
            "fastrand::u16",
            "fastrand::u32",
            "fastrand::u64",
            "fastrand::usize",
            "fastrand::bool",
            "fastrand::fill",
            "fastrand::shuffle",
            "fastrand::Rng::new",
            "Rng::new()",
            "thread_rng",
        ],
        instead: "use a base::env::Rng of a known seed (in tests testkit::rng), so that a failure can be replayed",
        scope: Scope::CratesAndTests,
    },
    Ban {
        rule: "print",
        words: &["println!", "print!", "eprintln!", "eprint!"],
        instead: "return it, or make it an event: a library has no terminal",
        scope: Scope::Crates,
    },
    Ban {
        rule: "exit",
        words: &["process::exit", "process::abort"],
        instead: "return an error: a library does not end its caller",
        scope: Scope::Crates,
    },
    Ban {
        rule: "unwrap",
        words: &[".unwrap()", ".unwrap_err()"],
        instead: "use `?`, or `expect` with the reason why it cannot fail",
        scope: Scope::Everywhere,
    },
    Ban {
        rule: "disk",
        words: &["std::fs", "fs::File", "fs::read", "fs::write", "fs::OpenOptions"],
        instead: "go through vfs, the only door to a disk",
        scope: Scope::Crates,
    },
    Ban {
        rule: "thread",
        words: &["thread::spawn"],
        instead: "give the thread a name: thread::Builder",
        scope: Scope::Crates,
    },
    Ban {
        rule: "locks",
        words: &["parking_lot::", "use std::thread", "std::sync::Condvar"],
        instead: "take locks and threads from base::sync, so that the engine can be simulated",
        scope: Scope::Crates,
    },
    Ban {
        rule: "endian",
        words: &["to_ne_bytes", "from_ne_bytes"],
        instead: "files are little-endian on every machine: to_le_bytes, from_le_bytes",
        scope: Scope::Everywhere,
    },
];

/// Targets that cargo builds besides tests.
const MEASURING: &[&str] = &["/benches/", "/examples/"];

/// The folders of the crates that the bans of [`Scope::Crates`] concern.
const HOMES: &[&str] = &["crates/", "testing/testkit/", "testing/dbtest/"];

/// The crates that access the disk.
const DISK_CRATES: &[&str] = &["crates/vfs/", "testing/testkit/", "testing/dbtest/"];

/// The places where `unsafe` is allowed.
const UNSAFE_PLACES: &[&str] = &[
    "crates/memtable/src/",
    "crates/cache/src/",
    "crates/sst/src/block/",
    "crates/vfs/src/",
    "crates/capi/src/",
    "crates/jni/src/",
];

/// Returns every finding in one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |rule, at: usize, message: String| {
        found.push(Finding::new(rule, &source.path, at + 1, message));
    };
    let texts: Vec<&str> = source.text.lines().collect();
    for (at, line) in source.lines.iter().enumerate() {
        if line.code.trim().is_empty() {
            continue;
        }
        if line.test && prints_a_skip(source, &texts, at) {
            let message = "report it with testkit::skip: nothing shows a line that a passing test prints";
            add("test-skip", at, message.into());
        }
        for ban in BANS {
            if let Some(word) = banned(ban, source, line) {
                add(ban.rule, at, format!("{word}: {}", ban.instead));
            }
        }
        if let Some(message) = unsafe_code(source, at) {
            add("unsafe", at, message);
        }
        if let Some(message) = lint_level(source, at) {
            add("expect", at, message);
        }
        if line.code.contains("#[ignore]") {
            add("ignore", at, "say why: #[ignore = \"…\"]".into());
        }
        if !line.test
            && let Some(name) = twin(&line.code)
        {
            add(
                "twin",
                at,
                format!("{name}: finish the move to the new one, or name it by the difference"),
            );
        }
    }
    found
}

fn banned(ban: &Ban, source: &Source, line: &Line) -> Option<&'static str> {
    let in_crates = HOMES.iter().any(|home| source.path.starts_with(home));
    let applies = match ban.scope {
        Scope::Crates => in_crates && !line.test,
        Scope::CratesAndTests => in_crates,
        Scope::Everywhere => !line.test,
        Scope::Tests => line.test && !MEASURING.iter().any(|place| source.path.contains(place)),
    };
    let exempt = ban.rule == "disk" && DISK_CRATES.iter().any(|place| source.path.starts_with(place));
    if !applies || exempt {
        return None;
    }
    ban.words
        .iter()
        .copied()
        .find(|word| word_at(&line.code, word).is_some())
}

/// The macros that print.
const PRINTS: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];

/// True if the line has a text that begins with "skip", and prints it.
fn prints_a_skip(source: &Source, texts: &[&str], at: usize) -> bool {
    let text = texts.get(at).copied().unwrap_or_default().to_lowercase();
    // The macro is on the line before, if the text is too long for one line.
    let lines = &source.lines[at.saturating_sub(1)..=at];
    let prints = |code: &str| PRINTS.iter().any(|word| word_at(code, word).is_some());
    text.contains("\"skip") && lines.iter().any(|line| prints(&line.code))
}

/// The maximum distance in lines from an `unsafe` to the `SAFETY` comment above it.
const REASON_REACH: usize = 12;

fn unsafe_code(source: &Source, at: usize) -> Option<String> {
    let line = &source.lines[at];
    // `unsafe_code` and `unsafe_op_in_unsafe_fn` are lints, and so other words; `unsafe(no_mangle)` is an
    // attribute.
    let column = word_at(&line.code, "unsafe")?;
    let after = line.code[column + "unsafe".len()..].trim_start();
    if after.starts_with('(') || after.starts_with("extern") {
        return None;
    }
    let allowed = UNSAFE_PLACES.iter().any(|place| source.path.starts_with(place));
    if !allowed {
        return Some(format!(
            "unsafe code may stand in {} only",
            UNSAFE_PLACES.join(", ")
        ));
    }
    let (mark, what) = if after.starts_with("fn") || after.starts_with("trait") {
        // A type `unsafe fn(…)`, and an implementation of an unsafe trait's method, need no reason.
        if after.starts_with("fn(") {
            return None;
        }
        ("# Safety", "a `# Safety` section: what the caller must ensure")
    } else {
        ("SAFETY:", "a `// SAFETY:` comment: why it is sound")
    };
    let reaches = source.lines[at.saturating_sub(REASON_REACH)..=at].iter().rev();
    // The search goes upwards over comments, attributes and the lines of the same statement.
    for (distance, above) in reaches.enumerate() {
        if above.comment.contains(mark) || above.comment.contains("SAFETY:") {
            return None;
        }
        let code = above.code.trim();
        let ends_something =
            code.ends_with(';') || code.ends_with('}') || code.is_empty() && above.comment.is_empty();
        if distance > 0 && ends_something {
            break;
        }
    }
    Some(format!("lacks {what}"))
}

fn lint_level(source: &Source, at: usize) -> Option<String> {
    let code = source.lines[at].code.trim_start();
    let code = code.split_once("cfg_attr(").map_or(code, |(_, rest)| rest);
    if code.starts_with("#[allow(") || code.starts_with("#![allow(") {
        return Some("use #[expect(…, reason = \"…\")]: it goes away when its cause does".into());
    }
    if code.starts_with("#[expect(") || code.starts_with("#![expect(") {
        let attribute: String = source.lines[at..]
            .iter()
            .take(4)
            .map(|line| line.code.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let attribute = attribute.split(']').next().unwrap_or("");
        if !attribute.contains("reason =") {
            return Some("say why: reason = \"…\"".into());
        }
    }
    None
}

/// Returns the name of an item that looks like the second version of another item.
fn twin(code: &str) -> Option<&str> {
    for keyword in [
        "fn ", "struct ", "enum ", "trait ", "mod ", "type ", "const ", "static ",
    ] {
        let Some(at) = word_at(code, keyword.trim_end()) else {
            continue;
        };
        let rest = code[at..].strip_prefix(keyword)?;
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let lower = name.to_lowercase();
        let numbered = lower.rsplit_once("_v").is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if numbered
            || ["_new2", "_old", "_legacy"]
                .iter()
                .any(|ending| lower.ends_with(ending))
        {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path, text, false))
            .iter()
            .map(|found| format!("{}:{}", found.line, found.rule))
            .collect()
    }

    #[test]
    fn banned_calls_name_their_replacement() {
        let text = "\
fn f() {
    let t = Instant::now();
    std::thread::sleep(d); // SystemTime::now in a comment is fine
    println!(\"Instant::now\");
    x.unwrap();
    std::fs::read(p);
    fastrand::u64(..);
    thread::spawn(f);
    x.to_ne_bytes();
}
#[cfg(test)]
mod tests {
    fn g() { x.unwrap(); println!(); std::fs::read(p); thread::sleep(d); }
}
";
        assert_eq!(
            rules("crates/a/src/lib.rs", text),
            [
                "2:clock",
                "3:sleep",
                "4:print",
                "5:unwrap",
                "6:disk",
                "7:chance",
                "8:thread",
                "9:endian",
                "13:test-sleep"
            ]
        );
        assert_eq!(
            rules("tools/t/src/main.rs", text),
            ["5:unwrap", "9:endian", "13:test-sleep"]
        );
        assert_eq!(
            rules("crates/vfs/src/posix.rs", "fn f() { std::fs::read(p); }"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_test_has_neither_clock_nor_sleep() {
        let text = "\
fn f() {
    let start = Instant::now();
    while start.elapsed() < LONG {
        std::thread::park_timeout(LOOK);
    }
    testkit::wait_until(\"it is there\", || true);
    heard.recv_timeout(LONG);
    changed.wait_timeout(held, LONG);
}
";
        let of_test = |path: &str| -> Vec<String> {
            let found = check(&Source::new(path, text, true));
            found
                .iter()
                .map(|found| format!("{}:{}", found.line, found.rule))
                .collect()
        };
        let expected = [
            "2:test-clock",
            "3:test-clock",
            "4:test-sleep",
            "7:test-timeout",
            "8:test-timeout",
        ];
        for path in [
            "crates/a/tests/it/b.rs",
            "tools/t/tests/it/main.rs",
            "bench/compare/tests/it/a.rs",
        ] {
            assert_eq!(of_test(path), expected, "{path}");
        }
        assert_eq!(rules("tools/t/src/main.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_test_reports_what_it_skips() {
        let text = "\
fn f() {
    eprintln!(\"skipped: no ldb\");
    println!(
        \"Skipped {name}\",
    );
    testkit::skip(\"ldb\");
    let rest = text.skip(1);
    eprintln!(\"1 skipped\");
}
";
        let found = check(&Source::new("crates/a/tests/it/b.rs", text, true));
        let found: Vec<_> = found.iter().map(|found| (found.line, found.rule)).collect();
        assert_eq!(found, [(2, "test-skip"), (4, "test-skip")]);
        assert_eq!(rules("xtask/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn unsafe_code_has_its_places_and_its_reasons() {
        let good = "\
// SAFETY: the index was checked.
unsafe { f() };
let x =
    // SAFETY: as above.
    unsafe { f() };
unsafe { g() } // SAFETY: here.
/// Adds.
///
/// # Safety
///
/// The caller holds it.
#[inline]
pub unsafe fn add() {}
// SAFETY: no interior mutability.
unsafe impl Send for T {}
type F = unsafe fn(u8);
";
        assert_eq!(rules("crates/cache/src/lru.rs", good), Vec::<String>::new());
        let bad = "\
// SAFETY: the index was checked.
unsafe { f() };
unsafe { f() };

unsafe fn g() {}
unsafe impl Send for T {}
";
        assert_eq!(
            rules("crates/cache/src/lru.rs", bad),
            ["3:unsafe", "5:unsafe", "6:unsafe"]
        );
        assert_eq!(
            rules("crates/wal/src/lib.rs", "// SAFETY: x\nunsafe { f() };"),
            ["2:unsafe"]
        );
        assert_eq!(
            rules("crates/wal/src/lib.rs", "#![forbid(unsafe_code)]"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn lint_levels_have_reasons() {
        assert_eq!(rules("a.rs", "#[allow(dead_code)]\nfn f() {}"), ["1:expect"]);
        assert_eq!(rules("a.rs", "#[expect(dead_code)]\nfn f() {}"), ["1:expect"]);
        assert_eq!(
            rules(
                "a.rs",
                "#[expect(\n    dead_code,\n    reason = \"x\"\n)]\nfn f() {}"
            ),
            Vec::<String>::new()
        );
        assert_eq!(rules("a.rs", "#[ignore]\n#[ignore = \"slow\"]"), ["1:ignore"]);
    }

    #[test]
    fn second_editions_are_seen() {
        assert_eq!(
            rules("a.rs", "fn merge_v2() {}\nstruct Iter_V3;\nmod merge_old;"),
            ["1:twin", "2:twin", "3:twin"]
        );
        assert_eq!(
            rules(
                "a.rs",
                "fn read_value() {}\nlet x_v2 = 1;\nconst XXH_VALUE: u8 = 1;"
            ),
            Vec::<String>::new()
        );
    }
}
