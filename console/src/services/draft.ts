/**
 * A service as it is typed, and what it is set to do. All fields are texts; a kind has those of the others as well, so that
 * nothing that was typed is lost when another kind is looked at.
 *
 * Invariant: what was read and not touched is sent as it was (`specOf(draftOf(spec))` is `spec`).
 */
import type { Schemas } from "../api/client";
import { bytesOrNone, hoursOf, lasting, linesOf, secondsOf, secondsOrNone, sized, textOf, wholeOf, wholeOrNone, windowOf } from "../parts/amounts";
import { draftOfWhen, whenOfDraft, type WhenDraft } from "../parts/when";
import { bytesOf, t } from "../words";

export type Spec = Schemas["ServiceSpecRequest"];
export type Kind = Spec["kind"];
type Target = Schemas["SnapTargetRequest"];
type Sync = Extract<Spec, { kind: "auto-sync" }>;

export interface TargetDraft {
  dataset: string;
  recursive: boolean;
  exclude: string;
  guid: Target["guid"];
}

export interface LevelDraft {
  name: string;
  when: WhenDraft;
  zone: string;
  count: string;
  age: string;
  atLeast: string;
}

/** A host that is reached by SSH. */
export interface HostDraft {
  host: string;
  user: string;
  port: string;
  isKnown: boolean;
}

export interface Draft {
  kind: Kind;
  when: WhenDraft;
  zone: string;
  /** Snapshots. */
  targets: TargetDraft[];
  levels: LevelDraft[];
  most: string;
  space: string;
  skips: boolean;
  naming: Schemas["SnapNaming"]["style"];
  template: string;
  stale: string;
  lock: string;
  /** Scrubs and trims: empty is all pools. */
  pools: string[];
  window: string;
  /** Programs. */
  program: string;
  arguments: string;
  seconds: string;
  memory: string;
  processes: string;
  output: string;
  /** Replication and tiering. */
  source: TargetDraft;
  stuck: string;
  from: "here" | "peer" | "ssh";
  fromPeer: string;
  fromHost: HostDraft;
  to: "pool" | "peer" | "ssh";
  toDataset: string;
  peer: string;
  toHost: HostDraft;
  keepCount: string;
  keepAge: string;
  absentFor: string;
  absentBytes: string;
  lag: string;
  limits: string;
  folder: string;
  tierTo: "dataset" | "folder" | "ssh";
  path: string;
  moves: boolean;
  movesAfter: string;
  include: string;
  exclude: string;
  older: string;
  newer: string;
  least: string;
  greatest: string;
  depth: string;
  rate: string;
  plain: boolean;
}

export type Faults = Record<string, string>;

const NO_HOST: HostDraft = { host: "", user: "", port: "", isKnown: false };
const NO_TARGET: TargetDraft = { dataset: "", recursive: true, exclude: "", guid: null };

export const newLevel = (name: string, when: Parameters<typeof draftOfWhen>[0], count: string): LevelDraft =>
  ({ name, when: draftOfWhen(when), zone: "", count, age: "", atLeast: "0" });

export const newDraft = (): Draft => ({
  kind: "auto-snap", when: draftOfWhen({ every: "day", hour: 1, minute: 0 }), zone: "",
  targets: [{ ...NO_TARGET }],
  levels: [newLevel("hourly", { every: "hour", step: 1, minute: 0 }, "24"), newLevel("daily", { every: "day", hour: 0, minute: 10 }, "30"), newLevel("monthly", { every: "month", day: 1, hour: 0, minute: 20 }, "12")],
  most: "1000", space: "", skips: false, naming: "utc", template: "", stale: "", lock: "", pools: [], window: "",
  program: "", arguments: "", seconds: "1h", memory: "1G", processes: "64", output: "64K",
  source: { ...NO_TARGET }, stuck: "10m", from: "here", fromPeer: "", fromHost: NO_HOST, to: "pool", toDataset: "", peer: "", toHost: NO_HOST,
  keepCount: "2", keepAge: "", absentFor: "30d", absentBytes: "", lag: "", limits: "",
  folder: "", tierTo: "dataset", path: "", moves: false, movesAfter: "", include: "", exclude: "", older: "", newer: "", least: "", greatest: "", depth: "", rate: "", plain: false,
});

