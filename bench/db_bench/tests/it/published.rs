//! Published command lines run as printed, or are refused with the name of the missing feature. Their output
//! has the form of RocksDB's.

mod forms;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use forms::{FORMS, Form, Forms, Headers, Place};

const COMMANDS: &str = include_str!("published_commands.txt");

/// Workloads without a line of their own.
const SILENT: &[&str] = &[
    "stats",
    "levelstats",
    "memstats",
    "flush",
    "waitforcompaction",
    "compact0",
];

/// The commands of a source, which share a database.
struct Source {
    title: &'static str,
    commands: Vec<Published>,
}

/// A published command line.
struct Published {
    line: String,
    /// Flags with a placeholder, and the values that they take together.
    values: Vec<(Vec<&'static str>, Vec<Vec<&'static str>>)>,
    /// Flags and workloads that need a missing feature.
    needs: Vec<&'static str>,
    benchmark: Option<&'static str>,
}

fn sources() -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for line in COMMANDS.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            "source" => sources.push(Source {
                title: rest,
                commands: Vec::new(),
            }),
            "let" => {
                let (name, text) = rest.split_once(' ').expect("let NAME TEXT");
                names.push((format!("${name}"), text.to_owned()));
            }
            ">" | "flags" => {
                let mut line = match word {
                    ">" => rest.to_owned(),
                    _ => format!("db_bench --benchmarks=fillseq,readrandom {rest}"),
                };
                for (name, text) in names.iter().rev() {
                    line = line.replace(name, text);
                }
                commands(&mut sources).push(Published {
                    line,
                    values: Vec::new(),
                    needs: Vec::new(),
                    benchmark: None,
                });
            }
            "with" => {
                let (flags, values) = rest.split_once(" = ").expect("with FLAGS = VALUES");
                let flags: Vec<_> = flags.split(',').collect();
                // A list of workloads is one value.
                let parts = |value: &'static str| match flags.len() {
                    1 => vec![value],
                    _ => value.split(',').collect(),
                };
                let values = values.split(" | ").map(parts).collect();
                commands(&mut sources)
                    .last_mut()
                    .expect("a command")
                    .values
                    .push((flags, values));
            }
            "needs" => {
                let command = commands(&mut sources).last_mut().expect("a command");
                match rest.strip_prefix("benchmark ") {
                    Some(name) => command.benchmark = Some(name),
                    None => command.needs = rest.split(' ').collect(),
                }
            }
            _ => panic!("{line}"),
        }
    }
    sources
}

fn commands(sources: &mut [Source]) -> &mut Vec<Published> {
    &mut sources.last_mut().expect("a source").commands
}

/// The arguments of a line, as a shell would pass them: without the program, quotes, and anything after the
/// command.
fn arguments(line: &str) -> Vec<String> {
    let line = line.replace("$( date +%s )", "1645747200");
    let command = line.split(" 2> ").next().unwrap_or_default();
    command
        .split_whitespace()
        .skip(1)
        .map(|word| word.replace('"', ""))
        .collect()
}

fn flag_of(argument: &str) -> &str {
    argument
        .trim_start_matches('-')
        .split('=')
        .next()
        .unwrap_or_default()
}

/// The value of the last occurrence of a flag; a flag without a value is true.
fn value_of<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let argument = arguments
        .iter()
        .rev()
        .find(|argument| flag_of(argument) == flag)?;
    Some(argument.split_once('=').map_or("true", |(_, value)| value))
}

/// A line for each combination of the values of its placeholders.
fn expand(published: &Published) -> Vec<Vec<String>> {
    let mut lines = vec![arguments(&published.line)];
    for (flags, rows) in &published.values {
        lines = lines
            .iter()
            .flat_map(|line| {
                rows.iter().map(|row| {
                    let mut line = line.clone();
                    for (flag, value) in flags.iter().zip(row) {
                        let argument = line
                            .iter_mut()
                            .find(|argument| flag_of(argument) == *flag)
                            .unwrap_or_else(|| panic!("{flag} in {}", published.line));
                        *argument = format!("--{flag}={value}");
                    }
                    line
                })
            })
            .collect();
    }
    lines
}

