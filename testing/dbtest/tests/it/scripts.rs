//! Scripts of user operations on a database, a folder of `tests/testdata` for each subject, in the commands of
//! [`dbtest::commands`].

use dbtest::commands::Session;
use testkit::datadriven;

macro_rules! scripts {
    ($($subject:ident)*) => {
        $(
            #[test]
            fn $subject() {
                let dir = concat!("tests/testdata/", stringify!($subject));
                datadriven::run(dir, |_| Session::new(), Session::run);
            }
        )*
    };
}

scripts! { behaviour blobs compaction control ingestion lifecycle reads reports stalls styles timestamps wal writes }
