//! Text tests and random tests of the decisions and effects of compactions.

mod cursor;
mod history;
mod lsm;
mod picker;
mod text;
mod whole_block;
