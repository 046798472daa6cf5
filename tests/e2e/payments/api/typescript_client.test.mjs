// The TypeScript client: requests, retries and errors with a scripted fetch; a payment with a running service.

import assert from "node:assert/strict";
import { test } from "node:test";

const { MerchantClient, RequestFailed, NoServiceResponse, InvalidServiceResponse } = await import(
  process.env.FORESEAL_CLIENT
);
const { url, apiKey, payment } = JSON.parse(process.env.FORESEAL_SERVICE);
const DETAIL = { order: {}, transactions: [] };
const CAPTURE = "/v1/orders/{id}/capture";

function capture(client, key) {
  return client.post(CAPTURE, { params: { path: { id: "7" }, header: { "Idempotency-Key": key } } });
}

function get(client, id) {
  return client.get("/v1/orders/{id}", { params: { path: { id } } });
}

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
    fetch: async (request) => {
      requests.push(request);
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    ...options,
  });
  return { client, requests, slept, keys: () => requests.map((each) => each.headers.get("idempotency-key")) };
}

test("retries have the same key and growing delays", async () => {
  const { client, slept, keys } = scripted([new TypeError("lost"), error(503, "x"), json(200, DETAIL)]);
  assert.deepEqual(await capture(client), DETAIL);
  assert.equal(keys().length, 3);
  assert.equal(new Set(keys()).size, 1);
  assert.deepEqual(slept, [1000, 2000]);
});

test("each post has a new key", async () => {
  const { client, keys } = scripted([json(200, DETAIL), json(200, DETAIL)]);
  await capture(client);
  await capture(client);
  assert.equal(new Set(keys()).size, 2);
});

test("a longer retry-after is respected, up to the time limit", async () => {
  const first = scripted([error(409, "in_progress", { "retry-after": "9" }), json(200, DETAIL)]);
  await capture(first.client);
  assert.deepEqual(first.slept, [9000]);
  const second = scripted([error(503, "overloaded", { "retry-after": "61" })]);
  await assert.rejects(capture(second.client), (failure) => failure.code === "overloaded" && failure.isTemporary);
  assert.deepEqual(second.slept, []);
});

test("retries end after the last attempt, and the error has the key", async () => {
  const { client, slept } = scripted([new TypeError("a"), new TypeError("b")], { attempts: 2 });
  await assert.rejects(capture(client, "k"), (failure) => {
    return failure instanceof NoServiceResponse && failure.idempotencyKey === "k";
  });
  assert.deepEqual(slept, [1000]);
});

test("an error response has status, code and argument, and is not retried", async () => {
  const { client, requests } = scripted([error(400, "invalid_value")]);
  await assert.rejects(client.post(CAPTURE, { params: { path: { id: "a b" } } }), (failure) => {
    assert.ok(failure instanceof RequestFailed);
    const { status, code, argument, reason } = failure;
    assert.deepEqual([status, code, argument, reason], [400, "invalid_value", "amount", null]);
    return failure.message === "for people" && failure.name === "RequestFailed";
  });
  assert.equal(requests.length, 1);
  assert.equal(requests[0].url, "http://shop.test/base/v1/orders/a%20b/capture");
});

test("each attempt of a post sends the same headers and body", async () => {
  const { client, requests } = scripted([new TypeError("lost"), error(502, "x"), json(200, DETAIL)]);
  await capture(client, "k");
  for (const each of requests) {
    assert.deepEqual([each.method, each.redirect, await each.text()], ["POST", "manual", "{}"]);
    assert.equal(each.headers.get("authorization"), "Bearer pay_key");
    assert.equal(each.headers.get("content-type"), "application/json");
  }
  assert.equal(requests.length, 3);
});

test("an attempt ends at its time limit, and is retried", async () => {
  const pending = (request) => new Promise((_, reject) => {
    request.signal.addEventListener("abort", () => reject(request.signal.reason));
  });
  const outcomes = [pending, async () => json(200, DETAIL)];
  const { client, slept } = scripted([], { timeout: 20, fetch: (request) => outcomes.shift()(request) });
  assert.deepEqual(await capture(client), DETAIL);
  assert.deepEqual(slept, [1000]);
});

test("a response of another server is an error", async () => {
  for (const response of [new Response("<html>"), new Response("nginx", { status: 404 }), json(200, [])]) {
    await assert.rejects(get(scripted([response]).client, "7"), InvalidServiceResponse);
  }
});

