/** When snapshots were taken: a bar for each stretch of time, as high as there are many. The sentence below says the same. */
import { exactTime, number, span, t, tn } from "../words";

const [WIDTH, HEIGHT, BARS] = [600, 40, 100];

export interface Stretch {
  from: number;
  count: number;
}

/** Counts in stretches of equal length, from the oldest to the newest. Every time is in one of them. */
export function stretches(times: number[], bars = BARS): Stretch[] {
  if (times.length === 0) return [];
  let [first, last] = [times[0]!, times[0]!];
  for (const time of times) {
    first = Math.min(first, time);
    last = Math.max(last, time);
  }
  const step = (last - first) / bars || 1;
  const counts = new Array<number>(bars).fill(0);
  for (const time of times) counts[Math.min(bars - 1, Math.floor((time - first) / step))]! += 1;
  return counts.map((count, at) => ({ from: first + at * step, count }));
}

export function Timeline({ times, isPart }: { times: number[]; isPart: boolean }) {
  if (times.length < 2) return null;
  const all = stretches(times);
  const most = Math.max(...all.map(({ count }) => count));
  const wide = WIDTH / BARS;
  const [oldest, newest] = [all[0]!.from, times.reduce((a, b) => Math.max(a, b))];
  const about = { count: number(times.length), span: span(newest - oldest) };
  return (
    <figure className="card stack tight timeline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {all.map(({ from, count }, at) => count > 0 && <rect key={from} x={at * wide + 0.5} width={wide - 1} y={HEIGHT - Math.max(3, (count / most) * HEIGHT)} height={Math.max(3, (count / most) * HEIGHT)} />)}
      </svg>
      <figcaption className="small muted row between">
        <span>{exactTime(oldest)}</span>
        <span>{isPart ? t("{count} read so far, of {span}", about) : t("{count} snapshots of {span}", about)}{most > 1 ? ` · ${tn(most, "at most {count} a bar", "at most {count} a bar")}` : ""}</span>
        <span>{exactTime(newest)}</span>
      </figcaption>
    </figure>
  );
}
