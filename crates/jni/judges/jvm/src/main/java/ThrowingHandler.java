import org.rocksdb.WriteBatch;

/** Throws at the first row. */
final class ThrowingHandler extends WriteBatch.Handler {

  @Override
  public void put(final int family, final byte[] key, final byte[] value) {
    throw new IllegalStateException("thrown by a handler, as the check wants");
  }

  @Override
  public void put(final byte[] key, final byte[] value) {
    throw new IllegalStateException("thrown by a handler, as the check wants");
  }

  @Override
  public void merge(final int family, final byte[] key, final byte[] value) {}

  @Override
  public void merge(final byte[] key, final byte[] value) {}

  @Override
  public void delete(final int family, final byte[] key) {}

  @Override
  public void delete(final byte[] key) {}

  @Override
  public void singleDelete(final int family, final byte[] key) {}

  @Override
  public void singleDelete(final byte[] key) {}

  @Override
  public void deleteRange(final int family, final byte[] begin, final byte[] end) {}

  @Override
  public void deleteRange(final byte[] begin, final byte[] end) {}

  @Override
  public void logData(final byte[] blob) {}

  @Override
  public void putBlobIndex(final int family, final byte[] key, final byte[] value) {}

  @Override
  public void markBeginPrepare() {}

  @Override
  public void markEndPrepare(final byte[] id) {}

  @Override
  public void markNoop(final boolean empty) {}

  @Override
  public void markRollback(final byte[] id) {}

  @Override
  public void markCommit(final byte[] id) {}

  @Override
  public void markCommitWithTimestamp(final byte[] id, final byte[] time) {}
}
