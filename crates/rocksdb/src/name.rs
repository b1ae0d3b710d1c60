//! Names in calls: anything that can become a C string.

use std::ffi::{CStr, CString, NulError};
use std::ops::Deref;

/// Types that convert to a C string. A name with a NUL byte is refused.
pub trait CStrLike {
    /// The string, borrowed or owned.
    type Baked: Deref<Target = CStr>;
    /// The error if there is none.
    type Error: std::fmt::Debug + std::fmt::Display;

    /// The string, without a copy if it is one already.
    ///
    /// # Errors
    /// A NUL byte in the name.
    fn bake(self) -> Result<Self::Baked, Self::Error>;

    /// The string, owned.
    ///
    /// # Errors
    /// A NUL byte in the name.
    fn into_c_string(self) -> Result<CString, Self::Error>;
}

macro_rules! text_names {
    ($($type:ty),+) => { $(
        impl CStrLike for $type {
            type Baked = CString;
            type Error = NulError;

            fn bake(self) -> Result<CString, NulError> {
                CString::new(self.as_bytes())
            }

            fn into_c_string(self) -> Result<CString, NulError> {
                CString::new(self.as_bytes())
            }
        }
    )+ };
}
text_names!(&str, &String);

impl<'a> CStrLike for &'a CStr {
    type Baked = &'a CStr;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<&'a CStr, Self::Error> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(self.to_owned())
    }
}

impl CStrLike for CString {
    type Baked = CString;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<CString, Self::Error> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(self)
    }
}

impl<'a> CStrLike for &'a CString {
    type Baked = &'a CStr;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<&'a CStr, Self::Error> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(self.clone())
    }
}

/// The name as text, for a setter that cannot fail.
///
/// # Panics
/// A NUL byte in the name, as in the `rocksdb` crate.
pub(crate) fn text(name: impl CStrLike) -> String {
    match name.bake() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(error) => panic!("a name that is no C string: {error}"),
    }
}
