/** What other sizes would do: a line over sizes that double, and the same as a table. */
import { size, t } from "../words";
import type { Schemas } from "../api/client";

type Point = Schemas["CurvePoint"];

const [WIDTH, HEIGHT] = [600, 120];

/** Points of the line, in the picture's own measure; sizes stand at equal distances for each doubling. */
export function line(curve: { bytes: number; hit_percent: number }[], width = WIDTH, height = HEIGHT): [number, number][] {
  const [first, last] = [curve[0], curve.at(-1)];
  if (!first || !last) return [];
  const wide = Math.log2(last.bytes / first.bytes) || 1;
  return curve.map(({ bytes, hit_percent: hits }) => [(Math.log2(bytes / first.bytes) / wide) * width, height - (Math.min(100, Math.max(0, hits)) / 100) * height]);
}

interface CurveProps {
  label: string;
  curve: Point[];
  /** The size that there is now. */
  now?: number | undefined;
}

const factor = (value: number | null) => (value === null ? "–" : `${value.toFixed(2)}×`);

export function Curve({ label, curve, now }: CurveProps) {
  if (curve.length === 0) return null;
  const points = line(curve);
  return (
    <figure className="stack tight trend" aria-label={label}>
      <svg className="curve" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <polyline points={points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
      </svg>
      <figcaption className="row between small muted"><span>{size(curve[0]!.bytes)}</span><span>{label}</span><span>{size(curve.at(-1)!.bytes)}</span></figcaption>
      <div className="scroll-x">
        <table className="plain">
          <thead><tr><th scope="col" className="number">{t("Size")}</th><th scope="col" className="number">{t("Hits")}</th><th scope="col" className="number">{t("Requests in the same time")}</th></tr></thead>
          <tbody>
            {curve.map((point) => (
              <tr key={point.bytes}>
                <td className="number">{size(point.bytes)}{now !== undefined && point.bytes === now ? ` ${t("(now)")}` : ""}</td>
                <td className="number">{`${point.hit_percent.toFixed(1)} %`}</td>
                <td className="number">{factor(point.read_factor)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
