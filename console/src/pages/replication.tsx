/** What is replicated from where to where, as a map and a table; replicas that are here and may take over; other appliances. */
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get, post, type Schemas } from "../api/client";
import { useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Head, Loaded, Name, Progress, Sheet, State, toneOf } from "../parts/ui";
import { Grid, byText, type Column } from "../parts/grid";
import { aboutOf } from "../parts/schedules";
import { ReplicaSheet, Reverse } from "../replication/failover";
import { RelationMap } from "../replication/map";
import { Peers } from "../replication/peers";
import { lagOf, ownRelations, placeName, toldBy, toneOfRelation, type Relation } from "../replication/relations";
import { ago, exactTime, plainly, size, t } from "../words";

type Replica = Schemas["Replica"];

export default function Replication() {
  return (
    <div className="page">
      <Head title={t("Replication")} about={t("What is sent from where to where, and how far it is behind; replicas that are kept here; other appliances.")} />
      <Relations />
      <Replicas />
      <Peers />
    </div>
  );
}

const OFTEN = 60_000;

/** What other appliances send here and pull from here: each is asked. One that does not answer is said by the check of peers. */
function useTold(): Relation[] {
  const peers = useRead("/v1/peers").data?.value ?? [];
  const asked = peers.filter(({ grants, reads, address }) => (grants.length > 0 || (reads ?? []).length > 0) && address);
  return useQueries({
    queries: asked.map(({ name }) => ({
      queryKey: ["/v1/peers", name, "relations"], refetchInterval: OFTEN, retry: false,
      queryFn: async ({ signal }: { signal: AbortSignal }) => toldBy(name, (await get("/v1/peers/{name}/relations", { path: { name }, signal })).value),
    })),
  }).flatMap(({ data }) => data ?? []);
}

function Relations() {
  const services = useRead("/v1/services", {}, { refetchInterval: 5000 });
  const there = useTold();
  const [opened, open] = useState<string>();
  const columns: Column<Relation>[] = [
    { id: "source", name: t("Dataset"), width: "minmax(150px, 1.4fr)", show: (one) => <Name>{one.source}</Name>, order: byText(({ source }) => source) },
    { id: "from", name: t("From"), width: "minmax(110px, 1fr)", show: ({ from }) => placeName(from) },
    { id: "target", name: t("Replica"), width: "minmax(150px, 1.4fr)", show: (one) => <Name>{one.target}</Name> },
    { id: "to", name: t("To"), width: "minmax(110px, 1fr)", show: ({ to }) => placeName(to) },
    { id: "service", name: t("By"), width: "minmax(100px, 1fr)", show: (one) => <Name>{one.service}</Name> },
    { id: "state", name: t("State"), width: "130px", show: (one) => <State tone={toneOf(one.state)}>{one.state}</State> },
    { id: "lag", name: t("Lag"), width: "minmax(240px, 1.4fr)", show: (one) => <State tone={toneOfRelation(one)}>{lagOf(one)}</State> },
  ];
  return (
    <section className="stack" aria-labelledby="relations">
      <h2 id="relations">{t("Relations")}</h2>
      <Loaded of={services}>
        {({ value }) => {
          const rows = [...ownRelations(value, Date.now() / 1000), ...there];
          const one = rows.find(({ id }) => id === opened);
          return (
            <>
              {rows.length > 0 && <div className="card"><RelationMap relations={rows} /></div>}
              <Grid label={t("Relations")} rows={rows} columns={columns} keyOf={({ id }) => id} onOpen={({ id }) => open(id)} least={1120}
                empty={<><p>{t("Nothing is replicated.")}</p><Link href="/services" className="button">{t("To the services")}</Link></>} />
              <Sheet title={t("Relation of {name}", { name: plainly(one?.source ?? "") })} isOpen={!!one} onClose={() => open(undefined)} isWide>
                {one && <RelationSheet relation={one} close={() => open(undefined)} />}
              </Sheet>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

/** Datasets that are shown of a relation. */
const SHOWN = 50;

function RelationSheet({ relation, close }: { relation: Relation; close: () => void }) {
  const { may } = useSession();
  const [isReversed, setReversed] = useState(false);
  const path = { name: relation.service };
  const run = useChange(() => post("/v1/services/{name}/command", { path, body: { command: "run" } }), ["/v1/services"]);
  const { own } = relation;
  if (isReversed) return <Reverse service={relation.service} source={relation.source} back={() => setReversed(false)} close={close} />;
  const sending = own?.sync?.sending;
  return (
    <>
      <dl className="facts">
        <dt>{t("From")}</dt><dd>{placeName(relation.from)}</dd>
        <dt>{t("To")}</dt><dd>{placeName(relation.to)}</dd>
        <dt>{t("State")}</dt><dd><State tone={toneOf(relation.state)}>{relation.state}</State></dd>
        <dt>{t("Lag")}</dt><dd><State tone={toneOfRelation(relation)}>{lagOf(relation)}</State></dd>
        {own && <><dt>{t("Schedule")}</dt><dd>{aboutOf(own.spec)}</dd></>}
        {own?.next && <><dt>{t("Next run")}</dt><dd>{exactTime(own.next.at)}</dd></>}
      </dl>
      {own?.cause.kind === "failed" && <p className="note bad">{t("{subject}: {detail}", { subject: plainly(own.cause.failure.subject), detail: plainly(own.cause.failure.problem.detail) })}</p>}
      {sending && <div className="stack tight"><p className="small"><Name>{sending.snapshot}</Name></p><Progress label={t("Sent of {size}", { size: size(sending.size) })} part={sending.bytes} whole={sending.size} /></div>}
      <div className="scroll-x">
        <table className="plain">
          <thead><tr><th scope="col">{t("Dataset")}</th><th scope="col">{t("Replica")}</th><th scope="col">{t("Newest there")}</th><th scope="col">{t("All of it was there")}</th></tr></thead>
          <tbody>
            {relation.replicas.slice(0, SHOWN).map((one) => (
              <tr key={`${one.dataset} ${one.target}`}><td><Name>{one.dataset}</Name></td><td><Name>{one.target}</Name></td><td>{one.snapshot ? <Name>{one.snapshot}</Name> : t("nothing yet")}</td><td>{one.current == null ? "–" : ago(one.current)}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
      {relation.replicas.length > SHOWN && <p className="muted">{t("and {count} more", { count: relation.replicas.length - SHOWN })}</p>}
      <Failure error={run.error} />
      <div className="row end">
        {own && may("administrator") && <Button onPress={() => setReversed(true)}>{t("Reverse…")}</Button>}
        {own && may("operator") && own.state !== "disabled" && <Button manner="first" onPress={() => run.mutate(undefined)} isDisabled={own.state === "running"}>{t("Run now")}</Button>}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
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
        {opened && <ReplicaSheet replica={opened} may={may("administrator")} close={() => open(undefined)} />}
      </Sheet>
    </section>
  );
}
