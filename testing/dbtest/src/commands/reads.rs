//! The commands that read.

use esker::{ColumnFamily, KeyMayExist, ReadOptions, ReadTier, Result};
use testkit::datadriven::TestCase;
use testkit::keys::escape;

use super::session::Session;
use super::text::{
    bytes, flag, misuse, optional, optional_bytes, optional_timestamp, place, print_columns, print_found,
    show, show_timestamp, switch,
};
use super::writes::row_of_fill;

impl Session {
    /// The options of a read.
    pub(super) fn read_options(&self, case: &mut TestCase) -> Result<ReadOptions> {
        let snapshot = optional::<String>(case, "snapshot")?.map(|name| self.snapshot(&name).cloned());
        let mut options = ReadOptions {
            snapshot: snapshot.transpose()?,
            iterate_lower_bound: optional_bytes(case, "lower")?,
            iterate_upper_bound: optional_bytes(case, "upper")?,
            timestamp: optional_timestamp(case, "ts")?,
            iter_start_ts: optional_timestamp(case, "iter_start_ts")?,
            max_skippable_internal_keys: optional(case, "max_skippable_internal_keys")?.unwrap_or(0),
            readahead_size: optional(case, "readahead_size")?.unwrap_or(0),
            value_size_soft_limit: optional(case, "value_size_soft_limit")?.unwrap_or(u64::MAX),
            read_tier: match optional::<String>(case, "read_tier")?.as_deref() {
                None => ReadTier::All,
                Some("kBlockCacheTier") => ReadTier::BlockCache,
                Some("kMemtableTier") => ReadTier::Memtable,
                Some(other) => return Err(misuse(format!("unknown read_tier={other}"))),
            },
            ..ReadOptions::default()
        };
        for (name, value) in [
            ("prefix_same_as_start", &mut options.prefix_same_as_start),
            ("auto_prefix_mode", &mut options.auto_prefix_mode),
            ("tailing", &mut options.tailing),
            ("fill_cache", &mut options.fill_cache),
            ("verify_checksums", &mut options.verify_checksums),
            ("async_io", &mut options.async_io),
            ("auto_readahead_size", &mut options.auto_readahead_size),
            ("allow_unprepared_value", &mut options.allow_unprepared_value),
            ("ignore_range_deletions", &mut options.ignore_range_deletions),
            (
                "auto_refresh_iterator_with_snapshot",
                &mut options.auto_refresh_iterator_with_snapshot,
            ),
        ] {
            switch(case, name, value)?;
        }
        Ok(options)
    }

    /// Gets keys.
    pub(super) fn get(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let (db, pinned) = (self.db()?, flag(case, "pinned"));
        for key in case.input.lines() {
            let value = match pinned {
                true => db
                    .get_pinned_cf_opt(&family, bytes(key)?, &options)
                    .map(|value| value.map(|value| value.to_vec())),
                false => db.get_cf_opt(&family, bytes(key)?, &options),
            };
            print_found(out, key, value);
        }
        Ok(())
    }

    /// Asks without a read of files whether keys exist.
    pub(super) fn key_may_exist(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        for key in case.input.lines() {
            let found = self.db()?.key_may_exist_cf_opt(&family, bytes(key)?, &options);
            out.push_str(&match found? {
                KeyMayExist::Yes(value) => format!("{key} = {}\n", show(&value)),
                KeyMayExist::Maybe => format!("{key}: maybe\n"),
                KeyMayExist::No => format!("{key}: no\n"),
            });
        }
        Ok(())
    }

    /// Gets keys at once.
    pub(super) fn multi_get(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let keys: Vec<Vec<u8>> = case.input.lines().map(bytes).collect::<Result<_>>()?;
        for (key, value) in case
            .input
            .lines()
            .zip(self.db()?.multi_get_cf_opt(&family, &keys, &options))
        {
            print_found(out, key, value);
        }
        Ok(())
    }

    /// Gets the columns of keys.
    pub(super) fn get_entity(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        for key in case.input.lines() {
            let columns = self.db()?.get_entity_cf_opt(&family, &bytes(key)?, &options);
            print_columns(out, key, columns);
        }
        Ok(())
    }

    /// Gets the columns of keys at once.
    pub(super) fn multi_get_entity(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let keys: Vec<Vec<u8>> = case.input.lines().map(bytes).collect::<Result<_>>()?;
        let found = self.db()?.multi_get_entity(&family, &keys, &options);
        for (key, columns) in case.input.lines().zip(found) {
            print_columns(out, key, columns);
        }
        Ok(())
    }

    /// Gets the merge operands of keys.
    pub(super) fn get_operands(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let most = optional(case, "max")?.unwrap_or(usize::MAX);
        for key in case.input.lines() {
            let found = self
                .db()?
                .get_merge_operands(&family, &bytes(key)?, most, &options);
            out.push_str(&match found {
                Ok(operands) => {
                    let operands: Vec<String> = operands.iter().map(|operand| show(operand)).collect();
                    format!("{key}: [{}]\n", operands.join("] ["))
                }
                Err(error) => format!("{key}: {error}\n"),
            });
        }
        Ok(())
    }

