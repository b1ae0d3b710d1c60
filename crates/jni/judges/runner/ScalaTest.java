import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.scalatest.Reporter;
import org.scalatest.Suite;
import org.scalatest.events.Event;
import org.scalatest.events.SuiteAborted;
import org.scalatest.events.TestCanceled;
import org.scalatest.events.TestFailed;
import org.scalatest.events.TestIgnored;
import org.scalatest.events.TestPending;
import org.scalatest.events.TestSucceeded;
import org.scalatest.tools.Runner;
import scala.collection.Iterator;

/** Runs the tests of a suite of ScalaTest that have no results yet, and appends their results to a file. */
public final class ScalaTest implements Reporter {
  public static void main(final String[] args) throws Exception {
    Results.open(args[1]);
    final Set<String> before = Results.tests();
    final List<String> words = new ArrayList<>(Arrays.asList("-C", "ScalaTest", "-s", args[0]));
    if (!before.isEmpty()) {
      final Suite suite = (Suite) Class.forName(args[0]).getDeclaredConstructor().newInstance();
      final Iterator<String> names = suite.testNames().iterator();
      while (names.hasNext()) {
        final String name = names.next();
        if (!before.contains(Results.oneLine(suite.suiteName() + ": " + name))) {
          words.addAll(Arrays.asList("-t", name));
        }
      }
    }
    if (before.isEmpty() || words.contains("-t")) {
      Runner.run(words.toArray(new String[0]));
    }
    System.exit(0);
  }

  @Override
  public void apply(final Event event) {
    if (event instanceof TestSucceeded) {
      final TestSucceeded test = (TestSucceeded) event;
      Results.add("PASS", test.suiteName() + ": " + test.testName(), null);
    } else if (event instanceof TestFailed) {
      final TestFailed test = (TestFailed) event;
      Results.add("FAIL", test.suiteName() + ": " + test.testName(), test.message());
    } else if (event instanceof SuiteAborted) {
      final SuiteAborted suite = (SuiteAborted) event;
      Results.add("FAIL", suite.suiteName(), suite.message());
    } else if (event instanceof TestCanceled) {
      final TestCanceled test = (TestCanceled) event;
      Results.add("SKIP", test.suiteName() + ": " + test.testName(), test.message());
    } else if (event instanceof TestIgnored) {
      final TestIgnored test = (TestIgnored) event;
      Results.add("SKIP", test.suiteName() + ": " + test.testName(), "ignored");
    } else if (event instanceof TestPending) {
      final TestPending test = (TestPending) event;
      Results.add("SKIP", test.suiteName() + ": " + test.testName(), "pending");
    }
  }
}
