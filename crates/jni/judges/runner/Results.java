import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * The file of results: a line for each test, with PASS, FAIL or SKIP, its name and the reason, separated by tabs. A
 * line is written when its test ends, so that those before a crash are known.
 */
final class Results {
  private static Path file;

  private Results() {}

  static void open(final String path) {
    file = Paths.get(path);
  }

  /** Returns the tests that have results from an earlier run. */
  static Set<String> tests() throws IOException {
    final Set<String> tests = new HashSet<>();
    if (Files.exists(file)) {
      for (final String line : Files.readAllLines(file)) {
        tests.add(line.split("\t")[1]);
      }
    }
    return tests;
  }

  static synchronized void add(final String result, final String test, final Object reason) {
    final String line = result + '\t' + oneLine(test) + '\t' + (reason == null ? "" : oneLine(reason.toString())) + '\n';
    try {
      Files.write(file, line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (final IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  static String oneLine(final String text) {
    final String line = text.replaceAll("\\s+", " ");
    return line.length() > 400 ? line.substring(0, 400) : line;
  }
}
