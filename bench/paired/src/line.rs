//! Parses db_bench's output: RocksDB's format and ours are the same.

/// A result line, for example `readrandom : 1.170 micros/op 854525 ops/sec 0.234 seconds 200000 operations;`
/// with ` 94.5 MB/s (5 of 9 found)` after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The name of the workload.
    pub name: String,
    /// Microseconds per operation of a thread.
    pub micros: f64,
    /// Operations per second of all threads.
    pub ops_per_second: f64,
    /// MB of keys and values a second, if they were counted.
    pub mb_per_second: Option<f64>,
    /// The number of operations, if the line has it: releases before 7.0 do not.
    pub operations: Option<u64>,
    /// The numbers of keys found and keys requested.
    pub found: Option<(u64, u64)>,
}

impl Line {
    /// Parses a line; `None` if it is not a result line.
    pub fn parse(text: &str) -> Option<Line> {
        let (name, rest) = text.split_once(" : ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let before = |unit: &str| {
            let at = words.iter().position(|word| word.trim_end_matches(';') == unit)?;
            words.get(at.checked_sub(1)?)?.parse::<f64>().ok()
        };
        let found = rest.split_once('(').and_then(|(_, inner)| {
            let (found, rest) = inner.split_once(" of ")?;
            Some((
                found.trim().parse().ok()?,
                rest.split_once(" found")?.0.trim().parse().ok()?,
            ))
        });
        Some(Line {
            name: name.trim().to_owned(),
            micros: before("micros/op")?,
            ops_per_second: before("ops/sec")?,
            mb_per_second: before("MB/s"),
            operations: before("operations").map(|count| count as u64),
            found,
        })
    }
}

/// Every result line of an output.
pub fn lines(output: &str) -> Vec<Line> {
    output.lines().filter_map(Line::parse).collect()
}

/// The write amplification in the last statistics of an output: the row `Sum` of RocksDB's compaction
/// statistics, or the line `Write amplification: 1.00`.
pub fn write_amplification(output: &str) -> Option<f64> {
    let mut column = None;
    let mut last = None;
    for text in output.lines() {
        if let Some(number) = text.trim().strip_prefix("Write amplification: ") {
            last = number.trim().parse().ok().or(last);
            continue;
        }
        // Units are separate words in the rows (`5.1 MB`) but not in the heading, so columns are counted from
        // the end.
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.first() == Some(&"Level") {
            column = words.iter().rev().position(|word| *word == "W-Amp");
        } else if words.first() == Some(&"Sum")
            && let Some(from_end) = column
        {
            last = words
                .iter()
                .rev()
                .nth(from_end)
                .and_then(|word| word.parse().ok())
                .or(last);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_three_generations() {
        let line = Line::parse(
            "readrandom   :       1.170 micros/op 854525 ops/sec 0.234 seconds 200000 operations;   94.5 MB/s (126 of 200 found)",
        )
        .unwrap();
        assert_eq!(
            (line.name.as_str(), line.micros, line.ops_per_second),
            ("readrandom", 1.17, 854_525.0)
        );
        assert_eq!(
            (line.mb_per_second, line.operations, line.found),
            (Some(94.5), Some(200_000), Some((126, 200)))
        );
        let old = Line::parse(
            "readrandom   :       4.544 micros/op 220090 ops/sec;   16.9 MB/s (63103 of 100000 found)",
        )
        .unwrap();
        assert_eq!(
            (old.ops_per_second, old.mb_per_second, old.found),
            (220_090.0, Some(16.9), Some((63_103, 100_000)))
        );
        let bare = Line::parse("compact      :  129301.000 micros/op 7 ops/sec 0.129 seconds 1 operations;")
            .unwrap();
        assert_eq!(
            (bare.mb_per_second, bare.operations, bare.found),
            (None, Some(1), None)
        );
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "DB path: [/tmp/x]",
            "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)",
            "fillseq : skipped (--use_existing_db is true)",
            "x : micros/op ops/sec",
            "a : b",
        ] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
    }

    #[test]
    fn write_amplification_of_both() {
        let theirs = "\
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s)
--------
  L0      2/0    5.17 MB   0.5      0.0     0.0      0.0       0.1      0.1       0.0   1.0      0.0
 Sum      5/0   65.31 MB   0.0      0.1     0.1      0.1       0.2      0.1       0.0   2.3    101.7
 Int      0/0    0.00 KB   0.0      0.0     0.0      0.0       0.0      0.0       0.0   9.9      0.0
";
        assert_eq!(write_amplification(theirs), Some(2.3));
        assert_eq!(
            write_amplification("Flushed: 3 bytes\nWrite amplification: 1.25\n"),
            Some(1.25)
        );
        assert_eq!(write_amplification("nothing"), None);
    }
}
