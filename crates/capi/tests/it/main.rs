//! The library from the outside: a C program, compiled against our header and linked to the shared library.

mod c_program;
mod tables;
