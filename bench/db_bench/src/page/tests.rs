use super::*;
use crate::document::{FORMAT, IntervalRow, Level, Stall};
use crate::histogram::Percentiles;

fn latency(scale: f64) -> Percentiles {
    Percentiles {
        count: 1_000,
        mean: 2.0 * scale,
        stdev: scale,
        min: 0.5 * scale,
        p50: scale,
        p75: 2.0 * scale,
        p90: 3.0 * scale,
        p99: 10.0 * scale,
        p99_9: 100.0 * scale,
        p99_99: 500.0 * scale,
        max: 1_000.0 * scale,
    }
}

fn run(name: &str, rate: f64) -> Benchmark {
    let intervals = (1..=4)
        .map(|second| IntervalRow {
            seconds: f64::from(second),
            operations: (rate * f64::from(second) / 2.5) as u64,
            latency_micros: [("read".to_owned(), latency(f64::from(second)))].into(),
            levels: vec![
                Level {
                    files: 2,
                    bytes: 1 << 20,
                },
                Level::default(),
                Level {
                    files: 9,
                    bytes: u64::from(second as u32) << 24,
                },
            ],
            stall_seconds: if second == 2 { 0.25 } else { 0.0 },
            ..IntervalRow::default()
        })
        .collect();
    Benchmark {
        levels_before: Some(vec![Level { files: 1, bytes: 9 }]),
        name: name.to_owned(),
        threads: 2,
        operations: (4.0 * rate) as u64,
        seconds: 4.0,
        operations_per_second: rate,
        latency_micros: [("read".to_owned(), latency(2.0))].into(),
        stalls: vec![Stall {
            reason: "memtable-limit-stops".to_owned(),
            count: 3,
            seconds: 0.25,
        }],
        intervals,
        ..Benchmark::default()
    }
}

fn series(label: &str, runs: Vec<Benchmark>) -> Series {
    let document = Document {
        format: FORMAT,
        engine: "Esker".to_owned(),
        version: "1.2.3".to_owned(),
        unix_seconds: 1_700_000_000,
        seed: 42,
        flags_given: vec![
            ("num".to_owned(), "5".to_owned()),
            ("threads".to_owned(), "2".to_owned()),
        ],
        options: [("block_size".to_owned(), "4096".to_owned())].into(),
        benchmarks: runs,
        ..Document::default()
    };
    Series {
        label: label.to_owned(),
        document,
    }
}

/// The text between the first occurrences of two markers.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    let end = text[start..].find(to).unwrap_or_else(|| panic!("no {to}"));
    &text[start..start + end]
}

#[test]
fn the_page_holds_its_figures() {
    let all = [
        series("base", vec![run("readrandom", 1_000.0)]),
        series("new", vec![run("readrandom", 900.0)]),
    ];
    let page = render(&all, Some("A title"));
    let json = between(&page, "id=\"data\">", "</script>");
    let back: Vec<(String, Document)> = serde_json::from_str(json).unwrap();
    assert_eq!(back.len(), 2);
    for ((label, document), series) in back.iter().zip(&all) {
        assert_eq!((label, document), (&series.label, &series.document));
    }
}

#[test]
fn the_page_has_its_parts() {
    let one = render(
        &[series(
            "only",
            vec![run("fillseq", 1_000.0), run("readrandom", 500.0)],
        )],
        None,
    );
    for text in [
        "<title>only - db_bench</title>",
        "<h1>only</h1>",
        "<section id=\"w-fillseq\"><h2>fillseq</h2>",
        "<a href=\"#w-readrandom\">readrandom</a>",
        "<div class=\"tile\"><span>operations a second</span><b>1000</b></div>",
        "<div class=\"tile\"><span>p99.9</span><b>200 µs</b></div>",
        "<b>Throughput</b>",
        "<b>Latency of read, by percentile</b>",
        "<b>Latency of read, over time</b>",
        "<b>Shape of the tree</b>",
        "<b>Write stalls</b>",
        "<th>stalls: memtable-limit-stops</th><td>3</td>",
        "2023-11-14 22:13 UTC",
        "prefers-color-scheme:dark",
        "2 threads · 4000 operations",
    ] {
        assert!(one.contains(text), "{text}");
    }
    // The page has plots of throughput, tail latency, percentiles over time, the shape of the tree and
    // stalls, for each workload.
    assert_eq!(one.matches("<svg ").count(), 10);
    assert_eq!(one.matches("<svg ").count(), one.matches("</svg>").count());
    for tag in ["section", "div", "table", "details", "figure", "tr", "td", "th"] {
        let opened = one.matches(&format!("<{tag}>")).count() + one.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, one.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    // The page fetches nothing.
    for text in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!one.contains(text), "{text}");
    }
}

