/** Other appliances, what is replicated where and how far behind it is, and replicas that are here. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Field, Form, Head, Loaded, Name, NameTyped, Progress, Sheet, State } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { ago, exactTime, plainly, size, span, t } from "../words";

type Peer = Schemas["Peer"];
type Replica = Schemas["Replica"];

interface Relation {
  service: string;
  dataset: string;
  target: string;
  snapshot: string | null;
  current: number | null;
  sending: Schemas["SyncStatus"]["sending"];
}

export default function Replication() {
  return (
    <div className="page">
      <Head title={t("Replication")} about={t("Datasets that are sent elsewhere, other appliances that are known, and replicas that are kept here.")} />
      <Relations />
      <Replicas />
      <Peers />
    </div>
  );
}

function Relations() {
  const services = useRead("/v1/services", {}, { refetchInterval: 5000 });
  const now = Date.now() / 1000;
  const columns: Column<Relation>[] = [
    { id: "dataset", name: t("Dataset"), width: "minmax(170px, 1.5fr)", show: (one) => <Name>{one.dataset}</Name>, order: (a, b) => (a.dataset < b.dataset ? -1 : 1) },
    { id: "target", name: t("Replica"), width: "minmax(170px, 1.5fr)", show: (one) => <Name>{one.target}</Name> },
    { id: "service", name: t("By"), width: "minmax(110px, 1fr)", show: (one) => <Name>{one.service}</Name> },
    { id: "snapshot", name: t("Newest there"), width: "minmax(150px, 1.2fr)", show: (one) => (one.snapshot ? <Name>{one.snapshot}</Name> : t("nothing yet")) },
    { id: "behind", name: t("Behind by"), width: "120px", isNumber: true, show: (one) => (one.current == null ? "–" : span(now - one.current)), order: (a, b) => (a.current ?? 0) - (b.current ?? 0) },
    { id: "sending", name: t("Under way"), width: "140px", show: ({ sending }) => (sending ? <Progress label={t("Sent of {size}", { size: size(sending.size) })} part={sending.bytes} whole={sending.size} /> : "–") },
  ];
  return (
    <section className="stack tight" aria-labelledby="relations">
      <h2 id="relations">{t("Sent from here")}</h2>
      <Loaded of={services}>
        {({ value }) => {
          const rows = value.flatMap((service) => (service.sync?.replicas ?? []).map((one): Relation => ({
            service: service.id, dataset: one.dataset, target: one.target, snapshot: one.snapshot ?? null, current: one.current ?? null,
            sending: service.sync?.sending?.snapshot.startsWith(`${one.dataset}@`) ? service.sync.sending : null,
          })));
          return <Grid label={t("Sent from here")} rows={rows} columns={columns} keyOf={(one) => `${one.service} ${one.dataset} ${one.target}`} least={900} empty={<p>{t("Nothing is replicated. A service auto-sync does it: cistern service create on the command line.")}</p>} />;
        }}
      </Loaded>
    </section>
  );
}

function Replicas() {
  const replicas = useRead("/v1/replicas");
  const { may } = useSession();
  const [opened, open] = useState<Replica>();
  const columns: Column<Replica>[] = [
    { id: "dataset", name: t("Replica"), width: "minmax(170px, 1.5fr)", show: (one) => <Name>{one.dataset}</Name> },
    { id: "source", name: t("Source"), width: "minmax(170px, 1.5fr)", show: (one) => (one.source ? <Name>{one.source}</Name> : "–") },
    { id: "snapshot", name: t("Newest"), width: "minmax(150px, 1.2fr)", show: (one) => (one.snapshot ? <Name>{one.snapshot}</Name> : "–") },
    { id: "at", name: t("Of"), width: "130px", show: ({ at }) => (at == null ? "–" : ago(at)) },
    { id: "clients", name: t("Clients go on"), width: "120px", show: ({ keeps_clients }) => (keeps_clients ? t("yes") : t("no")) },
  ];
  return (
    <section className="stack tight" aria-labelledby="kept">
      <h2 id="kept">{t("Kept here")}</h2>
      <Loaded of={replicas}>
        {({ value }) => <Grid label={t("Kept here")} rows={value} columns={columns} keyOf={({ dataset }) => dataset} onOpen={open} least={760} empty={<p>{t("No dataset here is a replica.")}</p>} />}
      </Loaded>
      <Sheet title={t("Replica {name}", { name: plainly(opened?.dataset ?? "") })} isOpen={!!opened} onClose={() => open(undefined)} isWide>
        {opened && <Losses replica={opened} mayTest={may("administrator")} close={() => open(undefined)} />}
      </Sheet>
    </section>
  );
}

function Losses({ replica, mayTest, close }: { replica: Replica; mayTest: boolean; close: () => void }) {
  const losses = useRead("/v1/replicas/losses", { query: { dataset: replica.dataset } as never }, { staleTime: 0 });
  return (
    <>
      <h3>{t("What would be lost if its source failed now")}</h3>
      <Loaded of={losses}>
        {({ value }) => (
          <div className="scroll-x">
            <table className="plain">
              <thead><tr><th scope="col">{t("Dataset")}</th><th scope="col">{t("Newest here")}</th><th scope="col" className="number">{t("Written since")}</th></tr></thead>
              <tbody>{value.map((one) => <tr key={one.dataset}><td><Name>{one.dataset}</Name></td><td>{one.at == null ? "–" : exactTime(one.at)}</td><td className="number">{one.written == null ? t("not known") : size(one.written)}</td></tr>)}</tbody>
            </table>
          </div>
        )}
      </Loaded>
      <p className="small muted">{mayTest ? t("To take over, or to try it on a clone: cistern replica promote and test, on the command line. The steps are in the guide to replication.") : t("An administrator can take over.")}</p>
      <div className="row end"><Button onPress={close}>{t("Close")}</Button></div>
    </>
  );
}

function Peers() {
  const { may } = useSession();
  const peers = useRead("/v1/peers");
  const identity = useRead("/v1/peer-identity");
  const [deed, setDeed] = useState<"invite" | "join">();
  return (
    <section className="card stack" aria-labelledby="peers">
      <div className="head">
        <h2 id="peers" className="title">{t("Other appliances")}</h2>
        {may("administrator") && <div className="row"><Button onPress={() => setDeed("invite")}>{t("Invite one…")}</Button><Button onPress={() => setDeed("join")}>{t("Join one…")}</Button></div>}
      </div>
      {identity.data && <p className="small muted">{t("They know this one by its fingerprint:")} <span className="mono">{String(identity.data.value.fingerprint)}</span></p>}
      <Loaded of={peers}>
        {({ value }) => value.length === 0 ? <p className="muted">{t("None is known. One invites, the other joins with the code.")}</p> : <ul className="steps">{value.map((peer) => <PeerRow key={peer.name} peer={peer} />)}</ul>}
      </Loaded>
      <Sheet title={t("Invite an appliance")} isOpen={deed === "invite"} onClose={() => setDeed(undefined)}><Invite close={() => setDeed(undefined)} /></Sheet>
      <Sheet title={t("Join an appliance")} isOpen={deed === "join"} onClose={() => setDeed(undefined)}><Join close={() => setDeed(undefined)} /></Sheet>
    </section>
  );
}

function PeerRow({ peer }: { peer: Peer }) {
  const { may } = useSession();
  const [isRemoved, setRemoved] = useState(false);
  const [typed, setTyped] = useState("");
  const path = { name: peer.name };
  const check = useChange(() => post("/v1/peers/{name}/check", { path }), []);
  const remove = useChange(() => post("/v1/peers/{name}/remove", { path }), ["/v1/peers"]);
  const found = check.data;
  return (
    <li className="row">
      <strong><Name>{peer.name}</Name></strong>
      <span className="muted mono">{peer.address ?? t("never called from here")}</span>
      {peer.grants.map((one) => <span key={one.dataset} className="small">{t("may send to {name}", { name: plainly(one.dataset) })}</span>)}
      {may("administrator") && <Button onPress={() => check.mutate(undefined)}>{t("Check")}</Button>}
      {may("administrator") && <Button manner="danger" onPress={() => setRemoved(true)}>{t("Remove…")}</Button>}
      {found && <span role="status"><State tone={found.problem ? "bad" : "good"}>{found.problem ? plainly(found.problem.detail) : t("It answers: version {version}", { version: found.version ?? "" })}</State></span>}
      <Failure error={check.error} />
      <Sheet title={t("Remove {name}?", { name: plainly(peer.name) })} isOpen={isRemoved} onClose={() => setRemoved(false)} isAlert>
        <Form action={t("Remove")} isDangerous isDisabled={typed !== peer.name} onCancel={() => setRemoved(false)} onDone={() => setRemoved(false)} run={() => remove.mutateAsync(undefined)}>
          <p>{t("Nothing is sent to it or taken from it any more. What it has here stays.")}</p>
          <NameTyped name={peer.name} value={typed} onChange={setTyped} />
        </Form>
      </Sheet>
    </li>
  );
}

/** Where a peer may keep replicas here, of a text. */
const grantsOf = (dataset: string) => (dataset ? [{ dataset, append_only: false, keep: null }] : []);

