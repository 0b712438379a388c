/**
 * A uPlot in a box: loaded where one is shown, as wide as its box, and drawn anew when the theme changes. The figures are beside
 * it as text.
 */
import { useEffect, useRef } from "react";

const HEIGHT = 170;

export const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** An axis as all have it, in the colours of now. */
export const axis = () => ({ stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" });

/** Times of day on an axis of seconds since 1970. */
export const clock = (length: number) => (_: unknown, marks: number[]) => marks.map((mark) => new Date(mark * 1000).toTimeString().slice(0, length));

/** Days on such an axis, for a time of more than one of them. */
export const days = (_: unknown, marks: number[]) => marks.map((mark) => new Date(mark * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" }));

/** A line in a colour of the theme. */
export const line = (shade: string, label = "") => ({ label, stroke: colour(shade), width: 1.75, points: { show: false } });

interface Plot {
  setData: (data: never) => void;
  setSize: (size: { width: number; height: number }) => void;
  destroy: () => void;
}

/** The box that it is drawn in. `options` are asked for whenever it is drawn; it is drawn anew when `shape` is another. */
export function usePlot(options: () => object, data: (number | null)[][], shape: unknown) {
  const box = useRef<HTMLDivElement>(null);
  const now = useRef({ options, data });
  now.current = { options, data };
  const plot = useRef<Plot | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    let stop = () => {};
    const draw = async () => {
      const { default: UPlot } = await import("uplot");
      const place = box.current;
      if (isGone || !place) return;
      const size = () => ({ width: place.clientWidth, height: HEIGHT });
      const make = () => {
        plot.current?.destroy();
        plot.current = new UPlot({ ...size(), legend: { show: false }, cursor: { y: false }, ...now.current.options() } as never, now.current.data as never, place) as never;
      };
      make();
      const sized = new ResizeObserver(() => plot.current?.setSize(size()));
      sized.observe(place);
      const themed = new MutationObserver(make);
      themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      stop = () => {
        sized.disconnect();
        themed.disconnect();
        plot.current?.destroy();
        plot.current = undefined;
      };
    };
    void draw();
    return () => {
      isGone = true;
      stop();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(now.current.data as never));
  return box;
}