#[test]
fn differences_are_told_from_chance() {
    let runs = |rates: [f64; 4]| rates.map(|rate| run("readrandom", rate)).to_vec();
    let compare = |a: [f64; 4], b: [f64; 4]| render(&[series("a", runs(a)), series("b", runs(b))], None);
    let page = compare(
        [1_000.0, 1_020.0, 990.0, 1_005.0],
        [1_010.0, 1_000.0, 1_030.0, 1_002.0],
    );
    let row = between(&page, "<th>operations a second</th>", "</tr>");
    assert!(
        row.contains("no difference") && row.contains("990 to 1020"),
        "{row}"
    );
    let page = compare([1_000.0, 1_020.0, 990.0, 1_005.0], [900.0, 910.0, 890.0, 905.0]);
    let row = between(&page, "<th>operations a second</th>", "</tr>");
    assert!(row.contains("class=\"delta bad\">-10.0% ✗"), "{row}");
    assert!(page.contains("class=\"whisker\"") && page.matches("class=\"run\"").count() == 8);
    // With few runs of each side, the page shows the difference without a judgement.
    let three = |rate: f64| vec![run("x", rate), run("x", rate), run("x", rate)];
    let few = render(&[series("a", three(100.0)), series("b", three(50.0))], None);
    let row = between(&few, "<th>operations a second</th>", "</tr>");
    assert!(row.contains("class=\"delta \">-50.0%</td>"), "{row}");
    let single = render(
        &[
            series("a", vec![run("x", 100.0)]),
            series("b", vec![run("x", 200.0)]),
        ],
        None,
    );
    let row = between(&single, "<th>operations a second</th>", "</tr>");
    assert!(row.contains("class=\"delta \">+100.0%</td>"), "{row}");
}

#[test]
fn settings_that_differ_are_marked() {
    let a = series("a", vec![]);
    let mut b = series("b", vec![]);
    b.document.flags_given[1].1 = "4".to_owned();
    b.document
        .flags_given
        .push(("sync".to_owned(), "true".to_owned()));
    let page = render(&[a, b], None);
    assert!(page.contains("<tr class=\"differs\"><th>≠ threads</th><td>2</td><td>4</td></tr>"));
    assert!(page.contains("<tr class=\"differs\"><th>≠ sync</th><td>–</td><td>true</td></tr>"));
    assert!(page.contains("<tr><th>num</th><td>5</td><td>5</td></tr>"));
    assert!(page.contains("Flags given <span class=\"note\">2 differ</span>"));
    assert!(page.contains("Options of the engine <span class=\"note\">all alike</span>"));
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u{2028}";
    let mut hostile = run(evil, 1_000.0);
    hostile.message = evil.to_owned();
    hostile.latency_micros = [(evil.to_owned(), latency(1.0))].into();
    hostile.intervals[0].latency_micros = hostile.latency_micros.clone();
    hostile.stalls[0].reason = evil.to_owned();
    let mut series = series(evil, vec![hostile]);
    series.document.engine = evil.to_owned();
    series.document.version = evil.to_owned();
    series.document.machine.cpu = evil.to_owned();
    series.document.machine.kernel = evil.to_owned();
    series.document.flags_given = vec![(evil.to_owned(), evil.to_owned())];
    series.document.options = [(evil.to_owned(), evil.to_owned())].into();
    let expected = series.document.clone();
    let page = render(&[series], Some(evil));
    assert_eq!(page.matches("<script").count(), 2, "the figures and ours");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<img"));
    let back: Vec<(String, Document)> =
        serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    assert_eq!(back[0].1, expected);
}

