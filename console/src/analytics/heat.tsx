/** Requests over time as a picture: a column a second, a row a class of latency, size or offset, darker where more requests are. */
import { useEffect, useRef } from "react";
import { exactTime, number, size, t } from "../words";
import { short, type Dimension, type Filter, type Found } from "./request";

/** What has classes that follow each other. */
export type Ordered = "latency" | "size" | "offset";

interface HeatProps {
  found: Found;
  of: Ordered;
  /** Seconds since 1970 that it shows. */
  from: number;
  to: number;
  /** A class was pressed: what takes its requests alone of what a filter takes. */
  onPick: (narrow: (filter: Filter) => Filter) => void;
}

/** Requests of a time, by the number of a class. */
export interface HeatRow {
  second: number;
  seconds: number;
  cells: [number, number][];
}

const HEIGHT = 156;
/** Bytes of a range of offsets. */
const RANGE = 16 * 1024 * 1024;

/** The dimension of which a pane has a picture beside its latencies: the last, if that has classes. */
export function pictured(by: Dimension[]): Ordered {
  const last = by.at(-1);
  return last === "size" || last === "offset" ? last : "latency";
}

/** The number of the class that begins there. Sizes are powers of two, and there is a class for none. */
export const classOf = (of: Ordered, begin: number): number => (of === "offset" ? Math.floor(begin / RANGE) : begin === 0 ? 0 : 1 + Math.round(Math.log2(begin)));

/** Where a class begins and where the next one does, in bytes. */
export const bounds = (of: Ordered, at: number): [number, number] => (of === "offset" ? [at * RANGE, (at + 1) * RANGE] : at === 0 ? [0, 1] : [2 ** (at - 1), 2 ** at]);

/**
 * What a picture shows. The engine keeps latencies as they are, of all requests; sizes and offsets are of keys that have a place, and
 * `missing` has those that are of none in this time.
 */
export function rowsOf(found: Found, of: Ordered): { rows: HeatRow[]; missing: Map<HeatRow, number> } {
  const missing = new Map<HeatRow, number>();
  if (of === "latency") return { rows: found.rows.map(({ second, seconds, latencies }) => ({ second, seconds, cells: latencies as [number, number][] })), missing };
  const last = found.drill_down.by.length - 1;
  const classes = new Map(found.keys.map(({ number: key, begins }) => [key, begins[last]] as const));
  const rows = found.rows.map((row) => {
    const sums = new Map<number, number>();
    let left = row.total.operations;
    for (const [key, { operations }] of row.cells as [number, Found["total"]][]) {
      const begin = classes.get(key);
      if (begin == null) continue;
      sums.set(classOf(of, begin), (sums.get(classOf(of, begin)) ?? 0) + operations);
      left -= operations;
    }
    const made = { second: row.second, seconds: row.seconds, cells: [...sums] };
    missing.set(made, left);
    return made;
  });
  return { rows, missing };
}

const isWithin = (row: HeatRow, from: number, to: number) => row.second + row.seconds > from && row.second < to;

/** Of all rows in a time: requests by class. */
export function countsOf(rows: HeatRow[], from: number, to: number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const row of rows.filter((one) => isWithin(one, from, to))) for (const [at, count] of row.cells) sums.set(at, (sums.get(at) ?? 0) + count);
  return sums;
}

