/**
 * Requests of the management API, typed by its description (schema.d.ts).
 *
 * - A change carries the session's CSRF token. Where the session has ended, the request waits until somebody has signed
 *   in again, and is then sent once more: nothing that was typed is lost, and nothing is done twice, for a request without
 *   a session is not carried out.
 * - Numbers of 64 bits that are names (`guid`) are text in this program: JavaScript's numbers have 53 bits.
 * - Every refusal is a `Problem` with its kind, and a `Refusal` here.
 */
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

type Verb = "get" | "post";
type Operation<P extends keyof paths, V extends Verb> = Exclude<paths[P][V], undefined>;
/** Paths that have this verb. */
export type PathsOf<V extends Verb> = { [P in keyof paths]: Operation<P, V> extends never ? never : P }[keyof paths];
type ParametersOf<O> = O extends { parameters: infer Q } ? Q : never;
type PathOf<O> = ParametersOf<O> extends { path: infer N } ? N : undefined;
type QueryOf<O> = ParametersOf<O> extends { query?: infer Q } ? Q : undefined;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B
  : O extends { requestBody: { content: { "application/json": infer B } } } ? B : undefined;
type Contents<R> = { [S in keyof R]: R[S] extends { content: { "application/json": infer A } } ? A : undefined }[keyof R];
export type AnswerOf<P extends keyof paths, V extends Verb> =
  Operation<P, V> extends { responses: infer R } ? Contents<R> : never;

/** What goes with a request. */
export interface Params<P extends keyof paths, V extends Verb> {
  path?: PathOf<Operation<P, V>>;
  query?: QueryOf<Operation<P, V>>;
  body?: BodyOf<Operation<P, V>>;
  /** The tag that what is changed has to have. */
  ifMatch?: string;
  signal?: AbortSignal;
}

/** An answer with what its head says. */
export interface Answered<T> {
  value: T;
  etag: string | undefined;
  /** The address of the next page. */
  next: string | undefined;
}

/** A request that was refused, or did not come through. */
export class Refusal extends Error {
  constructor(readonly problem: Problem, readonly retryAfter?: number) {
    super(problem.detail);
  }
  get kind() {
    return this.problem.type.replace("/problems/", "");
  }
}

/** Nothing was answered: the daemon is not there, or the network. */
export const UNREACHED = "unreached";

/** Called where there is no session: settles once there is one again. */
let signIn: (() => Promise<void>) | undefined;
export const onExpired = (handler: () => Promise<void>) => {
  signIn = handler;
};

let csrf = "";
export const setCsrf = (token: string) => {
  csrf = token;
};


const read = (text: string): unknown => (text === "" ? undefined : JSON.parse(text.replace(/"guid":(\d+)/g, '"guid":"$1"')));
const write = (body: unknown) => JSON.stringify(body).replace(/"guid":"(\d+)"/g, '"guid":$1');

function address(path: string, names: Record<string, unknown> = {}, query: Record<string, unknown> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])));
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return search ? `${filled}?${search}` : filled;
}

async function refusalOf(answer: Response): Promise<Refusal> {
  const after = Number(answer.headers.get("retry-after")) || undefined;
  const text = await answer.text();
  try {
    return new Refusal(JSON.parse(text) as Problem, after);
  } catch {
    // Not of the daemon: a proxy's.
    const detail = `${answer.status} ${answer.statusText}`;
    return new Refusal({ type: "about:blank", title: detail, status: answer.status, detail, exit: 1 } as Problem, after);
  }
}

