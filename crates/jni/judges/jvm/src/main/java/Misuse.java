import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.rocksdb.AbstractComparator;
import org.rocksdb.AbstractEventListener;
import org.rocksdb.AbstractTableFilter;
import org.rocksdb.AbstractTraceWriter;
import org.rocksdb.AbstractWalFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushJobInfo;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.RocksObject;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;
import org.rocksdb.Statistics;
import org.rocksdb.Status;
import org.rocksdb.TableProperties;
import org.rocksdb.TraceOptions;
import org.rocksdb.WalProcessingOption;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** Wrong use of the classes: each case ends in an exception, and the JVM and the data remain intact. */
public final class Misuse {
  private static final byte[] KEY = Check.bytes("key");
  private static final byte[] VALUE = Check.bytes("value");

  /** Calls a native method directly, without the checks that Java makes before it. */
  private static Object call(final Class<?> owner, final String name, final Object... arguments) throws Throwable {
    for (final Method method : owner.getDeclaredMethods()) {
      if (!method.getName().equals(name) || !java.lang.reflect.Modifier.isNative(method.getModifiers())) {
        continue;
      }
      final Class<?>[] types = method.getParameterTypes();
      boolean fits = types.length == arguments.length;
      for (int i = 0; fits && i < types.length; i++) {
        fits = arguments[i] == null ? !types[i].isPrimitive()
            : types[i] == long.class    ? arguments[i] instanceof Long
            : types[i] == int.class     ? arguments[i] instanceof Integer
                                        : types[i].isInstance(arguments[i]);
      }
      if (fits) {
        method.setAccessible(true);
        return method.invoke(null, arguments);
      }
    }
    throw new AssertionError("no native method " + name);
  }

  private static long handle(final RocksObject object) {
    return object.getNativeHandle();
  }

  private static RocksDB open(final Path dir) throws RocksDBException {
    try (Options options = new Options().setCreateIfMissing(true)) {
      return RocksDB.open(options, dir.toString());
    }
  }

  public static void main(final String[] args) throws Exception {
    RocksDB.loadLibrary();
    if (args.length == 2 && args[0].equals("load")) {
      load(args[1]);
      return;
    }
    arguments();
    closing();
    callbacks();
    processes(args);
    System.exit(0);
  }

