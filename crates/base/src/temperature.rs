//! How warm the storage of a file shall be.

/// How often a file is read, as far as whoever writes it knows: for file systems with storage of several kinds. The numbers lie on
/// disk, as RocksDB has them; unknown ones are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Temperature(pub u8);

impl Temperature {
    /// Not said.
    pub const UNKNOWN: Temperature = Temperature(0);
    /// Read often.
    pub const HOT: Temperature = Temperature(0x04);
    /// Read now and then.
    pub const WARM: Temperature = Temperature(0x08);
    /// Between warm and cold.
    pub const COOL: Temperature = Temperature(0x0a);
    /// Read seldom.
    pub const COLD: Temperature = Temperature(0x0c);
    /// Hardly ever read.
    pub const ICE: Temperature = Temperature(0x10);
}
