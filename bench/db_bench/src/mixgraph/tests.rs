use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;
use crate::op::Op;
use crate::runner;
use crate::seeds::Seeds;

fn flags(preset: &str, num: i64) -> Flags {
    let args = [
        format!("--mixgraph_preset={preset}"),
        format!("--num={num}"),
        "--noprogress_reports".into(),
    ];
    match ::flags::parse(&args).unwrap() {
        ::flags::Parsed::Run(flags) => *flags,
        ::flags::Parsed::Help => panic!("help"),
    }
}

fn refused(change: impl Fn(&mut Flags)) -> String {
    let mut flags = flags("prefix_dist", 1_000);
    change(&mut flags);
    Mixgraph::new(&flags, 1).unwrap_err()
}

/// All 60,000 operations of a run with `threads` threads.
fn done_by(threads: usize, mut flags: Flags, seed: u64) -> Vec<Operation> {
    flags.mix_accesses = 60_000;
    let mixgraph = Mixgraph::new(&flags, seed).unwrap();
    let done = Mutex::new(Vec::new());
    let summary = runner::run(&flags, threads, 0, &Seeds::new(1), &(), &|thread| {
        let mut own = Vec::new();
        for operation in mixgraph.share() {
            own.push(operation);
            thread.finished(1, Op::Other);
        }
        done.lock().unwrap().extend(own);
        Ok(())
    })
    .unwrap();
    assert_eq!(summary.done, 60_000);
    done.into_inner().unwrap()
}

/// Pearson's statistic of two samples over cells, and the number of cells: the two are about equal if the
/// samples come from one distribution.
fn chi_square<C: Ord>(a: &[Operation], b: &[Operation], cell: impl Fn(&Operation) -> C) -> (f64, f64) {
    let mut cells: BTreeMap<C, [f64; 2]> = BTreeMap::new();
    for operation in a {
        cells.entry(cell(operation)).or_default()[0] += 1.0;
    }
    for operation in b {
        cells.entry(cell(operation)).or_default()[1] += 1.0;
    }
    let (of_a, of_b) = (a.len() as f64, b.len() as f64);
    let statistic = cells
        .values()
        .map(|[in_a, in_b]| (in_a * of_b - in_b * of_a).powi(2) / (of_a * of_b * (in_a + in_b)))
        .sum();
    (statistic, cells.len() as f64)
}

/// True if the statistic fits one distribution, except one time in a billion: six deviations.
fn alike((statistic, cells): (f64, f64)) -> bool {
    statistic < cells + 6.0 * (2.0 * cells).sqrt()
}

/// The number of keys in these tests.
const NUM: i64 = 5_000;

/// The rank of a key among the hottest 50, or one value for all other keys.
fn hot(operation: &Operation) -> u64 {
    let key = |rank: &u64| mix(*rank) % NUM as u64;
    (1..=50).find(|rank| key(rank) == operation.key).unwrap_or(0)
}

#[test]
fn many_threads_do_what_one_does() {
    for preset in preset::NAMES {
        let of = |threads: usize, seed: u64| done_by(threads, flags(preset, NUM), seed);
        // With the same seed, the operations are the same, in another order.
        let (mut one, mut eight) = (of(1, 1), of(8, 1));
        one.sort_unstable();
        eight.sort_unstable();
        assert!(one == eight, "{preset}");
        // With another seed, the operations differ, but the distributions of keys, kinds and lengths are the
        // same.
        let mut other = of(8, 2);
        other.sort_unstable();
        assert!(one != other, "{preset}");
        for (what, result) in [
            ("hot keys", chi_square(&one, &other, hot)),
            ("keys", chi_square(&one, &other, |operation| operation.key)),
            ("kinds", chi_square(&one, &other, |operation| operation.kind)),
            (
                "values",
                chi_square(&one, &other, |operation| {
                    (operation.kind, operation.value_size.ilog2_or_0())
                }),
            ),
            (
                "scans",
                chi_square(&one, &other, |operation| {
                    (operation.kind, (operation.scan_length as usize).ilog2_or_0())
                }),
            ),
        ] {
            assert!(alike(result), "{preset}: {what} {result:?}");
        }
    }
}

