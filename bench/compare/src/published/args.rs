//! The settings of the runs, from the command line.

use std::path::PathBuf;

use clap::Args;

/// The settings of the runs.
#[derive(Args, Clone, Debug)]
pub struct PublishedArgs {
    /// Sizes and times, as a multiple of the tables' own. The default fits two cores, 8 GiB and 20 minutes.
    #[arg(long, default_value_t = 0.5)]
    pub(super) scale: f64,
    /// The number of runs of each program; a confidence interval needs six, and fewer runs are reported with
    /// the least and the greatest figure.
    #[arg(long, default_value_t = 3)]
    pub(super) rounds: usize,
    /// RocksDB's db_bench. Default: the one on the search path.
    #[arg(long, default_value = "db_bench")]
    pub(super) peer: PathBuf,
    /// Our db_bench. Default: the one next to this program.
    #[arg(long)]
    pub(super) ours: Option<PathBuf>,
    /// Only tables whose source or title contains this text.
    #[arg(long, default_value = "")]
    pub(super) tables: String,
    /// The directory of the databases. Default: a temporary directory.
    #[arg(long)]
    pub(super) dir: Option<PathBuf>,
    /// The file of the document.
    #[arg(long, default_value = "docs/lab/published.md")]
    pub(super) out: PathBuf,
}

impl PublishedArgs {
    /// The directory of the databases, if it was given.
    pub fn dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref()
    }
}
