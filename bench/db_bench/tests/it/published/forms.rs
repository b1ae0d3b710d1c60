//! The form of db_bench's output: its lines, with a mark in place of each number. `published_forms.txt` holds
//! the form of RocksDB's output for every published command line, and where Esker's is another one, with the
//! reason.
//!
//! ```text
//! header 1
//!   LINE                 a line of the header that has this number below
//! source TITLE           a source of published_commands.txt
//! command N              its N-th command
//!   LINE                 a line that both programs print
//! - LINE                 a line that only RocksDB prints
//! + LINE                 a line that only Esker prints
//! why REASON             the reason for the lines with - and +
//! ```
//!
//! A command with placeholders is several command lines; equal forms of lines that follow each other are
//! there once.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The expected forms.
pub const FORMS: &str = include_str!("../published_forms.txt");

/// The first line of the file, for a run that writes it.
const TITLE: &str = "\
# The form of RocksDB 11.8.1's output for the command lines of published_commands.txt, and where Esker's differs.
# ESKER_PEER_DB_BENCH=$PWD/target/peer/db_bench cargo test -p db_bench published_command_lines
# writes this file with RocksDB's db_bench of `cargo xtask peer`, and keeps the reasons. forms.rs has the grammar.
";

/// The output of one program for the command lines of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    lines: Vec<String>,
    last: Vec<String>,
}

impl Form {
    /// Adds the output of a command line that runs `benchmarks`.
    pub fn add(&mut self, headers: &mut Headers, succeeded: bool, out: &str, benchmarks: &str) {
        let mut lines = Vec::new();
        let (mut header, mut in_header) = (Vec::new(), false);
        let mut histogram = false;
        for line in out.lines() {
            in_header |= line.starts_with("Keys:");
            if in_header && line.starts_with("-----") {
                in_header = false;
                lines.push(format!("header {}", headers.number(std::mem::take(&mut header))));
            } else if in_header && !line.starts_with("WARNING:") {
                header.push(form(line));
            } else if is_result(line, benchmarks) {
                lines.push(form(line));
            } else if line.starts_with("Microseconds per ") {
                histogram = true;
                lines.push(form(line));
            } else if histogram {
                // Three lines of figures, then the buckets.
                histogram = !line.starts_with("-----");
                lines.extend(histogram.then(|| form(line)));
            }
        }
        if !succeeded {
            lines.push("fails".to_owned());
        }
        if lines != self.last {
            self.lines.extend(lines.iter().cloned());
            self.last = lines;
        }
    }
}

/// True if `line` is the result of one of `benchmarks`.
fn is_result(line: &str, benchmarks: &str) -> bool {
    line.split_once(" :").is_some_and(|(name, _)| {
        benchmarks
            .split(',')
            .any(|benchmark| benchmark == name.trim_end())
    })
}

