package dev.esker;

/** The decision of a compaction filter about a row. */
public final class Decision {
  /** The row stays as it is. */
  public static final Decision KEEP = new Decision((byte) 0, null);

  /** The row is dropped, and older rows of its key do not reappear. An operand of a merge is dropped. */
  public static final Decision REMOVE = new Decision((byte) 1, null);

  /** The number by which the library knows the decision. */
  final byte number;

  /** The new value or the key; null if the decision has neither. */
  final byte[] bytes;

  private Decision(final byte number, final byte[] bytes) {
    this.number = number;
    this.bytes = bytes;
  }

  /**
   * The row gets another value.
   *
   * @param value the value
   * @return the decision
   */
  public static Decision change(final byte[] value) {
    return new Decision((byte) 2, value.clone());
  }

  /**
   * All rows from this one up to a key are dropped and leave no tombstone, even if a snapshot sees them.
   * Older rows of these keys in lower levels may reappear.
   *
   * @param key the first key that stays; the row stays if this key is not greater than the row's
   * @return the decision
   */
  public static Decision removeAndSkipUntil(final byte[] key) {
    return new Decision((byte) 3, key.clone());
  }
}
