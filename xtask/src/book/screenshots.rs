//! Pictures of the book as readers see it, in light and in dark colours.

use std::path::Path;

use crate::shell::{self, Outcome};

/// The names of Chromium.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The pages with everything that may look wrong: code, a figure, wide tables, pictures. The first is the
/// README.
const PAGES: &[&str] = &[
    "index.html",
    "docs/how_do_i.html",
    "docs/options.html",
    "docs/performance.html",
    "docs/serve.html",
    "ARCHITECTURE.html",
];

/// The colours, with Chromium's number of each.
const COLOURS: [(&str, u32); 2] = [("dark", 0), ("light", 1)];

/// The sizes of windows in pixels: of a laptop and of a phone.
const WINDOWS: [(&str, &str); 2] = [("", "1400,2000"), ("_phone", "500,2000")];

/// Takes pictures of the book in `place`, which is built. Skipped without Chromium.
pub fn take(place: &Path) -> Outcome {
    let Some(browser) = BROWSERS.iter().find_map(|name| shell::which(name)) else {
        eprintln!("skipped: chromium is not installed: apt-get install chromium");
        return Ok(());
    };
    let pictures = place.join("screenshots");
    std::fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    // The temporary directory has the browser's profile and caches.
    let profile = place.join("chromium");
    for page in PAGES {
        for (colour, number) in COLOURS {
            for (window, size) in WINDOWS {
                let picture = pictures.join(format!("{}_{colour}{window}.png", name_of(page)));
                let mut command = shell::command(&browser);
                command
                    .args(OFFLINE)
                    .arg(format!("--user-data-dir={}", profile.display()))
                    .arg(format!("--blink-settings=preferredColorScheme={number}"))
                    .arg(format!("--window-size={size}"))
                    .arg(format!("--screenshot={}", picture.display()))
                    .arg(format!("file://{}", place.join("html").join(page).display()));
                shell::output(&mut command)?;
                if !picture.is_file() {
                    return Err(format!("{} took no picture of {page}", browser.display()));
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&profile);
    eprintln!("pictures are in {}", pictures.display());
    Ok(())
}

/// Arguments of a browser that shows one page, asks nothing of the network, and ends.
const OFFLINE: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=5000",
];

/// Returns the name of the picture of a page.
fn name_of(page: &str) -> &str {
    let file = page.rsplit('/').next().unwrap_or(page);
    match file.strip_suffix(".html") {
        Some("index") => "README",
        Some(name) => name,
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_of_the_book_and_has_a_name() {
        for page in &PAGES[1..] {
            let source = page.replace(".html", ".md");
            assert!(shell::root().join(&source).is_file(), "{source}");
        }
        let mut names: Vec<&str> = PAGES.iter().map(|page| name_of(page)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PAGES.len());
        assert_eq!(name_of("index.html"), "README");
    }
}
