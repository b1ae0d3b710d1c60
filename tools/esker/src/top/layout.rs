//! Text within the width of a terminal: tables that end at its right edge, lines with a part at each edge,
//! and long texts over several lines.

use std::fmt::{self, Write};

/// The width of a frame that a script reads: every line is whole, and tables are as narrow as their cells.
pub const UNLIMITED: usize = usize::MAX;

/// The least width in columns for which a frame is drawn.
pub const LEAST_WIDTH: usize = 20;

/// Columns between two columns of a table, and between the two parts of a line, at least.
const GAP: usize = 2;

/// The width to which the first column of a table may shrink.
const LEAST_FIRST: usize = 8;

/// A column of a table. Its cells are aligned right, those of the first column left.
pub struct Column {
    pub title: &'static str,
    /// If the table is too wide, the columns with the highest rank are left out first. Those of rank 0 stay.
    pub rank: usize,
}

/// Writes a table whose last column ends at the right edge. Columns without any cell are left out.
pub fn table(out: &mut String, width: usize, columns: &[Column], rows: &[Vec<String>]) -> fmt::Result {
    let natural = |at: usize| {
        let cells = rows.iter().map(|row| columns_of(&row[at])).max();
        cells.unwrap_or(0).max(columns_of(columns[at].title))
    };
    let has_cells = |at: usize| at == 0 || rows.iter().any(|row| !row[at].is_empty());
    let mut shown: Vec<usize> = (0..columns.len()).filter(|&at| has_cells(at)).collect();
    // The width of all columns but the first, with the gaps before them.
    let others = |shown: &[usize]| shown[1..].iter().map(|&at| natural(at) + GAP).sum::<usize>();
    let least = natural(0).min(LEAST_FIRST);
    while least + others(&shown) > width {
        let Some(least_needed) = shown.iter().copied().max_by_key(|&at| columns[at].rank) else {
            break;
        };
        if columns[least_needed].rank == 0 {
            break;
        }
        shown.retain(|&at| at != least_needed);
    }
    let first = natural(0).min(width.saturating_sub(others(&shown)).max(least));
    let gaps = shown.len() - 1;
    let slack = match width {
        UNLIMITED => 0,
        _ => width.saturating_sub(first + others(&shown)),
    };
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = padded(&cut(&row[0], first), first);
        for (place, &at) in shown[1..].iter().enumerate() {
            // The columns that are left over go to the gaps on the left.
            let gap = GAP + slack / gaps + usize::from(place < slack % gaps);
            let space = gap + natural(at) - columns_of(&row[at]);
            let _ = write!(line, "{:space$}{}", "", row[at]);
        }
        writeln!(out, "{}", cut(line.trim_end(), width))?;
    }
    Ok(())
}

/// Writes a line with `left` at the left edge and `right` at the right edge, or over several lines if it does
/// not fit.
pub fn edges(out: &mut String, width: usize, left: &str, right: &str) -> fmt::Result {
    let (left, right) = (&*safe(left), &*safe(right));
    let (left_width, right_width) = (columns_of(left), columns_of(right));
    if right.is_empty() {
        return wrapped(out, width, left);
    }
    if width == UNLIMITED {
        return writeln!(out, "{left}  {right}");
    }
    if left_width + GAP + right_width <= width {
        let space = width - left_width - right_width;
        return writeln!(out, "{left}{:space$}{right}", "");
    }
    wrapped(out, width, left)?;
    match right_width <= width {
        true => writeln!(out, "{:space$}{right}", "", space = width - right_width),
        false => wrapped(out, width, right),
    }
}

/// Writes `text` over as many lines as it needs; the later ones are indented by two columns more than the
/// first.
pub fn wrapped(out: &mut String, width: usize, text: &str) -> fmt::Result {
    if columns_of(text) <= width {
        return writeln!(out, "{}", safe(text));
    }
    let indent = text.len() - text.trim_start().len();
    let later = (indent + GAP).min(width / 2);
    let mut line = " ".repeat(indent.min(width / 2));
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let mut word = word;
        if !is_empty && columns_of(&line) + 1 + columns_of(word) > width {
            writeln!(out, "{line}")?;
            line = " ".repeat(later);
            is_empty = true;
        }
        // A word that is wider than a line is broken.
        while columns_of(&line) + columns_of(word) > width {
            let (fits, rest) = word.split_at(prefix_within(word, width - columns_of(&line)));
            writeln!(out, "{line}{}", safe(fits))?;
            line = " ".repeat(later);
            word = rest;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&safe(word));
        is_empty = false;
    }
    writeln!(out, "{line}")
}

