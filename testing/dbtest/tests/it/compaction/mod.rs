//! Compactions: their choice, their rules, and where they run.

mod block_copy;
mod compactions_rest;
mod hooks;
mod recent_rows;
mod remote;
mod seqno_to_time;
mod service;
mod streams;
mod streams_on_disk;
mod styles;
mod temperatures;
mod ttl;
