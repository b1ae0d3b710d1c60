//! A small HTTP server for pages and metrics of a database: one thread per connection, one request per
//! connection, `GET` and `HEAD` only.
//!
//! It is made for hostile clients. A request has a deadline, a largest size and a largest number of
//! connections; a request without a known `Host` is refused, so that a page of another site cannot reach it
//! by DNS rebinding; an address other than loopback needs a token, or an explicit [`Access::Anyone`].
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
