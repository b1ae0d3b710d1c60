import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs a test class of JUnit and appends its results to a file. */
public final class JUnit implements TestExecutionListener {
  public static void main(final String[] args) {
    Results.open(args[1]);
    final LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request().selectors(selectClass(args[0])).build();
    final Launcher launcher = LauncherFactory.create();
    launcher.execute(request, new JUnit());
    System.exit(0);
  }

  @Override
  public void executionSkipped(final TestIdentifier test, final String reason) {
    Results.add("SKIP", name(test), reason);
  }

  @Override
  public void executionFinished(final TestIdentifier test, final TestExecutionResult result) {
    final Object reason = result.getThrowable().orElse(null);
    switch (result.getStatus()) {
      case SUCCESSFUL:
        if (test.isTest()) {
          Results.add("PASS", name(test), null);
        }
        break;
      case ABORTED:
        Results.add("SKIP", name(test), reason);
        break;
      default:
        // A class fails as a whole if what its tests share cannot be set up.
        Results.add("FAIL", name(test), reason);
    }
  }

  /** Returns the class, the method and the number of the invocation; display names may differ between runs. */
  private static String name(final TestIdentifier test) {
    final StringBuilder name = new StringBuilder();
    for (final UniqueId.Segment segment : UniqueId.parse(test.getUniqueId()).getSegments()) {
      if (!segment.getType().equals("engine")) {
        name.append(name.length() == 0 ? "" : ".").append(segment.getValue().replaceAll("\\(org\\..*|\\(\\)$", ""));
      }
    }
    return name.toString();
  }
}
