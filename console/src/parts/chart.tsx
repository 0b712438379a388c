/** A rate over time, drawn by uPlot, which is loaded where a chart is shown. The figures are beside it as text. */
import { useEffect, useRef } from "react";
import { exactTime, size, t } from "../words";

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

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart({ label, first, step, names, values }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const data = useRef({ first, step, values });
  data.current = { first, step, values };
  const plot = useRef<{ setData: (data: never) => void; destroy: () => void } | undefined>(undefined);
  const series = () => {
    const { first: begin, step: every, values: all } = data.current;
    return [all[0].map((_, at) => begin + at * every), ...all];
  };
  useEffect(() => {
    let isGone = false;
    let stop = () => {};
    const draw = async () => {
      const { default: UPlot } = await import("uplot");
      const place = box.current;
      if (isGone || !place) return;
      const make = () => {
        plot.current?.destroy();
        const clock = (_: unknown, marks: number[]) => marks.map((mark) => new Date(mark * 1000).toTimeString().slice(0, 5));
        const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
        const line = (name: string, shade: string) => ({ label: name, stroke: colour(shade), width: 1.75, points: { show: false } });
        const made = new UPlot({
          width: place.clientWidth, height: 170, legend: { show: false }, cursor: { y: false },
          scales: { y: { range: (_: unknown, __: number, most: number) => [0, Math.max(most * 1.1, LEAST)] } },
          axes: [{ ...axis, values: clock }, { ...axis, size: 76, incrs: STEPS, values: (_: unknown, marks: number[]) => marks.map((mark) => size(mark)) }],
          series: [{}, line(names[0], "--accent"), line(names[1], "--warn")],
        } as never, series() as never, place);
        plot.current = made as never;
        return made;
      };
      let made = make();
      const sized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: 170 }));
      sized.observe(place);
      const themed = new MutationObserver(() => {
        made = make();
      });
      themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      stop = () => {
        sized.disconnect();
        themed.disconnect();
        made.destroy();
        plot.current = undefined;
      };
    };
    void draw();
    return () => {
      isGone = true;
      stop();
    };
    // It is drawn once; its data follow below.
    // eslint-disable-next-line
  }, []);
  useEffect(() => plot.current?.setData(series() as never));
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
