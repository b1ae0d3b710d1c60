import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * A job with every kind of state. It is stopped in the middle, and restored from its last checkpoint with
 * another parallelism. It prints the final state of each key, which does not depend on the point of the stop.
 *
 * <p>Arguments: {@code begin DIR} runs until there are checkpoints and cancels; {@code kill DIR} kills the JVM there;
 * {@code end DIR} restores and runs to the end.
 */
public final class Judge {
  private static final long RECORDS = 20_000;
  private static final int KEYS = 200;

  private static final class States extends KeyedProcessFunction<Long, Long, String> {
    private transient ValueState<Long> count;
    private transient ListState<Long> list;
    private transient MapState<Long, Long> map;
    private transient ReducingState<Long> sum;
    private transient ValueState<Long> shortValue;
    private transient ListState<String> shortList;
    private transient MapState<String, Long> shortMap;

    @Override
    public void open(final OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
      list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", Types.LONG));
      map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", Types.LONG, Types.LONG));
      sum = getRuntimeContext().getReducingState(
          new ReducingStateDescriptor<>("sum", (ReduceFunction<Long>) Long::sum, Types.LONG));
      final StateTtlConfig ttl =
          StateTtlConfig.newBuilder(Duration.ofMillis(500)).cleanupInRocksdbCompactFilter(100).build();
      final ValueStateDescriptor<Long> value = new ValueStateDescriptor<>("short value", Types.LONG);
      value.enableTimeToLive(ttl);
      shortValue = getRuntimeContext().getState(value);
      // The elements of the lists have variable lengths, so that Java code filters them.
      final ListStateDescriptor<String> elements = new ListStateDescriptor<>("short list", Types.STRING);
      elements.enableTimeToLive(ttl);
      shortList = getRuntimeContext().getListState(elements);
      final MapStateDescriptor<String, Long> entries = new MapStateDescriptor<>("short map", Types.STRING, Types.LONG);
      entries.enableTimeToLive(ttl);
      shortMap = getRuntimeContext().getMapState(entries);
    }

    @Override
    public void processElement(final Long record, final Context context, final Collector<String> out) throws Exception {
      final Long before = count.value();
      count.update(before == null ? 1 : before + 1);
      list.add(record);
      map.put(record, record * 7);
      if (record % 53 == 0) {
        map.remove(record);
      }
      sum.add(record);
      shortValue.update(record);
      shortList.add("x".repeat((int) (record % 5)) + record);
      shortMap.put("k" + record % 11, record);
      context.timerService().registerProcessingTimeTimer(context.timerService().currentProcessingTime() + 50);
      long listed = 0;
      for (final Long element : list.get()) {
        // The order of the records depends on the point at which the first run was stopped.
        listed += element * element;
      }
      long mapped = 0;
      for (final var entry : map.entries()) {
        mapped += entry.getKey() + entry.getValue();
      }
      out.collect(context.getCurrentKey() + " " + count.value() + " " + sum.get() + " " + listed + " " + mapped);
    }

    @Override
    public void onTimer(final long time, final OnTimerContext context, final Collector<String> out) throws Exception {
      shortValue.value();
      shortList.get();
    }
  }

  public static void main(final String[] arguments) throws Exception {
    final boolean begins = !arguments[0].equals("end");
    final Path checkpoints = Path.of(arguments[1]);
    final Configuration configuration = new Configuration();
    configuration.setString("state.backend.type", "rocksdb");
    configuration.setString("execution.checkpointing.incremental", "true");
    configuration.setString("execution.checkpointing.interval", "300ms");
    configuration.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
    configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    configuration.setString("state.backend.rocksdb.timer-service.factory", "ROCKSDB");
    configuration.setString("state.backend.rocksdb.use-bloom-filter", "true");
    configuration.setString("state.backend.rocksdb.use-ingest-db-restore-mode", "true");
    configuration.setString("state.backend.rocksdb.metrics.estimate-num-keys", "true");
    configuration.setString("state.backend.rocksdb.metrics.block-cache-hit", "true");
    if (!begins) {
      configuration.setString("execution.state-recovery.path", newest(checkpoints).orElseThrow().toUri().toString());
    }
    final StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    environment.setParallelism(begins ? 2 : 1);
    environment.setMaxParallelism(8);
    final DataStream<String> states = environment.fromSequence(1, RECORDS).uid("source")
        .map(record -> {
          if (record % 100 == 0) {
            // The first run must still be running when it is cancelled.
            Thread.sleep(begins ? 2000 : 1);
          }
          return record;
        }).returns(Types.LONG).uid("pace")
        .keyBy(record -> record % KEYS)
        .process(new States()).returns(Types.STRING).uid("states");
    if (begins) {
      states.sinkTo(new DiscardingSink<>()).uid("sink");
      final JobClient job = environment.executeAsync("begin");
      // The job takes three checkpoints, so that the last one refers to files of earlier ones.
      while (count(checkpoints) < 3) {
        if (job.getJobStatus().get().isGloballyTerminalState()) {
          throw new IllegalStateException("the job ended before its third checkpoint");
        }
        Thread.sleep(100);
      }
      if (arguments[0].equals("kill")) {
        // Another program kills the JVM, which cannot end itself without running its shutdown hooks.
        new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start().waitFor();
      }
      job.cancel().get();
    } else {
      final TreeMap<Long, String> last = new TreeMap<>();
      states.sinkTo(new DiscardingSink<>()).uid("sink");
      try (CloseableIterator<String> rows = states.executeAndCollect("end")) {
        while (rows.hasNext()) {
          final String row = rows.next();
          last.put(Long.parseLong(row.substring(0, row.indexOf(' '))), row);
        }
      }
      last.values().forEach(System.out::println);
    }
    System.exit(0);
  }

  /** Returns the number of checkpoints so far: each checkpoint's number is one higher than the last. */
  private static int count(final Path checkpoints) throws Exception {
    return newest(checkpoints)
        .map(path -> Integer.parseInt(path.getFileName().toString().replace("chk-", "")))
        .orElse(0);
  }

  /**
   * Returns the newest complete checkpoint. Flink deletes earlier checkpoints meanwhile; then the search is
   * repeated.
   */
  private static Optional<Path> newest(final Path checkpoints) throws Exception {
    while (true) {
      try {
        return find(checkpoints);
      } catch (final UncheckedIOException gone) {
        Thread.sleep(10);
      }
    }
  }

  private static Optional<Path> find(final Path checkpoints) throws Exception {
    try (Stream<Path> files = Files.walk(checkpoints)) {
      return files.filter(path -> path.endsWith("_metadata"))
          .max(Comparator.comparingLong(path -> path.toFile().lastModified()))
          .map(Path::getParent);
    }
  }
}
