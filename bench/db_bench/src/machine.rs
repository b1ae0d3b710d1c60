//! The description of the machine.

use std::path::Path;

use crate::document::Machine;

/// Describes this machine, with the file system of `dir`, or of its nearest parent that exists.
pub fn describe(dir: &Path) -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (file_system, mount) = file_system(&read("/proc/self/mounts"), &existing(dir));
    Machine {
        cpu: value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64),
        memory_bytes: value(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
            << 10,
        kernel: format!(
            "{} {}",
            read("/proc/sys/kernel/ostype").trim(),
            read("/proc/sys/kernel/osrelease").trim()
        )
        .trim()
        .to_owned(),
        file_system,
        mount,
    }
}

fn existing(dir: &Path) -> std::path::PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    absolute
        .ancestors()
        .find_map(|dir| dir.canonicalize().ok())
        .unwrap_or(absolute)
}

fn value(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// The type, and the device with options, of the mount that holds `dir`: the mount with the longest path, and
/// the last of equals.
fn file_system(mounts: &str, dir: &Path) -> (String, String) {
    let unescape = |text: &str| text.replace("\\040", " ").replace("\\011", "\t");
    let mut best: Option<(usize, String, String)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(at), Some(kind), Some(options)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let at = unescape(at);
        if dir.starts_with(&at) && best.as_ref().is_none_or(|best| at.len() >= best.0) {
            best = Some((
                at.len(),
                kind.to_owned(),
                format!("{} ({options})", unescape(device)),
            ));
        }
    }
    best.map_or_else(Default::default, |(_, kind, mount)| (kind, mount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "\
overlay / overlay rw 0 0
/dev/sda1 /data ext4 rw,noatime 0 0
tmpfs /data/my\\040dir tmpfs rw 0 0
broken
/dev/sdb1 /database xfs rw 0 0
";
        let of = |dir: &str| file_system(mounts, Path::new(dir));
        assert_eq!(of("/data/db").0, "ext4");
        assert_eq!(of("/data/db").1, "/dev/sda1 (rw,noatime)");
        assert_eq!(of("/data/my dir/db").0, "tmpfs");
        assert_eq!(of("/database").0, "xfs");
        assert_eq!(of("/home").0, "overlay");
        assert_eq!(file_system("", Path::new("/")), (String::new(), String::new()));
    }

    #[test]
    fn this_machine_has_something() {
        let machine = describe(Path::new("/not/there/db"));
        assert!(machine.cores > 0 && !machine.cpu.is_empty());
    }
}
