//! The shape of a database: one line for each level, from the first key at the left to the last at the right.

use esker::LiveFile;

/// The width of the key range in characters.
const WIDTH: usize = 56;
/// Shades by the number of files that cover a place: none, one, two or three, more. Below L0 files do not
/// overlap, and the only question is whether there is one.
const SHADES: [char; 4] = ['·', '░', '▒', '█'];

/// The position of a key among others, by its first eight bytes.
fn place(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// The picture of `files`.
pub fn draw(files: &[LiveFile]) -> String {
    let first = files
        .iter()
        .map(|file| place(&file.smallest_key))
        .min()
        .unwrap_or(0);
    let last = files
        .iter()
        .map(|file| place(&file.largest_key))
        .max()
        .unwrap_or(0);
    let span = (last - first) as f64 + 1.0;
    let column = |key: &[u8]| ((place(key) - first) as f64 / span * WIDTH as f64) as usize;
    let mut text = format!("level {:<WIDTH$} files      size\n", "keys, first to last");
    let levels = files.iter().map(|file| file.level + 1).max().unwrap_or(0);
    for level in 0..levels {
        let of_level: Vec<&LiveFile> = files.iter().filter(|file| file.level == level).collect();
        if of_level.is_empty() {
            continue;
        }
        let mut covered = [0usize; WIDTH];
        for file in &of_level {
            let (from, to) = (column(&file.smallest_key), column(&file.largest_key));
            covered[from..=to.min(WIDTH - 1)]
                .iter_mut()
                .for_each(|count| *count += 1);
        }
        let shade = |count: &usize| match count {
            0 => SHADES[0],
            _ if level > 0 => SHADES[3],
            1 => SHADES[1],
            2 | 3 => SHADES[2],
            _ => SHADES[3],
        };
        let strip: String = covered.iter().map(shade).collect();
        let size: u64 = of_level.iter().map(|file| file.size).sum();
        text.push_str(&format!(
            "L{level:<4} {strip} {:>5} {:>6.1} MB\n",
            of_level.len(),
            size as f64 / 1_048_576.0
        ));
    }
    if levels == 0 {
        text.push_str("      no tables: everything is in memory and in the WAL\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(level: usize, smallest: u64, largest: u64, size: u64) -> LiveFile {
        LiveFile {
            column_family: "default".to_owned(),
            level,
            number: 1,
            path: "1.sst".into(),
            size,
            smallest_key: smallest.to_be_bytes().to_vec(),
            largest_key: largest.to_be_bytes().to_vec(),
            smallest_seqno: 0,
            largest_seqno: 0,
            num_entries: 0,
            num_deletions: 0,
            num_reads_sampled: 0,
            being_compacted: false,
            temperature: Default::default(),
            file_checksum_func_name: String::new(),
            file_checksum: Vec::new(),
        }
    }

    #[test]
    fn levels_are_drawn_over_the_keys() {
        let files = [
            file(0, 0, 100, 1 << 20),
            file(0, 0, 49, 1 << 20),
            file(6, 0, 49, 1 << 21),
            file(6, 75, 100, 1 << 20),
        ];
        let picture = draw(&files);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[1].starts_with(&format!("L0    {}{}", "▒".repeat(28), "░".repeat(28))),
            "{picture}"
        );
        assert!(lines[1].ends_with("    2    2.0 MB"), "{picture}");
        assert!(lines[2].contains("█·") && lines[2].contains("·█"), "{picture}");
    }

    #[test]
    fn an_empty_database_says_so() {
        assert!(draw(&[]).contains("no tables"));
    }
}
