//! Background jobs: their threads, their control, the space they may take.

mod atomic_flush;
mod control;
mod flush_and_drop;
mod sst_file_manager;
mod thread_pool;
