// Pays with @x402/fetch, unmodified, for one URL after the other; prints a line of JSON per response.
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/client";
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const { KEY, URLS } = process.env;
const network = "eip155:84532";
const signer = privateKeyToAccount(KEY);
const client = new x402Client()
  .register(network, new ExactEvmScheme(signer))
  .register(network, new UptoEvmScheme(signer))
  .register(network, new BatchSettlementEvmScheme(signer));
const pay = wrapFetchWithPayment(fetch, client);

for (const url of JSON.parse(URLS)) {
  const answer = await pay(url);
  const told = answer.headers.get("PAYMENT-RESPONSE");
  const settled = told === null ? null : decodePaymentResponseHeader(told);
  console.log(JSON.stringify({ status: answer.status, text: await answer.text(), settled }));
}
