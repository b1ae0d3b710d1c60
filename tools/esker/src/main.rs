//! The inspector.
fn main() {}
