//! RocksDB's db_stress over Esker. See docs/stress.md.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    db_stress::db_stress()
}
