package dev.esker;

import org.rocksdb.MergeOperator;

/**
 * A merge operator that Java implements, for {@code setMergeOperator} of the options of org.rocksdb.
 *
 * <p>Its methods are called by whichever thread reads or compacts, by several at a time: they must not call the database, and must return
 * the same result for the same arguments. What they throw is printed, and the merge fails: reads of the key end in a {@code
 * RocksDBException}, and compactions stop.
 */
public abstract class JavaMergeOperator extends MergeOperator {
  /**
   * An operator of that name, which the OPTIONS file of a database has. A database keeps the rows of an operator under the same name.
   *
   * @param name the name
   */
  protected JavaMergeOperator(final String name) {
    super(create(name));
    bind(nativeHandle_);
  }

  /**
   * Applies operands to a value.
   *
   * @param key the key
   * @param existing the value below the operands, or null if there is none
   * @param operands the operands, the oldest first
   * @return the new value; null: the operands do not fit, and the merge fails
   */
  protected abstract byte[] fullMerge(byte[] key, byte[] existing, byte[][] operands);

  /**
   * Joins two operands into one. By default none are joined.
   *
   * @param key the key
   * @param older the older operand
   * @param newer the newer operand
   * @return the operand that does what both do one after the other; null: they are not joined
   */
  protected byte[] partialMerge(final byte[] key, final byte[] older, final byte[] newer) {
    return null;
  }

  @Override
  protected final void disposeInternal(final long handle) {
    dispose(handle);
  }

  private static native long create(String name);

  private native void bind(long handle);

  private static native void dispose(long handle);
}
