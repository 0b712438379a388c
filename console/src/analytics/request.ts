/** What the pages of analytics share: requests' filters as people read them, times, and tables for other programs. */
import type { Schemas } from "../api/client";
import { plainly, size, t } from "../words";

export type Filter = Schemas["RequestFilter"];
export type Found = Schemas["DrillDownFound"];
export type Dimension = Schemas["Dimension"];

export const DIMENSIONS: Dimension[] = ["protocol", "client", "user", "dataset", "file", "operation", "offset", "size", "latency", "served", "device"];

export const nameOf = (dimension: Dimension): string => ({
  protocol: t("Protocol"), client: t("Client"), user: t("User"), dataset: t("Dataset"), file: t("File"), operation: t("Operation"),
  offset: t("Offset"), size: t("Size"), latency: t("Latency"), served: t("Served by"), device: t("Device"),
})[dimension];

/** Nanoseconds, in the unit that says something. */
export function short(nanos: number): string {
  if (nanos < 1e3) return `${nanos} ns`;
  if (nanos < 1e6) return `${(nanos / 1e3).toPrecision(3)} µs`;
  if (nanos < 1e9) return `${(nanos / 1e6).toPrecision(3)} ms`;
  return `${(nanos / 1e9).toPrecision(3)} s`;
}

/** What a filter takes; empty: all. */
export function said(filter: Filter): string {
  const parts: string[] = [];
  const say = (name: string, value: string | null | undefined) => {
    if (value) parts.push(`${name} ${plainly(value)}`);
  };
  say(t("Protocol"), filter.protocol);
  say(t("Client"), filter.client);
  say(t("User"), filter.user);
  say(t("Dataset"), filter.dataset);
  say(t("File"), filter.file);
  say(t("Operation"), filter.operation);
  say(t("Served by"), filter.served);
  say(t("Device"), filter.device);
  if (filter.offset_from != null) parts.push(t("from byte {size} on", { size: size(filter.offset_from) }));
  if (filter.min_bytes != null) parts.push(t("{size} at the least", { size: size(filter.min_bytes) }));
  if (filter.slower_us != null) parts.push(t("slower than {time}", { time: short(filter.slower_us * 1e3) }));
  return parts.join(", ");
}

/** What a filter takes of what was typed: nothing that is empty. */
export function typed(fields: { protocol: string; client: string; dataset: string; file: string; operation: string; device: string; slower: string }): Filter {
  const slower = Number(fields.slower);
  return {
    ...(fields.protocol ? { protocol: fields.protocol as Schemas["Protocol"] } : {}),
    ...(fields.client.trim() ? { client: fields.client.trim() } : {}),
    ...(fields.dataset.trim() ? { dataset: fields.dataset.trim() } : {}),
    ...(fields.file.trim() ? { file: fields.file.trim() } : {}),
    ...(fields.operation.trim() ? { operation: fields.operation.trim() } : {}),
    ...(fields.device.trim() ? { device: fields.device.trim() } : {}),
    ...(fields.slower.trim() && slower >= 0 ? { slower_us: Math.round(slower * 1000) } : {}),
  };
}

/** From a request to what is behind it, and what else tells requests apart. */
const ORDER: Dimension[] = ["file", "served", "device", "client", "operation", "latency", "offset"];
const BEHIND = 3;

/** By what requests are told apart next, of those that a filter takes and that were told apart by these: further behind, by what is not known yet. */
export function nextOf(filter: Filter, by: Dimension[]): Dimension {
  if (by.length === 0) return "client";
  const furthest = ORDER.findLastIndex((one, at) => at < BEHIND && by.includes(one));
  return ORDER.slice(furthest + 1).find((one) => !by.includes(one) && filter[one as keyof Filter] == null) ?? "client";
}

const quoted = (text: string) => (/[",\n\r]/.test(text) || /^[=+\-@\t]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** Lines of what was found by key, then by time: for spreadsheets. A text that one would take for a formula is quoted. */
export function csv(found: Found): string {
  const lines = [[...found.drill_down.by, "operations", "bytes", "nanoseconds", "missing"].join(",")];
  for (const { values, sum, missing } of found.keys) lines.push([...values.map(quoted), sum.operations, sum.bytes, sum.time, missing].join(","));
  const blank = found.drill_down.by.slice(1).map(() => "");
  lines.push(["(other)", ...blank, found.others.operations, found.others.bytes, found.others.time, 0].join(","));
  lines.push("", "second,seconds,operations,bytes,nanoseconds");
  for (const { second, seconds, total } of found.rows) lines.push([second, seconds, total.operations, total.bytes, total.time].join(","));
  return `${lines.join("\n")}\n`;
}

export function save(name: string, content: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
