//! Objects that several databases may share: caches, memory limits, and rate limiters.

use std::sync::Arc;

use esker::{BlockCache, CacheOptions};
use pyo3::prelude::*;

use crate::call::exception;

/// A block cache, for the options `block_cache` and `blob_cache`.
#[pyclass(frozen, module = "esker")]
pub struct Cache {
    pub cache: Arc<BlockCache>,
}

impl Cache {
    pub fn of_capacity(capacity: usize) -> Cache {
        Cache {
            cache: BlockCache::lru(CacheOptions {
                capacity,
                ..CacheOptions::default()
            }),
        }
    }
}

#[pymethods]
impl Cache {
    /// Creates an LRU cache of `capacity` bytes.
    #[new]
    fn new(capacity: usize) -> Cache {
        Cache::of_capacity(capacity)
    }

    /// The capacity in bytes. A lower capacity evicts entries at once.
    #[getter]
    fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    #[setter]
    fn set_capacity(&self, capacity: usize) {
        self.cache.set_capacity(capacity);
    }

    /// The size in bytes of all entries.
    #[getter]
    fn usage(&self) -> usize {
        self.cache.usage()
    }

    /// The size in bytes of the entries in use, which are never evicted.
    #[getter]
    fn pinned_usage(&self) -> usize {
        self.cache.pinned_usage()
    }
}

/// A common memory limit for the memtables of several databases, for the option `write_buffer_manager`.
#[pyclass(frozen, module = "esker")]
pub struct WriteBufferManager {
    manager: Arc<esker::WriteBufferManager>,
}

impl WriteBufferManager {
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<esker::WriteBufferManager>>> {
        if value.is_none() {
            return Ok(None);
        }
        Ok(Some(value.cast::<WriteBufferManager>()?.get().manager.clone()))
    }
}

#[pymethods]
impl WriteBufferManager {
    /// Creates a limit of `buffer_size` bytes. If `cache` is given, memtables are charged to it. With
    /// `allow_stall`, writes wait while the limit is exceeded.
    #[new]
    #[pyo3(signature = (buffer_size, cache = None, allow_stall = false))]
    fn new(buffer_size: u64, cache: Option<&Bound<'_, Cache>>, allow_stall: bool) -> WriteBufferManager {
        let cache = cache.map(|cache| cache.get().cache.clone());
        WriteBufferManager {
            manager: esker::WriteBufferManager::new(buffer_size, cache, allow_stall),
        }
    }

    /// The limit in bytes.
    #[getter]
    fn buffer_size(&self) -> u64 {
        self.manager.buffer_size()
    }

    /// The memory of the memtables in bytes.
    #[getter]
    fn memory_usage(&self) -> u64 {
        self.manager.memory_usage()
    }
}

/// A rate limit for flushes and compactions, for the option `rate_limiter`.
#[pyclass(frozen, module = "esker")]
pub struct RateLimiter {
    limiter: Arc<esker::RateLimiter>,
}

impl RateLimiter {
    /// Returns the rate limiter of an option's value: an object, or a number of bytes per second.
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<esker::RateLimiter>>> {
        if value.is_none() {
            return Ok(None);
        }
        match value.cast::<RateLimiter>() {
            Ok(limiter) => Ok(Some(limiter.get().limiter.clone())),
            Err(_) => Ok(Some(RateLimiter::new(value.py(), value.extract()?)?.limiter)),
        }
    }
}

#[pymethods]
impl RateLimiter {
    /// Creates a limit, in bytes per second.
    #[new]
    fn new(py: Python<'_>, rate_bytes_per_sec: u64) -> PyResult<RateLimiter> {
        let limiter = esker::RateLimiter::new(rate_bytes_per_sec);
        Ok(RateLimiter {
            limiter: Arc::new(limiter.map_err(|error| exception(py, &error))?),
        })
    }

    /// The limit in bytes per second.
    #[getter]
    fn bytes_per_second(&self) -> u64 {
        self.limiter.bytes_per_second()
    }

    #[setter]
    fn set_bytes_per_second(&self, py: Python<'_>, rate: u64) -> PyResult<()> {
        let changed = self.limiter.set_bytes_per_second(rate);
        changed.map_err(|error| exception(py, &error))
    }
}
