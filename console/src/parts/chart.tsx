/** A rate over time. */
import { exactTime, size, t } from "../words";
import { axis, clock, line, usePlot } from "./plot";

interface ChartProps {
  label: string;
  first: number;
  step: number;
  names: [string, string];
  values: [(number | null)[], (number | null)[]];
}

/** Where nothing happens, the scale still says something: bytes. */
const LEAST = 1 << 20;
/** Steps of an axis of bytes: powers of two. */
const STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

export function Chart({ label, first, step, names, values }: ChartProps) {
  const options = () => ({
    scales: { y: { range: (_: unknown, __: number, most: number) => [0, Math.max(most * 1.1, LEAST)] } },
    axes: [{ ...axis(), values: clock(5) }, { ...axis(), size: 76, incrs: STEPS, values: (_: unknown, marks: number[]) => marks.map((mark) => size(mark)) }],
    series: [{}, line("--accent", names[0]), line("--warn", names[1])],
  });
  const box = usePlot(options, [values[0].map((_, at) => first + at * step), ...values], "one");
  const last = (at: 0 | 1) => values[at].findLast((value) => value !== null) ?? 0;
  const until = first + (values[0].length - 1) * step;
  return (
    <figure className="stack tight" aria-label={label}>
      <div ref={box} className="chart" aria-hidden="true" />
      <figcaption className="legend">
        <span className="one">{t("{name}: {value}/s now", { name: names[0], value: size(last(0)) })}</span>
        <span className="two">{t("{name}: {value}/s now", { name: names[1], value: size(last(1)) })}</span>
        {values[0].length > 0 && <span className="hidden">{t("From {begin} to {end}", { begin: exactTime(first), end: exactTime(until) })}</span>}
      </figcaption>
    </figure>
  );
}