trait Log2 {
    fn ilog2_or_0(self) -> u32;
}

impl Log2 for usize {
    fn ilog2_or_0(self) -> u32 {
        self.checked_ilog2().map_or(0, |log| log + 1)
    }
}

#[test]
fn the_comparison_tells_distributions_apart() {
    let of = |preset: &str, seed: u64| done_by(2, flags(preset, NUM), seed);
    let dist = of("all_dist", 1);
    assert!(!alike(chi_square(&dist, &of("all_random", 2), hot)));
    assert!(!alike(chi_square(&dist, &of("prefix_dist", 2), |operation| {
        operation.key
    })));
    let mut more_puts = flags("all_dist", NUM);
    (more_puts.mix_get_ratio, more_puts.mix_put_ratio) = (0.81, 0.16);
    let more_puts = done_by(2, more_puts, 2);
    assert!(!alike(chi_square(&dist, &more_puts, |operation| operation.kind)));
}

#[test]
fn each_operation_is_drawn_by_itself() {
    // RocksDB's db_bench derives the kind, key and length of an operation from one number: if keys are
    // equally likely, low keys have long scans.
    let correlation = |flags: &Flags| {
        let operations = done_by(1, flags.clone(), 3);
        let seeks: Vec<&Operation> = operations
            .iter()
            .filter(|operation| operation.kind == Kind::Seek)
            .collect();
        let low: Vec<bool> = seeks.iter().map(|operation| operation.key < 5_000).collect();
        let long: Vec<bool> = seeks.iter().map(|operation| operation.scan_length > 40).collect();
        let share = |of: &[bool]| of.iter().filter(|is| **is).count() as f64 / seeks.len() as f64;
        let both: Vec<bool> = low.iter().zip(&long).map(|(low, long)| *low && *long).collect();
        share(&both) / (share(&low) * share(&long))
    };
    let mut flags = flags("all_random", 10_000);
    assert!((correlation(&flags) - 1.0).abs() < 0.1, "{}", correlation(&flags));
    flags.mixgraph_like_rocksdb = true;
    assert!(correlation(&flags) > 1.5, "{}", correlation(&flags));
}

#[test]
fn what_is_implied_is_what_comes() {
    for preset in preset::NAMES {
        for like_rocksdb in [false, true] {
            // RocksDB's way needs many numbers, since each decides everything.
            let num = if like_rocksdb { 600_000 } else { 600 };
            let mut flags = flags(preset, num);
            flags.mixgraph_like_rocksdb = like_rocksdb;
            let mixgraph = Mixgraph::new(&flags, 5).unwrap();
            let implied = Implied::new(&mixgraph, 1);
            let operations: Vec<Operation> = (0..600_000).map(|number| mixgraph.operation(number)).collect();
            let near = |what: &str, said: f64, seen: f64, tolerance: f64| {
                assert!(
                    (said - seen).abs() <= tolerance,
                    "{preset} {like_rocksdb}: {what} {said} said, {seen} seen"
                );
            };
            let mean = |kind: Kind, of: &dyn Fn(&Operation) -> f64| {
                let of_kind: Vec<f64> = operations
                    .iter()
                    .filter(|operation| operation.kind == kind)
                    .map(of)
                    .collect();
                near(
                    "share",
                    implied.ratios[kind as usize],
                    of_kind.len() as f64 / 600_000.0,
                    0.005,
                );
                of_kind.iter().sum::<f64>() / of_kind.len() as f64
            };
            mean(Kind::Get, &|_| 0.0);
            let size = mean(Kind::Put, &|operation| operation.value_size as f64);
            let length = mean(Kind::Seek, &|operation| operation.scan_length as f64);
            // With 600 numbers, RocksDB's way makes few different lengths.
            near(
                "value",
                implied.value_size,
                size,
                if like_rocksdb { 6.0 } else { 0.6 },
            );
            if !like_rocksdb {
                near("scan", implied.scan_length, length, 40.0);
            }
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for operation in operations.iter().filter(|operation| operation.key < num as u64) {
                *counts.entry(operation.key).or_default() += 1;
            }
            let mut counts: Vec<u64> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            if !like_rocksdb {
                let hottest = |count: usize| counts[..count].iter().sum::<u64>() as f64 / 600_000.0;
                near("hottest 1%", implied.hottest_hundredth, hottest(6), 0.01);
                near("hottest 10%", implied.hottest_tenth, hottest(60), 0.01);
            }
            let missing = operations
                .iter()
                .filter(|operation| operation.key >= num as u64)
                .count() as f64
                / 600_000.0;
            near("missing", implied.missing, missing, 0.02);
        }
    }
}

