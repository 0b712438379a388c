/**
 * Many snapshots at once. Those of one dataset go together, in lists that an address has room for, so that the engine says
 * what comes free of all of them and not of each by itself.
 */
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { finished, get, post } from "../api/client";
import { Failure, Form, Name, NameTyped } from "../parts/ui";
import { size, t, tn } from "../words";

const SHOWN = 8;
/** Characters of a list: an address may have some thousand. */
const LONGEST = 3000;
/** Lists of which it is asked what they free. Of more it is at least that. */
const MOST_ASKED = 40;

/** Names such as `tank/a@x,y`, of names such as `tank/a@x`. Every snapshot is in one of them. */
export function listsOf(names: string[]): string[] {
  const lists: string[] = [];
  const open = new Map<string, string>();
  for (const name of names) {
    const [dataset = "", snapshot = ""] = name.split("@");
    const begun = open.get(dataset);
    if (begun !== undefined && begun.length + snapshot.length < LONGEST) {
      open.set(dataset, `${begun},${snapshot}`);
      continue;
    }
    if (begun !== undefined) lists.push(begun);
    open.set(dataset, name);
  }
  return [...lists, ...open.values()];
}

const QUERY = { recursive: false, clones: false, defer: false };

export function DestroyMany({ names, close, onDone }: { names: string[]; close: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [count, setCount] = useState(0);
  const lists = listsOf(names);
  const asked = lists.slice(0, MOST_ASKED);
  const plans = useQueries({
    queries: asked.map((name) => ({
      queryKey: ["destroy", name], staleTime: 0, gcTime: 0, retry: false,
      queryFn: async ({ signal }: { signal: AbortSignal }) => (await get("/v1/datasets/{name}/destroy", { path: { name }, query: QUERY as never, signal })).value,
    })),
  });
  const bytes = plans.reduce((sum, { data }) => sum + (data?.bytes ?? 0), 0);
  const isKnown = plans.every(({ data, error }) => data || error);
  const refused = plans.find(({ error }) => error)?.error;
  const isAll = asked.length === lists.length && !refused;
  const word = t("destroy");
  const run = async () => {
    let done = 0;
    for (const name of lists) {
      await finished(await post("/v1/datasets/{name}/destroy", { path: { name }, body: { ...QUERY, history: `zfs destroy ${name}` } }));
      done += name.split(",").length;
      setCount(done);
    }
  };
  return (
    <Form action={t("Destroy")} isDangerous isDisabled={typed !== word} onCancel={close} onDone={onDone} run={run}>
      <div className="note bad stack tight">
        <p>{!isKnown ? t("What comes free is being asked…") : isAll
          ? tn(names.length, "{count} snapshot is lost, and {size} become free:", "{count} snapshots are lost, and {size} become free:", { size: size(bytes) })
          : tn(names.length, "{count} snapshot is lost, and {size} or more become free:", "{count} snapshots are lost, and {size} or more become free:", { size: size(bytes) })}</p>
        <ul className="mono small">
          {names.slice(0, SHOWN).map((one) => <li key={one}><Name>{one}</Name></li>)}
          {names.length > SHOWN && <li>{t("and {count} more", { count: names.length - SHOWN })}</li>}
        </ul>
        <p>{t("This cannot be undone. If one is refused, those after it stay.")}</p>
      </div>
      <Failure error={refused} />
      {count > 0 && <p role="status" className="muted">{t("{done} of {all} are destroyed", { done: count, all: names.length })}</p>}
      <NameTyped name={word} value={typed} onChange={setTyped} />
    </Form>
  );
}
