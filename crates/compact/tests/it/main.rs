//! Tests of what compactions decide and do, by text and by chance.

mod cursor;
mod history;
mod lsm;
mod picker;
mod text;
mod whole_block;
