package dev.esker;

import org.rocksdb.AbstractCompactionFilter;
import org.rocksdb.Slice;

/**
 * A compaction filter that Java implements, for {@code setCompactionFilter} of the options of org.rocksdb, and for the filters that an
 * {@code AbstractCompactionFilterFactory} creates.
 *
 * <p>Its method is called by the threads that compact and flush, by several at a time where one filter serves all compactions: it must not
 * call the database. What it throws is printed, and the row stays as it is.
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
   * A filter of that name.
   *
   * @param name the name, for the LOG
   */
  protected JavaCompactionFilter(final String name) {
    super(create(name));
    bind(nativeHandle_);
  }

  /**
   * Decides about a row. It is called for the newest row of a key alone, and for each operand of a merge.
   *
   * @param level the level that is compacted
   * @param key the key
   * @param kind the kind of the row
   * @param value its value
   * @return the decision
   */
  protected abstract Decision filter(int level, byte[] key, Kind kind, byte[] value);

  /** Called by the library: the decision's number, with its bytes, if it has some, in {@code bytes}. */
  private byte decide(
      final int level, final byte[] key, final int kind, final byte[] value, final byte[][] bytes) {
    final Decision decision = filter(level, key, KINDS[kind], value);
    bytes[0] = decision.bytes;
    return decision.number;
  }

  private static native long create(String name);

  private native void bind(long handle);
}
