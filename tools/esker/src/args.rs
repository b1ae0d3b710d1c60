//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::top::Sort;

/// Looks into RocksDB's and Esker's databases.
///
/// Reading never changes a directory, and takes no lock: a database that is in use is read as it is at that moment.
#[derive(Parser, Debug)]
#[command(name = "esker", version, rename_all = "snake_case", max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
#[command(rename_all = "snake_case")]
pub enum Command {
    /// Prints rows in order: key, tab, value; with --all_column_families the family's name comes first
    ///
    /// A row of a wide-column entity has a further field `columns`, and then one `name=value` a column.
    Scan(ScanArgs),
    /// Prints the value of a key; exit status 1 if there is none
    Get(GetArgs),
    /// Sets a key to a value
    Put(PutArgs),
    /// Deletes a key, whether or not it exists
    Delete(DeleteArgs),
    /// Deletes the keys from BEGIN up to END, exclusive
    Deleterange(DeleteRangeArgs),
    /// Checks every checksum of every file; prints file and offset of each bad block, and then exits with 1
    ///
    /// Tables and blob files are also compared with what the MANIFEST says of them.
    Verify(VerifyArgs),
    /// Shows what a table is made of: footer, properties, index, blocks, entries
    Sst(SstArgs),
    /// Shows every edit of a MANIFEST, and what they come to
    Manifest(ManifestArgs),
    /// Shows the write batches in WALs, and the physical records they lie in
    Wal(WalArgs),
    /// Draws the levels: files, the keys they span, sizes
    Lsm(LsmArgs),
    /// Prints the engine's properties of a column family, or the value of one
    Properties(PropertiesArgs),
    /// Shows a database that is in use, again and again: levels, WALs, jobs, stalls, the process
    ///
    /// Jobs, stalls and the block cache are as the process's LOG tells them. Keys: q quits, s sorts, f goes to the next family, a shows all.
    Top(TopArgs),
    /// Tells who holds back memory and files of a database that is in use: iterators, snapshots, backups, with their age
    ///
    /// As the process's LOG last told, which it does every stats_dump_period_sec.
    Pins(PinsArgs),
    /// Makes a second database of the same files, as the database is now
    ///
    /// Tables are linked where the file system can. The database must not be in use.
    Checkpoint(CheckpointArgs),
    /// Makes a backup of a database in a backup directory; or lists, verifies or deletes those there are
    ///
    /// Tables and blob files that an earlier backup has are not copied again. RocksDB reads the directory, and we read RocksDB's.
    /// The database must not be in use.
    Backup(BackupArgs),
    /// Makes a database of a backup
    Restore(RestoreArgs),
    /// Makes a database open again whose MANIFEST or CURRENT is gone or damaged, from its tables and WALs
    ///
    /// What cannot be read, and old MANIFESTs and WALs, move to the directory `lost` in it; nothing is deleted. Exit status 1
    /// if anything is lost.
    Repair(RepairArgs),
    /// Copies all that can be read of a damaged database into a new one, and names the keys of what cannot
    ///
    /// The database itself is only read. Exit status 1 if anything is lost.
    Salvage(SalvageArgs),
    /// Shows what is dangerous in an OPTIONS file, and what changed between two
    Options(OptionsArgs),
}

/// Which database.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Database {
    /// The directory of the database
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub wal_dir: Option<PathBuf>,
}

/// How long work is followed.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct WorkingArgs {
    /// Tells on standard error how far it is, a line a second [default: if that is a terminal]
    #[arg(long)]
    pub progress: bool,
}

/// How a database is read.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Reading {
    /// Reads as a secondary that has this directory for its own, as RocksDB's ldb does
    #[arg(long, value_name = "DIR")]
    pub secondary_path: Option<PathBuf>,
}

/// Which rows of it.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Keys {
    /// The column family [default: default]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// Keys and values are in hexadecimal. Otherwise they are text, in which `\\` is a backslash, `\t`, `\n` and `\r` stand
    /// for control characters, and `\xNN` for any byte
    #[arg(long)]
    pub hex: bool,
    /// Reads as of this timestamp, or writes at it, in column families with timestamps [default for reading: the newest]
    #[arg(long, value_name = "N")]
    pub timestamp: Option<u64>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct ScanArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub keys: Keys,
    /// All column families, by id
    #[arg(long, conflicts_with = "column_family")]
    pub all_column_families: bool,
    /// Begins at this key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub from: Option<OsString>,
    /// Ends before this key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub to: Option<OsString>,
    /// Prints no more rows than this
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Last row first; --from and --to bound the same keys
    #[arg(long)]
    pub reverse: bool,
}

