//! `--part K/N`: a share of a long check.

use std::ops::Range;

/// The `number`th of `count` shares, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    number: usize,
    count: usize,
}

impl Part {
    /// The part that is everything: 1/1.
    pub const WHOLE: Part = Part { number: 1, count: 1 };

    /// The `number`th of `count` shares, if there is such a share.
    pub const fn new(number: usize, count: usize) -> Option<Part> {
        if number == 0 || number > count {
            return None;
        }
        Some(Part { number, count })
    }

    /// Parses `K/N`.
    pub fn parse(text: &str) -> Result<Part, String> {
        let parts = text.split_once('/');
        parts
            .and_then(|(number, count)| Part::new(number.parse().ok()?, count.parse().ok()?))
            .ok_or_else(|| format!("{text} is no part K/N: K is from 1 to N"))
    }

    /// Takes `--part K/N` out of `words`.
    pub fn take<'a>(words: &[&'a str]) -> Result<(Part, Vec<&'a str>), String> {
        let Some(at) = words.iter().position(|word| *word == "--part") else {
            return Ok((Part::WHOLE, words.to_vec()));
        };
        let text = words.get(at + 1).ok_or("--part needs K/N")?;
        let rest = [&words[..at], &words[at + 2..]].concat();
        Ok((Part::parse(text)?, rest))
    }

    /// The share of `all` things that is in this part, in their order.
    pub fn of(self, all: usize) -> Range<usize> {
        all * (self.number - 1) / self.count..all * self.number / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_written_with_a_slash() {
        assert_eq!(Part::parse("2/3"), Ok(Part { number: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "2", "a/b", "2/3/4", ""] {
            assert!(Part::parse(wrong).is_err(), "{wrong}");
        }
        let (part, rest) = Part::take(&["one", "--part", "1/2", "two"]).unwrap();
        assert_eq!((part, rest), (Part { number: 1, count: 2 }, vec!["one", "two"]));
        assert_eq!(Part::take(&["one"]).unwrap(), (Part::WHOLE, vec!["one"]));
        assert!(Part::take(&["--part"]).is_err());
    }

    #[test]
    fn each_thing_belongs_to_one_part() {
        for count in 1..12 {
            let parts = || (1..=count).map(|number| Part { number, count });
            for all in 0..40 {
                let found: Vec<usize> = parts().flat_map(|part| part.of(all)).collect();
                assert_eq!(found, (0..all).collect::<Vec<_>>());
            }
        }
    }
}
