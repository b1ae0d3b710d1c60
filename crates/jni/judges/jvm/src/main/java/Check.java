import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Runs checks one by one, and prints a line for each: PASS or FAIL, its name, and the reason. */
final class Check {
  interface Body {
    void run(Path dir) throws Throwable;
  }

  private Check() {}

  /** Runs a check in an empty directory of its own. */
  static void run(final String name, final Body body) throws IOException {
    final Path dir = Files.createTempDirectory("esker-jvm");
    try {
      body.run(dir);
      System.out.println("PASS " + name);
    } catch (final Throwable thrown) {
      System.out.println("FAIL " + name + " " + String.valueOf(thrown).replace('\n', ' '));
      thrown.printStackTrace();
    } finally {
      try (Stream<Path> files = Files.walk(dir)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
    }
  }

  interface Throwing {
    void run() throws Throwable;
  }

  /** Expects a RocksDBException with that code. */
  static void fails(final Status.Code code, final Throwing body) {
    final Throwable thrown = thrown(body);
    if (!(thrown instanceof RocksDBException)) {
      throw new AssertionError("a RocksDBException was wanted, not " + thrown, thrown);
    }
    final Status status = ((RocksDBException) thrown).getStatus();
    if (status == null || status.getCode() != code) {
      throw new AssertionError(code + " was wanted, not " + (status == null ? null : status.getCode()), thrown);
    }
  }

  /** Expects an exception of that class. */
  static void fails(final Class<? extends Throwable> kind, final Throwing body) {
    final Throwable thrown = thrown(body);
    if (!kind.isInstance(thrown)) {
      throw new AssertionError(kind + " was wanted, not " + thrown, thrown);
    }
  }

  private static Throwable thrown(final Throwing body) {
    try {
      body.run();
    } catch (final java.lang.reflect.InvocationTargetException wrapped) {
      return wrapped.getCause();
    } catch (final Throwable thrown) {
      return thrown;
    }
    return null;
  }

  static void equal(final Object wanted, final Object found) {
    if (!String.valueOf(wanted).equals(String.valueOf(found))) {
      throw new AssertionError(wanted + " was wanted, not " + found);
    }
  }

  static byte[] bytes(final String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(final byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }
}
