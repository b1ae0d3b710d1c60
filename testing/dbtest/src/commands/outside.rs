//! The commands about files outside of a database: external files, their ingestion, exports.

use std::path::{Path, PathBuf};

use esker::{
    Db, ImportColumnFamilyOptions, IngestExternalFileArg, IngestExternalFileOptions, RangeOpt, Result,
    SstFileWriter,
};
use testkit::datadriven::TestCase;
use testkit::keys::escape;
use vfs::FileSystem;

use super::levels::temperature;
use super::session::{OUTSIDE, Session};
use super::text::{
    bytes, flag, masked, misuse, optional, optional_bytes, required, show, switch, timestamp_of, value_of,
};
use crate::settings;

/// The path of a file: a name alone is in the directory outside.
fn path_of(name: &str) -> PathBuf {
    Path::new(OUTSIDE).join(name)
}

fn add_to_file(writer: &mut SstFileWriter, stamped: bool, words: &[&str]) -> Result<()> {
    if let [kind, word, ref rest @ ..] = *words
        && let Some((key, timestamp)) = word.rsplit_once('/').filter(|_| stamped)
    {
        let (key, timestamp) = (bytes(key)?, timestamp_of(timestamp)?);
        return match (kind, rest) {
            ("put", [value]) => writer.put_at(key, timestamp, value_of(value)?),
            ("del", []) => writer.delete_at(key, timestamp),
            ("merge", [operand]) => writer.merge_at(key, timestamp, value_of(operand)?),
            ("delrange", [end]) => writer.delete_range_at(key, bytes(end)?, timestamp),
            _ => Err(misuse(format!("no such write: {}", words.join(" ")))),
        };
    }
    match *words {
        ["put", key, value] => writer.put(bytes(key)?, value_of(value)?),
        ["del", key] => writer.delete(bytes(key)?),
        ["sdel", key] => writer.single_delete(bytes(key)?),
        ["merge", key, operand] => writer.merge(bytes(key)?, value_of(operand)?),
        ["delrange", begin, end] => writer.delete_range(bytes(begin)?, bytes(end)?),
        _ => Err(misuse(format!("no such write: {}", words.join(" ")))),
    }
}

impl Session {
    /// Writes an external file: lines as those of `write`, and `set NAME=VALUE` for an option of the file.
    pub(super) fn write_file(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let name: String = required(case, "name")?;
        let mut options = self.options.clone();
        let input = case.input.clone();
        let words: Vec<Vec<&str>> = input
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        for words in &words {
            if let ["set", setting] = words[..] {
                let (name, value) = setting.split_once('=').ok_or_else(|| misuse("NAME=VALUE"))?;
                settings::set(&mut options, name, value)?;
            }
        }
        let family: Option<String> = optional(case, "cf")?;
        let mut writer = match family {
            Some(name) => SstFileWriter::for_column_family(&options, &self.named_family(&name)?),
            None => SstFileWriter::new(&options),
        };
        let stamped = options.column_family.comparator.timestamp_size() > 0;
        writer.open(path_of(&name))?;
        let go_on = flag(case, "go_on");
        for words in words.iter().filter(|words| words[0] != "set") {
            match add_to_file(&mut writer, stamped, words).map_err(|error| error.context(&words.join(" "))) {
                Err(error) if go_on => out.push_str(&format!("{error}\n")),
                outcome => outcome?,
            }
        }
        let info = writer.finish()?;
        if flag(case, "info") {
            let [smallest, largest] = [&info.smallest_key, &info.largest_key].map(|key| escape(key));
            let [first, last] =
                [&info.smallest_range_del_key, &info.largest_range_del_key].map(|key| escape(key));
            out.push_str(&format!(
                "{smallest}..{largest}: {} entries, [{first},{last}): {} range deletions, version {}\n",
                info.num_entries, info.num_range_del_entries, info.version
            ));
        }
        Ok(())
    }

    /// The path of a file to ingest: `table:KEY` is the table of the database with that smallest key.
    fn file_to_ingest(&self, word: &str) -> Result<PathBuf> {
        let Some(key) = word.strip_prefix("table:") else {
            return Ok(path_of(word));
        };
        let (key, files) = (bytes(key)?, self.db()?.live_files());
        let table = files.into_iter().find(|file| file.smallest_key == key);
        Ok(table.ok_or_else(|| misuse("no such table"))?.path)
    }

