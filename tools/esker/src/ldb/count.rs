//! Rows counted by the part of their keys before a delimiter: `--count_delim`.

use std::io::{self, Write};

use crate::ldb::line::Line;

/// The counts of the rows whose keys begin alike.
pub struct ByDelimiter {
    delimiter: u8,
    group: Option<Vec<u8>>,
    count: u64,
    size: u64,
}

impl ByDelimiter {
    /// The delimiter of `--count_delim` or `--count_delim=C`; `None` without the flag.
    pub fn new(line: &Line) -> Option<ByDelimiter> {
        let given = line.value("count_delim").and_then(|text| text.first().copied());
        let asked = given.is_some() || line.flag("count_delim");
        asked.then(|| ByDelimiter {
            delimiter: given.unwrap_or(b'.'),
            group: None,
            count: 0,
            size: 0,
        })
    }

    /// Counts a row of `size` bytes; prints the group before, if the row begins another.
    pub fn add(&mut self, key: &[u8], size: u64, ends: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let is_end = |byte: &u8| *byte == self.delimiter || ends.contains(byte);
        let len = key.iter().position(is_end).unwrap_or(key.len());
        let group = &key[..len];
        // The counts of a group without a name are added to the next group.
        if self
            .group
            .as_deref()
            .is_some_and(|last| !last.is_empty() && last != group)
        {
            self.print(out)?;
            (self.count, self.size) = (0, 0);
        }
        self.count += 1;
        self.size += size;
        self.group = Some(group.to_vec());
        Ok(())
    }

    /// Prints the last group.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.group.as_deref().unwrap_or_default())?;
        writeln!(out, " => count:{}\tsize:{}", self.count, self.size)
    }
}
