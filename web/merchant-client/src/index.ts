/** A client of the merchant service (`foreseal pay serve`), for Node 20.3 or newer and other runtimes with `fetch`. */

export type * from "./api.js";
export * from "./client.js";
export * from "./errors.js";
export type { ClientOptions, Fetch } from "./retries.js";