    /// The arguments of an ingestion: lines of files, each of the family `@NAME` or the default one.
    fn ingestion(&self, case: &mut TestCase) -> Result<Vec<IngestExternalFileArg>> {
        let mut options = IngestExternalFileOptions::default();
        for (name, value) in [
            ("move_files", &mut options.move_files),
            ("link_files", &mut options.link_files),
            ("snapshot_consistency", &mut options.snapshot_consistency),
            ("allow_global_seqno", &mut options.allow_global_seqno),
            ("allow_blocking_flush", &mut options.allow_blocking_flush),
            ("ingest_behind", &mut options.ingest_behind),
            ("write_global_seqno", &mut options.write_global_seqno),
            (
                "verify_checksums_before_ingest",
                &mut options.verify_checksums_before_ingest,
            ),
            ("verify_file_checksum", &mut options.verify_file_checksum),
            (
                "fail_if_not_bottommost_level",
                &mut options.fail_if_not_bottommost_level,
            ),
            ("allow_db_generated_files", &mut options.allow_db_generated_files),
            ("fill_cache", &mut options.fill_cache),
        ] {
            switch(case, name, value)?;
        }
        let range = RangeOpt {
            start: optional_bytes(case, "begin")?,
            limit: optional_bytes(case, "end")?,
        };
        let temperature = optional::<String>(case, "file_temperature")?.map(|text| temperature(&text));
        let temperature = temperature.transpose()?.unwrap_or_default();
        let replaces = flag(case, "replace");
        let mut args = Vec::new();
        for line in case.input.lines() {
            let mut words = line.split_whitespace().peekable();
            let family = match words.next_if(|word| word.starts_with('@')) {
                Some(name) => self.named_family(&name[1..])?,
                None => self.db()?.default_column_family(),
            };
            let files = words.map(|word| self.file_to_ingest(word));
            let files = files.collect::<Result<Vec<_>>>()?;
            args.push(IngestExternalFileArg {
                file_temperature: temperature,
                atomic_replace_range: replaces.then(|| range.clone()),
                ..IngestExternalFileArg::new(&family, files, options.clone())
            });
        }
        Ok(args)
    }

    /// Ingests files.
    pub(super) fn ingest(&self, case: &mut TestCase) -> Result<()> {
        let args = self.ingestion(case)?;
        self.db()?.ingest_external_files(&args)?;
        self.settle(case)
    }

    /// Prepares an ingestion, which `commit` and `abort` end.
    pub(super) fn prepare(&mut self, case: &mut TestCase) -> Result<()> {
        let name: String = required(case, "as")?;
        let args = self.ingestion(case)?;
        let handle = self.db()?.prepare_file_ingestion(&args)?;
        self.prepared.insert(name, handle);
        Ok(())
    }

    /// Commits or aborts a prepared ingestion.
    pub(super) fn end_ingestion(&mut self, case: &mut TestCase) -> Result<()> {
        let name: String = required(case, "as")?;
        let handle = self.prepared.remove(&name);
        let handle = handle.ok_or_else(|| misuse(format!("nothing is prepared as {name}")))?;
        match &*case.directive {
            "commit" => self.db()?.commit_file_ingestion_handle(handle).map(drop),
            _ => handle.abort(),
        }
    }

    /// Exports a family to a directory.
    pub(super) fn export(&mut self, case: &mut TestCase) -> Result<()> {
        let (family, to): (_, String) = (self.family(case)?, required(case, "to")?);
        let export = self.db()?.export_column_family(&family, format!("/{to}"))?;
        self.exports.insert(to, export);
        Ok(())
    }

    /// Creates a family from exports, with the options of the lines.
    pub(super) fn import(&mut self, case: &mut TestCase) -> Result<()> {
        let (name, from): (String, Vec<String>) = (required(case, "as")?, super::text::list(case, "from")?);
        let mut options = self.options.column_family.clone();
        let lines = case.input.split_whitespace();
        for (name, value) in lines.filter_map(|setting| setting.split_once('=')) {
            settings::set_family(&mut options, name, value)?;
        }
        let exports = from.iter().map(|from| {
            let export = self.exports.get(from);
            export.ok_or_else(|| misuse(format!("no export to {from}")))
        });
        let exports = exports.collect::<Result<Vec<_>>>()?;
        let how = ImportColumnFamilyOptions {
            move_files: flag(case, "move_files"),
        };
        self.db()?
            .create_column_family_with_import(&name, &options, &exports, &how)?;
        self.options.column_families.insert(name, options);
        Ok(())
    }