#[derive(clap::Args, Debug)]
pub struct GetArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub keys: Keys,
    /// The key
    pub key: OsString,
}

/// How to write.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Writing {
    /// Returns only when the row lies on the disk, not just in the kernel's memory
    #[arg(long)]
    pub sync: bool,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct PutArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub writing: Writing,
    /// Creates the database if there is none
    #[arg(long)]
    pub create_if_missing: bool,
    /// The key
    pub key: OsString,
    /// The value
    pub value: OsString,
}

#[derive(clap::Args, Debug)]
pub struct DeleteArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub writing: Writing,
    /// The key
    pub key: OsString,
}

#[derive(clap::Args, Debug)]
pub struct DeleteRangeArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub keys: Keys,
    #[command(flatten)]
    pub writing: Writing,
    /// The first key to go
    pub begin: OsString,
    /// The first key to stay
    pub end: OsString,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct VerifyArgs {
    #[command(flatten)]
    pub database: Database,
    /// Prints no line for files that are good
    #[arg(long)]
    pub quiet: bool,
    /// Notes in FILE which tables and blob files are good, and passes over those noted there by a run that was stopped. When
    /// all is checked FILE is removed
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub working: WorkingArgs,
}

/// Files to look into: named, or those of their kind in a database.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
#[group(required = true, multiple = false)]
pub struct Source {
    /// The directory of a database, to look into all its files of this kind
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Files
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct SstArgs {
    #[command(flatten)]
    pub source: Source,
    /// Shows the footer and the metaindex [this and --properties are the default]
    #[arg(long)]
    pub footer: bool,
    /// Shows the properties
    #[arg(long)]
    pub properties: bool,
    /// Shows the index: an entry a data block
    #[arg(long)]
    pub index: bool,
    /// Shows how each data block is stored
    #[arg(long)]
    pub blocks: bool,
    /// Shows the entries, range deletions first
    #[arg(long)]
    pub entries: bool,
    /// Shows all of these
    #[arg(long)]
    pub all: bool,
    /// Keys and values in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Entries from this user key on
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub from: Option<OsString>,
    /// Entries before this user key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub to: Option<OsString>,
    /// No more entries of a table than this
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct ManifestArgs {
    #[command(flatten)]
    pub source: Source,
    /// Shows what the edits come to and not the edits
    #[arg(long)]
    pub summary: bool,
    /// Keys in hexadecimal
    #[arg(long)]
    pub hex: bool,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct WalArgs {
    #[command(flatten)]
    pub source: Source,
    /// Shows the physical records too
    #[arg(long)]
    pub physical: bool,
    /// Shows one line a batch and not its operations
    #[arg(long)]
    pub headers: bool,
    /// Keys and values in hexadecimal
    #[arg(long)]
    pub hex: bool,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct PinsArgs {
    /// The directory of the database
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of its LOG [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub db_log_dir: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct TopArgs {
    /// The directory of the database
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub wal_dir: Option<PathBuf>,
    /// The directory of its LOG [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub db_log_dir: Option<PathBuf>,
    /// This column family alone [default: all]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// The order of the families
    #[arg(long, value_enum, default_value_t = Sort::Id)]
    pub sort: Sort,
    /// Seconds between two frames
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub interval: f64,
    /// Prints one frame and ends; so does whoever prints to no terminal
    #[arg(long)]
    pub once: bool,
}

/// A time one may wait.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("from 0.05 to 86400".to_owned()),
    }
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct LsmArgs {
    /// The directory of the database
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The column family [default: all]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// Lists the files under the picture
    #[arg(long)]
    pub files: bool,
    /// Keys in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Characters a line may have [default: $COLUMNS, or 80]
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct PropertiesArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub reading: Reading,
    /// The column family [default: all]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// One property, with or without `rocksdb.` before it: its value alone is printed, a line a column family
    pub name: Option<String>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct CheckpointArgs {
    #[command(flatten)]
    pub database: Database,
    /// The directory to make; there must be none of that name
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Copies WALs of fewer bytes than this, and flushes what is in larger ones
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub log_size_for_flush: u64,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct BackupArgs {
    /// The directory of backups
    #[arg(long, value_name = "DIR")]
    pub backup_dir: PathBuf,
    /// The database to make a backup of
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR", requires = "db")]
    pub wal_dir: Option<PathBuf>,
    /// Writes what is in WALs to tables first. Without it WALs are part of the backup
    #[arg(long, requires = "db")]
    pub flush_before_backup: bool,
    /// Kept with the backup, and listed
    #[arg(long, value_name = "TEXT", requires = "db")]
    pub metadata: Option<String>,
    /// Lists the backups; exit status 1 if there is a corrupt one
    #[arg(long, group = "action")]
    pub list: bool,
    /// Reads every file of the backups, or of that one, and compares sizes and checksums
    #[arg(long, group = "action")]
    pub verify: bool,
    /// Deletes a backup, and the files that no other one needs
    #[arg(long, value_name = "ID", group = "action")]
    pub delete: Option<u32>,
    /// Deletes all backups but the newest N
    #[arg(long, value_name = "N", group = "action")]
    pub purge: Option<usize>,
    /// Which backup to verify [default: all]
    #[arg(long, value_name = "ID", requires = "verify")]
    pub backup_id: Option<u32>,
    /// Threads that copy, or compute checksums
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_threads: usize,
    /// Writes no more bytes a second than this; 0: no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub backup_rate_limit: u64,
    /// Lists metadata in hexadecimal
    #[arg(long, requires = "list")]
    pub hex: bool,
    #[command(flatten)]
    pub working: WorkingArgs,
}

impl BackupArgs {
    /// The database, if one is named.
    pub fn database(&self) -> Option<Database> {
        Some(Database {
            db: self.db.clone()?,
            wal_dir: self.wal_dir.clone(),
        })
    }
}

/// What stays of the files that lie where a backup is restored to.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Tables and blob files that have the backup's checksums
    Verify,
    /// Nothing
    Purge,
    /// Tables of the session and size of the backup's, whatever is in them
    Session,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct RestoreArgs {
    /// The directory of backups
    #[arg(long, value_name = "DIR")]
    pub backup_dir: PathBuf,
    #[command(flatten)]
    pub database: Database,
    /// Which backup [default: the newest good one]
    #[arg(long, value_name = "ID")]
    pub backup_id: Option<u32>,
    /// Puts it in the place of the database that lies there
    #[arg(long)]
    pub overwrite: bool,
    /// What stays of it
    #[arg(long, value_enum, default_value_t = Mode::Verify)]
    pub mode: Mode,
    /// WALs that lie there stay too
    #[arg(long)]
    pub keep_log_files: bool,
    /// Threads that copy
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_threads: usize,
    /// Writes no more bytes a second than this; 0: no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub restore_rate_limit: u64,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
pub struct RepairArgs {
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
pub struct SalvageArgs {
    #[command(flatten)]
    pub database: Database,
    /// The directory to make; there must be none of that name, unless it is one that was stopped on the way
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Keys in hexadecimal
    #[arg(long)]
    pub hex: bool,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
pub struct OptionsArgs {
    /// An OPTIONS file, or the directory of a database, whose newest is meant
    pub file: PathBuf,
    /// Another, to show what changed from the first one to this, and what is dangerous in this
    #[arg(value_name = "FILE2")]
    pub newer: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_grammar_holds() {
        Args::command().debug_assert();
    }

    #[test]
    fn flags_are_spelled_as_rocksdb_spells_them() {
        let args = Args::try_parse_from([
            "esker",
            "scan",
            "--db=d",
            "--column_family",
            "one",
            "--hex",
            "--from=-5",
            "--to",
            "-1",
            "--limit=3",
            "--reverse",
            "--timestamp=7",
        ]);
        let Command::Scan(scan) = args.unwrap().command else {
            panic!("not a scan");
        };
        assert_eq!(scan.keys.column_family.as_deref(), Some("one"));
        assert_eq!(scan.from.as_deref(), Some("-5".as_ref()));
        assert_eq!((scan.limit, scan.keys.timestamp), (Some(3), Some(7)));
        for wrong in [
            &["esker", "scan"][..],
            &[
                "esker",
                "scan",
                "--db=d",
                "--all_column_families",
                "--column_family=x",
            ],
            &["esker", "sst"],
            &["esker", "sst", "--db=d", "000001.sst"],
            &["esker", "scan", "--db=d", "--limit=many"],
        ] {
            assert!(Args::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }
}
