//! `scale`: counts contention of the engine's operations. `cargo xtask scale` runs it.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use esker::Options;
use scale::code::Code;
use scale::report;
use scale::trace::{self, Marks};
use scale::workload::{Operation, Workload};

const HELP: &str = "\
scale [--operations N] [OPERATION...]

Counts, for each operation, the cache lines that two threads share and write, atomic operations, and the instructions
under locks, from a trace of valgrind's lackey. Without names: all operations. Needs valgrind, and addr2line of binutils.

  --operations N  the number of operations of each thread; default: 200, of flushes and compactions 4
";

/// The operations before those that are counted.
const WARM_UP: u64 = 64;

/// A word of memory to which the program writes at a moment that the trace must show. Each has lines of its
/// own.
#[repr(align(128))]
struct Mark(AtomicU64);

static STARTS: [Mark; 2] = [const { Mark(AtomicU64::new(0)) }; 2];
static ENDS: [Mark; 2] = [const { Mark(AtomicU64::new(0)) }; 2];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match &words[..] {
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        ["--marks"] => print_marks(),
        ["--traced", name, operations, dir] => traced(name, operations, Path::new(dir)),
        ["--operations", operations, names @ ..] => count(names, Some(operations)),
        names => count(names, None),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn count(names: &[&str], operations: Option<&str>) -> Result<(), String> {
    let all = Operation::ALL.map(|(name, _)| name);
    for name in if names.is_empty() { &all } else { names } {
        let operation = Operation::named(name).ok_or_else(|| format!("{name} is no operation\n\n{HELP}"))?;
        let default = match operation {
            Operation::Flush | Operation::Compact => "4",
            _ => "200",
        };
        println!("{}", table(operation, operations.unwrap_or(default))?);
    }
    Ok(())
}

/// Runs this program in valgrind. Returns the tables of its trace.
fn table(operation: Operation, operations: &str) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let code = Code::read(&program)?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    // The database is created at full speed: the trace has the reading of it alone.
    drop(Workload::open(operation, Options::default(), dir.path())?);
    let place = dir.path().to_str().ok_or("the directory has no name in UTF-8")?;
    // Valgrind puts a program at the same addresses each time.
    let (base, marks) = parse_marks(&valgrind(
        &["--tool=none", "-q"],
        &program,
        &["--marks"],
        std::io::read_to_string,
    )?)?;
    let is_atomic = |address: u64| address.checked_sub(base).is_some_and(|at| code.is_atomic(at));
    let options = [
        "--tool=lackey",
        "--trace-mem=yes",
        "--basic-counts=no",
        "--log-fd=1",
    ];
    let works = valgrind(
        &options,
        &program,
        &["--traced", operation.name(), operations, place],
        |out| trace::read(out, marks, is_atomic),
    )?;
    if works.iter().any(|work| work.operations == 0) {
        return Err(format!("{}: the trace has no operation", operation.name()));
    }
    let named = works[0].code(&works[1]);
    let in_file = named
        .iter()
        .filter_map(|address| address.checked_sub(base))
        .collect();
    let places = code.places(&in_file)?;
    let places = places
        .into_iter()
        .map(|(address, place)| (address + base, place))
        .collect();
    Ok(report::text(operation.name(), &works, &places))
}

/// Runs the program in valgrind. Returns what `read` makes of the output.
fn valgrind<T>(
    options: &[&str],
    program: &Path,
    args: &[&str],
    read: impl FnOnce(BufReader<ChildStdout>) -> std::io::Result<T>,
) -> Result<T, String> {
    let mut valgrind = Command::new("valgrind")
        .args(options)
        .arg(program)
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("valgrind: {error}"))?;
    let out = valgrind.stdout.take().ok_or("valgrind has no output")?;
    let result = read(BufReader::with_capacity(1 << 20, out)).map_err(|error| error.to_string());
    let status = valgrind.wait().map_err(|error| error.to_string())?;
    match status.success() {
        true => result,
        false => Err(format!("valgrind: {status}")),
    }
}

fn parse_marks(line: &str) -> Result<(u64, Marks), String> {
    let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[base, a, b, c, d]) => Ok((
            base,
            Marks {
                starts: [a, b],
                ends: [c, d],
            },
        )),
        _ => Err(format!(
            "the traced program printed {line:?} instead of its marks"
        )),
    }
}

/// Prints where the program is in memory, and its marks.
fn print_marks() -> Result<(), String> {
    let address = |mark: &Mark| std::ptr::from_ref(&mark.0).addr();
    let marks = STARTS
        .each_ref()
        .map(address)
        .into_iter()
        .chain(ENDS.each_ref().map(address));
    print!("{}", base_address()?);
    marks.for_each(|mark| print!(" {mark}"));
    println!();
    Ok(())
}

/// Runs in valgrind: two threads do the operation in turn, and write to the marks.
fn traced(name: &str, operations: &str, dir: &Path) -> Result<(), String> {
    let operation = Operation::named(name).ok_or_else(|| format!("{name} is no operation"))?;
    let operations: u64 = operations
        .parse()
        .map_err(|_| format!("{operations} is no number"))?;
    let workload = Workload::open(operation, Options::default(), dir)?;
    // Each thread lives until the other one has ended its work: memory that one frees is not the other's.
    let turns: [Barrier; 2] = std::array::from_fn(|_| Barrier::new(2));
    std::thread::scope(|scope| {
        let works: Vec<_> = (0..2_usize)
            .map(|thread| {
                let (workload, turns) = (&workload, &turns);
                scope.spawn(move || {
                    for (turn, ended) in turns.iter().enumerate() {
                        let result = match turn == thread {
                            true => work(workload, thread, operations),
                            false => Ok(()),
                        };
                        ended.wait();
                        result?;
                    }
                    Ok(())
                })
            })
            .collect();
        works.into_iter().try_for_each(|work| match work.join() {
            Ok(result) => result,
            Err(_) => Err("a thread panicked".to_owned()),
        })
    })
}

fn work(workload: &Workload, thread: usize, operations: u64) -> Result<(), String> {
    let warm_up = WARM_UP.min(operations);
    for number in 0..warm_up {
        workload.perform(thread as u64, number)?;
    }
    for number in warm_up..warm_up + operations {
        STARTS[thread].0.store(number, Ordering::Relaxed);
        black_box(workload.perform(thread as u64, number))?;
    }
    ENDS[thread].0.store(operations, Ordering::Relaxed);
    Ok(())
}

/// The address at which the system has loaded this program.
fn base_address() -> Result<u64, String> {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let first = maps
        .lines()
        .find(|line| Path::new(line.split_whitespace().last().unwrap_or("")) == program);
    let start = first.and_then(|line| line.split('-').next());
    start
        .and_then(|start| u64::from_str_radix(start, 16).ok())
        .ok_or_else(|| "/proc/self/maps does not have this program".to_owned())
}
