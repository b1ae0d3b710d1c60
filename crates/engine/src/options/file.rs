//! The OPTIONS file: the options of the last open, for tools and for the next open.
//!
//! RocksDB's options that Esker does not have are kept and written again. Listeners are notified of the
//! losses from those that are not at RocksDB's default ([`lost`](super::lost)); they prevent an open only
//! with strict options.

use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, Result};
use vfs::{FileSystem, OpenOptions};

use super::table::{OptionRow, OptionTable};
use super::{BlockBasedOptions, ColumnFamilyOptions, Options};
use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::names::Merger;
use crate::options::names::stored_merger;

/// The release of RocksDB that OPTIONS files name if no earlier file named another and no option needs a
/// later one: the oldest release whose options are written.
pub const ROCKSDB_VERSION: &str = "7.8.3";

/// Options that RocksDB has misspelt, or writes with capitals, and their names in the file: RocksDB still
/// reads the misspelt names, and older releases read no other.
const MISSPELT: &[(&str, &str)] = &[
    (
        "memtable_verify_per_key_checksum_on_seek",
        "memtable_veirfy_per_key_checksum_on_seek",
    ),
    ("wal_ttl_seconds", "WAL_ttl_seconds"),
    ("wal_size_limit_mb", "WAL_size_limit_MB"),
];

fn name_in_file(name: &str) -> &str {
    let misspelt = MISSPELT.iter().find(|(right, _)| *right == name);
    misspelt.map_or(name, |(_, wrong)| wrong)
}

pub(super) fn right_name(name: &str) -> &str {
    let misspelt = MISSPELT.iter().find(|(_, wrong)| *wrong == name);
    misspelt.map_or(name, |(right, _)| right)
}

/// The first release of RocksDB that has the option, if that is later than [`ROCKSDB_VERSION`].
fn release_of(name: &str) -> Option<&'static str> {
    let of_database = Options::row(name).and_then(|row| row.since);
    let of_family = ColumnFamilyOptions::row(name).and_then(|row| row.since);
    let of_table = BlockBasedOptions::row(name).and_then(|row| row.since);
    of_database.or(of_family).or(of_table)
}

/// Entries that stand for components or are written by other code, and so are in no option table.
pub(super) const COMPONENTS: &[&str] = &[
    "comparator",
    "merge_operator",
    "prefix_extractor",
    "sst_partitioner_factory",
    "table_factory",
];

/// A parsed OPTIONS file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::file_system::PosixFs;
/// use esker::{Db, OptionsFile};
///
/// let (path, file) = OptionsFile::newest(&PosixFs::new(), dir.path())?.expect("an open database has one");
/// let (mut options, _unknown) = file.options();
/// options.create_if_missing = true;
/// # drop(db);
/// let db = Db::open(&options, dir.path())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsFile {
    pub(crate) sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The title: `DBOptions`, `CFOptions`, ...
    pub title: String,
    /// The name in quotes after the title.
    pub argument: Option<String>,
    /// Names and values as they are in the file: only string options have escape sequences, and no value of
    /// Esker's string options needs one.
    pub entries: Vec<(String, String)>,
}

/// The components of a family according to the OPTIONS file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredFamily {
    pub merge_operator: Option<String>,
    pub prefix_extractor: Option<String>,
    pub sst_partitioner_factory: Option<String>,
}

