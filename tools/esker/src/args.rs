//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::top::Sort;

/// Inspects RocksDB's and Esker's databases.
///
/// Reading never changes a directory, and takes no lock: a database in use is read in its current state. The
/// directory may come first, or after the command, instead of --db; alone it shows the levels.
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
    /// A row of a wide-column entity has a further field `columns`, and then one `name=value` for each
    /// column.
    Scan(ScanArgs),
    /// Prints the value of a key; exit status 1 if the key does not exist
    Get(GetArgs),
    /// Sets a key to a value
    Put(PutArgs),
    /// Deletes a key, whether or not it exists
    Delete(DeleteArgs),
    /// Deletes the keys from BEGIN up to END, exclusive
    Deleterange(DeleteRangeArgs),
    /// Checks every checksum of every file; prints file and offset of each bad block, and then exits with 1
    ///
    /// Tables and blob files are also compared with the MANIFEST's records of them.
    Verify(VerifyArgs),
    /// Shows the parts of a table: footer, properties, index, blocks, entries
    Sst(SstArgs),
    /// Shows every edit of a MANIFEST, and the resulting state
    Manifest(ManifestArgs),
    /// Shows the write batches in WALs, and their physical records
    Wal(WalArgs),
    /// Sums up a trace of queries, of I/O or of the block cache; or runs a trace of queries again
    ///
    /// Traces are those of RocksDB and of Esker: `Db::start_trace`, `start_io_trace`,
    /// `start_block_cache_trace`.
    Trace(TraceArgs),
    /// Predicts write, space and read amplification of a workload under other options
    ///
    /// The tables' keys are read, and the workload is replayed in memory by the engine's own pickers, once
    /// for each set of options. Nothing in the directory changes.
    Advise(AdviseArgs),
    /// Draws the levels: files, their key ranges, sizes
    Lsm(LsmArgs),
    /// Prints the engine's properties of a column family, or the value of one
    Properties(PropertiesArgs),
    /// Shows a database in use, repeatedly: levels, WALs, jobs, stalls, the process
    ///
    /// Jobs, stalls and the block cache come from the process's LOG. Keys: q quits, s sorts, f goes to the
    /// next family, a shows all.
    Top(TopArgs),
    /// Serves a page with the levels, jobs, stalls, pins, options and history of a database to a browser
    ///
    /// Prints the address of the page, and ends with Ctrl-C. The directory is only read. At an address that
    /// is not loopback, a request needs the token in the printed address.
    Serve(ServeArgs),
    /// Shows the iterators, snapshots and backups that hold memory and files of a database in use, with their
    /// age, and the cursors of change feeds
    ///
    /// The information is that of the process's LOG, which it writes every stats_dump_period_sec. Cursors are
    /// read from the database's files.
    Pins(PinsArgs),
    /// Prints what was written to a database as JSON lines, in order, from its WALs
    ///
    /// The database may be in use: what it writes is read as soon as the kernel has it. With `--cursor` the
    /// feed goes on where the last run ended, and the database keeps WALs for it.
    Feed(FeedArgs),
    /// Creates a second database from the same files, in the current state
    ///
    /// Tables are linked where the file system supports it. The database must not be in use.
    Checkpoint(CheckpointArgs),
    /// Creates a backup of a database in a backup directory; or lists, verifies or deletes existing ones
    ///
    /// Tables and blob files that an earlier backup has are not copied again. RocksDB and Esker read each
    /// other's backup directories. The database must not be in use.
    Backup(BackupArgs),
    /// Restores a database from a backup
    Restore(RestoreArgs),
    /// Repairs a database whose MANIFEST or CURRENT is missing or corrupt, from its tables and WALs
    ///
    /// Unreadable files, and old MANIFESTs and WALs, move to the subdirectory `lost`; nothing is deleted.
    /// Exit status 1 if any data is lost.
    Repair(RepairArgs),
    /// Copies all readable data of a corrupt database into a new one, and names the keys of unreadable data
    ///
    /// The database itself is only read. Exit status 1 if any data is lost.
    Salvage(SalvageArgs),
    /// Copies an encrypted database to a new directory, unencrypted
    ///
    /// RocksDB opens the copy. The database must not be in use.
    Decrypt(DecryptArgs),
    /// RocksDB's `ldb`, with its commands, flags and output: `esker ldb --help`
    Ldb(ToolArgs),
    /// RocksDB's `sst_dump`, with its commands, flags and output: `esker sst_dump --help`
    SstDump(ToolArgs),
    /// Shows dangerous settings in an OPTIONS file, and the changes between two
    Options(OptionsArgs),
}

/// The arguments of one of RocksDB's tools.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct ToolArgs {
    /// The tool's own arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// The database.
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

/// The progress report of long work.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct WorkingArgs {
    /// Reports progress on standard error, a line a second [default: if that is a terminal]
    #[arg(long)]
    pub progress: bool,
}

/// The way a database is read.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Reading {
    /// Reads as a secondary with this directory of its own, as RocksDB's ldb does
    #[arg(long, value_name = "DIR")]
    pub secondary_path: Option<PathBuf>,
}

