package dev.esker;

import org.rocksdb.MergeOperator;

/**
 * A merge operator in Java, for {@code setMergeOperator} of the options of org.rocksdb.
 *
 * <p>Threads that read or compact call its methods, several at a time. The methods must not call the
 * database, and must return the same result for the same arguments. An exception in them is printed, and the
 * merge fails: reads of the key end in a {@code RocksDBException}, and compactions stop.
 */
public abstract class JavaMergeOperator extends MergeOperator {
  /**
   * Creates an operator. The OPTIONS file of a database contains its name; reopen the database with an
   * operator of the same name.
   *
   * @param name the name of the operator
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
   * @return the new value; null if the operands do not fit: the merge fails
   */
  protected abstract byte[] fullMerge(byte[] key, byte[] existing, byte[][] operands);

  /**
   * Joins two operands into one. By default no operands are joined.
   *
   * @param key the key
   * @param older the older operand
   * @param newer the newer operand
   * @return the operand with the effect of {@code older} and then {@code newer}; null if they are not joined
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