impl OptionsFile {
    /// Parses the text of an OPTIONS file. `Corruption` if one of the two required sections is missing;
    /// `InvalidArgument` for a line that is neither a section nor `name=value`; the error has the line's
    /// offset.
    pub fn parse(text: &str) -> Result<OptionsFile> {
        let mut sections: Vec<Section> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let at = offset as u64;
            offset += line.len();
            let line = without_comment(line).trim();
            if line.is_empty() {
                continue;
            }
            if let Some(header) = line.strip_prefix('[') {
                let header = header
                    .strip_suffix(']')
                    .ok_or_else(|| Error::invalid_argument("A section header without its ]").at(at))?;
                let (title, argument) = match header.split_once('"') {
                    Some((title, rest)) => {
                        let argument = rest.strip_suffix('"').unwrap_or(rest);
                        (title.trim(), Some(unescape(argument)))
                    }
                    None => (header.trim(), None),
                };
                sections.push(Section {
                    title: title.to_owned(),
                    argument,
                    entries: Vec::new(),
                });
                continue;
            }
            let (name, value) = line
                .split_once('=')
                .ok_or_else(|| Error::invalid_argument("A statement without =").at(at))?;
            let section = sections
                .last_mut()
                .ok_or_else(|| Error::invalid_argument("A statement before any section").at(at))?;
            section
                .entries
                .push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let file = OptionsFile { sections };
        if file.section("DBOptions", None).is_none() {
            return Err(Error::corruption(
                "A RocksDB Option file must have a single DBOptions section",
            ));
        }
        if file.section("CFOptions", Some(DEFAULT_COLUMN_FAMILY)).is_none() {
            return Err(Error::corruption(
                "A RocksDB Option file must have a CFOptions section of the default family",
            ));
        }
        Ok(file)
    }

    /// The newest OPTIONS file in `dir` with its path, or `None` if there is none.
    pub fn newest(fs: &dyn FileSystem, dir: &Path) -> Result<Option<(PathBuf, OptionsFile)>> {
        let numbers = fs
            .list(dir)?
            .into_iter()
            .filter_map(|name| match filename::parse(&name) {
                Some(FileKind::Options(number)) => Some((number, name)),
                _ => None,
            });
        let Some((_, name)) = numbers.max() else {
            return Ok(None);
        };
        let path = dir.join(name);
        let parsed = OptionsFile::read(fs, &path)?;
        Ok(Some((path, parsed)))
    }