#[test]
fn nothing_and_nonsense_are_drawn_too() {
    let mut wild = run("wild", f64::MAX);
    wild.intervals[1].seconds = 0.0;
    wild.intervals[2].seconds = -5.0;
    wild.intervals[3].stall_seconds = 1e300;
    wild.latency_micros = [("read".to_owned(), Percentiles::default())].into();
    let mut single = run("single", 5.0);
    single.intervals.truncate(1);
    for runs in [vec![], vec![Benchmark::default()], vec![wild], vec![single]] {
        let page = render(&[series("a", runs)], None);
        assert!(!page.contains("NaN") && page.ends_with("</html>\n"));
    }
    let mut long = run("long", 100.0);
    long.intervals = (1..=10_000)
        .map(|second| IntervalRow {
            seconds: f64::from(second),
            operations: 100,
            ..IntervalRow::default()
        })
        .collect();
    let page = render(&[series("a", vec![long])], None);
    let drawn = between(&page, "<b>Throughput</b>", "</svg>");
    assert_eq!(
        drawn.matches("<rect").count(),
        200,
        "as many points as can be seen"
    );
}

#[test]
fn repetitions_are_told_from_later_runs() {
    let mut warm = run("readrandom", 1.0);
    warm.warm_up = true;
    let runs = vec![
        run("fillseq", 9.0),
        warm,
        run("readrandom", 5.0),
        run("readrandom", 7.0),
        run("overwrite", 3.0),
        run("readrandom", 2.0),
    ];
    let all = [series("a", runs)];
    let groups = groups(&all);
    let found: Vec<(&str, usize)> = groups
        .iter()
        .map(|group| (group.name.as_str(), group.runs[0].len()))
        .collect();
    assert_eq!(
        found,
        [
            ("fillseq", 1),
            ("readrandom", 2),
            ("overwrite", 1),
            ("readrandom #2", 1)
        ]
    );
    assert_eq!(groups[3].anchor(), "w-readrandom--2");
}

#[test]
fn the_command_reads_files_and_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let document = series("x", vec![run("readrandom", 10.0)]).document;
    std::fs::create_dir(dir.path().join("other")).unwrap();
    document.write(&dir.path().join("a.json")).unwrap();
    document.write(&dir.path().join("other/a.json")).unwrap();
    let out = format!("--out={}", at("page.html"));
    let told = command(&[at("a.json"), at("other/a.json"), out.clone()]).unwrap();
    assert!(told.contains("page.html"), "{told}");
    let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert!(page.contains("<h1>a · a (2)</h1>"));

    std::fs::write(
        dir.path().join("bad.json"),
        "{\n  \"format\": 1,\n  \"seed\": oh\n}",
    )
    .unwrap();
    let error = command(&[at("a.json"), at("bad.json"), out.clone()]).unwrap_err();
    assert_eq!(
        error,
        format!("{}: line 3, column 11: expected value", at("bad.json"))
    );
    let error = command(&[at("missing.json")]).unwrap_err();
    assert!(error.contains("missing.json: No such file"), "{error}");
    assert!(command(&[]).unwrap_err().contains("wants files"));
    assert!(
        command(&["--what=1".to_owned()])
            .unwrap_err()
            .contains("no flag of report")
    );
    assert!(command(&["--help".to_owned()]).unwrap().contains("--out"));
}

#[test]
fn days_are_counted() {
    assert_eq!(date(0), "1970-01-01 00:00 UTC");
    assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
}

#[test]
fn spreads() {
    let spread = tables::Spread::of(vec![3.0, 1.0, 2.0, 10.0]);
    assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 10.0));
    assert_eq!(tables::Spread::of(vec![4.0]).text(svg::short), "4");
    assert_eq!(spread.text(svg::short), "2.5 <small>1 to 10</small>");
    assert_eq!(tables::Spread::of(vec![4.0, 4.0]).text(svg::short), "4");
}
