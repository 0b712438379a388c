/** Schedules and services in words, and those that the console suggests. */
import type { Schemas } from "../api/client";
import { plainly, span, t, tn } from "../words";

type When = Schemas["When"];
type Spec = Schemas["ServiceSpec"];
type Levels = Extract<Schemas["ServiceSpecRequest"], { kind: "auto-snap" }>["levels"];

const clock = (hour: number, minute: number) => `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;

export function whenOf(when: When): string {
  switch (when.every) {
    case "second": return t("every {span}", { span: span(when.step) });
    case "minute": return t("every {span}", { span: span(when.step * 60) });
    case "hour": return when.step === 1 ? t("every hour") : t("every {span}", { span: span(when.step * 3600) });
    case "day": return t("every day at {time}", { time: clock(when.hour, when.minute) });
    case "week": return t("every {day} at {time}", { day: String(when.weekday), time: clock(when.hour, when.minute) });
    case "month": return t("on day {day} of every month at {time}", { day: when.day, time: clock(when.hour, when.minute) });
    case "year": return t("once a year");
    case "cron": return when.pattern;
  }
}

/** What a service does, in a line. */
export function aboutOf(spec: Spec): string {
  switch (spec.kind) {
    case "auto-snap": {
      const targets = spec.targets.map(({ dataset }) => plainly(dataset)).join(", ");
      return t("Snapshots of {targets}: {levels}", { targets, levels: spec.levels.map(({ schedule }) => whenOf(schedule.when)).join("; ") });
    }
    case "auto-scrub": return t("Scrubs {pools} {when}", { pools: spec.pools.map(plainly).join(", ") || t("all pools"), when: whenOf(spec.schedule.when) });
    case "auto-trim": return t("Trims {pools} {when}", { pools: spec.pools.map(plainly).join(", ") || t("all pools"), when: whenOf(spec.schedule.when) });
    case "auto-sync": return t("Replicates {when}", { when: whenOf(spec.schedule.when) });
    case "auto-tier": return t("Moves or copies old files {when}", { when: whenOf(spec.schedule.when) });
    case "script": return t("Runs {program} {when}", { program: plainly(spec.program), when: whenOf(spec.schedule.when) });
  }
}

export type Policy = "standard" | "often" | "none";

export const policies = () => [
  { id: "standard" as Policy, name: t("Hourly, daily, monthly"), about: t("24 hourly, 30 daily and 12 monthly snapshots are kept.") },
  { id: "often" as Policy, name: t("Every quarter of an hour, too"), about: t("And 16 of every quarter of an hour.") },
  { id: "none" as Policy, name: t("None"), about: t("Snapshots are taken by hand alone.") },
];

export function levelsOf(policy: Policy): Levels {
  const level = (name: string, when: When, count: number) => ({ name, schedule: { when, zone: null }, keep: { count, age: null, at_least: 0 } });
  const standard = [
    level("hourly", { every: "hour", step: 1, minute: 0 }, 24),
    level("daily", { every: "day", hour: 0, minute: 10 }, 30),
    level("monthly", { every: "month", day: 1, hour: 0, minute: 20 }, 12),
  ];
  if (policy === "none") return [] as never;
  return (policy === "often" ? [level("frequent", { every: "minute", step: 15, offset: 5 }, 16), ...standard] : standard) as never;
}

/** A service that takes snapshots of a dataset and all below it. */
export const snapService = (dataset: string, policy: Policy): Schemas["ServiceSpecRequest"] => ({
  kind: "auto-snap", targets: [{ dataset, recursive: true, exclude: [], guid: null }], levels: levelsOf(policy),
  budget: { snapshots: 1000, space: null }, skip_unchanged: false, naming: { style: "utc" }, stale_after: null, lock: null,
} as never);

/** A service that scrubs all pools on the first Sunday night of the month, about. */
export const scrubService = (): Schemas["ServiceSpecRequest"] => ({ kind: "auto-scrub", pools: [], schedule: { when: { every: "month", day: 1, hour: 1, minute: 30 }, zone: null }, window: null } as never);

export const reasonOf = (reason: Schemas["RunReason"]): string => {
  switch (reason.kind) {
    case "scheduled": return t("as scheduled");
    case "catch-up": return tn(reason.missed, "{count} time was missed", "{count} times were missed");
    case "retry": return tn(reason.failures, "again, after {count} failure", "again, after {count} failures");
    case "asked": return t("somebody asked for it");
    default: return String((reason as { kind: string }).kind);
  }
};
