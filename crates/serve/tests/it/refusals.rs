//! Requests that are refused, and the page itself: it loads nothing from other servers.

use esker_serve::http::{Access, Config};
use esker_serve::{Directory, Page};

use crate::common::*;

#[test]
fn wrong_requests_are_refused() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    for (path, expected) in [
        ("/api/nothing", 404),
        ("/CURRENT", 404),
        ("/../CURRENT", 404),
        ("/%2e%2e/CURRENT", 404),
        ("/api/file", 400),
        ("/api/file?number=", 400),
        ("/api/file?number=CURRENT", 400),
        ("/api/file?number=../../etc/passwd", 400),
        ("/api/file?number=%2e%2e%2fCURRENT", 400),
        ("/api/file?number=-1", 400),
        ("/api/file?number=999999", 404),
        ("/api/levels?edit=x", 400),
        ("/api/edits?from=99999999999999999999999", 400),
    ] {
        let (status, body) = get(&page, path);
        assert_eq!(status, expected, "{path}: {body}");
    }
    let address = page.address();
    for (request, expected) in [
        ("GET /api/state HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("POST /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        (
            "DELETE /api/file?number=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "405",
        ),
    ] {
        let answer = ask(address, request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected} ")),
            "{request}: {answer}"
        );
    }
}

#[test]
fn a_table_that_the_manifest_does_not_have_is_not_opened() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let (_, _, number) = tables(&json(&page, "/api/levels"))[0];
    let name = |number: u64| held.path().join(format!("{number:06}.sst"));
    std::fs::copy(name(number), name(777_777)).unwrap();
    assert_eq!(get(&page, "/api/file?number=777777").0, 404);
    assert_eq!(get(&page, &format!("/api/file?number={number}")).0, 200);
}

#[test]
fn corrupt_files_are_errors_of_one_request() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let (_, _, number) = tables(&json(&page, "/api/levels"))[0];
    let mut rng = testkit::rng();
    for entry in std::fs::read_dir(held.path()).unwrap() {
        let path = entry.unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..3 {
            let mut bytes = whole.clone();
            if !bytes.is_empty() {
                for _ in 0..4 {
                    let at = rng.usize(..bytes.len());
                    bytes[at] = rng.u8(..);
                }
                bytes.truncate(rng.usize(..=whole.len()));
            }
            std::fs::write(&path, &bytes).unwrap();
            for target in [
                "/api/state".to_owned(),
                "/api/levels".to_owned(),
                "/api/levels?edit=3".to_owned(),
                "/api/edits".to_owned(),
                "/api/options".to_owned(),
                format!("/api/file?number={number}"),
            ] {
                let (status, body) = get(&page, &target);
                assert!(
                    !body.contains("has failed"),
                    "{target} of {}: {status} {body}",
                    path.display()
                );
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    json(&page, "/api/levels");
}

#[test]
fn data_needs_the_token_and_the_page_does_not() {
    let held = copy("cfs_fv7_lz4");
    let directory = Directory {
        dir: held.path().to_path_buf(),
        ..Directory::default()
    };
    let with = |access| Config {
        access,
        ..Config::default()
    };
    let refused = Page::of_directory(&directory, with(Access::Anyone)).unwrap_err();
    assert!(refused.to_string().contains("it needs a token"), "{refused}");
    let open = Config {
        address: "0.0.0.0:0".parse().unwrap(),
        ..Config::default()
    };
    assert!(Page::of_directory(&directory, open).is_err());
    let page = Page::of_directory(&directory, with(Access::Token("0123456789abcdef".to_owned()))).unwrap();
    assert!(page.url().ends_with("/#token=0123456789abcdef"), "{}", page.url());
    assert_eq!(get(&page, "/").0, 200);
    for path in [
        "/api/state",
        "/api/levels",
        "/api/edits",
        "/api/options",
        "/api/file?number=1",
        "/other",
    ] {
        assert_eq!(get(&page, path).0, 401, "{path}");
    }
}

#[test]
fn the_page_is_whole_in_itself() {
    let held = copy("cfs_fv7_lz4");
    let page = page_of(held.path());
    let (_, html) = get(&page, "/");
    for outside in [
        "http://",
        "https://",
        "//cdn",
        "<link rel=\"stylesheet\"",
        "src=",
        "@import",
        "innerHTML",
        "eval(",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("<meta name=\"viewport\""));
}
