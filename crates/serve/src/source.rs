//! The source of a page's data: the files of a database, and the open database if the page runs inside its
//! program.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use base::env::{Clock, SystemClock};
use base::sync::Mutex;
use base::{Error, ErrorKind, Result, UserComparator};
use esker::Db;
use serde_json::Value;
use vfs::FileSystem;

use crate::dangers::Loaded;
use crate::history;
use crate::levels::{Marks, levels};
use crate::live;
use crate::observe::{Observer, current_manifest};
use crate::options;
use crate::state::state;
use crate::tables::{Counts, Tables};

/// A database's directory, and the directories of its WALs and LOG if they are others.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// The directory of the database.
    pub dir: PathBuf,
    /// The directory of the database's WALs. Default: that of the database.
    pub wal_dir: Option<PathBuf>,
    /// The directory of the database's LOG. Default: that of the database.
    pub db_log_dir: Option<PathBuf>,
}

pub(crate) struct Source {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    observer: Mutex<Observer>,
    tables: Tables,
    live: Option<Db>,
}

impl Source {
    pub fn of_directory(directory: &Directory, fs: Arc<dyn FileSystem>) -> Source {
        Source::new(directory, fs, Arc::new(SystemClock::new()), None)
    }

    pub fn of_database(db: &Db) -> Source {
        let options = db.options();
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        let directory = Directory {
            dir: db.path().to_path_buf(),
            wal_dir: path(&options.wal_dir),
            db_log_dir: path(&options.db_log_dir),
        };
        Source::new(
            &directory,
            options.fs.clone(),
            options.clock.clone(),
            Some(db.clone()),
        )
    }

    fn new(
        directory: &Directory,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        live: Option<Db>,
    ) -> Source {
        let (wal_dir, log_dir) = (directory.wal_dir.as_deref(), directory.db_log_dir.as_deref());
        Source {
            observer: Mutex::new(Observer::new(fs.clone(), clock, &directory.dir, wal_dir, log_dir)),
            tables: Tables::new(fs.clone(), directory.dir.clone()),
            dir: directory.dir.clone(),
            fs,
            live,
        }
    }

    /// Returns the current state of the database, without its tables.
    pub fn state(&self) -> Result<Value> {
        let now = self.observer.lock().look()?;
        Ok(state(&now, self.live.as_ref().map(live::state)))
    }

    /// Returns the tables of each level, now or after the first `edit` edits of the MANIFEST.
    pub fn levels(&self, edit: Option<u64>) -> Result<Value> {
        let path = self.manifest()?;
        let past = history::replay(&*self.fs, &path, edit)?;
        let marks = match edit {
            Some(_) => Marks::default(),
            None => self.marks(),
        };
        let state = past.replay.clone().finish(&mut |family, recorded| {
            self.comparator(family)
                .map_or_else(|| manifest::builtin_comparator(family, recorded), Ok)
        });
        let state = match state {
            // This error means that a comparator of the database is not built in, so its files are shown
            // without their keys.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => past.replay.finish_without_keys(),
            state => state,
        };
        let (state, note) = match state {
            // The first edits lack entries that every complete MANIFEST has.
            Err(error) if edit.is_some() => (None, Some(error.to_string())),
            state => (Some(state.map_err(|error| error.in_file(&path))?), None),
        };
        Ok(levels(past.edits, state.as_ref(), note, &marks, &self.tables))
    }

    /// Returns the edits of the MANIFEST from the number `from` on, counted from 1.
    pub fn edits(&self, from: u64, limit: u64) -> Result<Value> {
        history::edits(&*self.fs, &self.manifest()?, from, limit)
    }

    /// Returns the properties and the first keys of a table of the MANIFEST, in use or deleted.
    pub fn file(&self, number: u64, keys: u64) -> Result<Value> {
        let known = history::knows_table(&*self.fs, &self.manifest()?, number)?;
        if !known {
            let error = Error::new(ErrorKind::NotFound, format!("the MANIFEST has no table {number}"));
            return Err(error.in_file(&self.dir));
        }
        self.tables.describe(number, keys)
    }

    /// Returns the newest OPTIONS file, with its dangers.
    pub fn options(&self) -> Result<Value> {
        Ok(options::options(&Loaded::newest(&*self.fs, &self.dir)?))
    }

    fn manifest(&self) -> Result<PathBuf> {
        Ok(self.dir.join(current_manifest(&*self.fs, &self.dir)?))
    }

    /// Returns the comparator of a family, if the page runs inside the program.
    fn comparator(&self, family: &str) -> Option<UserComparator> {
        let family = self.live.as_ref()?.column_family(family)?;
        Some(family.comparator().clone())
    }

    /// Returns the tables that compactions read, the reads of tables, and the counts of entries that are
    /// known without opening tables.
    fn marks(&self) -> Marks {
        let mut marks = Marks::default();
        match &self.live {
            Some(db) => {
                let mut reads = HashMap::new();
                for file in db.live_files() {
                    if file.being_compacted {
                        marks.compacting.insert(file.number);
                    }
                    if file.num_entries > 0 {
                        let counts = Counts {
                            entries: file.num_entries,
                            deletions: file.num_deletions,
                        };
                        marks.counts.insert(file.number, counts);
                    }
                    if file.num_reads_sampled > 0 {
                        reads.insert(file.number, file.num_reads_sampled);
                    }
                    marks.paths.insert(file.number, file.path);
                }
                marks.reads = Some(reads);
                self.tables.have_paths(std::mem::take(&mut marks.paths));
            }
            None => {
                let mut observer = self.observer.lock();
                // An error is ignored: without a LOG neither running jobs nor reads of tables are known.
                let told = observer.look().map(|now| now.log).unwrap_or_default();
                marks.reads = told.reads.map(|reads| reads.into_iter().collect());
                marks.compacting = told
                    .running
                    .into_values()
                    .flat_map(|job| job.files)
                    .collect::<HashSet<_>>();
            }
        }
        marks
    }
}