async function once(verb: Verb, url: string, body: unknown, headers: Record<string, string>, signal?: AbortSignal) {
  const init: RequestInit = { method: verb.toUpperCase(), headers: { ...headers }, credentials: "same-origin", signal };
  if (verb === "post") {
    init.body = body === undefined ? undefined : write(body);
    Object.assign(init.headers!, { "X-CSRF-Token": csrf, ...(body === undefined ? {} : { "Content-Type": "application/json" }) });
  }
  try {
    return await fetch(url, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = "The appliance does not answer.";
    throw new Refusal({ type: `/problems/${UNREACHED}`, title: detail, status: 0, detail, exit: 1 } as Problem);
  }
}

/** Another tab may have signed in: then the session has another token. */
async function refresh(): Promise<boolean> {
  const answer = await fetch("/v1/me", { credentials: "same-origin" });
  if (!answer.ok) return false;
  const me = (await answer.json()) as Schemas["Me"];
  csrf = me.csrf ?? "";
  return true;
}

/** Requests of strangers: a refusal of theirs is about what was typed. */
const OPEN = new Set(["/v1/login", "/v1/first-administrator", "/v1/version"]);

async function send(verb: Verb, url: string, body: unknown, headers: Record<string, string>, signal?: AbortSignal) {
  for (let turn = 0; ; turn += 1) {
    const answer = await once(verb, url, body, headers, signal);
    if (answer.ok) return answer;
    const refusal = await refusalOf(answer);
    const isOpen = OPEN.has(url);
    if (refusal.kind === "cross-site" && !isOpen && turn === 0 && (await refresh())) continue;
    if (refusal.kind === "unauthenticated" && !isOpen && signIn && turn < 3) {
      await signIn();
      continue;
    }
    throw refusal;
  }
}

async function answered<T>(answer: Response): Promise<Answered<T>> {
  const link = /<([^>]+)>;\s*rel="next"/.exec(answer.headers.get("link") ?? "");
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  const text = await answer.text();
  return { value: (isJson ? read(text) : text) as T, etag: answer.headers.get("etag") ?? undefined, next: link?.[1] };
}

export async function get<P extends PathsOf<"get">>(path: P, params: Params<P, "get"> = {}): Promise<Answered<AnswerOf<P, "get">>> {
  const url = address(path, params.path as never, params.query as never);
  return answered(await send("get", url, undefined, {}, params.signal));
}

/** The page that an answer named by `next`. */
export async function follow<T>(next: string, signal?: AbortSignal): Promise<Answered<T>> {
  return answered(await send("get", next, undefined, {}, signal));
}

export async function post<P extends PathsOf<"post">>(path: P, params: Params<P, "post"> = {}): Promise<AnswerOf<P, "post">> {
  const url = address(path, params.path as never, params.query as never);
  const headers: Record<string, string> = params.ifMatch ? { "If-Match": params.ifMatch } : {};
  return (await answered<AnswerOf<P, "post">>(await send("post", url, params.body, headers, params.signal))).value;
}

/** Sends a request whose answer is events, says when they begin, and gives them as they come, until there are no more. */
export async function listen<E, V extends Verb, P extends PathsOf<V>>(verb: V, path: P, params: Params<P, V>, each: (events: E[]) => void, begun?: () => void): Promise<void> {
  const answer = await send(verb, address(path, params.path as never, params.query as never), params.body, {}, params.signal);
  begun?.();
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let come = "";
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return;
    come += part.value;
    const whole = come.lastIndexOf("\n\n");
    if (whole < 0) continue;
    const lines = come.slice(0, whole).split("\n").filter((line) => line.startsWith("data: "));
    come = come.slice(whole + 2);
    if (lines.length) each(lines.map((line) => read(line.slice(6)) as E));
  }
}

/** Waits until a job has ended. One that failed is thrown as its problem. */
export async function finished(job: Schemas["Job"], tell?: (job: Schemas["Job"]) => void): Promise<Schemas["Job"]> {
  let now = job;
  while (now.state === "running") {
    tell?.(now);
    now = (await get("/v1/jobs/{id}", { path: { id: now.id }, query: { wait_ms: 1000 } })).value;
  }
  tell?.(now);
  if (now.problem) throw new Refusal(now.problem);
  return now;
}
