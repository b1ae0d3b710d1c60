//! The page in headless Chromium, if the machine has it: the page draws the tables of the database.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::*;

#[test]
#[ignore = "runs Chromium: cargo xtask nightly"]
fn chromium_draws_every_table() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let profile = TempDir::new().unwrap();
    let mut chromium = Command::new("chromium");
    chromium.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]);
    chromium.arg(format!("--user-data-dir={}", profile.path().display()));
    chromium.arg(page.url()).stderr(Stdio::null());
    let Ok(output) = chromium.output() else {
        testkit::skip("chromium");
        return;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let levels = json(&page, "/api/levels");
    let default = &levels["families"][0]["name"];
    let drawn = tables(&levels)
        .into_iter()
        .filter(|(family, _, _)| *family == *default);
    for (_, level, number) in drawn {
        assert!(
            dom.contains(&format!("aria-label=\"{number:06} in L{level}, ")),
            "{number} of {dom}"
        );
    }
    assert!(!dom.contains("id=\"note\" class=\"bad on\""), "{dom}");
}
