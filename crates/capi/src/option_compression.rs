//! The setters of compression options.

use std::ffi::c_int;

use crate::compression::CompressionFields;
use crate::options::rocksdb_options_t;

api!(
    fn rocksdb_options_set_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
    ) {
        (*options).compression = CompressionFields {
            window_bits,
            level,
            strategy,
            max_dict_bytes,
        };
    }
);

api!(
    fn rocksdb_options_set_bottommost_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
        enabled: u8,
    ) {
        (*options).bottommost_compression = CompressionFields {
            window_bits,
            level,
            strategy,
            max_dict_bytes,
        };
        (*options).bottommost_enabled = enabled != 0;
    }
);

api!(
    fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
        options: *mut rocksdb_options_t,
        bytes: c_int,
        enabled: u8,
    ) {
        (*options).bottommost_zstd.max_train_bytes = bytes;
        (*options).bottommost_enabled = enabled != 0;
    }
);

api!(
    fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
        use_trainer: u8,
        enabled: u8,
    ) {
        (*options).bottommost_zstd.use_dict_trainer = use_trainer != 0;
        (*options).bottommost_enabled = enabled != 0;
    }
);

api!(
    fn rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(
        options: *mut rocksdb_options_t,
    ) -> u8 {
        u8::from((*options).bottommost_zstd.use_dict_trainer)
    }
);

api!(
    fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
        options: *mut rocksdb_options_t,
        bytes: u64,
        enabled: u8,
    ) {
        (*options).bottommost_zstd.max_dict_buffer_bytes = bytes;
        (*options).bottommost_enabled = enabled != 0;
    }
);