function Invite({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [dataset, setDataset] = useState("");
  const [code, setCode] = useState<Schemas["PeerInvited"]>();
  if (code) {
    return (
      <>
        <p>{t("Type this code on the other appliance. It is good once, until {time}.", { time: exactTime(code.until) })}</p>
        <p className="secret" aria-label={t("The code")}>{code.code}</p>
        <div className="row end"><Button manner="first" onPress={close}>{t("Close")}</Button></div>
      </>
    );
  }
  return (
    <Form action={t("Make a code")} isDisabled={!name} onCancel={close} run={async () => setCode(await post("/v1/peer-invitation", { body: { name, address: null, grants: grantsOf(dataset) } as never }))}>
      <Field label={t("What it is called here")} value={name} onChange={setName} spellCheck="false" autoFocus />
      <Field label={t("It may keep replicas below")} value={dataset} onChange={setDataset} spellCheck="false" description={t("A dataset, as tank/from-berlin. Empty: it may send nothing here.")} />
    </Form>
  );
}

function Join({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [code, setCode] = useState("");
  const [dataset, setDataset] = useState("");
  const run = async () => {
    await post("/v1/peer-join", { body: { name, address, code: code.trim(), grants: grantsOf(dataset) } as never });
    await renew(client, ["/v1/peers"]);
  };
  return (
    <Form action={t("Join")} isDisabled={!name || !address || !code} onCancel={close} onDone={close} run={run}>
      <Field label={t("What it is called here")} value={name} onChange={setName} spellCheck="false" autoFocus />
      <Field label={t("Its address")} value={address} onChange={setAddress} spellCheck="false" description={t("HOST:PORT, where its console is")} />
      <Field label={t("Code of its invitation")} value={code} onChange={setCode} spellCheck="false" autoComplete="off" />
      <Field label={t("It may keep replicas below")} value={dataset} onChange={setDataset} spellCheck="false" description={t("A dataset, as tank/from-berlin. Empty: it may send nothing here.")} />
    </Form>
  );
}
