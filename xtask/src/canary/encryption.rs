//! Planted bugs of encryption at rest.

use super::Canary;
use super::Catcher::Tests;

const DATABASES: &[&str] = &["-p", "esker-encryption", "--test", "it", "databases::"];
const FILES: &[&str] = &["-p", "esker-encryption", "--test", "it", "files::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a recycled WAL is written over its old bytes",
        file: "crates/encryption/src/file_system.rs",
        right: "        self.below.remove(old)?;\n        self.create(new, options)\n",
        wrong: "        self.begin(self.below.reuse(old, new, options)?, options)\n",
        caught_by: Tests(FILES),
    },
    Canary {
        name: "a file's second append is encrypted like its first",
        file: "crates/encryption/src/plain.rs",
        right: "self.cipher.apply(self.len, &mut",
        wrong: "self.cipher.apply(0, &mut",
        caught_by: Tests(FILES),
    },
    Canary {
        name: "zeros that a loss of power left are decrypted",
        file: "crates/encryption/src/cipher.rs",
        right: "(len == BLOCK || is_hole(block_start)?)",
        wrong: "(len > BLOCK || is_hole(block_start)?)",
        caught_by: Tests(&["-p", "esker-encryption", "--lib", "cipher::"]),
    },
    Canary {
        name: "a part of a block of zeros is decrypted",
        file: "crates/encryption/src/cipher.rs",
        right: "(len == BLOCK || is_hole(block_start)?)",
        wrong: "(len == BLOCK || is_hole(block_start)? && false)",
        caught_by: Tests(FILES),
    },
    Canary {
        name: "a leftover file without a header keeps a database from opening",
        file: "crates/vfs/src/file_system.rs",
        right: "            Err(error) if error.is_corruption() => Ok(0),\n",
        wrong: "",
        caught_by: Tests(DATABASES),
    },
    Canary {
        name: "a damaged probe keeps a copy from opening",
        file: "crates/engine/src/lifecycle/wal_dir.rs",
        right: "        Err(error) if error.is_corruption() => Ok(false),\n",
        wrong: "",
        caught_by: Tests(DATABASES),
    },
    Canary {
        name: "a file without a header is an error after a crash",
        file: "crates/encryption/src/file_system.rs",
        right: "                if is_unwritten(file, &page)? {\n",
        wrong: "                if read == 0 && is_unwritten(file, &page)? {\n",
        caught_by: Tests(FILES),
    },
    Canary {
        name: "the header of an encrypted file is not verified",
        file: "crates/encryption/src/header.rs",
        right: "if crc32c(&bytes[..crc_at]).to_le_bytes() != crc {",
        wrong: "if crc.is_empty() {",
        caught_by: Tests(&["-p", "esker-encryption", "--lib", "header::"]),
    },
    Canary {
        name: "the frame that ends an encrypted log counts whole",
        file: "crates/encryption/src/log.rs",
        right: "Ok(last.offset + self.existing(last)?)",
        wrong: "Ok(last.end())",
        caught_by: Tests(FILES),
    },
];
