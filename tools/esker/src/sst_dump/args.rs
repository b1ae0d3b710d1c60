//! `sst_dump`'s command line.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use codec::compression::{CompressionOptions, CompressionType};

use crate::ldb::unhex_if;
use crate::rocksdb_text::table::Entries;
use crate::sst_dump::help;

/// The work that a command line asks for.
pub enum Asked {
    Help,
    Version,
    /// The text of an internal key.
    InternalKey(Vec<u8>),
    Files(Box<Args>),
}

/// The command line of work on files.
pub struct Args {
    /// The files and directories to dump.
    pub places: Vec<PathBuf>,
    /// The name of the command; `check` if empty. RocksDB ignores a command that it does not know.
    pub command: String,
    pub entries: Entries,
    /// At most this many entries are read; 0: no limit.
    pub read_num: u64,
    pub show_properties: bool,
    pub show_summary: bool,
    pub list_meta_blocks: bool,
    pub show_sequence_number_type: bool,
    /// Bytes that are read ahead.
    pub readahead_size: usize,
    /// The size of blocks in bytes, for recompression.
    pub block_size: usize,
    pub enable_index_compression: bool,
    pub verify_compression: bool,
    /// The types to recompress with; all if empty.
    pub compression_types: Vec<CompressionType>,
    /// The levels to recompress with, both inclusive.
    pub levels: (i32, i32),
    pub compression: CompressionOptions,
}

impl Default for Args {
    fn default() -> Args {
        let level = CompressionOptions::DEFAULT_LEVEL;
        Args {
            places: Vec::new(),
            command: String::new(),
            entries: Entries::default(),
            read_num: u64::MAX,
            show_properties: false,
            show_summary: false,
            list_meta_blocks: false,
            show_sequence_number_type: false,
            readahead_size: 2 << 20,
            block_size: 16 << 10,
            enable_index_compression: true,
            verify_compression: false,
            compression_types: Vec::new(),
            levels: (level, level),
            compression: CompressionOptions {
                parallel_threads: 1,
                ..CompressionOptions::default()
            },
        }
    }
}

/// Takes a command line apart.
///
/// Errors: the text for standard error.
pub fn parse(args: &[OsString]) -> Result<Asked, String> {
    let mut parser = Parser::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.to_str() {
            Some("--help") => return Ok(Asked::Help),
            Some("--version") => return Ok(Asked::Version),
            Some("--") => parser.args.places.extend(rest.by_ref().map(PathBuf::from)),
            _ => {
                if let Some(key) = arg.as_bytes().strip_prefix(b"--parse_internal_key=") {
                    return internal_key(key);
                }
                parser.add(arg)?;
            }
        }
    }
    parser.finish()
}

fn internal_key(text: &[u8]) -> Result<Asked, String> {
    let shown = String::from_utf8_lossy(text);
    unhex_if(true, text).map(Asked::InternalKey).map_err(|_| {
        format!("ERROR: Invalid key input '{shown}' Use 0x{{hex representation of internal rocksdb key}}\n")
    })
}

#[derive(Default)]
struct Parser {
    args: Args,
    key_hex: bool,
    level_from: bool,
    level_to: bool,
}

/// A number at the start of a value.
fn number<T: TryFrom<i64>>(name: &str, value: &str) -> Result<T, String> {
    let number = value.trim_start().parse::<i64>();
    let number = number.map_err(|_| format!("{name} must be numeric\n"))?;
    T::try_from(number).map_err(|_| format!("{name} is out of range: '{value}'\n{}", help::text()))
}

