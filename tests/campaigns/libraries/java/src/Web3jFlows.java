import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.web3j.abi.FunctionEncoder;
import org.web3j.abi.TypeReference;
import org.web3j.abi.datatypes.Address;
import org.web3j.abi.datatypes.Function;
import org.web3j.abi.datatypes.Type;
import org.web3j.abi.datatypes.Utf8String;
import org.web3j.abi.datatypes.generated.Uint256;
import org.web3j.crypto.Credentials;
import org.web3j.crypto.Keys;
import org.web3j.protocol.Web3j;
import org.web3j.protocol.core.DefaultBlockParameter;
import org.web3j.protocol.core.DefaultBlockParameterName;
import org.web3j.protocol.core.methods.request.EthFilter;
import org.web3j.protocol.core.methods.response.EthBlock;
import org.web3j.protocol.core.methods.response.TransactionReceipt;
import org.web3j.protocol.http.HttpService;
import org.web3j.tx.Contract;
import org.web3j.tx.RawTransactionManager;
import org.web3j.tx.TransactionManager;
import org.web3j.tx.Transfer;
import org.web3j.tx.gas.DefaultGasProvider;
import org.web3j.utils.Convert;

/** Flows of web3j: contracts in the form of its generated wrappers, {@code Transfer}, and a filter that is polled. */
public final class Web3jFlows {
    /** The defaults are 15 s, for blocks of 15 s. */
    private static final long POLLING_MS = 500;

    private static final int POLLING_ATTEMPTS = 120;
    private static final long CHAIN = 31337;
    private static final Web3j WEB3 =
            Web3j.build(
                    new HttpService(Flows.variable("FORESEAL_URL")),
                    POLLING_MS,
                    Executors.newSingleThreadScheduledExecutor());
    private static final Credentials OWNER = Credentials.create(Flows.variable("FORESEAL_KEY"));
    private static final Credentials SPENDER = Credentials.create(Flows.variable("LIBRARY_SPENDER_KEY"));
    private static final TransactionManager SENDER = manager(OWNER);

    /** A contract in the form of a generated wrapper. */
    public static final class Bound extends Contract {
        private final Web3j web3;

        /** Binds a contract; {@code Contract.deploy} calls this constructor. */
        protected Bound(
                String address, Web3j web3, TransactionManager manager, org.web3j.tx.gas.ContractGasProvider gas) {
            super("", address, web3, manager, gas);
            this.web3 = web3;
        }

        BigInteger read(String name, Type<?>... arguments) throws Exception {
            List<TypeReference<?>> results = List.of(new TypeReference<Uint256>() {});
            return executeRemoteCallSingleValueReturn(call(name, results, arguments), BigInteger.class).send();
        }

        TransactionReceipt write(String name, Type<?>... arguments) throws Exception {
            return executeRemoteCallTransaction(call(name, List.of(), arguments)).send();
        }

        Bound as(Credentials other) {
            return new Bound(getContractAddress(), web3, manager(other), gasProvider);
        }

        private static Function call(String name, List<TypeReference<?>> results, Type<?>... arguments) {
            return new Function(name, List.of(arguments), results);
        }
    }

    private Web3jFlows() {}

    private static TransactionManager manager(Credentials credentials) {
        return new RawTransactionManager(WEB3, credentials, CHAIN, POLLING_ATTEMPTS, POLLING_MS);
    }

    private static Uint256 number(long value) {
        return new Uint256(BigInteger.valueOf(value));
    }

    private static String stranger() throws Exception {
        return Credentials.create(Keys.createEcKeyPair()).getAddress();
    }

    private static Bound deployed(String name, long argument) throws Exception {
        String artifact = Files.readString(Path.of(Flows.variable("LIBRARY_CONTRACTS"), name + ".json"));
        Matcher bytecode = Pattern.compile("\"bytecode\": \"(0x[0-9a-f]+)\"").matcher(artifact);
        bytecode.find();
        String encoded = FunctionEncoder.encodeConstructor(List.of(number(argument)));
        return Contract.deployRemoteCall(
                        Bound.class, WEB3, SENDER, new DefaultGasProvider(), bytecode.group(1), encoded)
                .send();
    }

