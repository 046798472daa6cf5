/** A client of the merchant service (`foreseal pay serve`), for Node 20 or newer and other runtimes with `fetch`. */

import { MerchantMethods } from "./methods.js";

export * from "./errors.js";
export type { ClientOptions, PostOptions, RequestOptions } from "./transport.js";
export type * from "./queries.js";
export type * from "./types.js";
export type * from "./values.js";

/** A client. Its API key is a secret: use it on a server, never in a page. */
export class MerchantClient extends MerchantMethods {}