  private static void arguments() throws Exception {
    Check.run("wrong_handles", dir -> {
      try (RocksDB db = open(dir); Options options = new Options(); RocksIterator rows = db.newIterator()) {
        for (final long wrong : new long[] {0, 1, -1, 7, Long.MAX_VALUE, Long.MIN_VALUE, handle(options)}) {
          Check.fails(Status.Code.InvalidArgument, () -> call(RocksDB.class, "get", wrong, KEY, 0, 3));
          Check.fails(Status.Code.InvalidArgument, () -> call(RocksDB.class, "put", wrong, KEY, 0, 3, VALUE, 0, 5));
          Check.fails(IllegalStateException.class, () -> call(RocksIterator.class, "isValid0Jni", wrong));
          call(RocksDB.class, "disposeInternalJni", wrong == handle(options) ? 0L : wrong);
        }
        // The handle of an options object is refused in the place of a family's handle.
        Check.fails(Status.Code.InvalidArgument,
            () -> call(RocksDB.class, "get", handle(db), KEY, 0, 3, handle(options)));
        Check.equal(false, rows.isValid());
      }
    });

    Check.run("nulls_and_offsets", dir -> {
      try (RocksDB db = open(dir)) {
        db.put(KEY, VALUE);
        final long h = handle(db);
        Check.fails(NullPointerException.class, () -> db.get((byte[]) null));
        Check.fails(NullPointerException.class, () -> call(RocksDB.class, "get", h, null, 0, 3));
        Check.fails(NullPointerException.class, () -> call(RocksDB.class, "put", h, KEY, 0, 3, null, 0, 5));
        final int[][] regions = {{-1, 3}, {2, 100}, {0, -1}, {3, 1}, {0, Integer.MAX_VALUE - 2},
            {Integer.MAX_VALUE, Integer.MAX_VALUE}, {Integer.MIN_VALUE, 1}, {1, Integer.MIN_VALUE}};
        for (final int[] region : regions) {
          final int at = region[0];
          final int length = region[1];
          final Class<? extends Throwable> bounds = ArrayIndexOutOfBoundsException.class;
          Check.fails(bounds, () -> call(RocksDB.class, "get", h, KEY, at, length));
          final int beyond = length < 0 ? length : length + 5;
          Check.fails(bounds, () -> call(RocksDB.class, "put", h, KEY, 0, 3, VALUE, at, beyond));
          Check.fails(IndexOutOfBoundsException.class, () -> db.get(KEY, at, length));
        }
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });

    Check.run("buffers", dir -> {
      try (RocksDB db = open(dir); ReadOptions read = new ReadOptions()) {
        final ByteBuffer direct = ByteBuffer.allocateDirect(8);
        final ByteBuffer heap = ByteBuffer.allocate(8);
        final long h = handle(db);
        final Class<? extends Throwable> refused = IllegalArgumentException.class;
        Check.fails(refused, () -> call(RocksDB.class, "getDirect", h, handle(read), heap, 0, 8, direct, 0, 8, 0L));
        Check.fails(refused, () -> call(RocksDB.class, "getDirect", h, handle(read), direct, 4, 8, direct, 0, 8, 0L));
        Check.fails(refused, () -> call(RocksDB.class, "getDirect", h, handle(read), direct, -1, 8, direct, 0, 8, 0L));
        Check.fails(NullPointerException.class,
            () -> call(RocksDB.class, "getDirect", h, handle(read), null, 0, 8, direct, 0, 8, 0L));
      }
    });

    Check.run("codes", dir -> {
      try (RocksDB db = open(dir)) {
        Check.fails(Status.Code.NotFound, () -> db.getProperty("rocksdb.no-such-property"));
        Check.fails(Status.Code.InvalidArgument, () -> db.setOptions(
            org.rocksdb.MutableColumnFamilyOptions.builder().setMaxWriteBufferNumber(-7).build()));
        Check.fails(Status.Code.IOError, () -> open(dir));
        try (Options options = new Options().setCreateIfMissing(true).setTableFormatConfig(
                 new org.rocksdb.BlockBasedTableConfig().setFormatVersion(100))) {
          // Spark looks for these words.
          try {
            RocksDB.open(options, dir.resolve("format").toString()).close();
            throw new AssertionError("format_version 100 was taken");
          } catch (final RocksDBException refused) {
            Check.equal(true, refused.getMessage().contains("Unsupported BlockBasedTable format_version"));
          }
        }
        try (Options missing = new Options()) {
          Check.fails(Status.Code.InvalidArgument, () -> RocksDB.open(missing, dir.resolve("no").toString()));
        }
        Check.fails(Status.Code.InvalidArgument, () -> db.dropColumnFamily(db.getDefaultColumnFamily()));
      }
    });

    Check.run("memory_exhausted", dir -> {
      final int size = 48 << 20;
      try (RocksDB db = open(dir); WriteOptions write = new WriteOptions()) {
        final ByteBuffer key = ByteBuffer.allocateDirect(3).put(KEY);
        key.flip();
        final ByteBuffer value = ByteBuffer.allocateDirect(size);
        db.put(write, key, value);
        final List<byte[]> held = new ArrayList<>();
        Check.fails(OutOfMemoryError.class, () -> {
          for (int turn = 0; turn < 100; turn++) {
            held.add(db.get(KEY));
          }
        });
        held.clear();
        Check.fails(OutOfMemoryError.class, () -> db.multiGetAsList(Collections.nCopies(16, KEY)));
        db.put(Check.bytes("b"), VALUE);
        Check.equal("value", Check.text(db.get(Check.bytes("b"))));
      }
    });
  }

  private static void closing() throws Exception {
    Check.run("closed_twice_and_in_any_order", dir -> {
      final Options options = new Options().setCreateIfMissing(true).setStatistics(new Statistics());
      final RocksDB db = RocksDB.open(options, dir.toString());
      final ColumnFamilyHandle family =
          db.createColumnFamily(new ColumnFamilyDescriptor(Check.bytes("f"), new ColumnFamilyOptions()));
      db.put(family, KEY, VALUE);
      final Snapshot snapshot = db.getSnapshot();
      final ReadOptions read = new ReadOptions().setSnapshot(snapshot);
      final RocksIterator rows = db.newIterator(family, read);
      final WriteBatch batch = new WriteBatch();
      final Slice slice = new Slice("bound");
      final long h = handle(db);
      options.close();
      read.close();
      db.close();
      db.close();
      call(RocksDB.class, "disposeInternalJni", h);
      Check.fails(Status.Code.InvalidArgument, () -> call(RocksDB.class, "get", h, KEY, 0, 3));
      rows.seekToFirst();
      family.close();
      family.close();
      rows.close();
      rows.close();
      call(RocksIterator.class, "disposeInternalJni", handle(rows));
      Check.fails(IllegalStateException.class, () -> call(RocksIterator.class, "isValid0Jni", handle(rows)));
      batch.close();
      batch.close();
      slice.close();
      slice.close();
      call(RocksDB.class, "releaseSnapshot", h, handle(snapshot));
      try (RocksDB again = open2(dir)) {
        Check.equal("value", Check.text(again.get(again.getDefaultColumnFamily(), Check.bytes("again"))));
      }
    });

    Check.run("closed_under_32_threads", dir -> {
      for (int turn = 0; turn < 3; turn++) {
        final RocksDB db = open(dir);
        db.put(KEY, VALUE);
        final long h = handle(db);
        final CountDownLatch running = new CountDownLatch(32);
        final AtomicInteger refused = new AtomicInteger();
        final AtomicReference<Throwable> other = new AtomicReference<>();
        final List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 32; number++) {
          final int kind = number % 4;
          final Thread thread = new Thread(() -> {
            try {
              for (int step = 0;; step++) {
                if (step == 20) {
                  running.countDown();
                }
                work(db, kind);
              }
            } catch (final RocksDBException | IllegalStateException closed) {
              refused.incrementAndGet();
            } catch (final Throwable thrown) {
              other.set(thrown);
            }
          });
          threads.add(thread);
          thread.start();
        }
        running.await();
        db.close();
        for (final Thread thread : threads) {
          thread.join();
        }
        if (other.get() != null) {
          throw new AssertionError(other.get());
        }
        Check.equal(32, refused.get());
        Check.fails(Status.Code.InvalidArgument, () -> call(RocksDB.class, "get", h, KEY, 0, 3));
      }
      try (RocksDB db = open(dir)) {
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });
  }

  /** Opens the database with the family that the check has created, and writes a row to find later. */
  private static RocksDB open2(final Path dir) throws RocksDBException {
    final List<ColumnFamilyHandle> families = new ArrayList<>();
    final RocksDB db = RocksDB.open(new DBOptions(), dir.toString(),
        Arrays.asList(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY),
            new ColumnFamilyDescriptor(Check.bytes("f"))),
        families);
    Check.equal("value", Check.text(db.get(families.get(1), KEY)));
    db.put(Check.bytes("again"), VALUE);
    return db;
  }

