/**
 * Fail-over: what would be lost, a trial on clones, and a replica that takes the place of its source; afterwards the
 * service goes the other way. What cannot be undone is named first, and wants the name typed.
 */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { Button, Check, Field, Form, Loaded, Name, NameTyped, State } from "../parts/ui";
import { placeOf } from "../pages/datasets";
import { exactTime, plainly, size, t, tn } from "../words";

type Replica = Schemas["Replica"];

const TOUCHED = ["/v1/services", "/v1/replicas", "/v1/datasets", "/v1/shares", "snapshots"];

export function ReplicaSheet({ replica, may, close }: { replica: Replica; may: boolean; close: () => void }) {
  const [deed, setDeed] = useState<"promote" | "test">();
  const back = () => setDeed(undefined);
  if (deed === "promote") return <Promote replica={replica} back={back} close={close} />;
  if (deed === "test") return <Test replica={replica} back={back} close={close} />;
  return (
    <>
      <dl className="facts">
        <dt>{t("Source")}</dt><dd>{replica.source ? <Name>{replica.source}</Name> : t("not here")}</dd>
        <dt>{t("Newest snapshot")}</dt><dd>{replica.snapshot ? <Name>{replica.snapshot}</Name> : t("nothing yet")}</dd>
        <dt>{t("Clients")}</dt><dd>{replica.keeps_clients ? t("They go on with their handles and disks.") : t("They have to mount and log in anew.")}</dd>
      </dl>
      <h3>{t("What would be lost if it took over now")}</h3>
      <Losses dataset={replica.dataset} />
      {!may && <p className="small muted">{t("An administrator can take over.")}</p>}
      <div className="row end">
        {may && <Button manner="danger" onPress={() => setDeed("promote")}>{t("Take over…")}</Button>}
        {may && <Button onPress={() => setDeed("test")}>{t("Test on clones…")}</Button>}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}

const SHOWN = 5;

function Losses({ dataset }: { dataset: string }) {
  const losses = useRead("/v1/replicas/losses", { query: { dataset } as never }, { staleTime: 0 });
  return (
    <Loaded of={losses}>
      {({ value }) => (
        <div className="scroll-x">
          <table className="plain">
            <thead><tr><th scope="col">{t("Dataset")}</th><th scope="col">{t("Newest here")}</th><th scope="col" className="number">{t("Written since")}</th><th scope="col">{t("Snapshots since")}</th></tr></thead>
            <tbody>
              {value.map((one) => (
                <tr key={one.dataset}>
                  <td><Name>{one.dataset}</Name></td><td>{one.at == null ? "–" : exactTime(one.at)}</td>
                  <td className="number">{one.written == null ? t("not known") : size(one.written)}</td>
                  <td className="small">{one.newer.length === 0 ? "–" : `${one.newer.slice(-SHOWN).map(plainly).join(", ")}${one.newer.length > SHOWN ? ` ${t("and {count} more", { count: one.newer.length - SHOWN })}` : ""}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Loaded>
  );
}

function Promote({ replica, back, close }: { replica: Replica; back: () => void; close: () => void }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const [isForced, setForced] = useState(false);
  const [done, setDone] = useState<Schemas["ReplicaPromoted"]>();
  if (done) return <Promoted done={done} close={close} />;
  const run = async () => {
    const promoted = await post("/v1/replicas/promote", { body: { dataset: replica.dataset, force: isForced } });
    await renew(client, TOUCHED);
    setDone(promoted);
  };
  return (
    <Form action={t("Take over")} isDangerous isDisabled={typed !== replica.dataset} onCancel={back} run={run}>
      <div className="note bad stack tight">
        <p>{t("{name} and all replicas below it take the place of their sources. What the sources have beyond that is not here:", { name: plainly(replica.dataset) })}</p>
        <Losses dataset={replica.dataset} />
        <p>{t("The service that sends to it is disabled. It can go the other way later, and back again.")}</p>
      </div>
      <Check isSelected={isForced} onChange={setForced}>{t("Even if the source is in use: it is taken out first, and is read-only from then on")}</Check>
      <NameTyped name={replica.dataset} value={typed} onChange={setTyped} />
    </Form>
  );
}

function Promoted({ done, close }: { done: Schemas["ReplicaPromoted"]; close: () => void }) {
  return (
    <>
      <ul className="steps">
        {done.promoted.map((one) => <li key={one.dataset}><State tone="good">{t("{name} has taken over", { name: plainly(one.dataset) })}</State> <span className="muted">{one.keeps_clients ? t("clients go on") : t("clients begin anew")}</span></li>)}
        {done.taken_out.map((one) => <li key={one}><State tone="idle">{t("{name} is taken out", { name: plainly(one) })}</State></li>)}
      </ul>
      {done.warnings.map((one) => <p key={one} className="note warn">{plainly(one)}</p>)}
      {done.disabled && <p className="note">{t("Service {name} is disabled. Open it among the relations, and reverse it, to have it replicate back.", { name: plainly(done.disabled) })}</p>}
      <p>{t("It is shared and mounted as its own properties say: set them now, if its clients are to find it.")}</p>
      <div className="row end">
        {done.promoted[0] && <Link href={placeOf(done.promoted[0].dataset)} className="button">{t("Its properties")}</Link>}
        <Button manner="first" onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}

function Test({ replica, back, close }: { replica: Replica; back: () => void; close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(`${replica.dataset.split("/")[0]}/trial`);
  const [made, setMade] = useState<Schemas["ReplicaTested"]>();
  if (made) {
    return (
      <>
        <p>{tn(made.clones.length, "{count} clone is there. It may be written to, and changes nothing else. Destroy it when you have seen it:", "{count} clones are there. They may be written to, and change nothing else. Destroy the first, with all below it, when you have seen them:")}</p>
        <ul className="steps">{made.clones.map((one) => <li key={one}><Link href={placeOf(one)}><Name>{one}</Name></Link></li>)}</ul>
        {made.warnings.map((one) => <p key={one} className="note warn">{plainly(one)}</p>)}
        <div className="row end"><Button manner="first" onPress={close}>{t("Close")}</Button></div>
      </>
    );
  }
  const run = async () => {
    const tested = await post("/v1/replicas/test", { body: { dataset: replica.dataset, name } });
    await renew(client, TOUCHED);
    setMade(tested);
  };
  return (
    <Form action={t("Make clones")} isDisabled={!name} onCancel={back} run={run}>
      <p>{t("Clones of the newest snapshots are made, of the replica and all below it. They are mounted and shared as their properties say. Clients of the source do not see them, and replication goes on meanwhile.")}</p>
      <Field label={t("Name of the clone, with the pool")} value={name} onChange={setName} spellCheck="false" autoFocus />
    </Form>
  );
}

/** A service goes the other way: from what has taken over to what was its source. */
export function Reverse({ service, source, back, close }: { service: string; source: string; back: () => void; close: () => void }) {
  const client = useQueryClient();
  const [doesDiscard, setDiscard] = useState(false);
  const [typed, setTyped] = useState("");
  const [warnings, setWarnings] = useState<string[]>();
  if (warnings) {
    return (
      <>
        <p><State tone="good">{t("Service {name} goes the other way", { name: plainly(service) })}</State></p>
        {warnings.map((one) => <p key={one} className="note warn mono small">{plainly(one)}</p>)}
        <div className="row end"><Button manner="first" onPress={close}>{t("Close")}</Button></div>
      </>
    );
  }
  const run = async () => {
    const done = await post("/v1/services/{name}/reverse", { path: { name: service }, body: { discard: doesDiscard } });
    await renew(client, TOUCHED);
    setWarnings(done.warnings);
  };
  return (
    <Form action={t("Reverse")} isDangerous={doesDiscard} isDisabled={doesDiscard && typed !== source} onCancel={back} run={run}>
      <p>{t("It replicates from what has taken over to {name}, from the newest snapshot that both have. If {name} has more than that, you are told how much, and nothing is done.", { name: plainly(source) })}</p>
      <Check isSelected={doesDiscard} onChange={setDiscard}>{t("What {name} has beyond that is given up: it is rolled back. This cannot be undone.", { name: plainly(source) })}</Check>
      {doesDiscard && <NameTyped name={source} value={typed} onChange={setTyped} />}
    </Form>
  );
}
