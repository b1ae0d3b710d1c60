package dev.esker;

/** The decision of a compaction filter about a row. */
public final class Decision {
  /** The row stays as it is. */
  public static final Decision KEEP = new Decision((byte) 0, null);

  /** The row is dropped, and older ones of its key do not reappear. An operand of a merge is dropped. */
  public static final Decision REMOVE = new Decision((byte) 1, null);

  /** The number that the library knows it by. */
  final byte number;

  /** A value or a key; null where the decision has none. */
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
   * All rows from this one up to a key are dropped without leaving anything behind, even if a snapshot sees them; older rows of these keys
   * in levels below may reappear.
   *
   * @param key the first key that stays, which must be greater than that of the row; else the row stays
   * @return the decision
   */
  public static Decision removeAndSkipUntil(final byte[] key) {
    return new Decision((byte) 3, key.clone());
  }
}
