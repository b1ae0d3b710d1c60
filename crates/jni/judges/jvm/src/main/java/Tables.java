import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import org.rocksdb.Env;
import org.rocksdb.EnvOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.Range;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.SstFileManager;
import org.rocksdb.SstFileReader;
import org.rocksdb.SstFileReaderIterator;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Status;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteOptions;

/** Tables outside of a database, managers of table files, row caches, and looks into memtables and waits. */
public final class Tables {
  public static void main(final String[] args) throws Exception {
    RocksDB.loadLibrary();
    readers();
    managers();
    reads();
    waits();
    System.exit(0);
  }

  private static String table(final Path dir, final Options options) throws RocksDBException {
    final String file = dir.resolve("rows.sst").toString();
    try (EnvOptions env = new EnvOptions(); SstFileWriter writer = new SstFileWriter(env, options)) {
      writer.open(file);
      for (int number = 100; number < 200; number++) {
        writer.put(Check.bytes("k" + number), Check.bytes("value " + number));
      }
      writer.finish();
    }
    return file;
  }

  private static void readers() throws Exception {
    Check.run("table_read_outside_of_a_database", dir -> {
      try (Options options = new Options();
          ReadOptions read = new ReadOptions();
          SstFileReader reader = new SstFileReader(options)) {
        // RocksDB's library ends the JVM there.
        Check.fails(IllegalStateException.class, () -> reader.newIterator(read));
        Check.fails(IllegalStateException.class, () -> reader.verifyChecksum());
        Check.fails(RocksDBException.class, () -> reader.open(dir.resolve("none.sst").toString()));
        reader.open(table(dir, options));
        reader.verifyChecksum();
        Check.equal(100, reader.getTableProperties().getNumEntries());
        final SstFileReaderIterator rows = reader.newIterator(read);
        int count = 0;
        for (rows.seekToLast(); rows.isValid(); rows.prev()) {
          count++;
        }
        rows.status();
        Check.equal(100, count);
        rows.seek(Check.bytes("k150"));
        Check.equal("value 150", Check.text(rows.value()));
        rows.seekForPrev(Check.bytes("k1505"));
        final ByteBuffer direct = ByteBuffer.allocateDirect(16);
        Check.equal(4, rows.key(direct));
        Check.equal('0', (char) direct.get(3));
        Check.fails(Status.Code.NotSupported, () -> rows.refresh());
        final SstFileReaderIterator closed = reader.newIterator(read);
        closed.close();
        Check.fails(IllegalStateException.class, () -> closed.next());
        // An iterator outlives its reader.
        reader.close();
        rows.next();
        Check.equal("k151", Check.text(rows.key()));
        rows.close();
      }
    });
  }

  private static void fill(final RocksDB db, final int from) throws RocksDBException {
    try (FlushOptions flush = new FlushOptions()) {
      for (int number = from; number < from + 100; number++) {
        db.put(Check.bytes("k" + number), new byte[1000]);
      }
      db.flush(flush);
    }
  }

  private static void managers() throws Exception {
    Check.run("manager_of_table_files", dir -> {
      try (SstFileManager manager = new SstFileManager(Env.getDefault());
          Options options = new Options().setCreateIfMissing(true).setSstFileManager(manager)) {
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          fill(db, 100);
          final Map<String, Long> files = manager.getTrackedFiles();
          Check.equal(db.getLiveFilesMetaData().size(), files.size());
          long bytes = 0;
          for (final long size : files.values()) {
            bytes += size;
          }
          Check.equal(bytes, manager.getTotalSize());
          Check.equal(true, bytes > 0);
          manager.setMaxAllowedSpaceUsage(1);
          Check.equal(true, manager.isMaxAllowedSpaceReached());
          Check.fails(RocksDBException.class, () -> {
            fill(db, 200);
            fill(db, 300);
          });
        }
        Check.equal(0, manager.getTrackedFiles().size());
      }
    });

    Check.run("manager_closed_before_its_database", dir -> {
      final SstFileManager manager = new SstFileManager(Env.getDefault());
      try (Options options = new Options().setCreateIfMissing(true).setSstFileManager(manager);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        manager.close();
        Check.fails(RuntimeException.class, () -> manager.getTotalSize());
        Check.fails(RuntimeException.class, () -> options.setSstFileManager(manager));
        fill(db, 100);
        Check.equal(1000, db.get(Check.bytes("k150")).length);
      }
      Check.fails(RocksDBException.class, () -> new SstFileManager(Env.getDefault(), null, 0, -1.0));
    });
  }

  private static void reads() throws Exception {
    Check.run("row_cache_is_filled_by_gets", dir -> {
      try (LRUCache rows = new LRUCache(1 << 20);
          Options options = new Options().setCreateIfMissing(true).setRowCache(rows);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        fill(db, 100);
        Check.equal(0, rows.getUsage());
        for (int number = 100; number < 200; number++) {
          Check.equal(1000, db.get(Check.bytes("k" + number)).length);
        }
        Check.equal(true, rows.getUsage() > 100 * 1000);
      }
    });

    Check.run("pinned_data_and_a_time_limit_of_reads", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          RocksDB db = RocksDB.open(options, dir.toString());
          ReadOptions read = new ReadOptions().setPinData(true).setIoTimeout(10_000_000)) {
        fill(db, 100);
        Check.equal(true, read.pinData());
        Check.equal(10_000_000, read.ioTimeout());
        try (RocksIterator row = db.newIterator(read)) {
          row.seekToFirst();
          Check.equal("k100", Check.text(row.key()));
        }
        Check.equal(1000, db.get(read, Check.bytes("k100")).length);
      }
    });

    Check.run("entries_of_memtables_are_counted", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          RocksDB db = RocksDB.open(options, dir.toString());
          Slice begin = new Slice("k110");
          Slice end = new Slice("k120");
          FlushOptions flush = new FlushOptions()) {
        for (int number = 100; number < 200; number++) {
          db.put(Check.bytes("k" + number), new byte[1000]);
        }
        final Range range = new Range(begin, end);
        Check.equal(10, db.getApproximateMemTableStats(range).count);
        Check.equal(true, db.getApproximateMemTableStats(range).size > 10_000);
        db.flush(flush);
        Check.equal(0, db.getApproximateMemTableStats(range).count);
      }
    });
  }

  private static void waits() throws Exception {
    Check.run("another_thread_sees_what_a_transaction_waits_for", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          TransactionDBOptions locks = new TransactionDBOptions().setTransactionLockTimeout(-1);
          TransactionDB db = TransactionDB.open(options, locks, dir.toString());
          WriteOptions write = new WriteOptions();
          Transaction holder = db.beginTransaction(write);
          Transaction waiter = db.beginTransaction(write)) {
        holder.put(Check.bytes("a"), Check.bytes("1"));
        Check.equal(0, waiter.getWaitingTxns().getTransactionIds().length);
        final Thread thread = new Thread(() -> {
          try {
            waiter.put(Check.bytes("a"), Check.bytes("2"));
            waiter.commit();
          } catch (final RocksDBException error) {
            error.printStackTrace();
          }
        });
        thread.start();
        while (waiter.getWaitingTxns().getTransactionIds().length == 0) {
          Thread.onSpinWait();
        }
        final Transaction.WaitingTransactions found = waiter.getWaitingTxns();
        Check.equal(holder.getId(), found.getTransactionIds()[0]);
        Check.equal("a", found.getKey());
        holder.commit();
        thread.join();
        Check.equal(0, waiter.getWaitingTxns().getTransactionIds().length);
        Check.equal("2", Check.text(db.get(Check.bytes("a"))));
      }
    });
  }
}
