//! `esker decrypt`: a plain copy of an encrypted database.

use std::sync::Arc;

use encryption::{EncryptedFs, KeyRing};
use esker::{Db, Options};
use tempfile::TempDir;
use vfs::PosixFs;

use crate::common::*;

#[test]
fn a_plain_copy_has_every_row() {
    let place = TempDir::new().unwrap();
    let path = |name: &str| place.path().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let keys = KeyRing::new("main", [0xab; 32]);
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(EncryptedFs::new(Arc::new(PosixFs::new()), Arc::new(keys))),
        ..Options::default()
    };
    let db = Db::open(&options, path("db")).unwrap();
    db.put("in a table", "1").unwrap();
    db.flush().unwrap();
    db.put("in the WAL", "2").unwrap();
    std::fs::write(path("keys"), format!("# of the test\nmain {}\n", "ab".repeat(32))).unwrap();
    std::fs::write(path("wrong"), format!("main {}\n", "ac".repeat(32))).unwrap();
    let decrypt = |to: &str, keys: &str| {
        let (to, keys) = (text(to), text(keys));
        esker("decrypt", &path("db"), &["--to", &to, "--master_keys", &keys])
    };
    let error = decrypt("copy", "keys").bad();
    assert!(error.contains("lock"), "{error}");
    db.close().unwrap();
    let error = decrypt("other", "wrong").bad();
    assert!(error.contains("\"main\" does not open"), "{error}");
    let said = decrypt("copy", "keys").good();
    assert!(
        said.contains("files of") && said.contains(&text("copy")),
        "{said}"
    );
    let rows = esker("scan", &path("copy"), &[]).good();
    assert!(
        rows.contains("in a table") && rows.contains("in the WAL"),
        "{rows}"
    );
    esker("verify", &path("copy"), &[]).good();
    assert!(decrypt("copy", "keys").bad().contains("exists"));
    // The encrypted files are not taken for damaged ones of another kind.
    let error = esker("scan", &path("db"), &[]).bad();
    assert!(error.contains("CURRENT"), "{error}");
}
