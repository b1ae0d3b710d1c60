//! The OPTIONS file of an open database: a new one is written when options or families change.

use crate::options::file::OptionsFile;
use crate::options::file::Section;
use crate::options::file::escape;
use crate::options::file::unescape;
use crate::options::names::Merger;
use crate::options::{BlockBasedOptions, Options};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::version_set::replace_file;
use std::collections::BTreeMap;

use base::filename::{self, FileKind};
use base::user_code::catch_or_fail;
use base::{Result, merge};

impl DbInner {
    /// Writes a new OPTIONS file and deletes all but the two newest. If it fails, `Db::resume` tries again.
    pub(crate) fn write_options_file(&self) -> Result<()> {
        let _one_at_a_time = self.options_file.lock();
        self.check_open()?;
        // The old file stays if a listener of file operations panics.
        let written = catch_or_fail(|| self.replace_options_file());
        self.state.lock().recovery.options_unwritten = written.is_err();
        written
    }

    fn replace_options_file(&self) -> Result<()> {
        let fs = &*self.options.fs;
        // An unreadable previous file does not prevent writing a new one.
        let before = OptionsFile::newest(fs, &self.dir)
            .ok()
            .flatten()
            .map(|(_, file)| file);
        let families: Vec<_> = self
            .state
            .lock()
            .families
            .values()
            .map(|family| family.family.clone())
            .collect();
        let text = describe(&self.current.load(), &families, before.as_ref()).text();
        let path = filename::options(&self.dir, self.versions.new_file_number());
        replace_file(
            fs,
            &self.dir,
            &path.with_extension("dbtmp"),
            &path,
            text.as_bytes(),
        )?;
        let mut numbers: BTreeMap<u64, String> = BTreeMap::new();
        for name in fs.list(&self.dir)? {
            if let Some(FileKind::Options(number)) = filename::parse(&name) {
                numbers.insert(number, name);
            }
        }
        for name in numbers.values().rev().skip(2) {
            self.obsolete.add(self.dir.join(name));
        }
        Ok(())
    }
}

/// The OPTIONS file of a database opened with `options`; `before` is its previous file.
fn describe(
    options: &Options,
    families: &[std::sync::Arc<Family>],
    before: Option<&OptionsFile>,
) -> OptionsFile {
    let of = |title: &str, argument: Option<&str>| before.and_then(|before| before.section(title, argument));
    let mut file = OptionsFile::begin(options, before);
    let sections = &mut file.sections;
    for family in families {
        let name = Some(&family.name[..]);
        let merge_operator = match &family.values.merger {
            Merger::Operator(operator) => {
                // The stored text may include settings that the current operator does not report.
                let stored = of("CFOptions", name).and_then(|section| section.get("merge_operator"));
                let text = operator.text();
                let another = |stored: &str| {
                    merge::from_text(&unescape(stored)).is_ok_and(|builtin| builtin.text() != text)
                };
                let kept = stored.filter(|stored| stored.contains(operator.name()) && !another(stored));
                kept.map_or_else(|| escape(&text), str::to_owned)
            }
            Merger::Unknown(name) if name.is_empty() => "nullptr".to_owned(),
            Merger::Unknown(name) => name.clone(),
        };
        let components = [
            ("comparator", family.cmp.user().name().to_owned()),
            ("merge_operator", merge_operator),
            (
                "prefix_extractor",
                family
                    .prefix_extractor
                    .as_ref()
                    .map_or("nullptr".to_owned(), |e| e.name().to_owned()),
            ),
            (
                "sst_partitioner_factory",
                family
                    .sst_partitioner_factory
                    .as_ref()
                    .map_or("nullptr".to_owned(), |factory| factory.text()),
            ),
            ("table_factory", "BlockBasedTable".to_owned()),
        ];
        let filter = family.options.compaction_filter_factory.as_ref();
        let filter = filter.and_then(|factory| Some(("compaction_filter_factory", factory.text()?)));
        let components: Vec<(&str, String)> = components.into_iter().chain(filter).collect();
        sections.push(Section::of(
            "CFOptions",
            name,
            &**family.current(),
            &components,
            of("CFOptions", name),
        ));
        let title = "TableOptions/BlockBasedTable";
        sections.push(Section::of::<BlockBasedOptions>(
            title,
            name,
            &family.current().table,
            &[],
            of(title, name),
        ));
    }
    file.name_release();
    file
}