/// Returns `line` with `#` in place of each number and one space in place of several. Digits of a name, as in
/// `crc32c`, are no number; RocksDB's `-nan` is one.
fn form(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        if matches!(word, "nan" | "-nan" | "inf") {
            return "#".to_owned();
        }
        let mut text = String::new();
        let mut chars = word.chars().peekable();
        while let Some(next) = chars.next() {
            if !next.is_ascii_digit()
                || text.ends_with(|before: char| before.is_alphanumeric() || before == '.')
            {
                text.push(next);
                continue;
            }
            while chars
                .next_if(|more| more.is_ascii_digit() || *more == '.')
                .is_some()
            {}
            text.push('#');
        }
        text
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The different headers, each with a number from 1 on.
pub struct Headers(Vec<Vec<String>>);

impl Headers {
    fn number(&mut self, header: Vec<String>) -> usize {
        let found = self.0.iter().position(|known| *known == header);
        found.unwrap_or_else(|| {
            self.0.push(header);
            self.0.len() - 1
        }) + 1
    }
}

/// The title of a source and the number of a command in it, from 1 on.
pub type Place = (String, usize);

/// The contents of `published_forms.txt`.
pub struct Forms {
    /// The headers.
    pub headers: Headers,
    commands: BTreeMap<Place, Vec<String>>,
}

impl Forms {
    /// Parses the file.
    pub fn read(text: &str) -> Forms {
        let mut headers = Vec::new();
        let mut commands: BTreeMap<Place, Vec<String>> = BTreeMap::new();
        let (mut title, mut place) = (String::new(), None);
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(found) = line.strip_prefix("source ") {
                title = found.to_owned();
            } else if let Some(number) = line.strip_prefix("command ") {
                place = Some((title.clone(), number.parse().expect("the number of a command")));
            } else if line.starts_with("header ") {
                headers.push(Vec::new());
            } else if let Some(place) = &place {
                commands.entry(place.clone()).or_default().push(line.to_owned());
            } else {
                headers.last_mut().expect("a header").push(line[2..].to_owned());
            }
        }
        Forms {
            headers: Headers(headers),
            commands,
        }
    }

    /// Compares Esker's output for a command with the file, and returns the differences.
    pub fn compare(&self, place: &Place, ours: &Form) -> Result<(), String> {
        let lines = self.commands.get(place).map_or(&[][..], Vec::as_slice);
        let expected: Vec<&str> = lines
            .iter()
            .filter(|line| line.starts_with("  ") || line.starts_with("+ "))
            .map(|line| &line[2..])
            .collect();
        let differs = lines.iter().any(|line| line.starts_with(['-', '+']));
        if differs && self.reason(place).is_none() {
            return Err(format!("{place:?} has no reason for its lines with - and +\n"));
        }
        if expected == ours.lines {
            return Ok(());
        }
        let mut text = format!("{place:?}: expected, and found:\n");
        for line in expected {
            let _ = writeln!(text, "  {line}");
        }
        for line in &ours.lines {
            let _ = writeln!(text, "+ {line}");
        }
        Err(text)
    }

    /// The headers by their numbers, for the report of a difference.
    pub fn headers_text(&self) -> String {
        let mut text = String::new();
        for (at, header) in self.headers.0.iter().enumerate() {
            let _ = writeln!(text, "header {}", at + 1);
            for line in header {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    fn reason(&self, place: &Place) -> Option<&str> {
        let lines = self.commands.get(place)?;
        lines
            .iter()
            .find_map(|line| line.strip_prefix("why "))
            .filter(|reason| !reason.is_empty())
    }

    /// Returns the text of the file for the forms of both programs: each command with RocksDB's and Esker's.
    /// Reasons are those of `self`; a new difference has an empty one.
    pub fn written(&self, headers: Headers, commands: &[(Place, Form, Form)]) -> String {
        let with_headers = Forms {
            headers,
            commands: BTreeMap::new(),
        };
        let mut text = format!("{TITLE}\n{}", with_headers.headers_text());
        let mut title = "";
        for (place, rocksdb, esker) in commands {
            if place.0 != title {
                title = &place.0;
                let _ = writeln!(text, "\nsource {title}");
            }
            let _ = writeln!(text, "command {}", place.1);
            let (theirs, ours) = (&rocksdb.lines, &esker.lines);
            let equal = |pair: &(&String, &String)| pair.0 == pair.1;
            let before = theirs.iter().zip(ours).take_while(equal).count();
            let most = theirs.len().min(ours.len()) - before;
            let after = theirs.iter().rev().zip(ours.iter().rev());
            let after = after.take(most).take_while(equal).count();
            let parts = [
                ("  ", &theirs[..before]),
                ("- ", &theirs[before..theirs.len() - after]),
                ("+ ", &ours[before..ours.len() - after]),
                ("  ", &theirs[theirs.len() - after..]),
            ];
            for (mark, lines) in parts {
                for line in lines {
                    let _ = writeln!(text, "{mark}{line}");
                }
            }
            if theirs != ours {
                let _ = writeln!(text, "why {}", self.reason(place).unwrap_or_default());
            }
        }
        text
    }
}

#[test]
fn numbers_are_marked_and_names_stay() {
    for (line, marked) in [
        (
            "crc32c       :       1.298 micros/op 770416 ops/sec 1.000 seconds",
            "crc32c : # micros/op # ops/sec # seconds",
        ),
        (
            "Percentiles: P50: 0.55 P99.99: 718.00",
            "Percentiles: P50: # P99.99: #",
        ),
        (
            "( Gets:500 Puts:0, avg size: -nan value, 1.5 scan)",
            "( Gets:# Puts:#, avg size: # value, # scan)",
        ),
        ("(+ 0 bytes)", "(+ # bytes)"),
    ] {
        assert_eq!(form(line), marked);
    }
}

#[test]
fn a_difference_is_found_and_needs_a_reason() {
    let out = "Keys: 16\nWARNING: slow\n-----\nx : 2 ops\nother : 3\nMicroseconds per write:\nCount: 4\n-----\n[ 0 ]\n";
    let (mut headers, mut rocksdb, mut esker) = (Headers(Vec::new()), Form::default(), Form::default());
    rocksdb.add(&mut headers, true, out, "y,x");
    // The same form again is there once.
    rocksdb.add(&mut headers, true, &out.replace('4', "5"), "y,x");
    esker.add(&mut headers, false, &out.replace("ops", "rows"), "y,x");
    let place = ("S".to_owned(), 1);
    let nothing = Forms::read("");
    let commands = [(place.clone(), rocksdb, esker.clone())];
    let text = nothing.written(headers, &commands);
    let body = "header 1\n  Keys: #\n\nsource S\ncommand 1\n  header 1\n- x : # ops\n- Microseconds per write:\n- Count: #\n\
                + x : # rows\n+ Microseconds per write:\n+ Count: #\n+ fails\nwhy \n";
    assert_eq!(text, format!("{TITLE}\n{body}"));
    let unexplained = Forms::read(&text);
    assert!(
        unexplained
            .compare(&place, &esker)
            .unwrap_err()
            .contains("no reason")
    );
    let explained = Forms::read(&text.replace("why ", "why the rows are counted"));
    assert_eq!(explained.compare(&place, &esker), Ok(()));
    let mut changed = esker.clone();
    changed.lines[1] = "x : # operations".to_owned();
    assert!(
        explained
            .compare(&place, &changed)
            .unwrap_err()
            .contains("+ x : # operations")
    );
    // The reasons stay when the file is written again.
    let again = explained.written(Forms::read(&text).headers, &commands);
    assert!(again.ends_with("why the rows are counted\n"), "{again}");
    assert!(explained.compare(&("S".to_owned(), 2), &esker).is_err());
}
