//! `docs/ratios.svg`: the ratios of the table in `docs/performance.md` as a picture, in light and dark.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The page with the table, from the root.
const PAGE: &str = "docs/performance.md";

/// The head of the table.
const HEAD: &str = "| workload | Esker | RocksDB | ratio |";

/// The width of the picture, of its labels, and the place where its figures begin.
const WIDTH: f64 = 760.0;
const LABELS: f64 = 330.0;
const FIGURES: f64 = 690.0;
/// The heights of a row, of a bar, and of the space above the first row.
const ROW: f64 = 22.0;
const BAR: f64 = 10.0;
const TOP: f64 = 48.0;

/// The ratios at the ends of the axis, and its marks.
const LEAST: f64 = 0.8;
const MOST: f64 = 32.0;
const MARKS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.minor { fill: #59636e }
.bar { fill: #2a78d6 }
.spread { stroke: #1f2328; stroke-width: 1.5 }
.grid { stroke: #d1d9e0 }
.one { stroke: #59636e }
.back { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.minor { fill: #9198a1 }
.bar { fill: #3987e5 }
.spread { stroke: #f0f6fc }
.grid { stroke: #3d444d }
.one { stroke: #9198a1 }
.back { fill: #0d1117 }
}
";

/// A row of the table: the ratio, and the least and the greatest of a round.
#[derive(Debug, PartialEq)]
struct Row {
    label: String,
    ratio: f64,
    least: f64,
    greatest: f64,
}

/// The path of the picture, and its text.
pub fn file(root: &Path) -> Result<(PathBuf, String), String> {
    let page = std::fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let rows = rows(&page)?;
    Ok((root.join("docs/ratios.svg"), picture(&rows)))
}

/// The rows of the table.
fn rows(page: &str) -> Result<Vec<Row>, String> {
    let table = page
        .lines()
        .skip_while(|line| *line != HEAD)
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let rows: Vec<Row> = table
        .map(|line| row(line).ok_or_else(|| format!("{PAGE}: no ratio in {line:?}")))
        .collect::<Result<_, _>>()?;
    match rows.is_empty() {
        true => Err(format!("{PAGE} lacks the table {HEAD:?}")),
        false => Ok(rows),
    }
}

/// A row such as ``| `fillseq` | 223 ns | 853 ns | 3.80 (3.56..4.32) |``.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [label, _, _, ratios] = cells[..] else {
        return None;
    };
    let (ratio, spread) = ratios.strip_suffix(')')?.split_once(" (")?;
    let (least, greatest) = spread.split_once("..")?;
    Some(Row {
        label: label.replace('`', ""),
        ratio: ratio.parse().ok()?,
        least: least.parse().ok()?,
        greatest: greatest.parse().ok()?,
    })
}

/// The horizontal place of a ratio, on a logarithmic axis.
fn place(ratio: f64) -> f64 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LABELS + share * (FIGURES - 10.0 - LABELS)
}

fn picture(rows: &[Row]) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 12.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"How many times faster Esker is than RocksDB, by workload\">\n\
         <!-- Written by cargo xtask gen from {PAGE}; do not edit. -->\n<style>\n{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"10\" y=\"18\">How many times faster than RocksDB 11.8</text>\n\
         <text class=\"minor\" x=\"10\" y=\"36\">median, with the least and greatest round</text>\n"
    );
    for &mark in MARKS {
        let x = place(mark);
        let class = if mark == 1.0 { "one" } else { "grid" };
        let _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"minor\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>",
            TOP - 6.0
        );
    }
    for (at, row) in rows.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5);
        let (one, end) = (place(1.0), place(row.ratio));
        let _ = writeln!(
            out,
            "<text x=\"10\" y=\"{text:.1}\">{label}</text>\
             <rect class=\"bar\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>\
             <line class=\"spread\" x1=\"{least:.1}\" x2=\"{greatest:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>\
             <text x=\"{WIDTH}\" dx=\"-10\" y=\"{text:.1}\" text-anchor=\"end\">{ratio:.2}</text>",
            text = middle + 4.0,
            label = short(&row.label),
            x = one.min(end),
            top = middle - BAR / 2.0,
            width = (end - one).abs(),
            least = place(row.least),
            greatest = place(row.greatest),
            ratio = row.ratio,
        );
    }
    out.push_str("</svg>\n");
    out
}

/// The label without its last words, if it is too long for its column.
fn short(label: &str) -> String {
    const MOST_LETTERS: usize = 50;
    let mut label = label;
    while label.chars().count() > MOST_LETTERS {
        let Some((begin, _)) = label.rsplit_once(", ") else {
            break;
        };
        label = begin;
    }
    label.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_the_table() {
        let page = format!(
            "# Page\n\n{HEAD}\n|---|---|---|---|\n| `fill`, LZ4 | 2 ns | 4 ns | 2.00 (1.50..2.50) |\n\nText\n"
        );
        let expected = Row {
            label: "fill, LZ4".to_owned(),
            ratio: 2.0,
            least: 1.5,
            greatest: 2.5,
        };
        assert_eq!(rows(&page).unwrap(), [expected]);
        assert!(rows("# Page\n").is_err());
    }

    #[test]
    fn places_are_logarithmic() {
        let step = place(2.0) - place(1.0);
        assert!((place(4.0) - place(2.0) - step).abs() < 1e-6);
        assert!(place(0.9) < place(1.0));
        assert_eq!(place(100.0), place(32.0));
    }

    #[test]
    fn long_labels_lose_their_last_words() {
        let long = "readrandom from the page cache, LZ4, 8 MiB of block cache";
        assert_eq!(short(long), "readrandom from the page cache, LZ4");
        assert_eq!(short("a < b"), "a &lt; b");
    }
}
