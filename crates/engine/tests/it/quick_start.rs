//! The quick start of the README, run as by its reader: twice in one directory.

use std::process::Command;

#[test]
fn the_quick_start_runs_again_over_its_own_database() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--example", "quick_start", "--manifest-path"]);
        let output = cargo
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let rows = String::from_utf8_lossy(&output.stdout);
        assert!(rows.contains("[97, 100, 97] = "), "ada, of the snapshot: {rows}");
    }
}
