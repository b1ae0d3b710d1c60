//! Queries that change nothing and whose answers can be checked.

use esker::{KeyMayExist, LiveFilesStorageInfoOptions};

use crate::done::What;
use crate::expected_value::Window;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::worker::Worker;

impl Worker<'_> {
    /// Runs one of the queries now and then, as the flags ask.
    pub(super) fn ask(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let (property, sizes, exists, metadata, tables, files, held, verify, wals, current) = (
            flags.get_property_one_in,
            flags.approximate_size_one_in,
            flags.key_may_exist_one_in,
            flags.get_all_column_family_metadata_one_in,
            flags.get_properties_of_all_tables_one_in,
            flags.get_live_files_apis_one_in,
            flags.disable_file_deletions_one_in,
            flags.verify_db_one_in,
            flags.get_sorted_wal_files_one_in,
            flags.get_current_wal_file_one_in,
        );
        if self.one_in(property) {
            self.ask_property()?;
        }
        if self.one_in(sizes) {
            self.ask_sizes()?;
        }
        if self.one_in(exists) {
            self.ask_whether_it_may_exist()?;
        }
        if self.one_in(metadata) {
            self.ask_metadata()?;
        }
        if self.one_in(tables) {
            let family = self.family();
            let handle = self.open.families[family].read();
            self.open.db.properties_of_all_tables(&handle)?;
            self.done.count(What::Metadata);
        }
        if self.one_in(files) {
            self.ask_live_files()?;
        }
        if self.one_in(held) {
            self.hold_files()?;
        }
        if self.one_in(verify) {
            self.verify_family()?;
        }
        if self.one_in(wals) {
            self.ask_wals()?;
        }
        if self.one_in(current) {
            self.open.db.get_current_wal_file()?;
            self.done.count(What::Wals);
        }
        Ok(())
    }

    /// Changes the capacity of the block cache. No reader may notice, whichever blocks are evicted.
    pub(super) fn set_cache_capacity(&mut self) {
        let family = self.open.db.default_column_family();
        let Some(cache) = self.open.db.block_cache(&family) else {
            return;
        };
        let size = self.stress.flags.cache_size.max(0) as usize;
        let capacities = [0, 4096, size / 2, size, 2 * size];
        cache.set_capacity(capacities[self.rng.usize(..capacities.len())]);
        cache.set_strict_capacity_limit(self.rng.bool());
        let size = self.stress.flags.compressed_secondary_cache_size as usize;
        if size > 0 {
            cache.set_secondary_capacity([0, size / 2, size][self.rng.usize(..3)]);
        }
        cache.set_compressed_secondary_ratio([0.0, 0.3, 0.9][self.rng.usize(..3)]);
        self.done.count(What::CacheCapacity);
    }

    fn ask_property(&mut self) -> Outcome {
        const NAMES: [&str; 8] = [
            "rocksdb.stats",
            "rocksdb.levelstats",
            "rocksdb.sstables",
            "rocksdb.estimate-num-keys",
            "rocksdb.cur-size-all-mem-tables",
            "rocksdb.num-files-at-level0",
            "rocksdb.estimate-table-readers-mem",
            "esker.verify",
        ];
        let (family, name) = (self.family(), NAMES[self.rng.usize(..NAMES.len())]);
        let handle = self.open.families[family].read();
        self.done.count(What::Property);
        match self.open.db.property(&handle, name) {
            Some(_) => Ok(()),
            // A family that was dropped and could not be created again does not exist until the database is
            // reopened.
            None if self.stress.is_interrupted() => Ok(()),
            None => Err(Failure::Mismatch(format!("there is no property {name}"))),
        }
    }

    /// Asks for the size of a range. No range has more bytes than all keys together, unless the files changed
    /// in between.
    fn ask_sizes(&mut self) -> Outcome {
        let family = self.family();
        let mut bounds = [self.key(), self.key()];
        bounds.sort_unstable();
        let [begin, end] = bounds.map(keys::key);
        let (first, last) = (keys::key(0), keys::key(u64::MAX));
        let handle = self.open.families[family].read();
        let sizes = self
            .open
            .db
            .approximate_sizes(&handle, &[(&begin, &end), (&first, &last)])?;
        self.done.count(What::Sizes);
        if sizes[0] <= sizes[1] {
            return Ok(());
        }
        Err(Failure::Mismatch(format!(
            "column family {family}: keys {bounds:?} are said to have {} bytes, of {} in all",
            sizes[0], sizes[1]
        )))
    }

    /// Asks whether a key may exist. The answer "no" is as definite as that of a Get, and so is a value.
    fn ask_whether_it_may_exist(&mut self) -> Outcome {
        let (family, key) = (self.family(), self.key());
        let options = self.read_options();
        let before = self.stress.expected.get(family, key);
        let answer = {
            let handle = self.open.families[family].read();
            self.open
                .db
                .key_may_exist_cf_opt(&handle, keys::key(key), &options)?
        };
        let after = self.stress.expected.get(family, key);
        let window = Window { before, after };
        self.done.count(What::MayExist);
        let is_so = match &answer {
            KeyMayExist::Maybe => true,
            KeyMayExist::No => window.may_be_absent(),
            KeyMayExist::Yes(value) => window.may_hold(self.stress.write_of(family, key, value)?),
        };
        if is_so {
            return Ok(());
        }
        Err(Failure::Mismatch(format!(
            "{}: memory tells {answer:?}, which was so at no moment of {window:?}",
            self.stress.name(family, key)
        )))
    }

    /// Asks for the metadata of a family, which must have the number of levels in its options.
    fn ask_metadata(&mut self) -> Outcome {
        for family in &self.open.families {
            let handle = family.read();
            let levels = self.open.db.levels(&handle);
            let wanted = handle.options().num_levels as usize;
            if levels.len() != wanted || levels.iter().any(|level| (level.files == 0) != (level.size == 0)) {
                return Err(Failure::Mismatch(format!(
                    "column family {} of {wanted} levels has {levels:?}",
                    handle.name()
                )));
            }
        }
        self.done.count(What::Metadata);
        Ok(())
    }

    /// Asks for the live files. While file deletions are disabled, these files must exist and have the
    /// reported lengths.
    fn ask_live_files(&mut self) -> Outcome {
        let (db, fs) = (&self.open.db, &self.stress.options.fs);
        let options = LiveFilesStorageInfoOptions {
            wal_size_for_flush: [0, u64::MAX][self.rng.usize(..2)],
        };
        db.disable_file_deletions();
        let looked = db
            .live_files_storage_info(&options)
            .map_err(Failure::from)
            .and_then(|info| {
                for file in info
                    .files
                    .iter()
                    .filter(|file| file.replacement_contents.is_none())
                {
                    let size = fs.size(&file.path())?;
                    if size < file.size {
                        let path = file.path();
                        return Err(Failure::Mismatch(format!(
                            "{}: {size} bytes, of {} that belong to the database",
                            path.display(),
                            file.size
                        )));
                    }
                }
                Ok(())
            });
        db.enable_file_deletions()?;
        looked?;
        self.done.count(What::LiveFiles);
        Ok(())
    }

    /// Asks for all WALs, which are ordered by number and by their rows. An archive without a limit that the
    /// run can reach keeps each of them. After a loss of power neither holds: a recovery that ends before a
    /// WAL deletes it, and gives the sequence numbers of lost rows to new ones.
    fn ask_wals(&mut self) -> Outcome {
        const LONG: u64 = 1_000_000;
        let db = &self.open.db;
        let seen = db.get_sorted_wal_files()?;
        let rows: Vec<u64> = seen
            .iter()
            .map(|wal| wal.start_sequence)
            .filter(|&first| first > 0)
            .collect();
        let lost_power = self.stress.lost_power;
        if !seen.is_sorted_by(|a, b| a.number < b.number) || !(rows.is_sorted() || lost_power) {
            return Err(Failure::Mismatch(format!(
                "these WALs are out of order: {seen:?}"
            )));
        }
        let options = &self.stress.options;
        if options.wal_ttl_seconds >= LONG && options.wal_size_limit_mb == 0 && !lost_power {
            let fs = &self.stress.options.fs;
            for wal in &seen {
                let moved = wal.path.parent().map(|dir| dir.join("archive"));
                let moved = moved.zip(wal.path.file_name()).map(|(dir, name)| dir.join(name));
                // A WAL is moved in one step, after which it is in the archive.
                if !fs.exists(&wal.path)? && !fs.exists(&moved.unwrap_or_default())? {
                    return Err(Failure::Mismatch(format!("{wal:?} is in no directory")));
                }
            }
        }
        self.done.count(What::Wals);
        Ok(())
    }

    /// Disables file deletions for a while: the live files must stay, even if they become obsolete.
    fn hold_files(&mut self) -> Outcome {
        self.open.db.disable_file_deletions();
        let live = self.open.db.live_files();
        let looked = self.compact_range().and_then(|()| {
            for file in &live {
                if !self.stress.options.fs.exists(&file.path)? {
                    let path = file.path.display();
                    return Err(Failure::Mismatch(format!(
                        "{path} was deleted while file deletions were disabled"
                    )));
                }
            }
            Ok(())
        });
        self.open.db.enable_file_deletions()?;
        looked?;
        self.done.count(What::HoldFiles);
        Ok(())
    }

    /// Reads a family in every way while no thread changes it.
    fn verify_family(&mut self) -> Outcome {
        let family = self.family();
        let keys = 0..self.stress.expected.keys();
        let handle = self.open.families[family].read();
        let _held = self.stress.hold_range(family, keys.start, keys.end);
        for key in keys {
            self.settled(family, key)?;
        }
        self.stress.verify_family(&self.open.db, family, &handle)?;
        self.done.count(What::Verify);
        Ok(())
    }
}