/// Returns as many of `names` as fit into `width`, followed by the number of names that do not fit.
pub fn names(names: &[&str], width: usize) -> String {
    let listed = |shown: usize| {
        let mut text = names[..shown].join(", ");
        if shown < names.len() {
            let _ = write!(text, " and {} more", names.len() - shown);
        }
        text
    };
    let fits = (1..=names.len())
        .rev()
        .map(listed)
        .find(|text| columns_of(text) <= width);
    fits.unwrap_or_else(|| match names.len() {
        0 | 1 => cut(&names.join(", "), width),
        more => cut(&format!("{more} families"), width),
    })
}

/// Returns `text` within `width` columns; `…` is in the place of the part that is left out.
pub fn cut(text: &str, width: usize) -> String {
    let text = safe(text);
    if columns_of(&text) <= width {
        return text;
    }
    let kept = prefix_within(&text, width.saturating_sub(1));
    format!("{}…", &text[..kept])
}

fn padded(text: &str, width: usize) -> String {
    let space = width.saturating_sub(columns_of(text));
    format!("{text}{:space$}", "")
}

/// Returns the length in bytes of the longest prefix within `width` columns.
fn prefix_within(text: &str, width: usize) -> usize {
    let mut used = 0;
    let first_beyond = text.char_indices().find(|(_, c)| {
        used += columns_of_char(*c);
        used > width
    });
    first_beyond.map_or(text.len(), |(at, _)| at)
}

/// Returns `text` without characters that control a terminal: names and paths may have any.
fn safe(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(visible).collect()
}

/// Returns the number of columns of a text on a terminal.
fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

/// Returns the number of columns of a character: none if it combines with the one before it, two if it is
/// wide, as ideographs are.
fn columns_of_char(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            title: "family",
            rank: 0,
        },
        Column {
            title: "files",
            rank: 0,
        },
        Column {
            title: "score",
            rank: 2,
        },
        Column {
            title: "size",
            rank: 1,
        },
    ];

    fn drawn(width: usize, rows: &[[&str; 4]]) -> Vec<String> {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
            .collect();
        let mut out = String::new();
        table(&mut out, width, COLUMNS, &rows).unwrap();
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_ends_at_the_right_edge_and_loses_columns_by_rank() {
        let row = ["a long name of a family", "12", "0.50", "1.0 MiB"];
        assert_eq!(
            drawn(60, &[row]),
            [
                "family                        files       score         size",
                "a long name of a family          12        0.50      1.0 MiB",
            ]
        );
        assert_eq!(
            drawn(32, &[row]),
            [
                "family     files  score     size",
                "a long n…     12   0.50  1.0 MiB",
            ]
        );
        assert_eq!(
            drawn(24, &[row]),
            ["family    files     size", "a long …     12  1.0 MiB"]
        );
        assert_eq!(drawn(15, &[row]), ["family    files", "a long …     12"]);
        assert_eq!(
            drawn(UNLIMITED, &[["a", "1", "", "2 B"]]),
            ["family  files  size", "a           1   2 B"]
        );
    }

    #[test]
    fn a_line_has_a_part_at_each_edge() {
        let drawn = |width: usize| {
            let mut out = String::new();
            edges(&mut out, width, "left part", "right").unwrap();
            out
        };
        assert_eq!(drawn(20), "left part      right\n");
        assert_eq!(drawn(16), "left part  right\n");
        assert_eq!(drawn(15), "left part\n          right\n");
        assert_eq!(drawn(6), "left\n  part\n right\n");
        assert_eq!(drawn(4), "left\n  pa\n  rt\nrigh\n  t\n");
        assert_eq!(drawn(UNLIMITED), "left part  right\n");
    }

    #[test]
    fn names_are_as_many_as_fit() {
        let all = ["default", "alpha", "beta"];
        assert_eq!(names(&all, UNLIMITED), "default, alpha, beta");
        assert_eq!(names(&all, 20), "default, alpha, beta");
        assert_eq!(names(&all, 19), "default and 2 more");
        assert_eq!(names(&all, 17), "3 families");
        assert_eq!(names(&["default"], 4), "def…");
        assert_eq!(names(&[], 4), "");
    }

    #[test]
    fn wide_and_hostile_names_keep_to_their_columns() {
        assert_eq!(cut("数据库", 6), "数据库");
        assert_eq!(cut("数据库", 5), "数据…");
        assert_eq!(cut("a\u{1b}[2Jb", 9), "a\u{fffd}[2Jb");
    }
}
