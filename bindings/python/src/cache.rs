//! Objects that several databases may share: caches, limits of memory, limits of writing.

use std::sync::Arc;

use esker::{BlockCache, CacheOptions};
use pyo3::prelude::*;

use crate::call::exception;

/// A cache of blocks, as the options `block_cache` and `blob_cache`.
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
    /// An LRU cache of `capacity` bytes.
    #[new]
    fn new(capacity: usize) -> Cache {
        Cache::of_capacity(capacity)
    }

    /// Bytes it may take; what no longer fits goes at once.
    #[getter]
    fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    #[setter]
    fn set_capacity(&self, capacity: usize) {
        self.cache.set_capacity(capacity);
    }

    /// Bytes it takes.
    #[getter]
    fn usage(&self) -> usize {
        self.cache.usage()
    }

    /// Bytes of it in use, which nothing evicts.
    #[getter]
    fn pinned_usage(&self) -> usize {
        self.cache.pinned_usage()
    }
}

/// A limit of the memory that memtables of several databases take together, as the option `write_buffer_manager`.
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
    /// A limit of `buffer_size` bytes, charged to `cache` if that is given; with `allow_stall` writes wait beyond.
    #[new]
    #[pyo3(signature = (buffer_size, cache = None, allow_stall = false))]
    fn new(buffer_size: u64, cache: Option<&Bound<'_, Cache>>, allow_stall: bool) -> WriteBufferManager {
        let cache = cache.map(|cache| cache.get().cache.clone());
        WriteBufferManager {
            manager: esker::WriteBufferManager::new(buffer_size, cache, allow_stall),
        }
    }

    /// Bytes that memtables may take.
    #[getter]
    fn buffer_size(&self) -> u64 {
        self.manager.buffer_size()
    }

    /// Bytes that they take.
    #[getter]
    fn memory_usage(&self) -> u64 {
        self.manager.memory_usage()
    }
}

/// A limit of what flushes and compactions write, as the option `rate_limiter`.
#[pyclass(frozen, module = "esker")]
pub struct RateLimiter {
    limiter: Arc<esker::RateLimiter>,
}

impl RateLimiter {
    /// That of an option: an object, or a number of bytes a second.
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
    /// A limit of so many bytes a second.
    #[new]
    fn new(py: Python<'_>, rate_bytes_per_sec: u64) -> PyResult<RateLimiter> {
        let limiter = esker::RateLimiter::new(rate_bytes_per_sec);
        Ok(RateLimiter {
            limiter: Arc::new(limiter.map_err(|error| exception(py, &error))?),
        })
    }

    /// Bytes a second.
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
