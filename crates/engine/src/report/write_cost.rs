//! The cumulative cost of writes, `esker.write-cost`: one line of figures for a database, so that two
//! settings can be compared by their lines.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use manifest::Version;

use crate::options::table::OptionValue;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;

const GIB: f64 = (1u64 << 30) as f64;

impl DbInner {
    /// The cost of writes to the database, and of jobs of the family with version `version`, since it was
    /// opened or its [statistics were reset](crate::Db::reset_stats).
    pub(crate) fn write_cost(&self, family: &Arc<Family>, version: &Version) -> String {
        let traffic = self.traffic_since_reset();
        let options = family.current();
        let base_level = compact::levels::LevelTargets::new(version, &options.leveled()).base_level;
        let last = version.num_non_empty_levels().saturating_sub(1);
        let state = self.state.lock();
        let Some(own) = state.families.get(&family.id) else {
            return String::new();
        };
        let jobs: Vec<_> = own.stats.jobs().collect();
        let flushed = own.stats.flushed_bytes();
        drop(state);
        let written: u64 = jobs.iter().map(|job| job.4).sum();
        let took: Duration = jobs.iter().map(|job| job.2).sum();
        let cpu: Duration = jobs.iter().map(|job| job.3).sum();
        let seconds = traffic.seconds.max(0.001);
        let keys = traffic.keys as f64;
        let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mut out = format!("\n** Cost of Writes [{}] **\n", family.name);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:>10} {:>10} {:>9} {:>11} {:>6} {:>9} {:>9} {:>9} {:>7}",
            "wps",
            "ingest(GB)",
            "flush(GB)",
            "compact(GB)",
            "w-amp",
            "c.wsecs",
            "c.csecs",
            "cpu/w(us)",
            "stall%"
        );
        let _ = writeln!(
            out,
            "{:>10.0} {:>10.3} {:>9.3} {:>11.3} {:>6.1} {:>9.2} {:>9.2} {:>9.3} {:>7.1}",
            keys / seconds,
            traffic.bytes as f64 / GIB,
            flushed as f64 / GIB,
            written.saturating_sub(flushed) as f64 / GIB,
            of(written as f64, flushed as f64),
            took.as_secs_f64(),
            cpu.as_secs_f64(),
            of(cpu.as_secs_f64() * 1e6, keys),
            100.0 * traffic.stalled_seconds / seconds,
        );
        let _ = writeln!(
            out,
            "{:<5} {:<18} {:>6} {:>9} {:>10} {:>10}",
            "level", "compression", "jobs", "write(GB)", "wsecs/job", "csecs/job"
        );
        for (level, jobs, took, cpu, written) in jobs {
            let compression = options.compression_for(level, base_level, level > 0 && level >= last);
            let _ = writeln!(
                out,
                "{:<5} {:<18} {:>6} {:>9.3} {:>10.3} {:>10.3}",
                format!("L{level}"),
                compression.text(),
                jobs,
                written as f64 / GIB,
                took.as_secs_f64() / jobs as f64,
                cpu.as_secs_f64() / jobs as f64,
            );
        }
        out
    }
}
