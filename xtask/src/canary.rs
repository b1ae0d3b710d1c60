//! The testers tested: bugs planted one at a time, each of which a named test must catch.

use std::path::Path;

use crate::shell::{self, Outcome};

/// A bug, as the replacement of one piece of one file.
pub struct Canary {
    /// What breaks.
    pub name: &'static str,
    /// The file, from the root.
    pub file: &'static str,
    /// What stands there, exactly once.
    pub right: &'static str,
    /// What is put in its place.
    pub wrong: &'static str,
    /// What `cargo test` is called with; it must fail.
    pub test: &'static [&'static str],
}

/// Every planted bug. `tidy` checks that each still fits its file.
pub const CANARIES: &[Canary] = &[
    Canary {
        name: "a varint of 64 bits may overflow",
        file: "crates/base/src/coding.rs",
        right: "if i == MAX_VARINT64 - 1 && byte > 1 {",
        wrong: "if i == MAX_VARINT64 && byte > 1 {",
        test: &["-p", "esker-base"],
    },
    Canary {
        name: "the oldest version sorts first",
        file: "crates/base/src/internal_key.rs",
        right: "trailer(b).cmp(&trailer(a))",
        wrong: "trailer(a).cmp(&trailer(b))",
        test: &["-p", "esker-base"],
    },
    Canary {
        name: "damaged blocks of tables verify",
        file: "crates/sst/src/format.rs",
        right: "*trailer == block_trailer(checksum, contents, trailer[0], base_context, offset)",
        wrong: "trailer[1..] != [0; 4] || block_trailer(checksum, contents, trailer[0], base_context, offset) == *trailer",
        test: &["-p", "esker-sst"],
    },
    Canary {
        name: "records of a recycled WAL's former life are replayed",
        file: "crates/wal/src/reader.rs",
        right: "if *self.log_number.get_or_insert(log_number) != log_number {",
        wrong: "if *self.log_number.get_or_insert(log_number) == u32::MAX {",
        test: &["-p", "esker-wal"],
    },
    Canary {
        name: "compactions drop deletions that still hide something below",
        file: "crates/compact/src/cursor/rules.rs",
        right: "!self.beyond.may_contain(&self.key[..self.key.len() - TRAILER_LEN])",
        wrong: "self.beyond.may_contain(&self.key[..self.key.len() - TRAILER_LEN]) || self.key.len() >= TRAILER_LEN",
        test: &["-p", "esker-compact"],
    },
    Canary {
        name: "compactions drop what only a snapshot sees",
        file: "crates/engine/src/jobs/rewrite.rs",
        right: "snapshots: db.snapshots.seqnos(),",
        wrong: "snapshots: Vec::new(),",
        test: &["-p", "esker-dbtest", "model"],
    },
    Canary {
        name: "Get passes over the range tombstones of tables",
        file: "crates/engine/src/db/get.rs",
        right: "context.covering = context.covering.max(covering);",
        wrong: "context.covering = context.covering.max(covering.min(0));",
        test: &["-p", "esker-dbtest", "model"],
    },
    Canary {
        name: "keys without timestamps are compared as if they had one",
        file: "crates/engine/src/db/get.rs",
        right: ".compare_without_timestamp(&user.stamped(iter.key()), &user.stamped(key))",
        wrong: ".compare_without_timestamp(iter.key(), key)",
        test: &["-p", "esker-dbtest", "timestamps"],
    },
    Canary {
        name: "tables of L0 that meet in a key are moved side by side",
        file: "crates/compact/src/picker.rs",
        right: "order::boundaries(order.user(), &pair[0].largest, &pair[1].smallest) == Ordering::Less",
        wrong: "order.compare(&pair[0].largest, &pair[1].smallest) == Ordering::Less",
        test: &["-p", "esker-compact"],
    },
    Canary {
        name: "a flush leaves WALs unsynced that hold older rows of other families",
        file: "crates/engine/src/jobs/flush.rs",
        right: "if several_families {",
        wrong: "if several_families && self.read_only {",
        test: &["-p", "esker-dbtest", "crash"],
    },
    Canary {
        name: "a sync that failed is tried again",
        file: "crates/engine/src/write/pipeline.rs",
        right: "if let Some(error) = &group.failed {",
        wrong: "if let Some(error) = group.failed.as_ref().filter(|_| self.read_only) {",
        test: &["-p", "esker-dbtest", "crash"],
    },
    Canary {
        name: "WALs a dead process left stay unsynced",
        file: "crates/engine/src/db/recover.rs",
        right: "self.sync_wals(&wals)?;",
        wrong: "",
        test: &["-p", "esker-dbtest", "crash"],
    },
    Canary {
        name: "recovery does not see that the end of a WAL is lost",
        file: "crates/engine/src/db/recover.rs",
        right: "Some(before) => replayed.next_seqno == Some(before.next_seqno),",
        wrong: "Some(_) => true,",
        test: &["-p", "esker", "recovery"],
    },
    Canary {
        name: "recovery takes what lies behind a hole in a WAL",
        file: "crates/engine/src/db/recover.rs",
        right: "if mode == RecoveryMode::PointInTime && hole {",
        wrong: "if mode == RecoveryMode::PointInTime && hole && self.read_only {",
        test: &["-p", "esker", "recovery"],
    },
];

