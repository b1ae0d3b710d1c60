//! Scripts of user operations on a database, under `tests/testdata/behaviour`, in the commands of
//! [`dbtest::commands`].

use dbtest::commands::Session;
use testkit::datadriven;

#[test]
fn scripts() {
    datadriven::run("tests/testdata/behaviour", |_| Session::new(), Session::run);
}
