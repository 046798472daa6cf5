// The TypeScript client: requests, retries and errors with a scripted fetch; a payment with a running service.

import assert from "node:assert/strict";
import { test } from "node:test";

const { MerchantClient, RequestFailed, NoServiceResponse, InvalidServiceResponse } = await import(
  process.env.FORESEAL_CLIENT
);
const { url, apiKey, payment } = JSON.parse(process.env.FORESEAL_SERVICE);
const DETAIL = { order: {}, transactions: [] };

function json(status, body, headers = {}) {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

function error(status, code, headers) {
  return json(status, { error: { code, message: "for people", argument: "amount", reason: null } }, headers);
}

function scripted(outcomes, options = {}) {
  const requests = [];
  const slept = [];
  const client = new MerchantClient("http://shop.test/base/", "pay_key", {
    firstDelay: 1000,
    maxDelay: 4000,
    random: () => 1,
    now: () => slept.reduce((sum, each) => sum + each, 0),
    sleep: async (milliseconds) => void slept.push(milliseconds),
    fetch: async (target, init) => {
      requests.push({ target, ...init });
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    ...options,
  });
  return { client, requests, slept, keys: () => requests.map((each) => each.headers["idempotency-key"]) };
}

test("retries have the same key and growing delays", async () => {
  const { client, slept, keys } = scripted([new TypeError("lost"), error(503, "x"), json(200, DETAIL)]);
  assert.deepEqual(await client.captureOrder("7"), DETAIL);
  assert.equal(keys().length, 3);
  assert.equal(new Set(keys()).size, 1);
  assert.deepEqual(slept, [1000, 2000]);
});

test("each post has a new key", async () => {
  const { client, keys } = scripted([json(200, DETAIL), json(200, DETAIL)]);
  await client.captureOrder("7");
  await client.captureOrder("7");
  assert.equal(new Set(keys()).size, 2);
});

test("a longer retry-after is respected, up to the time limit", async () => {
  const first = scripted([error(409, "in_progress", { "retry-after": "9" }), json(200, DETAIL)]);
  await first.client.captureOrder("7");
  assert.deepEqual(first.slept, [9000]);
  const second = scripted([error(503, "overloaded", { "retry-after": "61" })]);
  await assert.rejects(second.client.captureOrder("7"), (found) => found.code === "overloaded" && found.isTemporary);
  assert.deepEqual(second.slept, []);
});

test("retries end after the last attempt, and the error has the key", async () => {
  const { client, slept } = scripted([new TypeError("a"), new TypeError("b")], { attempts: 2 });
  await assert.rejects(client.captureOrder("7", {}, { idempotencyKey: "k" }), (found) => {
    return found instanceof NoServiceResponse && found.idempotencyKey === "k";
  });
  assert.deepEqual(slept, [1000]);
});

test("an error response has status, code and argument, and is not retried", async () => {
  const { client, requests } = scripted([error(400, "invalid_value")]);
  await assert.rejects(client.captureOrder("a b"), (found) => {
    assert.ok(found instanceof RequestFailed);
    assert.deepEqual([found.status, found.code, found.argument, found.reason], [400, "invalid_value", "amount", null]);
    return found.message === "for people" && found.name === "RequestFailed";
  });
  assert.equal(requests.length, 1);
  assert.equal(requests[0].target, "http://shop.test/base/v1/orders/a%20b/capture");
});

test("a response of another server is an error", async () => {
  for (const response of [new Response("<html>"), new Response("nginx", { status: 404 }), json(200, [])]) {
    await assert.rejects(scripted([response]).client.getOrder("7"), InvalidServiceResponse);
  }
});

test("an unhealthy service is a result", async () => {
  const { client, slept } = scripted([json(503, { status: "unhealthy" })]);
  assert.equal((await client.getHealth()).status, "unhealthy");
  assert.deepEqual(slept, []);
});

test("iteration follows the cursors", async () => {
  const { client, requests } = scripted([json(200, { items: [1, 2], next: "c" }), json(200, { items: [3], next: null })]);
  const found = [];
  for await (const each of client.iterRefunds({ order: "7", limit: 2 })) found.push(each);
  assert.deepEqual(found, [1, 2, 3]);
  assert.deepEqual(requests.map((each) => new URL(each.target).search), ["?order=7&limit=2", "?order=7&limit=2&cursor=c"]);
});

test("an export sends its period", async () => {
  const { client, requests } = scripted([new Response("kind"), new Response("{}")]);
  for await (const chunk of client.exportCsv({ block_time_from: 5, block_time_before: 9 })) assert.equal(chunk, "kind");
  for await (const chunk of client.exportJsonLines({ block_time_before: 9 })) assert.equal(chunk, "{}");
  const found = requests.map((each) => new URL(each.target).search);
  assert.deepEqual(found, ["?block_time_from=5&block_time_before=9", "?block_time_before=9"]);
});

test("an interrupted export is an error of the client", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("kind,")),
    pull: (controller) => controller.error(new TypeError("lost")),
  });
  const chunks = scripted([new Response(body)]).client.exportCsv()[Symbol.asyncIterator]();
  assert.equal((await chunks.next()).value, "kind,");
  await assert.rejects(chunks.next(), NoServiceResponse);
});

test("an aborted request is not retried", async () => {
  const { client, requests } = scripted([new TypeError("lost")]);
  await assert.rejects(client.getBalance({ signal: AbortSignal.abort(new Error("stopped")) }), /stopped/);
  assert.equal(requests.length, 1);
});

test("invalid arguments are named", async () => {
  assert.throws(() => new MerchantClient("ftp://shop.test", "k"), /url must begin/);
  assert.throws(() => new MerchantClient(url, "a\nb"), /apiKey must be/);
  assert.throws(() => new MerchantClient(url, "k", { attempts: 0 }), /attempts must be/);
  const { client } = scripted([]);
  assert.throws(() => client.getOrder("a/b"), /must be an id/);
  await assert.rejects(client.captureOrder("7", {}, { idempotencyKey: "" }), /idempotencyKey must have/);
});

test("a payment is stored once by a running service although its response is lost", async () => {
  let sent = 0;
  const client = new MerchantClient(url, apiKey, {
    sleep: async () => {},
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      sent += 1;
      if (sent === 1) throw new TypeError("lost");
      return response;
    },
  });
  const { order } = await client.createPayment({ ...payment, id: "ts", capture: true });
  assert.deepEqual([order.id, order.state, order.tx_status, sent], ["ts", "Stored, unused", "intended", 2]);
  const ids = [];
  for await (const each of client.iterOrders({ limit: 1 })) ids.push(each.id);
  assert.deepEqual(ids, ["ts"]);
  let text = "";
  for await (const chunk of client.exportCsv()) text += chunk;
  assert.match(text, /^kind,transaction_hash/);
  await assert.rejects(client.getOrder("unknown"), (found) => found.code === "not_found" && found.status === 404);
});