test("an unhealthy service is a result", async () => {
  const { client, slept } = scripted([json(503, { status: "unhealthy" })]);
  assert.equal((await client.get("/healthz")).status, "unhealthy");
  assert.deepEqual(slept, []);
  await assert.rejects(scripted([error(503, "x")]).client.get("/healthz"), RequestFailed);
  const order = scripted([error(503, "x"), json(200, DETAIL)]);
  assert.deepEqual(await get(order.client, "healthz"), DETAIL);
});

test("iteration follows the cursors", async () => {
  const { client, requests } = scripted([json(200, { items: [1, 2], next: "c" }), json(200, { items: [3], next: null })]);
  const refunds = [];
  const query = { order: "7", limit: 2 };
  for await (const each of client.iterate("/v1/refunds", { params: { query } })) refunds.push(each);
  assert.deepEqual(refunds, [1, 2, 3]);
  assert.deepEqual(requests.map((each) => new URL(each.url).search), ["?order=7&limit=2", "?order=7&limit=2&cursor=c"]);
});

test("an export sends its period", async () => {
  const { client, requests } = scripted([new Response("kind"), new Response("{}")]);
  const query = { block_time_from: 5, block_time_before: 9 };
  for await (const chunk of client.stream("/v1/export.csv", { params: { query } })) assert.equal(chunk, "kind");
  const before = { params: { query: { block_time_before: 9 } } };
  for await (const chunk of client.stream("/v1/export.jsonl", before)) assert.equal(chunk, "{}");
  const queries = requests.map((each) => new URL(each.url).search);
  assert.deepEqual(queries, ["?block_time_from=5&block_time_before=9", "?block_time_before=9"]);
});

test("an error response to an export is an error of the client", async () => {
  const chunks = scripted([error(403, "insufficient_role")]).client.stream("/v1/export.csv");
  await assert.rejects(chunks.next(), (failure) => failure instanceof RequestFailed && failure.status === 403);
});

test("an interrupted export is an error of the client", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("kind,")),
    pull: (controller) => controller.error(new TypeError("lost")),
  });
  const chunks = scripted([new Response(body)]).client.stream("/v1/export.csv")[Symbol.asyncIterator]();
  assert.equal((await chunks.next()).value, "kind,");
  await assert.rejects(chunks.next(), NoServiceResponse);
});

test("an aborted request is not retried", async () => {
  const { client, requests } = scripted([new TypeError("lost")]);
  await assert.rejects(client.get("/v1/balance", { signal: AbortSignal.abort(new Error("stopped")) }), /stopped/);
  assert.equal(requests.length, 1);
});

test("invalid arguments are named", async () => {
  assert.throws(() => new MerchantClient("ftp://shop.test", "k"), /url must begin/);
  assert.throws(() => new MerchantClient(url, "a\nb"), /apiKey must be/);
  assert.throws(() => new MerchantClient(url, "k", { attempts: 0 }), /attempts must be/);
  const { client } = scripted([]);
  for (const id of ["", ".", "..", "a/b"]) await assert.rejects(get(client, id), /must be an id/);
  for (const key of ["", "é", "k".repeat(256)]) await assert.rejects(capture(client, key), /Idempotency-Key must have/);
});

test("a payment is stored once by a running service although its response is lost", async () => {
  let sent = 0;
  const client = new MerchantClient(url, apiKey, {
    sleep: async () => {},
    fetch: async (request) => {
      const response = await fetch(request);
      sent += 1;
      if (sent === 1) throw new TypeError("lost");
      return response;
    },
  });
  const { order } = await client.post("/v1/payments", { body: { ...payment, id: "ts", capture: true } });
  assert.deepEqual([order.id, order.state, order.tx_status, sent], ["ts", "Stored, unused", "intended", 2]);
  const ids = [];
  for await (const each of client.iterate("/v1/orders", { params: { query: { limit: 1 } } })) ids.push(each.id);
  assert.deepEqual(ids, ["ts"]);
  let text = "";
  for await (const chunk of client.stream("/v1/export.csv")) text += chunk;
  assert.match(text, /^kind,transaction_hash/);
  await assert.rejects(get(client, "unknown"), (failure) => failure.code === "not_found" && failure.status === 404);
});
