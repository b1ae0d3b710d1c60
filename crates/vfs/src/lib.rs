//! The only door to a disk: a file-system trait with a POSIX body and an in-memory one that crashes on demand.
