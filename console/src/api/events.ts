/**
 * One stream of events for all tabs. The tab that holds the lock reads the stream and tells the others by a channel;
 * where it is closed, the next tab takes the lock and goes on behind the last event that it has heard of.
 *
 * - A stream that says nothing for 45 s (a line comes every 15 s) is given up, and asked for again.
 * - Who asks again waits a random time, which doubles up to half a minute: a daemon that has restarted is not stormed.
 * - `resync` says that events are missing: all that is shown is read anew.
 */
import type { Schemas } from "./client";

export type Event = Partial<Record<"pool" | "job" | "service" | "request" | "alert" | "resync", Record<string, unknown>>>;
export type Link = "live" | "lost";
/** What tabs tell each other: an event; how the stream is, and how far it has come; and that a tab is new and wants to know. */
type Said = { event: Event; id: string } | { link: Link; at: string } | { hello: true };

const SILENCE = 45_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

let last = "";
const heard = new Set<(event: Event) => void>();
const watched = new Set<(link: Link) => void>();
let link: Link = "lost";

function take(said: Said) {
  if ("hello" in said) return;
  if ("link" in said) {
    link = said.link;
    last = said.at || last;
    watched.forEach((tell) => tell(link));
    return;
  }
  last = said.id || last;
  heard.forEach((tell) => tell(said.event));
}

const sleep = (time: number) => new Promise((go) => setTimeout(go, time));

/** Reads one stream until it ends. Says whether anything came. */
async function read(tell: (said: Said) => void, isIn: () => boolean): Promise<boolean> {
  const stop = new AbortController();
  let timer = setTimeout(() => stop.abort(), SILENCE);
  let hasCome = false;
  try {
    const address = last ? `/v1/events/stream?after=${encodeURIComponent(last)}` : "/v1/events/stream";
    const answer = await fetch(address, { credentials: "same-origin", signal: stop.signal });
    if (!answer.ok || !answer.body || !isIn()) return false;
    tell({ link: "live", at: last });
    const lines = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await lines.read();
      if (done) return hasCome;
      hasCome = true;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), SILENCE);
      const parts = (rest + value).split(/\r?\n\r?\n/);
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const field = (name: string) => part.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart()).join("\n");
        const data = field("data");
        if (data) tell({ event: JSON.parse(data) as Event, id: field("id") });
        else last = field("id") || last;
      }
    }
  } catch {
    // The stream broke, or was silent for too long: the caller begins another one.
    return hasCome;
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

let isBegun = false;

/** Begins to follow events, as long as somebody is in. */
export function follow(isIn: () => boolean) {
  if (isBegun) return;
  isBegun = true;
  const channel = new BroadcastChannel("cistern-events");
  let isReader = false;
  channel.onmessage = ({ data }: MessageEvent<Said>) => {
    take(data);
    if ("hello" in data && isReader) channel.postMessage({ link, at: last } satisfies Said);
  };
  channel.postMessage({ hello: true } satisfies Said);
  const tell = (said: Said) => {
    take(said);
    channel.postMessage(said);
  };
  void navigator.locks.request("cistern-events", async () => {
    isReader = true;
    for (let wait = FIRST_WAIT; ;) {
      if (isIn()) {
        const hasCome = await read(tell, isIn);
        tell({ link: "lost", at: last });
        wait = hasCome ? FIRST_WAIT : Math.min(wait * 2, LONGEST_WAIT);
      }
      await sleep(wait * (0.5 + Math.random()));
    }
  });
}

export function onEvent(tell: (event: Event) => void): () => void {
  heard.add(tell);
  return () => void heard.delete(tell);
}

export const linkNow = () => link;
export function onLink(tell: (link: Link) => void): () => void {
  watched.add(tell);
  return () => void watched.delete(tell);
}

export type JobEvent = Schemas["JobEvent"];
