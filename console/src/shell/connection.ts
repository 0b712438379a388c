/**
 * A shell of the appliance, as a page has it: opened, read and typed into until it has ended.
 *
 * - A tab keeps the name of its shell, so a page that is loaded again, or come back to within a minute, shows the same one.
 * - Who has lost the stream waits a time that doubles up to ten seconds, and goes on where he was.
 * - What is typed goes out in order, one request at a time; what is typed meanwhile goes with the next one.
 */
import { listen, post, Refusal, UNREACHED, type Schemas } from "../api/client";

type Event = Schemas["ShellEvent"];
type Size = Schemas["ShellSize"];
export type End = Schemas["ShellEnd"] | "taken" | "gone";

export interface Told {
  /** Something to show; nothing that was shown before counts where `isAnew`. */
  show: (text: string, isAnew: boolean) => void;
  state: (state: "open" | "lost") => void;
  ended: (why: End) => void;
  failed: (error: unknown) => void;
}

export interface Connection {
  type: (text: string) => void;
  resize: (size: Size) => void;
  /** Ends the shell. */
  close: () => void;
  /** Leaves it as it is. */
  leave: () => void;
}

const KEY = "cistern-shell";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
/** Characters of one request: 64 KiB whatever they are. */
const AT_ONCE = 16_000;
/** Windows are drawn larger and smaller in many steps. */
const SETTLED = 150;

/** Storage may be off: then each page has a shell of its own. */
const keep = (id: string | undefined) => {
  try {
    if (id) sessionStorage.setItem(KEY, id);
    else sessionStorage.removeItem(KEY);
  } catch { /* See above. */ }
};
const kept = () => {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
};

const isKind = (error: unknown, kind: string) => error instanceof Refusal && error.kind === kind;

/** The end of a piece of a text that cuts no character in two. */
export function cut(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const last = text.charCodeAt(most - 1);
  return last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
}

/** Opens a shell, or goes on with the one that this tab has. */
export function connect(size: Size, told: Told): Connection {
  const gone = new AbortController();
  const { signal } = gone;
  let id: string | undefined;
  let typed = "";
  let isTyping = false;
  let resizing: ReturnType<typeof setTimeout> | undefined;

  const send = async () => {
    if (isTyping) return;
    isTyping = true;
    try {
      while (typed && id && !signal.aborted) {
        const end = cut(typed, AT_ONCE);
        const text = typed.slice(0, end);
        typed = typed.slice(end);
        await post("/v1/shells/{name}/input", { path: { name: id }, body: { text }, signal });
      }
    } catch (error) {
      typed = "";
      // That it has ended, or is out of reach, the stream says.
      if (!signal.aborted && !isKind(error, "not-found") && !isKind(error, UNREACHED)) told.failed(error);
    } finally {
      isTyping = false;
    }
  };
  const resize = (next: Size) => {
    clearTimeout(resizing);
    // The stream says what is wrong.
    resizing = setTimeout(() => id && void post("/v1/shells/{name}/size", { path: { name: id }, body: next, signal }).catch(() => {}), SETTLED);
  };
  const end = (why: End) => {
    if (signal.aborted) return;
    if (why !== "taken") keep(undefined);
    gone.abort();
    told.ended(why);
  };

  const read = async () => {
    let at = 0;
    let wait = FIRST_WAIT;
    while (!signal.aborted) {
      const take = (events: Event[]) => {
        wait = FIRST_WAIT;
        for (const event of events) {
          if (signal.aborted) return;
          if (event === "taken") end("taken");
          else if ("ended" in event) end(event.ended.why);
          else {
            told.show(event.output.text, event.output.at !== at);
            at = event.output.next;
          }
        }
      };
      try {
        await listen<Event, "get", "/v1/shells/{name}/output">("get", "/v1/shells/{name}/output", { path: { name: id! }, query: { after: at }, signal }, take, () => told.state("open"));
      } catch (error) {
        if (signal.aborted) return;
        if (isKind(error, "not-found")) return end("gone");
        if (error instanceof Refusal && !isKind(error, UNREACHED)) {
          told.failed(error);
          return end("gone");
        }
      }
      if (signal.aborted) return;
      told.state("lost");
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  };

  const begin = async () => {
    try {
      id = kept();
      // One of before that has ended is no news.
      if (id && !(await isThere(id))) id = undefined;
      id ??= (await post("/v1/shells", { body: size, signal })).id;
    } catch (error) {
      if (signal.aborted) return;
      told.failed(error);
      return end("gone");
    }
    keep(id);
    void send();
    await read();
  };
  /** The size is asked for by nobody: to set it again is to ask whether the shell is there. */
  const isThere = async (old: string) => {
    try {
      await post("/v1/shells/{name}/size", { path: { name: old }, body: size, signal });
      return true;
    } catch (error) {
      if (isKind(error, "not-found")) return false;
      throw error;
    }
  };
  void begin();
  return {
    type: (text) => {
      typed += text;
      if (id) void send();
    },
    resize,
    close: () => {
      // The stream says when it has ended.
      if (id) void post("/v1/shells/{name}/close", { path: { name: id } }).catch(told.failed);
    },
    leave: () => {
      clearTimeout(resizing);
      gone.abort();
    },
  };
}