/** The class that has the request in the middle, or at another part. */
export function classAt(sums: Map<number, number>, part: number): number | undefined {
  const all = [...sums.values()].reduce((sum, count) => sum + count, 0);
  let left = all * part;
  for (const [at, count] of [...sums].toSorted(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return at;
  }
  return undefined;
}

/** Takes one class alone of what a filter takes, which may have bounds already. */
export function narrow(filter: Filter, of: Ordered, least: number, next: number | undefined): Filter {
  const low = (known: number | null | undefined, bound: number) => Math.max(known ?? 0, bound);
  const high = (known: number | null | undefined, bound: number) => Math.min(known ?? bound, bound);
  if (of === "offset") return { ...filter, offset_from: low(filter.offset_from, least), ...(next === undefined ? {} : { offset_to: high(filter.offset_to, next) }) };
  if (of === "size") return { ...filter, min_bytes: low(filter.min_bytes, least), ...(next === undefined ? {} : { max_bytes: high(filter.max_bytes, next - 1) }) };
  const micros = (nanos: number) => Math.floor(nanos / 1000);
  return { ...filter, slower_us: low(filter.slower_us, micros(least)), ...(next === undefined ? {} : { faster_us: high(filter.faster_us, Math.ceil(next / 1000) - 1) }) };
}

export function Heat({ found, of, from, to, onPick }: HeatProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { rows, missing } = rowsOf(found, of);
  const sums = countsOf(rows, from, to);
  const classes = [...sums.keys()];
  const [least, most] = classes.length ? [Math.min(...classes), Math.max(...classes)] : [0, 0];
  const shown = useRef({ least, most });
  shown.current = { least, most };
  useEffect(() => {
    const place = canvas.current;
    const brush = place?.getContext("2d");
    if (!place || !brush) return;
    place.width = place.clientWidth;
    place.height = HEIGHT;
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    const [wide, high] = [place.width / Math.max(1, to - from), HEIGHT / (most - least + 1)];
    // A row of a minute has the requests of many seconds: what is compared is how many came in one.
    const rates = rows.map((row) => Math.max(0, ...row.cells.map(([, count]) => count / row.seconds)));
    const darkest = Math.max(1e-9, ...rates);
    brush.fillStyle = colour;
    for (const row of rows) {
      for (const [at, count] of row.cells) {
        brush.globalAlpha = 0.12 + 0.88 * Math.sqrt(count / row.seconds / darkest);
        brush.fillRect((row.second - from) * wide, HEIGHT - (at - least + 1) * high, Math.max(1, row.seconds * wide), Math.max(1, high));
      }
    }
  });
  const begin = (at: number): number => (of === "latency" ? found.buckets[at] ?? 0 : bounds(of, at)[0]);
  const said = (at: number | undefined): string => (of === "latency" ? short(begin(at ?? 0)) : size(begin(at ?? 0)));
  const pick = (event: React.MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const { least: first, most: last } = shown.current;
    const at = first + Math.floor(((box.bottom - event.clientY) / box.height) * (last - first + 1));
    onPick((filter) => narrow(filter, of, begin(at), of === "latency" ? found.buckets[at + 1] : bounds(of, at)[1]));
  };
  const count = [...sums.values()].reduce((sum, one) => sum + one, 0);
  const lost = rows.filter((row) => isWithin(row, from, to)).reduce((sum, row) => sum + (missing.get(row) ?? 0), 0);
  const what = { count: number(count), begin: exactTime(from), end: exactTime(to), half: said(classAt(sums, 0.5)), slow: said(classAt(sums, 0.99)) };
  const caption = {
    latency: t("{count} requests from {begin} to {end}: half of them took {half} or less, one in a hundred more than {slow}.", what),
    size: t("{count} requests from {begin} to {end}: half of them moved less than twice {half}, one in a hundred {slow} or more.", what),
    offset: t("{count} requests from {begin} to {end}, by ranges of 16 MiB: from {first} to {last}.", { ...what, first: size(bounds(of, least)[0]), last: size(bounds(of, most)[1]) }),
  };
  const label = { latency: t("Latency over time"), size: t("Sizes over time"), offset: t("Offsets over time") };
  return (
    <figure className="stack tight" aria-label={label[of]}>
      <div className="heat">
        <canvas ref={canvas} aria-hidden="true" onClick={pick} />
        <span className="most small muted">{classes.length ? said(most) : ""}</span>
        <span className="least small muted">{classes.length ? said(least) : ""}</span>
      </div>
      <figcaption className="small muted">
        {count === 0 && lost === 0 ? t("No request in this time.") : caption[of]}
        {lost > 0 && ` ${t("{count} more are not in the picture: they have no place, or no such value.", { count: number(lost) })}`}
      </figcaption>
    </figure>
  );
}
