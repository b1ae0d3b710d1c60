//! The compiler, the flags and the libraries of the system for the program: the best of this machine.

use std::path::{Path, PathBuf};

use crate::shell;

/// Debian's packages that are used if they are installed.
pub const PACKAGES: &[&str] = &["clang", "lld", "libgflags-dev", "libjemalloc-dev", "liburing-dev"];

/// A machine whose compilers and libraries are probed.
pub struct Machine {
    /// A directory for trials.
    dir: PathBuf,
}

impl Machine {
    /// Runs trials in `dir`, which is created.
    pub fn at(dir: &Path) -> Machine {
        Machine {
            dir: dir.to_path_buf(),
        }
    }
}

/// True if a program compiles and links by `cxx` with the given flags.
pub trait Probe {
    fn builds(&self, cxx: &str, flags: &[&str], program: &str) -> bool;
}

impl Probe for Machine {
    fn builds(&self, cxx: &str, flags: &[&str], program: &str) -> bool {
        let source = self.dir.join("probe.cc");
        if std::fs::create_dir_all(&self.dir).is_err() || std::fs::write(&source, program).is_err() {
            return false;
        }
        let mut command = shell::command(cxx);
        command.arg(&source).arg("-o").arg(self.dir.join("probe"));
        shell::succeeds(command.args(flags))
    }
}

/// A compiler with its flags and libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The C++ compiler; the name of the C compiler follows from it.
    pub cxx: String,
    thin_lto: bool,
    native: bool,
    jemalloc: bool,
    uring: bool,
}

const EMPTY: &str = "int main() { return 0; }\n";
const GFLAGS: &str = "#include <gflags/gflags.h>\nint main(int c, char** v) { gflags::ParseCommandLineFlags(&c, &v, true); }\n";
const JEMALLOC: &str =
    "#include <jemalloc/jemalloc.h>\nint main() { malloc_stats_print(nullptr, nullptr, nullptr); }\n";
const URING: &str =
    "#include <liburing.h>\nint main() { io_uring ring; return io_uring_queue_init(1, &ring, 0); }\n";
const CXX20: &str =
    "#include <concepts>\n#include <string>\nint main() { return std::string(\"a\").starts_with('b'); }\n";

const THIN_LTO: &[&str] = &["-flto=thin", "-fuse-ld=lld"];
const NATIVE: &str = "-march=native";
const JEMALLOC_LIBRARY: &str = "-ljemalloc";

impl Toolchain {
    /// Returns clang with ThinLTO, code for this processor and jemalloc; parts that the machine lacks are
    /// left out, and gcc replaces a missing clang.
    ///
    /// # Errors
    /// There is no compiler of C++20, or no gflags, which db_bench requires.
    pub fn choose(machine: &impl Probe) -> Result<Toolchain, String> {
        let clangs = (11..40).rev().map(|version| format!("clang++-{version}"));
        let candidates = std::iter::once("clang++".to_owned())
            .chain(clangs)
            .chain(["g++".to_owned()]);
        let cxx = candidates
            .into_iter()
            .find(|cxx| machine.builds(cxx, &["-std=c++20"], CXX20))
            .ok_or("no compiler of C++20: install clang or g++")?;
        if !machine.builds(&cxx, &["-lgflags"], GFLAGS) {
            return Err(
                "no gflags, which db_bench reads its command line with: install libgflags-dev".into(),
            );
        }
        Ok(Toolchain {
            thin_lto: cxx.starts_with("clang") && machine.builds(&cxx, THIN_LTO, EMPTY),
            native: machine.builds(&cxx, &[NATIVE], EMPTY),
            jemalloc: machine.builds(&cxx, &[JEMALLOC_LIBRARY], JEMALLOC),
            uring: machine.builds(&cxx, &["-luring"], URING),
            cxx,
        })
    }

    #[cfg(test)]
    pub fn of_gcc(cxx: &str) -> Toolchain {
        Toolchain {
            cxx: cxx.to_owned(),
            thin_lto: false,
            native: true,
            jemalloc: false,
            uring: false,
        }
    }

    /// True if everything optional was found.
    pub fn has_all(&self) -> bool {
        self.thin_lto && self.native && self.jemalloc && self.uring
    }

    fn optimization(&self) -> Vec<String> {
        let mut flags = vec!["-O2".to_owned(), "-DNDEBUG".to_owned()];
        flags.extend(self.native.then(|| NATIVE.to_owned()));
        flags.extend(self.thin_lto.then(|| THIN_LTO[0].to_owned()));
        flags
    }

