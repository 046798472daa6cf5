import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Rounds of the flows that each library runs, and their output: one line of JSON per round. */
final class Flows {
    private static final int LONGEST_ERROR = 400;
    /** Longest pause between two events, in milliseconds. */
    private static final double EVENT_MS = 2000;
    private static final long QUIET_MS = 6000;
    private static final long LATE_MS = 20_000;
    private static final Random MOMENTS = new Random(number("FORESEAL_SEED"));

    /** One round of a flow. */
    interface Round {
        void run() throws Exception;
    }

    /** Rounds of a flow: the first one is repeated if {@code isRepeated}. */
    record Rounds(boolean isRepeated, List<Round> list) {}

    private Flows() {}

    static String variable(String name) {
        return System.getenv(name);
    }

    static long number(String name) {
        return Long.parseLong(variable(name));
    }

    static void equal(Object got, Object expected, String subject) {
        if (!got.equals(expected)) {
            throw new AssertionError(subject + " is " + got + ", expected " + expected);
        }
    }

    /** Polls until the result is true. */
    static void until(Callable<Boolean> poll) throws Exception {
        while (!poll.call()) {
            Thread.sleep(100);
        }
    }

    /** Runs the requested flows. A flow prepares itself and returns its rounds. */
    static void run(Map<String, Callable<Rounds>> flows) throws InterruptedException {
        ExecutorService executor = Executors.newCachedThreadPool();
        for (String flow : variable("LIBRARY_FLOWS").split(",")) {
            Rounds rounds;
            try {
                rounds = flows.get(flow).call();
            } catch (Exception error) {
                report(flow, 0, error);
                continue;
            }
            long count = rounds.isRepeated() ? number("LIBRARY_ROUNDS") : rounds.list().size();
            for (int index = 0; index < count; index++) {
                Thread.sleep((long) (MOMENTS.nextDouble() * number("LIBRARY_BLOCK_MS")));
                Round round = rounds.list().get(rounds.isRepeated() ? 0 : index);
                report(flow, index + 1, errorOf(executor, round));
            }
        }
        System.exit(0);
    }

    private static Throwable errorOf(ExecutorService executor, Round round) throws InterruptedException {
        Callable<Void> call = () -> {
            round.run();
            return null;
        };
        try {
            executor.submit(call).get(number("LIBRARY_ROUND_MS"), TimeUnit.MILLISECONDS);
            return null;
        } catch (TimeoutException error) {
            return new AssertionError("the round did not end");
        } catch (java.util.concurrent.ExecutionException error) {
            return error.getCause();
        }
    }

    private static void report(String flow, int round, Throwable error) {
        String text = "null";
        if (error != null) {
            String words = String.valueOf(error).replaceAll("\\s+", " ").replace("\\", "").replace('"', '\'');
            text = '"' + words.substring(0, Math.min(words.length(), LONGEST_ERROR)) + '"';
        }
        String line = "{\"flow\": \"%s\", \"round\": %d, \"ok\": %b, \"error\": %s}";
        System.out.println(String.format(line, flow, round, error == null, text));
    }

    /**
     * Sends transactions with one event each until enough blocks have passed; checks that {@code heard}, a synchronized
     * list of transaction hashes, then has each once.
     */
    static void watchEvents(Callable<Long> newest, Callable<String> send, List<String> heard) throws Exception {
        long end = newest.call() + number("LIBRARY_WATCHED_BLOCKS");
        List<String> sent = new ArrayList<>();
        do {
            sent.add(send.call());
            Thread.sleep((long) (MOMENTS.nextDouble() * EVENT_MS));
        } while (newest.call() < end);
        long deadline = System.currentTimeMillis() + LATE_MS;
        while (!heard.containsAll(sent) && System.currentTimeMillis() < deadline) {
            Thread.sleep(100);
        }
        Thread.sleep(QUIET_MS);
        long lost = sent.stream().filter(hash -> !heard.contains(hash)).count();
        long repeated = heard.stream().filter(hash -> Collections.frequency(heard, hash) > 1).count();
        if (lost + repeated > 0) {
            throw new AssertionError("of " + sent.size() + " events " + lost + " lost and " + repeated + " heard again");
        }
    }
}