    /// Prints the rows of several families.
    pub(super) fn scan_families(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let options = self.read_options(case)?;
        let (reverse, groups) = (flag(case, "reverse"), flag(case, "groups"));
        let families = case.input.lines().map(|name| self.named_family(name));
        let families = families.collect::<Result<Vec<_>>>()?;
        let families: Vec<&ColumnFamily> = families.iter().collect();
        let mut iter = self.db()?.multi_cf_iterator(&families, &options)?;
        if reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            let key = escape(iter.key());
            if groups {
                for (family, columns) in iter.attribute_groups()? {
                    let named = format!("{key} @{}", family.name());
                    print_columns(out, &named, Ok(Some(columns)));
                }
            } else {
                print_columns(out, &key, iter.columns().map(Some));
            }
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status()
    }

    /// Prints every row.
    pub(super) fn scan(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family, reverse) = (
            self.read_options(case)?,
            self.family(case)?,
            flag(case, "reverse"),
        );
        let mut iter = self.db()?.iter_cf_opt(&family, &options);
        if reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            out.push_str(&place(&iter)?);
            out.push('\n');
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status()
    }

    /// Prints the versions of all keys between two timestamps.
    pub(super) fn versions(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, reverse) = (self.read_options(case)?, flag(case, "reverse"));
        let mut iter = self.db()?.iter_versions(&self.family(case)?, &options)?;
        if reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            let key = format!("{}/{}", escape(iter.key()), show_timestamp(iter.timestamp()));
            out.push_str(&match (iter.is_deletion(), iter.value()) {
                (true, b"") => format!("{key}: deleted\n"),
                (true, value) => format!("{key}: deleted, and has the value {}\n", show(value)),
                (false, value) => format!("{key} = {}\n", show(value)),
            });
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status()
    }

    /// Moves an iterator.
    pub(super) fn iter(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let name: Option<String> = optional(case, "as")?;
        let held = name.as_ref().and_then(|name| self.iterators.remove(name));
        let mut iter = match held {
            Some(held) => held,
            None => self
                .db()?
                .iter_cf_opt(&self.family(case)?, &self.read_options(case)?),
        };
        for line in case.input.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["first"] => iter.seek_to_first(),
                ["last"] => iter.seek_to_last(),
                ["seek", key] => iter.seek(&bytes(key)?),
                ["seek_for_prev", key] => iter.seek_for_prev(&bytes(key)?),
                ["next"] if iter.valid() => iter.next(),
                ["prev"] if iter.valid() => iter.prev(),
                ["next_prefix"] if iter.valid() => {
                    let moved = iter.next_prefix();
                    let sought = if moved.sought { ", sought" } else { "" };
                    out.push_str(&format!("{} steps{sought}, ", moved.steps));
                }
                ["max_prefix_steps", most] => {
                    let most = most.parse().map_err(|_| misuse("a number of steps"))?;
                    iter.set_max_prefix_steps(most);
                    continue;
                }
                ["filled", from, to, len] => {
                    let number = |word: &str| word.parse().map_err(|_| misuse("filled FROM TO LEN"));
                    let (from, to, len): (usize, usize, usize) = (number(from)?, number(to)?, number(len)?);
                    for row in from..to {
                        let (key, value) = row_of_fill(row, len);
                        if !iter.valid() || (iter.key(), iter.value()) != (key.as_bytes(), &value[..]) {
                            out.push_str(&format!("{key} is not there: "));
                            break;
                        }
                        iter.next();
                    }
                }
                ["next_to_end"] => {
                    while iter.valid() {
                        out.push_str(&format!("{}\n", place(&iter)?));
                        iter.next();
                    }
                }
                ["bounds", lower, upper] => {
                    let bound = |word| (word != "-").then(|| bytes(word)).transpose();
                    iter.set_bounds(bound(lower)?.as_deref(), bound(upper)?.as_deref());
                }
                ["refresh", ref snapshot @ ..] => {
                    let snapshot = snapshot.first().map(|name| self.snapshot(name)).transpose()?;
                    if let Err(error) = iter.refresh(snapshot) {
                        out.push_str(&format!("{line}: {error}\n"));
                        continue;
                    }
                }
                ["next" | "prev" | "next_prefix"] => {
                    return Err(misuse(format!("{line} of an iterator that is not valid")));
                }
                _ => return Err(misuse(format!("unknown step {line}"))),
            }
            let place = place(&iter).unwrap_or_else(|error| error.to_string());
            out.push_str(&format!("{line}: {place}\n"));
        }
        if let Some(name) = name {
            self.iterators.insert(name, iter);
        }
        Ok(())
    }
}
