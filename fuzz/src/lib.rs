//! Fuzz targets, one a decoder.
