//! Short histories of a few threads, under every schedule with few interruptions: group commit, and the
//! exchange of super versions. `ESKER_INTERRUPTIONS` raises the number of interruptions.

use simulate::{History, explore};

/// Checks that every schedule of `text` with at most `interruptions` keeps the promises.
fn always(text: &str, interruptions: usize) {
    let asked = std::env::var("ESKER_INTERRUPTIONS").ok();
    let interruptions = asked.map_or(interruptions, |asked| asked.parse().expect("a number"));
    let history: History = text.parse().unwrap();
    let explored = explore(&history, interruptions, u64::MAX);
    if let Some((history, failure)) = explored.failure {
        panic!("{failure}\n{history}");
    }
    println!("{} schedules", explored.schedules);
    assert_eq!(explored.interruptions, interruptions);
    assert!(explored.schedules > 20);
}

/// A write that another writer's sync covers is as durable as that writer's own; an unsynced write between
/// the two keeps its place in the order.
#[test]
fn writers_share_a_sync() {
    always(
        "life
         w0 1 write sync: put default k01 8
         w1 2 write sync: put default k02 8
         end power lose",
        2,
    );
    always(
        "life
         w0 1 write sync: put default k01 8
         w1 2 write sync: put default k02 8
         w2 3 write: put default k03 8
         w2 4 write sync: put default k04 8
         end power lose",
        1,
    );
}

#[test]
fn writers_share_a_sync_that_fails() {
    for fault in [
        "fail sync .log 0",
        "torn sync .log 0",
        "fail sync_dir . 0",
        "torn append .log 1",
    ] {
        let text = format!(
            "life
             fault {fault}
             w0 1 write sync: put default k01 8
             w1 2 write sync: put default k02 8
             w1 3 write sync: put default k03 8
             end power lose"
        );
        always(&text, 1);
    }
}

/// The WAL is switched, and two families flushed, between writes and syncs of both.
#[test]
fn writers_sync_while_the_wal_is_switched() {
    always(
        "families warm
         life
         w0 1 write sync: put default k01 8 / put warm k01 8
         w0 2 write: put warm k02 8
         w1 3 flush default
         w1 4 write sync: put default k03 8
         end power lose",
        1,
    );
}

/// A reader takes a super version and then a sequence number, while a writer switches memtables and a flush
/// installs its output: rows of the two batches are seen together or not at all.
#[test]
fn a_super_version_is_handed_over() {
    for read in [
        "multi_get default k01 k02",
        "scan default",
        "scan default back",
        "get default k01",
    ] {
        let text = format!(
            "life
             w0 1 write: put default k01 8 / put default k02 8
             w0 2 flush default
             w0 3 write: put default k01 8 / del default k02
             w1 4 {read}
             w1 5 {read}
             end close"
        );
        always(&text, 1);
    }
}

/// A read is interrupted while the rows that it is about to see are overwritten, flushed and compacted away.
#[test]
fn a_read_sees_one_state_however_long_it_takes() {
    for read in ["get default k01", "multi_get default k01 k02", "scan default"] {
        let text = format!(
            "life
             w0 1 write: put default k01 8 / put default k02 8
             end close
             life
             w0 2 {read}
             w1 3 write: put default k01 8 / put default k02 8
             w1 4 compact default
             end close"
        );
        always(&text, 1);
    }
}

/// A snapshot is taken and read while the rows that it sees are overwritten, flushed and compacted away.
#[test]
fn a_snapshot_keeps_what_it_sees() {
    always(
        "options level0_file_num_compaction_trigger=2
         life
         w0 1 write: put default k01 8 / put default k02 8
         w0 2 flush default
         w0 3 write: delrange default k00 k09
         w0 4 flush default
         w1 5 snapshot s
         w1 6 scan default @s
         w1 7 compact default
         w1 8 scan default @s
         end close",
        1,
    );
}
