import dev.esker.Decision;
import dev.esker.JavaCompactionFilter;
import dev.esker.JavaMergeOperator;
import java.nio.charset.StandardCharsets;
import org.rocksdb.AbstractCompactionFilter;
import org.rocksdb.AbstractCompactionFilterFactory;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status;

/** Merge operators and compaction filters of the package dev.esker. */
public final class Hooks {
  /** Keeps the longest of all texts. */
  private static final class Longest extends JavaMergeOperator {
    private final boolean partial;

    Longest(final boolean partial) {
      super("judge.Longest");
      this.partial = partial;
    }

    @Override
    protected byte[] fullMerge(final byte[] key, final byte[] existing, final byte[][] operands) {
      byte[] longest = existing == null ? new byte[0] : existing;
      for (final byte[] operand : operands) {
        if (Check.text(operand).equals("null")) {
          return null;
        }
        if (Check.text(operand).equals("throw")) {
          throw new IllegalArgumentException("thrown by a merge operator, as the check wants");
        }
        longest = operand.length > longest.length ? operand : longest;
      }
      return longest;
    }

    @Override
    protected byte[] partialMerge(final byte[] key, final byte[] older, final byte[] newer) {
      return partial ? (newer.length > older.length ? newer : older) : null;
    }
  }

  private static final class ByKey extends JavaCompactionFilter {
    ByKey() {
      super("judge.ByKey");
    }

    @Override
    protected Decision filter(final int level, final byte[] key, final Kind kind, final byte[] value) {
      final String text = Check.text(key);
      if (text.startsWith("drop")) {
        return Decision.REMOVE;
      }
      if (text.startsWith("change") && !Check.text(value).startsWith("VALUE")) {
        return Decision.change(Check.bytes(kind + " " + Check.text(value).toUpperCase()));
      }
      if (text.startsWith("skip")) {
        return Decision.removeAndSkipUntil(Check.bytes("t"));
      }
      if (text.startsWith("throw")) {
        throw new IllegalStateException("thrown by a compaction filter, as the check wants");
      }
      return text.startsWith("null") ? null : Decision.KEEP;
    }
  }

  private static final class Factory extends AbstractCompactionFilterFactory<JavaCompactionFilter> {
    @Override
    public JavaCompactionFilter createCompactionFilter(final AbstractCompactionFilter.Context context) {
      return new ByKey();
    }

    @Override
    public String name() {
      return "judge.Factory";
    }
  }

  public static void main(final String[] args) throws Exception {
    RocksDB.loadLibrary();
    for (final boolean partial : new boolean[] {false, true}) {
      Check.run("merge_operator_in_java_partial_" + partial, dir -> {
        try (JavaMergeOperator longest = new Longest(partial);
            Options options = new Options().setCreateIfMissing(true).setMergeOperator(longest)) {
          try (RocksDB db = RocksDB.open(options, dir.toString())) {
            db.put(Check.bytes("a"), Check.bytes("base"));
            db.merge(Check.bytes("a"), Check.bytes("longer than that"));
            db.merge(Check.bytes("a"), Check.bytes("short"));
            db.merge(Check.bytes("b"), Check.bytes("alone"));
            Check.equal("longer than that", Check.text(db.get(Check.bytes("a"))));
            db.flush(new FlushOptions());
            db.merge(Check.bytes("b"), Check.bytes("no longer alone"));
            db.compactRange();
            Check.equal("no longer alone", Check.text(db.get(Check.bytes("b"))));
          }
          try (RocksDB db = RocksDB.open(options, dir.toString())) {
            Check.equal("longer than that", Check.text(db.get(Check.bytes("a"))));
          }
        }
      });
    }

    Check.run("merge_operator_that_fails", dir -> {
      try (JavaMergeOperator longest = new Longest(false);
          Options options = new Options().setCreateIfMissing(true).setMergeOperator(longest);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        db.merge(Check.bytes("null"), Check.bytes("null"));
        db.merge(Check.bytes("throw"), Check.bytes("throw"));
        Check.fails(Status.Code.Corruption, () -> db.get(Check.bytes("null")));
        Check.fails(Status.Code.Corruption, () -> db.get(Check.bytes("throw")));
        db.put(Check.bytes("throw"), Check.bytes("well"));
        Check.equal("well", Check.text(db.get(Check.bytes("throw"))));
      }
    });

    Check.run("merge_operator_closed_before_the_database", dir -> {
      final JavaMergeOperator longest = new Longest(false);
      try (Options options = new Options().setCreateIfMissing(true).setMergeOperator(longest);
          RocksDB db = RocksDB.open(options, dir.toString())) {
        longest.close();
        longest.close();
        db.merge(Check.bytes("a"), Check.bytes("x"));
        System.gc();
        Check.equal("x", Check.text(db.get(Check.bytes("a"))));
        Check.fails(IllegalStateException.class, () -> options.setMergeOperator(longest));
      }
    });

    for (final boolean factory : new boolean[] {false, true}) {
      Check.run("compaction_filter_in_java_factory_" + factory, dir -> {
        try (JavaCompactionFilter filter = new ByKey();
            Factory filters = new Factory();
            Options options = new Options().setCreateIfMissing(true)) {
          if (factory) {
            options.setCompactionFilterFactory(filters);
          } else {
            options.setCompactionFilter(filter);
          }
          try (RocksDB db = RocksDB.open(options, dir.toString())) {
            for (final String key : new String[] {"change", "drop", "keep", "null", "skip1", "skip2", "throw", "u"}) {
              db.put(Check.bytes(key), Check.bytes("of " + key));
            }
            db.flush(new FlushOptions());
            try (CompactRangeOptions force = new CompactRangeOptions().setBottommostLevelCompaction(
                     CompactRangeOptions.BottommostLevelCompaction.kForce)) {
              db.compactRange(db.getDefaultColumnFamily(), null, null, force);
            }
            final StringBuilder rows = new StringBuilder();
            try (RocksIterator rest = db.newIterator()) {
              for (rest.seekToFirst(); rest.isValid(); rest.next()) {
                rows.append(new String(rest.key(), StandardCharsets.UTF_8)).append('=');
                rows.append(new String(rest.value(), StandardCharsets.UTF_8)).append(' ');
              }
              rest.status();
            }
            Check.equal("change=VALUE OF CHANGE keep=of keep null=of null throw=of throw u=of u ", rows);
          }
        }
      });
    }
    System.exit(0);
  }
}