const targetDraft = (target: Target): TargetDraft => ({ dataset: target.dataset, recursive: target.recursive, exclude: target.exclude.join("\n"), guid: target.guid });
const hostDraft = (host: { host: string; user: string | null; port: number | null; host_key?: Schemas["SshHostKey"] }): HostDraft =>
  ({ host: host.host, user: host.user ?? "", port: textOf(host.port, String), isKnown: host.host_key === "known" });

const limitText = ({ bytes, window }: Sync["limits"][number]) => (window ? `${sized(bytes)}@${hoursOf(window)}` : sized(bytes));

/** Of what a service is set to do. */
export function draftOf(spec: Spec): Draft {
  const draft = { ...newDraft(), kind: spec.kind };
  if (spec.kind !== "auto-snap") Object.assign(draft, { when: draftOfWhen(spec.schedule.when), zone: spec.schedule.zone ?? "" });
  switch (spec.kind) {
    case "auto-snap": {
      const { space } = spec.budget;
      return {
        ...draft, targets: spec.targets.map(targetDraft),
        levels: spec.levels.map(({ name, schedule, keep }) => ({ name, when: draftOfWhen(schedule.when), zone: schedule.zone ?? "", count: textOf(keep.count, String), age: textOf(keep.age, lasting), atLeast: String(keep.at_least) })),
        most: String(spec.budget.snapshots), space: space ? (space.of === "percent" ? `${space.percent}%` : sized(space.bytes)) : "",
        skips: spec.skip_unchanged, naming: spec.naming.style, template: spec.naming.style === "template" ? spec.naming.template : "",
        stale: textOf(spec.stale_after, lasting), lock: textOf(spec.lock, lasting),
      };
    }
    case "auto-scrub": case "auto-trim": return { ...draft, pools: spec.pools, window: spec.window ? hoursOf(spec.window) : "" };
    case "script": return {
      ...draft, program: spec.program, arguments: spec.arguments.join("\n"), seconds: lasting(spec.limits.seconds), memory: sized(spec.limits.memory),
      processes: String(spec.limits.processes), output: sized(spec.limits.output),
    };
    case "auto-sync": return {
      ...draft, source: targetDraft(spec.source), stuck: lasting(spec.stuck_after),
      from: spec.origin?.kind ?? "here", fromPeer: spec.origin?.kind === "peer" ? spec.origin.peer : "", fromHost: spec.origin?.kind === "ssh" ? hostDraft(spec.origin) : NO_HOST,
      to: spec.target.kind, toDataset: spec.target.dataset, peer: spec.target.kind === "peer" ? spec.target.peer : "", toHost: spec.target.kind === "ssh" ? hostDraft(spec.target) : NO_HOST,
      keepCount: String(spec.keep.count), keepAge: textOf(spec.keep.age, lasting), absentFor: textOf(spec.absence.seconds, lasting), absentBytes: textOf(spec.absence.bytes, sized),
      lag: textOf(spec.lag, lasting), limits: spec.limits.map(limitText).join("\n"),
    };
    case "auto-tier": {
      const { choose, target } = spec;
      return {
        ...draft, source: targetDraft(spec.source), stuck: lasting(spec.stuck_after), folder: spec.folder, tierTo: target.kind,
        toDataset: target.kind === "dataset" ? target.dataset : "", path: target.kind === "dataset" ? "" : target.path, toHost: target.kind === "ssh" ? hostDraft(target) : NO_HOST,
        moves: spec.action.kind === "move", movesAfter: spec.action.kind === "move" && spec.action.keep > 0 ? lasting(spec.action.keep) : "",
        include: choose.include.join("\n"), exclude: choose.exclude.join("\n"), older: textOf(choose.older_than, lasting), newer: textOf(choose.newer_than, lasting),
        least: textOf(choose.min_size, sized), greatest: textOf(choose.max_size, sized), depth: textOf(choose.max_depth, String), rate: textOf(spec.rate, sized), plain: spec.plain,
      };
    }
  }
}

