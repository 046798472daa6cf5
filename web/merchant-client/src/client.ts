import createClient, {
  defaultPathSerializer,
  type Client,
  type ClientPathsWithMethod,
  type MaybeOptionalInit,
  type MethodResponse,
} from "openapi-fetch";

import type { paths } from "./api.js";
import { NoServiceResponse } from "./errors.js";
import { errors, idempotency } from "./middleware.js";
import { retrying, type ClientOptions } from "./retries.js";

/** Operations of the API by path and method. The client adds an Idempotency-Key, so that its header is optional. */
export type ServicePaths = {
  [Path in keyof paths]: { [Method in keyof paths[Path]]: WithOptionalHeader<paths[Path][Method]> };
};

type WithOptionalHeader<Operation> = Operation extends { parameters: { header: infer Header } }
  ? Omit<Operation, "parameters"> & {
      parameters: Omit<Operation["parameters"], "header"> & { header?: Header };
    }
  : Operation;

type Method = "get" | "post";

/** Paths that have a method. */
export type PathOf<M extends Method> = ClientPathsWithMethod<Client<ServicePaths>, M>;

/** Parameters and body of a request; `signal` ends it and its retries. */
export type RequestOf<M extends Method, P extends PathOf<M>> = Pick<
  NonNullable<MaybeOptionalInit<ServicePaths[P], M>>,
  "params" | "body" | "signal"
>;

/** Body of a success. */
export type ResultOf<M extends Method, P extends PathOf<M>> = MethodResponse<Client<ServicePaths>, M, P>;

/** Paths whose result is a page of a list. */
export type ListPath = {
  [P in PathOf<"get">]: ResultOf<"get", P> extends Page ? P : never;
}[PathOf<"get">];

/** Paths whose result is text. */
export type ExportPath = {
  [P in PathOf<"get">]: ResultOf<"get", P> extends string ? P : never;
}[PathOf<"get">];

type JsonPath = Exclude<PathOf<"get">, ExportPath>;
type Item<P extends ListPath> = ResultOf<"get", P> extends { items: (infer T)[] } ? T : never;
type Arguments<M extends Method, P extends PathOf<M>> =
  undefined extends MaybeOptionalInit<ServicePaths[P], M> ? [request?: RequestOf<M, P>] : [request: RequestOf<M, P>];

interface Page {
  items: unknown[];
  next: string | null;
}

interface ListRequest {
  params?: { query?: Record<string, unknown> } | undefined;
}

type Send = (path: string, request: object) => Promise<{ data?: unknown }>;

/** A client. Its API key is a secret: use it on a server, never in a page. */
export class MerchantClient {
  readonly #get: Send;
  readonly #post: Send;

  constructor(url: string, apiKey: string, options: ClientOptions = {}) {
    const { protocol } = new URL(url);
    if (protocol !== "http:" && protocol !== "https:") {
      throw new TypeError(`url must begin with http:// or https://, got ${url}`);
    }
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError("apiKey must be a key that `foreseal pay keys create` printed");
    }
    const baseUrl = url.replace(/\/+$/, "");
    const client = createClient<ServicePaths>({
      baseUrl,
      headers: { Authorization: `Bearer ${apiKey}` },
      redirect: "manual",
      fetch: retrying(baseUrl, options),
      pathSerializer: serializePath,
    });
    client.use(idempotency, errors);
    this.#get = client.GET as Send;
    this.#post = client.POST as Send;
  }

  /** Return the result of a GET. */
  async get<P extends JsonPath>(path: P, ...[request]: Arguments<"get", P>): Promise<ResultOf<"get", P>> {
    const { data } = await this.#get(path, request ?? {});
    return data as ResultOf<"get", P>;
  }

  /** Return the result of a POST, which is executed once: its retries have the same Idempotency-Key. */
  async post<P extends PathOf<"post">>(
    path: P,
    ...[request]: Arguments<"post", P>
  ): Promise<ResultOf<"post", P>> {
    const { data } = await this.#post(path, { body: {}, ...request });
    return data as ResultOf<"post", P>;
  }

  /** Iterate over the items of all pages of a list; `limit` is the size of a page. */
  async *iterate<P extends ListPath>(path: P, ...[request]: Arguments<"get", P>): AsyncGenerator<Item<P>> {
    const { params, ...options }: ListRequest = request ?? {};
    let query = params?.query;
    let page: Page;
    do {
      const { data } = await this.#get(path, { ...options, params: { ...params, query } });
      page = data as Page;
      yield* page.items as Item<P>[];
      query = { ...query, cursor: page.next };
    } while (page.next !== null);
  }

  /** Yield the text of an export in chunks. */
  async *stream<P extends ExportPath>(path: P, ...[request]: Arguments<"get", P>): AsyncGenerator<string> {
    const { data } = await this.#get(path, { ...request, parseAs: "stream" });
    const reader = (data as Response["body"])?.getReader();
    const decoder = new TextDecoder();
    try {
      for (let chunk = await reader?.read(); chunk !== undefined && !chunk.done; chunk = await reader?.read()) {
        yield decoder.decode(chunk.value, { stream: true });
      }
    } catch (error) {
      request?.signal?.throwIfAborted();
      throw new NoServiceResponse(`GET ${path}: ${String(error)}`, null, { cause: error });
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
  }
}

/** Insert the parameters of a path. Throws TypeError if no path can contain one. */
function serializePath(path: string, parameters: Record<string, unknown>): string {
  for (const value of Object.values(parameters)) {
    const text = String(value);
    if (text === "" || text === "." || text === ".." || text.includes("/")) {
      throw new TypeError(`${JSON.stringify(text)} must be an id without "/"`);
    }
  }
  return defaultPathSerializer(path, parameters);
}
