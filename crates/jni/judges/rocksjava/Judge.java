import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs the named test classes, and prints a line for each test: PASS or FAIL, its name, and the reason. */
public final class Judge extends RunListener {
  private boolean failed;

  public static void main(final String[] names) throws Exception {
    final JUnitCore junit = new JUnitCore();
    junit.addListener(new Judge());
    for (final String name : names) {
      junit.run(Class.forName(name));
    }
    System.exit(0);
  }

  @Override
  public void testStarted(final Description test) {
    failed = false;
  }

  @Override
  public void testFailure(final Failure failure) {
    if (!failed) {
      print("FAIL", failure.getDescription(), String.valueOf(failure.getException()).replace('\n', ' '));
    }
    failed = true;
  }

  @Override
  public void testAssumptionFailure(final Failure failure) {
    failed = true;
  }

  @Override
  public void testFinished(final Description test) {
    if (!failed) {
      print("PASS", test, "");
    }
  }

  private static void print(final String result, final Description test, final String reason) {
    System.out.println(result + " " + test.getClassName() + "." + test.getMethodName() + " " + reason);
  }
}
