/**
 * Texts for people. The English text is the key; words.json, which `npm run words` makes, lists all of them.
 * Names of pools, datasets and people stand in for `{name}`: they are shown as text, and never read as one.
 */

type Values = Record<string, string | number>;

export function t(text: string, values?: Values): string {
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all));
}

const plural = new Intl.PluralRules("en");

/** As `t`, for a count, which stands in for `{count}`. */
export function tn(count: number, one: string, other: string, values?: Values): string {
  return t(plural.select(count) === "one" ? one : other, { ...values, count: number(count) });
}

const grouped = new Intl.NumberFormat("en");
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export const number = (value: number) => grouped.format(value);

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Three digits and a unit of 1024, as OpenZFS shows sizes: `1.50 TiB`. */
export function size(bytes: number): string {
  let at = 0;
  let value = bytes;
  while (value >= 1000 && at < UNITS.length - 1) {
    value /= 1024;
    at += 1;
  }
  const digits = at === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[at]}`;
}

export const rate = (bytes: number) => t("{size}/s", { size: size(bytes) });

/** Seconds, in the two greatest units that say something. */
export function span(seconds: number): string {
  const all: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const parts: string[] = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, name] of all) {
    const count = Math.floor(rest / unit);
    if (count > 0 || (unit === 1 && parts.length === 0)) parts.push(`${count} ${name}`);
    rest -= count * unit;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** A time in seconds since 1970, as people say it. */
export const time = (seconds: number) => short.format(seconds * 1000);
export const exactTime = (seconds: number) => exact.format(seconds * 1000);

/** How long ago, or until when. */
export function ago(seconds: number, now = Date.now() / 1000): string {
  const past = seconds - now;
  const of = (value: number, unit: Intl.RelativeTimeFormatUnit) => relative.format(Math.round(value), unit);
  const far = Math.abs(past);
  if (far < 60) return of(past, "second");
  if (far < 3600) return of(past / 60, "minute");
  if (far < 86400) return of(past / 3600, "hour");
  if (far < 86400 * 60) return of(past / 86400, "day");
  return of(past / (86400 * 30.44), "month");
}

export const percent = (part: number, whole: number) => (whole > 0 ? Math.round((part / whole) * 100) : 0);

/** Bytes of a text such as `100G` or `1.5 TiB`. `undefined`: it is none. */
export function bytesOf(text: string): number | undefined {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([kmgtpe]?)(?:i?b)?\s*$/i.exec(text);
  if (!found) return undefined;
  const power = " kmgtpe".indexOf((found[2] || " ").toLowerCase());
  const bytes = Number(found[1]) * 1024 ** power;
  return bytes > 0 && Number.isSafeInteger(Math.round(bytes)) ? Math.round(bytes) : undefined;
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;

/**
 * A name with what cannot be seen made visible: characters of no width and those that turn the direction of writing
 * would let one name pass for another. Lines are joined.
 */
export const plainly = (name: string) =>
  name.replace(/[\r\n\t]+/g, " ").replace(UNSEEN, (one) => `\u27e8U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
