//! Bugs of wide-column entities, of merge operands, of reads over several families and of those with limits.

use super::Canary;
use super::Catcher::{Stress, Tests};

const TESTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "wide_columns::"];
const LIMITS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "read_limits::"];
const VERSIONS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "versions::"];
const OPERATORS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "merge_operators::"];
const SCRIPTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "scripts::"];

/// Iterators over several families.
const FAMILIES: &[&str] = &[
    "--threads=2",
    "--ops_per_thread=10000",
    "--max_key=300",
    "--column_families=4",
    "--reopen=1",
    "--use_multi_cf_iterator",
    "--use_attribute_group",
    "--use_put_entity_one_in=3",
    "--readpercent=10",
    "--prefixpercent=5",
    "--writepercent=45",
    "--delpercent=10",
    "--delrangepercent=5",
    "--iterpercent=25",
    "--flush_one_in=500",
    "--compact_range_one_in=500",
    "--clear_column_family_one_in=0",
    "--write_buffer_size=16384",
    "--target_file_size_base=4096",
    "--max_bytes_for_level_base=32768",
    "--progress_reports=false",
];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a merge operator is not given the value of an entity without a default column",
        file: "crates/engine/src/state/value.rs",
        right: "let merged = self.merge(user_key, Some(existing), operands)?;",
        wrong: "let merged = self.merge(user_key, Some(existing).filter(|value| !value.is_empty()), operands)?;",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "two columns of one name are written",
        file: "crates/base/src/entity.rs",
        right: "    if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {\n",
        wrong: "    if sorted.windows(2).any(|pair| pair[0].0 > pair[1].0) {\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "columns of the earlier family hide those of the later one",
        file: "crates/engine/src/read/multi_cf_iterator.rs",
        right: "                Some(last) if last.0 == column.0 => *last = column,\n",
        wrong: "                Some(last) if last.0 == column.0 => {}\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "an iterator over families turns round without its families",
        file: "crates/engine/src/read/multi_cf_iterator.rs",
        right: "        if !self.backwards {\n            let key = self.key().to_vec();\n            self.seek_for_prev(&key);\n        }\n",
        wrong: "        self.backwards = true;\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a plain value has no columns",
        file: "crates/engine/src/state/value.rs",
        right: "            None => Ok(vec![(Vec::new(), found.into_vec())]),\n",
        wrong: "            None => Ok(Vec::new()),\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "merge operands come without the value under them",
        file: "crates/engine/src/read/get.rs",
        right: "            self.operands.push(plain);\n        }\n        Ok(())\n",
        wrong: "        }\n        Ok(())\n",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "the OPTIONS file names a merge operator without its delimiter",
        file: "crates/engine/src/jobs/options_file.rs",
        right: "kept.map_or_else(|| escape(&text), str::to_owned)",
        wrong: "kept.map_or_else(|| operator.name().to_owned(), str::to_owned)",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "sorted lists are merged into one that is not",
        file: "crates/base/src/merge/builtin.rs",
        right: "let next = if a < b { left.next() } else { right.next() };",
        wrong: "let next = if a > b { left.next() } else { right.next() };",
        caught_by: Tests(OPERATORS),
    },
    Canary {
        name: "an iterator moves on after its deadline",
        file: "crates/engine/src/read/db_iterator.rs",
        right: "            _ if self.deadline.is_some() => 0,\n",
        wrong: "",
        caught_by: Tests(LIMITS),
    },
    Canary {
        name: "a MultiGet reads all of a batch, whatever its limit",
        file: "crates/engine/src/read/multi_get.rs",
        right: "                    _ if bytes > limit => Err(over_limit()),\n",
        wrong: "",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "files of levels show what their range deletions leave, though these are ignored",
        file: "crates/engine/src/read/sources.rs",
        right: "version.clone(), level, read, !ignored);",
        wrong: "version.clone(), level, read, true);",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a version that was overwritten at its timestamp is shown",
        file: "crates/engine/src/read/versions_iterator.rs",
        right: "let begins = is_in_range && !overwritten();",
        wrong: "let begins = is_in_range;",
        caught_by: Tests(VERSIONS),
    },
    Canary {
        name: "a compaction filter sees the blob index of a column",
        file: "crates/compact/src/cursor/filter.rs",
        right: "                fetch(user_key, &entity[range.clone()], blobs, &mut out)?;\n",
        wrong: "                out.extend_from_slice(&entity[range.clone()]);\n",
        caught_by: Tests(&["-p", "esker-compact", "--lib", "filters_read_blobs"]),
    },
    Canary {
        name: "an entity that a compaction filter makes is written as a value",
        file: "crates/compact/src/cursor/filter.rs",
        right: "                    *kind = Kind::WideColumnEntity;",
        wrong: "                    *kind = Kind::Value;",
        caught_by: Tests(&["-p", "esker-compact", "--test", "it", "cursor"]),
    },
    Canary {
        name: "of the families at a key an iterator over families moves the first alone",
        file: "crates/engine/src/read/multi_cf_iterator.rs",
        right: "        for &place in &self.current {\n            step(",
        wrong: "        for &place in self.current.iter().take(1) {\n            step(",
        caught_by: Stress(1, FAMILIES),
    },
    Canary {
        name: "the columns of families come in the order of another iterator",
        file: "crates/engine/src/read/multi_cf_iterator.rs",
        right: "        self.current.iter().map(group).collect()\n",
        wrong: "        self.current.iter().rev().map(group).collect()\n",
        caught_by: Stress(1, FAMILIES),
    },
];