#[test]
fn implied_figures_are_the_published_ones() {
    // Published results report values of about 35 bytes and scans of about 560 steps.
    let implied = |preset: &str| {
        let flags = flags(preset, 50_000_000);
        Implied::new(&Mixgraph::new(&flags, 1).unwrap(), 8)
    };
    let all_dist = implied("all_dist");
    assert!(
        (35.0..37.0).contains(&all_dist.value_size),
        "{}",
        all_dist.value_size
    );
    assert!(
        (530.0..590.0).contains(&all_dist.scan_length),
        "{}",
        all_dist.scan_length
    );
    // The expected share of the 500,000 hottest ranks is 0.002312 x 500,000^0.3467, and their part of the
    // operations that are spread evenly.
    assert!(
        (0.21..0.24).contains(&all_dist.hottest_hundredth),
        "{}",
        all_dist.hottest_hundredth
    );
    let all_random = implied("all_random");
    assert!(
        (all_random.hottest_hundredth - 0.01).abs() < 1e-9 && (all_random.hottest_tenth - 0.1).abs() < 1e-9
    );
    let prefix_random = implied("prefix_random");
    let (hottest, count) = prefix_random.hottest_range.unwrap();
    assert!((0.76..0.80).contains(&hottest) && count == 30, "{hottest}");
    assert!((prefix_random.hottest_hundredth - hottest * 0.3).abs() < 0.001);
    let text = implied("prefix_dist").to_string();
    for line in [
        "Mixgraph:   83.0% Get, 14.0% Put, 3.0% Seek; one sequence of operations, done by 8 threads together\n",
        "Put:        values of 36",
        "Seek:       scans of 5",
        "Hot keys:   the hottest 1% of the keys take ",
        "Hot ranges: the hottest of 30 ranges of keys takes 7",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn scans_of_no_steps_can_be_asked_for() {
    let none = |change: &dyn Fn(&mut Flags)| {
        let mut flags = flags("hwperf", 1_000);
        change(&mut flags);
        let mixgraph = Mixgraph::new(&flags, 1).unwrap();
        let seeks = mixgraph.share().filter(|operation| operation.kind == Kind::Seek);
        let steps: Vec<u64> = seeks.map(|seek| seek.scan_length).collect();
        assert!(
            !steps.is_empty() && steps.iter().all(|steps| *steps == 0),
            "{steps:?}"
        );
        let text = Implied::new(&mixgraph, 1).to_string();
        assert!(
            text.contains("Seek:       scans of 0.0 steps on average, at most 0\n"),
            "{text}"
        );
    };
    // `hwperf` was published with these values.
    none(&|flags| (flags.iter_k, flags.iter_sigma) = (0.0, 0.0));
    none(&|flags| flags.mix_max_scan_len = 0);
}

#[test]
fn settings_that_come_to_nothing_are_refused() {
    assert!(refused(|flags| flags.mix_get_ratio = 0.5).contains("must be 1 together, and are 0.67"));
    assert!(
        refused(|flags| (flags.mix_get_ratio, flags.mix_put_ratio) = (1.2, -0.23))
            .contains("must be 1 together")
    );
    assert!(refused(|flags| flags.value_sigma = 0.0).contains("all values would be empty"));
    assert!(refused(|flags| flags.mix_max_value_size = 0).contains("--mix_max_value_size"));
    assert!(refused(|flags| flags.iter_sigma = 0.0).contains("no seek would be followed"));
    assert!(refused(|flags| flags.mix_max_scan_len = 1).contains("no seek would be followed"));
    assert!(refused(|flags| flags.mix_max_scan_len = -1).contains("must not be negative"));
    assert!(refused(|flags| flags.key_dist_b = 0.0).contains("one is nothing without the other"));
    assert!(refused(|flags| flags.key_dist_a = 1.0).contains("the same key"));
    assert!(refused(|flags| flags.keyrange_num = 2_000).contains("more ranges than the 1000 keys"));
    assert!(refused(|flags| flags.keyrange_num = 0).contains("at least 1"));
    assert!(
        refused(|flags| (flags.keyrange_dist_a, flags.keyrange_dist_c) = (-1.0, 0.0))
            .contains("no range of keys")
    );
    assert!(refused(|flags| flags.read_random_exp_range = 2.0).contains("not both"));
    assert!(
        refused(|flags| (flags.benchmark_read_rate_limit, flags.benchmark_write_rate_limit) = (1, 1))
            .contains("cannot keep two rates")
    );
    let ranges_of_nothing = |flags: &mut Flags| {
        *flags = self::flags("all_dist", 1_000);
        flags.keyrange_num = 30;
    };
    assert!(refused(ranges_of_nothing).contains("is nothing without --keyrange_dist_a"));
    assert!(
        refused(|flags| (flags.num, flags.mixgraph_like_rocksdb) = (999, true))
            .contains("at least 1000 keys")
    );
    // Unused settings may have any value, and seeks without steps can be asked for.
    let mut gets = Flags {
        value_sigma: 0.0,
        iter_sigma: 0.0,
        ..Flags::default()
    };
    Mixgraph::new(&gets, 1).unwrap();
    (gets.mix_get_ratio, gets.mix_seek_ratio, gets.mix_max_scan_len) = (0.0, 1.0, 0);
    Mixgraph::new(&gets, 1).unwrap();
}

#[test]
fn a_preset_gives_way_to_flags_beside_it() {
    let parse = |line: &str| {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match ::flags::parse(&args)? {
            ::flags::Parsed::Run(flags) => Ok(*flags),
            ::flags::Parsed::Help => Err("help".to_owned()),
        }
    };
    for line in [
        "--mixgraph_preset=prefix_dist --keyrange_num=7 --key_size=20",
        "--keyrange_num=7 --key_size=20 --mixgraph_preset=prefix_dist",
    ] {
        let flags: Flags = parse(line).unwrap();
        assert_eq!((flags.keyrange_num, flags.key_size), (7, 20), "{line}");
        assert_eq!(
            (flags.key_dist_a, flags.keyrange_dist_b),
            (0.002312, -2.917),
            "{line}"
        );
    }
    let error = parse("--mixgraph_preset=all").unwrap_err();
    assert_eq!(
        error,
        "--mixgraph_preset=all: not one of all_dist, prefix_dist, all_random, prefix_random, hwperf"
    );
    let hwperf = parse("--mixgraph_preset=hwperf").unwrap();
    assert_eq!(
        (hwperf.key_dist_b, hwperf.iter_k, hwperf.mix_seek_ratio),
        (0.3467, 2.517, 0.03)
    );
}

#[test]
fn a_preset_for_other_benchmarks_is_what_the_flag_stands_for() {
    let preset = Mixgraph::of_preset("all_dist", 5_000, 60_000, 9).unwrap();
    assert_eq!((preset.key_size, preset.value_size), (48, 43));
    let operations: Vec<Operation> = preset.operations.share().collect();
    let mut expected = flags("all_dist", 5_000);
    expected.mix_accesses = 60_000;
    let expected = Mixgraph::new(&expected, 9).unwrap();
    assert_eq!(operations, expected.share().collect::<Vec<_>>());
    assert!(Mixgraph::of_preset("some_dist", 5_000, 1, 9).is_err());
    assert!(Mixgraph::of_preset("prefix_dist", 5, 1, 9).is_err());
}
