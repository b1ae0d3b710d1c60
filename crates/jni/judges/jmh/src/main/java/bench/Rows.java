package bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Blackhole;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/** Single rows, batches of keys and scans, each with byte arrays and with direct buffers. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Rows {
  /** The number of rows that are read; puts write to other keys. */
  private static final int ROWS = 200_000;

  private static final int VALUE = 100;

  /** The number of keys of a multiGet. */
  private static final int KEYS = 32;

  /** The number of rows of a scan. */
  private static final int SCAN = 1000;

  private final Random random = new Random(1);
  private Path dir;
  private LRUCache cache;
  private Options options;
  private RocksDB db;
  private ReadOptions read;
  private WriteOptions write;
  private final byte[] key = new byte[16];
  private final byte[] value = new byte[VALUE];
  private final ByteBuffer directKey = ByteBuffer.allocateDirect(16);
  private final ByteBuffer directValue = ByteBuffer.allocateDirect(VALUE);
  private List<ByteBuffer> directKeys;
  private List<ByteBuffer> directValues;

  @Setup(Level.Trial)
  public void open() throws IOException, RocksDBException {
    RocksDB.loadLibrary();
    dir = Files.createTempDirectory("esker-jmh");
    cache = new LRUCache(256 << 20);
    options = new Options().setCreateIfMissing(true).setTableFormatConfig(
        new BlockBasedTableConfig().setBlockCache(cache).setFilterPolicy(new org.rocksdb.BloomFilter(10)));
    db = RocksDB.open(options, dir.toString());
    read = new ReadOptions();
    write = new WriteOptions().setDisableWAL(true);
    random.nextBytes(value);
    for (int number = 0; number < ROWS; number++) {
      fill(number);
      db.put(write, key, value);
    }
    db.compactRange();
    directKeys = new ArrayList<>();
    directValues = new ArrayList<>();
    for (int at = 0; at < KEYS; at++) {
      directKeys.add(ByteBuffer.allocateDirect(16));
      directValues.add(ByteBuffer.allocateDirect(VALUE));
    }
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    write.close();
    read.close();
    db.close();
    options.close();
    cache.close();
    try (Stream<Path> files = Files.walk(dir)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  private void fill(final long number) {
    ByteBuffer.wrap(key).putLong(0, number).putLong(8, number * 0x9E3779B97F4A7C15L);
  }

  private static void fill(final ByteBuffer buffer, final long number) {
    buffer.clear();
    buffer.putLong(number).putLong(number * 0x9E3779B97F4A7C15L).flip();
  }

  @Benchmark
  public void putArray() throws RocksDBException {
    fill(ROWS + random.nextInt(ROWS));
    db.put(write, key, value);
  }

  @Benchmark
  public void putDirect() throws RocksDBException {
    fill(directKey, ROWS + random.nextInt(ROWS));
    directValue.clear();
    db.put(write, directKey, directValue);
  }

  @Benchmark
  public byte[] getArray() throws RocksDBException {
    fill(random.nextInt(ROWS));
    return db.get(read, key);
  }

  @Benchmark
  public int getIntoArray() throws RocksDBException {
    fill(random.nextInt(ROWS));
    return db.get(read, key, value);
  }

  @Benchmark
  public int getDirect() throws RocksDBException {
    fill(directKey, random.nextInt(ROWS));
    directValue.clear();
    return db.get(read, directKey, directValue);
  }

  @Benchmark
  @OperationsPerInvocation(KEYS)
  public List<byte[]> multiGetArray() throws RocksDBException {
    final List<byte[]> keys = new ArrayList<>(KEYS);
    for (int at = 0; at < KEYS; at++) {
      fill(random.nextInt(ROWS));
      keys.add(key.clone());
    }
    return db.multiGetAsList(read, keys);
  }

  @Benchmark
  @OperationsPerInvocation(KEYS)
  public Object multiGetDirect() throws RocksDBException {
    for (int at = 0; at < KEYS; at++) {
      fill(directKeys.get(at), random.nextInt(ROWS));
      directValues.get(at).clear();
    }
    return db.multiGetByteBuffers(read, directKeys, directValues);
  }

  @Benchmark
  @OperationsPerInvocation(SCAN)
  public void iterateArray(final Blackhole sink) throws RocksDBException {
    try (RocksIterator rows = db.newIterator(read)) {
      fill(random.nextInt(ROWS - SCAN));
      rows.seek(key);
      for (int count = 0; count < SCAN && rows.isValid(); count++) {
        sink.consume(rows.key());
        sink.consume(rows.value());
        rows.next();
      }
      rows.status();
    }
  }

  @Benchmark
  @OperationsPerInvocation(SCAN)
  public void iterateDirect(final Blackhole sink) throws RocksDBException {
    try (RocksIterator rows = db.newIterator(read)) {
      fill(directKey, random.nextInt(ROWS - SCAN));
      rows.seek(directKey);
      for (int count = 0; count < SCAN && rows.isValid(); count++) {
        directKey.clear();
        directValue.clear();
        sink.consume(rows.key(directKey));
        sink.consume(rows.value(directValue));
        rows.next();
      }
      rows.status();
    }
  }
}
