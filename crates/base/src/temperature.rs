//! Temperatures of files: how often they are read.

/// How often a file is read, as far as its writer knows: for file systems with several kinds of storage. The
/// numbers are stored on disk and are RocksDB's; unknown ones are kept.
///
/// ```
/// # use esker_base as esker;
/// use esker::Temperature;
///
/// assert_eq!(Temperature::COLD, Temperature(0x0c));
/// assert_eq!(Temperature::default(), Temperature::UNKNOWN);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Temperature(pub u8);

impl Temperature {
    /// The temperature is not specified.
    pub const UNKNOWN: Temperature = Temperature(0);
    /// The data is read often.
    pub const HOT: Temperature = Temperature(0x04);
    /// The data is read now and then.
    pub const WARM: Temperature = Temperature(0x08);
    /// The data is read less often than warm data and more often than cold data.
    pub const COOL: Temperature = Temperature(0x0a);
    /// The data is read seldom.
    pub const COLD: Temperature = Temperature(0x0c);
    /// The data is hardly ever read.
    pub const ICE: Temperature = Temperature(0x10);
}
