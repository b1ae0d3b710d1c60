//! The sets of options that a workload is replayed under.

use base::{Error, Result};
use esker::option_table::OptionTable;
use esker::option_text::{in_braces, pairs};
use esker::{ColumnFamilyOptions, CompactionStyle, FilterPolicy};

/// A set of options.
pub struct Set {
    /// The text of the set of options, as it was given.
    pub name: String,
    /// The options.
    pub options: ColumnFamilyOptions,
}

/// Returns the options of the family, and these options with each of `texts` applied; without texts, with
/// each of the usual changes applied.
pub fn sets(own: &ColumnFamilyOptions, texts: &[String]) -> Result<Vec<Set>> {
    let usual;
    let texts = match texts {
        [] => {
            usual = usual_changes(own);
            &usual
        }
        texts => texts,
    };
    let mut sets = vec![Set {
        name: "as they are".to_owned(),
        options: own.clone(),
    }];
    for text in texts {
        let mut options = own.clone();
        apply(&mut options, text)?;
        sets.push(Set {
            name: text.clone(),
            options,
        });
    }
    Ok(sets)
}

/// Sets the options of a text `name=value;name={name=value}` in RocksDB's form.
fn apply(options: &mut ColumnFamilyOptions, text: &str) -> Result<()> {
    for (name, value) in pairs(text)? {
        if name != "block_based_table_factory" {
            options.set(name, value)?;
            continue;
        }
        for (name, value) in pairs(in_braces(value))? {
            options.table.set(name, value)?;
        }
    }
    if options.num_levels < 1 {
        return Err(Error::invalid_argument(format!("{text}: no level")));
    }
    OptionTable::check(options)
}

/// Changes that are worth a try on most databases.
fn usual_changes(own: &ColumnFamilyOptions) -> Vec<String> {
    let mut texts = Vec::new();
    for factor in [2, 4] {
        texts.push(format!("write_buffer_size={}", own.write_buffer_size * factor));
    }
    let trigger = own.level0_file_num_compaction_trigger;
    texts.push(format!("level0_file_num_compaction_trigger={}", trigger * 2));
    if own.compaction_style != CompactionStyle::Universal {
        let base = own.max_bytes_for_level_base;
        texts.push(format!("max_bytes_for_level_base={}", base * 4));
        for multiplier in [5.0, 20.0] {
            texts.push(format!("max_bytes_for_level_multiplier={multiplier}"));
        }
        texts.push("compaction_style=kCompactionStyleUniversal".to_owned());
    } else {
        texts.push("compaction_style=kCompactionStyleLevel".to_owned());
    }
    let bits = match own.table.filter_policy {
        FilterPolicy::None => 10,
        _ => 16,
    };
    texts.push(format!(
        "block_based_table_factory={{filter_policy=bloomfilter:{bits}:false}}"
    ));
    texts
}

#[cfg(test)]
mod tests {
    use esker::BlockBasedOptions;

    use super::*;

    #[test]
    fn a_text_changes_the_options_it_names() {
        let own = ColumnFamilyOptions::default();
        let texts = [
            "write_buffer_size=1048576;compaction_style=kCompactionStyleUniversal".to_owned(),
            "block_based_table_factory={filter_policy=bloomfilter:12:false};num_levels=4".to_owned(),
        ];
        let sets = sets(&own, &texts).unwrap();
        assert_eq!((sets.len(), &sets[0].name[..]), (3, "as they are"));
        assert_eq!(sets[1].options.write_buffer_size, 1 << 20);
        assert_eq!(sets[1].options.compaction_style, CompactionStyle::Universal);
        assert_eq!(sets[2].options.table.filter_policy, FilterPolicy::Bloom(12.0));
        assert_eq!(sets[2].options.num_levels, 4);
    }

    /// The texts of all options.
    fn texts(options: &ColumnFamilyOptions) -> Vec<String> {
        let own = ColumnFamilyOptions::rows().iter().map(|row| (row.get)(options));
        let table = BlockBasedOptions::rows().iter();
        own.chain(table.map(|row| (row.get)(&options.table))).collect()
    }

    #[test]
    fn the_usual_changes_are_ones_that_options_take() {
        let universal = ColumnFamilyOptions {
            compaction_style: CompactionStyle::Universal,
            ..ColumnFamilyOptions::default()
        };
        for own in [ColumnFamilyOptions::default(), universal] {
            let sets = sets(&own, &[]).unwrap();
            assert!(sets.len() > 4);
            let changes = |set: &Set| texts(&set.options) != texts(&own);
            assert!(sets[1..].iter().all(changes), "each changes something");
        }
    }

    #[test]
    fn a_wrong_text_is_refused() {
        let own = ColumnFamilyOptions::default();
        for (text, words) in [
            ("no_such_option=1", "no_such_option"),
            ("write_buffer_size", "'=' expected"),
            ("write_buffer_size=large", "write_buffer_size=large"),
            ("num_levels=0", "num_levels"),
        ] {
            let error = sets(&own, &[text.to_owned()]).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