  private static void work(final RocksDB db, final int kind) throws RocksDBException {
    switch (kind) {
      case 0:
        db.put(KEY, VALUE);
        break;
      case 1:
        Check.equal("value", Check.text(db.get(KEY)));
        break;
      case 2:
        try (RocksIterator rows = db.newIterator()) {
          rows.seekToFirst();
          rows.status();
        }
        break;
      default:
        try (WriteBatch batch = new WriteBatch(); WriteOptions write = new WriteOptions()) {
          batch.put(KEY, VALUE);
          db.write(write, batch);
        }
    }
  }

  private static final class Thrown extends RuntimeException {
    Thrown() {
      super("thrown by a callback, as the check wants");
    }
  }

  private static void callbacks() throws Exception {
    Check.run("batch_handler_that_throws", dir -> {
      try (WriteBatch batch = new WriteBatch()) {
        batch.put(KEY, VALUE);
        Check.fails(IllegalStateException.class, () -> batch.iterate(new ThrowingHandler()));
        batch.put(KEY, VALUE);
        Check.equal(2, batch.count());
      }
    });

    Check.run("comparator_that_throws", dir -> {
      final AtomicInteger calls = new AtomicInteger();
      try (ComparatorOptions of = new ComparatorOptions();
          AbstractComparator comparator = new AbstractComparator(of) {
            @Override
            public String name() {
              return "judge.Throwing";
            }

            @Override
            public int compare(final ByteBuffer a, final ByteBuffer b) {
              if (a.get(a.position()) == '!' || b.get(b.position()) == '!') {
                calls.incrementAndGet();
                throw new Thrown();
              }
              return a.compareTo(b);
            }
          };
          Options options = new Options().setCreateIfMissing(true).setComparator(comparator)) {
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          db.put(Check.bytes("a"), VALUE);
          db.put(Check.bytes("b"), VALUE);
          Check.fails(RocksDBException.class, () -> db.get(Check.bytes("!")));
          Check.equal("value", Check.text(db.get(Check.bytes("a"))));
        }
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          Check.equal("value", Check.text(db.get(Check.bytes("b"))));
        }
        if (calls.get() == 0) {
          throw new AssertionError("the comparator was not called");
        }
      }
    });

    Check.run("listener_that_throws", dir -> {
      final AtomicInteger calls = new AtomicInteger();
      try (AbstractEventListener listener = new AbstractEventListener() {
        @Override
        public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
          calls.incrementAndGet();
          throw new Thrown();
        }
      };
          Options options = new Options().setCreateIfMissing(true).setListeners(Collections.singletonList(listener));
          RocksDB db = RocksDB.open(options, dir.toString());
          FlushOptions flush = new FlushOptions()) {
        for (int turn = 1; turn <= 3; turn++) {
          db.put(KEY, VALUE);
          db.flush(flush);
        }
        Check.equal(3, calls.get());
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });

    Check.run("wal_filter_that_throws", dir -> {
      try (RocksDB db = open(dir)) {
        db.put(KEY, VALUE);
      }
      try (AbstractWalFilter filter = new AbstractWalFilter() {
        @Override
        public void columnFamilyLogNumberMap(final Map<Integer, Long> logs, final Map<String, Integer> ids) {}

        @Override
        public LogRecordFoundResult logRecordFound(
            final long log, final String file, final WriteBatch batch, final WriteBatch changed) {
          if (batch.count() > 0) {
            throw new Thrown();
          }
          return new LogRecordFoundResult(WalProcessingOption.CONTINUE_PROCESSING, false);
        }

        @Override
        public String name() {
          return "judge.WalFilter";
        }
      };
          Options options = new Options().setWalFilter(filter)) {
        Check.fails(Status.Code.NotSupported, () -> RocksDB.open(options, dir.toString()));
      }
      try (RocksDB db = open(dir)) {
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });

    Check.run("table_filter_that_throws", dir -> {
      try (AbstractTableFilter filter = new AbstractTableFilter() {
        @Override
        public boolean filter(final TableProperties properties) {
          throw new Thrown();
        }
      };
          RocksDB db = open(dir); ReadOptions read = new ReadOptions().setTableFilter(filter);
          FlushOptions flush = new FlushOptions()) {
        db.put(KEY, VALUE);
        db.flush(flush);
        try (RocksIterator rows = db.newIterator(read)) {
          rows.seekToFirst();
          Check.equal(true, rows.isValid());
        }
      }
    });

    Check.run("trace_writer_that_throws", dir -> {
      try (RocksDB db = open(dir); AbstractTraceWriter writer = new AbstractTraceWriter() {
        private int records;

        @Override
        public void write(final Slice data) {
          if (++records > 2) {
            throw new Thrown();
          }
        }

        @Override
        public void closeWriter() {}

        @Override
        public long getFileSize() {
          return 0;
        }
      }) {
        db.startTrace(new TraceOptions(), writer);
        for (int turn = 0; turn < 4; turn++) {
          db.put(KEY, VALUE);
        }
        Check.fails(Status.Code.IOError, db::endTrace);
        Check.equal("value", Check.text(db.get(KEY)));
      }
    });
  }

  /** Writes rows until the process is killed, and prints the number of each durable row. */
  private static void load(final String dir) throws Exception {
    try (RocksDB db = open(java.nio.file.Paths.get(dir)); WriteOptions write = new WriteOptions()) {
      for (int number = 0;; number++) {
        db.put(write, Check.bytes(String.format("%08d", number)), new byte[100]);
        System.out.println(number);
      }
    }
  }

  private static void processes(final String[] path) throws Exception {
    Check.run("killed_under_load", dir -> {
      int safe = -1;
      for (int turn = 0; turn < 2; turn++) {
        final List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + "/bin/java");
        command.add("-Djava.library.path=" + System.getProperty("java.library.path"));
        command.addAll(Arrays.asList("-cp", System.getProperty("java.class.path"), "Misuse", "load", dir.toString()));
        final Process child =
            new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(child.getInputStream()))) {
          for (int count = 0; count < 2000; count++) {
            final String line = lines.readLine();
            if (line == null) {
              throw new AssertionError("the child has ended");
            }
            safe = Math.max(safe, Integer.parseInt(line));
          }
          child.destroyForcibly().waitFor();
        }
        try (RocksDB db = open(dir)) {
          for (int number = 0; number <= safe; number++) {
            if (db.get(Check.bytes(String.format("%08d", number))) == null) {
              throw new AssertionError("row " + number + " of " + safe + " is lost");
            }
          }
        }
      }
    });
  }
}
