//! The database as its users see it: scripts under `tests/testdata/behaviour`, in the words of [`dbtest::commands`].

use dbtest::commands::Session;
use testkit::datadriven;

#[test]
fn scripts() {
    datadriven::run("tests/testdata/behaviour", |_| Session::new(), Session::run);
}