impl Parser {
    fn add(&mut self, arg: &OsString) -> Result<(), String> {
        let bytes = arg.as_bytes();
        if !bytes.starts_with(b"-") {
            self.args.places.push(PathBuf::from(arg));
            return Ok(());
        }
        let at = bytes.iter().position(|&byte| byte == b'=');
        let (name, value) = match at {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let known = match value {
            Some(value) => self.valued(&name, value)?,
            None => self.flag(&name),
        };
        match known {
            true => Ok(()),
            false => Err(format!(
                "Unrecognized argument '{}'\n\n{}",
                arg.to_string_lossy(),
                help::text()
            )),
        }
    }

    fn flag(&mut self, name: &str) -> bool {
        let args = &mut self.args;
        match name {
            "--output_hex" => args.entries.hex = true,
            "--decode_blob_index" => args.entries.decode_blob_index = true,
            "--show_sequence_number_type" => args.show_sequence_number_type = true,
            "--input_key_hex" => self.key_hex = true,
            "--verify_checksum" => args.entries.verify_checksum = true,
            "--show_properties" => args.show_properties = true,
            "--show_summary" => args.show_summary = true,
            "--list_meta_blocks" => args.list_meta_blocks = true,
            "--compression_use_zstd_finalize_dict" => args.compression.use_zstd_dict_trainer = false,
            _ => return false,
        }
        true
    }

    fn valued(&mut self, name: &str, bytes: &[u8]) -> Result<bool, String> {
        let args = &mut self.args;
        let value = String::from_utf8_lossy(bytes).into_owned();
        let is_true = || value.starts_with(['1', 't', 'T']);
        let short = name.trim_start_matches('-');
        match name {
            "--file" => args.places.push(OsString::from_vec(bytes.to_vec()).into()),
            "--command" => args.command = value,
            "--from" => args.entries.from = Some(bytes.to_vec()),
            "--to" => args.entries.to = Some(bytes.to_vec()),
            "--prefix" => args.entries.prefix = Some(bytes.to_vec()),
            "--read_num" => match value.parse() {
                Ok(number) => args.read_num = number,
                Err(_) => return Ok(false),
            },
            "--set_block_size" | "--block_size" => args.block_size = number("block size", &value)?,
            "--readahead_size" => args.readahead_size = number(short, &value)?,
            "--compression_types" => {
                for name in value.split(',') {
                    let ty = CompressionType::from_options_name(name);
                    let ty = ty.ok_or_else(|| format!("{name} is not a valid CompressionType\n"))?;
                    args.compression_types.push(ty);
                }
            }
            "--enable_index_compression" => args.enable_index_compression = is_true(),
            "--verify_compression" => args.verify_compression = is_true(),
            "--compression_level" => {
                let level = number(short, &value)?;
                args.levels = (level, level);
                (self.level_from, self.level_to) = (true, true);
            }
            "--compression_level_from" => {
                args.levels.0 = number(short, &value)?;
                self.level_from = true;
            }
            "--compression_level_to" => {
                args.levels.1 = number(short, &value)?;
                self.level_to = true;
            }
            "--compression_max_dict_bytes" => args.compression.max_dict_bytes = number(short, &value)?,
            "--compression_parallel_threads" => args.compression.parallel_threads = number(short, &value)?,
            "--compression_zstd_max_train_bytes" => {
                args.compression.zstd_max_train_bytes = number(short, &value)?;
            }
            "--compression_max_dict_buffer_bytes" => {
                args.compression.max_dict_buffer_bytes = number(short, &value)?;
            }
            "--env_uri"
            | "--fs_uri"
            | "--compression_manager"
            | "--require_property_regex"
            | "--exclude_property_regex" => {
                return Err(format!("Not implemented: {name}\n"));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(mut self) -> Result<Asked, String> {
        if self.level_from != self.level_to {
            let text = "Specify both --compression_level_from and --compression_level_to.\n\n";
            return Err(text.to_owned());
        }
        let entries = &mut self.args.entries;
        if entries.prefix.is_some() && entries.from.is_some() {
            return Err("Cannot specify --prefix and --from\n\n".to_owned());
        }
        if self.key_hex {
            let keys = [&mut entries.from, &mut entries.to, &mut entries.prefix];
            for text in keys.into_iter().flatten() {
                *text = unhex_if(true, text).map_err(|failed| failed.message() + "\n")?;
            }
        }
        if self.args.places.is_empty() {
            return Err(format!(
                "file or directory must be specified.\n\n{}",
                help::text()
            ));
        }
        entries.print = self.args.command == "scan";
        Ok(Asked::Files(Box::new(self.args)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(args: &[&str]) -> Args {
        let args: Vec<_> = args.iter().map(OsString::from).collect();
        match parse(&args) {
            Ok(Asked::Files(args)) => *args,
            _ => panic!("{args:?}"),
        }
    }

    fn refused(args: &[&str]) -> String {
        let args: Vec<_> = args.iter().map(OsString::from).collect();
        parse(&args).err().unwrap()
    }

    #[test]
    fn files_and_flags_stand_anywhere() {
        let args = files(&["a.sst", "--file=d", "--command=scan", "--output_hex", "--", "--x"]);
        let places: Vec<PathBuf> = ["a.sst", "d", "--x"].map(PathBuf::from).into();
        assert_eq!(args.places, places);
        assert!(args.entries.print && args.entries.hex);
        let args = files(&["d", "--input_key_hex", "--from=0x61", "--to=0x62", "--read_num=3"]);
        assert_eq!(args.entries.from.as_deref(), Some(&b"a"[..]));
        assert_eq!((args.entries.to.as_deref(), args.read_num), (Some(&b"b"[..]), 3));
    }

    #[test]
    fn wrong_command_lines_are_refused_in_rocksdbs_words() {
        assert!(refused(&[]).starts_with("file or directory must be specified.\n\nsst_dump "));
        assert!(refused(&["--nix"]).starts_with("Unrecognized argument '--nix'\n\n"));
        assert_eq!(
            refused(&["d", "--from=a", "--prefix=b"]),
            "Cannot specify --prefix and --from\n\n"
        );
        assert_eq!(refused(&["d", "--block_size=x"]), "block size must be numeric\n");
        assert_eq!(
            refused(&["d", "--compression_types=kNo"]),
            "kNo is not a valid CompressionType\n"
        );
        assert!(refused(&["d", "--compression_level_from=1"]).starts_with("Specify both"));
    }
}
