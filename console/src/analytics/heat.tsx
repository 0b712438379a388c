/** Latencies over time as a picture: a column a second, a row a class of latency, darker where more requests are. */
import { useEffect, useRef } from "react";
import { exactTime, number, t } from "../words";
import { short, type Found } from "./request";

interface HeatProps {
  found: Found;
  /** Seconds since 1970 that it shows. */
  from: number;
  to: number;
  /** A class of latency was pressed: its bounds in nanoseconds. */
  onPick?: (least: number, most: number | undefined) => void;
}

const HEIGHT = 156;

/** Of all rows in a time: requests by bucket. */
export function latencies(found: Found, from: number, to: number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const row of found.rows) {
    if (row.second + row.seconds <= from || row.second >= to) continue;
    for (const [bucket, count] of row.latencies) sums.set(bucket, (sums.get(bucket) ?? 0) + count);
  }
  return sums;
}

/** The bucket that has the request in the middle, or at another part. */
export function bucketAt(sums: Map<number, number>, part: number): number | undefined {
  const all = [...sums.values()].reduce((sum, count) => sum + count, 0);
  let left = all * part;
  for (const [bucket, count] of [...sums].toSorted(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return bucket;
  }
  return undefined;
}

export function Heat({ found, from, to, onPick }: HeatProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const sums = latencies(found, from, to);
  const buckets = [...sums.keys()];
  const [least, most] = buckets.length ? [Math.min(...buckets), Math.max(...buckets)] : [0, 0];
  const bounds = useRef({ least, most });
  bounds.current = { least, most };
  useEffect(() => {
    const place = canvas.current;
    const brush = place?.getContext("2d");
    if (!place || !brush) return;
    place.width = place.clientWidth;
    place.height = HEIGHT;
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    const [wide, high] = [place.width / Math.max(1, to - from), HEIGHT / (most - least + 1)];
    // A row of a minute has the requests of many seconds: what is compared is how many came in one.
    const rates = found.rows.map((row) => Math.max(0, ...row.latencies.map(([, count]) => count / row.seconds)));
    const darkest = Math.max(1e-9, ...rates);
    brush.fillStyle = colour;
    for (const row of found.rows) {
      for (const [bucket, count] of row.latencies) {
        brush.globalAlpha = 0.12 + 0.88 * Math.sqrt(count / row.seconds / darkest);
        brush.fillRect((row.second - from) * wide, HEIGHT - (bucket - least + 1) * high, Math.max(1, row.seconds * wide), Math.max(1, high));
      }
    }
  });
  const pick = (event: React.MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const { least: first, most: last } = bounds.current;
    const bucket = first + Math.floor(((box.bottom - event.clientY) / box.height) * (last - first + 1));
    onPick?.(found.buckets[bucket] ?? 0, found.buckets[bucket + 1]);
  };
  const at = (part: number) => found.buckets[bucketAt(sums, part) ?? 0] ?? 0;
  const count = [...sums.values()].reduce((sum, one) => sum + one, 0);
  return (
    <figure className="stack tight" aria-label={t("Latency over time")}>
      <div className="heat">
        <canvas ref={canvas} aria-hidden="true" onClick={pick} />
        <span className="most small muted">{buckets.length ? short(found.buckets[most] ?? 0) : ""}</span>
        <span className="least small muted">{buckets.length ? short(found.buckets[least] ?? 0) : ""}</span>
      </div>
      <figcaption className="small muted">
        {count === 0 ? t("No request in this time.") : t("{count} requests from {begin} to {end}: half of them took {half} or less, one in a hundred more than {slow}.", {
          count: number(count), begin: exactTime(from), end: exactTime(to), half: short(at(0.5)), slow: short(at(0.99)),
        })}
      </figcaption>
    </figure>
  );
}
