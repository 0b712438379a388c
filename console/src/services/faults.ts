/** Which field of the form a refusal of the engine is about. */
import type { Refusal, Schemas } from "../api/client";
import type { Draft, Faults } from "./draft";

type Fault = Schemas["ServiceFault"];

function ofSnap(fault: Schemas["SnapFault"], draft: Draft): string {
  // Of two levels with one name it is the second that is wrong.
  const level = (part: string) => `level.${draft.levels.findLastIndex(({ name }) => "level" in fault && name === fault.level)}.${part}`;
  switch (fault.kind) {
    case "schedule": return level("when");
    case "level-name": case "level-twice": return level("name");
    case "keeps-nothing": return level("count");
    case "no-levels": case "too-many-levels": return "levels";
    case "no-targets": case "too-many-targets": return "targets";
    case "template": return "template";
    case "percent": return "space";
    case "lock": return "lock";
    case "snapshot-budget": return "most";
  }
}

function ofSync(fault: Schemas["SyncFault"], draft: Draft): string {
  const host = draft.from === "ssh" ? "fromHost" : "toHost";
  switch (fault.kind) {
    case "schedule": return "when";
    case "dataset": return fault.dataset === draft.source.dataset ? "source" : "toDataset";
    case "overlap": return "toDataset";
    case "nothing-here": return "source";
    case "host": return host;
    case "user": return `${host}.user`;
    case "peer": return "fromPeer";
    case "keep": return "keepCount";
    case "absence": return "absentFor";
    case "stuck-after": return "stuck";
    case "limit": return "limits";
    case "lag": return "lag";
  }
}

function ofTier(fault: Schemas["TierFault"], draft: Draft): string {
  switch (fault.kind) {
    case "schedule": return "when";
    case "dataset": return fault.dataset === draft.source.dataset ? "source" : "toDataset";
    case "recursive": return "source";
    case "path": return fault.path === draft.folder ? "folder" : "path";
    case "host": return "toHost";
    case "user": return "toHost.user";
    case "same": return draft.tierTo === "dataset" ? "toDataset" : "path";
    case "pattern": return draft.exclude.split("\n").includes(fault.pattern) ? "exclude" : "include";
    case "too-many-patterns": return "include";
    case "chooses-nothing": return "older";
    case "rate": return "rate";
    case "stuck-after": return "stuck";
  }
}

function fieldsOf(fault: Fault, draft: Draft): string[] {
  switch (fault.kind) {
    case "snap": return fault.faults.map((one) => ofSnap(one, draft));
    case "sync": return fault.faults.map((one) => ofSync(one, draft));
    case "tier": return fault.faults.map((one) => ofTier(one, draft));
    case "schedule": return ["when"];
    case "window": return ["window"];
    case "program": return ["program"];
    case "limits": return ["seconds"];
  }
}

/** The fields that a refusal names, each with what the engine says. Empty: it is about no field. */
export function faultsOf(refusal: Refusal, draft: Draft): Faults {
  const fault = refusal.problem.service_fault;
  if (fault) return Object.fromEntries(fieldsOf(fault, draft).map((field) => [field, refusal.message]));
  return refusal.kind === "exists" ? { id: refusal.message } : {};
}
