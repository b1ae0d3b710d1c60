//! Bugs of metrics, of the page of `esker serve`, and of their HTTP server.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a page of another site reaches the server under a name of its own",
        file: "crates/http/src/request.rs",
        right: "(Some(host), None) if config.is_own_host(host.trim()) => {}",
        wrong: "(Some(host), None) if config.is_own_host(host.trim()) || host.contains('.') => {}",
        caught_by: Tests(&["-p", "esker-http", "--test", "it", "requests_"]),
    },
    Canary {
        name: "a request that arrives byte by byte has no deadline",
        file: "crates/http/src/connection.rs",
        right: "            at: begun.saturating_add(config.deadline),",
        wrong: "            at: begun.saturating_add(config.deadline * 2),",
        caught_by: Tests(&["-p", "esker-http", "--test", "it", "byte_by_byte"]),
    },
    Canary {
        name: "the age of the oldest WAL is that of the newest",
        file: "crates/engine/src/report/properties.rs",
        right: "let wal = state.wals.iter().find(|wal| wal.number >= number);",
        wrong: "let wal = state.wals.back().filter(|_| number != NONE);",
        caught_by: Tests(&["-p", "esker-metrics", "--test", "it", "the_oldest_wal"]),
    },
    Canary {
        name: "the page opens tables that the MANIFEST does not have",
        file: "crates/serve/src/source.rs",
        right: "        if !known {",
        wrong: "        if !known && number < 1000 {",
        caught_by: Tests(&["-p", "esker-serve", "--test", "it", "refusals::a_table"]),
    },
    Canary {
        name: "the past has one edit more than was asked for",
        file: "crates/serve/src/history.rs",
        right: "        Ok(number < wanted)",
        wrong: "        Ok(number <= wanted)",
        caught_by: Tests(&["-p", "esker-serve", "--test", "it", "directory::the_past"]),
    },
    Canary {
        name: "reads that come in turns are not sampled alike",
        file: "crates/base/src/read_sample.rs",
        right: "        self.left.set(next as u32 % (2 * READ_SAMPLE_RATE - 1));",
        wrong: "        self.left.set(next as u32 % 2 * (2 * READ_SAMPLE_RATE - 2) | 15);",
        caught_by: Tests(&["-p", "esker-base", "--lib", "read_sample"]),
    },
    Canary {
        name: "a scan is no read of the tables that it reaches",
        file: "crates/engine/src/read/sources.rs",
        right: "                file.sample_read();",
        wrong: "                file.smallest_user_key();",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "reads_of_tables"]),
    },
    Canary {
        name: "the page of a directory shows no reads of tables",
        file: "crates/serve/src/source.rs",
        right: "marks.reads = told.reads.map(",
        wrong: "marks.reads = told.reads.filter(|_| false).map(",
        caught_by: Tests(&["-p", "esker-serve", "--test", "it", "program::the_reads"]),
    },
    Canary {
        name: "a flush is counted after it has ended",
        file: "crates/engine/src/jobs/flush.rs",
        right: "        self.count_flushed(&outcomes, took);",
        wrong: "        self.count_flushed(&outcomes[..outcomes.len().min(1)], took);",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::reports"]),
    },
];