    /// The OPTIONS file at `path`.
    pub(crate) fn read(fs: &dyn FileSystem, path: &Path) -> Result<OptionsFile> {
        let file = fs.open_random(path, &OpenOptions::default())?;
        let mut bytes = vec![0; usize::try_from(file.len()).unwrap_or(usize::MAX)];
        file.read_exact_at(0, &mut bytes)?;
        OptionsFile::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| error.in_file(path))
    }

    pub(crate) fn section(&self, title: &str, argument: Option<&str>) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.title == title && section.argument.as_deref() == argument)
    }

    pub(crate) fn table_section(&self, family: &str) -> Option<&Section> {
        self.section("TableOptions/BlockBasedTable", Some(family))
    }

    /// The families that have sections.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        let families = self
            .sections
            .iter()
            .filter(|section| section.title == "CFOptions");
        families.filter_map(|section| section.argument.as_deref())
    }

    /// Every entry: the title of its section, the section's argument, name and value.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Option<&str>, &str, &str)> {
        self.sections.iter().flat_map(|section| {
            let entries = section.entries.iter();
            entries.map(|(name, value)| (&*section.title, section.argument.as_deref(), &**name, &**value))
        })
    }

    /// The components of `family`.
    pub(crate) fn stored(&self, family: &str) -> StoredFamily {
        let section = self.section("CFOptions", Some(family));
        let value = |name| section.and_then(|section| section.get(name)).map(str::to_owned);
        StoredFamily {
            merge_operator: value("merge_operator").map(|text| unescape(&text)),
            prefix_extractor: value("prefix_extractor"),
            sst_partitioner_factory: value("sst_partitioner_factory"),
        }
    }

    /// The text of the factory of compaction filters of `family`.
    pub(crate) fn compaction_filter_factory(&self, family: &str) -> Option<&str> {
        self.section("CFOptions", Some(family))?
            .get("compaction_filter_factory")
    }

    /// The name of the comparator of `family`.
    pub(crate) fn comparator(&self, family: &str) -> Option<&str> {
        self.section("CFOptions", Some(family))?.get("comparator")
    }

    /// Returns the option `num_levels` of `family`.
    pub(crate) fn num_levels(&self, family: &str) -> Option<i32> {
        self.section("CFOptions", Some(family))?
            .get("num_levels")?
            .parse()
            .ok()
    }

    /// True if `family` has FIFO compaction, whose only level is L0.
    pub(crate) fn is_fifo(&self, family: &str) -> bool {
        let style = |section: &Section| section.get("compaction_style") == Some("kCompactionStyleFIFO");
        self.section("CFOptions", Some(family)).is_some_and(style)
    }

    /// The options in the file; options it does not name have their defaults. Unknown options, and options
    /// with unknown values, are skipped and returned by section and name.
    pub fn options(&self) -> (Options, Vec<(String, String)>) {
        let mut unknown = Vec::new();
        let mut options = Options::default();
        if let Some(section) = self.section("DBOptions", None) {
            section.fill(&mut options, &mut unknown);
        }
        for name in self.families() {
            let mut family = ColumnFamilyOptions::default();
            if let Some(section) = self.section("CFOptions", Some(name)) {
                section.fill(&mut family, &mut unknown);
                let comparator = section.get("comparator").and_then(base::UserComparator::builtin);
                family.comparator = comparator.unwrap_or(family.comparator);
                family.merge_operator =
                    section
                        .get("merge_operator")
                        .and_then(|text| match stored_merger(&unescape(text)) {
                            Merger::Operator(operator) => Some(operator),
                            Merger::Unknown(_) => None,
                        });
                family.prefix_extractor = section.get("prefix_extractor").and_then(base::prefix::builtin);
                family.sst_partitioner_factory = section
                    .get("sst_partitioner_factory")
                    .and_then(compact::partitioner::builtin);
            }
            if let Some(section) = self.table_section(name) {
                section.fill(&mut family.table, &mut unknown);
            }
            if name == DEFAULT_COLUMN_FAMILY {
                options.column_family = family;
            } else {
                options.column_families.insert(name.to_owned(), family);
            }
        }
        (options, unknown)
    }

    /// The directory of the WALs, if the file names one.
    pub(crate) fn wal_dir(&self) -> Option<&str> {
        self.section("DBOptions", None)?.get("wal_dir")
    }

    /// The file without option `name` of the database, which then has its default.
    pub(crate) fn without(mut self, name: &str) -> OptionsFile {
        let sections = self.sections.iter_mut();
        for section in sections.filter(|section| section.title == "DBOptions") {
            section.entries.retain(|(entry, _)| entry != name);
        }
        self
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut out = String::from("# This is a RocksDB option file.\n");
        for section in &self.sections {
            match &section.argument {
                Some(argument) => out.push_str(&format!("\n[{} \"{}\"]\n", section.title, escape(argument))),
                None => out.push_str(&format!("\n[{}]\n", section.title)),
            }
            for (name, value) in &section.entries {
                out.push_str(&format!("  {name}={value}\n"));
            }
        }
        out
    }
}

impl Section {
    /// The title of the section and its argument, as they are in the file.
    pub fn name(&self) -> String {
        match &self.argument {
            Some(argument) => format!("{} \"{argument}\"", self.title),
            None => self.title.clone(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|(entry, _)| entry == name)
            .map(|(_, value)| &value[..])
    }

    fn fill<S: OptionTable>(&self, options: &mut S, unknown: &mut Vec<(String, String)>) {
        for (name, value) in &self.entries {
            let known = S::row(right_name(name)).is_some_and(|row| (row.set)(options, value).is_some());
            if !known && !COMPONENTS.contains(&&name[..]) {
                unknown.push((self.name(), name.clone()));
            }
        }
    }

    /// A section of our options, followed by the options of `before` that are not ours.
    pub(crate) fn of<S: OptionTable>(
        title: &str,
        argument: Option<&str>,
        options: &S,
        components: &[(&str, String)],
        before: Option<&Section>,
    ) -> Section {
        let defaults = S::default();
        let stood_before = |name: &str| {
            before.is_some_and(|section| section.get(name_in_file(name)).or(section.get(name)).is_some())
        };
        let is_left_out = |row: &&OptionRow<S>| {
            row.esker
                || row.since.is_some()
                    && (row.get)(options) == (row.get)(&defaults)
                    && !stood_before(row.name)
        };
        let ours = S::rows().iter().filter(|row| !is_left_out(row));
        let mut entries: Vec<(String, String)> = ours
            .map(|row| (name_in_file(row.name).to_owned(), (row.get)(options)))
            .filter(|(name, value)| !(name == "wal_dir" && value.is_empty()))
            .collect();
        entries.extend(
            components
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        // An old entry `wal_dir` is not kept: if our options write none, the WALs are in the database's own
        // directory.
        let before = before.iter().flat_map(|section| &section.entries);
        for (name, value) in before.filter(|(name, _)| name != "wal_dir") {
            if !entries
                .iter()
                .any(|(ours, _)| ours == name_in_file(right_name(name)))
            {
                entries.push((name.clone(), value.clone()));
            }
        }
        Section {
            title: title.to_owned(),
            argument: argument.map(str::to_owned),
            entries,
        }
    }
}

fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'\\' => escaped = !escaped,
            b'#' if !escaped => return &line[..at],
            _ => escaped = false,
        }
    }
    line
}

pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('r') => out.push('\r'),
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '#' | ':' => out.extend(['\\', char]),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out
}

/// The entry that names the release.
pub(crate) const RELEASE: &str = "rocksdb_version";

fn release_number(release: &str) -> Vec<u32> {
    release.split('.').map_while(|part| part.parse().ok()).collect()
}

impl Options {
    /// The release of RocksDB that the OPTIONS file names when a database whose last file was `before` is
    /// opened with these options.
    pub(crate) fn release(&self, before: Option<&OptionsFile>) -> String {
        let of =
            |title: &str, argument: Option<&str>| before.and_then(|before| before.section(title, argument));
        let mut file = OptionsFile::begin(self, before);
        let others = self.column_families.keys().map(String::as_str);
        for name in others.chain([DEFAULT_COLUMN_FAMILY]) {
            let (family, name) = (self.family(name), Some(name));
            let title = "CFOptions";
            file.sections
                .push(Section::of(title, name, family, &[], of(title, name)));
            let title = "TableOptions/BlockBasedTable";
            file.sections
                .push(Section::of(title, name, &family.table, &[], of(title, name)));
        }
        file.name_release();
        let release = file.sections[0].get(RELEASE);
        release.unwrap_or(ROCKSDB_VERSION).to_owned()
    }
}

impl OptionsFile {
    /// The sections of an OPTIONS file that concern the whole database; `before` is its previous file.
    pub(crate) fn begin(options: &Options, before: Option<&OptionsFile>) -> OptionsFile {
        let of =
            |title: &str, argument: Option<&str>| before.and_then(|before| before.section(title, argument));
        let version = of("Version", None).cloned().unwrap_or_else(|| Section {
            title: "Version".to_owned(),
            argument: None,
            entries: vec![
                (RELEASE.to_owned(), ROCKSDB_VERSION.to_owned()),
                ("options_file_version".to_owned(), "1.1".to_owned()),
            ],
        });
        let sections = vec![
            version,
            Section::of("DBOptions", None, options, &[], of("DBOptions", None)),
        ];
        OptionsFile { sections }
    }