    /** Waits until the newest block that the library reads has the contract. */
    private static Bound prepared(String name, long argument) throws Exception {
        Bound contract = deployed(name, argument);
        Flows.until(() -> {
            String address = contract.getContractAddress();
            return !WEB3.ethGetCode(address, DefaultBlockParameterName.LATEST).send().getCode().equals("0x");
        });
        return contract;
    }

    private static Flows.Rounds deploy() {
        return repeated(() -> {
            Bound board = deployed("Board", 7);
            Flows.equal(board.read("value"), BigInteger.valueOf(7), "value after deployment");
            board.write("set", number(8), new Utf8String("a note"));
            Flows.equal(board.read("value"), BigInteger.valueOf(8), "value after the write");
        });
    }

    private static Flows.Rounds allowance() throws Exception {
        Bound token = prepared("Token", 1_000_000_000_000L);
        Bound spent = token.as(SPENDER);
        return repeated(() -> {
            Address to = new Address(stranger());
            token.write("approve", new Address(SPENDER.getAddress()), number(5));
            spent.write("transferFrom", new Address(OWNER.getAddress()), to, number(5));
            Flows.equal(token.read("balanceOf", to), BigInteger.valueOf(5), "token balance");
        });
    }

    private static Flows.Rounds transfer() {
        return repeated(() -> {
            String to = stranger();
            Transfer transfer = new Transfer(WEB3, SENDER);
            TransactionReceipt receipt = transfer.sendFunds(to, BigDecimal.valueOf(7), Convert.Unit.WEI).send();
            BigInteger balance = WEB3.ethGetBalance(to, DefaultBlockParameterName.LATEST).send().getBalance();
            Flows.equal(balance, BigInteger.valueOf(7), "balance");
            DefaultBlockParameter number = DefaultBlockParameter.valueOf(receipt.getBlockNumber());
            EthBlock.Block block = WEB3.ethGetBlockByNumber(number, false).send().getBlock();
            boolean isIncluded = block != null
                    && block.getTransactions().stream()
                            .anyMatch(transaction -> transaction.get().equals(receipt.getTransactionHash()));
            Flows.equal(isIncluded, true, "transaction in the block of the receipt");
        });
    }

    /** Watches events by {@code ethLogFlowable}, which polls a filter. */
    private static Flows.Rounds events() throws Exception {
        Bound board = prepared("Board", 7);
        return new Flows.Rounds(false, List.of(() -> {
            List<String> heard = Collections.synchronizedList(new ArrayList<>());
            DefaultBlockParameter latest = DefaultBlockParameterName.LATEST;
            // Both ends are `latest` in the filter that the library creates.
            EthFilter filter = new EthFilter(latest, latest, board.getContractAddress());
            WEB3.ethLogFlowable(filter).subscribe(log -> heard.add(log.getTransactionHash()), error -> {});
            Thread.sleep(4 * POLLING_MS);
            Callable<Long> newest = () -> WEB3.ethBlockNumber().send().getBlockNumber().longValue();
            String set = FunctionEncoder.encode(
                    new Function("set", List.of(number(1), new Utf8String("event")), List.of()));
            BigInteger[] price = {DefaultGasProvider.GAS_PRICE, BigInteger.valueOf(100_000)};
            Callable<String> send = () -> {
                String to = board.getContractAddress();
                return SENDER.sendTransaction(price[0], price[1], to, set, BigInteger.ZERO).getTransactionHash();
            };
            Flows.watchEvents(newest, send, heard);
        }));
    }

    private static Flows.Rounds repeated(Flows.Round round) {
        return new Flows.Rounds(true, List.of(round));
    }

    /** Runs the requested flows. */
    public static void main(String[] arguments) throws InterruptedException {
        Flows.run(Map.of(
                "deploy", Web3jFlows::deploy,
                "allowance", Web3jFlows::allowance,
                "transfer", Web3jFlows::transfer,
                "events", Web3jFlows::events));
    }
}
