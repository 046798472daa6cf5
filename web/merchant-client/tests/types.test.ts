// Types of the client: this file must compile, and each line below `@ts-expect-error` must not.

import { MerchantClient, type Order, type OrderDetail } from "@foreseal/merchant-client";

declare const client: MerchantClient;
const path = { id: "7" };

export const orders: AsyncGenerator<Order> = client.iterate("/v1/orders", { params: { query: { state: "Expired" } } });
export const detail: Promise<OrderDetail> = client.get("/v1/orders/{id}", { params: { path } });
export const captured: Promise<OrderDetail> = client.post("/v1/orders/{id}/capture", { params: { path } });
export const text: AsyncGenerator<string> = client.stream("/v1/export.csv");

const key = { "Idempotency-Key": "capture of 7" };
void client.post("/v1/orders/{id}/capture", { params: { path, header: key }, body: {}, signal: AbortSignal.timeout(1) });

// @ts-expect-error: no such state
void client.iterate("/v1/orders", { params: { query: { state: "Paid" } } });
// @ts-expect-error: amounts are texts
void client.post("/v1/orders", { body: { amount: 5 } });
// @ts-expect-error: no such field
void client.post("/v1/orders", { body: { amounts: "5" } });
// @ts-expect-error: the path lacks its id
void client.get("/v1/orders/{id}");
// @ts-expect-error: the body lacks its recipients
void client.post("/v1/payouts", { body: {} });
// @ts-expect-error: the path has no POST
void client.post("/v1/balance");
// @ts-expect-error: no list
void client.iterate("/v1/balance");
// @ts-expect-error: no text
void client.stream("/v1/orders");