    /// Sets the release that the file names to one that knows all options in it.
    pub(crate) fn name_release(&mut self) {
        let named = self.sections.iter().flat_map(|section| &section.entries);
        let needed = named.flat_map(|(name, value)| {
            let inner = super::compression::LATER.iter().filter(move |(later, _)| {
                name.ends_with("compression_opts") && value.contains(&format!("{later}="))
            });
            let of_styles = super::compaction::LATER.iter().filter(move |(later, _)| {
                name.starts_with("compaction_options_") && value.contains(&format!("{later}="))
            });
            let inner = inner.chain(of_styles).map(|(_, release)| *release);
            inner.chain(release_of(right_name(name)))
        });
        let Some(needed) = needed.max_by_key(|release| release_number(release)) else {
            return;
        };
        for section in &mut self.sections {
            for (name, value) in &mut section.entries {
                if name == RELEASE && release_number(value) < release_number(needed) {
                    *value = needed.to_owned();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWER: &str = r#"
# a comment
[Version]
  rocksdb_version=11.9.0
  options_file_version=1.1
[DBOptions]
  max_open_files=100
  an_option_of_tomorrow={a=b;c=d;}   # trailing words
[CFOptions "default"]
  write_buffer_size=1048576
  merge_operator={id=StringAppendOperator;delimiter=\:;}
  compression=kZSTD
[TableOptions/BlockBasedTable "default"]
  block_size=8192
[CFOptions "odd\#name"]
"#;

    #[test]
    fn files_of_newer_releases_are_read_and_what_is_unknown_is_kept() {
        let file = OptionsFile::parse(NEWER).unwrap();
        let (options, unknown) = file.options();
        assert_eq!(options.max_open_files, 100);
        assert_eq!(options.column_family.write_buffer_size, 1 << 20);
        assert_eq!(options.column_family.table.block_size, 8192);
        assert_eq!(
            unknown,
            [("DBOptions".to_owned(), "an_option_of_tomorrow".to_owned())]
        );
        assert_eq!(file.families().collect::<Vec<_>>(), ["default", "odd#name"]);
        assert_eq!(
            file.stored("default").merge_operator.unwrap(),
            "{id=StringAppendOperator;delimiter=:;}"
        );
        let written = OptionsFile::parse(&file.text()).unwrap();
        assert_eq!(written, file);
        assert!(file.text().contains("an_option_of_tomorrow={a=b;c=d;}"));
    }

    #[test]
    fn options_of_later_releases_are_written_where_they_say_something_and_the_file_names_the_release() {
        let written = |options: &ColumnFamilyOptions, before: Option<&OptionsFile>| {
            let of = |title, argument| before.and_then(|before| before.section(title, argument));
            let mut file = OptionsFile::parse(
                "[Version]\nrocksdb_version=7.8.3\n[DBOptions]\n[CFOptions \"default\"]\n",
            )
            .unwrap();
            file.sections[2] = Section::of(
                "CFOptions",
                Some("default"),
                options,
                &[],
                of("CFOptions", Some("default")),
            );
            file.name_release();
            OptionsFile::parse(&file.text()).unwrap()
        };
        let release = |file: &OptionsFile| file.sections[0].get(RELEASE).map(str::to_owned);
        let mut options = ColumnFamilyOptions::default();
        let plain = written(&options, None);
        assert!(
            !plain.text().contains("paranoid_memory_checks") && !plain.text().contains("checksum_on_seek")
        );
        assert_eq!(release(&plain).as_deref(), Some("7.8.3"));
        options.paranoid_memory_checks = true;
        assert_eq!(release(&written(&options, None)).as_deref(), Some("9.7.0"));
        options.memtable_verify_per_key_checksum_on_seek = true;
        let file = written(&options, None);
        assert_eq!(release(&file).as_deref(), Some("10.8.0"));
        assert!(
            file.text()
                .contains("  memtable_veirfy_per_key_checksum_on_seek=true\n")
        );
        let (read, unknown) = file.options();
        assert!(read.column_family.paranoid_memory_checks && unknown.is_empty());
        assert!(read.column_family.memtable_verify_per_key_checksum_on_seek);
        // Later releases of RocksDB spell the option correctly.
        let newer = OptionsFile::parse(&file.text().replace("veirfy", "verify")).unwrap();
        assert!(
            newer
                .options()
                .0
                .column_family
                .memtable_verify_per_key_checksum_on_seek
        );
        // An option that is at its default again must not keep its old entry.
        for before in [&file, &newer] {
            let (read, _) = written(&ColumnFamilyOptions::default(), Some(before)).options();
            assert!(!read.column_family.paranoid_memory_checks);
            assert!(!read.column_family.memtable_verify_per_key_checksum_on_seek);
        }
    }

    #[test]
    fn what_is_no_options_file_is_an_error() {
        assert!(OptionsFile::parse("").unwrap_err().is_corruption());
        assert!(OptionsFile::parse("[DBOptions]\n").unwrap_err().is_corruption());
        assert_eq!(
            OptionsFile::parse("[DBOptions]\nno equals sign\n")
                .unwrap_err()
                .offset(),
            Some(12)
        );
        assert!(OptionsFile::parse("a=b\n").is_err());
        assert!(OptionsFile::parse("[DBOptions]\n[CFOptions \"default\"]\n").is_ok());
    }
}
