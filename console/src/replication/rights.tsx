/** What another appliance may do here: what was allowed, and what else is to be. */
import { useState } from "react";
import { post, type Schemas } from "../api/client";
import { useChange } from "../api/queries";
import { bytesOrNone, lasting, secondsOrNone, sized, textOf, wholeOrNone } from "../parts/amounts";
import { Button, Check, Failure, Field, Form, Select } from "../parts/ui";
import { plainly, t } from "../words";

type Peer = Schemas["Peer"];
type Keep = Schemas["SyncKeep"];
type Absence = Schemas["SyncAbsence"];

/** As it is typed. What is kept for one who pulls and stays away is a month's, unless somebody says otherwise. */
const NEW = { isMore: false, count: "", age: "", seconds: "30d", bytes: "" };

const ofKeep = (keep?: Keep | null) => ({ count: textOf(keep?.count, String), age: textOf(keep?.age, lasting) });
const ofAbsence = (absence: Absence) => ({ seconds: textOf(absence.seconds, lasting), bytes: textOf(absence.bytes, sized) });

/** Where no count is typed, who sends decides; an age alone keeps the newest besides, as everywhere. `undefined`: no amount. */
function keepOf({ count, age }: typeof NEW): Keep | null | undefined {
  const [newest, oldest] = [wholeOrNone(count), secondsOrNone(age)];
  if (newest === undefined || oldest === undefined || newest === 0) return undefined;
  return newest === null && oldest === null ? null : { count: newest ?? 1, age: oldest };
}

function absenceOf({ seconds, bytes }: typeof NEW): Absence | undefined {
  const [longest, most] = [secondsOrNone(seconds), bytesOrNone(bytes)];
  return longest === undefined || most === undefined ? undefined : { seconds: longest, bytes: most };
}

function kept({ count, age }: Keep): string {
  return age == null ? t("The newest {count} stay here.", { count }) : t("The newest {count} stay here, and those no older than {age}.", { count, age: lasting(age) });
}

export function Rights({ peer, close }: { peer: Peer; close: () => void }) {
  const [kind, setKind] = useState<"send" | "read">("read");
  const [dataset, setDataset] = useState("");
  const [draft, setDraft] = useState(NEW);
  const set = (patch: Partial<typeof NEW>) => setDraft({ ...draft, ...patch });
  const { grants } = peer;
  const reads = peer.reads ?? [];
  const change = useChange((body: Partial<Schemas["PeerChange"]>) => post("/v1/peers/{name}/change", { path: { name: peer.name }, body: body as never }), ["/v1/peers"]);
  /** What was allowed of a dataset is what is changed; what is typed before its name stays. */
  const choose = (now: "send" | "read", name: string) => {
    const [grant, read] = [grants.find((one) => one.dataset === name), reads.find((one) => one.dataset === name)];
    if (now === "send" && grant) setDraft({ ...NEW, isMore: grant.append_only, ...ofKeep(grant.keep) });
    else if (now === "read" && read) setDraft({ ...NEW, isMore: read.snapshots, ...ofAbsence(read.absence) });
    else if (now !== kind) setDraft(NEW);
    setKind(now);
    setDataset(name);
  };
  const [keep, absence] = [keepOf(draft), absenceOf(draft)];
  const others = <One extends { dataset: string }>(all: One[]) => all.filter((one) => one.dataset !== dataset);
  /** All that it may do once this is allowed; nothing while what is typed is no amount. */
  const asked = kind === "send"
    ? keep !== undefined && { grants: [...others(grants), { dataset, append_only: draft.isMore, keep }] }
    : absence !== undefined && { reads: [...others(reads), { dataset, snapshots: draft.isMore, absence }] };
  const add = async () => {
    if (!asked) return;
    await change.mutateAsync(asked);
    setDataset("");
    setDraft(NEW);
  };
  const deny = (name: string) => t("Deny {name}", { name: plainly(name) });
  const alter = (name: string) => t("Change {name}", { name: plainly(name) });
  return (
    <>
      {grants.length + reads.length === 0 && <p className="muted">{t("It may do nothing here.")}</p>}
      <ul className="steps">
        {grants.map((one) => (
          <li key={`to ${one.dataset}`} className="row">
            <span>{one.append_only ? t("keeps replicas below {name}, and destroys none of what it sent", { name: plainly(one.dataset) }) : t("keeps replicas below {name}", { name: plainly(one.dataset) })}</span>
            {one.keep && <span className="small muted">{kept(one.keep)}</span>}
            <Button aria-label={alter(one.dataset)} onPress={() => choose("send", one.dataset)}>{t("Change")}</Button>
            <Button aria-label={deny(one.dataset)} onPress={() => change.mutate({ grants: grants.filter((other) => other !== one) })}>{t("Deny")}</Button>
          </li>
        ))}
        {reads.map((one) => (
          <li key={`of ${one.dataset}`} className="row">
            <span>{one.snapshots ? t("reads {name} and all below, and makes snapshots of it", { name: plainly(one.dataset) }) : t("reads {name} and all below", { name: plainly(one.dataset) })}</span>
            <Button aria-label={alter(one.dataset)} onPress={() => choose("read", one.dataset)}>{t("Change")}</Button>
            <Button aria-label={deny(one.dataset)} onPress={() => change.mutate({ reads: reads.filter((other) => other !== one) })}>{t("Deny")}</Button>
          </li>
        ))}
      </ul>
      <Failure error={change.error} />
      <Form action={t("Allow")} isDisabled={!dataset || !asked} onCancel={close} run={add}>
        <Select label={t("It may")} value={kind} onChange={(one) => choose(one, dataset)} options={[
          { id: "read", name: t("read a dataset and all below"), about: t("Its services pull it; nothing else of this appliance is shown") },
          { id: "send", name: t("keep replicas below a dataset") },
        ]} />
        <Field label={t("Dataset")} value={dataset} onChange={(name) => choose(kind, name)} spellCheck="false" />
        {kind === "read" ? (
          <>
            <Check isSelected={draft.isMore} onChange={(isMore) => set({ isMore })}>{t("It may make snapshots of it, and destroy those that it has made")}</Check>
            <div className="row base">
              <Field label={t("While it is away, snapshots are held for")} value={draft.seconds} onChange={(seconds) => set({ seconds })} fault={secondsOrNone(draft.seconds) === undefined ? t("A time, as 90s, 15m, 12h, 30d or 1y.") : undefined} description={t("Then bookmarks take their place. Empty: without end.")} spellCheck="false" />
              <Field label={t("And as long as they keep less than")} value={draft.bytes} onChange={(bytes) => set({ bytes })} fault={bytesOrNone(draft.bytes) === undefined ? t("Bytes, as 500M or 20G.") : undefined} spellCheck="false" />
            </div>
          </>
        ) : (
          <>
            <Check isSelected={draft.isMore} onChange={(isMore) => set({ isMore })}>{t("It may destroy nothing of what it has sent")}</Check>
            <div className="row base">
              <Field label={t("Newest kept here")} value={draft.count} onChange={(count) => set({ count })} fault={wholeOrNone(draft.count) === undefined || wholeOrNone(draft.count) === 0 ? t("A whole number.") : undefined} description={draft.isMore ? t("Of its snapshots. Empty: all.") : t("Of its snapshots. Empty: as its service says.")} isNarrow spellCheck="false" />
              <Field label={t("And those no older than")} value={draft.age} onChange={(age) => set({ age })} fault={secondsOrNone(draft.age) === undefined ? t("A time, as 90s, 15m, 12h, 30d or 1y.") : undefined} spellCheck="false" />
            </div>
          </>
        )}
      </Form>
    </>
  );
}