/** What is typed in, field by field; what is wrong with one is noted by its name. */
class Reader {
  faults: Faults = {};

  fault(field: string, why: string) {
    this.faults[field] ??= why;
  }
  value<T>(field: string, text: string, of: (text: string) => T | undefined, why: string, or: T): T {
    const value = of(text);
    if (value === undefined) this.fault(field, why);
    return value ?? or;
  }
  seconds = (field: string, text: string) => this.value(field, text, secondsOf, t("A time, as 90s, 15m, 12h, 30d or 1y."), 0);
  maybeSeconds = (field: string, text: string) => this.value<number | null>(field, text, secondsOrNone, t("A time, as 90s, 15m, 12h, 30d or 1y."), null);
  bytes = (field: string, text: string) => this.value(field, text, bytesOf, t("A size, as 100G."), 0);
  maybeBytes = (field: string, text: string) => this.value<number | null>(field, text, bytesOrNone, t("A size, as 100G."), null);
  whole = (field: string, text: string) => this.value(field, text, wholeOf, t("A whole number."), 0);
  maybeWhole = (field: string, text: string) => this.value<number | null>(field, text, wholeOrNone, t("A whole number."), null);
  given(field: string, text: string): string {
    if (text.trim() === "") this.fault(field, t("It is needed."));
    return text.trim();
  }
  schedule(field: string, draft: WhenDraft, zone: string): Schemas["ScheduleRequest"] {
    const when = whenOfDraft(draft);
    if ("fault" in when) this.fault(field, when.fault);
    return { when: "fault" in when ? { every: "hour", step: 1, minute: 0 } : when, zone: zone.trim() || null };
  }
  target(field: string, draft: TargetDraft): Target {
    return { dataset: this.given(field, draft.dataset), recursive: draft.recursive, exclude: draft.recursive ? linesOf(draft.exclude) : [], guid: draft.guid };
  }
  window(field: string, text: string) {
    return text.trim() === "" ? null : this.value<Schemas["WindowRequest"] | null>(field, text, windowOf, t("Hours, as 22:00-06:00."), null);
  }
  host(field: string, draft: HostDraft) {
    return { host: this.given(field, draft.host), user: draft.user.trim() || null, port: this.maybeWhole(`${field}.port`, draft.port) };
  }
  sshHost(field: string, draft: HostDraft) {
    return { ...this.host(field, draft), host_key: (draft.isKnown ? "known" : "accept-new") as Schemas["SshHostKey"] };
  }
}

function limitOf(text: string): Sync["limits"][number] | undefined {
  const [rate = "", hours] = text.split("@");
  const bytes = bytesOf(rate);
  const window = hours === undefined ? null : windowOf(hours);
  return bytes === undefined || window === undefined ? undefined : { bytes, window };
}

function spaceOf(text: string): Schemas["SpaceBudget"] | null | undefined {
  const share = /^\s*(\d{1,3})\s*%\s*$/.exec(text);
  if (share) return { of: "percent", percent: Number(share[1]) };
  const bytes = bytesOrNone(text);
  return bytes === null || bytes === undefined ? bytes : { of: "bytes", bytes };
}

function snapOf(draft: Draft, read: Reader): Spec {
  if (draft.targets.length === 0) read.fault("targets", t("At least one dataset."));
  if (draft.levels.length === 0) read.fault("levels", t("At least one level."));
  const levels = draft.levels.map((level, at) => {
    const count = read.maybeWhole(`level.${at}.count`, level.count);
    const age = read.maybeSeconds(`level.${at}.age`, level.age);
    return {
      name: read.given(`level.${at}.name`, level.name), schedule: read.schedule(`level.${at}.when`, level.when, level.zone),
      keep: { count, age, at_least: read.whole(`level.${at}.atLeast`, level.atLeast) },
    };
  });
  const space = read.value("space", draft.space, spaceOf, t("A size, as 100G, or a share, as 20%."), null);
  return {
    kind: "auto-snap", targets: draft.targets.map((one, at) => read.target(`target.${at}`, one)), levels, budget: { snapshots: read.whole("most", draft.most), space },
    skip_unchanged: draft.skips, naming: draft.naming === "template" ? { style: "template", template: read.given("template", draft.template) } : { style: draft.naming },
    stale_after: read.maybeSeconds("stale", draft.stale), lock: read.maybeSeconds("lock", draft.lock),
  };
}

