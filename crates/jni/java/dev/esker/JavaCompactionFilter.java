package dev.esker;

import org.rocksdb.AbstractCompactionFilter;
import org.rocksdb.Slice;

/**
 * A compaction filter in Java: for {@code setCompactionFilter} of the options of org.rocksdb, and for the
 * filters that an {@code AbstractCompactionFilterFactory} creates.
 *
 * <p>The threads of compactions and flushes call its method, several at a time if one filter serves all
 * compactions. The method must not call the database. An exception in it is printed, and the row stays as it
 * is.
 */
public abstract class JavaCompactionFilter extends AbstractCompactionFilter<Slice> {
  /** The kind of a row that a filter sees. */
  public enum Kind {
    /** A value. */
    VALUE,
    /** An operand of a merge. */
    MERGE_OPERAND,
    /** A wide-column entity, in RocksDB's form. */
    ENTITY
  }

  private static final Kind[] KINDS = Kind.values();

  /**
   * Creates a filter.
   *
   * @param name the name of the filter, for the LOG
   */
  protected JavaCompactionFilter(final String name) {
    super(create(name));
    bind(nativeHandle_);
  }

  /**
   * Decides about a row. The library calls it for the newest row of each key, and for each operand of a
   * merge.
   *
   * @param level the level that is compacted
   * @param key the key
   * @param kind the kind of the row
   * @param value the value of the row
   * @return the decision
   */
  protected abstract Decision filter(int level, byte[] key, Kind kind, byte[] value);

  /**
   * Called by the library. Returns the decision's number, and stores its bytes in {@code bytes} if it has
   * any.
   */
  private byte decide(
      final int level, final byte[] key, final int kind, final byte[] value, final byte[][] bytes) {
    final Decision decision = filter(level, key, KINDS[kind], value);
    bytes[0] = decision.bytes;
    return decision.number;
  }

  private static native long create(String name);

  private native void bind(long handle);
}
