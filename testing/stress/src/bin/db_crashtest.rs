//! RocksDB's db_crashtest over Esker. See docs/stress.md.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    db_stress::db_crashtest()
}
