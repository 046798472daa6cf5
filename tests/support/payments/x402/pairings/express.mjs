// A seller with @x402/express, unmodified. Prints its port, and ends when its input does.
import express from "express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from "@x402/express";
import { privateKeyToAccount } from "viem/accounts";

const { FACILITATOR, PRICES, PAYEE, KEY } = process.env;
const prices = JSON.parse(PRICES);
const network = "eip155:84532";

const channels = new BatchSettlementEvmScheme(PAYEE, { receiverAuthorizerSigner: privateKeyToAccount(KEY) });
const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url: FACILITATOR }))
  .register(network, new ExactEvmScheme())
  .register(network, new UptoEvmScheme())
  .register(network, channels);

const app = express();
const routes = Object.fromEntries(prices.map(({ path, accepts }) => [`GET ${path}`, { accepts }]));
app.use(paymentMiddleware(routes, resources));
for (const { path, charged } of prices) {
  app.get(path, (_, response) => {
    if (charged !== null) setSettlementOverrides(response, { amount: String(charged) });
    response.status(path === "/broken" ? 500 : 200).json({ from: path });
  });
}

const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
