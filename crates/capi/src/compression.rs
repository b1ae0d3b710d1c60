//! Compression types by RocksDB's numbers, and the compression options that are passed as arguments.

use std::ffi::c_int;

use esker::{CompressionOptions, CompressionType, Error, Result};

use crate::generated::fields::OptionsFields;

/// The arguments of `rocksdb_options_set_compression_options`.
#[derive(Clone)]
pub struct CompressionFields {
    pub window_bits: c_int,
    pub level: c_int,
    pub strategy: c_int,
    pub max_dict_bytes: c_int,
}

impl Default for CompressionFields {
    fn default() -> CompressionFields {
        CompressionFields {
            window_bits: -14,
            level: CompressionOptions::DEFAULT_LEVEL,
            strategy: 0,
            max_dict_bytes: 0,
        }
    }
}

/// The compression options of the last level that have separate setters.
#[derive(Clone)]
pub struct ZstdFields {
    pub max_train_bytes: c_int,
    pub use_dict_trainer: bool,
    pub max_dict_buffer_bytes: u64,
}

impl Default for ZstdFields {
    fn default() -> ZstdFields {
        ZstdFields {
            max_train_bytes: 0,
            use_dict_trainer: true,
            max_dict_buffer_bytes: 0,
        }
    }
}

impl CompressionFields {
    fn base(&self) -> CompressionOptions {
        CompressionOptions {
            window_bits: self.window_bits,
            level: self.level,
            strategy: self.strategy,
            max_dict_bytes: self.max_dict_bytes.max(0) as u32,
            ..CompressionOptions::default()
        }
    }

    /// Returns the compression options, including those that other setters have set.
    pub fn options(&self, fields: &OptionsFields) -> CompressionOptions {
        CompressionOptions {
            zstd_max_train_bytes: fields.compression_options_zstd_max_train_bytes.max(0) as u32,
            use_zstd_dict_trainer: fields.compression_options_use_zstd_dict_trainer != 0,
            parallel_threads: fields.compression_options_parallel_threads.max(1) as u32,
            max_dict_buffer_bytes: fields.compression_options_max_dict_buffer_bytes,
            ..self.base()
        }
    }

    /// Returns the compression options of the last level, if they are enabled.
    pub fn bottommost(&self, zstd: &ZstdFields) -> CompressionOptions {
        CompressionOptions {
            enabled: true,
            zstd_max_train_bytes: zstd.max_train_bytes.max(0) as u32,
            use_zstd_dict_trainer: zstd.use_dict_trainer,
            max_dict_buffer_bytes: zstd.max_dict_buffer_bytes,
            ..self.base()
        }
    }
}

/// Returns the compression type of RocksDB's number. `InvalidArgument` if the number has none.
pub fn compression_type(number: c_int) -> Result<CompressionType> {
    u8::try_from(number)
        .ok()
        .and_then(CompressionType::from_byte)
        .ok_or_else(|| Error::invalid_argument(format!("compression type {number}")))
}
