import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.rocksdb.AbstractComparator;
import org.rocksdb.AbstractCompactionFilter;
import org.rocksdb.AbstractCompactionFilterFactory;
import org.rocksdb.AbstractTransactionNotifier;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Options;
import org.rocksdb.RemoveEmptyValueCompactionFilter;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.Status;
import org.rocksdb.Transaction;
import org.rocksdb.WriteOptions;

/** Errors of the JVM in the middle of calls, a disk that is full, and what a closed database leaves behind. */
public final class Errors {
  private static final byte[] KEY = Check.bytes("key");
  private static final byte[] VALUE = Check.bytes("value");

  public static void main(final String[] args) throws Exception {
    RocksDB.loadLibrary();
    if (args.length == 3 && args[0].equals("fill")) {
      fill(args[1], Boolean.parseBoolean(args[2]));
      return;
    }
    memory();
    callbacks();
    disk();
    close();
    System.exit(0);
  }

  private static void memory() throws Exception {
    Check.run("memory_exhausted_in_an_iteration", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        final byte[] value = new byte[16 << 20];
        for (int number = 0; number < 4; number++) {
          db.put(Check.bytes("k" + number), value);
        }
        try (RocksIterator rows = db.newIterator()) {
          final List<byte[]> held = new ArrayList<>();
          rows.seekToFirst();
          Check.fails(OutOfMemoryError.class, () -> {
            for (int turn = 0; turn < 100; turn++) {
              held.add(rows.value());
            }
          });
          held.clear();
          int count = 0;
          for (; rows.isValid(); rows.next()) {
            Check.equal(value.length, rows.value().length);
            count++;
          }
          rows.status();
          Check.equal(4, count);
        }
      }
    });

    for (final Error error : new Error[] {new OutOfMemoryError("of a check"), new StackOverflowError("of a check")}) {
      Check.run("comparator_that_throws_" + error.getClass().getSimpleName(), dir -> {
        try (ComparatorOptions of = new ComparatorOptions();
            AbstractComparator comparator = new AbstractComparator(of) {
              @Override
              public String name() {
                return "judge.Errors";
              }

              @Override
              public int compare(final java.nio.ByteBuffer a, final java.nio.ByteBuffer b) {
                if (a.get(a.position()) == '!' || b.get(b.position()) == '!') {
                  throw error;
                }
                return a.compareTo(b);
              }
            };
            Options options = new Options().setCreateIfMissing(true).setComparator(comparator);
            RocksDB db = RocksDB.open(options, dir.toString())) {
          db.put(KEY, VALUE);
          Check.fails(RocksDBException.class, () -> db.get(Check.bytes("!")));
          Check.equal("value", Check.text(db.get(KEY)));
        }
      });
    }
  }

  private static void callbacks() throws Exception {
    Check.run("logger_that_throws", dir -> {
      final AtomicInteger calls = new AtomicInteger();
      try (Logger logger = new Logger(InfoLogLevel.DEBUG_LEVEL) {
        @Override
        protected void log(final InfoLogLevel level, final String line) {
          calls.incrementAndGet();
          throw new IllegalStateException("thrown by a logger, as the check wants");
        }
      };
          Options options = new Options().setCreateIfMissing(true).setLogger(logger);
          FlushOptions flush = new FlushOptions();
          RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put(KEY, VALUE);
        db.flush(flush);
        Check.equal("value", Check.text(db.get(KEY)));
        Check.equal(true, calls.get() > 0);
      }
    });

    Check.run("filter_factory_that_throws", dir -> {
      final AtomicInteger calls = new AtomicInteger();
      try (AbstractCompactionFilterFactory<RemoveEmptyValueCompactionFilter> factory =
              new AbstractCompactionFilterFactory<RemoveEmptyValueCompactionFilter>() {
                @Override
                public RemoveEmptyValueCompactionFilter createCompactionFilter(
                    final AbstractCompactionFilter.Context context) {
                  calls.incrementAndGet();
                  throw new IllegalStateException("thrown by a factory, as the check wants");
                }

                @Override
                public String name() {
                  return "judge.Throwing";
                }
              };
          Options options = new Options().setCreateIfMissing(true).setCompactionFilterFactory(factory);
          FlushOptions flush = new FlushOptions();
          RocksDB db = RocksDB.open(options, dir.toString())) {
        for (int turn = 0; turn < 2; turn++) {
          db.put(KEY, VALUE);
          db.put(Check.bytes("empty"), new byte[0]);
          db.flush(flush);
        }
        db.compactRange();
        Check.equal(true, calls.get() > 0);
        Check.equal("value", Check.text(db.get(KEY)));
        Check.equal(0, db.get(Check.bytes("empty")).length);
      }
    });

    Check.run("transaction_notifier_that_throws", dir -> {
      final AtomicInteger calls = new AtomicInteger();
      try (AbstractTransactionNotifier notifier = new AbstractTransactionNotifier() {
        @Override
        public void snapshotCreated(final Snapshot snapshot) {
          calls.incrementAndGet();
          throw new IllegalStateException("thrown by a notifier, as the check wants");
        }
      };
          Options options = new Options().setCreateIfMissing(true);
          OptimisticTransactionDB db = OptimisticTransactionDB.open(options, dir.toString());
          WriteOptions write = new WriteOptions();
          Transaction transaction = db.beginTransaction(write)) {
        transaction.setSnapshotOnNextOperation(notifier);
        transaction.put(KEY, VALUE);
        Check.equal(1, calls.get());
        transaction.commit();
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });
  }

  /** Writes rows until a write fails, prints the number of each row that is written, and the code of the error. */
  private static void fill(final String dir, final boolean mapped) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setAllowMmapWrites(mapped);
        RocksDB db = RocksDB.open(options, dir)) {
      for (int number = 0;; number++) {
        db.put(Check.bytes(String.format("%08d", number)), new byte[4096]);
        System.out.println(number);
      }
    } catch (final RocksDBException error) {
      System.out.println("code " + error.getStatus().getCode());
      System.out.flush();
      System.exit(0);
    }
  }

  private static void disk() throws Exception {
    for (final boolean mapped : new boolean[] {false, true}) {
      Check.run("disk_full_mapped_" + mapped, dir -> {
        // A limit on the size of files simulates a full disk.
        final String java = System.getProperty("java.home") + "/bin/java";
        final ProcessBuilder child = new ProcessBuilder("bash", "-c",
            "ulimit -f 2048; exec \"$0\" \"$@\"", java, "-XX:-UsePerfData",
            "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp",
            System.getProperty("java.class.path"), "Errors", "fill", dir.toString(), Boolean.toString(mapped));
        final Process running = child.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        int written = -1;
        String code = null;
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(running.getInputStream()))) {
          for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith("code ")) {
              code = line;
            } else {
              written = Integer.parseInt(line);
            }
          }
        }
        Check.equal(0, running.waitFor());
        Check.equal("code " + Status.Code.IOError, code);
        Check.equal(true, written > 100);
        try (Options options = new Options(); RocksDB db = RocksDB.open(options, dir.toString())) {
          for (int number = 0; number <= written; number++) {
            if (db.get(Check.bytes(String.format("%08d", number))) == null) {
              throw new AssertionError("row " + number + " of " + written + " is lost");
            }
          }
        }
      });
    }
  }

  /** Returns the names of this process's native threads. */
  private static List<String> threads() throws Exception {
    final List<String> names = new ArrayList<>();
    try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
      for (final Path task : (Iterable<Path>) tasks::iterator) {
        try {
          names.add(Check.text(Files.readAllBytes(task.resolve("comm"))).trim());
        } catch (final java.io.IOException ended) {
          // A thread that cannot be read has ended since it was listed.
        }
      }
    }
    return names;
  }

  private static void close() throws Exception {
    Check.run("nothing_is_left_after_close", dir -> {
      try (Options options = new Options().setCreateIfMissing(true).setAllowMmapReads(true).setAllowMmapWrites(true);
          FlushOptions flush = new FlushOptions()) {
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          for (int number = 0; number < 1000; number++) {
            db.put(Check.bytes("key" + number), VALUE);
          }
          db.flush(flush);
          db.compactRange();
          Check.equal("value", Check.text(db.get(Check.bytes("key7"))));
          Check.equal(true, threads().stream().anyMatch(Errors::isOurs));
        }
      }
      final String maps = Check.text(Files.readAllBytes(Paths.get("/proc/self/maps")));
      Check.equal(false, maps.contains(dir.toString()));
      try (Stream<Path> files = Files.list(Paths.get("/proc/self/fd"))) {
        for (final Path file : (Iterable<Path>) files::iterator) {
          if (Files.isSymbolicLink(file)) {
            Check.equal(false, Files.readSymbolicLink(file).startsWith(dir));
          }
        }
      }
      final List<String> left = new ArrayList<>(threads());
      left.removeIf(name -> !isOurs(name));
      Check.equal(new ArrayList<String>(), left);
    });
  }

  private static boolean isOurs(final String thread) {
    return Arrays.asList("esker", "rocksdb").stream().anyMatch(thread::startsWith);
  }
}
