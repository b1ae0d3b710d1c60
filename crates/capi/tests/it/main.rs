//! The library from the outside: a C program, compiled with the library's header and linked to the shared
//! library.

mod c_program;
mod tables;