/// The column family and the form of keys.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Keys {
    /// The column family [default: default]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// Keys and values are in hexadecimal. Otherwise they are text, in which `\\` is a backslash, `\t`, `\n`
    /// and `\r` are control characters, and `\xNN` is any byte
    #[arg(long)]
    pub hex: bool,
    /// Reads as of this timestamp, or writes at it, in column families with timestamps [default for reading:
    /// the newest]
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
    /// Prints at most this many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Prints the last row first; --from and --to bound the same keys
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

/// The options of a write.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct Writing {
    /// Returns only when the row is on the disk, not only in the kernel's memory
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
    /// Creates the database if it does not exist
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
    /// The first key to delete
    pub begin: OsString,
    /// The first key to keep
    pub end: OsString,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct VerifyArgs {
    #[command(flatten)]
    pub database: Database,
    /// Prints no line for good files
    #[arg(long)]
    pub quiet: bool,
    /// Records in FILE which tables and blob files are good, and skips those that an interrupted run recorded
    /// there. FILE is removed when everything has been checked
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub working: WorkingArgs,
}

/// Files to inspect: named, or those of their kind in a database.
#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
#[group(required = true, multiple = false)]
pub struct Source {
    /// The directory of a database, to inspect all its files of this kind
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
    /// Shows the index: one entry for each data block
    #[arg(long)]
    pub index: bool,
    /// Shows the storage of each data block
    #[arg(long)]
    pub blocks: bool,
    /// Shows the entries, range deletions first
    #[arg(long)]
    pub entries: bool,
    /// Shows properties, index, blocks and entries
    #[arg(long)]
    pub all: bool,
    /// Keys and values in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Shows entries from this user key on
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub from: Option<OsString>,
    /// Shows entries before this user key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub to: Option<OsString>,
    /// Shows at most this many entries of a table
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct ManifestArgs {
    #[command(flatten)]
    pub source: Source,
    /// Shows the resulting state and not the edits
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
    /// Shows one line for each batch and not its operations
    #[arg(long)]
    pub headers: bool,
    /// Keys and values in hexadecimal
    #[arg(long)]
    pub hex: bool,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct TraceArgs {
    /// The trace
    pub file: PathBuf,
    /// One JSON object; sizes are in bytes, times in nanoseconds
    #[arg(long)]
    pub json: bool,
    /// The number of hot keys, blocks, files and slow operations that are printed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Keys in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Sizes of simulated LRU caches in bytes, separated by commas [default: powers of two from 64 KiB to
    /// 16 GiB]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub cache_sizes: Vec<u64>,
    /// Runs the queries over the database of --db, which they change
    #[arg(long, requires = "db")]
    pub replay: bool,
    /// The directory of the database
    #[arg(long, value_name = "DIR", requires = "replay")]
    pub db: Option<PathBuf>,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR", requires = "db")]
    pub wal_dir: Option<PathBuf>,
    /// Creates the database if it does not exist
    #[arg(long, requires = "replay")]
    pub create_if_missing: bool,
    /// Runs the queries this number of times as fast as they were recorded
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "replay")]
    pub fast_forward: f64,
    /// Threads that run queries. With more than one their order is not that of the trace
    #[arg(long, value_name = "N", default_value_t = 1, requires = "replay")]
    pub threads: u32,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct AdviseArgs {
    /// The directory of the database
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// A trace of queries, or `mixgraph` for RocksDB's mixgraph over the keys of the tables
    #[arg(long, value_name = "TRACE|mixgraph")]
    pub workload: PathBuf,
    /// Options to try, in RocksDB's form: `write_buffer_size=134217728;num_levels=4`. May be repeated
    /// [default: changes that are worth a try on most databases]
    #[arg(long, value_name = "OPTIONS")]
    pub set: Vec<String>,
    /// The column family [default: default]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// Replays one key in this number of keys [default: as many as keep ten million rows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub one_in: Option<u64>,
    /// Bytes that a compaction reads and writes in a second, together
    #[arg(long, value_name = "BYTES", default_value_t = 150_000_000)]
    pub compaction_bytes_per_second: u64,
    /// Operations of mixgraph
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub operations: u64,
    /// Operations of mixgraph in a second
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub operations_per_second: u64,
    /// The seed of mixgraph's operations
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct ServeArgs {
    /// The directory of the database
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The address and port to listen at; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7377")]
    pub addr: SocketAddr,
    /// A file with the token that requests must have, of 16 characters at least [default: no token at a
    /// loopback address, a new one at any other]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A name of this machine that browsers may use in the address, besides localhost and numbers
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub wal_dir: Option<PathBuf>,
    /// The directory of its LOG [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub db_log_dir: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct PinsArgs {
    /// The directory of the database
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub wal_dir: Option<PathBuf>,
    /// The directory of its LOG [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub db_log_dir: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct FeedArgs {
    /// The directory of the database
    #[arg(value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR")]
    pub wal_dir: Option<PathBuf>,
    /// Goes on behind what was printed under this name before; without it the directory is not changed
    #[arg(long, value_name = "NAME")]
    pub cursor: Option<String>,
    /// Begins with this sequence number; a cursor that exists already stays where it is [default: the oldest
    /// in WALs]
    #[arg(long, value_name = "N")]
    pub since: Option<u64>,
    /// Waits for more at the end
    #[arg(long)]
    pub follow: bool,
    /// Rows of this column family alone, or of these if given several times [default: all]
    #[arg(long, value_name = "NAME")]
    pub column_family: Vec<String>,
    /// Bytes of WALs that the database keeps for a new cursor [default: 1 GiB]
    #[arg(long, value_name = "N")]
    pub retain_bytes: Option<u64>,
    /// Ends after this many batches and gaps
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
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
    /// Shows only this column family [default: all]
    #[arg(long, value_name = "NAME")]
    pub column_family: Option<String>,
    /// The order of the families
    #[arg(long, value_enum, default_value_t = Sort::Id)]
    pub sort: Sort,
    /// Seconds between two frames
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub interval: f64,
    /// Prints one frame and ends; also the default if the output is not a terminal
    #[arg(long)]
    pub once: bool,
}

/// Parses an interval.
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
    /// Lists the files below the picture
    #[arg(long)]
    pub files: bool,
    /// Keys in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Characters per line [default: $COLUMNS, or 80]
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
    /// One property, with or without `rocksdb.` before it: only its value is printed, a line for each column
    /// family
    pub name: Option<String>,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct CheckpointArgs {
    #[command(flatten)]
    pub database: Database,
    /// The directory to create; it must not exist
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Copies WALs of fewer bytes than this, and flushes the rows of larger ones
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub log_size_for_flush: u64,
    #[command(flatten)]
    pub working: WorkingArgs,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct DecryptArgs {
    /// The directory of the database, or of its WALs or tables elsewhere
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
    /// The directory of the copy; it must not exist
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// A file of master keys, each a line with its name and 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub master_keys: PathBuf,
    /// Also copies files that are not encrypted; otherwise they are an error
    #[arg(long)]
    pub plain_files: bool,
}

#[derive(clap::Args, Debug)]
#[command(rename_all = "snake_case")]
pub struct BackupArgs {
    /// The directory of backups
    #[arg(long, value_name = "DIR")]
    pub backup_dir: PathBuf,
    /// The database to back up
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// The directory of its WALs [default: that of the database]
    #[arg(long, value_name = "DIR", requires = "db")]
    pub wal_dir: Option<PathBuf>,
    /// Flushes the rows of WALs to tables first. Otherwise WALs are part of the backup
    #[arg(long, requires = "db")]
    pub flush_before_backup: bool,
    /// Text stored with the backup, and listed
    #[arg(long, value_name = "TEXT", requires = "db")]
    pub metadata: Option<String>,
    /// Lists the backups; exit status 1 if one is corrupt
    #[arg(long, group = "action")]
    pub list: bool,
    /// Reads every file of all backups, or of one, and compares sizes and checksums
    #[arg(long, group = "action")]
    pub verify: bool,
    /// Deletes a backup, and the files that no other one needs
    #[arg(long, value_name = "ID", group = "action")]
    pub delete: Option<u32>,
    /// Deletes all backups except the newest N
    #[arg(long, value_name = "N", group = "action")]
    pub purge: Option<usize>,
    /// The backup to verify [default: all]
    #[arg(long, value_name = "ID", requires = "verify")]
    pub backup_id: Option<u32>,
    /// Number of threads that copy, or compute checksums
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_threads: usize,
    /// Writes at most this many bytes a second; 0: no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub backup_rate_limit: u64,
    /// Lists metadata in hexadecimal
    #[arg(long, requires = "list")]
    pub hex: bool,
    #[command(flatten)]
    pub working: WorkingArgs,
}

impl BackupArgs {
    /// The database, if one is given.
    pub fn database(&self) -> Option<Database> {
        Some(Database {
            db: self.db.clone()?,
            wal_dir: self.wal_dir.clone(),
        })
    }
}

/// The existing files that a restoration keeps.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Tables and blob files that have the backup's checksums
    Verify,
    /// No files
    Purge,
    /// Tables with the session and size of the backup's, unverified
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
    /// The backup to restore [default: the newest good one]
    #[arg(long, value_name = "ID")]
    pub backup_id: Option<u32>,
    /// Replaces a database that exists there
    #[arg(long)]
    pub overwrite: bool,
    /// The existing files to keep
    #[arg(long, value_enum, default_value_t = Mode::Verify)]
    pub mode: Mode,
    /// Keeps existing WALs too
    #[arg(long)]
    pub keep_log_files: bool,
    /// Number of threads that copy
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_threads: usize,
    /// Writes at most this many bytes a second; 0: no limit
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
    /// The directory to create; it must not exist, unless an interrupted run created it
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
    /// An OPTIONS file, or the directory of a database, whose newest one is used
    pub file: PathBuf,
    /// A second OPTIONS file, to show the changes from the first one to it, and the dangers in it
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