function syncOf(draft: Draft, read: Reader): Spec {
  const dataset = read.given("toDataset", draft.toDataset);
  const target: Sync["target"] = draft.to === "pool" ? { kind: "pool", dataset }
    : draft.to === "peer" ? { kind: "peer", peer: read.given("peer", draft.peer), dataset } : { kind: "ssh", dataset, ...read.sshHost("toHost", draft.toHost) };
  const origin: Sync["origin"] = draft.from === "here" ? { kind: "here" }
    : draft.from === "peer" ? { kind: "peer", peer: read.given("fromPeer", draft.fromPeer) } : { kind: "ssh", ...read.sshHost("fromHost", draft.fromHost) };
  const limits = linesOf(draft.limits).map((line) => read.value("limits", line, limitOf, t("A rate on each line, as 50M, or 5M@08:00-18:00."), { bytes: 0, window: null }));
  return {
    kind: "auto-sync", source: read.target("source", draft.source), origin,
    target, schedule: read.schedule("when", draft.when, draft.zone), keep: { count: read.whole("keepCount", draft.keepCount), age: read.maybeSeconds("keepAge", draft.keepAge) },
    absence: { seconds: read.maybeSeconds("absentFor", draft.absentFor), bytes: read.maybeBytes("absentBytes", draft.absentBytes) },
    lag: read.maybeSeconds("lag", draft.lag), limits, stuck_after: read.seconds("stuck", draft.stuck),
  };
}

function tierOf(draft: Draft, read: Reader): Spec {
  const target: Extract<Spec, { kind: "auto-tier" }>["target"] = draft.tierTo === "dataset" ? { kind: "dataset", dataset: read.given("toDataset", draft.toDataset) }
    : draft.tierTo === "folder" ? { kind: "folder", path: read.given("path", draft.path) } : { kind: "ssh", path: read.given("path", draft.path), ...read.host("toHost", draft.toHost) };
  return {
    kind: "auto-tier", source: { ...read.target("source", draft.source), recursive: false, exclude: [] }, folder: draft.folder.trim(), target,
    action: draft.moves ? { kind: "move", keep: read.maybeSeconds("movesAfter", draft.movesAfter) ?? 0 } : { kind: "copy" },
    choose: {
      include: linesOf(draft.include), exclude: linesOf(draft.exclude), older_than: read.maybeSeconds("older", draft.older), newer_than: read.maybeSeconds("newer", draft.newer),
      min_size: read.maybeBytes("least", draft.least), max_size: read.maybeBytes("greatest", draft.greatest), max_depth: read.maybeWhole("depth", draft.depth),
    },
    rate: read.maybeBytes("rate", draft.rate), plain: draft.plain, stuck_after: read.seconds("stuck", draft.stuck), schedule: read.schedule("when", draft.when, draft.zone),
  };
}

/** What the draft says, and what is wrong with which field. */
export function specOf(draft: Draft): { spec: Spec; faults: Faults } {
  const read = new Reader();
  const made = (): Spec => {
    switch (draft.kind) {
      case "auto-snap": return snapOf(draft, read);
      case "auto-sync": return syncOf(draft, read);
      case "auto-tier": return tierOf(draft, read);
      case "auto-scrub": case "auto-trim":
        return { kind: draft.kind, pools: draft.pools, schedule: read.schedule("when", draft.when, draft.zone), window: read.window("window", draft.window) };
      case "script": return {
        kind: "script", program: read.given("program", draft.program), arguments: draft.arguments === "" ? [] : draft.arguments.split("\n"), schedule: read.schedule("when", draft.when, draft.zone),
        limits: { seconds: read.seconds("seconds", draft.seconds), memory: read.bytes("memory", draft.memory), processes: read.whole("processes", draft.processes), output: read.bytes("output", draft.output) },
      };
    }
  };
  const spec = made();
  return { spec, faults: read.faults };
}
