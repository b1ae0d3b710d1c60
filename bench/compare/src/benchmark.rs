//! The values of `--benchmarks`: workloads, workloads with a number of threads, and named lists of them.

use std::fmt;
use std::str::FromStr;

use bench_worker::workload::Workload;

/// The tables by which Esker is judged, each under one name.
const TABLES: &[(&str, &str)] = &[
    (
        "writing",
        "fillseq,fillseq@2,fillseq@4,fillrandom,fillrandom@2,fillrandom@4,filluniquerandomandwait,overwriteandwait,overwritetail,\
         fillsync,fillsync@8,fillstreamsandwait8,compact,mixgraph_all_dist,mixgraph_prefix_dist,recovery500",
    ),
    (
        "reading",
        "readrandom,readrandom@2,readmissing,multireadrandom10,multireadrandom64,seekrandom0,seekrandom10,seekrandom100,\
         seekrandom20000,seekrandom400000,readseq,readreverse,seekreverse10,readwhilewriting,fwdrangewhilewriting10,\
         revrangewhilewriting10,readwhiledeleting3000,readwhiledeleting20000",
    ),
    (
        "transactions",
        "randomtransaction,randomtransaction@4,randomtransaction@32,randomtransactionhot@4,randomtransactionhot@32,\
         randomtransaction2pc,randomtransaction2pc@4,randomtransaction2pc@32,randomtransaction2pchot@4,randomtransaction2pchot@32,\
         randomtransactionoptimistic,randomtransactionoptimistic@4,randomtransactionoptimistic@32,\
         randomtransactionoptimistichot@4,randomtransactionoptimistichot@32",
    ),
];

/// A workload, and its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benchmark {
    pub workload: Workload,
    /// The number of threads; `None`: the number in `--threads`.
    pub threads: Option<u64>,
}

impl FromStr for Benchmark {
    type Err = String;

    fn from_str(text: &str) -> Result<Benchmark, String> {
        let (name, threads) = match text.split_once('@') {
            None => (text, None),
            Some((name, threads)) => match threads.parse() {
                Ok(threads @ 1..) => (name, Some(threads)),
                _ => return Err(format!("{text:?}: a number of threads must follow the @")),
            },
        };
        Ok(Benchmark {
            workload: name.parse()?,
            threads,
        })
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.workload.fmt(out)?;
        match self.threads {
            Some(threads) => write!(out, "@{threads}"),
            None => Ok(()),
        }
    }
}

/// The benchmarks of a list, separated by commas, with each name of a table replaced by its benchmarks.
pub fn benchmarks(list: &str) -> Result<Vec<Benchmark>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let spelled_out = words.flat_map(|word| {
        let table = TABLES.iter().find(|(name, _)| *name == word);
        table.map_or(word, |(_, list)| list).split(',')
    });
    spelled_out.map(|word| word.trim().parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stand_behind_the_name() {
        let list = benchmarks("fillseq@4, readrandom,").unwrap();
        let names: Vec<String> = list.iter().map(Benchmark::to_string).collect();
        assert_eq!(names, ["fillseq@4", "readrandom"]);
        assert_eq!((list[0].threads, list[1].threads), (Some(4), None));
        for bad in ["fillseq@0", "fillseq@", "fillseq@x", "fillsq@2"] {
            assert!(benchmarks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tables_are_spelled_out() {
        for (name, list) in TABLES {
            assert_eq!(benchmarks(name).unwrap().len(), list.split(',').count(), "{name}");
        }
        assert!(
            benchmarks("writing")
                .unwrap()
                .iter()
                .all(|one| !one.workload.is_read())
        );
        assert!(
            benchmarks("reading")
                .unwrap()
                .iter()
                .all(|one| one.workload.is_read())
        );
    }
}