/// Flags that reduce a line to a moment's work in `dir`.
fn small(arguments: &[String], dir: &Path) -> Vec<String> {
    let mut extra = vec![
        format!("--db={}", dir.join("db").display()),
        "--num=2000".to_owned(),
    ];
    let path = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
    let at_most = |flag: &str, most: i64| {
        let given = value_of(arguments, flag)?.parse().unwrap_or(most);
        Some(format!("--{flag}={}", given.min(most)))
    };
    extra.extend(value_of(arguments, "wal_dir").map(|_| path("wal_dir", "wal")));
    extra.extend(value_of(arguments, "report_interval_seconds").map(|_| path("report_file", "report.csv")));
    extra.extend(at_most("reads", 500));
    extra.extend(at_most("threads", 4));
    extra.extend(at_most("seek_nexts", 5));
    let synced = value_of(arguments, "sync") == Some("1");
    let writes = if synced { 50 } else { 2_000 };
    extra.push(format!("--writes={writes}"));
    if value_of(arguments, "reads").is_none() && value_of(arguments, "seek_nexts").is_some() {
        extra.push("--reads=100".to_owned());
    }
    // Checksums and compression process gigabytes otherwise.
    let endless = ["crc", "xx", "compress", "uncompress"];
    let benchmarks = value_of(arguments, "benchmarks").unwrap_or_default();
    if endless.iter().any(|name| benchmarks.starts_with(name)) {
        extra.push("--duration=1".to_owned());
    }
    extra
}

/// Runs db_bench. Returns whether it succeeded, and its output to standard output and to standard error.
fn run(arguments: &[String], extra: &[String]) -> (bool, String, String) {
    run_program(OsStr::new(env!("CARGO_BIN_EXE_db_bench")), arguments, extra)
}

/// Runs a db_bench: Esker's or RocksDB's.
fn run_program(program: &OsStr, arguments: &[String], extra: &[String]) -> (bool, String, String) {
    let output = Command::new(program)
        .args(arguments)
        .args(extra)
        .output()
        .expect("db_bench runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Checks one line: each flag that needs a missing feature is refused, and the rest of the line runs. Returns
/// its output.
fn check(source: &str, published: &Published, line: &[String], dir: &Path) -> String {
    let shown = format!("{source}\n{}\n", line.join(" "));
    let refused: Vec<&str> = published
        .needs
        .iter()
        .copied()
        .filter(|flag| !matches!(value_of(line, flag), None | Some("0" | "false")))
        .collect();
    if !refused.is_empty() {
        let (succeeded, out, err) = run(line, &small(line, dir));
        assert!(!succeeded, "{shown}runs: take its flags out of `needs`\n{out}");
        for flag in &refused {
            let told = err
                .lines()
                .any(|line| line.contains(&format!("--{flag}=")) && line.contains(" needs "));
            assert!(told, "{shown}{flag} is not named in\n{err}");
        }
        let lines = err.lines().filter(|line| line.starts_with("--")).count();
        assert!(lines <= refused.len(), "{shown}more is refused than said:\n{err}");
    }
    let rest: Vec<String> = line
        .iter()
        .filter(|argument| !refused.contains(&flag_of(argument)))
        .cloned()
        .collect();
    let (succeeded, out, err) = run(&rest, &small(&rest, dir));
    if let Some(name) = published.benchmark {
        let told = err.contains(&format!("benchmark '{name}' needs "));
        assert!(!succeeded && told, "{shown}{err}");
        return out;
    }
    assert!(succeeded, "{shown}{out}\n{err}");
    let benchmarks = value_of(line, "benchmarks").unwrap_or_default();
    for name in benchmarks.split(',').filter(|name| !SILENT.contains(name)) {
        let has_line = |line: &str| line.split(" :").next().map(str::trim_end) == Some(name);
        assert!(out.lines().any(has_line), "{shown}no line of {name} in\n{out}");
    }
    out
}

/// Whether each line of a command succeeded, its output, and its workloads.
type Outputs = Vec<(bool, String, String)>;

/// Runs the commands of a source, by RocksDB's db_bench too if there is one. Returns Esker's and RocksDB's
/// outputs of each.
fn run_source(source: &Source, peer: Option<&OsStr>) -> Vec<(Outputs, Outputs)> {
    let dir = tempfile::tempdir().expect("a directory");
    let place = |name: &str| -> PathBuf {
        let place = dir.path().join(name);
        std::fs::create_dir(&place).expect("a directory");
        place
    };
    let (ours, theirs) = (place("esker"), place("rocksdb"));
    let run_command = |published: &Published| {
        let (mut esker, mut rocksdb) = (Outputs::new(), Outputs::new());
        for line in expand(published) {
            let benchmarks = value_of(&line, "benchmarks").unwrap_or_default().to_owned();
            let out = check(source.title, published, &line, &ours);
            esker.push((true, out, benchmarks.clone()));
            if let Some(peer) = peer {
                let (succeeded, out, _) = run_program(peer, &line, &small(&line, &theirs));
                rocksdb.push((succeeded, out, benchmarks));
            }
        }
        (esker, rocksdb)
    };
    source.commands.iter().map(run_command).collect()
}

/// Runs the commands of all sources, two sources at a time.
fn run_sources(sources: &[Source], peer: Option<&OsStr>) -> Vec<Vec<(Outputs, Outputs)>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let ran: Vec<_> = sources.iter().map(|_| Mutex::new(Vec::new())).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(source) = sources.get(at) else { return };
                    *ran[at].lock().unwrap() = run_source(source, peer);
                }
            });
        }
    });
    ran.into_iter().map(|ran| ran.into_inner().unwrap()).collect()
}

