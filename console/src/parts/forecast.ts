/**
 * When a pool will be full, by the rule of the weekly report: the growth of a day is the median of the slopes between all
 * pairs of days, so a large file that comes and goes changes it little. Where a quarter of the slopes goes the other way
 * there is no trend to speak of, and no forecast.
 */
const DAY = 86_400;
/** Days of which something has to be known. */
export const LEAST_DAYS = 5;
/** Further ahead nothing is said. */
export const MOST_DAYS = 3 * 365;
/** Of a pool's size: what grows by less in a day is as good as still. */
const STILL = 1e-5;

export type Forecast =
  | { kind: "too-little"; days: number }
  | { kind: "unclear" }
  | { kind: "still" }
  | { kind: "shrinks"; by: number }
  /** Bytes a day; days until it is as full as the warning says, and full. `Infinity`: too far ahead. */
  | { kind: "grows"; by: number; warning: number; full: number };

/** A mean of each day of which something is known, by the number of the day. */
export function daily(first: number, step: number, values: (number | null)[]): [number, number][] {
  const days = new Map<number, { sum: number; count: number }>();
  values.forEach((value, at) => {
    if (value === null) return;
    const day = Math.floor((first + at * step) / DAY);
    const { sum, count } = days.get(day) ?? { sum: 0, count: 0 };
    days.set(day, { sum: sum + value, count: count + 1 });
  });
  return [...days].map(([day, { sum, count }]) => [day, sum / count]);
}

export function forecastOf(days: [number, number][], size: number, allocated: number, warningPercent: number): Forecast {
  const known = days.length === 0 ? 0 : days.at(-1)![0] - days[0]![0] + 1;
  if (known < LEAST_DAYS || days.length < 3) return { kind: "too-little", days: Math.min(known, days.length) };
  const slopes = days.flatMap(([day, value], nth) => days.slice(nth + 1).map(([later, then]) => (then - value) / (later - day))).sort((a, b) => a - b);
  const at = (part: number) => slopes[Math.floor((part * (slopes.length - 1)) / 4)]!;
  const [low, by, high] = [at(1), at(2), at(3)];
  const still = size * STILL;
  if (Math.abs(low) <= still && Math.abs(high) <= still) return { kind: "still" };
  if (by > still && low > 0) {
    const until = (limit: number) => {
      const left = (limit - allocated) / by;
      return left <= 0 ? 0 : left <= MOST_DAYS ? Math.round(left) : Number.POSITIVE_INFINITY;
    };
    return { kind: "grows", by, warning: until((size * warningPercent) / 100), full: until(size) };
  }
  return by < -still && high < 0 ? { kind: "shrinks", by: -by } : { kind: "unclear" };
}
