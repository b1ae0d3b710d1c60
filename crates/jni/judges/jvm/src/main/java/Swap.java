import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/**
 * The library from the class path: its jar comes before rocksdbjni, or it is in a copy of that jar. Each class loader
 * loads its own copy. Arguments: the release of Esker, and the name of the checks.
 */
public final class Swap {
  /** Returns the release of Esker that the loaded classes use. */
  public static String version(final String dir) throws Exception {
    RocksDB.loadLibrary();
    try (Options options = new Options().setCreateIfMissing(true);
        RocksDB db = RocksDB.open(options, dir)) {
      db.put(Check.bytes("a"), Check.bytes("b"));
      return db.getProperty("rocksdb.esker-version");
    }
  }

  public static void main(final String[] args) throws Exception {
    Check.run(args[1], dir -> Check.equal(args[0], version(dir.toString())));
    Check.run(args[1] + "_in_other_class_loaders", dir -> {
      final String[] path = System.getProperty("java.class.path").split(":");
      final URL[] urls = new URL[path.length];
      for (int i = 0; i < path.length; i++) {
        final Path part = Paths.get(path[i]);
        urls[i] = part.toUri().toURL();
      }
      for (int turn = 0; turn < 2; turn++) {
        try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
          final Class<?> other = loader.loadClass("Swap");
          final Object found =
              other.getMethod("version", String.class).invoke(null, dir.resolve("db" + turn).toString());
          Check.equal(args[0], found);
        }
      }
    });
    System.exit(0);
  }
}