/// Why a canary no longer fits, if it does not.
pub fn stale(canary: &Canary, root: &Path) -> Option<String> {
    match std::fs::read_to_string(root.join(canary.file)) {
        Err(error) => Some(error.to_string()),
        Ok(text) => match text.matches(canary.right).count() {
            1 => None,
            count => Some(format!("what it replaces stands there {count} times, not once")),
        },
    }
}

/// Plants each bug into a checkout of HEAD of its own and demands that its test fails.
pub fn run() -> Outcome {
    let checkout = shell::root().join("target/canary/checkout");
    let build = shell::root().join("target/canary/build");
    let remove = || {
        shell::succeeds(
            shell::command("git")
                .args(["worktree", "remove", "--force"])
                .arg(&checkout),
        );
    };
    remove();
    shell::output(
        shell::command("git")
            .args(["worktree", "add", "--detach"])
            .arg(&checkout)
            .arg("HEAD"),
    )?;
    let mut survivors = Vec::new();
    for canary in CANARIES {
        match plant(canary, &checkout, &build) {
            Ok(true) => eprintln!("caught: {}", canary.name),
            Ok(false) => survivors.push(canary.name.to_owned()),
            Err(error) => survivors.push(format!("{} ({error})", canary.name)),
        }
    }
    remove();
    if survivors.is_empty() {
        Ok(())
    } else {
        Err(format!("not caught: {}", survivors.join("; ")))
    }
}

/// True when the test failed on the planted bug, having passed without it.
fn plant(canary: &Canary, checkout: &Path, build: &Path) -> Result<bool, String> {
    if let Some(reason) = stale(canary, checkout) {
        return Err(reason);
    }
    let passes = |extra: &[&str]| {
        let mut command = shell::cargo();
        command
            .current_dir(checkout)
            .arg("test")
            .args(extra)
            .args(canary.test);
        shell::succeeds(command.env("CARGO_TARGET_DIR", build))
    };
    if !passes(&[]) {
        return Err("its test fails without it".into());
    }
    let path = checkout.join(canary.file);
    let right = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let write = |text: &str| std::fs::write(&path, text).map_err(|error| error.to_string());
    write(&right.replace(canary.right, canary.wrong))?;
    // A bug that does not compile would count as caught.
    let caught = if passes(&["--no-run"]) {
        Ok(!passes(&[]))
    } else {
        Err("it does not compile".into())
    };
    write(&right)?;
    caught
}