fn form_of(outputs: &Outputs, headers: &mut Headers) -> Form {
    let mut form = Form::default();
    for (succeeded, out, benchmarks) in outputs {
        form.add(headers, *succeeded, out, benchmarks);
    }
    form
}

/// Every published command line runs, and prints lines of RocksDB's form. With `ESKER_PEER_DB_BENCH`,
/// RocksDB's db_bench of that path runs them too, and `published_forms.txt` is written.
#[test]
fn published_command_lines_run_or_name_what_is_missing() {
    let sources = sources();
    let peer: Option<OsString> = std::env::var_os("ESKER_PEER_DB_BENCH");
    let ran = run_sources(&sources, peer.as_deref());
    let mut forms = Forms::read(FORMS);
    let commands = sources.iter().zip(&ran).flat_map(|(source, ran)| {
        let numbered = ran.iter().enumerate();
        numbered.map(|(at, outputs)| -> (Place, _) { ((source.title.to_owned(), at + 1), outputs) })
    });
    if peer.is_some() {
        let mut headers = Forms::read("").headers;
        let both = commands.map(|(place, (esker, rocksdb))| {
            let rocksdb = form_of(rocksdb, &mut headers);
            (place, rocksdb, form_of(esker, &mut headers))
        });
        let both: Vec<_> = both.collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/published_forms.txt");
        std::fs::write(path, forms.written(headers, &both)).expect("the file is written");
        return;
    }
    let mut wrong = String::new();
    for (place, (esker, _)) in commands {
        let ours = form_of(esker, &mut forms.headers);
        wrong.extend(forms.compare(&place, &ours).err());
    }
    assert!(wrong.is_empty(), "{}\n{wrong}", forms.headers_text());
}

#[test]
fn every_command_of_the_list_is_read() {
    let sources = sources();
    let lines: usize = sources.iter().map(|source| source.commands.len()).sum();
    let printed = COMMANDS
        .lines()
        .filter(|line| line.starts_with("> ") || line.starts_with("flags "));
    assert_eq!(lines, printed.count());
    let mixed = &sources[0].commands[1];
    assert_eq!(expand(mixed).len(), 2 * 2 * 3 * 2);
    assert_eq!(
        arguments("./db_bench -a=\"x\"  --b=$( date +%s ) 2> /dev/null"),
        ["-a=x", "--b=1645747200"]
    );
}
