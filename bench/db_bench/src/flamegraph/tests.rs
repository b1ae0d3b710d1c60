use super::*;

fn stack(names: &str) -> Vec<String> {
    names.split(';').map(str::to_owned).collect()
}

fn profile() -> Profile {
    // The foreground threads have 3 s over three samples; compaction has 6 s over four samples, each of which
    // weighs half as much again.
    let times = BTreeMap::from([
        (Group::Foreground, 3_000_000_000),
        (Group::Flush, 500_000_000),
        (Group::Compaction, 6_000_000_000),
        (Group::Deletion, 0),
    ]);
    let samples = BTreeMap::from([
        (
            Group::Foreground,
            vec![(stack("random;get"), 2), (stack("random;next<u8>"), 1)],
        ),
        (
            Group::Compaction,
            vec![(stack("compact;next"), 3), (stack("compact"), 1)],
        ),
    ]);
    Profile::new(times, Duration::from_millis(9_510), samples)
}

/// The names and nanoseconds of the boxes of a row.
fn row(svg: &str, depth: usize) -> Vec<(String, u64)> {
    let start = format!("<g class=\"f\" data-depth=\"{depth}\" data-nanos=\"");
    svg.split(&start)
        .skip(1)
        .map(|rest| {
            let (nanos, rest) = rest.split_once('"').unwrap();
            let name = rest.split_once("<title>").unwrap().1;
            let name = name.rsplit_once("</title>").map_or(name, |(name, _)| name);
            let name = name.split(": ").next().unwrap();
            (name.to_owned(), nanos.parse().unwrap())
        })
        .collect()
}

#[test]
fn a_stack_weighs_what_it_stands_for() {
    let svg = draw::svg(&profile());
    let named = |name: &str, nanos: u64| (name.to_owned(), nanos);
    assert_eq!(row(&svg, 0), [named("all", 9_500_000_000)]);
    assert_eq!(
        row(&svg, 1),
        [
            named("foreground", 3_000_000_000),
            named("flush", 500_000_000),
            named("compaction", 6_000_000_000)
        ]
    );
    assert_eq!(
        row(&svg, 2),
        [
            named("random", 3_000_000_000),
            named("(no sample)", 500_000_000),
            named("compact", 6_000_000_000)
        ]
    );
    // If samples counted equally, `next` of compaction would be three sevenths of the whole: here it is 4.5 s
    // of 9.5.
    assert_eq!(
        row(&svg, 3),
        [
            named("get", 2_000_000_000),
            named("next&lt;u8&gt;", 1_000_000_000),
            named("next", 4_500_000_000)
        ]
    );
}

#[test]
fn the_text_says_what_a_sample_stands_for() {
    assert_eq!(
        profile().text(Path::new("run.svg")),
        "Flamegraph: run.svg: 7 samples of 9.500 s of CPU time; the process used 9.51 s; time spent waiting is not in it
  foreground     31.6%     3.000 s        3 samples of 1000.000 ms each
  flush           5.3%     0.500 s
  compaction     63.2%     6.000 s        4 samples of 1500.000 ms each
"
    );
}

#[test]
fn threads_are_told_apart_by_their_names() {
    for (name, group) in [
        ("bench-0", Group::Foreground),
        ("esker-flush", Group::Flush),
        ("esker-compact", Group::Compaction),
        ("esker-delete", Group::Deletion),
        ("db_bench", Group::Harness),
        ("profile", Group::Harness),
    ] {
        assert_eq!(Group::of(name), group);
    }
}
