//! The first phase: files are inspected, and copied or linked into the directory, where no version refers to
//! them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Progress, Result, Temperature};
use manifest::FileChecksum;

use super::inspect::{ExternalFile, believe, inspect};
use super::{IngestExternalFileArg, IngestExternalFileOptions};
use crate::files::copy::copy;
use crate::files::file_checksum;
use crate::log::log_line;
use crate::options::{FileChecksumGenFactory, RangeOpt};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

/// The prepared files of one family.
pub(crate) struct PreparedFamily {
    pub family: Arc<Family>,
    pub options: IngestExternalFileOptions,
    /// The range that the files replace.
    pub replace: Option<RangeOpt>,
    pub temperature: Temperature,
    /// The files in the order in which the caller passed them.
    pub files: Vec<PreparedFile>,
}

/// A file that is in the directory and in no version.
pub(crate) struct PreparedFile {
    pub external: ExternalFile,
    /// The path of the file before the ingestion.
    pub from: PathBuf,
    /// The path in the directory; the file may be missing if it could not be brought there.
    pub path: PathBuf,
    /// True if the file is a copy and not a link.
    pub copied: bool,
    pub checksum: Option<FileChecksum>,
}

impl DbInner {
    /// Prepares each of `args`. After an error the caller must remove the files in `prepared`.
    pub(super) fn prepare_ingestion(
        &self,
        args: &[IngestExternalFileArg],
        prepared: &mut Vec<PreparedFamily>,
    ) -> Result<()> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        self.state.lock().check_writable()?;
        self.check_args(args)?;
        for arg in args {
            let family = &arg.column_family.0;
            let mut external = Vec::new();
            for (nth, path) in arg.external_files.iter().enumerate() {
                let known = arg.file_infos.get(nth);
                let known = known.filter(|_| !arg.options.verify_checksums_before_ingest);
                let file = match known {
                    Some(info) => believe(self, family, &arg.options, path, info)?,
                    None => inspect(self, family, &arg.options, path)?,
                };
                let replace = arg.atomic_replace_range.as_ref();
                if replace
                    .is_some_and(|range| !range.contains(family.cmp.user(), &file.smallest, &file.largest))
                {
                    return Err(
                        Error::invalid_argument("Atomic replace range does not contain all files")
                            .in_file(path),
                    );
                }
                external.push(file);
            }
            prepared.push(PreparedFamily {
                family: family.clone(),
                options: arg.options.clone(),
                replace: arg.atomic_replace_range.clone(),
                temperature: arg.file_temperature,
                files: Vec::new(),
            });
            let Some(own) = prepared.last_mut() else { continue };
            for (external, from) in external.into_iter().zip(&arg.external_files) {
                let path = filename::table(&family.dir, external.number);
                own.files.push(PreparedFile {
                    external,
                    from: from.clone(),
                    path: path.clone(),
                    copied: false,
                    checksum: None,
                });
                let copied = self.stage(from, &path, &arg.options)?;
                if let Some(file) = own.files.last_mut() {
                    file.copied = copied;
                }
            }
            own.check_overlap()?;
            self.options.fs.sync_dir(&family.dir)?;
            self.add_checksums(arg, &mut own.files)?;
        }
        Ok(())
    }

    fn check_args(&self, args: &[IngestExternalFileArg]) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        if args.is_empty() {
            return invalid("ingestion arg list is empty");
        }
        for (at, arg) in args.iter().enumerate() {
            let family = &arg.column_family.0;
            let options = &arg.options;
            self.check_owns(family)?;
            family.check_writable()?;
            if args[..at]
                .iter()
                .any(|other| other.column_family.id() == family.id)
            {
                return invalid("ingestion args have duplicate column families");
            }
            if arg.external_files.is_empty() {
                return Err(Error::invalid_argument(format!("external_files[{at}] is empty")));
            }
            if options.move_files && options.link_files {
                return invalid("`move_files` and `link_files` can not both be true.");
            }
            if options.ingest_behind && family.cmp.user().timestamp_size() > 0 {
                return Err(Error::not_supported(
                    "Column family with user-defined timestamps enabled doesn't support ingest behind.",
                ));
            }
            if options.ingest_behind && !family.reserves_last_level {
                return invalid("Can't ingest_behind file in ColumnFamily with cf_allow_ingest_behind=false");
            }
            if let Some(range) = &arg.atomic_replace_range {
                check_replaced_range(range, family, options)?;
            }
            if !arg.file_infos.is_empty() && arg.file_infos.len() != arg.external_files.len() {
                return Err(Error::invalid_argument(format!(
                    "file_infos[{at}] size must match external_files[{at}] size"
                )));
            }
            if !arg.file_infos.is_empty() && options.write_global_seqno {
                return invalid("write_global_seqno is not supported when file_infos is set");
            }
            if options.allow_db_generated_files && options.write_global_seqno {
                return invalid("write_global_seqno is not allowed with allow_db_generated_files");
            }
            let (sums, names) = (&arg.files_checksums, &arg.files_checksum_func_names);
            let files = arg.external_files.len();
            if (sums.len(), names.len()) != (0, 0) && (sums.len(), names.len()) != (files, files) {
                return invalid(
                    "The checksum information of ingested sst files are nonempty and the size of checksums or the size \
                     of the checksum function names does not match with the number of ingested sst files",
                );
            }
            if options.move_files
                && let Some(own) = arg.external_files.iter().find(|path| self.is_own_table(path))
            {
                return Err(
                    Error::invalid_argument("move_files would take a table out of the database").in_file(own),
                );
            }
        }
        Ok(())
    }

    /// True if `path` is the name of a table of this database.
    pub(super) fn is_own_table(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let has_tables = |dir: &Path| {
            let index = self.index.load();
            dir == self.dir
                || index
                    .by_id
                    .values()
                    .any(|family| family.paths.id_of(dir).is_some())
        };
        path.parent().is_some_and(has_tables)
            && matches!(name.and_then(filename::parse), Some(FileKind::Table(_)))
    }

    /// Copies or links the file `from` into the directory as `to`, and makes its contents durable. True if it
    /// was copied.
    pub(super) fn stage(&self, from: &Path, to: &Path, options: &IngestExternalFileOptions) -> Result<bool> {
        let fs = &*self.options.fs;
        if options.move_files || options.link_files {
            match fs.link(from, to) {
                // The program that wrote the external file may not have synced the file.
                Ok(()) => return fs.sync_file(to).map(|()| false),
                Err(error) if !options.failed_move_fall_back_to_copy => return Err(error),
                Err(error) if error.kind() == ErrorKind::NoSpace => return Err(error),
                Err(error) => {
                    log_line!(
                        self.log,
                        Info,
                        "Tried to link file {} but it's not supported : {error}",
                        from.display()
                    );
                }
            }
        }
        copy(fs, from, to, &Progress::new()).map(|()| true)
    }

    /// The checksums of whole files: computed, compared, or accepted as given.
    fn add_checksums(&self, arg: &IngestExternalFileArg, files: &mut [PreparedFile]) -> Result<()> {
        let factory = self.options.file_checksum_gen_factory;
        if factory == FileChecksumGenFactory::None {
            return Ok(());
        }
        let told = arg.files_checksums.iter().zip(&arg.files_checksum_func_names);
        let mut told = told.map(|(value, func_name)| FileChecksum {
            func_name: func_name.clone(),
            value: value.as_slice().into(),
        });
        for file in files {
            let told = told.next();
            file.checksum = match told {
                Some(told) if !arg.options.verify_file_checksum => {
                    if told.func_name != codec::file_checksum::CRC32C_NAME {
                        return Err(unknown_function(&told, &file.from));
                    }
                    Some(told)
                }
                told => {
                    let made = self.checksum_of(&file.path)?;
                    if let (Some(told), Some(made)) = (&told, &made) {
                        if told.func_name != made.func_name {
                            return Err(unknown_function(told, &file.from));
                        }
                        if told.value != made.value {
                            return Err(Error::corruption(format!(
                                "Checksum verification mismatch for ingestion file using function {}. Expected: {:02x?} \
                                 Computed: {:02x?}",
                                made.func_name, told.value, made.value
                            ))
                            .in_file(&file.from));
                        }
                    }
                    made
                }
            };
        }
        Ok(())
    }

    /// The checksum of the whole file at `path`, if the database has such checksums.
    pub(super) fn checksum_of(&self, path: &Path) -> Result<Option<FileChecksum>> {
        let access = vfs::OpenOptions {
            access: vfs::Access::Sequential,
            ..vfs::OpenOptions::default()
        };
        let file = self.options.fs.open_random(path, &access)?;
        file_checksum::of_file(self.options.file_checksum_gen_factory, &*file)
    }

    /// Removes prepared files from the directory, unless the database was closed meanwhile: then the files
    /// may belong to another process. All are tried; returns the first error.
    pub(super) fn remove_prepared(&self, families: Vec<PreparedFamily>) -> Result<()> {
        let fs = &*self.options.fs;
        let files = families.iter().flat_map(|family| &family.files);
        let mut files = files.peekable();
        if files.peek().is_none() {
            return Ok(());
        }
        // A close needs the write queue's lock before another process can open the database.
        let _writer = self.write.queue.lock();
        if self.state.lock().closing {
            return Ok(());
        }
        let mut failed = Ok(());
        for file in files {
            let removed = match fs.remove(&file.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed,
            };
            failed = failed.and(removed);
        }
        failed
    }
}

