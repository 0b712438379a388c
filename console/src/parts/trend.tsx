/** How full a pool was in the last four weeks, and when it will be full: a line, and a sentence that says the same. */
import { useQuery } from "@tanstack/react-query";
import { get, type Schemas } from "../api/client";
import { useRead } from "../api/queries";
import { daily, forecastOf, LEAST_DAYS, type Forecast } from "./forecast";
import { size, t, tn } from "../words";

const DAYS = 28;
const DAY = 86_400;
const EVERY = 600_000;
const [WIDTH, HEIGHT] = [300, 44];
/** Days that the picture looks ahead. */
const AHEAD = 28;

function said(forecast: Forecast, warning: number): string {
  switch (forecast.kind) {
    case "too-little": return t("Too little is known for a forecast: it takes {count} days.", { count: LEAST_DAYS });
    case "unclear": return t("It goes up and down: nothing can be foretold.");
    case "still": return t("It does not grow.");
    case "shrinks": return t("It shrinks by {size} a day.", { size: size(forecast.by) });
    case "grows": {
      const when = (days: number) => (days === 0 ? t("now") : days === Number.POSITIVE_INFINITY ? t("in more than three years") : tn(days, "in {count} day", "in {count} days"));
      return t("It grows by {size} a day: {share} % {then}, full {when}.", { size: size(forecast.by), share: warning, then: when(forecast.warning), when: when(forecast.full) });
    }
  }
}

/** Days as points of a line, and the line on from there. */
function lines(days: [number, number][], forecast: Forecast, whole: number): { known: string; ahead: string } {
  const from = Math.min(days[0]?.[0] ?? 0, (days.at(-1)?.[0] ?? 0) - DAYS);
  const x = (day: number) => ((day - from) / (DAYS + AHEAD)) * WIDTH;
  const y = (value: number) => HEIGHT - 1 - Math.min(1, value / whole) * (HEIGHT - 2);
  const known = days.map(([day, value]) => `${x(day).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const last = days.at(-1);
  if (!last || forecast.kind !== "grows") return { known, ahead: "" };
  const until = Math.min(AHEAD, (whole - last[1]) / forecast.by);
  return { known, ahead: `${x(last[0]).toFixed(1)},${y(last[1]).toFixed(1)} ${x(last[0] + until).toFixed(1)},${y(last[1] + until * forecast.by).toFixed(1)}` };
}

export function Trend({ pool }: { pool: Schemas["PoolStatus"] }) {
  const settings = useRead("/v1/alert-settings", {}, { staleTime: EVERY });
  const history = useQuery({
    queryKey: ["history", "capacity", pool.name], refetchInterval: EVERY, staleTime: EVERY,
    queryFn: async ({ signal }) => {
      const now = Math.floor(Date.now() / 1000);
      const query = { series: `pool.${pool.name}.allocated`, from: now - DAYS * DAY, to: now, points: DAYS * 24 };
      return (await get("/v1/statistics/history", { query: query as never, signal })).value;
    },
  });
  if (!history.data) return null;
  const { first, step, series } = history.data;
  const days = daily(first, step, (series[0]?.values ?? []) as (number | null)[]);
  const warning = settings.data?.value.full_warning ?? 80;
  const forecast = forecastOf(days, pool.root.size, pool.root.allocated, warning);
  const { known, ahead } = lines(days, forecast, pool.root.size);
  return (
    <figure className="stack tight trend">
      {days.length > 1 && (
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
          <polyline points={known} className="known" />
          {ahead && <polyline points={ahead} className="ahead" />}
        </svg>
      )}
      <figcaption className="small muted">{said(forecast, warning)}</figcaption>
    </figure>
  );
}
