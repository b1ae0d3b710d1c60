//! Every check and every set-up step, one verb each.
fn main() {}