    /// Lists a directory, with `#` in place of numbers.
    pub(super) fn list(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let dir = optional::<String>(case, "dir")?.map(|name| format!("/{name}"));
        let mut dir = dir.unwrap_or_else(|| OUTSIDE.to_owned());
        if let Some(inner) = optional::<String>(case, "inner")? {
            dir = format!("{dir}/{inner}");
        }
        let ending: Option<String> = optional(case, "ending")?;
        let with: Option<String> = optional(case, "with")?;
        if !self.fs.exists(Path::new(&dir))? {
            out.push_str("no directory");
            return Ok(());
        }
        let mut names = self.fs.list(Path::new(&dir))?;
        names.retain(|name| ending.as_ref().is_none_or(|ending| name.ends_with(ending)));
        names.retain(|name| with.as_ref().is_none_or(|with| name.contains(with)));
        if flag(case, "sizes") {
            // The size is zero or not: others vary from run to run.
            for name in &mut names {
                let size = self.fs.size(&Path::new(&dir).join(&*name))?;
                name.push_str(if size == 0 { " (empty)" } else { " (not empty)" });
            }
        }
        if dir != OUTSIDE {
            names.iter_mut().for_each(|name| *name = masked(name));
        }
        names.sort();
        out.push_str(&names.join(" "));
        Ok(())
    }

    /// Copies a table of the database to a file: that with this smallest key.
    pub(super) fn copy_table(&self, case: &mut TestCase) -> Result<()> {
        let (family, to): (_, String) = (self.family(case)?, required(case, "to")?);
        let chosen = self.chosen(case, &family)?;
        let files = self.db()?.live_files();
        let file = files.iter().find(|file| chosen.contains(&file.number));
        let file = file.ok_or_else(|| misuse("no such table"))?;
        let bytes = self.fs.read_file(&file.path)?;
        self.fs.write_file(&path_of(&to), &bytes)
    }

    /// The file in a directory that `name` names: itself, or if it ends with `-` the newest that begins so.
    pub(super) fn newest(&self, dir: &Path, name: &str) -> Result<String> {
        if !name.ends_with('-') {
            return Ok(name.to_owned());
        }
        let found = self.fs.list(dir)?.into_iter();
        let newest = found.filter(|found| found.starts_with(name)).max();
        newest.ok_or_else(|| misuse(format!("no file {name}")))
    }

    /// Removes the files with such a text in their names from a directory.
    pub(super) fn remove_files(&self, case: &mut TestCase) -> Result<()> {
        let dir: String = required(case, "dir")?;
        let (dir, with): (_, String) = (Path::new("/").join(dir), required(case, "with")?);
        let mut names = self.fs.list(&dir)?;
        names.retain(|name| name.contains(&with));
        names.iter().try_for_each(|name| self.fs.remove(&dir.join(name)))
    }

    /// Repairs the database, and prints the number of its tables and of the rows from WALs, and the errors of
    /// the files that were lost.
    pub(super) fn repair(&mut self, case: &TestCase, out: &mut String) -> Result<()> {
        self.set_options(case)?;
        let report = Db::repair(&self.options, &self.path)?;
        out.push_str(&format!(
            "{} tables, {} rows of WALs\n",
            report.tables.len(),
            report.wal_rows
        ));
        let lost = report.lost.iter();
        lost.for_each(|lost| out.push_str(&format!("lost: {}\n", lost.error)));
        Ok(())
    }

    /// Creates a file, or replaces some bytes of one, once.
    pub(super) fn edit_file(&self, case: &mut TestCase) -> Result<()> {
        let name: String = required(case, "name")?;
        let path = match optional::<String>(case, "dir")? {
            Some(dir) => {
                let dir = Path::new("/").join(dir);
                dir.join(self.newest(&dir, &name)?)
            }
            None => path_of(&name),
        };
        if flag(case, "new") {
            self.fs.create_dir_all(path.parent().expect("a directory"))?;
            return self.fs.write_file(&path, &value_of(case.input.trim())?);
        }
        let (from, to) = case
            .input
            .trim()
            .split_once(' ')
            .ok_or_else(|| misuse("FROM TO"))?;
        let (from, to) = (bytes(from)?, bytes(to)?);
        let mut text = self.fs.read_file(&path)?;
        let at = text.windows(from.len()).position(|window| window == from);
        let at = at.ok_or_else(|| misuse(format!("{} is not in the file", show(&from))))?;
        text.splice(at..at + from.len(), to);
        self.fs.write_file(&path, &text)
    }
}