/// Fails if the ingestion cannot replace `range`, because of the options of the ingestion or the family.
fn check_replaced_range(
    range: &RangeOpt,
    family: &Family,
    options: &IngestExternalFileOptions,
) -> Result<()> {
    if options.ingest_behind {
        return Err(Error::invalid_argument(
            "Can't combine atomic_replace_range with ingest_behind.",
        ));
    }
    if options.snapshot_consistency {
        return Err(Error::not_supported(
            "atomic_replace_range cannot be combined with snapshot_consistency",
        ));
    }
    if family.cmp.user().timestamp_size() > 0 {
        return Err(Error::not_supported(
            "atomic_replace_range does not support column families with timestamps",
        ));
    }
    range.check(family.cmp.user())
}

fn unknown_function(told: &FileChecksum, path: &Path) -> Error {
    Error::invalid_argument(format!(
        "Checksum function name {} not recognized by DB checksum gen factory FileChecksumGenCrc32cFactory",
        told.func_name
    ))
    .in_file(path)
}

impl PreparedFamily {
    /// True if the ranges of two of the files overlap.
    pub fn files_overlap(&self) -> bool {
        let cmp = &self.family.cmp;
        let mut sorted: Vec<&ExternalFile> = self.files.iter().map(|file| &file.external).collect();
        sorted.sort_by(|a, b| cmp.compare(&a.smallest, &b.smallest));
        sorted.windows(2).any(|pair| pair[0].meets(pair[1], cmp.user()))
    }

    /// `InvalidArgument` if memtables must not be flushed for the files.
    pub fn check_may_flush(&self) -> Result<()> {
        match self.options.allow_blocking_flush {
            true => Ok(()),
            false => Err(Error::invalid_argument("External file requires flush")),
        }
    }

    /// An error if files overlap each other and must not.
    pub fn check_overlap(&self) -> Result<()> {
        if !self.files_overlap() {
            return Ok(());
        }
        if self.options.ingest_behind {
            return Err(Error::not_supported(
                "Files with overlapping ranges cannot be ingested with ingestion behind mode.",
            ));
        }
        if !self.options.allow_global_seqno && !self.options.allow_db_generated_files {
            return Err(Error::invalid_argument(
                "Global seqno is required, but disabled (because external files key range overlaps).",
            ));
        }
        if self.family.cmp.user().timestamp_size() > 0 {
            return Err(Error::not_supported(
                "Files with overlapping ranges cannot be ingested to column family with user-defined timestamp enabled.",
            ));
        }
        Ok(())
    }
}
