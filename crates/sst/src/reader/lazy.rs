//! A part of a table that is loaded when it is first needed.

use std::sync::OnceLock;

use base::Result;
use base::sync::Mutex;

/// A value that the first reader that needs it creates, once.
pub(super) struct Lazy<T> {
    pub value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Lazy<T> {
    pub fn new() -> Lazy<T> {
        Lazy {
            value: OnceLock::new(),
            making: Mutex::new(()),
        }
    }

    #[inline]
    pub fn get_or_try(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.make(make),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let _making = self.making.lock();
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }
}
