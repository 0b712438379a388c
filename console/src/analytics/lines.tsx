/** What the heaviest keys come to by second, drawn by uPlot; the figures stand in the table below. */
import { useEffect, useRef } from "react";
import { plainly, t } from "../words";
import type { Found } from "./request";

export type Statistic = "operations" | "bytes" | "latency";

type Sum = Found["total"];

/** Lines of keys that are drawn; the others are one line. */
export const LINES = 4;
const SHADES = ["--accent", "--warn", "--good", "--bad", "--muted"];
const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

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
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<{ setData: (data: never, scales?: boolean) => void; setScale: (name: string, to: { min: number; max: number }) => void } | undefined>(undefined);
  const count = Math.min(LINES, found.keys.length) + 1;
  const now = useRef({ data: linesOf(found, statistic, from, to), from, to });
  now.current = { data: linesOf(found, statistic, from, to), from, to };
  useEffect(() => {
    let isGone = false;
    let stop = () => {};
    const draw = async () => {
      const { default: UPlot } = await import("uplot");
      const place = box.current;
      if (isGone || !place) return;
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
      const clock = (_: unknown, marks: number[]) => marks.map((mark) => new Date(mark * 1000).toTimeString().slice(0, 8));
      const shade = (at: number) => (at === count - 1 ? "--muted" : SHADES[at % SHADES.length]!);
      const made = new UPlot({
        width: place.clientWidth, height: 170, legend: { show: false }, cursor: { y: false },
        scales: { x: { range: () => [now.current.from, now.current.to] }, y: { range: (_: unknown, __: number, most: number) => [0, Math.max((most || 0) * 1.1, 0.001)] } },
        axes: [{ ...axis, values: clock }, { ...axis, size: 60 }],
        series: [{}, ...Array.from({ length: count }, (_, at) => ({ stroke: colour(shade(at)), width: 1.75, points: { show: false } }))],
      } as never, now.current.data as never, place);
      plot.current = made as never;
      const sized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: 170 }));
      sized.observe(place);
      stop = () => {
        sized.disconnect();
        made.destroy();
        plot.current = undefined;
      };
    };
    void draw();
    return () => {
      isGone = true;
      stop();
    };
  }, [count]);
  useEffect(() => plot.current?.setData(now.current.data as never));
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
