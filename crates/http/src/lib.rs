//! A small HTTP server for pages and metrics of a database: one thread per connection, one request per
//! connection, `GET` and `HEAD` only.
//!
//! The server withstands hostile clients. A request has a deadline, and its size and the number of
//! connections are limited. A request without a known `Host` is refused, so that a page of another site
//! cannot reach the server by DNS rebinding. An address other than loopback requires a token, or an explicit
//! [`Access::Anyone`].
#![forbid(unsafe_code)]

mod config;
mod connection;
mod request;
mod response;
mod server;

pub use config::{Access, Config, new_token};
pub use request::Request;
pub use response::Response;
pub use server::Server;