    /// The command that compiles `source`, without its includes, its name and that of the object.
    pub fn compile(&self, source: &Path, defines: &[&str]) -> Vec<String> {
        let is_cxx = source.extension().is_some_and(|extension| extension == "cc");
        let mut command = match is_cxx {
            true => vec![
                self.cxx.clone(),
                "-std=c++20".into(),
                "-include".into(),
                "cstdint".into(),
            ],
            false => vec![self.cxx.replace("clang++", "clang").replace("g++", "gcc")],
        };
        command.extend(self.optimization());
        command.extend(["-w".into(), "-pthread".into()]);
        command.extend(defines.iter().map(|define| format!("-D{define}")));
        if is_cxx && self.jemalloc {
            command.extend(["ROCKSDB_JEMALLOC", "JEMALLOC_NO_DEMANGLE"].map(|define| format!("-D{define}")));
        }
        command.extend((is_cxx && self.uring).then(|| "-DROCKSDB_IOURING_PRESENT".to_owned()));
        command
    }

    /// The flags before the objects.
    pub fn link_flags(&self) -> Vec<String> {
        let mut flags = self.optimization();
        flags.extend(self.thin_lto.then(|| THIN_LTO[1].to_owned()));
        flags.push("-pthread".into());
        flags
    }

    /// The libraries, after the objects.
    pub fn libraries(&self) -> Vec<String> {
        let mut libraries = vec!["-lgflags".to_owned()];
        libraries.extend(self.uring.then(|| "-luring".to_owned()));
        libraries.extend(self.jemalloc.then(|| JEMALLOC_LIBRARY.to_owned()));
        libraries.push("-ldl".into());
        libraries
    }

    /// The description of the build in a table of its figures.
    pub fn text(&self) -> String {
        let version = shell::output(shell::command(&self.cxx).arg("--version")).unwrap_or_default();
        let version = version.lines().next().unwrap_or(&self.cxx).to_owned();
        let without = |has: bool, what: &str| match has {
            true => what.to_owned(),
            false => format!("without {what}"),
        };
        format!(
            "{version}, {}, {}, {}, {}",
            self.link_flags().join(" "),
            without(self.thin_lto, "ThinLTO"),
            without(self.jemalloc, "jemalloc"),
            without(self.uring, "io_uring")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulated machine, which has the listed compilers and accepts the listed flags.
    struct Has(&'static [&'static str]);

    impl Probe for Has {
        fn builds(&self, cxx: &str, flags: &[&str], _: &str) -> bool {
            let all = flags.iter().filter(|flag| **flag != "-std=c++20");
            self.0.contains(&cxx) && all.into_iter().all(|flag| self.0.contains(flag))
        }
    }

    #[test]
    fn the_best_there_is_is_taken() {
        let all = &[
            "clang++",
            "g++",
            "-flto=thin",
            "-fuse-ld=lld",
            "-march=native",
            "-ljemalloc",
            "-lgflags",
            "-luring",
        ];
        let best = Toolchain::choose(&Has(all)).unwrap();
        assert!(best.has_all() && best.cxx == "clang++");
        let compile = best.compile(Path::new("a.cc"), &["X=1"]).join(" ");
        assert_eq!(
            compile,
            "clang++ -std=c++20 -include cstdint -O2 -DNDEBUG -march=native -flto=thin -w -pthread -DX=1 -DROCKSDB_JEMALLOC \
             -DJEMALLOC_NO_DEMANGLE -DROCKSDB_IOURING_PRESENT"
        );
        assert_eq!(
            best.compile(Path::new("a.c"), &[]).join(" "),
            "clang -O2 -DNDEBUG -march=native -flto=thin -w -pthread"
        );
        assert_eq!(
            best.link_flags().join(" "),
            "-O2 -DNDEBUG -march=native -flto=thin -fuse-ld=lld -pthread"
        );
        assert_eq!(best.libraries().join(" "), "-lgflags -luring -ljemalloc -ldl");

        let older = Toolchain::choose(&Has(&["clang++-16", "clang++-14", "g++", "-lgflags"])).unwrap();
        assert!(older.cxx == "clang++-16" && !older.has_all());
        assert_eq!(older.compile(Path::new("a.S"), &[])[0], "clang-16");

        let gcc = Toolchain::choose(&Has(&[
            "g++",
            "-flto=thin",
            "-fuse-ld=lld",
            "-march=native",
            "-lgflags",
        ]))
        .unwrap();
        assert_eq!(gcc, Toolchain::of_gcc("g++"));
        assert_eq!(gcc.compile(Path::new("a.c"), &[])[0], "gcc");
        assert_eq!(gcc.libraries().join(" "), "-lgflags -ldl");
    }

    #[test]
    fn what_it_cannot_do_without_is_named() {
        let refused = |has| Toolchain::choose(&Has(has)).unwrap_err();
        assert!(refused(&["g++"]).contains("libgflags-dev"));
        assert!(refused(&[]).contains("no compiler"));
    }
}
