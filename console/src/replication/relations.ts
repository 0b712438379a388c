/**
 * What is replicated from where to where, as services here say it, and the appliances that send here or pull from here.
 *
 * Invariant: how far a relation is behind is that of its replica that is furthest behind, and one that has nothing yet is
 * further behind than any.
 */
import type { Schemas } from "../api/client";
import { plainly, span, t } from "../words";
import type { Tone } from "../parts/ui";

type Service = Schemas["Service"];
type Spec = Extract<Schemas["ServiceSpec"], { kind: "auto-sync" }>;
type Replica = Schemas["SyncReplica"];

export interface Place {
  id: string;
  kind: "pool" | "peer" | "host";
  name: string;
}

export interface Relation {
  id: string;
  service: string;
  from: Place;
  to: Place;
  /** The dataset that is sent, as it is called there, and its replica. */
  source: string;
  target: string;
  state: Schemas["ServiceState"];
  /** Seconds; `undefined`: nothing is there yet, or nobody knows. */
  behind: number | undefined;
  allowed: number | null;
  replicas: Replica[];
  /** That of this machine which does it. */
  own: Service | undefined;
}

const poolOf = (dataset: string): Place => {
  const [pool = ""] = dataset.split("/");
  return { id: `pool ${pool}`, kind: "pool", name: pool };
};
const peerOf = (name: string): Place => ({ id: `peer ${name}`, kind: "peer", name });
const hostOf = (name: string): Place => ({ id: `host ${name}`, kind: "host", name });

function behindOf(replicas: Replica[], now: number): number | undefined {
  if (replicas.length === 0 || replicas.some(({ current }) => current == null)) return undefined;
  return Math.max(0, now - Math.min(...replicas.map(({ current }) => current!)));
}

const originOf = (origin: Spec["origin"], dataset: string): Place =>
  origin?.kind === "ssh" ? hostOf(origin.host) : origin?.kind === "peer" ? peerOf(origin.peer) : poolOf(dataset);

export function ownRelations(services: Service[], now: number): Relation[] {
  return services.flatMap((own): Relation[] => {
    if (own.spec.kind !== "auto-sync") return [];
    const { source, target, origin, lag } = own.spec as Spec;
    const to = target.kind === "pool" ? poolOf(target.dataset) : target.kind === "peer" ? peerOf(target.peer) : hostOf(target.host);
    const replicas = own.sync?.replicas ?? [];
    return [{
      id: own.id, service: own.id, from: originOf(origin, source.dataset), to, source: source.dataset, target: target.dataset,
      state: own.state, behind: behindOf(replicas, now), allowed: lag, replicas, own,
    }];
  });
}

/** What another appliance sends here, or pulls from here, as it says itself. */
export function toldBy(peer: string, relations: Schemas["PeerRelation"][]): Relation[] {
  return relations.flatMap((one): Relation[] => {
    const [first] = one.replicas;
    if (!first) return [];
    return [{
      id: `${peer} ${one.service}`, service: one.service, from: one.pulls ? poolOf(first.dataset) : peerOf(peer), to: one.pulls ? peerOf(peer) : poolOf(first.target), source: first.dataset, target: first.target,
      state: one.state, behind: behindOf(one.replicas, one.at), allowed: one.allowed, replicas: one.replicas, own: undefined,
    }];
  });
}

export function toneOfRelation({ state, behind, allowed }: Relation): Tone {
  if (state === "disabled") return "idle";
  if (state === "maintenance") return "bad";
  if (state === "degraded" || behind === undefined || (allowed != null && behind > allowed)) return "warn";
  return state === "running" ? "busy" : "good";
}

/** `4 min behind, 1 h allowed`. */
export function lagOf({ behind, allowed, state }: Relation): string {
  if (state === "disabled") return t("disabled");
  const lag = behind === undefined ? t("nothing there yet") : t("{span} behind", { span: span(behind) });
  return allowed == null ? lag : t("{lag}, {span} allowed", { lag, span: span(allowed) });
}

export const placeName = ({ kind, name }: Place) =>
  kind === "pool" ? t("pool {name}", { name: plainly(name) }) : kind === "peer" ? t("appliance {name}", { name: plainly(name) }) : t("host {name}", { name: plainly(name) });
