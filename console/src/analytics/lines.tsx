/** What the heaviest keys come to by second, drawn by uPlot; the figures stand in the table below. */
import { useRef } from "react";
import { axis, clock, days, line, usePlot } from "../parts/plot";
import { plainly, t } from "../words";
import type { Found } from "./request";

export type Statistic = "operations" | "bytes" | "latency";

type Sum = Found["total"];

/** Lines of keys that are drawn; the others are one line. */
export const LINES = 4;
const DAY = 86_400;
const SHADES = ["--accent", "--warn", "--good", "--bad", "--muted"];

/** By second; of latency the mean in milliseconds, and nothing where no request was. */
export function valueOf(statistic: Statistic, sum: Sum, seconds: number): number | null {
  if (statistic === "latency") return sum.operations > 0 ? sum.time / sum.operations / 1e6 : null;
  return sum[statistic] / seconds;
}

const less = (one: Sum, other: Sum): Sum => ({ operations: one.operations - other.operations, bytes: one.bytes - other.bytes, time: one.time - other.time });
const NONE: Sum = { operations: 0, bytes: 0, time: 0 };

/** Seconds, and the values of each line: keys in their order, then all others. A second without a row has nothing. */
export function linesOf(found: Found, statistic: Statistic, from: number, to: number): (number | null)[][] {
  const keys = found.keys.slice(0, LINES);
  const lines: (number | null)[][] = [[], ...keys.map(() => []), []];
  const empty = statistic === "latency" ? null : 0;
  const put = (second: number, values: (number | null)[]) => [second, ...values].forEach((value, at) => lines[at]!.push(value));
  const none = lines.slice(1).map(() => empty);
  let at = from;
  for (const row of found.rows.filter((one) => one.second + one.seconds > from && one.second < to)) {
    if (row.second > at) {
      put(at, none);
      if (row.second - 1 > at) put(row.second - 1, none);
    }
    const cells = new Map<number, Sum>(row.cells);
    const sums = keys.map(({ number: key }) => cells.get(key) ?? NONE);
    put(row.second, [...sums, sums.reduce(less, row.total)].map((sum) => valueOf(statistic, sum, row.seconds)));
    at = row.second + row.seconds;
  }
  if (at < to) {
    put(at, none);
    if (to - 1 > at) put(to - 1, none);
  }
  return lines;
}

export function Lines({ found, statistic, from, to }: { found: Found; statistic: Statistic; from: number; to: number }) {
  const count = Math.min(LINES, found.keys.length) + 1;
  const shown = useRef({ from, to });
  shown.current = { from, to };
  const shade = (at: number) => (at === count - 1 ? "--muted" : SHADES[at % SHADES.length]!);
  const options = () => ({
    scales: { x: { range: () => [shown.current.from, shown.current.to] }, y: { range: (_: unknown, __: number, most: number) => [0, Math.max((most || 0) * 1.1, 0.001)] } },
    axes: [{ ...axis(), values: shown.current.to - shown.current.from > 2 * DAY ? days : clock(8) }, { ...axis(), size: 60 }],
    series: [{}, ...Array.from({ length: count }, (_, at) => line(shade(at)))],
  });
  const box = usePlot(options, linesOf(found, statistic, from, to), `${count} ${to - from > 2 * DAY}`);
  return (
    <figure className="stack tight" aria-label={t("The heaviest over time")}>
      <div ref={box} className="chart" aria-hidden="true" />
      <figcaption className="legend small">
        {found.keys.slice(0, LINES).map((key, at) => <span key={key.number} className={`shade-${at}`}>{plainly(key.values.join("  "))}</span>)}
        <span className="muted">{t("all others")}</span>
      </figcaption>
    </figure>
  );
}
