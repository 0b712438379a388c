/** When something is done: every so many minutes, or at a time of a day, a week, a month or a year, or by a pattern of cron. */
import type { Schemas } from "../api/client";
import { clockOf, minutesOf, wholeOf } from "./amounts";
import { Field, Select } from "./ui";
import { t } from "../words";

type When = Schemas["WhenRequest"];
type Every = When["every"];
type Weekday = Schemas["Weekday"];

/** As it is typed. What one kind of schedule has not got is kept for another one. */
export interface WhenDraft {
  every: Every;
  step: string;
  /** Of an hour, or minutes by which steps of minutes are put off. */
  minute: string;
  time: string;
  weekday: Weekday;
  day: string;
  month: string;
  pattern: string;
}

const PLAIN: WhenDraft = { every: "day", step: "1", minute: "0", time: "01:00", weekday: "sunday", day: "1", month: "1", pattern: "0 1 * * *" };

export function draftOfWhen(when: Partial<When> & { every: Every }): WhenDraft {
  const has = when as Record<string, unknown>;
  const text = (name: string, or: string) => (has[name] === undefined ? or : String(has[name]));
  return {
    ...PLAIN, every: when.every, step: text("step", PLAIN.step), minute: text("minute", text("offset", "0")),
    time: "hour" in has ? clockOf(Number(has["hour"]) * 60 + Number(has["minute"] ?? 0)) : PLAIN.time,
    weekday: text("weekday", PLAIN.weekday) as Weekday, day: text("day", PLAIN.day), month: text("month", PLAIN.month), pattern: text("pattern", PLAIN.pattern),
  };
}

/** What was typed, or why it is no schedule. */
export function whenOfDraft(draft: WhenDraft): When | { fault: string } {
  const [step, minute, day, month, clock] = [wholeOf(draft.step), wholeOf(draft.minute), wholeOf(draft.day), wholeOf(draft.month), minutesOf(draft.time)];
  const at = clock === undefined ? undefined : { hour: Math.floor(clock / 60), minute: clock % 60 };
  const noStep = { fault: t("How often is a whole number, from 1.") };
  const noTime = { fault: t("A time of the day, as 01:30.") };
  switch (draft.every) {
    case "second": return step ? { every: "second", step } : noStep;
    case "minute": return step && minute !== undefined ? { every: "minute", step, offset: minute } : noStep;
    case "hour": return step && minute !== undefined ? { every: "hour", step, minute } : noStep;
    case "day": return at ? { every: "day", ...at } : noTime;
    case "week": return at ? { every: "week", weekday: draft.weekday, ...at } : noTime;
    case "month": return !at ? noTime : day ? { every: "month", day, ...at } : { fault: t("A day of the month, from 1 to 31.") };
    case "year": return !at ? noTime : day && month ? { every: "year", month, day, ...at } : { fault: t("A day, from 1 to 31, and a month, from 1 to 12.") };
    case "cron": return draft.pattern.trim() ? { every: "cron", pattern: draft.pattern.trim() } : { fault: t("A pattern of five fields.") };
  }
}

const kinds = (): { id: Every; name: string }[] => [
  { id: "second", name: t("Every so many seconds") }, { id: "minute", name: t("Every so many minutes") }, { id: "hour", name: t("Every so many hours") },
  { id: "day", name: t("Every day") }, { id: "week", name: t("Every week") }, { id: "month", name: t("Every month") }, { id: "year", name: t("Every year") },
  { id: "cron", name: t("By a pattern of cron") },
];
export const weekdays = (): { id: Weekday; name: string }[] => [
  { id: "monday", name: t("Monday") }, { id: "tuesday", name: t("Tuesday") }, { id: "wednesday", name: t("Wednesday") }, { id: "thursday", name: t("Thursday") },
  { id: "friday", name: t("Friday") }, { id: "saturday", name: t("Saturday") }, { id: "sunday", name: t("Sunday") },
];

interface WhenProps {
  label: string;
  draft: WhenDraft;
  onChange: (draft: WhenDraft) => void;
  fault?: string | undefined;
}

export function WhenFields({ label, draft, onChange, fault }: WhenProps) {
  const set = (patch: Partial<WhenDraft>) => onChange({ ...draft, ...patch });
  const { every } = draft;
  const isStep = every === "second" || every === "minute" || every === "hour";
  const hasDay = every === "month" || every === "year";
  const isClock = every === "day" || every === "week" || hasDay;
  return (
    <div className="stack tight">
      <div className="row base">
        <Select label={label} value={every} onChange={(next) => set({ every: next })} options={kinds()} />
        {isStep && <Field label={t("How many")} value={draft.step} onChange={(step) => set({ step })} inputMode="numeric" isNarrow />}
        {(every === "hour" || every === "minute") && <Field label={t("At minute")} value={draft.minute} onChange={(minute) => set({ minute })} inputMode="numeric" isNarrow />}
        {every === "week" && <Select label={t("Day")} value={draft.weekday} onChange={(weekday) => set({ weekday })} options={weekdays()} />}
        {every === "year" && <Field label={t("Month")} value={draft.month} onChange={(month) => set({ month })} inputMode="numeric" isNarrow />}
        {hasDay && <Field label={t("Day")} value={draft.day} onChange={(day) => set({ day })} inputMode="numeric" isNarrow />}
        {isClock && <Field label={t("Time")} value={draft.time} onChange={(time) => set({ time })} isNarrow />}
        {every === "cron" && <Field label={t("Pattern")} value={draft.pattern} onChange={(pattern) => set({ pattern })} spellCheck="false" />}
      </div>
      {fault && <p className="fault small" role="alert">{fault}</p>}
    </div>
  );
}
