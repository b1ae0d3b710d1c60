//! The C object `rocksdb_ratelimiter_t`.

use std::ffi::c_int;
use std::sync::Arc;

use esker::{RateLimiter, RateLimiterMode, RateLimiterOptions, SystemClock};

use crate::ffi::*;

/// The C object `rocksdb_ratelimiter_t`.
pub struct rocksdb_ratelimiter_t(pub Arc<RateLimiter>);

fn create(
    rate: i64,
    period: i64,
    fairness: i32,
    mode: RateLimiterMode,
    auto_tuned: bool,
) -> *mut rocksdb_ratelimiter_t {
    let options = RateLimiterOptions {
        rate_bytes_per_sec: rate.max(1) as u64,
        refill_period_us: period.max(1) as u64,
        fairness: fairness.max(1) as u32,
        mode,
        auto_tuned,
        ..RateLimiterOptions::default()
    };
    match RateLimiter::with_options(options, Arc::new(SystemClock::new())) {
        Ok(limiter) => boxed(rocksdb_ratelimiter_t(Arc::new(limiter))),
        Err(error) => {
            complain(&error_text(&error));
            std::ptr::null_mut()
        }
    }
}

api!(
    fn rocksdb_ratelimiter_create(rate: i64, period: i64, fairness: i32) -> *mut rocksdb_ratelimiter_t {
        create(rate, period, fairness, RateLimiterMode::WritesOnly, false)
    }
);

api!(
    fn rocksdb_ratelimiter_create_auto_tuned(
        rate: i64,
        period: i64,
        fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        create(rate, period, fairness, RateLimiterMode::WritesOnly, true)
    }
);

api!(
    fn rocksdb_ratelimiter_create_with_mode(
        rate: i64,
        period: i64,
        fairness: i32,
        mode: c_int,
        auto_tuned: bool,
    ) -> *mut rocksdb_ratelimiter_t {
        let mode = match mode {
            0 => RateLimiterMode::ReadsOnly,
            2 => RateLimiterMode::AllIo,
            _ => RateLimiterMode::WritesOnly,
        };
        create(rate, period, fairness, mode, auto_tuned)
    }
);
