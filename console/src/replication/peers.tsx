/** Other appliances: who is known, and how they come to know each other. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Field, Form, Loaded, Name, NameTyped, Sheet, State } from "../parts/ui";
import { exactTime, plainly, t } from "../words";
import { Rights } from "./rights";

type Peer = Schemas["Peer"];

export function Peers() {
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
  const [isAllowed, setAllowed] = useState(false);
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
      {(peer.reads ?? []).map((one) => <span key={one.dataset} className="small">{t("may read {name}", { name: plainly(one.dataset) })}</span>)}
      {may("administrator") && <Button onPress={() => setAllowed(true)}>{t("What it may do…")}</Button>}
      {may("administrator") && <Button onPress={() => check.mutate(undefined)}>{t("Check")}</Button>}
      {may("administrator") && <Button manner="danger" onPress={() => setRemoved(true)}>{t("Remove…")}</Button>}
      {found && <span role="status"><State tone={found.problem ? "bad" : "good"}>{found.problem ? plainly(found.problem.detail) : t("It answers: version {version}", { version: found.version ?? "" })}</State></span>}
      <Failure error={check.error} />
      <Sheet title={t("What {name} may do here", { name: plainly(peer.name) })} isOpen={isAllowed} onClose={() => setAllowed(false)}>
        <Rights peer={peer} close={() => setAllowed(false)} />
      </Sheet>
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
