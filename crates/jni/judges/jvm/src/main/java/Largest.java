import java.util.Arrays;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** Arrays of the largest size that HotSpot has, 2^31 - 3. Needs 8 GiB of heap and as much outside of it. */
public final class Largest {
  private static final int SIZE = Integer.MAX_VALUE - 2;

  public static void main(final String[] args) throws Exception {
    RocksDB.loadLibrary();
    Check.run("value_of_the_largest_array", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          WriteOptions write = new WriteOptions().setDisableWAL(true);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        final byte[] value = new byte[SIZE];
        value[0] = 1;
        value[SIZE - 1] = 2;
        db.put(write, Check.bytes("key"), value);
        Check.equal(true, Arrays.equals(value, db.get(Check.bytes("key"))));
      }
    });

    Check.run("key_of_the_largest_array", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          WriteOptions write = new WriteOptions().setDisableWAL(true);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        final byte[] key = new byte[SIZE];
        key[SIZE - 1] = 1;
        try {
          db.put(write, key, Check.bytes("value"));
          Check.equal("value", Check.text(db.get(key)));
        } catch (final RocksDBException refused) {
          Check.equal("InvalidArgument", refused.getStatus().getCode());
        }
        Check.equal(null, db.get(Check.bytes("key")));
      }
    });

    Check.run("batch_of_two_of_the_largest_arrays", dir -> {
      try (Options options = new Options().setCreateIfMissing(true);
          WriteOptions write = new WriteOptions().setDisableWAL(true);
          RocksDB db = RocksDB.open(options, dir.toString()); WriteBatch batch = new WriteBatch()) {
        final byte[] value = new byte[SIZE];
        batch.put(Check.bytes("a"), value);
        batch.put(Check.bytes("b"), value);
        try {
          db.write(write, batch);
          Check.equal(SIZE, db.get(Check.bytes("b")).length);
        } catch (final RocksDBException refused) {
          System.err.println(refused.getMessage());
        }
        db.put(write, Check.bytes("c"), Check.bytes("value"));
        Check.equal("value", Check.text(db.get(Check.bytes("c"))));
      }
    });
    System.exit(0);
  }
}
