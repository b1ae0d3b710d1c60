//! `--options_file`: the options of databases from an OPTIONS file, as RocksDB's db_bench takes them.

use base::{Error, Result};
use esker::{FilterPolicy, Options, OptionsFile};

use crate::flags::Flags;
use crate::options;

/// The options of the file, with the flags applied that RocksDB's db_bench applies, and remarks on flags that
/// have no effect.
///
/// # Errors
///
/// Those of the file system and of [`OptionsFile::parse`], naming the file.
pub fn load(flags: &Flags) -> Result<(Options, Vec<String>)> {
    let path = &flags.options_file;
    let failed =
        |what: String| Error::invalid_argument(format!("Unable to load options file {path} --- {what}"));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let file = OptionsFile::parse(&text).map_err(|error| failed(error.to_string()))?;
    let (mut options, unknown) = file.options();
    let asked = options::from_flags(flags)?;
    let mut remarks: Vec<String> = unknown
        .iter()
        .map(|(section, name)| format!("{path}: [{section}] {name}: an option that is not known here"))
        .collect();
    remarks.extend(without_effect(flags, &asked, &options)?);
    // All families have the options of the default one.
    options.column_families.clear();
    options.create_if_missing = asked.create_if_missing;
    options.statistics = asked.statistics;
    options.rate_limiter = asked.rate_limiter;
    options.info_log = asked.info_log;
    options.row_cache = asked.row_cache;
    let (table, of_flags) = (&mut options.column_family.table, asked.column_family.table);
    if flags.cache_size > 0 {
        table.block_cache = of_flags.block_cache;
    }
    if table.filter_policy == FilterPolicy::None {
        table.filter_policy = of_flags.filter_policy;
    }
    if flags.file_checksum {
        options.file_checksum_gen_factory = asked.file_checksum_gen_factory;
    }
    options.column_family.compaction_filter_factory = asked.column_family.compaction_filter_factory;
    Ok((options, remarks))
}

/// Options for which the command line asks another value than the file has.
fn without_effect(flags: &Flags, asked: &Options, file: &Options) -> Result<Vec<String>> {
    let unasked = options::from_flags(&Flags::default())?;
    let get = |options: &Options, name: &str| ::flags::engine::get(options, name);
    // If the OPTIONS file does not set these options, they are taken from the command line.
    let taken = ["create_if_missing", "filter_policy", "file_checksum_gen_factory"];
    let rows = ::flags::engine::rows();
    let names = rows
        .iter()
        .map(|row| row.name)
        .filter(|name| !taken.contains(name));
    let differ = names.filter(|name| {
        let value = get(asked, name);
        value != get(&unasked, name) && value != get(file, name)
    });
    Ok(differ
        .map(|name| {
            let value = get(file, name).unwrap_or_default();
            format!(
                "{name} is {value} as {} says, whatever the command line does",
                flags.options_file
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use ::flags::{Parsed, parse};

    use super::*;

    fn flags(line: &str) -> Flags {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args).unwrap() {
            Parsed::Run(flags) => *flags,
            Parsed::Help => panic!("help"),
        }
    }

    #[test]
    fn the_file_has_the_options_and_flags_what_it_leaves_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("OPTIONS");
        let text = "[Version]\n  rocksdb_version=11.9.0\n  options_file_version=1.1\n\
                    [DBOptions]\n  max_background_jobs=7\n  option_of_tomorrow=1\n\
                    [CFOptions \"default\"]\n  write_buffer_size=1048576\n  compression=kNoCompression\n  \
                    merge_operator={id=StringAppendOperator;delimiter=\\:;}\n\
                    [TableOptions/BlockBasedTable \"default\"]\n  block_size=8192\n\
                    [CFOptions \"other\"]\n  write_buffer_size=77777\n";
        std::fs::write(&path, text).unwrap();
        let line = format!(
            "--options_file={} --use_existing_db --cache_size=1m --bloom_bits=9 --statistics --write_buffer_size=4m \
             --max_background_jobs=7 --block_size=4096",
            path.display()
        );
        let (options, remarks) = load(&flags(&line)).unwrap();
        let family = &options.column_family;
        assert_eq!(
            (
                options.max_background_jobs,
                family.write_buffer_size,
                family.table.block_size
            ),
            (7, 1 << 20, 8192)
        );
        assert!(options.column_families.is_empty() && !options.create_if_missing);
        assert!(family.merge_operator.is_some() && options.statistics.is_some());
        assert_eq!(family.table.filter_policy, FilterPolicy::Bloom(9.0));
        assert_eq!(family.table.block_cache.as_ref().unwrap().capacity(), 1 << 20);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(
            remarks[0].contains("[DBOptions] option_of_tomorrow"),
            "{remarks:?}"
        );
        assert!(
            remarks[1].starts_with("write_buffer_size is 1048576 as "),
            "{remarks:?}"
        );
        std::fs::write(
            &path,
            text.replace("block_size=8192", "filter_policy=bloomfilter:5:false"),
        )
        .unwrap();
        let (options, _) = load(&flags(&line)).unwrap();
        assert_eq!(
            options.column_family.table.filter_policy,
            FilterPolicy::Bloom(5.0)
        );
        std::fs::write(&path, "[DBOptions]\n").unwrap();
        let refused = load(&flags(&line)).err().unwrap().to_string();
        assert!(refused.contains("Unable to load options file "), "{refused}");
    }
}
